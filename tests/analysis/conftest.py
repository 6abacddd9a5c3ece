from pathlib import Path

import pandas as pd
import pytest

from hyperprobe.analysis.variants import ask_again, with_run_prompt
from hyperprobe.diagnostic.sets import load_set
from hyperprobe.models.load import load_model
from hyperprobe.probes.zero_shot.predictions import predict


@pytest.fixture(scope="package")
def asked(tiny_models: dict[str, Path]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A tiny BERT's predictions, and those of all variants with its own prompt."""
    model, asked_set = load_model(str(tiny_models["bert"])), load_set("lm-diagnostic")
    own = predict(model, asked_set, "gold").assign(diagnostic="d")
    again = ask_again(model, asked_set, "gold").assign(diagnostic="d", model=model.name)
    return own, with_run_prompt(own, again, "gold")
