"""`hyperprobe prompts`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    LAMA_DATA,
    Device,
    Dtype,
    Json,
    LamaData,
    Lowercase,
    Models,
    OnlyRelations,
    Precision,
    Remote,
    Results,
    app,
    say,
)
from hyperprobe.errors import UserError, quoted


class Method(StrEnum):
    manual = "manual"
    lpaqa = "lpaqa"
    mine = "mine"
    autoprompt = "autoprompt"
    optiprompt = "optiprompt"
    finetune = "finetune"


class Control(StrEnum):
    none = "none"
    random_model = "random-model"
    random_embeddings = "random-embeddings"


@app.command("prompts")
def prompts_command(
    model: Models = None,
    method: Annotated[
        list[Method] | None,
        typer.Option(help="How prompts are found; repeatable. Default: optiprompt."),
    ] = None,
    control: Annotated[
        list[Control] | None,
        typer.Option(help="Also in networks that know nothing; repeatable. Default: all three."),
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="wordnet, google-re, trex, a file or folder in LAMA's layout, or a folder with "
            "REL/train.jsonl, dev.jsonl, test.jsonl; repeatable. Default: wordnet."
        ),
    ] = None,
    data: LamaData = LAMA_DATA,
    relation: OnlyRelations = None,
    vocab: Annotated[
        Path | None,
        typer.Option(help="Answers are among these words. Default: those the models share."),
    ] = None,
    lowercase: Lowercase = False,
    prompts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METHOD=PATH",
            help="The prompts of a method, from a file or folder instead of a search; repeatable.",
        ),
    ] = None,
    corpus: Annotated[
        list[Path] | None, typer.Option(help="For mine: text files or folders; repeatable.")
    ] = None,
    top_k: Annotated[
        int, typer.Option(min=0, help="For lpaqa and mine: the mean of the K best on train.")
    ] = 0,
    vectors: Annotated[
        str, typer.Option(help="For optiprompt: manual (start from it), or how many: 5, 10.")
    ] = "manual",
    steps: Annotated[int, typer.Option(min=1, help="For autoprompt: steps of the search.")] = 100,
    candidates: Annotated[
        int, typer.Option(min=1, help="For autoprompt: tokens tried at each step.")
    ] = 10,
    results: Results = Path("results"),
    device: Device = "auto",
    dtype: Precision = Dtype.fp32,
    seed: Annotated[int, typer.Option(min=0, help="Of splits, searches and intervals.")] = 0,
    trust_remote_code: Remote = False,
    as_json: Json = False,
) -> None:
    """Search better prompts for facts, and see how much of it is learned, not recalled.

    The same search runs in networks with random weights; what it finds there comes from
    the training facts.

    Example: hyperprobe prompts --method optiprompt --relation is-a
    """
    from hyperprobe.lama.asked import check_data
    from hyperprobe.lama.sources import load_sources
    from hyperprobe.lama.vocabulary import read_words
    from hyperprobe.models.names import EMBEDDED
    from hyperprobe.prompts.asked import MANUAL, OPTIPROMPT, Options, check_asked

    options = Options(
        vectors, steps, candidates, top_k, tuple(corpus or ()), _given_by(prompts or [])
    )
    # Before torch is loaded, which takes seconds.
    methods = [one.value for one in method or ()] or [OPTIPROMPT]
    controls = [one.value for one in control or Control]
    check_asked(model or [EMBEDDED], [MANUAL, *methods], controls, options, seed)
    check_data(data)
    load_sources(source or ["wordnet"], data, relation or [])
    if vocab:
        read_words(vocab)

    from hyperprobe import terminal
    from hyperprobe.prompts.search import prompts as search
    from hyperprobe.report import prompts_tables
    from hyperprobe.report.prompts_figures import majority_figure
    from hyperprobe.report.style import save_figures

    settings: dict[str, Any] = {
        "models": model or [EMBEDDED],
        "methods": methods,
        "controls": controls,
        "sources": source or ["wordnet"],
        "data": data,
        "relations": relation or [],
        "vocab": vocab,
        "lowercase": lowercase,
        "dtype": dtype.value,
        "seed": seed,
    }
    result = search(
        **settings,
        options=options,
        results=results,
        device=device,
        trust_remote_code=trust_remote_code,
    )
    save_figures(result.folder, {"majority": majority_figure(result.metrics, result.splits)})
    if as_json:
        rows = terminal.json_rows(result.metrics)
        shown = {**settings, "vectors": vectors, "steps": steps, "candidates": candidates,
                 "top_k": top_k, "corpus": corpus or [], "prompts": prompts or []}  # fmt: skip
        terminal.print_json("prompts", shown, result.folder, rows)
        return
    prompts_tables.print_result(result.metrics, result.splits)
    say(f"prompts, predictions, metrics and provenance in {result.folder}")


def _given_by(texts: list[str]) -> dict[str, Path]:
    given: dict[str, Path] = {}
    for text in texts:
        method, _, path = text.partition("=")
        if not path or method not in tuple(Method):
            raise UserError(
                f"--prompts {quoted(text)}: write METHOD=PATH, such as lpaqa=prompts/paraphrase"
            )
        if method in given:
            raise UserError(f"--prompts {method}=... is there twice: keep one")
        given[method] = Path(path)
    return given
