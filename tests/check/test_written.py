# SPDX-License-Identifier: Apache-2.0
"""The rules key-text, text-cut, shell-sign, and norway for numbers, report forms with which a beginner means something else, and are silent where
correct programs use these forms."""
import os
import subprocess

from .kit import found_in
from ..checks import check

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
    ("key-text", "text:\n- a\n - b\n- c", [2]),
    ("key-text", "text:\n - a\n   - b", [4]),
    ("key-text", "text: a\n  - b", [3]),
    ("key-text", "text:\n- a\n  b - c\n- d", []),
    ("key-text", "text:\n- a -\n  -b", []),
    ("key-text", "text:\n- |\n  a\n  - b", []),
    ("key-text", "text:\n- 'a\n  - b'", []),
    ("comment", "text: 'a {# b #} c'", [10]),
    ("comment", "text: '{# a #}b ${ 1 }'", [8]),
    ("comment", "text: '{# a #}b'", []),
    ("comment", "text: 'b{# a #}'", []),
    ("text-cut", "text: # Title", [7]),
    ("text-cut", "text:\n- # Title\n- b", [3]),
    ("text-cut", "text: # the parts\n- a", []),
    ("text-cut", "text:\n- # a block\n  text: b", []),
    ("text-cut", "read: # asks\nmessage: x", []),
    ("text-cut", "if: ${ true }\nthen: # nothing\nelse: b", []),
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
    ("norway", "text: [1.10, 0x1F, 1_000, 1.5, -3, .5, 1e3]", [8, 14, 20, 36]),
    ("norway", "data: {1.10: a, 0x10: b, 1.5: c, 2024: d, -3: e, '1.20': f}", [8, 17]),
    ("norway", "data: {no: 1, on: 2, 'off': 3, true: 4, yes: {Off: 5}, 12:30: 6}", [8, 15, 41, 47, 56]),
    ("key-duplicate", "data: {on: 1, yes: 2, true: 3, 1: 4}", []),
    ("key-duplicate", "data: {on: 1, 'no': 2, on: 3}", [24]),
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


def seconds(pdl, folder, fields):
    """The processor time of a check of a type with so many old names, each of which is reported."""
    path = folder / ("%d.pdl" % fields)
    path.write_text("text: hi\nspec: {object: {%s}}\n" % ", ".join("f%d: str" % i for i in range(fields)))
    before = os.times().children_user
    subprocess.run([pdl, "check", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=300)
    return os.times().children_user - before


def test_what_is_written(pdl):
    for (rule, program, want), found in zip(ROWS, found_in(pdl, [{"main.pdl": program + "\n"} for _, program, _ in ROWS])):
        got = [d["column"] for d in found if d["code"] == rule]
        check("%s in %s" % (rule, program), got == want, "%s, expected %s" % (got, want))


def test_old_names_take_linear_time(pdl, folder):
    few, many = seconds(pdl, folder, 5000), seconds(pdl, folder, 80000)
    check("16 times the old names take no more than 60 times as long", many < 60 * max(few, 0.02), "%s %s" % (few, many))
