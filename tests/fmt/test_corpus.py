# SPDX-License-Identifier: Apache-2.0
"""Runs the formatter on every program of the tree, many in one call of `pdl fmt`.

For each program that loads, `pdl fmt` succeeds, a second call changes nothing, `--check` agrees, line ends and byte order mark stay, and sorting
twice gives the result of sorting once. PyYAML, where it is installed, reads the same events before and after, except for blanks inside of ${ }. A
program that does not load is unchanged, and gets a message. For one program in ten, and for the others in test-all: text outside of `--lines` stays
byte for byte, standard input and output give the same result as a file, and `pdl dump` shows the same program.
"""
import random
import re
import subprocess

import pytest

from .kit import BOM, fmt
from ..checks import check
from ..conformance import run as kit
from ..harness.choice import Choice, ROOT

try:
    import yaml
except ImportError:
    yaml = None

BLOCKS = 8
EVERY = 10


def programs(block):
    found = {str(p.relative_to(ROOT)): p.read_bytes() for root in ("tests", "lib", "examples") for p in (ROOT / root).rglob("*.pdl")}
    found.update({name: text for name, text in kit.program_files().items() if name.endswith(".pdl")})
    return {name: found[name] for name in sorted(found)[block::BLOCKS]}


class Files:
    """Texts as files of a folder, which the command changes in place."""

    def __init__(self, folder, texts):
        self.folder, self.texts = folder, texts
        self.names = {name: "%04d.pdl" % i for i, name in enumerate(texts)}
        folder.mkdir()
        for name, text in texts.items():
            (folder / self.names[name]).write_bytes(text)

    def run(self, pdl, *options):
        return subprocess.run([pdl, "fmt", *options, *self.names.values()], cwd=self.folder, capture_output=True, check=False)

    def now(self):
        return {name: (self.folder / self.names[name]).read_bytes() for name in self.texts}


def events(data, loader):
    def squashed(s):
        return re.sub(r"[ \t]+\}", "}", re.sub(r"\$\{[ \t]+", "${", s))
    return [(type(e).__name__, getattr(e, "anchor", None), getattr(e, "tag", None), getattr(e, "implicit", None), getattr(e, "style", None),
             squashed(getattr(e, "value", None) or "")) for e in yaml.parse(data.decode("utf-8"), Loader=loader)]


def same_events(a, b):
    """By libyaml, which is many times as fast; what it does not take, such as halves of surrogate pairs, by Python alone."""
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return events(a, loader) == events(b, loader)
    except yaml.YAMLError:
        return events(a, yaml.SafeLoader) == events(b, yaml.SafeLoader)


def loads(pdl, text):
    """Does the schema accept it? Names, types and includes do not matter here."""
    return subprocess.run([pdl, "dump", "--nodes", "-"], input=text, capture_output=True, check=False).returncode == 0


def formatted(pdl, folder, texts):
    """Formats all in place -> the new texts of those that are programs; the others are as they were, with a message each."""
    files = Files(folder / "once", texts)
    p = files.run(pdl)
    refused = {name for name in texts if re.search(rb"^%s(:\d+)?(:| -)" % re.escape(files.names[name].encode()), p.stderr, re.M)}
    now = files.now()
    check("the exit status says whether all are programs", p.returncode == (1 if refused else 0) and not p.stdout, p.returncode, refused, p.stderr[-2000:])
    for name in refused:
        check("%s: no program, but formatted" % name, now[name] == texts[name] and not loads(pdl, texts[name]), p.stderr[-2000:])
    return {name: text for name, text in now.items() if name not in refused}


def stays(pdl, folder, what, before, *options):
    """A second time changes nothing, and --check has nothing to say."""
    files = Files(folder, before)
    p = files.run(pdl, *options)
    check("%s: exit status of the second time" % what, p.returncode == 0, p.stderr[-2000:])
    after = files.now()
    for name, text in before.items():
        check("%s: %s twice it differs" % (name, what), after[name] == text)
    if not options:
        p = files.run(pdl, "--check")
        check("--check agrees", p.returncode == 0 and not p.stdout, p.stdout)


def same_line_ends(pdl, folder, texts, done):
    """A byte order mark and line ends of Windows stay."""
    plain = {name: texts[name] for name in done if b"\r" not in texts[name] and not texts[name].startswith(BOM)}
    files = Files(folder, {name: BOM + text.replace(b"\n", b"\r\n") for name, text in plain.items()})
    check("line ends of Windows: exit status", files.run(pdl).returncode == 0)
    for name, text in files.now().items():
        if b"\n" in plain[name]:
            check("%s: line ends or byte order mark differ" % name, text == BOM + done[name].replace(b"\n", b"\r\n"))


@pytest.mark.parametrize("block", [pytest.param(b, marks=pytest.mark.tier("test") if b else ()) for b in range(BLOCKS)])
def test_programs(block, pdl, folder):
    texts = programs(block)
    done = formatted(pdl, folder, texts)
    check("most are programs", len(done) > len(texts) / 2, len(done), len(texts))
    stays(pdl, folder / "twice", "formatted", done)
    same_line_ends(pdl, folder / "windows", texts, done)
    ordered = Files(folder / "sorted", {name: texts[name] for name in done})
    check("--sort: exit status", ordered.run(pdl, "--sort").returncode == 0)
    stays(pdl, folder / "sorted-twice", "sorted", ordered.now(), "--sort")
    for name, text in done.items():
        if yaml and text.strip():
            check("%s: PyYAML reads something else" % name, same_events(texts[name], text))


def one_by_one(pdl, name, text, rng):
    out = fmt(pdl, text)
    if not loads(pdl, text):
        check("%s: no program, but exit status %d" % (name, out.returncode), out.returncode == 1 and not out.stdout and out.stderr)
        return
    check("%s: exit status %d\n%s" % (name, out.returncode, out.stderr.decode("utf-8", "replace")[:300]), out.returncode == 0)
    if yaml and text.strip():
        check("%s: PyYAML without libyaml reads something else" % name, events(text, yaml.SafeLoader) == events(out.stdout, yaml.SafeLoader))
    if b"\r" in text or text.startswith(BOM):
        return
    lines = text.split(b"\n")
    a = rng.randrange(1, len(lines) + 1)
    b = rng.randrange(a, len(lines) + 1)
    part = fmt(pdl, text, "--lines", "%d:%d" % (a, b))
    got = part.stdout.split(b"\n")
    ok = part.returncode == 0 and got[:a - 1] == lines[:a - 1] and (b == len(lines) or got[b - len(lines):] == lines[b:])
    check("%s: --lines %d:%d changes other lines" % (name, a, b), ok)


@pytest.mark.tier("test")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_one_by_one(block, pdl, part):
    texts = programs(block)
    for name in part(sorted(texts), EVERY):
        one_by_one(pdl, name, texts[name], random.Random(name + Choice.seed))
