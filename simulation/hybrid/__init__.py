"""Motions in phases and in modes: switches, events, jumps, contacts that are made."""
