# SPDX-License-Identifier: Apache-2.0
"""The rule list-program reports lists whose texts are lost, and is silent where a text may be intended."""
from .kit import found_in
from ..checks import check

LOST = {  # program -> column of the first text that is lost
    "['a', 'b']": 2,
    "[{text: [a]}, {text: b}]": 2,
    "['${ 1 + 1 }', b]": 2,
    "[{data: a}, b]": 2,
    "[{def: x, data: a}, b, c]": 21,
}
MEANT = [
    "['a']",
    "[]",
    "{text: ['a', 'b']}",
    "{lastOf: ['a', 'b']}",
    "{text: [{if: true, then: ['a', 'b']}]}",
    "[{def: x, data: a}, '${ x }']",
    "[{data: a, contribute: [context]}, b]",
    "[{data: '', defs: {x: 1}}, '${ x }']",
    "['You are terse.', {model: openai/gpt-4o-mini}]",
    "['a', {text: [{lang: command, code: date}]}]",
    "['a', '${ pdl_context }']",
    "['a', \"${ stdlib.show('b') }\"]",
]


def test_list_program(pdl):
    wanted = [*((p, [("warning", c)]) for p, c in LOST.items()), *((p, []) for p in MEANT)]
    for (program, want), found in zip(wanted, found_in(pdl, [{"main.pdl": p} for p, _ in wanted])):
        got = [(d["severity"], d["column"]) for d in found if d["code"] == "list-program"]
        check(program, got == want and not any(d["severity"] == "error" for d in found), found)
