# SPDX-License-Identifier: Apache-2.0
"""A value that a policy redacts is in nothing that leaves a run, in whatever form the program has it: output, error output (with --verbose), trace,
recording. Refusals give their reason, unless it names a secret."""
import base64
import json
import os
import subprocess
from pathlib import Path

from . import tool_server
from .. import http_of
from ..checks import check

WORD = "HidDEN753"
FORMS = [WORD, WORD.upper(), WORD.lower(), WORD[::-1], base64.b64encode(WORD.encode()).decode(), "-".join(WORD)]
LABELS = {"secret": [{"read": "note"}]}
HIDES = [{"sink": s, "deny": ["secret"]} for s in ("output", "trace", "journal")]
# x is the secret; a part of a `text`
# calls of a tool, and what the refusal has to say: what a program names is said, what the secret names is not
CALLS = {
    "s.f(a=x)": "argument a of sink tool s/f: from secret", "s.f(a={'b': [1, x]})": "argument a.b.1 of sink tool s/f: from secret",
    "s.f(a={x: 1})": "argument [secret] of sink tool s/f: from secret", "s.f(a=dict([[x, 1]]))": "argument [secret] of sink tool s/f: from secret",
    "s.f(b=x)": "argument b of sink tool s/f: from secret", "s.f(**{x: 1})": "argument [secret] of sink tool s/f: from secret",
    "s.f(b={x: 1})": "argument [secret] of sink tool s/f: from secret",
    "s.f(**{'a': x})": "argument a of sink tool s/f: from secret", "s.call_tool('f', {'a': x})": "argument a of sink tool s/f: from secret",
    "pdl_tool_call('s', x, {'a': 1})": "argument a of sink tool [secret]: from secret",
    "pdl_tool_call('s', 'f', {'a': x})": "argument a of sink tool s/f: from secret", "pdl_tool_call('s', 'f', {x: 1})": "argument [secret] of sink tool s/f: from secret",
    "pdl_tool_request('s', 'tools/call', {'name': 'f', 'arguments': {'a': x}})": "argument a of sink tool s/f: from secret",
    "pdl_tool_request('s', 'tools/call', {'name': 'f', 'arguments': {}, x: 1})": "argument [secret] of sink tool s/f: from secret",
    "pdl_tool_request('s', 'resources/read', {'uri': x})": "argument uri of sink tool s/resources/read: from secret",
}
WAYS = {
    "text": '"${ x }"', "upper": '"${ x | upper }"', "lower": '"${ x | lower }"', "reversed": '"${ x | reverse }"', "joined": "\"${ x | list | join('-') }\"",
    "slices": '"${ x[0] }${ x[1:] }"', "loop": '{for: {i: "${ x | list }"}, repeat: "${ i }"}', "loop, not shown": '{for: {i: "${ [x] }"}, repeat: {data: "${ i }", contribute: []}}',
    "object": '{data: {k: "${ x }"}}', "key of an object": '{data: "${ {x: x} }"}', "key of a key": '{data: "${ {x: {x: {x: 1}}} }"}', "key, in a list": '{data: "${ [{x: 1}] }"}',
    "print of code": '{lang: python, code: "print(x)\\nresult = 1"}', "error output of code": '{lang: python, code: "import sys\\nsys.stderr.write(x)\\nresult = 1"}',
    "error output of its child": '{lang: python, code: "import subprocess\\nsubprocess.run([\'sh\', \'-c\', \'echo $0 >&2\', x])\\nresult = 1"}',
    "encoded by code": '{lang: python, code: "import base64\\nresult = base64.b64encode(x.encode()).decode()"}',
    "an object of code": '{lastOf: [{def: o, lang: python, code: "class A:\\n  def __repr__(self): return x\\nresult = A()", contribute: []}, "${ o }"]}',
    "exception of code": '{lang: python, code: "raise ValueError(x)", fallback: "${ pdl_error.message }"}', "exception, not caught": '{lang: python, code: "raise ValueError(x)"}',
    "command": '{args: [sh, -c, "echo $0; echo $0 >&2; echo $0 | rev", "${ x }"]}', "name of a command": '{args: ["${ x }"], fallback: f}', "command, not caught": '{args: ["${ x }"]}',
    "model": '{model: openai/x, input: "${ x }", parameters: {mock_response: "${ x }", num_retries: 0}}', "name of a model": '{model: "openai/${ x }", input: y, parameters: {mock_response: z, num_retries: 0}}',
    "parser": '{data: "${ x }", parser: json, fallback: f}', "parser, not caught": '{data: "${ x }", parser: json}', "spec": '{data: "${ x }", spec: integer}', "key that is not there": '{data: "${ {}[x] }"}',
    "file that is not there": '{read: "./${ x }"}', "text of an error": '{lastOf: ["${ stdlib.fail(x) }"], fallback: "${ pdl_error.message }"}', "arithmetic": '{data: "${ x + 1 }"}',
    "match": '{match: "${ x }", with: [{case: zz, then: 1}, {then: "${ x[0] }${ x[1:] }"}]}', "template": '{lang: jinja, code: "{{ x }}{% for c in x %}{{ c }}{% endfor %}"}',
    "context": '{lastOf: [{role: assistant, content: "${ x }", contribute: [context]}, "${ pdl_context | string }"]}', "function": '{defs: {f: {function: {a: string}, return: "${ a }"}}, call: "${ f }", args: {a: "${ x }"}}',
    "computed program": '{lang: pdl, code: "data: ${ x }"}', "regex": '{data: "${ x }", parser: {regex: "(?P<a>.*)", spec: {a: string}}}',
    "tag of a template": '{lang: jinja, code: "{% ${ x } %}"}', "filter of a template": '{lang: jinja, code: "{{ 1 | ${ x } }}"}', "options of a template": '{lang: jinja, code: x, parameters: "${ {x: 1} }"}',
    "class of an exception": '{lang: python, code: "raise type(x, (Exception,), {})(1)"}', "no number": '{data: "${ x | int }"}', "call of a text": '{call: "${ x }"}',
}


REFUSED = (("command", "args: [ls, '${ x }']", "command ls"), ("command", "args: ['${ x }']", "argument 0 of sink command [secret]: from secret"),
           ("model", "model: openai/y, input: '${ x }'", "user of sink model openai/y"), ("model", "model: 'openai/${ x }', input: y", "of sink model [secret]: from secret"),
           ("read", "read: './${ x }'", "argument path of sink read [secret]: from secret"), ("code", "lang: python, code: '${ x }'", "sink code python"),
           ("pdl", "lang: pdl, code: '${ x }'", "sink pdl"))


def run(pdl, d, policy):
    """-> (error output, all that leaves the run)"""
    Path(d, "p.yaml").write_text(json.dumps(policy))
    for f in ("t.json", "r"):
        Path(d, f).unlink(missing_ok=True)
    env = {**os.environ, "HOME": str(d), "OPENAI_API_KEY": "k", "PDL_MCP_CONFIG": "mcp.json"}
    p = subprocess.run([pdl, "--policy", "p.yaml", "--trace", "t.json", "--record", "r", "--verbose", "a.pdl"], cwd=d, env=env, capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=120, check=False)
    files = b"".join(Path(d, f).read_bytes() for f in ("t.json", "r") if Path(d, f).exists())
    return p.stderr, p.stdout + p.stderr + files.decode(errors="replace")


def shown(out):
    return [f for f in FORMS if f in out]


def test_ways(pdl, folder, part):
    (folder / "note").write_text(WORD)
    for name, way in part(WAYS.items(), 2, name=lambda row: row[0]):
        (folder / "a.pdl").write_text("text:\n- {def: x, read: note, contribute: []}\n- %s\n" % way)
        check(name + ": shown without the rules", shown(run(pdl, folder, {"policy": 1, "rules": [], "otherwise": "allow"})[1]), "so the row shows nothing")
        out = run(pdl, folder, {"policy": 1, "labels": LABELS, "rules": HIDES, "otherwise": "allow"})[1]
        check(name, not shown(out), out[-1500:])


class Echo(http_of.Quiet):
    """A model whose answers have no text, and say why in the words of the request."""

    def do_POST(self):
        said = json.loads(self.body())["messages"][-1]["content"]
        message = {"role": "assistant", "content": None, "refusal": "not " + said}
        self.reply(json.dumps({"id": "i", "model": "m", "choices": [{"index": 0, "finish_reason": said, "message": message}]}).encode())


def test_notes_about_calls(pdl, folder):
    (folder / "note").write_text(WORD)
    (folder / "a.pdl").write_text('text:\n- {def: x, read: note, contribute: []}\n- {model: openai/m, input: "${ x }", parameters: {api_base: "http://127.0.0.1:%d"}}\n'
                                  % http_of.serve(Echo).server_port)
    check("shown without the rules", shown(run(pdl, folder, {"policy": 1, "rules": [], "otherwise": "allow"})[0]), "so it shows nothing")
    told, out = run(pdl, folder, {"policy": 1, "labels": LABELS, "rules": HIDES, "otherwise": "allow"})
    check("hidden", not shown(out) and "[secret]" in told, out[-1500:])


def test_refused_calls(pdl, folder):
    (folder / "note").write_text(WORD)
    (folder / "server.py").write_text(tool_server.text('[{"name": "f", "inputSchema": {"type": "object", "properties": {"a": {}}}}]', '"done"'))
    (folder / "mcp.json").write_text(tool_server.config())
    rules = [{"sink": "tool", "deny": ["secret"]}, *HIDES]
    for call, said in CALLS.items():
        (folder / "a.pdl").write_text('lastOf:\n- {def: s, import: "mcp:s"}\n- {def: x, read: note}\n- data: "${ %s }"\n' % call)
        told, out = run(pdl, folder, {"policy": 1, "labels": LABELS, "rules": rules, "otherwise": "allow"})
        check("refused: " + call, "refuses " + said in told and "read note" in told and not shown(out), out[-1500:])


def test_refused_uses(pdl, folder):
    """Names that hold the secret are left out of the message, which is shown: who reads it has to know what was refused."""
    (folder / "note").write_text(WORD)
    for sink, use, said in REFUSED:
        (folder / "a.pdl").write_text("text:\n- {def: x, read: note, contribute: []}\n- {%s}\n" % use)
        told, out = run(pdl, folder, {"policy": 1, "labels": LABELS, "rules": [{"sink": sink, "deny": ["secret"]}, *HIDES], "otherwise": "allow"})
        check("refused: " + use, "refuses argument" in told and said in told and "read note" in told and not shown(out), out[-1500:])
