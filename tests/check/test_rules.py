#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_rules.py BUILD -- docs/manual/rules.md: every rule has a section, its wrong program breaks it, its right program breaks nothing.

Rules without programs (what a page cannot show: files that are missing, huge or deep, and those that need a policy) say so in NO_PROGRAM.
Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/manual/rules.md"
NO_PROGRAM = {"file-unreadable", "too-large", "too-deep", "policy-refuses", "policy-unused", "policy-endorse", "tool-unruled"}
RULE = re.compile(r'^(?:LOAD|RULE|STRICT)\(\w+, "([^"]+)", (\w+), "([^"]*)"\)', re.M)


def sections():
    """name -> text of its section"""
    parts = re.split(r"^## (\S+)\n", PAGE.read_text("utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def files_of(program):
    """`# file: NAME` lines begin files; without any the program is main.pdl."""
    parts = re.split(r"^# file: (\S+)\n", program, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2])) or {"main.pdl": program}


def reported(pdl, program, options):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files_of(program).items():
            pathlib.Path(folder, name).write_text(text, "utf-8")
        env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
        r = subprocess.run([pdl, "check", "--format", "json", *options, "main.pdl"], cwd=folder, stdout=subprocess.PIPE, text=True, env=env,
                           timeout=120)
        return [json.loads(line) for line in r.stdout.splitlines()]


def problems_of(pdl, name, severity, title, section):
    if title not in section:
        yield "its title is not that of rules.def: %s" % title
    if name in NO_PROGRAM:
        return
    programs = re.findall(r"^(Wrong|Right):\n\n```pdl\n(.*?)^```", section, re.M | re.S)
    if [word for word, _ in programs] != ["Wrong", "Right"]:
        yield "it has no wrong and right program"
        return
    options = re.findall(r"[Ww]ith `(--\w+)`", section)
    found = reported(pdl, programs[0][1], options)
    if not any(d["code"] == name and d["severity"] == severity for d in found):
        yield "the wrong program does not break it: %s" % found
    found = reported(pdl, programs[1][1], options)
    if found:
        yield "the right program breaks something: %s" % found


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    page = sections()
    has_python = subprocess.run(["python3", "-c", ""], check=False).returncode == 0
    for name, severity, title in RULE.findall((ROOT / "src/check/rules.def").read_text("utf-8")):
        if name.startswith("python-") and not has_python:
            continue
        found = list(problems_of(pdl, name, severity.lower(), title, page[name])) if name in page else ["the page has no section for it"]
        check(name, not found, "; ".join(found))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
