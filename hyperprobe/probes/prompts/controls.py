"""Networks that know nothing: what a search finds in them it learned from the training facts.

Zhong et al. (2021, section 4.2): all weights anew (`random-model`), or the word
embeddings alone (`random-embeddings`), and with them the output layer where it is
tied to them. Embeddings are drawn as at the start of training. All weights are drawn
with the spread that each table has in the trained model: with the 0.02 of BERT's
start, which suits its width and depth, a small network passes so little on from one
position to another that every prompt gets the same answer, and the control would
be silent where it should warn.
"""

from __future__ import annotations

import copy

import torch

from hyperprobe.models.language import LanguageModel
from hyperprobe.models.load import load_network
from hyperprobe.models.loaded import loaded
from hyperprobe.models.pretrained import RANDOM_SEED
from hyperprobe.options import PROMPTS_CONTROLS, ModelOptions
from hyperprobe.probes.prompts.learning import seeded

NONE, RANDOM_MODEL, RANDOM_EMBEDDINGS = PROMPTS_CONTROLS
SPREAD = 0.02  # of models that do not name theirs


def load_control(options: ModelOptions, name: str, control: str = NONE) -> LanguageModel:
    """The language model `name`, or a control of its shape with its tokenizer.

    Raises `UserError` for static vectors, which read no prompt.
    """
    model = load_network(name, options)
    if control != NONE:
        if loaded(name):  # the caller's weights stay as they are
            model.model = copy.deepcopy(model.model)
        model.name = f"{control}:{name}"
        randomise = randomise_weights if control == RANDOM_MODEL else randomise_embeddings
        with seeded(RANDOM_SEED), torch.no_grad():
            randomise(model)
    return model


def randomise_weights(model: LanguageModel) -> None:
    """Draw all tables of weights anew, each as spread as it was; biases 0, norms 1."""
    for name, weights in model.model.named_parameters():
        if weights.ndim > 1:
            weights.copy_(torch.randn(weights.shape) * float(weights.float().std()))
        else:
            weights.fill_(0.0 if name.endswith("bias") else 1.0)


def randomise_embeddings(model: LanguageModel) -> None:
    """Draw the word embeddings anew, as at the start of the model's training."""
    table = model.model.get_input_embeddings()
    spread = float(getattr(model.model.config, "initializer_range", SPREAD))
    drawn = torch.randn(table.weight.shape) * spread
    if table.padding_idx is not None:
        drawn[table.padding_idx] = 0.0
    table.weight.copy_(drawn)
