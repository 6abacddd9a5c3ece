"""How models are loaded and asked: one value from the command line to the loader.

The choices and defaults that commands, studies and the Python API share are defined here, and
checked before anything heavy is imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from hyperprobe.errors import UserError, quoted

Dtype = Literal["fp32", "bf16", "fp16", "int8"]
Pll = Literal["within-word", "original", "all-masked"]
CausalScoring = Literal["full", "continuation"]
Article = Literal["gold", "fixed", "marginal"]
# What the probes can be asked to add or to do; their functions say what each means.
ZeroShotControl = Literal["shuffled", "random"]
ConsistencyControl = Literal["random"]
LamaControl = Literal["random"]
LamaBaseline = Literal["re", "retrieve-read"]
ExportedProbes = Literal["zero-shot", "consistency"]
Setting = Literal["seen", "unseen", "both"]
ClassifyAnalysis = Literal["layers", "control-task", "code-length"]
Method = Literal["manual", "lpaqa", "mine", "autoprompt", "optiprompt", "finetune"]
PromptsControl = Literal["none", "random-model", "random-embeddings"]

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
PLLS: tuple[Pll, ...] = get_args(Pll)
CAUSAL_SCORINGS: tuple[CausalScoring, ...] = get_args(CausalScoring)
ARTICLES: tuple[Article, ...] = get_args(Article)
ZERO_SHOT_CONTROLS: tuple[ZeroShotControl, ...] = get_args(ZeroShotControl)
CONSISTENCY_CONTROLS: tuple[ConsistencyControl, ...] = get_args(ConsistencyControl)
LAMA_CONTROLS: tuple[LamaControl, ...] = get_args(LamaControl)
LAMA_BASELINES: tuple[LamaBaseline, ...] = get_args(LamaBaseline)
SETTINGS: tuple[Setting, ...] = get_args(Setting)
CLASSIFY_ANALYSES: tuple[ClassifyAnalysis, ...] = get_args(ClassifyAnalysis)
METHODS: tuple[Method, ...] = get_args(Method)
PROMPTS_CONTROLS: tuple[PromptsControl, ...] = get_args(PromptsControl)
# Of `consistency`: answers of several pieces are many there, and one text for all of a length is
# enough then.
CONSISTENCY_PLL: Pll = "all-masked"
N_NETS = 5  # of `classify`, on each fold
STEPS, N_CANDIDATES, VECTORS = 100, 10, "manual"  # of AutoPrompt and OptiPrompt
RESULTS, LAMA_DATA = Path("results"), Path("lama-data")
SPREAD = "spread"  # over all GPUs, then the CPU
MAX_SEED = 2**32 - 1  # numpy takes no more
CONCURRENCY, MAX_CONCURRENCY = 16, 1024
KEY_ENV = "OPENAI_API_KEY"
# Options that decide no number.
NO_NUMBERS = ("device", "batch_size", "concurrency", "key_env")
SCORING = ("pll", "causal_scoring")  # options that touch some families alone
_DEVICE = re.compile(r"auto|cpu|mps|spread|cuda(:(0|[1-9][0-9]{0,2}))?")


class StudyKeywords(TypedDict, total=False):
    """Keyword arguments of a study: how models are loaded for all its probes."""

    device: str
    trust_remote_code: bool
    concurrency: int
    key_env: str
    batch_size: int | None


class LoadKeywords(StudyKeywords, total=False):
    """Keyword arguments of every probe: how its models are loaded."""

    dtype: Dtype


class ModelKeywords(LoadKeywords, total=False):
    """Keyword arguments of the probes that score candidates: how models are asked, too."""

    pll: Pll
    causal_scoring: CausalScoring


@dataclass(frozen=True)
class ModelOptions:
    """How models are loaded and asked. Raises `UserError` for a value that is no choice.

    `device` is auto, cpu, cuda, cuda:N, mps or spread; `pll` says how masked models score a
    candidate of several word pieces, `causal_scoring` whether autoregressive models count what
    follows the slot (docs/models.md). Of served models, `concurrency` requests are under way at a
    time, with the key in the environment variable `key_env`. `batch_size` is how many texts are
    asked at once at most; it changes no numbers.
    """

    device: str = "auto"
    dtype: Dtype = "fp32"
    trust_remote_code: bool = False
    pll: Pll = "within-word"
    causal_scoring: CausalScoring = "full"
    concurrency: int = CONCURRENCY
    key_env: str = KEY_ENV
    batch_size: int | None = None

    def __post_init__(self) -> None:
        check_device(self.device)
        check_choice("dtype", self.dtype, DTYPES)
        check_choice("pll", self.pll, PLLS)
        check_choice("causal scoring", self.causal_scoring, CAUSAL_SCORINGS)
        check_concurrency(self.concurrency)
        check_key_env(self.key_env)
        if self.batch_size is not None:
            check_count("batch-size", self.batch_size)

    def loads_as(self, other: ModelOptions) -> bool:
        """Whether models that are loaded by one of the two can be asked by the other."""
        return replace(self, pll=other.pll, causal_scoring=other.causal_scoring) == other

    def identity(self) -> dict[str, Any]:
        """What of it decides numbers: all but the device, batches and how servers are reached."""
        return {name: value for name, value in asdict(self).items() if name not in NO_NUMBERS}

    def identity_of(self, settings: Callable[[], Iterable[str]]) -> dict[str, Any]:
        """The same where `settings()` are those that touch a model of the run (see
        `families.Family`): scoring options that touch none count as if they were not given.

        `settings` is called only if one was given, as it loads what reads configurations.
        """
        asked, default = self.identity(), ModelOptions().identity()
        given = {name for name in SCORING if asked[name] != default[name]}
        touched = set(settings()) if given else set()
        return asked | {name: default[name] for name in given - touched}


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raises `UserError` unless `value` is one of `choices`."""
    if value not in choices:
        raise UserError(f"unknown {name} {quoted(value)}: choose from {', '.join(choices)}")


def check_choices(name: str, values: Iterable[Any], choices: tuple[str, ...]) -> None:
    """Raises `UserError` unless each of `values` is one of `choices`."""
    for value in values:
        check_choice(name, value, choices)


def check_device(device: str) -> str:
    """The device's name, if it is one. Whether the machine has it is seen when a model loads.

    Raises `UserError`.
    """
    if not isinstance(device, str) or not _DEVICE.fullmatch(device):
        raise UserError(
            f"unknown device {quoted(device)}: choose from auto, cpu, cuda, cuda:1, mps, spread"
        )
    return device


def check_concurrency(n: int) -> int:
    """The number of requests at a time, if it is one. Raises `UserError`."""
    if type(n) is not int or not 1 <= n <= MAX_CONCURRENCY:
        raise UserError(
            f"--concurrency {quoted(n)}: give a whole number from 1 to {MAX_CONCURRENCY}"
        )
    return n


def check_count(name: str, value: int) -> int:
    """The value, if it is a number of things. Raises `UserError`."""
    if type(value) is not int or value < 1:
        raise UserError(f"--{name} {quoted(value)}: give a whole number from 1 on")
    return value


def check_key_env(name: str) -> str:
    """The name of an environment variable, if it is set or the default.

    Raises `UserError`, which does not repeat it: it may be the key itself.
    """
    if not isinstance(name, str) or not (name == KEY_ENV or os.environ.get(name)):
        raise UserError(
            "--key-env names no environment variable that is set: give the name of one that "
            "holds the key, never the key"
        )
    return name


def check_seed(seed: int) -> int:
    """The seed, if every random generator takes it. Raises `UserError`."""
    if type(seed) is not int or not 0 <= seed <= MAX_SEED:
        raise UserError(f"--seed {quoted(seed)}: give a whole number from 0 to {MAX_SEED}")
    return seed
