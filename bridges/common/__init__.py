"""Parts that several bridges share."""
