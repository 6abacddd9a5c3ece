"""The LAMA paper's relation extraction baseline: sentences -> triples -> ranked objects."""
