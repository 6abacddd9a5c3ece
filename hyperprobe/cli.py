"""The command line: parse, call the library, print. No logic of its own."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperprobe import __version__
from hyperprobe.errors import UserError

# typer carries its own click or uses the installed one: ask it for the error class.
INTERRUPTED = 130
UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="hyperprobe",
    help="Does a language model systematically know that a robin is a bird?",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class ArticlePolicy(StrEnum):
    gold = "gold"
    fixed = "fixed"
    marginal = "marginal"


class ExtraControl(StrEnum):
    shuffled = "shuffled"
    random = "random"


class Monosemous(StrEnum):
    noun = "noun"
    any = "any"


class Dtype(StrEnum):
    fp32 = "fp32"
    bf16 = "bf16"


Results = Annotated[Path, typer.Option("--results", help="Where run folders go.")]
Json = Annotated[bool, typer.Option("--json", help="Print the metrics as JSON, and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"hyperprobe {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Does a language model systematically know that a robin is a bird?"""


@app.command("build-diagnostic")
def build_diagnostic_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="lm-diagnostic, lm-diagnostic-extended; default: both."),
    ] = None,
    size: Annotated[str, typer.Option(help="Items of the extended set: a number, or all.")] = "576",
    monosemous: Annotated[
        Monosemous, typer.Option(help="One sense as a noun, or over any part of speech.")
    ] = Monosemous.noun,
    wordnet: Annotated[
        Path | None, typer.Option(help="A WordNet 3.0 folder of your own, or nltk's wordnet.zip.")
    ] = None,
    results: Results = Path("results"),
    as_json: Json = False,
) -> None:
    """Build the hypernymy diagnostic sets from WordNet, as TSV and JSONL.

    Example: hyperprobe build-diagnostic lm-diagnostic-extended --size all
    """
    from hyperprobe import diagnostic, terminal

    built = diagnostic.build(
        names or list(diagnostic.NAMES), size, monosemous.value, wordnet, results
    )
    if as_json:
        rows = terminal.json_rows(built.counts)
        terminal.print_json("build-diagnostic", built.settings, built.folder, rows)
        return
    for name, counts in built.counts.groupby("diagnostic", sort=False):
        terminal.print_table(
            f"{name} ({counts['n_items'].sum()} items)",
            ["category", "items", "percent", "with a context"],
            [
                [r.hypernym, str(r.n_items), f"{r.percent:.2f}", str(r.n_contextual)]
                for r in counts.itertuples()
            ],
        )
    _say(f"files in {built.folder}")


@app.command("zero-shot")
def zero_shot_command(
    model: Annotated[
        list[str] | None,
        typer.Option(help="A Hugging Face name or folder, a vectors file; repeatable."),
    ] = None,
    diagnostic: Annotated[
        list[str] | None,
        typer.Option(help="lm-diagnostic, lm-diagnostic-extended or a file; repeatable."),
    ] = None,
    paired: Annotated[
        bool, typer.Option("--paired", help="Also print whether paired success is systematic.")
    ] = False,
    article: Annotated[
        ArticlePolicy,
        typer.Option(
            help="Before the slot: the right answer's, always a, or each candidate's own."
        ),
    ] = ArticlePolicy.gold,
    control: Annotated[
        list[ExtraControl] | None,
        typer.Option(help="More baselines: shuffled contexts, random weights; repeatable."),
    ] = None,
    results: Results = Path("results"),
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, ...")] = "auto",
    dtype: Annotated[Dtype, typer.Option(help="Precision of the weights.")] = Dtype.fp32,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Let a model run code of its own.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Ask models which category a noun belongs to, beside the baselines.

    Example: hyperprobe zero-shot --paired --model bert-base-uncased
    """
    from hyperprobe import terminal
    from hyperprobe.diagnostic import NAMES
    from hyperprobe.models.load import EMBEDDED
    from hyperprobe.report import zero_shot_tables
    from hyperprobe.zero_shot import zero_shot

    settings: dict[str, Any] = {
        "model": model or [EMBEDDED],
        "diagnostic": diagnostic or list(NAMES),
        "article": article.value,
        "control": [one.value for one in control or ()],
        "dtype": dtype.value,
        "seed": seed,
    }
    result = zero_shot(
        models=settings["model"],
        diagnostics=settings["diagnostic"],
        article=article.value,
        controls=settings["control"],
        results=results,
        device=device,
        dtype=dtype.value,
        trust_remote_code=trust_remote_code,
        seed=seed,
    )
    if as_json:
        rows = terminal.json_rows(result.metrics)
        terminal.print_json("zero-shot", settings, result.folder, rows)
        return
    zero_shot_tables.print_metrics(result.metrics)
    if paired:
        zero_shot_tables.print_paired(result.metrics, result.mcnemar)
    zero_shot_tables.print_categories(result.predictions)
    _say(f"predictions, metrics and provenance in {result.folder}")


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


contexts_app = typer.Typer(help="Sentences with a word in context.", rich_markup_mode=None)
app.add_typer(contexts_app, name="contexts")


@contexts_app.command("check")
def contexts_check_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="TSV files; default: those that ship.")
    ] = None,
) -> None:
    """Report every sentence that breaks a rule that a machine can test.

    One line per finding, FILE:LINE: rule: what; exit code 1 when there are any.

    Example: hyperprobe contexts check my-contexts.tsv
    """
    from hyperprobe.contexts.check import check
    from hyperprobe.contexts.sentences import read_all, shipped_files

    contexts = list(read_all(files or shipped_files()))
    findings = check(contexts)
    for finding in findings:
        print(finding)
    _say(f"{len(contexts)} sentences, {len(findings)} findings")
    if findings:
        raise typer.Exit(1)


@contexts_app.command("mine")
def contexts_mine_command(
    corpus: Annotated[
        list[Path], typer.Argument(help="Text or JSONL files, packed or not; folders.")
    ],
    diagnostic: Annotated[
        list[str] | None,
        typer.Option(help="lm-diagnostic, lm-diagnostic-extended or a file; repeatable."),
    ] = None,
    best: Annotated[int, typer.Option(min=1, help="Sentences to keep of each word and kind.")] = 20,
    text_field: Annotated[str, typer.Option("--field", help="The text field of JSONL.")] = "text",
    processes: Annotated[int, typer.Option(min=1, help="Processes that search.")] = 2,
    seed: Annotated[int, typer.Option(help="Of the choice among equally good ones.")] = 0,
    results: Results = Path("results"),
) -> None:
    """Find context sentences in your own corpus, in the format of the shipped ones.

    Example: hyperprobe contexts mine wiki/ more.jsonl.gz --best 50
    """
    from hyperprobe import terminal
    from hyperprobe.contexts.mine import mine
    from hyperprobe.diagnostic import NAMES

    found = mine(corpus, diagnostic or list(NAMES), best, text_field, processes, seed, results)
    terminal.print_table(
        "sentences found",
        ["kind", "sentences", "words"],
        [[str(r.kind), str(r.n_sentences), str(r.n_words)] for r in found.counts.itertuples()],
    )
    for note in found.skipped.notes:
        _say(note)
    if found.skipped.n_undecodable or found.skipped.n_long:
        _say(
            f"skipped {found.skipped.n_undecodable} lines that are no UTF-8 and "
            f"{found.skipped.n_long} longer than a megabyte"
        )
    _say(f"sentences in {found.path}")


def _say(text: str) -> None:
    """A line for people."""
    print(text, file=sys.stderr)


def main() -> None:
    """The entry point: every error is one line on standard error and exit code 2."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except UserError as error:
        _fail(" ".join(str(error).split()))
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "hyperprobe"
        _fail(f"{error.format_message()} (see {command} --help)")
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _fail(f"{error.strerror or error}{where}: check the path and the space on the disk")
    except MemoryError:
        _fail("out of memory: name fewer or smaller models, or use --dtype bf16")
    if code == INTERRUPTED:  # typer turns a Ctrl-C inside a command into this code
        _say("hyperprobe: interrupted: the same command goes on where this one stopped")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> None:
    _say(f"hyperprobe: error: {message}")
    sys.exit(2)
