"""What the C library does with memory that is freed."""

from __future__ import annotations

import ctypes
import sys

# As glibc's malloc.h numbers what `mallopt` sets, and the largest block kept: above any of a batch.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 64 * 2**20


def keep_freed_memory() -> None:
    """Use freed memory again, where the C library can (glibc), instead of asking the system for
    new pages at each operation: a twentieth of a forward pass."""
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(M_MMAP_THRESHOLD, KEPT_BYTES)
            mallopt(M_TRIM_THRESHOLD, 4 * KEPT_BYTES)


def return_freed_memory() -> None:
    """Give freed memory back to the system, where the C library can (glibc).

    Batches of ever new shapes leave holes in the heap that otherwise add up to
    more than the largest batch needs.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
