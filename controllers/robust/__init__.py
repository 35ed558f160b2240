"""Program control of plants that are not known exactly: integral action, adaptation, bounded disturbances."""
