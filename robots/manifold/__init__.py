"""The manifold of states that natural constraints admit, its charts, and its branches through singular positions."""
