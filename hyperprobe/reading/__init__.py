"""Answers found in documents: which are near a question, and which of their words answer it."""
