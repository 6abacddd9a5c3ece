"""`hyperprobe prompts`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe.cli.common import (
    DEFAULT,
    BatchSize,
    Device,
    Json,
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
    show_result,
)
from hyperprobe.errors import UserError, quoted
from hyperprobe.names import EMBEDDED
from hyperprobe.options import (
    LAMA_DATA,
    METHODS,
    N_CANDIDATES,
    PROMPTS_CONTROLS,
    RESULTS,
    STEPS,
    VECTORS,
)


@app.command("prompts")
def prompts_command(
    model: Models = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("method", METHODS),
            help="How prompts are found: manual, lpaqa, mine, autoprompt, optiprompt, finetune; "
            "repeatable. Default: optiprompt.",
        ),
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(
            callback=each_of("control", PROMPTS_CONTROLS),
            help="Also in networks that know nothing: none, random-model, random-embeddings; "
            "repeatable. Default: all three.",
        ),
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
    ] = VECTORS,
    steps: Annotated[int, typer.Option(min=1, help="For autoprompt: steps of the search.")] = STEPS,
    candidates: Annotated[
        int, typer.Option(min=1, help="For autoprompt: tokens tried at each step.")
    ] = N_CANDIDATES,
    results: Results = RESULTS,
    device: Device = DEFAULT.device,
    dtype: Precision = DEFAULT.dtype,
    seed: Annotated[int, typer.Option(min=0, help="Of splits, searches and intervals.")] = 0,
    batch_size: BatchSize = None,
    trust_remote_code: Remote = False,
    signature: Signed = False,
    as_json: Json = False,
) -> None:
    """Search better prompts for facts, and see how much of it is learned, not recalled.

    The same search runs in networks with random weights; what it finds there comes from
    the training facts.

    Example: hyperprobe prompts --method optiprompt --relation is-a
    """
    from hyperprobe.probes.lama.asked import check_data
    from hyperprobe.probes.lama.sources import load_sources
    from hyperprobe.probes.lama.vocabulary import read_words
    from hyperprobe.probes.prompts.asked import MANUAL, OPTIPROMPT, SearchOptions, check_asked

    search = SearchOptions(
        vectors, steps, candidates, top_k, tuple(corpus or ()), _given_by(prompts or [])
    )
    # Before torch is loaded, which takes seconds.
    methods = method or [OPTIPROMPT]
    controls = control or list(PROMPTS_CONTROLS)
    check_asked(model or [EMBEDDED], [MANUAL, *methods], controls, search, seed)
    check_data(data)
    load_sources(source or ["wordnet"], data, relation or [])
    if vocab:
        read_words(vocab)

    from hyperprobe.probes.prompts.probe import prompts as search_prompts

    settings: dict[str, Any] = {
        "models": model or [EMBEDDED],
        "methods": methods,
        "controls": controls,
        "sources": source or ["wordnet"],
        "data": data,
        "relations": relation or [],
        "vocab": vocab,
        "lowercase": lowercase,
        "dtype": dtype,
        "seed": seed,
    }
    result = search_prompts(
        **settings,
        search=search,
        results=results,
        device=device,
        trust_remote_code=trust_remote_code,
        batch_size=batch_size,
    )
    settings |= {"vectors": vectors, "steps": steps, "candidates": candidates}
    settings |= {"top_k": top_k, "corpus": corpus or [], "prompts": prompts or []}
    what = "prompts, predictions, metrics and provenance"
    show_result(result, result.metrics, settings, as_json, what=what, signature=signature)


def _given_by(texts: list[str]) -> dict[str, Path]:
    given: dict[str, Path] = {}
    for text in texts:
        method, _, path = text.partition("=")
        if not path or method not in METHODS:
            raise UserError(
                f"--prompts {quoted(text)}: write METHOD=PATH, such as lpaqa=prompts/paraphrase"
            )
        if method in given:
            raise UserError(f"--prompts {method}=... is given twice: keep one")
        given[method] = Path(path)
    return given
