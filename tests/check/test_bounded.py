# SPDX-License-Identifier: Apache-2.0
"""Programs that were made to be expensive to check: large or deep ones, types that multiply, files that include each other. Each check must end, with
or without problems. Some of these programs once took hours, because the time was exponential or quadratic."""
import subprocess

import pytest

from .kit import put
from ..checks import check

SECONDS = 120  # for what takes less than one; other work on the machine must not matter
N = 20000


def lines(form, n=N):
    return "".join(form.replace("@", str(i)) for i in range(n))


def nested(form, depth):
    text = "a"
    for i in range(depth):
        text = form.replace("@", str(i)).replace("#", text)
    return text


PROGRAMS = {
    "definitions": "defs:\n" + lines("  x@: @\n") + "text: a\n",
    "undefined names": "text:\n" + lines("- ${ x@ }\n"),
    "branches that define": "text:\n" + lines("- if: ${ a is defined }\n  then: {def: x@, data: [1, {a: 2}]}\n"),
    "nested branches": nested('{if: "${ q }", then: {defs: {%s}, text: [#]}}' % ", ".join("y@_%d: 1" % k for k in range(100)), 60),
    "nested loops": nested('{for: {i@: [1, 2]}, repeat: {defs: {%s}, text: [#]}}' % ", ".join("y@_%d: 1" % k for k in range(100)), 60),
    "types that double": "text:\n- {def: o, data: [1]}\n" + lines('- {def: o, data: {a: "${ o }", b: "${ o }"}}\n', 300) + "- ${ o.x }\n",
    "joins that double": "text:\n- {def: o, data: [1]}\n" + lines(
        '- {if: "${ z }", then: {def: o, data: {a: "${ o }", b: "${ o }"}}, else: {def: o, data: {b: "${ o }", a: "${ o }"}}}\n', 100) + "- ${ o.x }\n",
    "a long chain": "text: ${ " + " + ".join(["a"] * 100000) + " }\n",
    "a long condition": "defs: {a: 1}\ntext: ${ " + " and ".join(["a.b"] * 50000) + " }\n",
    "many filters": "text: ${ a" + " | upper" * 50000 + " }\n",
    "deep parentheses": "text: ${ " + "(" * 190 + "1" + ")" * 190 + " }\n",
    "functions": "defs:\n" + lines('  f@: {function: {x: integer}, return: "${ f@(x) }"}\n') + "text: a\n",
    "cases": "match: ${ q }\nwith:\n" + lines("- case: @\n  then: {def: z@, data: 1}\n"),
    "comments": "text:\n" + "# pdl: ignore role\n" * (N * 5) + "- a\n",
    "wrong arguments": "defs: {f: {function: {%s}, return: a}}\ntext:\n" % ", ".join("p%d: integer" % i for i in range(2000))
                       + ('- {call: "${ f }", args: {%s}}\n' % ", ".join("q%d: 1" % i for i in range(2000))) * 3,
    "unknown keys": "text: a\n" + lines("zz@: 1\n", 3 * N),
    "unknown keys without a kind": "defs: {}\n" + lines("zz@: 1\n", 3 * N),
    "files in a circle": "text: [{include: b.pdl}, {include: c.pdl}, {defs: {m: {import: main}}}]",
}
OTHERS = {"b.pdl": "include: c.pdl", "c.pdl": "text: [{include: main.pdl}, {include: b.pdl}]"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_check_ends(name, pdl, folder):
    put(folder, {**OTHERS, "main.pdl": PROGRAMS[name]})
    p = subprocess.run([pdl, "check", "main.pdl"], cwd=folder, capture_output=True, timeout=SECONDS, check=False)
    check(name, p.returncode in (0, 1), "status %d: %s" % (p.returncode, p.stderr[-500:]))
