"""`python -m hyperprobe` is the `hyperprobe` command."""

from hyperprobe.cli import main

if __name__ == "__main__":
    main()
