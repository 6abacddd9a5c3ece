"""Tables for papers: one that fits a column, compiled where pdflatex is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from hyperprobe.errors import UserError
from hyperprobe.render.latex import OPENING, latex, paper_latex
from hyperprobe.render.table import Table
from hyperprobe.reporting.report import paper_table
from tests.reporting.toys import run_of

# An article on A4, and the columns of ACL's style: 16 cm with a gap of 0.6 cm.
ARTICLE = r"\documentclass[a4paper]{article}"
ACL = (
    r"\documentclass[11pt,a4paper,twocolumn]{article}"
    r"\setlength{\textwidth}{16cm}\setlength{\columnsep}{0.6cm}"
)
NAMES = ("majority", "control-bare:EleutherAI_pythia-6.9b-deduped", "a_b%c#d$e^f~g", "x" * 12)
WIDE = Table(
    "Percent right of 576 nouns (lm_diagnostic & more), calibrated",
    ("model", "sing.", "plur.", "cont.", "paired", "all"),
    tuple((name, *["100.0"] * 5) for name in NAMES),
    "95 % intervals over nouns: at most ±3.9 [of any], p < 0.05.",
)


def compiled(folder: Path, preamble: str, body: str) -> str:
    """The log of pdflatex."""
    if not shutil.which("pdflatex"):
        pytest.skip("no pdflatex here")
    packages = r"\usepackage{booktabs,graphicx,tabularx}"
    (folder / "t.tex").write_text(f"{preamble}{packages}\\begin{{document}}{body}\\end{{document}}")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    return (folder / "t.log").read_text(errors="replace")


@pytest.mark.parametrize("preamble", [ARTICLE, ACL], ids=["article", "acl"])
def test_tables_fit_a_page_and_a_column(preamble: str, tmp_path: Path):
    wide = Table(WIDE.title, WIDE.headers * 3, tuple(row * 3 for row in WIDE.rows), WIDE.caption)
    log = compiled(tmp_path, preamble, paper_latex(WIDE, "a") + latex(wide, "b"))
    assert "Output written" in log
    assert "Overfull" not in log and "Float too large" not in log


@pytest.mark.parametrize("preamble", [ARTICLE, ACL], ids=["article", "acl"])
def test_a_table_that_is_too_wide_would_be_seen(preamble: str, tmp_path: Path):
    wide = Table(WIDE.title, WIDE.headers * 3, tuple(row * 3 for row in WIDE.rows), WIDE.caption)
    assert "Overfull" in compiled(tmp_path, preamble, latex(wide, "b").replace(OPENING, "{"))


def test_a_table_of_runs(folder: Path, tmp_path: Path):
    run = run_of(folder, "bert")
    text = paper_table(run, "accuracy", ["bert0", "majority"])
    rows = [line for line in text.splitlines() if line.count(" & ") == 5][1:]
    assert [row.split(" & ")[0] for row in rows] == ["bert0", "majority"]
    assert str(run) not in text and "/" not in text.replace(r"\/", "")
    assert r"\label{tab:accuracy}" in text and "18 nouns" in text
    for name, models in (("nothing", ()), ("accuracy", ("nobody",))):
        with pytest.raises(UserError, match="these runs have|the table has"):
            paper_table(run, name, models)
