"""Pure functions on prediction frames: no models, no files."""
