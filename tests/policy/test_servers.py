"""A tool server of the run remembers the labels of everything that was sent to it, and all its later answers have these labels. This holds for the
one session over both transports, for tools, requests and definitions, and for calls that are in flight at the same time. Servers may read files that
the run wrote, too.
SPDX-License-Identifier: Apache-2.0
"""
import pytest

from ..checks import check
from .tries import run, servers, tool

POLICY = {"labels": {"secret": [{"read": "note"}], "hr": [{"command": "printf"}]}, "otherwise": "allow"}
HEAD = {"s": {"import": "mcp:s"}, "t": {"import": "mcp:t"}, "x": {"read": "note"}, "y": {"lang": "command", "args": ["printf", "a"]}}
# what goes in -> does a later reply of s have its label?
INTO = {
    "an argument": ("${ s.put(text=x) }", True), "nested": ("${ s.call_tool('put', {'text': {'a': [x]}}) }", True), "a key": ("${ s.call_tool('put', {x: 'a'}) }", True),
    "a request": ("${ s.request('other', {'a': x}) }", True), "a name": ({"data": "${ s.call_tool(x, {}) }", "fallback": ""}, True), "a choice": ("${ {'canary': s.put}[x](text='a') }", True),
    "a call block": ({"call": "${ s.put }", "args": {"text": "${ x }"}}, True), "a map": ({"for": {"i": ["${ x }"]}, "map": "${ s.put(text=i) }"}, True),
    "the same time": ("${ s.put(text=x) }${ s.fetch() }", True), "a file": ({"defs": {"o": {"aggregator": {"file": "out"}}}, "text": [{"data": "${ x }", "contribute": ["o"]}]}, True),
    "another server": ("${ t.put(text=x) }", False), "nothing": ("a", False), "free text": ("${ s.put(text='a') }", False),
}
OUT = {"a tool": "s.fetch()", "call_tool": "s.call_tool('fetch', {}).text", "a request": "s.request('other', {})", "definitions": "s.request('tools/list', {})"}


def attempt(pdl, folder, into, out, label, policy=POLICY):
    servers(folder, s=([tool("put", "text"), tool("fetch")], {}), t=([tool("put", "text")], {}))
    probe = {"lang": "command", "args": ["echo", "RAN", "${ %s | string }" % out]}
    return run(pdl, folder, {"defs": HEAD, "text": [into, probe]}, policy={**policy, "rules": [{"sink": "command echo", "deny": [label]}]}, files={"note": "canary"})


@pytest.mark.parametrize("name", list(INTO))
def test_what_went_in(pdl, folder, part, name):
    into, want = INTO[name]
    for how, out in part(OUT.items(), 3, name=lambda row: name + ", " + row[0]):
        told, err = attempt(pdl, folder, into, out, "secret")
        check(f"{name}: {how}", ("from secret" in err) == want and ("RAN" in told) != want, told, err)


def test_other_labels(pdl, folder):
    for into, label, want in (("${ s.put(text=x) }", "file", True), ("${ s.put(text=y) }", "hr", True), ("${ s.put(text=y) }", "command", True), ("${ s.put(text=y) }", "secret", False)):
        told, err = attempt(pdl, folder, into, "s.fetch()", label)
        check(f"{into}: {label}", ("from " + label in err) == want, told, err)
    told, err = attempt(pdl, folder, "${ s.put(text=x) }", "s.fetch()", "secret", {**POLICY, "trusted": [{"tool": "s/*"}]})
    check("a trusted tool repeats what it got", "from secret" in err, told, err)
