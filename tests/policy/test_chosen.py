"""A callable is a value. When untrusted text chooses which tool or function is called, the call gets the labels of that text, under the argument
`name`, even if the call gets nothing of the text itself. A tool that the author names stays as trusted as before.
SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess

import pytest

from ..checks import check
from .tries import calls, run, servers, tool

# w is the word `send`, read from a mail; s is a server with send(to), drop() and call(name)
HEAD = {"s": {"import": "mcp:s"}, "w": {"read": "mail"}, "n": {"read": "number", "parser": "json"}}
F = {"f": {"function": None, "return": "${ s.send(to='ann') }"}, "g": {"function": None, "return": "${ s.drop() }"}}
ONE = {"h": {"function": {"a": None}, "return": "${ s.send(to=a) }"}}


def expression(x):
    return {"data": "${ %s }" % x}


CHOSEN = {
    "an item": expression("s[w](to='ann')"),
    "an item by a key of another": expression("s[{'send': 'drop'}[w]]()"),
    "a call block": {"call": "${ s[w] }", "args": {"to": "ann"}},
    "a call block without arguments": {"call": "${ s[{'send': 'drop'}[w]] }"},
    "a dict of tools": expression("{'send': s.send}[w](to='ann')"),
    "a list of tools": expression("[s.drop, s.send][n]()"),
    "a slice": expression("([s.drop, s.send][n:] | first)()"),
    "get": expression("{'send': s.send}.get(w)(to='ann')"),
    "get with a default": expression("{'x': s.send}.get(w, s.drop)()"),
    "selectattr": expression("([{'k': 'send', 'run': s.send}] | selectattr('k', 'equalto', w) | first).run(to='ann')"),
    "selectattr, then a call": {"call": "${ ([{'k': 'send', 'run': s.send}] | selectattr('k', 'equalto', w) | first).run }", "args": {"to": "ann"}},
    "map": expression("([{'send': s.drop}] | map(attribute=w) | first)()"),
    "pop": {"defs": {"l": {"data": ["${ s.drop }", "${ s.send }"]}}, "data": "${ l.pop(n)() }"},
    "sort": expression("([{'k': w, 'run': s.drop}, {'k': 'z', 'run': s.send}] | sort(attribute='k') | first).run()"),
    "groupby": expression("([{'k': w, 'run': s.drop}] | groupby('k') | first)[1][0].run()"),
    "max": expression("([{'k': w, 'run': s.drop}] | max(attribute='k')).run()"),
    "unique": expression("([{'k': w, 'run': s.drop}] | unique(attribute='k') | first).run()"),
    "rejectattr": expression("([{'k': 'x', 'run': s.call}, {'k': 'send', 'run': s.drop}] | rejectattr('k', 'ne', w) | first).run()"),
    "items": expression("({'send': s.drop} | items | selectattr(0, 'equalto', w) | first)[1]()"),
    "a length": expression("[s.send, s.drop][(w | length) - 3]()"),
    "batch": expression("([s.drop, s.send] | batch(n + 1) | first)[0]()"),
    "setdefault": expression("{'send': s.drop}.setdefault(w, s.send)()"),
    "a made key": expression("dict([[w, s.drop]]).send()"),
    "a module by name": {"defs": {"m": {"data": {"send": "${ s }"}}}, "data": "${ m[w].drop() }"},
    "a record by name": {"defs": {"m": {"data": {"send": {"run": "${ s.drop }"}}}}, "data": "${ m[w].run() }"},
    "default": expression("({'send': s.drop}[w] | default(s.send))()"),
    "a variable": {"defs": {"t": {"data": "${ s[w] }"}}, "data": "${ t(to='ann') }"},
    "a loop over names": {"for": {"x": "${ [w] }"}, "repeat": "${ s[x](to='ann') }"},
    "a loop over tools": {"for": {"x": "${ [s[w]] }"}, "repeat": "${ x(to='ann') }"},
    "an iteration of a map": {"for": {"x": "${ [w] }"}, "map": "${ s[x](to='ann') }"},
    "an argument": {"defs": {"k": {"function": {"t": None}, "return": "${ t(to='ann') }"}}, "data": "${ k(s[w]) }"},
    "a function that calls a tool": {"defs": F, "data": "${ {'send': f}[w]() }"},
    "a function that calls a function": {"defs": {**F, "o": {"function": None, "return": "${ f() }"}}, "data": "${ {'send': o}[w]() }"},
    "a function in a call block": {"defs": F, "call": "${ {'send': g}[w] }"},
    "a function whose body is a map": {"defs": {"f": {"function": None, "return": {"for": {"i": [1]}, "map": "${ s.drop() }"}}}, "data": "${ {'send': f}[w]() }"},
    "a function with a fallback": {"defs": {"f": {"function": None, "return": {"data": "${ stdlib.fail('x') }", "fallback": "${ s.drop() }"}}}, "data": "${ {'send': f}[w]() }"},
    "reduce": {"defs": {"p": {"function": {"a": None, "b": None}, "return": "${ s.drop() }"}}, "for": {"i": [1, 2]}, "repeat": "${ i }", "join": {"reduce": "${ {'send': p}[w] }"}},
    "a native of tools": expression("{'send': pdl_tool_call}[w]('s', 'drop', {})"),
    "a name for call_tool": expression("s.call_tool(w, {'to': 'ann'})"),
    "a name for call_tool without arguments": expression("s.call_tool({'send': 'drop'}[w], {})"),
    "a name in a request": expression("s.request('tools/call', {'name': w, 'arguments': {}})"),
    "a tool call of a model": expression("stdlib.call_tools([{'id': '1', 'function': {'name': w, 'arguments': '{}'}}], [s])"),
    "a tool call of a model, of functions": expression("stdlib.call_tools([{'id': '1', 'function': {'name': w, 'arguments': '{}'}}], [s.send])"),
    "the forms of the library": {"defs": {"form": {"import": "lib/tools/form"}}, "data": "${ form.named([s], w).run() }"},
    "jinja: a variable": {"lang": "jinja", "code": "{% set t = s[w] %}{{ t(to='ann') }}"},
    "jinja: sorted in place": {"lang": "jinja", "code": "{% set d = [[w, s.send], ['aaa', s.drop]] %}{% set _ = d.sort() %}{{ d[0][1]() }}"},
    "jinja: removed by what it equals": {"lang": "jinja", "code": "{% set d = [w, 'drop', 'send'] %}{% set _ = d.remove('send') %}{{ s[d[0]]() }}"},
    "jinja: left by pop": {"lang": "jinja", "code": "{% set d = {'send': s.send, 'x': s.drop} %}{% set _ = d.pop(w) %}{{ (d.values() | list)[0]() }}"},
    "jinja: left by pop with a default": {"lang": "jinja", "code": "{% set d = {'send': 1, 'x': s.drop} %}{% set _ = d.pop(w, none) %}{{ (d.values() | list)[0]() }}"},
    "jinja: macros": {"lang": "jinja", "code": "{% macro a() %}{{ s.drop() }}{% endmacro %}{% macro b() %}b{% endmacro %}{{ {'send': a}[w]() }}"},
    "code": {"defs": {"f": "${ s.drop }"}, "lang": "python", "code": "result = {'send': f}[w]()"},
    "a computed program": {"lang": "pdl", "code": "data: ${'$'}{ s.drop() } # ${ w }"},
    "a computed program, a call block": {"lang": "pdl", "code": "call: ${'$'}{ s.${ w } }"},
}
PLAIN = {
    "a call": expression("s.send(to='ann')"), "an item": expression("s['send'](to='ann')"), "no arguments": expression("s.drop()"), "a call block": {"call": "${ s.drop }"},
    "a call in a branch": {"if": "${ w == 'send' }", "then": "${ s.drop() }"}, "a variable": {"defs": {"t": {"data": "${ s.drop }"}}, "data": "${ t() }"},
    "a dict of tools": expression("{'send': s.drop}['send']()"), "a function": {"defs": F, "data": "${ f() }"}, "a record": {"defs": {"m": {"data": {"run": "${ s.drop }"}}}, "data": "${ m.run() }"},
    "a function beside a mail": {"defs": F, "data": "${ [w, f][1]() }"}, "a name for call_tool": expression("s.call_tool('drop', {})"),
}
BOUNDED = {"def": "k", "data": "${ w }", "spec": {"enum": ["send", "drop"]}, "contribute": []}
TOOLS = [tool("send", "to"), tool("drop"), tool("call", "name")]
DENY = {"rules": [{"sink": "tool", "deny": ["file"]}, {"sink": "pdl"}], "otherwise": "allow"}
NAME = {"rules": [{"sink": "tool", "argument": "name", "deny": ["file"]}], "otherwise": "allow"}
FILES = {"mail": "send", "number": "0"}


def attempt(pdl, folder, block, policy, *more):
    servers(folder, s=(TOOLS, {}))
    out, err = run(pdl, folder, {"defs": HEAD, "text": [*more, block]}, policy=policy, files=FILES)
    return calls(folder, "s"), out + err


@pytest.mark.parametrize("policy", ("careful", "strict", "deny", "name"))
def test_text_of_a_file_chooses(pdl, folder, part, policy):
    for name, block in part(CHOSEN.items(), 4, name=lambda row: policy + row[0]):
        if policy == "careful":
            made, told = attempt(pdl, folder, block, "default")
            check(name + ": without a policy it is called", len(made) == 1, made, told)
        made, told = attempt(pdl, folder, block, {"deny": DENY, "name": NAME}.get(policy, policy))
        check(f"{name}: {policy}", not made and "refuse" in told and "from " in told, made, told)


def test_the_author_chooses(pdl, folder, part):
    for name, block in part(PLAIN.items(), 3, name=lambda row: row[0]):
        for policy in ("careful", {**DENY, "rules": [DENY["rules"][0]]}):
            made, told = attempt(pdl, folder, block, policy)
            check(f"{name}: {policy}", len(made) == 1 and "refuse" not in told, made, told)
    for name, x in (("an item", "s[k]()"), ("a dict", "{'send': s.drop}[k]()")):
        made, told = attempt(pdl, folder, expression(x), "careful", BOUNDED)
        check("a bounded value chooses: " + name, len(made) == 1, made, told)


OBJECTS = """
import types
class Box:
    def __init__(self, word): self.word = word
    def shout(self): open('mark', 'x').close(); return 1
def one(): open('mark', 'x').close(); return 1
def two(): return 2
result = {'fs': {'send': one, 'x': two}, 'box': Box('in'), 'boxes': {'send': Box('a')}, 'ns': types.SimpleNamespace(send=one)}
"""
OF_CODE = {"a function": ("o.fs[w]()", "o.fs.send()"), "an object": ("o.boxes[w].shout()", "o.boxes.send.shout()"), "an attribute": ("o.ns[w]()", "o.ns.send()"),
           "a function by a loop": ("(o.fs | items | selectattr(0, 'equalto', w) | first | last)()", "(o.fs | items | first | last)()")}


def test_functions_of_code(pdl, folder, part):
    """Of an object of code what chose it counts, not what its process had read when it made the object."""
    read = {"lang": "python", "code": "import builtins\nbuiltins.k = w\nresult = ''"}
    for name, (chosen, plain) in part(OF_CODE.items(), 3, name=lambda row: row[0]):
        for policy in ("careful", "strict"):
            for x, want in ((chosen, False), (plain, True)):
                program = {"defs": {"w": {"read": "mail"}}, "text": [*([read] if want else []), {"def": "o", "lang": "python", "code": OBJECTS, "contribute": []}, expression(x)]}
                out, err = run(pdl, folder, program, policy=policy, files={"mail": "send"})
                made = (folder / "mark").exists()
                (folder / "mark").unlink(missing_ok=True)
                check(f"{name}: {policy}, {'plain' if want else 'chosen'}", made == want and (want or "argument name of sink code object" in err), out, err)


def test_the_result_is_of_what_chose(pdl, folder):
    """A constant that a chosen function gives is not another than one that is looked up in a table."""
    rule = {"rules": [{"sink": "command", "deny": ["file"]}], "otherwise": "allow"}
    for name, defs, x in (("a function", {"a": {"function": None, "return": "x"}}, "{'send': a}[w]()"), ("a method", {}, "{'send': 'x'.upper}[w]()"),
                          ("a native", {}, "{'send': dict}[w](a=1).a | string"), ("a filter of a choice", {}, "({'send': 'x'}[w] | upper)")):
        _, told = attempt(pdl, folder, {"defs": defs, "lang": "command", "args": ["echo", "${ %s }" % x]}, rule)
        check(name, "from file" in told, told)


def test_a_server_that_a_program_names(pdl, folder):
    """An import of a computed program starts a server: it is looked at, also where its text passed."""
    servers(folder, s=(TOOLS, {}), other=([tool("hit")], {}))
    program = {"defs": {"w": {"read": "mail"}}, "lang": "pdl", "code": "lastOf:\n- {def: m, import: \"mcp:${ w }\"}\n- ${'$'}{ m.hit() }\n"}
    rules = [{"sink": "server", "deny": ["file"]}, {"sink": "tool", "deny": ["file"]}]
    for policy, word in (("careful", "sink pdl"), ({"rules": rules[:1], "otherwise": "allow"}, "sink server other"), ({"rules": rules[1:], "otherwise": "allow"}, "sink tool other/hit")):
        out, err = run(pdl, folder, program, policy=policy, files={"mail": "other"})
        check(f"refused by {policy}", not calls(folder, "other") and word in err, out, err)
    out, err = run(pdl, folder, program, policy="default", files={"mail": "other"})
    check("without a policy it is called", calls(folder, "other") == ["hit {}"], out, err)


PLAN = "- {call: '${ send }', args: {to: ann}}"
ACTION = '{"tool": "send", "arguments": {"to": "ann"}}'
AGENTS = {
    "planned": ("planned", PLAN, "agent.run('openai/m', query='send it', tools=TOOLS, parameters={'mock_response': said}).answer"),
    "guarded": ("guarded", ACTION, "agent.run('openai/m', 'send it', TOOLS, max_steps=1, parameters={'mock_response': said}).answer"),
}


@pytest.mark.parametrize("name", list(AGENTS))
def test_definitions_that_nobody_looked_at(pdl, folder, part, name):
    """An agent plans with what a server says of its tools: without a lock each call of the plan is asked about, also of a tool of the author."""
    module, said, call = AGENTS[name]
    for tools in part(("[s]", "[s.send]", "[send, s.drop]"), 3, name=lambda row: name + row):
        program = {"defs": {"agent": {"import": "lib/agent/" + module}, "s": {"import": "mcp:s"}, "said": {"data": said, "raw": True}, "other": {"import": "mcp:other"},
                            "send": {"function": {"to": "string"}, "return": "${ other.send(to=to) }"}}, "data": "${ %s }" % call.replace("TOOLS", tools)}
        own = {"trusted": [{"tool": "other/*"}], "otherwise": "allow"}
        for policies, want in (([], True), (["careful"], False), (["strict"], False), (["locked", "careful"], True), (["trusted", "careful"], True), (["trusted", "strict"], True)):
            servers(folder, s=(TOOLS, {}), other=(TOOLS, {}))
            if "locked" in policies:
                out = subprocess.run([pdl, "policy", "lock", "tools.lock"], cwd=folder, env={**os.environ, "PDL_MCP_CONFIG": "mcp.json"}, capture_output=True, text=True, timeout=60)
                check("a lock is made", out.returncode == 0, out.stderr)
                own = {**own, "lock": "tools.lock"}
            if "trusted" in policies:
                own = {"trusted": [{"tool": "*/*"}], "otherwise": "allow"}
            more = [x for p in policies if p in ("careful", "strict") for x in ("--policy", p)]
            out, err = run(pdl, folder, program, *more, policy=own)
            made = calls(folder, "s") + calls(folder, "other")
            check(f"{name}, {tools}: {policies}", bool(made) == want, made, out, err)
