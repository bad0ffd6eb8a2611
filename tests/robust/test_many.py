# SPDX-License-Identifier: Apache-2.0
"""test_many.py -- programs with 70 000 of something, more than sixteen bits can count. They run, also with a trace."""
import subprocess

import pytest

from ..checks import check
from ..harness.choice import sample
from .kit import children_seconds

SECONDS = 100
N = 70000


def lines(form):
    return "\n".join(form % {"i": i} for i in range(N))


# name, program, standard output
PROGRAMS = [
    ("texts before a loop", "lastOf:\n%s\n- {for: {x: [1, 2]}, repeat: '${ i }', index: i}\n" % lines('- "t%(i)d"'), "01"),
    ("texts before a map", "lastOf:\n%s\n- {for: {x: [1, 2]}, map: '${ i }', index: i, join: {with: ''}}\n" % lines('- "t%(i)d"'), "01"),
    ("texts before a wrong expression", "lastOf:\n%s\n- {text: '${ x[1:2, 0] }', fallback: gone}\n" % lines('- "t%(i)d"'), "gone"),
    ("cases", "match: c69999\nwith:\n%s\n" % lines("- {case: c%(i)d, then: t%(i)d}"), "t69999"),
    ("variables of a loop of a template", "lang: jinja\ncode: '{%% for %s in [range(70000) | list] %%}{{ a69999 }}{%% endfor %%}'\n"
     % ",".join("a%d" % i for i in range(N)), "69999"),
    ("lists of a loop", "for: {%s}\nrepeat: '${ a69999 }'\n" % ", ".join("a%d: [%d]" % (i, i) for i in range(N)), "69999"),
    ("definitions", "defs:\n%s\ntext: ${ d0 + d69999 }\n" % lines("  d%(i)d: {data: %(i)d}"), "69999"),
    ("keys of an object", "lastOf:\n- def: o\n  object:\n%s\n- ${ o.k69999 }\n" % lines("    k%(i)d: %(i)d"), "69999"),
    ("functions", "defs:\n%s\ntext: ${ f69999() }\n" % lines("  f%(i)d: {function: {}, return: %(i)d}"), "69999"),
    ("items of an expression", "text: ${ [%s] | length }\n" % ",".join(str(i) for i in range(N)), "70000"),
    ("arguments", "defs:\n  f: {function: {}, return: 1}\ntext: \"${ dict(%s) | length }\"\n" % ", ".join("a%d=%d" % (i, i) for i in range(N)), "70000"),
    ("leaves of a value with a reply in it", """lastOf:
- {model: openai/m, input: q, parameters: {mock_response: hello}, def: m}
- {data: ["${ m }"], def: a}
- {for: {i: "${ range(40) }"}, repeat: {defs: {a: {data: ["${ a }", "${ a }"]}}, data: ""}, join: {as: lastOf}}
- "${ a[0][1][0] | length }"
""", "2"),
]


BY_NAME = {name: (text, want) for name, text, want in PROGRAMS}


def is_well(pdl, folder, name, *more):
    text, want = BY_NAME[name]
    (folder / "p.pdl").write_text(text)
    p = subprocess.run([pdl, "--stream", "none", *more, "p.pdl"], cwd=folder, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)
    got = (p.returncode, p.stdout.decode().rstrip())
    check("%s %s" % (name, " ".join(more)), got == (0, want), "%r\n%s" % (got, p.stderr.decode("utf-8", "replace")[-500:]))


@pytest.mark.parametrize("name", BY_NAME)
def test_many(pdl, folder, name):
    is_well(pdl, folder, name)


@pytest.mark.parametrize("name", sample([n for n in BY_NAME if not n.startswith("leaves")], 3))  # a trace of the leaves has no end
def test_many_with_a_trace(pdl, folder, name):
    is_well(pdl, folder, name, "-t", "t.json")


def seconds_of_cases(pdl, folder, n):
    text = "match: c%d\nwith:\n" % (n - 1) + "".join("- {case: c%d, then: t}\n" % i for i in range(n))
    (folder / "p.pdl").write_text(text)
    before = children_seconds()
    subprocess.run([pdl, "-t", "t.json", "p.pdl"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=SECONDS)
    return children_seconds() - before


def test_a_trace_of_cases_is_linear(pdl, folder):
    """Four times as many cases of a match take about four times as long, with a trace."""
    few, many = (min(seconds_of_cases(pdl, folder, n) for _ in range(2)) for n in (N // 28, N // 7))
    check("trace of cases", many <= 8 * few + 0.05, "%.2f s for %d, %.2f s for %d" % (many, N // 7, few, N // 28))
