"""Prompt search, and how much of what it finds is learning instead of recall."""
