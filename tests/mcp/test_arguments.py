# SPDX-License-Identifier: Apache-2.0
"""Which arguments a tool of a server gets when it is called as a function: all that its schema allows, also arguments that the schema does not name."""
import json

import pytest

from ..checks import check
from .kit import run, scripted

CLOSED = "the tool closed has no argument 'm'; it takes text, n (optional)"
# tool, arguments, what the server gets (None: the arguments), the error where the call is refused before it is sent: by a block `call`, by an expression
CASES = [
    ("bare", {"a": 1}, None, None),
    ("open", {"a": 1}, None, None),
    ("open", {}, None, None),
    ("open", {"a": [1, {"b": None}], "x y": "z", "text": "\u00e9"}, None, None),
    ("open", {"pdl_tool_call": 1, "name": "x", "stdlib": 2}, None, None),
    ("some", {"text": "t"}, None, None),
    ("some", {"text": "t", "n": 1, "m": 2}, None, None),
    ("some", {"text": "t", "m": 2}, None, None),
    ("some", {"text": 1, "m": 2}, "either", "1 should be of type"),
    ("closed", {"text": "t", "n": 1}, None, None),
    ("closed", {"text": "t", "m": 2}, "neither", CLOSED),
    ("closed", {"txt": "t"}, "neither", "the tool closed has no argument 'txt'; it takes text, n (optional)\n"),
    ("closed", {"txt": "t"}, "neither", "did you mean 'text'?"),
    ("nothing", {"a": 1}, "neither", "the tool nothing has no argument 'a'; it takes no arguments"),
    ("numbers", {"a": 1, "b": 2}, None, None),
    ("numbers", {"a": "x"}, "either", "should be of type"),
    ("patterns", {"text": "t", "x-a": "b"}, None, None),
    ("patterns", {"text": "t", "y-a": "b"}, "neither", "the tool patterns has no argument 'y-a'; it takes text (optional), names like ^x-"),
    ("patterns", {"x-a": 1}, "either", "1 is not of type 'string'"),
    ("wrong_pattern", {"a": "b"}, None, None),
    ("refers", {"a": "b"}, None, None),
    ("names", {"ab": 1}, None, None),
    ("drafts", {"a": "b", "n": 1, "t": ["c"], "x": 1, "e": "f", "u": [1], "p": "G", "i": {"p": "h"}}, None, None),
    ("drafts", {"n": 1}, "either", "Missing required field: a"),
    ("drafts", {"a": "b", "n": 0}, "either", "0 is less than or equal to the minimum of 0"),
    ("drafts", {"a": 1}, "either", "1 should be of type"),
    ("drafts", {"a": "b", "t": [1]}, "either", "t[0] is 1, should be a string"),
]


def program(tool, args, way):
    use = "call: ${ s.%s }\n  args: %s" % (tool, json.dumps(args)) if way == "call" else "text: '${ s.%s(**%s) }'" % (tool, json.dumps(args).replace("null", "none"))
    return "defs: {s: {import: \"mcp:s\"}}\ntext:\n- %s\n" % use


def test_arguments(folder):
    config = json.dumps({"mcpServers": {"s": scripted("good")}})
    for tool, args, refused, text in CASES:
        for way in ("call", "expression"):
            code, out, err, _ = run(folder, program(tool, args, way), config)
            # An expression leaves the types of values to the server, as for arguments with a name.
            sent = refused is None or (refused == "either" and way == "expression")
            name = "%s %s by %s" % (tool, json.dumps(args), way)
            if sent:
                check(name, code == 0 and json.loads(out) == args, "status %s, %r, %s" % (code, out, err[-500:]))
            else:
                check(name, code == 1 and text in err + "\n" and "main.pdl:3" in err.replace("main.pdl:4", "main.pdl:3"), "status %s, %r, %s" % (code, out, err[-500:]))


@pytest.mark.parametrize("call", ["${ s.call_tool('call_tool', {}).text }", "${ s.open(a='b', **{'c': 'd'}) }", "${ s.some('t', m=1) }", "${ s.open(a='b', c='d', pdl_context=[]) }"])
def test_forms(call, folder):
    want = {"call_tool": "tool call_tool", "open": '{"a": "b", "c": "d"}', "some": '{"m": 1, "text": "t"}'}[call[5:].partition("(")[0]]
    code, out, err, _ = run(folder, 'defs: {s: {import: "mcp:s"}}\ntext: "%s"\n' % call, json.dumps({"mcpServers": {"s": scripted("good")}}))
    check(call, code == 0 and out == want + "\n", "status %s, %r, %s" % (code, out, err[-500:]))
