"""Sentences with a word in context: those that ship, and a user's."""
