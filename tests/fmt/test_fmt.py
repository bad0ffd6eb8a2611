#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_fmt.py -- the formatter on every program of the tree and of the conformance kit.

    test_fmt.py BUILD_DIR

For each program that loads: `pdl fmt` succeeds, a second time it changes nothing, `--check` agrees, line ends and byte order mark stay, and
what is outside of `--lines` stays byte for byte. PyYAML, where it is there, reads the same events before and after, but for blanks inside of
${ }. For programs that do not load the text is left alone, with a message. cases/NAME.in.pdl becomes NAME.out.pdl, with the options of a
first line `# fmt: ...`.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BOM = b"\xef\xbb\xbf"


def fmt(pdl, text, *options):
    return subprocess.run([pdl, "fmt", *options, "-"], input=text, capture_output=True)


def events(data):
    def squashed(s):
        return re.sub(r"[ \t]+\}", "}", re.sub(r"\$\{[ \t]+", "${", s))
    return [(type(e).__name__, getattr(e, "anchor", None), getattr(e, "tag", None), getattr(e, "implicit", None), getattr(e, "style", None),
             squashed(getattr(e, "value", None) or "")) for e in yaml.parse(data.decode("utf-8"), Loader=yaml.SafeLoader)]


def loads(pdl, text):
    """Does the schema accept it? Names, types and includes do not matter here."""
    p = subprocess.run([pdl, "dump", "--nodes", "-"], input=text, capture_output=True)
    return p.returncode == 0


def program(pdl, path, rng):
    text = path.read_bytes()
    name = path.relative_to(ROOT)
    out = fmt(pdl, text)
    if not loads(pdl, text):
        check("%s: no program, but exit status %d" % (name, out.returncode), out.returncode == 1 and not out.stdout and out.stderr)
        return
    check("%s: exit status %d\n%s" % (name, out.returncode, out.stderr.decode("utf-8", "replace")[:300]), out.returncode == 0)
    if out.returncode:
        return
    check("%s: formatted twice it differs" % name, fmt(pdl, out.stdout).stdout == out.stdout)
    if yaml and text.strip():
        check("%s: PyYAML reads something else" % name, events(text) == events(out.stdout))
    plain = text.removeprefix(BOM)
    if b"\r" not in text and not text.startswith(BOM):
        windows = fmt(pdl, BOM + text.replace(b"\n", b"\r\n"))
        if b"\n" in text:
            check("%s: line ends or byte order mark differ" % name, windows.stdout == BOM + out.stdout.replace(b"\n", b"\r\n"))
        lines = plain.split(b"\n")
        a = rng.randrange(1, len(lines) + 1)
        b = rng.randrange(a, len(lines) + 1)
        part = fmt(pdl, text, "--lines", "%d:%d" % (a, b))
        got = part.stdout.split(b"\n")
        ok = part.returncode == 0 and got[:a - 1] == lines[:a - 1] and (b == len(lines) or got[b - len(lines):] == lines[b:])
        check("%s: --lines %d:%d changes other lines" % (name, a, b), ok)
    whole = fmt(pdl, text, "--sort")
    check("%s: sorted twice it differs" % name, whole.returncode == 0 and fmt(pdl, whole.stdout, "--sort").stdout == whole.stdout)


def case(pdl, path):
    text = path.read_bytes()
    first = text.split(b"\n", 1)[0].decode()
    options = first[len("# fmt: "):].split() if first.startswith("# fmt: ") else []
    want = path.with_name(path.name.replace(".in.", ".out.")).read_bytes()
    out = fmt(pdl, text, *options)
    check("%s:\n%s%s" % (path.name, out.stdout.decode("utf-8", "replace"), out.stderr.decode("utf-8", "replace")), out.stdout == want)


def files(pdl):
    """In place, --check, --diff."""
    with tempfile.TemporaryDirectory() as folder:
        good, bad, broken = (pathlib.Path(folder) / n for n in ("good.pdl", "bad.pdl", "broken.pdl"))
        good.write_text("text: a\n")
        bad.write_text("text:   a\n")
        broken.write_text("text: [a\n")

        def run(*args):
            return subprocess.run([pdl, "fmt", *args], capture_output=True, text=True, cwd=folder)
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


def diffs(pdl, rng):
    """patch makes the formatted text from what --diff prints."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "p.pdl"
        for n in (1, 7, 60):
            rows = ["- %s%d" % (rng.choice(["", "", "", "  "]), i) for i in range(n * 10)]
            path.write_text("text:\n" + "\n".join(rows) + "\n")
            want = fmt(pdl, path.read_bytes()).stdout
            diff = subprocess.run([pdl, "fmt", "--diff", str(path)], capture_output=True).stdout
            if diff:
                p = subprocess.run(["patch", "-s", str(path)], input=diff, capture_output=True)
                check("patch with the diff of %d lines: %s" % (n * 10, p), p.returncode == 0 and path.read_bytes() == want)


def outside_of_lines(pdl):
    """What --lines does not name stays byte for byte: blanks of empty lines, line ends that are mixed, empty lines at either end."""
    for text, lines, want in (
            (b"text:\n- a\n   \n-   b\n \n", "4:4", b"text:\n- a\n   \n- b\n \n"),
            (b"text:\r\n-   a\r\n# c\n-   b\r\n", "2:2", b"text:\r\n- a\r\n# c\n-   b\r\n"),
            (b" \n\n\ntext:   a\n\n \n", "4:4", b" \n\n\ntext: a\n\n \n"),
            (b" \n\n\ntext:   a\n\n \n", "2:5", b" \ntext: a\n \n"),
            (BOM + b"text:\r-   a\r-   b", "2:2", BOM + b"text:\r- a\r-   b"),
            (b"text:   a  \n", "9:9", b"text:   a  \n")):
        out = fmt(pdl, text, "--lines", lines)
        check("--lines %s of %r: %r %s" % (lines, text, out.stdout, out.stderr), out.stdout == want)
    check("line ends of one character", fmt(pdl, b"text:\r-   a\r").stdout == b"text:\r- a\r")


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    rng = random.Random(17)
    for path in sorted(HERE.glob("cases/*.in.pdl")):
        case(pdl, path)
    files(pdl)
    diffs(pdl, rng)
    outside_of_lines(pdl)
    for root in ("tests", "lib", "examples"):
        for path in sorted((ROOT / root).rglob("*.pdl")):
            program(pdl, path, rng)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
