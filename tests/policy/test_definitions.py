# SPDX-License-Identifier: Apache-2.0
"""The definitions of a tool server are text of that server, wherever a program sees them as values. A lock file makes them trusted, because a person
has examined them. The program's author decides which tool is called, so a call is as trusted as its arguments."""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from . import tool_server
from ..checks import check
from .label_runs import decisions

LIB = Path(__file__).resolve().parent.parent.parent

TOOL = {"name": "send", "description": "Sends a text", "inputSchema": {"type": "object", "required": ["to"], "properties": {
    "to": {"type": "string", "enum": ["bob", "ann"], "description": "who"}, "body": {"type": "string"}}}}
SERVER = tool_server.text(repr([TOOL]), '"sent to " + m["params"]["arguments"].get("to", "")')
EXPRESSIONS = ("s.tools", "s.tools[0]", "s.tools[0].function.name", "s.tools[0].function.description", "s.tools | map(attribute='function.name') | join", "s.send.signature",
               "s.send.signature.function.description", "s.send.description", "s.send.function", "s.send.name", "s['send'].description",
               "s.keys() | select('equalto', 'send') | first", "s | list | select('equalto', 'send') | first", "s | dictsort | selectattr(0, 'equalto', 'send') | first | first",
               "s.tools | json", "pdl_tool_request('s', 'tools/list', {}).tools[0].name")
BLOCKS = {
    "a loop over the names": {"for": {"x": "${ s.tools | map(attribute='function.name') | list }"}, "repeat": "${ x }"},
    "the reply of a model that has read them": {"model": "openai/x", "input": "q", "parameters": {"mock_response": "m", "tools": ["${ s }"]}},
    "of one tool": {"model": "openai/x", "input": "q", "parameters": {"mock_response": "m", "tools": ["${ s.send }"]}},
    "of a record around it": {"model": "openai/x", "input": "q", "parameters": {"mock_response": "m", "tools": [{"name": "n", "description": "${ s.send.description }", "run": "${ s.send }"}]}},
    "of a choice": {"model": "openai/x", "input": "q", "parameters": {"mock_response": "m", "tool_choice": "${ s.send }"}},
    "the normal form of the library": {"lastOf": [{"def": "form", "import": "lib/tools/form"}, "${ form.all([s])[0].description }"]},
    "a function for code": {"defs": {"f": "${ s.send }"}, "lang": "python", "code": "result = f.signature"},
    "functions for code": {"defs": {"fs": {"data": ["${ s.send }"]}}, "lang": "python", "code": "result = fs[0].description"},
    "an error that has its words": {"call": "${ s.send }", "args": {"to": "eve"}, "fallback": "${ pdl_error.message }"},
}
USAGE = {"usage: the numbers": {"data": "${ pdl_usage.completion_tokens }"}, "usage: as text": {"data": "${ pdl_usage }"}, "usage: of calls": {"data": "${ pdl_usage.model_calls }"},
         "usage: for code": {"lang": "python", "code": "result = pdl_usage.prompt_tokens"}}
MODEL = {"model": "openai/x", "input": "${ note }", "parameters": {"mock_response": "m"}, "contribute": []}


def lay_out(d):
    Path(d, "server.py").write_text(SERVER)
    Path(d, "note").write_text("hello")
    Path(d, "mcp.json").write_text(tool_server.config())
    return {**os.environ, "PDL_MCP_CONFIG": "mcp.json", "OPENAI_API_KEY": "k", "HOME": d, "PDL_PATH": str(LIB)}


def run(pdl, program, policy, locked=False):
    """-> (output, error output, the origins of each value that is endorsed)"""
    with tempfile.TemporaryDirectory() as d:
        env = lay_out(d)
        if locked:
            p = subprocess.run([pdl, "policy", "lock", "tools.lock"], cwd=d, env=env, capture_output=True, text=True, timeout=60, check=False)
            check("a lock file is written", p.returncode == 0, p.stderr)
        Path(d, "p.yaml").write_text(json.dumps({"policy": 1, **policy, **({"lock": "tools.lock"} if locked else {})}))
        Path(d, "a.pdl").write_text(json.dumps(program))
        p = subprocess.run([pdl, "--stream", "none", "--policy", "p.yaml", "--trace", "t.json", "a.pdl"], cwd=d, env=env, capture_output=True, text=True, timeout=120,
                           start_new_session=True, check=False)
        trace = json.loads(Path(d, "t.json").read_text()) if p.returncode == 0 else {}
        return p.stdout.strip(), p.stderr, decisions(trace, {})


def origins(pdl, samples, policy, locked=False):
    blocks = [{"lastOf": [b], "endorse": {"labels": ["tool", "model", "file", "hr"] if "labels" in policy else ["tool", "model", "file"], "why": n}} for n, b in samples.items()]
    _, err, found = run(pdl, {"defs": {"s": {"import": "mcp:s"}, "note": {"read": "note"}}, "text": blocks}, policy, locked)
    check("the samples run", not err, err[-2000:])
    return found


ALLOW = {"otherwise": "allow"}
SAMPLES = {**{x: {"data": "${ %s }" % x} for x in EXPRESSIONS}, **BLOCKS}


def test_definitions_are_words_of_the_server(pdl):
    found = origins(pdl, SAMPLES, ALLOW)
    for name in SAMPLES:
        check(name, "tool" in found.get(name, []), found.get(name, "its label is lost"))
    found = origins(pdl, SAMPLES, {**ALLOW, "labels": {"hr": [{"tool": "s/*"}]}})
    check("a name for what tools say is not for their definitions", all("hr" not in found.get(n, []) for n in SAMPLES), found)


def test_what_is_locked_is_trusted(pdl):
    for how, policy, locked in (("locked", ALLOW, True), ("trusted", {**ALLOW, "trusted": [{"tool": "s/*"}]}, False)):
        found = origins(pdl, SAMPLES, policy, locked)
        for name in SAMPLES:
            check(f"{how}: {name}", "tool" not in found.get(name, []), found.get(name))
    said = {"x": {"data": "${ pdl_tool_result(pdl_tool_call('s', 'send', {'to': 'bob'})) }"}}
    check("what a locked tool says is a tool's word", origins(pdl, said, ALLOW, True) == {"x": ["tool"]})


def test_usage(pdl):
    found = origins(pdl, {"usage: none": {"data": "${ pdl_usage.model_calls }"}, "m": {"lastOf": [MODEL, "x"]}, **USAGE}, ALLOW)
    check("usage before any call", "usage: none" not in found, found)
    for name in USAGE:
        check(name, set(found.get(name, [])) >= {"file", "model"}, found.get(name, "its label is lost"))


S = {"s": {"import": "mcp:s"}}
CALL = {"defs": S, "text": "${ s.send(to='bob') }"}
LOOP = {"defs": S, "text": [{"for": {"x": "${ s.tools | map(attribute='function.name') | list }"}, "repeat": "${ s[x](to='bob') }"}]}
OFFER = {"defs": S, "model": "openai/x", "input": "q", "parameters": {"mock_response": "m", "tools": ["${ s }"]}}
AFTER = {"defs": {**S, "got": "${ s.send(to='bob') }"}, "model": "openai/x", "input": "${ got }", "parameters": {"mock_response": "m", "tools": ["${ s }"]}}
COMMAND = {"defs": S, "lang": "command", "args": ["echo", "${ s.send.description }"]}
TOOLS = {"rules": [{"sink": "model", "argument": "tools", "deny": ["tool"]}], **ALLOW}
CAREFUL = {"rules": [{"sink": "tool", "allow": ["user", "data", "bounded"]}, {"sink": "command", "allow": ["user"]}], **ALLOW}
PLAN = ('- {call: "${ send }", args: {to: bob}}', '- "${ send(to=\'bob\') }"', '- {def: who, data: bob}\n- {call: "${ send }", args: {to: "${ who }"}}')
PLANS = [{"defs": {**S, "plan": {"data": plan, "raw": True}, "planned": {"import": "lib/agent/planned"}},
          "data": "${ planned.run('openai/x', query='q', tools=[s], parameters=dict(mock_response=plan)).answer }"} for plan in PLAN]
REQUESTED = {"defs": {**PLANS[0]["defs"], "note": {"read": "note"}}, "data": PLANS[0]["data"].replace("'q'", "note")}
RECEIVER = {"rules": [{"sink": "tool s/send", "argument": "to", "allow": ["user", "data"]}], **ALLOW}
ROWS = (
    ("a call that the author wrote", CALL, CAREFUL, False, "sent to bob"),
    ("the same in strict control", CALL, {**CAREFUL, "control": "strict"}, False, "sent to bob"),
    ("a tool whose name the server chose", LOOP, CAREFUL, False, None),
    ("a tool whose name the server chose, locked", LOOP, CAREFUL, True, "sent to bob"),
    ("strict control", LOOP, {**CAREFUL, "control": "strict"}, False, None),
    ("strict control, locked", LOOP, {**CAREFUL, "control": "strict"}, True, "sent to bob"),
    ("tools offered in a clean context", OFFER, TOOLS, False, "m"),
    ("tools offered after a result", AFTER, TOOLS, False, None),
    ("tools offered after a result, locked", AFTER, TOOLS, True, None),
    ("a model that may not read what servers say", OFFER, {"rules": [{"sink": "model", "deny": ["tool"]}], **ALLOW}, False, None),
    ("a model that may not read what servers say, locked", OFFER, {"rules": [{"sink": "model", "deny": ["tool"]}], **ALLOW}, True, "m"),
    ("a description in a command", COMMAND, CAREFUL, False, None),
    ("a description in a command, locked", COMMAND, CAREFUL, True, "Sends a text"),
    ("what a plan says has the labels of the request", REQUESTED, {"rules": [{"sink": "tool s/send", "argument": "to", "deny": ["file"]}], **ALLOW}, True, None),
    ("the module vouches for its planner", PLANS[0], {"rules": [{"sink": "tool s/send", "argument": "to", "deny": ["model"]}], **ALLOW}, True, "sent to bob"),
    ("unless a policy refuses it", PLANS[0], {"rules": [{"sink": "endorse", "labels": ["model"], "otherwise": "deny"}], **ALLOW}, True, None),
    *((f"what a plan says, {i}", p, RECEIVER, False, None) for i, p in enumerate(PLANS)),
    *((f"what a plan says, locked, {i}", p, RECEIVER, True, "sent to bob") for i, p in enumerate(PLANS)),
)


def test_calls_and_offers(pdl):
    for name, program, policy, locked, want in ROWS:
        out, err, _ = run(pdl, program, policy, locked)
        check(name, out == want if want is not None else re.search("refuses .*from (tool|file|model)", err), out + err[-600:])
