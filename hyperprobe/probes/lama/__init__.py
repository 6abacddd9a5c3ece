"""Relational facts the LAMA way: sources, protocol, prompts, evaluation."""
