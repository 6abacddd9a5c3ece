"""`hyperprobe report`: runs -> one HTML page, and the same in Markdown, LaTeX and figure files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hyperprobe.progress import progress
from hyperprobe.render.figure import png_of
from hyperprobe.render.html import page, provenance
from hyperprobe.render.table import Table, latex, markdown, markdown_code, markdown_escape
from hyperprobe.reporting.collect import Material, collect
from hyperprobe.reporting.content import Content, Picture, make_content
from hyperprobe.reporting.findings import Finding
from hyperprobe.runs.files import file_digest, write_bytes, write_text
from hyperprobe.runs.run import Run

HTML, MARKDOWN, LATEX = "report.html", "report.md", "tables.tex"


@dataclass(frozen=True)
class Report:
    """The folder with `report.html`, `report.md`, `tables.tex` and `figures/`."""

    folder: Path
    content: Content

    @property
    def html(self) -> Path:
        return self.folder / HTML


def report(runs: Sequence[Path], results: Path = Path("results")) -> Report:
    """Write the report of the runs in folders `runs`, and of the analyses beside them.

    The HTML file needs no other. Raises `UserError` when a folder holds no finished run.
    """
    given = dict(locals())
    material = collect(runs)
    content = make_content(material)
    settings = {
        "runs": {
            label: [run.command, run.folder.name, file_digest(run.folder / "run.json")]
            for label, run in material.runs.items()
        }
    }
    made = Run(results, "report", settings, given)
    pictures = [b for s in content.sections for b in s.blocks if isinstance(b, Picture)]
    written = []
    with progress("drawing", len(pictures)) as advance:
        for picture in pictures:
            stem = f"figures/{picture.name}"
            write_text(made.folder / f"{stem}.svg", picture.svg)
            write_bytes(made.folder / f"{stem}.png", png_of(picture.figure))
            written += [f"{stem}.svg", f"{stem}.png"]
            advance(1)
    write_text(made.folder / HTML, page(content, material.runs))
    write_text(made.folder / MARKDOWN, markdown_report(content, material))
    write_text(made.folder / LATEX, latex_tables(content))
    made.finish({}, others=[HTML, MARKDOWN, LATEX, *written])
    return Report(made.folder, content)


def markdown_report(content: Content, material: Material) -> str:
    """The report as Markdown, with its figures as files beside it."""
    parts = [f"# {markdown_escape(content.headline)}.\n"]
    parts += _bullets(content.findings)
    for section in content.sections:
        title, words = markdown_escape(section.title), markdown_escape(section.words)
        parts += [f"\n## {title}\n", words, "", *_bullets(section.findings)]
        for block in section.blocks:
            if isinstance(block, Table):
                parts.append(markdown(block))
            else:
                words = markdown_escape(block.caption)
                parts.append(f"![{words}](figures/{block.name}.svg)\n\n{words}\n")
    parts.append("\n## Provenance\n")
    for label, run in material.runs.items():
        parts.append(f"**Run {label}: {markdown_escape(run.command)}**\n")
        parts += [f"- {markdown_escape(k)}: {markdown_code(v)}" for k, v in provenance(run)]
        parts.append("")
    return "\n".join(parts)


def _bullets(findings: Sequence[Finding]) -> list[str]:
    return [
        f"- {markdown_escape(f.text)}{f' (run {f.run})' if f.run else ''}" for f in findings
    ] + [""]


def latex_tables(content: Content) -> str:
    """All tables for a paper that loads booktabs; each is labelled tab:SECTION-NUMBER."""
    parts = ["% needs \\usepackage{booktabs}\n"]
    for section in content.sections:
        tables = [block for block in section.blocks if isinstance(block, Table)]
        parts += [latex(table, f"{section.id}-{i}") for i, table in enumerate(tables, start=1)]
    return "\n".join(parts)
