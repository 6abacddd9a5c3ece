"""Labelled word pairs: detection, direction and graded entailment."""
