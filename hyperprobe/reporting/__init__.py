"""Tables and figures from metrics frames."""
