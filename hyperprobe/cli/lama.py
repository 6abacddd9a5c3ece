"""`hyperprobe lama` and `hyperprobe lama fetch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    App,
    BatchSize,
    Concurrency,
    Device,
    Json,
    KeyEnv,
    LamaData,
    Lowercase,
    Models,
    OnlyRelations,
    Precision,
    Remote,
    Results,
    Signed,
    app,
    each_of,
    say,
    show_result,
)
from hyperprobe.errors import UserError
from hyperprobe.names import EMBEDDED
from hyperprobe.options import LAMA_BASELINES, LAMA_CONTROLS, LAMA_DATA, RESULTS

INTERSECT = "intersect"


lama_app = App(rich_markup_mode=None, invoke_without_command=True)
app.add_typer(lama_app, name="lama")


@lama_app.callback()
def lama_command(
    context: typer.Context,
    model: Models = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="wordnet, google-re, trex, conceptnet, squad, or a file or folder in "
            "LAMA's layout, or a diagnostic set (.tsv); repeatable. Default: wordnet."
        ),
    ] = None,
    data: LamaData = LAMA_DATA,
    relation: OnlyRelations = None,
    vocab: Annotated[
        str | None,
        typer.Option(
            help="Answers are ranked among these words: a file, or intersect MODEL MODEL ... "
            "Default: those that the models asked share."
        ),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help="Prompts instead of the source's: files as LPAQA's, ParaRel's, ..."),
    ] = None,
    lowercase: Lowercase = False,
    multi_token: Annotated[
        bool,
        typer.Option(
            "--multi-token",
            help="Keep objects of several tokens; rank each among its relation's objects.",
        ),
    ] = False,
    negated: Annotated[
        bool, typer.Option("--negated", help="Also ask the negated templates.")
    ] = False,
    mentions: Annotated[
        bool, typer.Option("--mentions", help="Also ask ten evidence sentences of each fact.")
    ] = False,
    control: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("control", LAMA_CONTROLS), help="More baselines: random (weights)."
        ),
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("baseline", LAMA_BASELINES),
            help="re: relation extraction from evidence sentences. retrieve-read: finds "
            "--documents, and reads them with --reader.",
        ),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(help="Texts, JSONL, folders of them, or DrQA's .npz with its docs.db."),
    ] = None,
    reader: Annotated[
        Path | None,
        typer.Option(help="DrQA's reader (.mdl), or a question-answering model's folder."),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="A SQuAD file: questions by the ids of the facts.")
    ] = None,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    seed: Annotated[int, typer.Option(min=0, help="Of intervals and samples.")] = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    concurrency: Concurrency = DEFAULT.concurrency,
    key_env: KeyEnv = DEFAULT.key_env,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Ask models and baselines for the objects of facts, in two rankings.

    raw counts as the reference code does; filtered takes other right answers out.

    Example: hyperprobe lama --source trex --model bert-base-cased --vocab common_vocab_cased.txt
    """
    if context.invoked_subcommand is not None:
        return
    from hyperprobe.options import check_seed
    from hyperprobe.probes.lama.asked import (
        check_baselines,
        notes,
        relations_asked,
        without_extraction,
        words_asked,
    )

    # Before torch is loaded, which takes seconds.
    check_seed(seed)
    sources, words = source or ["wordnet"], _vocab(vocab)
    asked, _ = relations_asked(sources, data, relation or [], prompts)
    words_asked(words)
    check_baselines(baseline or [], documents, reader, questions, multi_token)

    from hyperprobe.probes.lama.probe import lama

    settings: dict[str, Any] = {
        "models": model or [EMBEDDED],
        "sources": sources,
        "data": data,
        "relations": relation or [],
        "vocab": words,
        "prompts": prompts,
        "lowercase": lowercase,
        "multi_token": multi_token,
        "negated": negated,
        "mentions": mentions,
        "controls": control or [],
        "baselines": baseline or [],
        "documents": documents,
        "reader": reader,
        "questions": questions,
        "dtype": dtype,
        "seed": seed,
    }
    result = lama(
        **settings,
        results=results,
        device=device,
        trust_remote_code=trust_remote_code,
        concurrency=concurrency,
        key_env=key_env,
        batch_size=batch_size,
    )
    wanted = {"--negated": negated, "--mentions": mentions}
    missing = [
        option for option, on in wanted.items() if on and f"{option[2:]}.csv" not in result.frames
    ]
    lines = notes(sources, data, asked, missing)
    lines += without_extraction(result.metrics, result.facts)
    for line in lines:
        say(line)
    show_result(result, result.metrics, settings, as_json, signature=signature)


@lama_app.command("fetch")
def fetch_command(
    to: Annotated[Path, typer.Option(help="The folder to fill.")] = LAMA_DATA,
) -> None:
    """Download LAMA's official files (75 MB), check them and unpack them.

    Their licence is CC BY-NC 4.0: no commercial use.

    Example: hyperprobe lama fetch --to lama-data
    """
    from hyperprobe.probes.lama.fetch import LICENCE, fetch

    folder = fetch(to)
    say(f"LAMA's files are in {folder} ({LICENCE})")


def _vocab(text: str | None) -> Path | list[str] | None:
    """A file, or the models after the word `intersect`."""
    if text is None:
        return None
    words = text.split()
    if words in ([], [INTERSECT]):
        raise UserError(f"--vocab {text!r}: name a file, or {INTERSECT} and one model or more")
    return words[1:] if words[0] == INTERSECT else Path(text)


def join_vocab_models(arguments: list[str]) -> list[str]:
    """The arguments with `--vocab intersect A B` as one value, as the option parser wants it."""
    joined: list[str] = []
    for argument in arguments:
        value = joined[-1].split() if len(joined) > 1 and joined[-2] == "--vocab" else []
        if value[:1] == [INTERSECT] and not argument.startswith("-"):
            joined[-1] += f" {argument}"
        else:
            joined.append(argument)
    return joined
