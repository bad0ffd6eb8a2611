#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_written.py BUILD -- key-text, text-cut, shell-sign and the numbers of norway: reported where a beginner means something else, silent
where correct programs have the form.

Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import check, finish  # noqa: E402

ROWS = [  # rule, program, column of each report
    ("key-text", "text:hi", [1]),
    ("key-text", "text=hi", [1]),
    ("key-text", "text = hi", [1]),
    ("key-text", "text:\n- model:x\n- hi", [3]),
    ("key-text", "data: {x:1, y: 2}", [8]),
    ("key-text", "text: text:hi", []),
    ("key-text", "'text:hi'", []),
    ("key-text", "text", []),
    ("key-text", "read://host/a", []),
    ("key-text", "text == hi", []),
    ("key-text", "data:image/png;base64,AA=", []),
    ("key-text", "hello:world", []),
    ("key-text", "data: {http://a.example/x: 1, 'a:b': null, a: null}", []),
    ("text-cut", "text: issue #5", [13]),
    ("text-cut", "text: #5", [7]),
    ("text-cut", "text:\n- a #{x}\n- b", [5]),
    ("text-cut", "data: a #tag", [9]),
    ("text-cut", "text: a # 5", []),
    ("text-cut", "text: a ## five", []),
    ("text-cut", "text: a#5", []),
    ("text-cut", "text: 'a #5'", []),
    ("text-cut", "text: 'a' #5", []),
    ("text-cut", "text: ${ 1 } # pdl: ignore norway", []),
    ("text-cut", "text: #list\n- a", []),
    ("text-cut", "data: 3 #three", []),
    ("norway", "text: 12:30", [7]),
    ("norway", "data: {a: [010, -017]}", [12, 17]),
    ("norway", "data: 1:30.5", [7]),
    ("norway", "data: [0, 0.5, 10, 1_000, 0x10, 08, '010', 1e3]", []),
    ("shell-sign", "{lang: command, code: ls | wc}", [26]),
    ("shell-sign", "{lang: command, code: 'ls -l; pwd'}", [27]),
    ("shell-sign", "{lang: command, code: 'echo ${ 1 } > a'}", [36]),
    ("shell-sign", "{lang: command, code: 'cat ~/a'}", [28]),
    ("shell-sign", "{lang: command, code: 'echo $HOME'}", [29]),
    ("shell-sign", "{lang: command, code: \"echo '|' '$HOME' \\\\$HOME \\\\> a\"}", []),
    ("shell-sign", "{lang: command, code: 'sh -c \"ls | wc\"'}", []),
    ("shell-sign", "{lang: command, code: 'echo ${ 1 | string } a|b $1'}", []),
    ("shell-sign", "{args: [echo, '|', '$HOME']}", []),
    ("shell-sign", "{lang: python, code: 'result = 1 | 2'}", []),
]


def found(pdl, rule, program):
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "main.pdl").write_text(program + "\n", "utf-8")
        r = subprocess.run([pdl, "check", "--format", "json", "main.pdl"], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=120)
        return [d["column"] for d in map(json.loads, r.stdout.splitlines()) if d["code"] == rule]


def seconds(pdl, fields):
    """The processor time of a check of a type with so many old names, each of which is reported."""
    with tempfile.NamedTemporaryFile("w", suffix=".pdl") as f:
        f.write("text: hi\nspec: {object: {%s}}\n" % ", ".join("f%d: str" % i for i in range(fields)))
        f.flush()
        before = os.times().children_user
        subprocess.run([pdl, "check", f.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
        return os.times().children_user - before


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    for rule, program, want in ROWS:
        got = found(pdl, rule, program)
        check("%s in %s" % (rule, program), got == want, "%s, expected %s" % (got, want))
    few, many = seconds(pdl, 5000), seconds(pdl, 80000)
    check("16 times the old names take no more than 60 times as long", many < 60 * max(few, 0.02), "%s %s" % (few, many))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
