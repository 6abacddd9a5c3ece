"""Studies: many models under many probes, from one file."""
