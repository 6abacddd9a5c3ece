"""`hyperprobe analyze`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hyperprobe.cli.common import Json, app


@app.command("analyze")
def analyze_command(
    run: Annotated[Path, typer.Argument(help="The folder of a zero-shot run.")],
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    as_json: Json = False,
) -> None:
    """How much of the embedded model's accuracy is having read the defining sentence?

    Example: hyperprobe analyze results/zero-shot-0123456789
    """
    from hyperprobe import terminal
    from hyperprobe.analysis.memorisation import memorisation_effect, read_predictions

    effect = memorisation_effect(read_predictions(run), seed)
    if as_json:
        rows = terminal.json_rows(effect)
        terminal.print_json("analyze", {"run": str(run), "seed": seed}, run, rows)
        return
    for diagnostic, rows in effect.groupby("diagnostic", sort=False):
        terminal.print_table(
            f"{diagnostic}: definitions read as sentences, or in dictionary form (percent right)",
            ["model", "probe", "sentence", "n", "dictionary", "n", "difference"],
            [
                [
                    str(r.model),
                    str(r.probe),
                    terminal.percent(r.sentence),
                    str(r.n_sentence),
                    terminal.percent(r.dictionary),
                    str(r.n_dictionary),
                    terminal.percent(r.difference, r.difference_low, r.difference_high),
                ]
                for r in rows.itertuples()
            ],
        )
