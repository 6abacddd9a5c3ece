"""Models are called by as much of their path as tells them apart."""

import pandas as pd
import pytest

from hyperprobe.render.labels import short_names, with_short_names


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["/a/b/bert-base", "/a/b/bert-large"], ["bert-base", "bert-large"]),
        (["/a/x/final", "/a/y/final"], ["x/final", "y/final"]),
        (["/a/x/m/final", "/a/y/m/final", "gpt2"], ["x/m/final", "y/m/final", "gpt2"]),
        (["org/bert", "control:org/bert", "shuffled:org/bert"],
         ["bert", "control:bert", "shuffled:bert"]),
        (["random:/a/x/final", "control-bare:/a/y/final"],
         ["random:x/final", "control-bare:y/final"]),
        # Not to be taken for a baseline, or for what ships.
        (["/a/majority", "majority", "/a/embedded", "/a/control:x"],
         ["a/majority", "majority", "a/embedded", "a/control:x"]),
        (["m", "b/m", "c/b/m"], ["m", "b/m", "c/b/m"]),
        (["/a/bert/", "./bert"], ["a/bert", "./bert"]),
        (["org/m@step0", "org/m@step1", "org/m", "lab/m@step0", "control:org/m@refs/pr/1"],
         ["org/m@step0", "m@step1", "m", "lab/m@step0", "control:m@refs/pr/1"]),
        (["/a/m", "/a/m/"], ["/a/m", "/a/m/"]),
    ],
)  # fmt: skip
def test_short_names(names: list[str], short: list[str]):
    assert short_names(names) == dict(zip(names, short, strict=True))


def test_the_frames_of_a_result_agree():
    frames = {
        "metrics": pd.DataFrame({"model": ["/a/x/m", "/a/y/m"], "n": [1, 2]}),
        "tests": pd.DataFrame({"model": ["/a/x/m"], "other": ["control:/a/y/m"]}),
        "none": pd.DataFrame({"source": [None]}),
        "sets": pd.DataFrame({"diagnostic": ["/d/nouns.tsv", "lm-diagnostic"]}),
    }
    shown = with_short_names(frames)
    assert shown["metrics"]["model"].tolist() == ["x/m", "y/m"]
    assert shown["tests"].to_dict("records") == [{"model": "x/m", "other": "control:y/m"}]
    assert shown["sets"]["diagnostic"].tolist() == ["nouns.tsv", "lm-diagnostic"]
    assert frames["metrics"]["model"].tolist() == ["/a/x/m", "/a/y/m"]
