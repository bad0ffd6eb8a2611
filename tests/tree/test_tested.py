# SPDX-License-Identifier: Apache-2.0
"""Everything that the recipes of CONTRIBUTING.md add has a test that uses it by its name: a filter, a test of templates, a method, a field."""
import re

from ..checks import check, same
from ..harness.choice import ROOT

SEARCHED = ("lang", "unit", "conformance", "errors", "cli", "model", "infer")
ENDINGS = (".pdl", ".case", ".json", ".jsonl", ".test", ".txt", ".tsv", ".yaml", ".c", ".py")
ROW = r'^ +\{"(\w+)", %s'
# What is added, where its rows are, the form of a row, how a test uses it, where its test belongs
ADDED = [
    ("filter", "src/language/native/template", "filters.c", ROW % r"pdl_f_\w+", r"\|\s*NAME\b", "a case with `| %s` in tests/lang/template"),
    ("test", "src/language/native/template", "template_tests.c", ROW % r"t_\w+", r"""\bis\s+(?:not\s+)?NAME\b|(?:select|reject)(?:attr)?\([^()]*['"]NAME['"]""", "a case with `is %s` in tests/lang/template"),
    ("method", "src/language/native/object", "methods_*.c", ROW % r"m_\w+", r"\.NAME\(", "a case with `.%s(` in tests/lang/template"),
    ("field", "src/language/lang", "*.def", r'^ *(?:[FK]\(\w+|C\(\w+, \w+), \w+, "(\w+)"', r"""(?<!\w)NAME\\?["']?:""", "a case with `%s:` in a folder of tests/lang"),
]


def texts():
    files = (p for name in SEARCHED for p in sorted((ROOT / "tests" / name).rglob("*")) if p.suffix in ENDINGS)
    return "\n".join(p.read_text("utf-8", "replace") for p in files)


def names(folder, pattern, row):
    return sorted({n for p in (ROOT / folder).glob(pattern) for n in re.findall(row, p.read_text("utf-8"), re.M)})


def untested(found, use, text):
    """The names that no test uses; a row of a unit test may have one as a text."""
    return [n for n in found if '{"%s",' % n not in text and not re.search(use.replace("NAME", n), text)]


def test_each_addition_has_a_test():
    text = texts()
    for what, folder, pattern, row, use, where in ADDED:
        found = names(folder, pattern, row)
        check("%s/%s has rows of a %s" % (folder, pattern, what), len(found) > 25, len(found))
        missing = set(untested([*found, "of_nobody"], use, text))
        check("a %s without a test is noticed" % what, "of_nobody" in missing)
        for name in found:
            check("the %s %s has a test; else add %s" % (what, name, where % name), name not in missing)


def test_uses():
    rows = {what: use for what, _, _, _, use, _ in ADDED}
    for what, text in (("filter", "${ a |b }"), ("filter", '{"b", 1}'), ("test", "x is not b"), ("test", "l | select('b', 2)"), ("method", "x.b()"), ("field", "b: 1"), ("field", "{\\\"b\\\": 1}"), ("field", "'b': 1")):
        same(untested(["b", "c"], rows[what], text), ["c"], text)
    for what, text in (("filter", "a | bb"), ("test", "x is bb"), ("method", "x.b"), ("field", "ab: 1")):
        same(untested(["b"], rows[what], text), ["b"], text)
