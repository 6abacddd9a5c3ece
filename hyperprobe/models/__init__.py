"""Models that answer clozes: masked LMs, static vectors, and what ships with the package."""
