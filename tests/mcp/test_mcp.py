#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_mcp.py BUILD -- tool servers: a scripted one that does things wrong (server.py), and a real one made with the `mcp` package of
the Python registry (in BUILD/test-venv; skipped, with a line that says so, when the registry is out of reach)."""
import concurrent.futures
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import venv_of  # noqa: E402
from checks import check, finish, skip  # noqa: E402

BUILD = pathlib.Path(sys.argv[1]).resolve()
PDL = str(BUILD / "pdl")
SERVER = str(HERE / "server.py")

ECHO = 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.echo(\'hi\', 2) }"\n'


def echo(text="hi"):
    return 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.echo(\'%s\') }"\n' % text


# Three calls of a turn, the first of which takes the longest: each answers with what has ended until then.
TURN = """defs:
  s: {import: "mcp:s"}
  calls:
    data:
    - {id: "1", type: function, function: {name: mark, arguments: '{"text": "a", "seconds": 0.6}'}}
    - {id: "2", type: function, function: {name: mark, arguments: '{"text": "b", "seconds": 0.3}'}}
    - {id: "3", type: function, function: {name: mark, arguments: '{"text": "c"}'}}
data: "${ stdlib.call_tools(calls, [s]) | map('first') | map(attribute='content') | list }"
"""
TURN_OUTPUT = '["%s", "%s", "%s"]'
# Calls that wait behind one that is refused before it is sent.
REFUSED = """defs: {s: {import: "mcp:s"}}
text:
- for: {i: "${ range(300) | list }"}
  map: {call: "${ s.call_tool }", args: {name: env}, fallback: "-"}
- ${ s.mark('z') }
"""
# Four calls in flight together, none of which is answered.
BROKEN = """defs: {s: {import: "mcp:s"}}
for: {i: [1, 2, 3, 4]}
map: {call: "${ s.echo }", args: {text: a}, fallback: dead}
join: {with: " "}
"""


# name, mode, further settings of the server, program, standard output (None: the run fails), text of standard error, most seconds
STDIO = [
    ("call", "good", {}, ECHO, "hi hi", "", 5),
    ("call by name", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: {call: "${ s.echo }", args: {text: a, times: 3}}', "a a a", "", 5),
    ("call_tool", "good", {}, 'defs: {s: {import: "mcp:s"}}\ndata: {r: "${ s.call_tool(\'fail\', {\'why\': \'no\'}) }"}',
     '{"r": {"content": [{"type": "text", "text": "no"}], "structured": null, "text": "no", "is_error": true}}', "", 5),
    ("mixed content", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.mixed() } ${ s.call_tool(\'mixed\').content[1].mimeType }"',
     "one\ntwo image/png", "", 5),
    ("structured", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.many()[\'items\'][2] }"', "3", "", 5),
    ("failing tool", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.fail(\'no such file\') }"', None, "no such file", 5),
    ("failing tool caught", "good", {},
     'defs: {s: {import: "mcp:s"}}\ntext: {call: "${ s.fail }", args: {why: w}, fallback: "${ pdl_error.message }/${ pdl_error.kind }"}',
     "w/runtime", "", 5),
    ("arguments are checked", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext:\n- call: ${ s.echo }\n  args: {text: 1}\n', None,
     "main.pdl:4 - 1 should be of type <class 'str'>", 5),
    ("argument missing", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext:\n- call: ${ s.echo }\n', None, "Missing required field: text", 5),
    ("odd names of parameters", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext:\n- call: ${ s.odd }\n'
     '  args: {not: n, a-b: c, any: [1], ref: {z: 1}, union: 4}\n',
     '{"a-b": "c", "any": [1], "not": "n", "ref": {"z": 1}, "union": 4}', "", 5),
    ("union is checked", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext:\n- call: ${ s.odd }\n  args: {not: n, union: x}\n', None, "union", 5),
    ("request", "good", {}, 'defs: {s: {import: "mcp:s"}}\ndata: "${ s.request(\'echo/params\', {\'a\': 1}) }"', '{"a": 1}', "", 5),
    ("request refused", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.request(\'nothing/such\') }"', None,
     "MCP error -32601: Method not found", 5),
    ("handshake is ours", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.request(\'initialize\') }"', None,
     "a program may not send the request initialize", 5),
    ("names for models", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.tools[5].function.name } ${ s.call_tool(\'odd-name_tool\').text }'
     ' ${ s.tools[0].function.description }"', "odd-name_tool tool odd-name.tool Says ${ it } again", "", 5),
    ("a tool named as a member", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.call_tool(\'tools\').text }"', "tool tools", "", 5),
    ("signature", "good", {}, 'defs: {s: {import: "mcp:s"}}\ndata: "${ s.echo.signature.function.parameters.properties.times }"',
     '{"type": "integer", "default": 1}', "", 5),
    ("imported twice", "good", {}, 'defs: {s: {import: "mcp:s"}, t: {import: "mcp:s"}}\ntext: "${ t.echo(\'x\') }${ s.tools == t.tools }"', "xTrue", "", 5),
    ("list changed", "good", {}, 'defs: {s: {import: "mcp:s"}, x: "${ s.call_tool(\'change\').text }", t: {import: "mcp:s"}}\n'
     'text: "${ s.fresh is defined } ${ x } ${ t.fresh() }"', "False tool change tool fresh", "", 5),
    ("in parallel", "good", {}, 'defs: {s: {import: "mcp:s"}}\nfor: {i: "${ range(50) | list }"}\nmap: ${ s.echo(i ~ \'\') }\njoin: {as: array}\nspec: [string]',
     json.dumps([str(i) for i in range(50)]), "", 10),
    ("allowed", "good", {"allow": ["ec*", "none"]}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.tools | length } ${ s.echo(\'a\') }"', "2 a", "", 5),
    ("not allowed", "good", {"allow": ["ec*"]}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.call_tool(\'env\') }"', None,
     "tool server s: the configuration does not allow the tool env", 5),
    ("not allowed by request", "good", {"allow": ["ec*"]}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.request(\'tools/call\', {\'name\': \'env\'}) }"', None,
     "a program may not send the request tools/call", 5),
    ("a list of 40 MB", "large", {}, 'defs: {s: {import: "mcp:s"}}\ntext: ${ s.tools | length } ${ s.t39() }', "40 tool t39", "", 20),
    ("pages", "pages", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.tools | map(attribute=\'function.name\') | join(\' \') }"', "t0 t1 t2 t3 t4", "", 5),
    ("endless pages", "endless", {}, ECHO, None, "its list of tools has more than 1000 pages", 10),
    ("tools that need tasks", "good", {}, 'defs: {s: {import: "mcp:s"}}\n'
     'text: "${ s.needs_task is defined } ${ s.may_task is defined } ${ s.tools | map(attribute=\'function.name\') | select(\'in\', [\'needs_task\', \'may_task\']) | join }"',
     "False True may_task", "", 5),
    ("one by one, death", "death", {"parallel": False}, BROKEN, "dead dead dead dead", "", 5),
    ("one by one, silence", "silence", {"parallel": False, "timeout": 0.2}, BROKEN, "dead dead dead dead", "", 8),
    ("no tools", "notools", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.tools | length }"', "0", "", 5),
    ("list is none", "wronglist", {}, ECHO, None, "tool server s: its list of tools is not a list", 5),
    ("older version", "old", {}, ECHO, "hi hi", "", 5),
    ("unknown version", "version", {}, ECHO, None, "it speaks version '1999-01-01' of the protocol", 5),
    ("no version", "noversion", {}, ECHO, None, "it speaks version '' of the protocol", 5),
    ("junk before the answer", "junk", {}, echo(), "good", "", 5),
    ("silence", "silence", {"timeout": 0.5}, echo(), None, "tool server s: no answer in 0.", 4),
    ("silence caught", "silence", {"timeout": 0.3}, 'defs: {s: {import: "mcp:s"}}\ntext: {call: "${ s.echo }", args: {text: a}, fallback: "${ pdl_error.kind }"}',
     "timeout", "", 4),
    ("silence from the start", "mute", {"startTimeout": 0.5}, echo(), None, "tool server s: no answer in 0.", 5),
    ("its output closed", "deaf", {"timeout": 50}, echo(), None, "tool server s: it closed its output and does not end", 20),
    ("death", "death", {}, echo(), None, "tool server s: it ended with exit status 3: cannot go on: out of luck", 5),
    ("death by signal", "killed", {}, echo(), None, "tool server s: it was ended by signal 9", 5),
    ("death at the start", "exits", {}, echo(), None, "tool server s: it ended with exit status 1: not today", 5),
    ("begins anew after its death", "death", {},
     'defs: {s: {import: "mcp:s"}}\ntext: [{call: "${ s.echo }", args: {text: a}, fallback: "dead "}, "${ s.request(\'echo/params\', {\'a\': 1}) }"]',
     'dead {"a": 1}', "", 5),
    ("huge answer", "huge", {}, echo(), None, "tool server s: ", 20),
    ("wrong ids", "wrongid", {}, echo(), "good", "", 5),
    ("an id as a decimal number", "decimalid", {}, echo(), "good", "", 5),
    ("neither result nor error", "nothing", {}, echo(), None, "tool server s: its answer has neither a result nor an error", 5),
    ("two answers", "twice", {}, echo(), "good", "", 5),
    ("batch", "batch", {}, echo(), "good", "", 5),
    ("byte by byte", "bytes", {}, echo(), "good", "", 5),
    ("requests of the server", "asks", {}, echo(), "good", "", 5),
    ("loud log", "loud", {}, echo(), "good", "", 10),
    ("error of the protocol", "rpcerror", {}, echo(), None, "MCP error -32099: no luck", 5),
    ("result is none", "noresult", {}, echo(), None, "tool server s: the result of the tool has no content", 5),
    ("slow", "good", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.slow(0.3) }"', "done", "", 5),
    ("does not end", "stubborn", {}, ECHO, "hi hi", "", 8),
]
HTTP = [
    ("http, JSON", "http:json", {}, ECHO, "hi hi", "", 5),
    ("http, events", "http:sse", {}, ECHO, "hi hi", "", 5),
    ("http, a stream left open", "http:open", {}, ECHO, "hi hi", "", 5),
    ("http, sessions cannot be ended", "http:nodelete", {}, ECHO, "hi hi", "", 5),
    ("http, in parallel", "http:sse", {}, 'defs: {s: {import: "mcp:s"}}\nfor: {i: "${ range(20) | list }"}\nmap: ${ s.echo(i ~ \'\') }\njoin: {as: array}\nspec: [string]',
     json.dumps([str(i) for i in range(20)]), "", 10),
    ("http, session gone", "http:lost", {}, echo("lose"), "lose", "", 5),
    ("http, session gone again", "http:forgets", {}, echo(), None, "tool server s: the server forgets its sessions", 5),
    ("http, session unknown (400)", "http:lost400", {}, echo("lose"), "lose", "", 5),
    ("http, session unknown (400) before the list", "http:lostlist400", {}, ECHO, "hi hi", "", 5),
    ("http, session unknown (400) again", "http:forgets400", {}, echo(), None,
     "tool server s: HTTP status 400: MCP error -32000: Bad Request: No valid session ID provided", 5),
    ("http, a turn in parallel", "http:sse", {}, TURN, TURN_OUTPUT % ("c b a", "c b", "c"), "", 5),
    ("http, a turn one by one", "http:sse", {"parallel": False}, TURN, TURN_OUTPUT % ("a", "a b", "a b c"), "", 5),
    ("http, one by one with many that are refused", "http:sse", {"parallel": False, "allow": ["mark"]}, REFUSED, "-" * 300 + "z", "", 8),
    ("http, stream cut", "http:cut", {}, echo(), None, "tool server s: the reply holds no answer", 5),
    ("http, session gone before the list", "http:lostlist", {}, ECHO, "hi hi", "", 5),
    ("http, session gone before every list", "http:forgetslist", {}, ECHO, None, "tool server s: the server forgets its sessions", 5),
    ("http, session gone while nothing is asked", "http:expires", {},
     'defs: {s: {import: "mcp:s"}}\ntext: "${ s.slow(0.2) } ${ s.slow(0.2) } ${ s.echo(\'hi\') }"', "done done hi", "", 8),
    ("http, list changed", "http:push", {}, 'defs: {s: {import: "mcp:s"}, x: "${ s.call_tool(\'change\').text }", y: "${ s.slow(0.5) }", t: {import: "mcp:s"}}\n'
     'text: "${ s.fresh is defined } ${ x } ${ y } ${ t.fresh() }"', "False tool change done tool fresh", "", 8),
    ("http, an answer in two streams", "http:resume", {}, ECHO, "hi hi", "", 5),
    ("http, an answer in three streams", "http:resume-slow", {}, ECHO, "hi hi", "", 5),
    ("http, the other stream is refused", "http:resume-never", {}, ECHO, None, "tool server s: HTTP status 405", 5),
    ("http, the session ends between two streams", "http:resume-gone", {}, ECHO, None, "tool server s: HTTP status 404", 5),
    ("http, silence", "http:silence", {"timeout": 0.5}, echo(), None, "tool server s: no answer in 0.", 5),
    ("http, empty", "http:empty", {}, echo(), None, "tool server s: the reply holds no answer", 5),
    ("http, error", "http:error", {}, echo(), None, "tool server s: HTTP status 400: MCP error -32602: bad arguments", 5),
    ("http, HTML", "http:html", {}, echo(), None, "tool server s: HTTP status 502\n", 5),
    ("http, redirect", "http:redirect", {}, echo(), None, "tool server s: HTTP status 307 (redirects are not followed)", 5),
    ("http, no token", "http:auth", {}, echo(), None,
     'a token is missing: give the server\'s entry "headers": {"Authorization": "Bearer ${NAME}"}, and set NAME', 5),
    ("http, refused", "http:auth", {"headers": {"authorization": "Bearer x"}}, echo(), None, "tool server s: HTTP status 401: who are you?", 5),
    ("http, OAuth", "http:oauth", {"headers": {"Authorization": "Bearer x"}}, echo(), None,
     "the header Authorization of the configuration is refused; the server says: it has expired; it offers OAuth", 5),
    ("http, authorized", "http:auth", {"headers": {"Authorization": "Bearer ${TOKEN}"}}, ECHO, "hi hi", "", 5),
]
# name, text of the configuration (None: no file), program, text of standard error
CONFIG = [
    ("no configuration", None, ECHO, "tool server s: PDL_MCP_CONFIG names no configuration file"),
    ("unknown server", '{"mcpServers": {"t": {"command": "true"}}}', ECHO, "there is no server of this name"),
    ("not JSON", '{"mcpServers": ', ECHO, "servers.json:1:16: Expecting value"),
    ("no servers", '[]', ECHO, "it has no object mcpServers"),
    ("no command", '{"mcpServers": {"s": {}}}', ECHO, "the entry needs either a command or a url"),
    ("both", '{"mcpServers": {"s": {"command": "x", "url": "http://x"}}}', ECHO, "the entry needs either a command or a url"),
    ("no such command", '{"mcpServers": {"s": {"command": "/no/such/program"}}}', ECHO, "tool server s: cannot start /no/such/program: "),
    ("command is a number", '{"mcpServers": {"s": {"command": 3}}}', ECHO, "command should be a text, not of type int"),
    ("time limit", '{"mcpServers": {"s": {"command": "cat", "timeout": -1}}}', ECHO, "timeout should be a number of seconds"),
    ("variable not set", '{"mcpServers": {"s": {"command": "cat", "env": {"A": "${NOT_SET_HERE}"}}}}', ECHO,
     "env needs the variable NOT_SET_HERE, which is not set"),
    ("url", '{"mcpServers": {"s": {"url": "file:///etc/passwd"}}}', ECHO, "url should begin with http:// or https://"),
    ("a server twice", '{"mcpServers": {\n  "s": {"command": "cat"},\n  "s": {"command": "true"}}}', ECHO,
     'servers.json:3:3: "s" is written twice, first at 2:3'),
    ("another server twice, written in two ways", '{"mcpServers": {"s": {"command": "cat"}, "\\u0074": {"command": "a"}, "t": {"command": "b"}}}', ECHO,
     '"t" is written twice, first at 1:42'),
    ("a field twice", '{"mcpServers": {"s": {"command": "cat", "env": {"A": "1", "A": "2"}}}}', ECHO, '"A" is written twice'),
    ("mcpServers twice", '{"other": 1, "other": 2, "mcpServers": {"s": {"command": "cat"}}, "mcpServers": {}}', ECHO, '"mcpServers" is written twice'),
    ("parallel", '{"mcpServers": {"s": {"command": "cat", "parallel": "no"}}}', ECHO, "parallel should be true or false"),
    ("old transport", '{"mcpServers": {"s": {"type": "sse", "url": "http://x"}}}', ECHO, "the transport sse is not supported"),
    ("header with two lines", '{"mcpServers": {"s": {"url": "http://127.0.0.1:9/", "headers": {"A": "b\\r\\nC: d"}}}}', ECHO, "a value in headers has two lines"),
    ("nobody listens", '{"mcpServers": {"s": {"url": "http://127.0.0.1:9/mcp"}}}', ECHO, "tool server s: "),
]


def report(name, problems):
    check(name, not problems, "; ".join(problems))


def run(folder, program, config, flags=(), env=None, timeout=60):
    (folder / "main.pdl").write_text(program, encoding="utf-8")
    full = {**os.environ, "TOKEN": "t0psecret-token", "SECRET_OF_OURS": "do-not-pass-on", **(env or {})}
    full.pop("PDL_MCP_CONFIG", None)
    if config is not None:
        (folder / "servers.json").write_text(config, encoding="utf-8")
        full["PDL_MCP_CONFIG"] = str(folder / "servers.json")
    start = time.monotonic()
    p = subprocess.run([PDL, "--stream", "none", *flags, "main.pdl"], cwd=folder, env=full, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=timeout)
    return p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"), time.monotonic() - start


def left_over(folder):
    """Processes of servers that outlived the run."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError: # gone meanwhile
            continue
        if str(folder) in words and "server.py" in words:
            found.append(words)
    return found


class Http:
    """server.py over HTTP, with a line of input that ends it."""

    def __init__(self, mode, log):
        self.p = subprocess.Popen([sys.executable, SERVER, mode, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = "http://127.0.0.1:%s/mcp" % self.p.stdout.readline().strip()

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait()


def judge(case, folder, server, flags=()):
    name, _, more, program, want, text, most = case
    config = json.dumps({"mcpServers": {"s": {**server, **more}}})
    code, out, err, seconds = run(folder, program, config, flags)
    bad = []
    if want is None and code != 1:
        bad.append("exit status %s, output %s" % (code, out[:200]))
    if want is not None and (code or out != want + "\n"):
        bad.append("exit status %s, output %r, errors %s" % (code, out[:300], err[-600:]))
    if text not in err:
        bad.append("standard error lacks %r: %s" % (text, err[-600:]))
    if seconds > most * 4:
        bad.append("took %.1f s" % seconds)
    if "t0psecret" in out + err:
        bad.append("a secret was shown")
    return bad


def log_of(folder):
    path = folder / "log"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def stdio_case(case):
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        server = {"command": sys.executable, "args": [SERVER, case[1], str(folder / "log")]}
        bad = judge(case, folder, server)
        if left_over(folder):
            bad.append("the server still runs")
        messages = log_of(folder)
        if case[0] == "call" and messages[-1:] != ["end of input"]:
            bad.append("its input was not closed")
        if case[0] == "silence" and not any(m.get("method") == "notifications/cancelled" for m in messages if isinstance(m, dict)):
            bad.append("the call was not cancelled")
        if case[0] == "requests of the server" and not (
                {"jsonrpc": "2.0", "id": "q1", "result": {}} in messages and
                any(isinstance(m, dict) and m.get("id") == 9 and m["error"]["code"] == -32601 for m in messages)):
            bad.append("its requests were answered with %s" % messages[-3:])
        if case[0] == "imported twice" and sum(m.get("method") == "tools/list" for m in messages if isinstance(m, dict)) != 1:
            bad.append("the list was asked for more than once")
        report(case[0], bad)


def http_case(case):
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        server = Http(case[1], folder / "log")
        try:
            bad = judge(case, folder, {"url": server.url})
        finally:
            server.close()
        messages = log_of(folder)
        if case[0] == "http, events":
            last = [m for m in messages if "headers" in m][-1]["headers"]
            if (last.get("mcp-session-id"), last.get("mcp-protocol-version")) != ("s1", "2025-06-18"):
                bad.append("headers are %s" % last)
            if {"DELETE": "s1"} not in messages:
                bad.append("the session was not ended")
            if [m for m in messages if "GET" in m] != [{"GET": None, "session": "s1", "accept": "text/event-stream", "version": "2025-06-18"}]:
                bad.append("the stream of the session was asked for with %s" % [m for m in messages if "GET" in m])
        if case[1] == "http:resume-gone" and sum(m.get("message", {}).get("method") == "tools/call" for m in messages) != 1:
            bad.append("the call was sent more than once")
        if case[1] == "http:forgets400" and sum(m.get("message", {}).get("method") == "tools/call" for m in messages) != 2:
            bad.append("the call was not sent twice")
        if case[1] == "http:resume" and [m["GET"] for m in messages if "GET" in m and m["GET"]] != ["e1"]:
            bad.append("the answer was asked for again with %s" % [m for m in messages if "GET" in m])
        report(case[0], bad)


def config_case(case):
    name, config, program, text = case
    with tempfile.TemporaryDirectory() as d:
        code, _, err, _ = run(pathlib.Path(d), program, config)
        report(name, [] if code == 1 and text in err else ["exit status %s: %s" % (code, err[-500:])])


def environment_is_limited():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        server = {"command": sys.executable, "args": [SERVER, "good"], "env": {"MINE": "yes", "API_TOKEN": "${TOKEN}"}}
        program = 'defs: {s: {import: "mcp:s"}}\nlastOf: ["${ s.env() }"]\nparser: json\n'
        config = json.dumps({"mcpServers": {"s": server}})
        trace, journal = folder / "t.json", folder / "j"
        code, out, err, _ = run(folder, program, config, ["--trace", str(trace), "--record", str(journal)])
        seen = json.loads(out) if code == 0 else {}
        bad = [] if code == 0 else [err[-400:]]
        if seen.get("MINE") != "yes" or "PATH" not in seen:
            bad.append("the server sees %s" % sorted(seen))
        if "SECRET_OF_OURS" in seen or "TOKEN" in seen:
            bad.append("the server sees variables that are none of its business")
        for path in (trace, *folder.glob("j*")):
            if b"t0psecret-token" in path.read_bytes():
                bad.append("%s holds a secret" % path.name)
        report("environment and secrets", bad)


def replay_needs_no_server():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        config = json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": [SERVER, "good"]}}})
        first = run(folder, ECHO, config, ["--record", "j"])
        second = run(folder, ECHO, None, ["--replay", "j"])
        report("replay", [] if first[:2] == second[:2] == (0, "hi hi\n") else [str(first), str(second)])


def interrupt_ends_server():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        (folder / "main.pdl").write_text('defs: {s: {import: "mcp:s"}}\ntext: "${ s.slow(30) }"\n', "utf-8")
        server = {"command": sys.executable, "args": [SERVER, "good", str(folder / "log")]}
        (folder / "servers.json").write_text(json.dumps({"mcpServers": {"s": server}}), "utf-8")
        p = subprocess.Popen([PDL, "main.pdl"], cwd=folder, env={**os.environ, "PDL_MCP_CONFIG": str(folder / "servers.json")},
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 20
        while time.monotonic() < until and not any(isinstance(m, dict) and m.get("method") == "tools/call" for m in log_of(folder)):
            time.sleep(0.05)
        p.send_signal(2)
        start = time.monotonic()
        code = p.wait(30)
        bad = [] if code == 130 else ["exit status %s" % code]
        if time.monotonic() - start > 10:
            bad.append("took %.1f s" % (time.monotonic() - start))
        if left_over(folder):
            bad.append("the server still runs")
        report("interrupt", bad)


def two_servers_with_equal_names():
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        one = {"command": sys.executable, "args": [SERVER, "good"], "allow": ["echo"]}
        program = ('defs: {a: {import: "mcp:a"}, b: {import: "mcp:b"}}\ntext: "${ a.tools[0].function.name } ${ b.tools[0].function.name }'
                   ' ${ b.call_tool(\'b_echo\', {\'text\': \'x\'}).text } ${ b.echo(\'y\') } ${ b.echo.signature.function.name }"\n')
        code, out, err, _ = run(folder, program, json.dumps({"mcpServers": {"a": one, "b": one}}))
        report("two servers", [] if (code, out) == (0, "echo b_echo x y b_echo\n") else [out, err[-300:]])


REAL = '''
try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:
    from mcp.server.mcpserver import MCPServer as Server
import sys
s = Server("real")

@s.tool()
def add(a: int, b: int = 10) -> int:
    "Adds"
    return a + b

@s.tool()
def boom(why: str) -> str:
    raise ValueError(why)

@s.resource("note://one")
def one() -> str:
    return "a note"

if len(sys.argv) > 1:
    import uvicorn
    uvicorn.run(s.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
else:
    s.run("stdio")
'''
REAL_PROGRAM = '''
defs: {s: {import: "mcp:real"}}
text:
- "${ s.tools | length } ${ s.add(2, 3).result } ${ s.add(a=1).result } ${ s.call_tool('add', {'a': 'x'}).is_error } "
- {call: "${ s.boom }", args: {why: no luck}, fallback: "caught "}
- "${ s.request('resources/read', {'uri': 'note://one'}).contents[0].text }"
'''
REAL_OUTPUT = "2 5 11 True caught a note\n"
# Over HTTP only: what a server says on its own, answers whose stream ends too early, and sessions that do not last.
REAL_HTTP = '''
import sys
import anyio
import uvicorn
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventMessage, EventStore

NotificationOptions.__init__.__defaults__ = (False, False, True)  # it says that its list of tools changes

class Store(EventStore):
    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        stream = self.events[int(last_event_id) - 1][0]
        for i in range(int(last_event_id), len(self.events)):
            if self.events[i][0] == stream and self.events[i][1]:
                await send_callback(EventMessage(self.events[i][1], str(i + 1)))
        return stream

s = MCPServer("real")

@s.tool()
async def grow(ctx: Context) -> str:
    s.add_tool(lambda: "grown", name="grown")
    await ctx.session.send_tool_list_changed()
    return "ok"

@s.tool()
async def cut(ctx: Context) -> str:
    await ctx.close_sse_stream()
    await anyio.sleep(0.3)
    return "whole"

@s.tool()
async def wait(seconds: float) -> str:
    await anyio.sleep(seconds)
    return "waited"

uvicorn.run(s.streamable_http_app(event_store=Store(), retry_interval=100, session_idle_timeout=float(sys.argv[2])),
            host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
'''
REAL_HTTP_PROGRAM = '''
defs:
  s: {import: "mcp:real"}
  cut: "${ s.cut().result }"
  grow: "${ s.grow().result }"
  wait: "${ s.wait(0.5).result }"
  t: {import: "mcp:real"}
text: "${ cut } ${ grow } ${ wait } ${ s.grown is defined } ${ t.grown is defined }"
'''
IDLE_PROGRAM = '''
defs: {s: {import: "mcp:real"}}
text:
- "${ s.wait(0).result } "
- {lang: command, code: sleep 2.5}
- "${ s.wait(0).result }"
'''


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Real:
    """A script that serves tools at a port, and its configuration."""

    def __init__(self, python, folder, text, *arguments):
        (folder / "real.py").write_text(text, "utf-8")
        port = free_port()
        self.folder, self.config = folder, json.dumps({"mcpServers": {"real": {"url": "http://127.0.0.1:%d/mcp" % port}}})
        self.process = subprocess.Popen([python, str(folder / "real.py"), str(port), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)

        until = time.monotonic() + 90
        while self.process.poll() is None and time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)

    def run(self, program):
        return run(self.folder, program, self.config)[:3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def real_servers():
    python, why = venv_of.python(BUILD, "mcp")
    if not python:
        skip("the real server", why, 4)
        return
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        (folder / "real.py").write_text(REAL, "utf-8")
        config = json.dumps({"mcpServers": {"real": {"command": python, "args": [str(folder / "real.py")]}}})
        code, out, err, _ = run(folder, REAL_PROGRAM, config)
        report("real server, stdio", [] if (code, out) == (0, REAL_OUTPUT) else [out, err[-600:]])
        with Real(python, folder, REAL) as real:
            code, out, err = real.run(REAL_PROGRAM)
        report("real server, http", [] if (code, out) == (0, REAL_OUTPUT) else [out, err[-600:]])
        with Real(python, folder, REAL_HTTP, "60") as real:
            code, out, err = real.run(REAL_HTTP_PROGRAM)
        report("real server, http, streams", [] if (code, out) == (0, "whole ok waited False True\n") else [out, err[-600:]])
        with Real(python, folder, REAL_HTTP, "1") as real:
            code, out, err = real.run(IDLE_PROGRAM)
        report("real server, http, sessions end", [] if (code, out) == (0, "waited waited\n") else [out, err[-600:]])


def main():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:      # most of the time is waiting
        work = [pool.submit(stdio_case, c) for c in STDIO] + [pool.submit(http_case, c) for c in HTTP]
        work += [pool.submit(config_case, c) for c in CONFIG]
        work += [pool.submit(f) for f in (environment_is_limited, replay_needs_no_server, interrupt_ends_server,
                                          two_servers_with_equal_names, real_servers)]
        for w in work:
            w.result()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
