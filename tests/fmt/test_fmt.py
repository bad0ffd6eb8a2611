# SPDX-License-Identifier: Apache-2.0
"""The formatter alone: cases/NAME.in.pdl becomes NAME.out.pdl, with the options of a first line `# fmt: ...`; also files in place, --check, --diff
and --lines."""
import pathlib
import random
import subprocess

from .kit import BOM, HERE, fmt
from ..checks import check


def case(pdl, path):
    text = path.read_bytes()
    first = text.split(b"\n", 1)[0].decode()
    options = first[len("# fmt: "):].split() if first.startswith("# fmt: ") else []
    want = path.with_name(path.name.replace(".in.", ".out.")).read_bytes()
    out = fmt(pdl, text, *options)
    check("%s:\n%s%s" % (path.name, out.stdout.decode("utf-8", "replace"), out.stderr.decode("utf-8", "replace")), out.stdout == want)


def test_cases(pdl):
    for path in sorted(HERE.glob("cases/*.in.pdl")):
        case(pdl, path)


def test_files(pdl, folder):
    """In place, --check, --diff."""
    good, bad, broken = (folder / n for n in ("good.pdl", "bad.pdl", "broken.pdl"))
    good.write_text("text: a\n")
    bad.write_text("text:   a\n")
    broken.write_text("text: [a\n")

    def run(*args):
        return subprocess.run([pdl, "fmt", *args], capture_output=True, text=True, cwd=folder, check=False)
    p = run("--check", "good.pdl", "bad.pdl")
    check("--check names the one file: %s" % p, p.returncode == 1 and p.stdout == "bad.pdl\n")
    check("--check of a formatted file", run("--check", "good.pdl").returncode == 0)
    p = run("--diff", "bad.pdl")
    check("--diff: %s" % p, p.returncode == 0 and p.stdout == "--- bad.pdl\n+++ bad.pdl\n@@ -1,1 +1,1 @@\n-text:   a\n+text: a\n")
    check("--diff writes nothing", bad.read_text() == "text:   a\n")
    p = run("broken.pdl", "bad.pdl")
    check("a broken file is left alone, the others are formatted: %s" % p,
          p.returncode == 1 and broken.read_text() == "text: [a\n" and bad.read_text() == "text: a\n" and p.stderr.count("broken.pdl:") == 1)
    for wrong in (["--lines", "0:1", "good.pdl"], ["--lines", "3:2", "good.pdl"], ["--lines", "x", "good.pdl"], ["--lines", "1:2", "--sort", "good.pdl"],
                  ["--lines", "1:2", "good.pdl", "bad.pdl"]):
        check("wrong command line %s" % wrong, run(*wrong).returncode == 2)


def test_diffs(pdl, folder):
    """patch makes the formatted text from what --diff prints."""
    rng = random.Random(17)
    path = pathlib.Path(folder) / "p.pdl"
    for n in (1, 7, 60):
        rows = ["- %s%d" % (rng.choice(["", "", "", "  "]), i) for i in range(n * 10)]
        path.write_text("text:\n" + "\n".join(rows) + "\n")
        want = fmt(pdl, path.read_bytes()).stdout
        diff = subprocess.run([pdl, "fmt", "--diff", str(path)], capture_output=True, check=False).stdout
        if diff:
            p = subprocess.run(["patch", "-s", str(path)], input=diff, capture_output=True, check=False)
            check("patch with the diff of %d lines: %s" % (n * 10, p), p.returncode == 0 and path.read_bytes() == want)


def test_outside_of_lines(pdl):
    """What --lines does not name stays byte for byte: blanks of empty lines, line ends that are mixed, empty lines at either end."""
    for text, lines, want in (
            (b"text:\n- a\n   \n-   b\n \n", "4:4", b"text:\n- a\n   \n- b\n \n"),
            (b"text:\r\n-   a\r\n# c\n-   b\r\n", "2:2", b"text:\r\n- a\r\n# c\n-   b\r\n"),
            (b" \n\n\ntext:   a\n\n \n", "4:4", b" \n\n\ntext: a\n\n \n"),
            (b" \n\n\ntext:   a\n\n \n", "2:5", b" \ntext: a\n \n"),
            (BOM + b"text:\r-   a\r-   b", "2:2", BOM + b"text:\r- a\r-   b"),
            (b"object:\n  a: |+\n    x\n\n  b:   y\n", "2:4", b"object:\n  a: |+\n    x\n\n  b:   y\n"),
            (b"object:\n  a: |\n    x\n\n\n  b:   y\n", "2:3", b"object:\n  a: |\n    x\n\n\n  b:   y\n"),
            (b"object:\n  a: |+\n    x\n\n\n  b:   y\n", "6:6", b"object:\n  a: |+\n    x\n\n\n  b: y\n"),
            (b"object:\n  a: |\n    x\n\n\n  b:   y\n", "6:6", b"object:\n  a: |\n    x\n\n\n  b: y\n"),
            (b"text:   a  \n", "9:9", b"text:   a  \n")):
        out = fmt(pdl, text, "--lines", lines)
        check("--lines %s of %r: %r %s" % (lines, text, out.stdout, out.stderr), out.stdout == want)
    check("line ends of one character", fmt(pdl, b"text:\r-   a\r").stdout == b"text:\r- a\r")


def test_blanks_at_ends(pdl):
    """No line ends in blanks but those of texts, which are theirs."""
    for text, want in (
            (b"# a  \ntext:   # b \t\n-   x   # c \n- {data: 1,  # d  \n   def: b}  \n- |-  # e  \n   y\n# f \\ \n#\t\n", None),
            (b"%YAML 1.2  \n---   # a  \ntext: &a   \n  !!str   \n  'b  \n   \n  c'  \n# d\t", None),
            (b"text: a  # b  \r\n# c  \r\n", b"text: a  # b\r\n# c\r\n"),
            (b"text: |  \n  a  \n", b"text: |\n  a  \n")):
        out = fmt(pdl, text).stdout
        check("%r becomes %r" % (text, out), out and (out == want if want else not [x for x in out.split(b"\n") if x != x.rstrip()]))
    check("lines that are not formatted", fmt(pdl, b"# a  \ntext:   a # b  \n", "--lines", "2:2").stdout == b"# a  \ntext: a # b\n")
