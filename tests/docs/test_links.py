# SPDX-License-Identifier: Apache-2.0
"""No link of a page is dead: in the sources, in the files that `make install` copies, and in the files from which the site is made. Fenced blocks
contain nothing that a reader does not see."""
import re
import shutil
import subprocess
import sys

from ..checks import check
from ..harness.choice import ROOT

PAGES = [p for top in ("docs", "lib") for p in sorted((ROOT / top).rglob("*.md"))] + [ROOT / "README.md"]
NUMBERS = "none one two three four five six seven eight nine ten eleven twelve".split()


def links(what, *folder):
    p = subprocess.run([sys.executable, ROOT / "tools" / "check-links", *folder], capture_output=True, text=True, check=False)
    check("links of %s" % what, p.returncode == 0, p.stdout, p.stderr)


def made(tool, *args):
    p = subprocess.run([sys.executable, ROOT / "tools" / tool, *args], capture_output=True, text=True, check=False)
    check("tools/%s" % tool, p.returncode == 0, p.stderr)


def test_sources():
    links("the sources")


def test_installed(folder):
    for source, to in (("examples", "doc/libpdl/examples"), ("lib", "pdl/lib")):
        shutil.copytree(ROOT / source, folder / to)
    shutil.copyfile(ROOT / "LICENSE", folder / "doc/libpdl/LICENSE")
    made("install-pages", folder)
    links("the installed copy", folder)


def test_site(folder):
    made("make-site", "--pages", folder)
    links("the pages of the site", folder / "site-docs")


def test_verb():
    """`make site` fetches no compiler unless it is asked for the playground."""
    for words, is_made in (([], False), (["PLAYGROUND="], False), (["PLAYGROUND=1"], True)):
        p = subprocess.run(["make", "-n", "site", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        check("make site %s" % " ".join(words), p.returncode == 0 and "make-site" in p.stdout and ("make-playground" in p.stdout) == is_made, p.stdout, p.stderr)


def test_a_dead_link_is_found(folder):
    """What the checks above would say."""
    (folder / "a.md").write_text("# A title: `x`, *y*\n\n[1](#a-title-x-y) [2](b.md#two-1) [3](#none) [4](c.md) `[5](d.md)` [9](#number-) [10](#number)\n\n```\n[6](e.md)\n```\n\n## Number #\n", "utf-8")
    (folder / "b.md").write_text("# Two\n## Two\n[7](a.md#two) [8](https://example.org)\n", "utf-8")
    p = subprocess.run([sys.executable, ROOT / "tools" / "check-links", folder], capture_output=True, text=True, check=False)
    found = re.findall(r"^(\w+\.md:\d+: \S+):", p.stdout, re.M)
    check("four links are dead", p.returncode == 1 and found == ["a.md:3: #none", "a.md:3: c.md", "a.md:3: #number-", "b.md:3: a.md#two"], p.stdout)


def test_commands_are_shown():
    """The words behind a fence are seen by the tests alone, so the arguments of a sample stand in a command of their own."""
    for page in PAGES:
        hidden = re.findall(r"^```pdl[^\n]* args=.*$", page.read_text("utf-8"), re.M)
        check("%s: samples show their commands" % page.relative_to(ROOT), not hidden, hidden)


def test_numbers():
    """The numbers of the home page are those of the benchmarks."""
    home, measured = ((ROOT / "docs" / n).read_text("utf-8") for n in ("home.md", "benchmarks.md"))
    numbers = re.findall(r"\*\*([\d.]+ \w+)\*\*", home)
    check("three numbers", len(numbers) == 3, numbers)
    for number in numbers:
        value, unit = number.split()
        check("%s is measured" % number, re.search(r"\b%s (?:to [\d.]+ )?%s\b" % (re.escape(value), unit.replace("µ", "u")), measured))


def test_demo():
    """README says how many programs `make demo` runs."""
    shown = len(re.findall(r"^show ", (ROOT / "examples" / "demo.sh").read_text("utf-8"), re.M))
    said = re.search(r"make demo .*runs (\w+) example programs", (ROOT / "README.md").read_text("utf-8"))
    check("README: programs of `make demo`", said and said.group(1) == NUMBERS[shown], said and said.group(1), shown)
