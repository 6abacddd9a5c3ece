"""The probes, one folder each. `hyperprobe.registry` says where their parts lie."""
