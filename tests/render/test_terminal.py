"""What stands in a name or a text is shown as itself, on any terminal and in any medium."""

import io
import os
import subprocess
import sys

import pytest

from hyperprobe import cli
from hyperprobe.cli.common import say
from hyperprobe.render import terminal
from hyperprobe.render.figure import new_figure, png_of, styled, svg_of
from hyperprobe.render.latex import latex, latex_escape
from hyperprobe.render.markdown import markdown, markdown_code, markdown_escape
from hyperprobe.render.table import Table

NAMES = (
    "\x1b[31mred", "\x1b]0;title\x07", "[/b]", "[bold]x", ":smile:", "a\rb", "x\u202ey", "ü 語",
    "<script>alert(1)</script>", "a|b`c`\n# d", "$x", "$\\frac{$", "[a](javascript:b)", "_x_ *y*",
)  # fmt: skip

SHOWN = {
    "\x1b[31mred": r"\x1b[31mred", "\x1b]0;title\x07": r"\x1b]0;title\x07", "a\rb": r"a\rb",
    "x\u202ey": r"x\u202ey", "a|b`c`\n# d": r"a|b`c`\n# d",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_table_shows_names_as_they_are(name: str, capsys: pytest.CaptureFixture[str]):
    terminal.print_table(name, [name, "n"], [[name, "1"]], name)
    terminal.print_line(name)
    say(name)
    out, err = capsys.readouterr()
    assert out.count(SHOWN.get(name, name)) == 5 and err == f"{SHOWN.get(name, name)}\n"
    assert not set(out + err) & {"\x1b", "\x07", "\r", "\u202e"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_every_output_takes_every_letter(encoding: str, monkeypatch: pytest.MonkeyPatch):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", out)
    for name in NAMES:
        terminal.print_table(name, [name], [[name]], name)
        terminal.print_line(f"{name} ± –")
    out.flush()
    assert out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("plain", "escaped"),
    [
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("p < 0.01", "p < 0.01"),
        ("&lt;", "&amp;lt;"),
        ("a|b", r"a\|b"),
        ("a\n\n# b", "a # b"),
        ("# a", r"\# a"),
        ("[a](b)", r"\[a\](b)"),
        ("_x_ a_b", r"\_x\_ a_b"),
        ("`c`", r"\`c\`"),
        ("\\", r"\\"),
        ("\x1b[0m", r"\\x1b\[0m"),
    ],
)
def test_markdown_is_escaped(plain: str, escaped: str):
    assert markdown_escape(plain) == escaped


def test_code_in_markdown_has_more_backticks_than_its_text():
    assert markdown_code("a b") == "`a b`"
    assert markdown_code("a``b\nc") == "``` a``b c ```"


def test_a_table_of_any_names_keeps_its_shape():
    table = Table("<b>t</b>", ("name", "n"), tuple((name, "1") for name in NAMES), "<i>\n|")
    lines = markdown(table).splitlines()
    assert "<b>" not in markdown(table) and len(lines) == 2 + 2 + len(NAMES) + 2
    rows = latex(table, "x").splitlines()
    assert len(rows) == 10 + len(NAMES) + 2 and sum(row.endswith(r"\\") for row in rows) == 15


def test_latex_specials():
    assert latex_escape("\\{}$&#%_~^") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciitilde{}\textasciicircum{}"
    )
    assert latex_escape("[a]\n\x1b") == r"{[}a{]} \textbackslash{}x1b"


@pytest.mark.usefixtures("drawn")
def test_a_figure_shows_names_as_they_are():
    with styled():
        figure, axes = new_figure(3)
        axes.set_yticks(range(len(NAMES)), NAMES)
        axes.set_title("$x$ and $\\frac{")
    svg = svg_of(figure)
    assert "$x$ and $\\frac{" in svg and "\x1b" not in svg
    assert "<script" not in svg and png_of(figure)


# -- the entry point -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ZeroDivisionError("by\nnothing"), 70),
        (RecursionError("too deep"), 70),
        (UnicodeEncodeError("ascii", "ü", 0, 1, "no such letter"), 70),
        (RuntimeError("\x1b[31mred\nand\nmore"), 70),
        (MemoryError(), 2),
        (OSError(28, "No space left on device", "x\ny"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_the_last_net(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys, tmp_path
):
    def fault(*how: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("hyperprobe.reporting.report.report", fault)
    monkeypatch.setattr(sys, "argv", ["hyperprobe", "report", "x"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == code
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "Traceback" not in err and "\x1b" not in err
    files = list(tmp_path.glob("hyperprobe-fault-*.txt"))
    assert len(files) == (code == 70)
    if files:
        assert "this is a fault of hyperprobe" in err and str(files[0]) in err
        assert "Traceback" in files[0].read_text()


def run_code(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def test_a_fault_in_a_process(tmp_path):
    code = (
        "import sys, hyperprobe.reporting.report as module; from hyperprobe import cli\n"
        "def fault(*how): raise LookupError('lost')\n"
        "module.report = fault; sys.argv = ['hyperprobe', 'report', 'x']; cli.main()"
    )
    done = run_code(code, TMPDIR=str(tmp_path))
    assert done.returncode == 70 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    (file,) = tmp_path.iterdir()
    assert "LookupError: lost" in file.read_text()


@pytest.mark.parametrize("option", ["--help", "--version"])  # flushed at once, and at the end
def test_a_reader_that_has_seen_enough(option: str):
    code = (
        "import os, sys; from hyperprobe import cli\n"
        "read, write = os.pipe(); os.close(read); os.dup2(write, 1)\n"
        "sys.argv = ['hyperprobe', sys.argv[1]]; cli.main()"
    )
    done = run_code(code, option)
    assert done.returncode == 1 and done.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_a_name_that_is_not_utf_8(monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr(sys, "argv", ["hyperprobe", "report", "caf\udce9"])
    with pytest.raises(SystemExit, match="2"):
        cli.main()
    assert capsys.readouterr().err == (
        "hyperprobe: error: 'caf\\udce9' is not UTF-8: rename the file\n"
    )
