"""What facts are like: the properties that P@1 is correlated with (the paper's Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hyperprobe.model_names import model_path
from hyperprobe.models.static import load_vectors
from hyperprobe.names import EMBEDDED_VECTORS


def factors_of(subjects: Sequence[str], objects: Sequence[str]) -> pd.DataFrame:
    """`subject_zipf`, `object_zipf` and `cosine` of each fact, a row each.

    Mentions are Zipf frequencies of the `wordfreq` package, as no model's training
    text is at hand; cosines are those of the shipped vectors between the mean
    vectors of subject and object, NaN where no word has one.
    """
    from wordfreq import zipf_frequency

    zipf = {text: zipf_frequency(text, "en") for text in {*subjects, *objects}}
    return pd.DataFrame(
        {
            "subject_zipf": [zipf[text] for text in subjects],
            "object_zipf": [zipf[text] for text in objects],
            "cosine": _cosines(subjects, objects),
        }
    )


def _cosines(subjects: Sequence[str], objects: Sequence[str]) -> NDArray[np.float64]:
    name = EMBEDDED_VECTORS[0]
    vectors = load_vectors(model_path(name))
    units: dict[str, NDArray[np.float64]] = {}
    for text in {*subjects, *objects}:
        known = [vectors[word] for word in text.lower().split() if word in vectors]
        mean = np.mean(known, axis=0) if known else np.full(vectors.vector_size, np.nan)
        units[text] = mean / np.linalg.norm(mean)
    pairs = zip(subjects, objects, strict=True)
    return np.array([float(units[a] @ units[b]) for a, b in pairs])
