# SPDX-License-Identifier: Apache-2.0
"""Tool servers: a scripted server that misbehaves (server.py, http_server.py), and wrong configurations. Real servers are in test_real.py."""
import json
import pathlib
import time

import pytest

from ..checks import check
from . import http_server
from .kit import log_of, run, scripted, start

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
     "one\n[image image/png]\ntwo image/png", "", 5),
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
    ("a list of 4 MB", "large", {}, 'defs: {s: {import: "mcp:s"}}\ntext: ${ s.tools | length } ${ s.t39() }', "40 tool t39", "", 20),
    ("pages", "pages", {}, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.tools | map(attribute=\'function.name\') | join(\' \') }"', "t0 t1 t2 t3 t4", "", 5),
    ("endless pages", "endless", {}, ECHO, None, "its list of tools gives the same cursor twice", 10),
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
    ("an answer to another request", "stray", {"timeout": 0.5}, echo(), None, "it wrote 1 answer with an id that no open request has", 4),
    ("no message", "unread", {"timeout": 0.5}, echo(), None, "it wrote 1 text that cannot be read; PDL_DEBUG=mcp shows it", 4),
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
    ("not JSON, the variable", '{"mcpServers": ', ECHO, "PDL_MCP_CONFIG in the environment names the file"),
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


def problems_of(case, folder, server):
    """What is wrong with a run of the case against this server."""
    name, _, more, program, want, text, most = case
    config = json.dumps({"mcpServers": {"s": {**server, **more}}})
    code, out, err, seconds = run(folder, program, config)
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


def left_over(folder):
    """Does the server outlive the run?"""
    pid = int((folder / "log.pid").read_text())
    try:
        return "server.py" in pathlib.Path("/proc/%d/cmdline" % pid).read_text()
    except OSError:
        return False


@pytest.mark.parametrize("case", STDIO, ids=[c[0] for c in STDIO])
def test_stdio(case, folder):
    bad = problems_of(case, folder, scripted(case[1], folder / "log"))
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
    check(case[0], not bad, "; ".join(bad))


@pytest.mark.parametrize("case", HTTP, ids=[c[0] for c in HTTP])
def test_http(case, folder):
    bad = problems_of(case, folder, {"url": http_server.serve(case[1], folder / "log")})
    messages = log_of(folder)
    if case[0] == "http, events":
        last = [m for m in messages if "headers" in m][-1]["headers"]
        if (last.get("mcp-session-id"), last.get("mcp-protocol-version")) != ("s1", "2025-06-18"):
            bad.append("headers are %s" % last)
        if {"DELETE": "s1"} not in messages:
            bad.append("the session was not ended")
        if [m for m in messages if "GET" in m] != [{"GET": None, "session": "s1", "accept": "text/event-stream", "version": "2025-06-18"}]:
            bad.append("the stream of the session was asked for with %s" % [m for m in messages if "GET" in m])
    calls = sum(m.get("message", {}).get("method") == "tools/call" for m in messages)
    if case[1] == "http:resume-gone" and calls != 1:
        bad.append("the call was sent more than once")
    if case[1] == "http:forgets400" and calls != 2:
        bad.append("the call was not sent twice")
    if case[1] == "http:resume" and [m["GET"] for m in messages if "GET" in m and m["GET"]] != ["e1"]:
        bad.append("the answer was asked for again with %s" % [m for m in messages if "GET" in m])
    check(case[0], not bad, "; ".join(bad))


def test_configurations(folder):
    for name, config, program, text in CONFIG:
        code, _, err, _ = run(folder, program, config)
        check(name, code == 1 and text in err, "exit status %s: %s" % (code, err[-500:]))


def test_environment_and_secrets(folder):
    """The server sees what its configuration gives, and little else; a secret of it is in no file."""
    server = {**scripted("good"), "env": {"MINE": "yes", "API_TOKEN": "${TOKEN}"}}
    program = 'defs: {s: {import: "mcp:s"}}\nlastOf: ["${ s.env() }"]\nparser: json\n'
    code, out, err, _ = run(folder, program, json.dumps({"mcpServers": {"s": server}}), ["--trace", str(folder / "t.json"), "--record", str(folder / "j")])
    seen = json.loads(out) if code == 0 else {}
    check("environment", code == 0 and seen.get("MINE") == "yes" and "PATH" in seen and "SECRET_OF_OURS" not in seen and "TOKEN" not in seen, sorted(seen), err[-400:])
    found = [path.name for path in (folder / "t.json", *folder.glob("j*")) if b"t0psecret-token" in path.read_bytes()]
    check("secrets", not found, found)


def test_replay_needs_no_server(folder):
    first = run(folder, ECHO, json.dumps({"mcpServers": {"s": scripted("good")}}), ["--record", "j"])
    second = run(folder, ECHO, None, ["--replay", "j"])
    check("replay", first[:2] == second[:2] == (0, "hi hi\n"), first, second)


def test_interrupt_ends_server(folder):
    p = start(folder, 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.slow(30) }"\n', json.dumps({"mcpServers": {"s": scripted("good", folder / "log")}}))
    until = time.monotonic() + 60
    while time.monotonic() < until and not any(isinstance(m, dict) and m.get("method") == "tools/call" for m in log_of(folder)):
        time.sleep(0.01)
    p.send_signal(2)
    begin = time.monotonic()
    p.communicate(timeout=30)
    check("interrupt", p.returncode == 130 and time.monotonic() - begin < 10 and not left_over(folder), p.returncode, time.monotonic() - begin)


def test_two_servers_with_equal_names(folder):
    one = {**scripted("good"), "allow": ["echo"]}
    program = ('defs: {a: {import: "mcp:a"}, b: {import: "mcp:b"}}\ntext: "${ a.tools[0].function.name } ${ b.tools[0].function.name }'
               ' ${ b.call_tool(\'b_echo\', {\'text\': \'x\'}).text } ${ b.echo(\'y\') } ${ b.echo.signature.function.name }"\n')
    code, out, err, _ = run(folder, program, json.dumps({"mcpServers": {"a": one, "b": one}}))
    check("two servers", (code, out) == (0, "echo b_echo x y b_echo\n"), out, err[-300:])
