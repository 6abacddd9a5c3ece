"""A report as one HTML file: styles, script and figures inside, nothing fetched from anywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape as html_escape
from importlib.resources import files

from hyperprobe.errors import printable
from hyperprobe.render.document import Finding, Page, Picture, RunFacts, Section
from hyperprobe.render.figure import GRID, INK, MUTED, ON_SERIES, PAPER, SERIES, TONES
from hyperprobe.render.table import RUN, Table, counted

# What a figure's colours are called in `page.css`, which has a light and a dark page.
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper", ON_SERIES: "on-series"}
VARIABLES |= {colour: f"c{i}" for i, colour in enumerate(SERIES)}
VARIABLES |= {colour: f"t{i}" for i, colour in enumerate(TONES)}
_TOGETHER = re.compile(
    r" (?=%)|(?<=\bp) (?=(?:=|&lt;) )|(?<=\bp =) |(?<=\bp &lt;) |(?<=\d,) (?=-?[\d.]+\])"
)
N_FINDINGS = 4  # of a section that are shown at once
N_OPEN = 15  # rows: a longer table is shown when its title is clicked
_LONG = 28  # characters: a cell of more words may break its line


def html_page(page: Page) -> str:
    """The HTML document. The same page gives the same text."""
    assets = files("hyperprobe") / "render" / "assets"
    style, script = (
        (assets / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    links = [(section.id, section.title) for section in page.sections]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(page.title)}</title>",
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        '<nav aria-label="Contents"><details id="contents"><summary>Contents</summary><ul>',
        *(
            f'<li><a href="#{escape(id)}">{escape(title)}</a></li>'
            for id, title in [("top", "Main findings"), *links, ("provenance", "Provenance")]
        ),
        "</ul></details></nav>",
        f'<main data-models="{escape(json.dumps(page.models, ensure_ascii=False))}">',
        '<header id="top">',
        f'<p class="kicker">{escape(page.title)}</p>',
        f"<h1>{_words(page.headline)}.</h1>",
        '<div class="first">',
        *(_picture(page.picture) if page.picture else ()),
        *_findings(page.findings),
        "</div>",
        "</header>",
        *(line for section in page.sections for line in _section(section)),
        *_provenance(page),
        "</main>",
        f"<script>\n{script}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def escape(plain: str) -> str:
    """The text escaped for HTML, in an element or an attribute."""
    return html_escape(printable(plain))


def escape_lines(plain: str) -> str:
    """The same of text with several lines."""
    return "\n".join(map(escape, plain.splitlines()))


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    if findings:
        yield '<ul class="findings">'
        for finding in findings:
            link = f" ({_run_link(finding.run)})" if finding.run else ""
            opening = f"<strong>{escape(finding.opening)}</strong>"
            yield f"<li>{opening} {_words(finding.text)}{link}</li>"
        yield "</ul>"


def _words(plain: str) -> str:
    """Escaped prose; no line ends between a number and its percent sign, p or interval."""
    return _TOGETHER.sub("&nbsp;", escape(plain))


def _run_link(label: str) -> str:
    return f'<a href="#run-{escape(label)}">run {escape(label)}</a>'


def _section(section: Section) -> Iterator[str]:
    yield f'<section id="{escape(section.id)}" aria-labelledby="h-{escape(section.id)}">'
    yield f'<h2 id="h-{escape(section.id)}">{escape(section.title)}</h2>'
    if section.words:
        yield f"<p>{_words(section.words)}</p>"
    yield from _findings(section.findings[:N_FINDINGS])
    if more := section.findings[N_FINDINGS:]:
        yield from _folded(counted(len(more), "more finding"), _findings(more))
    for block in section.blocks:
        yield from _table(block) if isinstance(block, Table) else _picture(block)
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    if table.folded or len(table.rows) > N_OPEN:
        yield from _folded(f"{table.title} ({counted(len(table.rows), 'row')})", _rows(table))
    else:
        yield from _rows(table)
    if table.caption:
        yield f'<p class="note">{_words(table.caption)}</p>'
    if table.source:
        yield f'<p class="source">From <code>{escape(table.source)}</code>.</p>'


def _folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """What a click on the title shows."""
    yield f"<details><summary>{escape(title)}</summary>"
    yield from lines
    yield "</details>"


def _rows(table: Table) -> Iterator[str]:
    yield f'<div class="scroll" role="region" aria-label="{escape(table.title)}" tabindex="0">'
    yield "<table>"
    yield f"<caption><span>{escape(table.title)}</span></caption>"
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in table.headers)
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for row in table.rows:
        cells = [_row_head(row[0])]
        cells += [_cell(head, cell) for head, cell in zip(table.headers[1:], row[1:], strict=True)]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _row_head(words: str) -> str:
    long = ' class="long"' if len(words) > _LONG else ""
    return f'<th scope="row"{long}>{escape(words)}</th>'


def _cell(head: str, words: str) -> str:
    if head == RUN and words.isalnum():
        return f'<td><a href="#run-{escape(words)}">{escape(words)}</a></td>'
    long = ' class="words"' if len(words) > _LONG else ""
    return f"<td{long}>{escape(words)}</td>"


def _picture(picture: Picture) -> Iterator[str]:
    yield f'<figure id="figure-{escape(picture.name)}">'
    yield inline_svg(picture.svg, picture.name, picture.caption)
    source = f" From <code>{escape(picture.source)}</code>." if picture.source else ""
    yield f"<figcaption>{_words(picture.caption)}{source}"
    if table := picture.table:
        yield from _folded(f"Data of this figure ({counted(len(table.rows), 'row')})", _rows(table))
    yield "</figcaption></figure>"


def inline_svg(svg: str, name: str, words: str) -> str:
    """The `<svg>` element alone, with colours from the page and ids that no other figure has."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s(xmlns(:\w+)?|version)="[^"]*"', "", svg)
    svg = re.sub(r'\b(id=")', rf"\1{name}-", svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\1{name}-", svg)
    svg = svg.replace("xlink:href", "href")
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    opening = f'<svg role="img" aria-label="{escape(words)}" '
    svg = re.sub(r'(<svg[^>]*?)\swidth="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?)\sheight="[^"]*"', r"\1", svg, count=1)
    return opening + svg.removeprefix("<svg ")


def _provenance(page: Page) -> Iterator[str]:
    yield '<section id="provenance" aria-labelledby="h-provenance">'
    yield '<h2 id="h-provenance">Provenance</h2>'
    yield (
        f"<p>Made by {escape(page.made_by)} from the runs below. Every number is in "
        "the named file of its run's folder; the command makes it again.</p>"
    )
    for run in page.runs:
        yield f'<div class="run" id="run-{escape(run.label)}">'
        yield f"<h3>Run {escape(run.label)}: {escape(run.command)}</h3>"
        yield "<dl>"
        for name, value in run.facts:
            yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        yield "</dl>"
        if run.models:
            yield from _table(run.models)
        yield from _folded("run.json, as the run wrote it", _raw(run))
        yield "</div>"
    yield "</section>"


def _raw(run: RunFacts) -> Iterator[str]:
    label = f"run.json of run {escape(run.label)}"
    yield f'<pre tabindex="0" role="region" aria-label="{label}">{escape_lines(run.raw)}</pre>'


def html_table(table: Table) -> str:
    """The table as an HTML `<table>`, for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
