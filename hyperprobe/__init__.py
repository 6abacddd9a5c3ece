"""hyperprobe: does a language model systematically know that a robin is a bird?"""

__version__ = "0.1.0"
