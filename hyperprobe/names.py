"""What models are called, where those that ship lie, and which names may be asked; needs
nothing loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from hyperprobe.errors import UserError, quoted
from hyperprobe.families import FAMILIES, SERVED, STATIC

EMBEDDED = "embedded"
RANDOM = "random:"  # prefix: the shape and tokenizer of the model named after it, random weights
OPENAI = "openai:"  # prefix of the address of a server that has the model
EMBEDDED_VECTORS = ("word2vec", "glove", "fasttext")
EMBEDDED_FOLDER = Path(__file__).parent / "models" / "embedded"

# What rows of predictions are called that come from no model, or from a model asked otherwise.
MAJORITY, FREQ, CHARACTERS = "majority", "freq", "characters"
CHANCE, HEARST = "chance", "hearst"
RETRIEVE_READ = "retrieve-read"
RE_NAIVE, RE_ORACLE = "re_naive", "re_oracle"  # relation extraction by its two ways of linking
# Those of the LAMA paper in the order of its Table 2.
BASELINES = (MAJORITY, FREQ, CHARACTERS, CHANCE, HEARST, RETRIEVE_READ, RE_NAIVE, RE_ORACLE)
# The noun and the slot, with a full stop and without (as in the paper); contexts out of order.
CONTROL, CONTROL_BARE, SHUFFLED = "control:", "control-bare:", "shuffled:"
CONTROL_PREFIXES = (CONTROL, CONTROL_BARE, SHUFFLED)

AT = "@"  # NAME@REVISION: a branch, tag or commit of the hub, or a checkpoint in a folder
_REVISION = re.compile(r"[\w+-][\w.+-]*(/[\w+-][\w.+-]*)*", re.ASCII)
_STEP = re.compile(r"(?:step|checkpoint|ckpt|iter)s?[-_]?(\d+)(k?)(?![a-z\d])", re.IGNORECASE)
_NUMBER = re.compile(r"(\d+)(k?)", re.IGNORECASE)

StrPath = str | os.PathLike[str]
Word = TypeVar("Word", bound=str)


# What models are loaded from that were named as NAME=PATH; for this process.
_TARGETS: dict[str, str] = {}
_NAMED = re.compile(r"([\w.+-]+)=(.+)", re.DOTALL)


def target(name: str) -> str:
    """What the model called `name` is loaded from: its PATH where it was given as NAME=PATH."""
    body = name.removeprefix(RANDOM)
    return name.removesuffix(body) + _TARGETS.get(body, body)


def as_given(name: str) -> str:
    """The name as a user wrote it: NAME=PATH where it was given so."""
    return f"{name}={_TARGETS[name]}" if name in _TARGETS else name


def targets() -> dict[str, str]:
    """NAME -> PATH of all that were given as NAME=PATH, for `use_targets` in another process."""
    return dict(_TARGETS)


def use_targets(given: dict[str, str]) -> None:
    """From now on these names mean what they mean in the process that said `targets`."""
    _TARGETS.update(given)


def _exists(name: str) -> bool:
    return os.path.exists(name)  # noqa: PTH110 (Path.exists fails for some names)


def _without_path(name: str) -> str:
    """NAME of NAME=PATH, whose path is remembered; a name that is a file's stays whole.

    Raises `UserError` for a NAME that stands for something else.
    """
    found = None if _exists(name) else _NAMED.fullmatch(name)
    if not found:
        return name
    short, path = found.groups()
    if short in (EMBEDDED, *EMBEDDED_VECTORS, *BASELINES) or _exists(short):
        raise UserError(f"{quoted(name)}: {short} is the name of something else: choose another")
    _TARGETS[short] = path
    return short


@dataclass(frozen=True)
class Prefixed:
    """What a name such as `elmo:FOLDER?state=reference-order` says; `choices` are all of the
    family's, with defaults."""

    family: str
    path: Path
    choices: dict[str, str]


def prefixed(name: str) -> Prefixed | None:
    """What a name with a family's prefix says; none for any other name.

    Raises `UserError` for a choice that the family does not have.
    """
    family, colon, rest = target(name).removeprefix(RANDOM).partition(":")
    if not colon or family not in FAMILIES or not FAMILIES[family].prefixed:
        return None
    path, _, asked = rest.partition("?")
    of_family = FAMILIES[family].choices
    chosen = {key: values[0] for key, values in of_family.items()}
    for pair in asked.split("&") if asked else []:
        key, _, value = pair.partition("=")
        if value not in of_family.get(key, ()):
            known = [f"{key}={value}" for key, values in of_family.items() for value in values]
            remedy = f"choose from {', '.join(known)}" if known else "write the path alone"
            raise UserError(f"{quoted(name)}: {family} has no {quoted(pair)}: {remedy}")
        chosen[key] = value
    if not path:
        raise UserError(f"{quoted(name)}: no path behind {family}: write {family}:FOLDER")
    return Prefixed(family, Path(path), chosen)


@dataclass(frozen=True)
class Served:
    """What `openai:URL#MODEL?tokenizer=TOKENIZER` says: the address of the server's interface, its
    own name for the model, and the folder or hub name of the tokenizer (default: that name)."""

    url: str
    model: str
    tokenizer: str


def served(name: str) -> Served | None:
    """What the name of a served model says; none for any other name.

    Raises `UserError` for one that says something else, without repeating what may be a secret.
    """
    name = target(name).removeprefix(RANDOM)
    if not name.startswith(OPENAI):
        return None
    url, _, rest = name.removeprefix(OPENAI).partition("#")
    model, asked, tokenizer = rest.partition("?")
    wanted = f"write {OPENAI}http://HOST:PORT/v1#MODEL?tokenizer=FOLDER"
    try:
        address = urlsplit(url)
        known = address.scheme in ("http", "https") and address.hostname and address.port != 0
    except ValueError:  # a port that is no number
        known = False
    if "@" in url:
        raise UserError(
            f"a model's name begins {OPENAI} and has a user or password in its address: put the "
            "key into OPENAI_API_KEY, or name another variable with --key-env"
        )
    if not known or not model or not re.fullmatch("[!->@-~]+", url):
        raise UserError(f"a name that begins {OPENAI} needs an address and a model: {wanted}")
    if asked and not (tokenizer.startswith("tokenizer=") and tokenizer != "tokenizer="):
        raise UserError(f"a name that begins {OPENAI} may end in ?tokenizer= alone: {wanted}")
    return Served(url.rstrip("/"), model, tokenizer.removeprefix("tokenizer=") or model)


def model_path(name: str) -> Path:
    """Where a model of this name would lie: the files that ship, or a path of the user's.

    Of a served model, where its tokenizer would.
    """
    if behind := served(name):
        return model_path(behind.tokenizer)
    if of_family := prefixed(name):
        return of_family.path
    name = target(name).removeprefix(RANDOM)
    if name in EMBEDDED_VECTORS:
        return EMBEDDED_FOLDER / f"{name}.safetensors"
    if name == EMBEDDED:
        return EMBEDDED_FOLDER / "masked-lm"
    base, revision = split_revision(name)
    return (revision and _checkpoint(Path(base), revision)) or Path(name)


# -- revisions -----------------------------------------------------------------------------


def at_revision(name: str, revision: str) -> str:
    """`NAME@REVISION`. Raises `UserError` for a name that can have no revision, or has one."""
    joined = f"{name}{AT}{revision}"
    if not _REVISION.fullmatch(revision):
        raise UserError(f"{quoted(revision)} is no revision: write a branch, a tag or a commit")
    if split_revision(name)[1] or split_revision(joined) != (name, revision):
        raise UserError(f"{quoted(name)} takes no revision: name a folder or a model of the hub")
    _check_revision(joined)
    return joined


def split_revision(name: str) -> tuple[str, str]:
    """The name and the revision of `NAME@REVISION`; no revision of a path that exists as it
    stands, or of a name with a family's prefix."""
    base, at, revision = name.rpartition(AT)
    body = base.removeprefix(RANDOM)
    if not at or not body or not _REVISION.fullmatch(revision) or prefixed(name) or served(name):
        return name, ""
    return (name, "") if Path(name.removeprefix(RANDOM)).exists() else (base, revision)


class Step(NamedTuple):
    """A checkpoint: of which training, and after how many steps."""

    training: str
    number: int


def training_step(name: str) -> Step | None:
    """The training step that a revision, or a folder's own name, says; none for any other name.

    `pythia@step1000` is step 1000 of `pythia`, `out/checkpoint-500` step 500 of `out`, and
    `olmo@stage1-step5000-tokens21B` step 5000 of `olmo@stage1`; `@main` says none.
    """
    _, at, revision = name.rpartition(AT)
    last = revision if at else name.rstrip("/").rpartition("/")[2]
    if not (found := _STEP.search(last) or (at and _NUMBER.fullmatch(last))):
        return None
    before = name.rstrip("/").removesuffix(last) + last[: found.start()]
    training = re.sub(r"(?i)global[-_]?$", "", before).rstrip("@/-_. ")
    return Step(training or ".", int(found[1]) * (1000 if found[2] else 1))


def _checkpoint(folder: Path, revision: str) -> Path | None:
    """Where a checkpoint lies in a folder: as a folder of that name, as transformers' Trainer
    writes it, or as the Hugging Face cache keeps it; none if it is not there."""
    if not folder.is_dir():
        return None
    paths = [folder / revision]
    if step := re.fullmatch(r"(?:step[-_]?)?(\d+)", revision):
        paths += [folder / f"checkpoint-{step[1]}", folder / f"step{step[1]}"]
    reference = folder / "refs" / revision
    commit = reference.read_text(encoding="utf-8").strip() if reference.is_file() else revision
    if _REVISION.fullmatch(commit):
        paths.append(folder / "snapshots" / commit)
    return next((path for path in paths if path.is_dir()), None)


def _check_revision(name: str) -> None:
    """Raises `UserError` for a revision of what has none."""
    base, revision = split_revision(name)
    body = base.removeprefix(RANDOM)
    if revision and (body in (EMBEDDED, *EMBEDDED_VECTORS) or Path(body).is_file()):
        raise UserError(f"{body} has no revisions: leave {AT}{revision} out")


def file_family(name: str) -> str | None:
    """The family whose file a model of this name is or would be; none for a language model of
    Hugging Face."""
    if served(name):
        return SERVED
    if of_family := prefixed(name):
        return of_family.family
    path = model_path(name)
    if path.is_dir():
        return None
    for family, about in FAMILIES.items():
        if path.suffix and path.suffix in about.suffixes:
            return family
    return STATIC if path.is_file() else None


def is_vectors(name: str) -> bool:
    """Whether a model of this name is a file of static vectors, which read no text."""
    family = file_family(name)
    return family is not None and not FAMILIES[family].reads_text


def has_fixed_answers(name: str) -> bool:
    """Whether a model of this name is a file of answers, so that nothing else can be asked."""
    family = file_family(name)
    return family is not None and FAMILIES[family].fixed


def with_random_weights(names: Iterable[str]) -> list[str]:
    """`random:NAME` of each language model among the names that is here and not random already."""
    return [f"{RANDOM}{n}" for n in names if _has_weights(n) and not n.startswith(RANDOM)]


def _has_weights(name: str) -> bool:
    return not (is_vectors(name) or has_fixed_answers(name) or served(name))


def in_papers_order(names: Iterable[str]) -> list[str]:
    """The names as the columns of the LAMA paper's Table 2 stand: its older models first, in the
    order of `FAMILIES`, then the others as they come."""

    def place(name: str) -> int:
        older = prefixed(name)
        return list(FAMILIES).index(older.family) if older else len(FAMILIES)

    return sorted(names, key=place)


def listed(names: Word | Iterable[Word]) -> list[Word]:
    """One name or several as a list: `"embedded"` is one name and not eight letters.

    Paths become texts.
    """
    if isinstance(names, str | os.PathLike):
        names = [names]
    return [cast(Word, str(one)) if isinstance(one, os.PathLike) else one for one in names]


def listed_paths(paths: StrPath | Iterable[StrPath]) -> list[Path]:
    """One path or several as a list."""
    return [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(one) for one in paths]


def is_baseline(name: str) -> bool:
    """Whether rows of this name are a baseline's or a control's, and not those of a subject."""
    return name in BASELINES or name.startswith((*CONTROL_PREFIXES, RANDOM))


def is_subject(name: str) -> bool:
    """Whether rows of this name are about a model that a user named, and no baseline."""
    return not is_baseline(name) and name not in EMBEDDED_VECTORS


def distinct_models(names: Iterable[str]) -> list[str]:
    """The models that a user named, each once, in order.

    One that is written as NAME=PATH is called NAME from then on, in this process. Raises
    `UserError` for a name that stands for a baseline or a control in the tables, for one that
    no model can have, and for one that two models are given.
    """
    given = list(dict.fromkeys(names))
    distinct = [_without_path(name) for name in given]
    for name in distinct:
        if distinct.count(name) > 1:
            raise UserError(f"two models are called {name}: give each a name of its own")
    for name in distinct:
        _check(name)
    return distinct


def _check(name: str) -> None:
    if not name.strip() or "\0" in name:
        raise UserError(
            f"{quoted(name)} is no model's name: write a folder, a vectors file or a hub name"
        )
    if name in BASELINES:
        raise UserError(f"{name} is a baseline's name: write ./{name} for a model of yours")
    for prefix in CONTROL_PREFIXES:
        if name.startswith(prefix):
            raise UserError(
                f"{quoted(name)}: {prefix} marks a control's rows: write ./{name} for a model of "
                "yours"
            )
    try:
        prefixed(name)
        _check_revision(name)
        if served(name) and name.startswith(RANDOM):
            raise UserError(
                f"a served model has no random weights: write {RANDOM}FOLDER for a model here"
            )
        exists = Path(name).exists()
        weightless = name.startswith(RANDOM) and not _has_weights(name)
    except (OSError, ValueError) as error:  # too long, or with a null byte
        raise UserError(f"no model {quoted(name)}: check the name") from error
    if exists and name.startswith(RANDOM):
        raise UserError(
            f"{quoted(name)}: {RANDOM} asks for random weights: write ./{name} for a model of yours"
        )
    if weightless:
        raise UserError(
            f"{quoted(name)}: vectors and scores have no random weights: name a language model"
        )
