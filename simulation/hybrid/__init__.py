"""Motions in phases and in modes: switches, events, jumps and closing contacts."""
