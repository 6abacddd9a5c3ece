"""Networks that know nothing: what a search finds in them it learned from the training facts.

Zhong et al. (2021, section 4.2): all weights anew (`random-model`), or the word
embeddings alone (`random-embeddings`), and with them the output layer where it is
tied to them.
"""

from __future__ import annotations

from typing import Any

import torch

from hyperprobe.errors import UserError
from hyperprobe.models.load import RANDOM, RANDOM_SEED, is_vectors, load_model
from hyperprobe.prompts.learning import seeded

NONE, RANDOM_MODEL, RANDOM_EMBEDDINGS = "none", "random-model", "random-embeddings"
CONTROLS = (NONE, RANDOM_MODEL, RANDOM_EMBEDDINGS)
SPREAD = 0.02  # of models that do not name theirs


def load_control(
    name: str,
    control: str = NONE,
    device: str = "auto",
    dtype: str = "fp32",
    trust_remote_code: bool = False,
) -> Any:
    """The language model `name`, or a control of its shape with its tokenizer.

    Raises `UserError` for static vectors, which read no prompt.
    """
    if is_vectors(name):
        raise UserError(f"{name} holds static vectors, which read no prompt: name a language model")
    loaded = f"{RANDOM}{name}" if control == RANDOM_MODEL else name
    model: Any = load_model(loaded, device, dtype, trust_remote_code)
    if control == RANDOM_EMBEDDINGS:
        model.name = f"{RANDOM_EMBEDDINGS}:{name}"
        randomise_embeddings(model, RANDOM_SEED)
    return model


def randomise_embeddings(model: Any, seed: int) -> None:
    """Draw the model's word embeddings anew, as at the start of its training."""
    table = model.model.get_input_embeddings()
    spread = float(getattr(model.model.config, "initializer_range", SPREAD))
    with seeded(seed), torch.no_grad():
        drawn = torch.randn(table.weight.shape) * spread
        if table.padding_idx is not None:
            drawn[table.padding_idx] = 0.0
        table.weight.copy_(drawn)
