"""Contacts with the ground and impacts."""
