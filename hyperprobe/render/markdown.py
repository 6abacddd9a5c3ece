"""Tables and whole reports as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hyperprobe.errors import one_line
from hyperprobe.render.document import Finding, Page, Picture, Section
from hyperprobe.render.table import Table

# What Markdown or HTML could read as markup.
_MARKDOWN = re.compile(r"[\\`\[\]|$*~]|(?<!\w)_|_(?!\w)|^(?=[>#+\-=])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#|[A-Za-z]\w*;)")


def markdown_page(page: Page) -> str:
    """The report as Markdown, with its figures as files in `figures/` beside it."""
    parts = [f"# {markdown_escape(page.headline)}.\n"]
    parts += _bullets(page.findings)
    if page.picture:
        parts.append(_picture(page.picture))
    for section in page.sections:
        parts += _section(section)
    parts.append("\n## Provenance\n")
    for run in page.runs:
        parts.append(f"**Run {run.label}: {markdown_escape(run.command)}**\n")
        parts += [f"- {markdown_escape(k)}: {markdown_code(v)}" for k, v in run.facts]
        parts += ["", markdown(run.models) if run.models else ""]
    return "\n".join(parts)


def _section(section: Section) -> Iterator[str]:
    yield f"\n## {markdown_escape(section.title)}\n"
    yield from (markdown_escape(section.words), "", *_bullets(section.findings))
    for block in section.blocks:
        if isinstance(block, Table):
            yield markdown(block)
        else:
            yield _picture(block)


def _picture(picture: Picture) -> str:
    words = markdown_escape(picture.caption)
    return f"![{words}](figures/{picture.name}.svg)\n\n{words}\n"


def _bullets(findings: Sequence[Finding]) -> list[str]:
    return [
        f"- {markdown_escape(one.sentence)}{f' (run {one.run})' if one.run else ''}"
        for one in findings
    ] + [""]


def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table with its title and caption."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(map(markdown_escape, cells)) + " |"

    parts = [f"**{markdown_escape(table.title)}**", ""]
    parts += [line(table.headers), "|---" + "|---:" * (len(table.headers) - 1) + "|"]
    parts += [line(row) for row in table.rows]
    if table.caption:
        parts += ["", markdown_escape(table.caption)]
    return "\n".join(parts) + "\n"


def markdown_escape(plain: str) -> str:
    """The text on one line, escaped for GitHub-flavoured Markdown."""
    escaped = _MARKDOWN.sub(lambda match: "\\" + match[0], one_line(plain))
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", escaped))


def markdown_code(plain: str) -> str:
    """The text as code on one line: between more backticks than are in it."""
    text = one_line(plain)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " * bool(longest)
    return f"{fence}{space}{text}{space}{fence}"
