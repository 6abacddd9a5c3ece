"""Models behind a server's API: requests, dialects, the self-test, and the model."""

# What it means for probes that a server answers about given tokens alone, and what helps.
NO_VOCABULARY = "its server does not give the log-probabilities of all tokens at once"
SERVE_VOCABULARY = "serve it with SGLang, or with vLLM and --max-logprobs -1"
