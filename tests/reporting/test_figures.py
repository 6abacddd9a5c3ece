"""Figures and tables in every medium: the same bytes, and colours with contrast."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from hyperprobe.analysis.agreement import agreement_figure, scores_figure
from hyperprobe.analysis.article import article_figure
from hyperprobe.analysis.errors import errors_figure
from hyperprobe.analysis.frequency import frequency_figure
from hyperprobe.analysis.negation import negation_figure
from hyperprobe.analysis.pairs import memorisation_figure
from hyperprobe.analysis.wording import wording_figure
from hyperprobe.probes.zero_shot.figures import accuracy_figure
from hyperprobe.render.charts import colours_of_rows
from hyperprobe.render.figure import (
    MUTED,
    N_DARK_TONES,
    SERIES,
    TONES,
    model_colours,
    models_of_report,
    png_of,
    svg_of,
)
from hyperprobe.render.latex import latex
from hyperprobe.render.markdown import markdown
from hyperprobe.render.table import Table
from hyperprobe.reporting import report as module
from tests.reporting.toys import run_of

PACKAGE = Path(module.__file__).parent
pytestmark = pytest.mark.usefixtures("drawn")


def test_tables_in_other_languages():
    table = Table("A & B", ("model", "% right"), (("x_1|y", "79.7 ±3.4"),), "ε² < 1")
    assert "| x_1\\|y | 79.7 ±3.4 |" in markdown(table)
    text = latex(table, "t")
    assert (
        r"x\_1\textbar{}y & 79.7 $\pm$3.4 \\" in text and r"A \& B. $\varepsilon$$^2$ $<$ 1" in text
    )
    assert text.count("{") == text.count("}")


def test_every_figure_is_a_figure_that_keeps_its_bytes(folder: Path):
    (path,) = folder.glob("analyze-*")
    read = {p.stem: pd.read_csv(p) for p in path.glob("*.csv")}
    metrics = pd.read_csv(run_of(folder, "bert") / "metrics.csv")
    bert = next(m for m in read["agreement"]["model"] if "control" not in m and "word2vec" not in m)
    own = {name: table[table["model"] == bert] for name, table in read.items()}
    pairs = pd.DataFrame({"label": ["x"], "with": [80.0], "without": [60.0]})
    drawn = [
        accuracy_figure(metrics), agreement_figure(own["agreement"]),
        scores_figure(own["category_scores"]),
        frequency_figure(read["frequency_curve"]), errors_figure(read["errors"]),
        memorisation_figure(pairs), wording_figure(read["template_accuracy"]),
        negation_figure(read["negation"]), article_figure(read["article"]),
    ]  # fmt: skip
    assert all(isinstance(one, Figure) for one in drawn)
    assert all(svg_of(one).startswith("<?xml") for one in drawn)
    first, second = (svg_of(article_figure(read["article"])) for _ in range(2))
    assert first == second and "<image" not in first and "<dc:date>" not in first
    assert png_of(drawn[0]).startswith(b"\x89PNG")


def test_a_model_has_one_colour_in_a_report():
    with models_of_report(["embedded", "bert", "word2vec"]):
        alone, together = model_colours(["bert"]), model_colours(["majority", "bert", "embedded"])
        assert alone["bert"] == together["bert"] == SERIES[1]
        assert together["embedded"] == SERIES[0] and together["majority"] == MUTED
        assert model_colours(["control:bert", "random:bert"]) == {
            "control:bert": MUTED,
            "random:bert": MUTED,
        }
        rows = pd.DataFrame({"model": ["bert", "control:bert"], "x": [1.0, 2.0]})
        assert colours_of_rows(rows) == [SERIES[1], MUTED]
    assert model_colours(["bert"])["bert"] == SERIES[0]  # a figure of its own
    many = model_colours([f"m{i}" for i in range(8)])
    assert many["m0"] == many["m6"] and len(set(many.values())) == len(SERIES)


def contrast(first: str, second: str) -> float:
    """WCAG 2's contrast ratio of two colours, #rrggbb."""

    def luminance(colour: str) -> float:
        parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_have_contrast_on_light_and_dark():
    css = (PACKAGE.parent / "render" / "assets" / "page.css").read_text()
    schemes = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in css.split(":root")[1:4]
    ]
    assert len(schemes) == 3
    for scheme in schemes:
        paper = scheme["paper"]
        for name in ("ink", "muted", "link"):
            assert contrast(scheme[name], paper) >= 4.5, name
            assert contrast(scheme[name], scheme["soft"]) >= 4.5, name
        for i in range(len(SERIES)):
            assert contrast(scheme[f"c{i}"], paper) >= 3, i
            assert contrast(scheme[f"c{i}"], scheme["on-series"]) >= 4.5, i
        for i in range(len(TONES)):
            words = scheme["on-series"] if i < N_DARK_TONES else scheme["ink"]
            assert contrast(scheme[f"t{i}"], words) >= 4.5, i
    assert [schemes[0][f"t{i}"] for i in range(len(TONES))] == list(TONES)
    assert [schemes[0][f"c{i}"] for i in range(len(SERIES))] == list(SERIES)
