"""Models behind a server's API: requests, dialects, the self-test, and the model."""
