"""Classifier probes: does a net find hypernymy in word vectors, or only memorise it?"""

from hyperprobe.probes.classify.probe import ClassifyResult, classify

__all__ = ["ClassifyResult", "classify"]
