"""Linearization about states and along motions, equilibria and nominal motions."""
