# SPDX-License-Identifier: Apache-2.0
"""docs/manual/rules.md: every rule has a section. The wrong program of the section breaks the rule, and the right program breaks no rule.

NO_PROGRAM lists the rules without programs, because a page cannot show files that are missing, huge or deep. The programs are checked with the options that
the section names ("With `--policy careful`").
"""
import re

from .kit import found_in
from ..checks import check
from ..harness.choice import ROOT

PAGE = ROOT / "docs/manual/rules.md"
NO_PROGRAM = {"file-unreadable", "too-large", "too-deep"}
RULE = re.compile(r'^(?:LOAD|RULE|STRICT)\(\w+, "([^"]+)", (\w+), "([^"]*)"\)', re.M)


def sections():
    """name -> text of its section"""
    parts = re.split(r"^## (\S+)\n", PAGE.read_text("utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def files_of(program):
    """`# file: NAME` lines begin files; without any the program is main.pdl."""
    parts = re.split(r"^# file: (\S+)\n", program, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2])) or {"main.pdl": program}


def programs_of(section):
    """-> the options and the two programs of a section, or None."""
    programs = re.findall(r"^(Wrong|Right):\n\n```pdl\n(.*?)^```", section, re.M | re.S)
    options = tuple(" ".join(re.findall(r"[Ww]ith `(--\w+(?: \w+)?)`", section)).split())
    return (options, *(text for _, text in programs)) if [word for word, _ in programs] == ["Wrong", "Right"] else None


def test_every_rule_has_its_section():
    page = sections()
    for name, severity, title in RULE.findall((ROOT / "src/language/check/rules.def").read_text("utf-8")):
        first = r"\n\*%s\*[^.]*\. %s" % (severity.capitalize(), re.escape(title))
        check(name, re.match(first, page.get(name, "")), "the page has no section that begins with the severity and title of rules.def: %s" % first)
        check("%s: why it is a rule" % name, len(re.findall(r"^\*\*Why\.\*\* \S", page.get(name, ""), re.M)) == 1)
        check("%s: a wrong and a right program" % name, name in NO_PROGRAM or programs_of(page.get(name, "")))


def test_groups():
    """Each rule is in one group of the list, and says how it is mended."""
    page = sections()
    names = [name for name, _, _ in RULE.findall((ROOT / "src/language/check/rules.def").read_text("utf-8"))]
    listed = re.search(r"^## Rules by group\n(.*?)^## ", PAGE.read_text("utf-8"), re.M | re.S).group(1)
    grouped = re.findall(r"\[([a-z-]+)\]\(#\1\)", listed)
    check("rules in groups", sorted(grouped) == sorted(names), set(grouped) ^ set(names), [n for n in grouped if grouped.count(n) > 1])
    for name in names:
        check("%s: a section says how to mend it" % name, len(re.findall(r"^\*\*Fix\.\*\* \S", page.get(name, ""), re.M)) == 1)


def test_programs_of_the_rules(pdl):
    page = sections()
    rules = [(name, severity.lower()) for name, severity, _ in RULE.findall((ROOT / "src/language/check/rules.def").read_text("utf-8")) if name not in NO_PROGRAM]
    known = {name: programs_of(page.get(name, "")) for name, _ in rules}
    for options in {o[0] for o in known.values() if o}:
        some = [(name, severity) for name, severity in rules if known[name] and known[name][0] == options]
        wrong = found_in(pdl, [files_of(known[name][1]) for name, _ in some], *options)
        right = found_in(pdl, [files_of(known[name][2]) for name, _ in some], *options)
        for (name, severity), bad, good in zip(some, wrong, right):
            check("%s: the wrong program breaks it" % name, any(d["code"] == name and d["severity"] == severity for d in bad), bad)
            check("%s: the right program breaks nothing" % name, not good, good)
