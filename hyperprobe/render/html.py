"""A report as one HTML file: styles, script and figures inside, nothing fetched from anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape as html_escape
from importlib.resources import files

from hyperprobe.errors import printable
from hyperprobe.render.document import Finding, Page, Picture, Section
from hyperprobe.render.figure import GRID, INK, MUTED, ON_SERIES, PAPER, SERIES
from hyperprobe.render.table import RUN, Table

# What a figure's colours are called in `page.css`, which has a light and a dark page.
VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", PAPER: "paper", ON_SERIES: "on-series"}
VARIABLES |= {colour: f"c{i}" for i, colour in enumerate(SERIES)}
_TOGETHER = re.compile(
    r" (?=%)|(?<=\bp) (?=(?:=|&lt;) )|(?<=\bp =) |(?<=\bp &lt;) |(?<=\d,) (?=-?[\d.]+\])"
)
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
        "<header>",
        f'<p class="kicker">{escape(page.title)}</p>',
        f"<h1>{_words(page.headline)}.</h1>",
        '<div class="first">',
        *_findings(page.findings),
        *(_picture(page.picture) if page.picture else ()),
        "</div>",
        '<nav aria-label="Contents"><ul>',
        *(
            f'<li><a href="#{escape(id)}">{escape(title)}</a></li>'
            for id, title in [*links, ("provenance", "Provenance")]
        ),
        "</ul></nav>",
        "</header>",
        "<main>",
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
    yield from _findings(section.findings)
    for block in section.blocks:
        yield from _table(block) if isinstance(block, Table) else _picture(block)
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    yield f'<div class="scroll" role="region" aria-label="{escape(table.title)}" tabindex="0">'
    yield '<table class="sortable">'
    yield f"<caption><span>{escape(table.title)}</span></caption>"
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in table.headers)
    yield f"<thead><tr>{heads}</tr></thead>"
    yield "<tbody>"
    for row in table.rows:
        cells = [_row_head(row[0])]
        cells += [_cell(head, cell) for head, cell in zip(table.headers[1:], row[1:], strict=True)]
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.caption:
        yield f'<p class="note">{_words(table.caption)}</p>'
    if table.source:
        yield f'<p class="source">From <code>{escape(table.source)}</code>.</p>'


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
    yield f"<figcaption>{_words(picture.caption)}{source}</figcaption>"
    yield "</figure>"


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
        yield "</dl></div>"
    yield "</section>"


def html_table(table: Table) -> str:
    """The table as an HTML `<table>`, for a notebook."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
