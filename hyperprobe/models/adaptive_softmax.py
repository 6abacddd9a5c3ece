"""The adaptive soft-max (Grave et al. 2017): frequent words in a head, rarer ones in tails.

log P(w) is the head's for its own words; for a word of a tail it is the head's log P(tail) plus
log P(w | tail).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch


def adaptive_log_probs(
    head: torch.Tensor, tails: Sequence[torch.Tensor], first_tail: int | None = None
) -> torch.Tensor:
    """Log-probabilities [n, vocabulary] from logits.

    `head` has a column for each of its words and then one for each of the `tails`, whose logits
    are [n, words of the tail]. `first_tail` is the column that is read as log P(first tail), where
    it is not the one after the words.
    """
    n_words = head.shape[1] - len(tails)
    first = n_words if first_tail is None else first_tail
    of_head = head.log_softmax(dim=-1)
    sizes = [n_words, *(tail.shape[1] for tail in tails)]
    result = head.new_empty(len(head), sum(sizes))
    parts = torch.split(result, sizes, dim=1)
    parts[0].copy_(of_head[:, :n_words])
    for i, (tail, part) in enumerate(zip(tails, parts[1:], strict=True)):
        prior = of_head[:, first + i, None] - tail.logsumexp(dim=-1, keepdim=True)
        torch.add(tail, prior, out=part)
    return result
