"""`hyperprobe report`: collects runs, assembles what their commands say, writes it."""
