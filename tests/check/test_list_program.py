#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_list_program.py BUILD -- the rule list-program: told of lists whose texts are lost, silent where a text may be meant.

Last line: `N passed, N failed`.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

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


def found(pdl, program):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "main.pdl").write_text(program, "utf-8")
        r = subprocess.run([pdl, "check", "--format", "json", "main.pdl"], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=120)
        rows = [json.loads(line) for line in r.stdout.splitlines()]
        return r.returncode, [(d["severity"], d["column"]) for d in rows if d["code"] == "list-program"]


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    for program, want in [*((p, (0, [("warning", c)])) for p, c in LOST.items()), *((p, (0, [])) for p in MEANT)]:
        got = found(pdl, program)
        check(program, got == want, got)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
