# SPDX-License-Identifier: Apache-2.0
"""A message about a long value prints the beginning and the end of the value, the line of the fault and the hint. The program itself sees the whole
message."""
import subprocess

import pytest

from ..checks import check

TEXT = "\n".join("line %d" % i for i in range(300))
WHERE = {"top": "text: |\n%s\n", "defs": "defs:\n  t:\n    text: |\n%s\n", "list": "data:\n  - |\n%s\n", "key": "data:\n  x: |\n%s\n"}
# how the text is written, what follows it, the last line of what is printed, how many lines at most
CASES = [
    ("top", "spec: integer", '; it is "line 0\\nline 1\\nline 2\\nline 3\\nline 4\\nline "..., should be an integer', 20),
    ("top", "spec: {enum: [a, b]}", "column 1", 20),
    ("list", "spec: [integer]", '; [0] is "line 0\\nline 1\\nline 2\\nline 3\\nline 4\\nline "..., should be an integer', 20),
    ("key", "spec: integer", "; it is an object with 1 keys, should be an integer", 5),
    ("defs", "read: ${ t }", "line 298\\nline 299\\n'", 20),
    ("defs", "lang: python\ncode: raise ValueError(t)", "column 7", 20),
]


def shown(pdl, folder, program, *args):
    (folder / "a.pdl").write_text(program)
    r = subprocess.run([pdl, *args, "a.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


@pytest.mark.parametrize("where,after,last,most", CASES)
def test_long_text(where, after, last, most, pdl, folder):
    indent = " " * {"top": 2, "defs": 6, "list": 4, "key": 4}[where]
    program = WHERE[where] % "\n".join(indent + line for line in TEXT.split("\n")) + after + "\n"
    code, _, err = shown(pdl, folder, program)
    lines = err.splitlines()
    check("it fails", code == 1, code, err)
    check("few lines", len(lines) <= most and max(map(len, lines)) <= 1300, len(lines), err[:3000])
    check("the fault, then the hint", after.split("\n")[-1] in lines[-2] and lines[-1].endswith(last), lines[-2:])


def test_fallback_sees_all(pdl, folder):
    text = "".join("      line %d\n" % i for i in range(300))
    program = "defs:\n  t:\n    text: |\n" + text + "  n:\n    text: ${ t }\n    spec: integer\n    fallback: {data: '${ pdl_error.message | length }'}\ndata: ${ n }\n"
    code, out, err = shown(pdl, folder, program)
    check("it is caught", code == 0 and int(out) > 500 and not err, code, out, err)
