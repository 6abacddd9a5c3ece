"""Classifier probes: does a net find hypernymy in word vectors, or only memorise it?"""
