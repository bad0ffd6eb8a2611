# SPDX-License-Identifier: Apache-2.0
"""Ways around a policy: the same action that is requested in another way is still the same action, and a process may have passed on everything that
it has seen."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from . import tool_server
from ..checks import check, skip

SERVER = tool_server.text('[{"name": "send", "description": "Sends", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}]',
                          '"sent " + json.dumps(m["params"])')
EVE = "defs:\n  eve: {lang: command, args: [printf, s]}\n  url: {lang: command, args: [printf, 'http://127.0.0.1:9/v1']}\n"
SECRET = "{labels: {secret: [{read: 'salaries/**'}]}, rules: [{sink: output, deny: [secret]}], otherwise: allow}"
STRICT = SECRET.replace("{labels", "{control: strict, labels")
ASK = "defs:\n  s: {read: salaries/a.txt}\ntext:\n"

F = "defs:\n  s: {read: salaries/a.txt}\n  f: {function: {}, return: chosen}\n  g: {function: {}, return: {lang: command, args: [printf, ran]}}\ntext:\n"

TOLD = "- {lang: python, code: 'result = s', contribute: []}\n"
OBJECT = '- {def: o, lang: python, contribute: [], code: "class A: pass\\no = A()\\no.v = 1\\nresult = o"}\n'
ANEW = "- {lang: python, session: new, code: 'result = 1'}\n"


def each(*texts):
    return EVE + "text:\n" + "".join('- {text: %s, fallback: "${ pdl_error.kind }"}\n- " "\n' % json.dumps(t) for t in texts)


def call(parameters):
    return EVE + "model: openai/x\ninput: hi\nparameters: {api_key: a, num_retries: 0, api_base: 'http://127.0.0.1:9/v1', %s}\nfallback: ${ pdl_error.kind }\n" % parameters


def model(name, parameters):
    at = "api_key: a, num_retries: 0, api_base: 'http://127.0.0.1:9/v1'"
    more = parameters[1:-1]
    return f"defs:\n  s: {{read: salaries/a.txt}}\nmodel: {name}\ninput: $" f"{{ s }}\nparameters: {{{at}{', ' * bool(more)}{more}}}\nfallback: $" "{ pdl_error.kind }\n"


def executed(text):
    """Code that executes a program, with what it got in sight."""
    return EVE + "text:\n- lang: python\n  code: |\n    from pdl.pdl import exec_str\n    try:\n        result = exec_str(%s)\n" % text + \
        "    except Exception as e:\n        result = 'refused' if 'refuses' in str(e) else str(e)\n"


SEND = "{rules: [{sink: 'tool s/send', argument: to, deny: [command]}], otherwise: allow}"
URL = "{rules: [{sink: url, deny: [command]}], otherwise: allow}"
MODELS = "{labels: {secret: [{read: 'salaries/**'}]}, rules: [{sink: model, model: 'openai/*'}, {sink: model, deny: [secret]}], otherwise: allow}"
LOCKED = "{lock: tools.lock, otherwise: allow}"
# name, policy, program, what it prints
ROWS = (
    ("a server that was refused is not started by the next use", "{rules: [{sink: server, deny: [command]}], otherwise: allow}",
     each("${ pdl_tool_call(eve, 'send', {'to': 'x'}).text }", "${ pdl_tool_call(eve, 'send', {'to': 'x'}).text }"), "policy policy"),
    ("nor while another one waits", "{rules: [{sink: server, allow: [user], otherwise: approve}], otherwise: allow}",
     EVE + "for: {i: [1, 2, 3]}\nmap: {text: \"${ pdl_tool_call(eve, 'send', {'to': 'x'}).text }\", fallback: ' ${ pdl_error.kind }'}\n", "policy policy policy"),
    ("a call as a request", SEND, each("${ pdl_tool_request('s', 'tools/call', {'name': 'send', 'arguments': {'to': eve}}) }"), "policy"),
    ("its other parameters", "{rules: [{sink: 'tool s/send', deny: [command]}], otherwise: allow}",
     each("${ pdl_tool_request('s', 'tools/call', {'name': 'send', 'arguments': {}, '_meta': {'x': eve}}) }"), "policy"),
    ("a request that carries it", "{rules: [{sink: 'tool s/other', argument: x, deny: [command]}], otherwise: allow}",
     each("${ pdl_tool_request('s', 'other', {'x': eve}) }", "${ pdl_tool_request('s', 'other', {'y': eve}).got.y }"), "policy s"),
    ("a method that ends early", SEND, each("${ pdl_tool_request('s', 'tools/call\\0', {'name': 'send', 'arguments': {'to': eve}}) }"), "runtime"),
    ("a tool that text has chosen", "{rules: [{sink: 'tool s/*', deny: [command]}], otherwise: allow}",
     each("${ pdl_tool_request('s', 'tools/call', {'name': eve ~ 'end', 'arguments': {}}) }"), "policy"),
    ("labels of a source, for a request", "{labels: {hr: [{tool: s/send}]}, rules: [{sink: output, deny: [hr]}], otherwise: allow}",
     each("${ pdl_tool_request('s', 'tools/call', {'name': 'send', 'arguments': {}}).content[0].text }"), "[hr]"),
    ("the list of tools as a request, with a lock", LOCKED, each("${ pdl_tool_request('s', 'tools/list', {}) }"), '{"tools": []}'),
    ("the list of tools as a request, without", "{otherwise: allow}", each("${ pdl_tool_request('s', 'tools/list', {}).tools[0].name }"), "send"),
    ("an address", URL, call("base_url: '${ url }'"), "policy"),
    ("an address of a fallback", URL, call("fallbacks: [{model: openai/y, api_base: '${ url }'}]"), "policy"),
    ("an address deeper", URL, call("fallbacks: [{model: openai/y, litellm_params: {base_url: '${ url }'}}]"), "policy"),
    ("an address of watsonx", URL, call("url: '${ url }'"), "policy"),
    ("an address of a processor", URL, EVE + "processor: {type: granite, model: m, backend: openai, openai_base_url: '${ url }'}\ninput: hi\n"
     "fallback: ${ pdl_error.kind }\n", "policy"),
    ("no address", URL, call("user: '${ url }'"), "connection"),
    ("a model of a rule", MODELS, model("openai/x", "{}"), "connection"),
    ("another model", MODELS, model("groq/x", "{}"), "policy"),
    ("a fallback", MODELS, model("openai/x", "{fallbacks: [groq/x]}"), "policy"),
    ("a fallback with parameters", MODELS, model("openai/x", "{fallbacks: [openai/y, {model: groq/x, api_key: b}]}"), "policy"),
    ("a fallback of the same service", MODELS, model("openai/x", "{fallbacks: [openai/y]}"), "connection"),
    ("a model for longer contexts", MODELS, model("openai/x", "{context_window_fallback_dict: {openai/x: groq/x}}"), "policy"),
    ("another service for the name", MODELS, model("openai/x", "{custom_llm_provider: groq}"), "policy"),
    ("a fallback with another service", MODELS, model("openai/x", "{fallbacks: [{custom_llm_provider: groq}]}"), "policy"),
    ("a file that a command wrote, by a command", SECRET,
     ASK + "- {lang: command, args: [sh, -c, 'echo $1 > o', x, '${ s }'], contribute: []}\n- {lang: command, args: [cat, o]}\n", "[secret]"),
    ("by code", SECRET, ASK + "- {lang: command, args: [sh, -c, 'echo $1 > o', x, '${ s }'], contribute: []}\n"
     "- {lang: python, code: 'result = open(\"o\").read()'}\n", "[secret]"),
    ("a file that code wrote, by a command", SECRET, ASK + "- {lang: python, code: 'result = open(\"o\", \"w\").write(s)', contribute: []}\n"
     "- {lang: command, args: [cat, o]}\n", "[secret]"),
    ("a program that code makes", "{rules: [{sink: pdl, deny: [command]}], otherwise: allow}", executed("'data: ' + eve"), "refused"),
    ("what it does", "{rules: [{sink: 'command echo', deny: [command]}], otherwise: allow}", executed("'{lang: command, args: [echo, ' + eve + ']}'"), "refused"),
    ("and in strict control", "{control: strict, rules: [{sink: 'command echo', deny: [command]}], otherwise: allow}",
     executed("'{if: ' + ('true' if eve else 'false') + ', then: {lang: command, args: [echo, hi]}}'"), "refused"),
    ("a program of code that got nothing", "strict", "text:\n- lang: python\n  code: |\n    from pdl.pdl import exec_str\n    result = exec_str('{lang: command, args: [echo, own]}')\n", "own"),
    ("before it", SECRET, "text:\n- {lang: command, args: [printf, fine]}\n", "fine"),
    # what is shown because of a value
    ("a constant of a branch", STRICT, ASK + "- {if: \"${ s == '100' }\", then: chosen}\n- ' after'\n", "[secret] after"),
    ("a constant of an expression", STRICT, ASK + "- {text: \"${ 'a' if s == '100' else 'b' }\"}\n- ' after'\n", "[secret] after"),
    ("a constant of a case", STRICT, ASK + "- {match: '${ s }', with: [{case: '100', then: chosen}]}\n- ' after'\n", "[secret] after"),
    ("turns of a loop", STRICT, ASK + "- {for: {i: '${ s|list }'}, repeat: x}\n- ' after'\n", "[secret][secret][secret] after"),
    ("a constant of a fallback", STRICT, ASK + "- {data: '${ 1 / (s|int - 100) }', fallback: chosen}\n- ' after'\n", "[secret] after"),
    ("what a branch prints by code", STRICT, ASK + "- {if: \"${ s == '100' }\", then: {lang: command, args: [printf, chosen]}}\n- ' after'\n", "[secret] after"),
    ("a function that a value chose, by a block", STRICT, F + "- {def: x, call: \"${ {'100': f}[s] }\", contribute: []}\n- ${ x }\n- ' after'\n", "[secret] after"),
    ("a function that a value chose, by an expression", STRICT, F + "- {text: \"${ {'100': f}[s]() }\"}\n- ' after'\n", "[secret] after"),
    ("what it does", STRICT.replace("rules: [", "rules: [{sink: command, deny: [secret]}, "), F + "- {call: \"${ {'100': g}[s] }\", fallback: refused, contribute: []}\n- ${ g() }\n", "ran"),
    ("a function that the program chose", STRICT, F + "- {call: \"${ {'100': f}['100'] }\"}\n", "chosen"),
    ("a branch of a trusted value", STRICT, ASK + "- {if: \"${ 1 == 1 }\", then: chosen}\n- ' after'\n", "chosen after"),
    ("without strict control", SECRET, ASK + "- {if: \"${ s == '100' }\", then: chosen}\n- ' after'\n", "chosen after"),
    # what a new session forgets, and what it does not
    ("code that got it", SECRET, ASK + TOLD + "- {lang: python, code: 'result = 1'}\n", "[secret]", "--sandbox"),
    ("a new session that may have been left a file", SECRET, ASK + TOLD + ANEW, "[secret]"),
    ("a new session in a sandbox", SECRET, ASK + TOLD + ANEW, "1", "--sandbox"),
    ("code after it", SECRET, ASK + TOLD + ANEW + "- {lang: python, code: 'result = 2'}\n", "12", "--sandbox"),
    ("a new session in a sandbox with a folder", SECRET, ASK + TOLD + ANEW, "[secret]", "--sandbox=box.yaml"),
    ("a new session for another profile", SECRET, ASK + TOLD + ANEW.replace("}", ", sandbox: {memory: 900}}") + "- {lang: python, code: 'result = 2'}\n",
     "1[secret]", "--sandbox"),
    ("an object of the old session", SECRET, ASK + OBJECT + TOLD.replace("result = s", "o.v = s; result = 0") + ANEW + "- ${ o.v }\n", "1[secret]", "--sandbox"),
    ("a command in a sandbox leaves nothing", SECRET, ASK + "- {lang: command, args: [echo, '${ s }'], contribute: []}\n- {lang: command, args: [printf, x]}\n", "x", "--sandbox"),
    ("a path over a link and back", SECRET, "read: link/../a.txt\n", "[secret]"),
    ("a path with detours", SECRET, "read: ./salaries//sub/../a.txt\n", "[secret]"),
    ("a link to the file", SECRET, "read: direct\n", "[secret]"),
    ("a file beside", SECRET, "read: link/../../beside.txt\n", "beside"),
    *(("the text of a template in an object that outlives it: " + text, SECRET,
       ASK + "- {def: n, data: \"${ namespace(a=[], b=1) }\", contribute: []}\n- {lang: jinja, code: %s, contribute: []}\n- \"${ n.a | string if n.a else n.b }\"\n" % json.dumps(text), "[secret]")
      for text in ("{% set n.b = '${ s }' %}", "{% set q = n.a.append('${ s }') %}", "{% set q = n.a.append({'${ s }': 1}) %}",
                   "{% set q %}${ s }{% endset %}{% set n.b = q %}", "{% macro m() %}{% set n.b = caller() %}{% endmacro %}{% call m() %}${ s }{% endcall %}",
                   "{% macro m(x='${ s }') %}{% set n.b = x %}{% endmacro %}{{ m() }}")),
)


def lay_out(d):
    (d / "salaries/sub").mkdir(parents=True)
    (d / "salaries/a.txt").write_text("100")
    (d / "beside.txt").write_text("beside")
    (d / "link").symlink_to("salaries/sub")
    (d / "direct").symlink_to("salaries/a.txt")
    (d / "server.py").write_text(SERVER)
    (d / "out").mkdir()
    (d / "box.yaml").write_text("write: [out]\n")
    (d / "tools.lock").write_text('{"lock": 1, "servers": {}}')
    (d / "mcp.json").write_text(tool_server.config())


def made(pdl, rows):
    for name, policy, program, want, *args in rows:
        with tempfile.TemporaryDirectory() as folder:
            d = Path(folder)
            lay_out(d)
            (d / "a.pdl").write_text(program)
            (d / "p.yaml").write_text("{policy: 1, " + policy[1:])
            p = subprocess.run([pdl, "--policy", "p.yaml" if policy[0] == "{" else policy, *args, "a.pdl"], cwd=d, env={**os.environ, "PDL_MCP_CONFIG": "mcp.json", "HOME": folder},
                               capture_output=True, text=True, timeout=60, start_new_session=True, check=False)
        check(name, p.returncode == 0 and p.stdout.strip() == want, repr(p.stdout), repr(p.stderr[-400:]))


def test_evasions(pdl, part):
    made(pdl, part([row for row in ROWS if len(row) == 4], 2, name=lambda row: row[0] + row[2]))


def test_evasions_in_a_sandbox(pdl, part):
    rows = part([row for row in ROWS if len(row) > 4], 2, name=lambda row: row[0])
    if subprocess.run([pdl, "sandbox", "--", "true"], capture_output=True, check=False).returncode:
        skip("evasions", "this machine has no sandbox of the strength full", len(rows))
    else:
        made(pdl, rows)
