# SPDX-License-Identifier: Apache-2.0
"""The files for assistants: the card has every kind of block and fits on two screens, llms.txt has a link to every page, and llms-full.txt contains
all pages."""
import importlib.util
import json
import re
import subprocess
import sys

import yaml

from ..checks import check
from ..harness.choice import ROOT

CARD = ROOT / "docs" / "language-card.md"
NOT_WRITTEN = {"error", "empty", "scalar"}  # in traces; and blocks without a key of their own


def made(tool, *args):
    p = subprocess.run([sys.executable, ROOT / "tools" / tool, *args], capture_output=True, text=True, check=False)
    check("tools/%s" % tool, p.returncode == 0, p.stderr)


def keys(value):
    if isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from keys(part)
    for part in value if isinstance(value, list) else ():
        yield from keys(part)


def test_card(pdl):
    text = CARD.read_text("utf-8")
    check("two screens", text.count("\n") <= 120, text.count("\n"))
    wide = [x for x in text.split("\n") if len(x) > 100]
    check("lines of 100 columns", not wide, *wide)
    programs = [yaml.safe_load(p) for p in re.findall(r"^```pdl[^\n]*\n(.*?)^```$", text, re.M | re.S)]
    table = json.loads(subprocess.run([pdl, "dump", "--table"], capture_output=True, check=True).stdout)
    kinds = {b["kind"] for b in table["blocks"]}
    # the key of a message is its content
    absent = {("content" if k == "message" else k) for k in kinds - NOT_WRITTEN} - {k for p in programs for k in keys(p)}
    check("every kind of block is in a program", not absent, absent)
    listed = re.findall(r"^- `([^`]+)`", text, re.M)
    check("every kind of block is listed", not kinds - set(listed), kinds - set(listed))


def pages():
    sys.path.insert(0, str(ROOT / "tools"))
    from pages import PARTS
    return [n for _, names in PARTS for n in names]


def test_installed(folder):
    """`make install` puts them beside the manual, and the skill into share/pdl."""
    made("install-pages", folder)
    at = folder / "doc" / "libpdl"
    linked = re.findall(r"\]\(([^)]+)\)", (at / "llms.txt").read_text("utf-8"))
    check("llms.txt leads to every page once", sorted(linked) == sorted([n + ".md" for n in pages()] + ["language-card.md", "llms-full.txt"]), linked)
    dead = [n for n in linked if not (at / n).is_file()]
    check("llms.txt leads to files", not dead, dead)
    full = (at / "llms-full.txt").read_text("utf-8")
    check("llms-full.txt has every page, in order", re.findall(r"^<!-- docs/(.*)\.md -->$", full, re.M) == pages(), full[:200])
    lost = [n for n in pages() if (ROOT / "docs" / (n + ".md")).read_text("utf-8").split("\n\n---\n")[0].strip() not in full]
    check("llms-full.txt has their whole text", not lost, lost)
    skill = folder / "pdl" / "skill"
    check("the card is in the skill", (skill / "language-card.md").read_bytes() == CARD.read_bytes(), "another one")
    head = yaml.safe_load((skill / "SKILL.md").read_text("utf-8").split("---\n")[1])
    check("the skill says when it is for it", head["name"] == "pdl" and ".pdl" in head["description"], head)


def test_site(folder):
    made("make-site", "--pages", folder)
    linked = re.findall(r"\]\(([^)]+)\.html\)", (folder / "site-docs" / "llms.txt").read_text("utf-8"))
    dead = [n for n in linked if not (folder / "site-docs" / (n + ".md")).is_file()]
    check("llms.txt of the site leads to its pages", linked and not dead, linked[:3], dead)


def test_wheel():
    """The files of the wheel have the skill."""
    spec = importlib.util.spec_from_file_location("pdl_build", ROOT / "python" / "pdl_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    files = module.package_files()
    for name in ("SKILL.md", "language-card.md"):
        check("the wheel has skill/%s" % name, files["libpdl/skill/" + name].is_file(), "it has not")
