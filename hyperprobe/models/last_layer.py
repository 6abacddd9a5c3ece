"""The last layer of an encoder at the slots alone.

Its keys and values are needed of every position; its queries, attention output and
feed-forward of those positions only that are asked. Any architecture profits that calls
torch's `scaled_dot_product_attention` and does nothing across positions after its last layer:
whether one does is tried on two texts, once for each model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

# Largest difference from the full pass, in units of the precision's epsilon and of the largest
# number: rounding stays below it, and another computation does not.
TOLERANCE = 32

Index = tuple[torch.Tensor, torch.Tensor]  # rows [n_rows, 1] and positions [n_rows, n]


class _Found(Exception):  # noqa: N818 (no error: it ends a pass whose rest is not needed)
    """Attention is called."""


class _Find(TorchFunctionMode):
    """Within it attention raises `_Found`; the keys and values that it is called with stay here.

    (In the exception they would be part of a circle with the frames that it passes, and stay in
    memory until garbage is collected.)
    """

    key: torch.Tensor
    value: torch.Tensor

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is scaled_dot_product_attention:
            self.key, self.value = args[1], args[2]
            raise _Found
        return func(*args, **(kwargs or {}))


class _Attend(TorchFunctionMode):
    """Within it the queries attend to the keys and values of all positions."""

    def __init__(self, found: _Find, index: Index) -> None:
        super().__init__()
        self.found, self.index = found, index

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is scaled_dot_product_attention:
            args = (args[0], self.found.key, self.found.value, *args[3:])
            mask = kwargs.get("attn_mask")
            if mask is not None and mask.shape[-2] > 1:  # a row for each query
                n_rows, n_keys = len(self.found.key), self.found.key.shape[-2]
                rows = mask.expand(n_rows, -1, n_keys, n_keys).transpose(1, 2)
                kwargs = {**kwargs, "attn_mask": rows[self.index].transpose(1, 2)}
        return func(*args, **kwargs)


class LastLayer:
    """The last layer of `base`, and how often a forward pass calls it (ALBERT's is every one)."""

    def __init__(self, layer: torch.nn.Module, n_calls: int) -> None:
        self.layer = layer
        self.n_calls = n_calls

    @contextmanager
    def at(self, positions: torch.Tensor) -> Iterator[None]:
        """While active, the last layer hands on the hidden states at `positions` [n_rows, n] of
        each row alone, as [n_rows, n, width]."""
        full = self.layer.forward
        calls = 0

        def narrow(hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls < self.n_calls:
                return full(hidden, *args, **kwargs)
            found = _Find()
            try:
                with found:
                    full(hidden, *args, **kwargs)
            except _Found:
                pass
            else:
                raise ValueError("the last layer calls no attention that is known here")
            rows = torch.arange(len(hidden), device=hidden.device)[:, None]
            index = rows, positions.to(hidden.device)
            # Rotary embeddings: (cosines, sines) of every position.
            turns = kwargs.get("position_embeddings")
            if turns is not None:
                of_slots = tuple(turn.expand(len(hidden), -1, -1)[index] for turn in turns)
                kwargs = {**kwargs, "position_embeddings": of_slots}
            with _Attend(found, index):
                return full(hidden[index], *args, **kwargs)

        self.layer.forward = narrow
        try:
            yield
        finally:
            del self.layer.forward

    @property
    def is_plain(self) -> bool:
        """Whether nobody watches the layer, nor has replaced its `forward`."""
        return "forward" not in vars(self.layer) and not any(
            part._forward_hooks or part._forward_pre_hooks for part in self.layer.modules()
        )


def find_last_layer(
    network: Any, slot_logits: Callable[[LastLayer | None], torch.Tensor]
) -> LastLayer | None:
    """The last layer of a network, if what `slot_logits` gives is the same with it."""
    recorded = getattr(network.base_model, "_can_record_outputs", None) or {}
    kind = recorded.get("hidden_states")
    if not isinstance(kind, type):
        return None
    layers: list[Any] = [part for part in network.base_model.modules() if isinstance(part, kind)]
    if not layers:
        return None
    calls: list[int] = []
    handle = layers[-1].register_forward_pre_hook(lambda module, args: calls.append(1))
    try:
        expected = slot_logits(None)
    finally:
        handle.remove()
    last = LastLayer(layers[-1], len(calls))
    if not last.is_plain:
        return None
    try:
        given = slot_logits(last)
    except Exception:  # an architecture that is not what it seems
        return None
    if given.shape != expected.shape:
        return None
    margin = TOLERANCE * torch.finfo(network.dtype).eps * expected.abs().max()
    return last if bool((given - expected).abs().max() <= margin) else None
