"""Truths from elsewhere: derivations by other hands and other libraries; nothing in here imports ``erugin``."""
