# SPDX-License-Identifier: Apache-2.0
"""test_terminal.py -- text of a model does not control a terminal, in whatever way it gets there, while a pipe gets the bytes unchanged.

Each program runs on a separate terminal, with standard output and standard error there, and once more with pipes.
"""
import json
import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import termios
import time

import pytest

from .. import http_of
from ..checks import check, skip
from .kit import groups

SECONDS = 60
ESCAPES = "a\x1b[31mred\x1b]0;title\x07\x9b2J\x7f\x00b\u2028\u202ec\ttab\r\nline\rback\n"
ARGUMENT = "a\x1b[31mre"  # x[:8]: no NUL, which words of a command cannot have
BAD = [b"\x1b", b"\x07", b"\xc2\x9b", b"\x7f", b"\x00", b"\rback"]


class Model(http_of.Quiet):
    def do_POST(self):
        asked = json.loads(self.body())
        if asked.get("stream"):
            pieces = [{"choices": [{"delta": {"role": "assistant", "content": c}}]} for c in (ESCAPES[:3], ESCAPES[3:9], ESCAPES[9:])]
            body = b"".join(b"data: %s\n\n" % json.dumps(p).encode() for p in pieces) + b"data: [DONE]\n\n"
        else:
            body = json.dumps({"choices": [{"message": {"role": "assistant", "content": ESCAPES}, "finish_reason": "stop"}]}).encode()
        self.reply(body, "text/event-stream" if asked.get("stream") else "application/json")


# SHOW: a call whose answer is printed, STREAM: as it comes, ASK: one that only defines x.
# name: program, what a pipe gets on standard output ("" where it is more than the text), further arguments
TABLE = {
    "as it comes": ("text:\n- SHOW\n", ESCAPES, []),
    "in pieces": ("text:\n- STREAM\n", ESCAPES, []),
    "as a context": ("text:\n- STREAM\n", ESCAPES, ["--stream", "context"]),
    "at the end": ("text:\n- STREAM\n", ESCAPES, ["--stream", "none"]),
    "contributed to standard output": ("text:\n- ASK\n- {text: \"${ x }\", contribute: [stdout]}\n", ESCAPES, []),
    "contributed to standard error": ("text:\n- ASK\n- {text: \"${ x }\", contribute: [stderr]}\n", "", []),
    "in a list": ("lastOf:\n- ASK\n- defs: {l: {data: [\"${ x }\"]}}\n  text: ${ l[0] }\n", ESCAPES, ["--stream", "none"]),
    "in the context": ("lastOf:\n- SHOW\n- text: \"${ pdl_context[-1].content }\"\n", ESCAPES, ["--stream", "none"]),
    "cut and joined": ("text:\n- ASK\n- ${ x.split('r') | join('r') }\n", ESCAPES, []),
    "a template": ("text:\n- ASK\n- lang: jinja\n  code: \"{% for c in x %}{{ c }}{% endfor %}\"\n", ESCAPES, []),
    "a macro": ("text:\n- ASK\n- lang: jinja\n  code: \"{% macro m(y) %}{{ y }}{% endmacro %}{{ m(x) }}\"\n", ESCAPES, []),
    "a function": ("defs:\n  f: {function: {a: string}, return: \"${ a }\"}\ntext:\n- ASK\n- \"${ f(a=x) }\"\n", ESCAPES, []),
    "a map": ("text:\n- ASK\n- for: {c: \"${ [x, x] }\"}\n  map: ${ c }\n", ESCAPES + ESCAPES, []),
    "a role": ("text:\n- ASK\n- defs: {m: {data: {role: \"${ x[:8] }\", content: b}}}\n  data: ${ [m] }\n  contribute: [context]\n", "", ["--stream", "context"]),
    "code": ("text:\n- ASK\n- {lang: python, code: \"result = x\"}\n", ESCAPES, []),
    "code that prints": ("text:\n- ASK\n- {lang: python, code: \"print(x, end='')\\nresult = ''\"}\n", ESCAPES, []),
    "code that kept it": ("text:\n- ASK\n- {lang: python, code: \"PDL_SESSION.kept = x\\nresult = ''\"}\n- {lang: python, code: \"result = PDL_SESSION.kept\"}\n", ESCAPES, []),
    "standard error of code": ("text:\n- ASK\n- {lang: python, code: \"import sys; print(x, file=sys.stderr)\\nresult = ''\"}\n", "", []),
    "a command": ("text:\n- ASK\n- {args: [printf, \"%s\", \"${ x[:8] }\"]}\n", ARGUMENT, []),
    "standard error of a command": ("text:\n- ASK\n- {args: [sh, -c, 'printf %s \"$1\" >&2', sh, \"${ x[:8] }\"]}\n", "", []),
    "a file": ("text:\n- ASK\n- defs: {f: {aggregator: {file: kept.txt, flush: true, suffix: ''}}}\n  text: {text: \"${ x[:8] }\", contribute: [f]}\n- {read: kept.txt}\n", ARGUMENT, []),
    "a function that code calls": ("defs:\n  f: {function: {}, return: {lastOf: [ASK, \"${ x }\"]}}\ntext:\n- {lang: python, code: \"result = f()\"}\n", ESCAPES, []),
    "a function that code calls and prints": ("defs:\n  f: {function: {}, return: {lastOf: [ASK, \"${ x }\"]}}\ntext:\n- {lang: python, code: \"print(f(), end='')\\nresult = ''\"}\n", ESCAPES, []),
    "a program that code runs": ("text:\n- lang: python\n  code: |\n    from pdl.pdl import exec_str\n    result = exec_str('SHOW\\n')\n", ESCAPES, []),
    "a variable that code changed": ("text:\n- ASK\n- {def: l, data: [], contribute: []}\n- {lang: python, code: \"l.append(x)\\nresult = ''\"}\n- ${ l[0] }\n", ESCAPES, []),
    "the error of code": ("text:\n- ASK\n- {lang: python, code: \"raise ValueError(x[:8])\", fallback: {text: \"${ pdl_error.message }\"}}\n", ARGUMENT, []),
    "a tool": ("defs:\n  t: {import: \"mcp:srv\"}\ntext:\n- ${ t.say() }\n", ESCAPES, []),
    "a command behind a tool": ("defs:\n  t: {import: \"mcp:srv\"}\ntext:\n- {def: x, text: \"${ t.say() }\", contribute: []}\n- {args: [printf, \"%s\", \"${ x[:8] }\"]}\n", ARGUMENT, []),
    "an error of code": ("text:\n- ASK\n- {lang: python, code: \"raise ValueError(x)\"}\n", "", []),
    "an error before another attempt": ("text:\n- ASK\n- {retry: 1, trace_error_on_retry: true, lang: python, code: 'raise ValueError(x)'}\n", "", []),
    "the name of a file": ("text:\n- ASK\n- {read: \"${ x[:8] }\"}\n", "", []),
    "a value of the wrong type": ("text:\n- ASK\n- {text: \"${ x }\", spec: integer}\n", "", ["--check=off"]),
    "a field of the program": ("text: hi\n\"a\\e[31mred\": 3\n", "", []),
    "a word of the command line": ("text: hi\n", "", ["--b\x1b[31mred"]),
    "the log of requests": ("text:\n- SHOW\n", ESCAPES, ["--wire", "-"]),
    "check": ("text: hi\n\"a\\e[31mred\": 3\n", "", ["check"]),
    "dump": ("text: \"a\\e[31mred\"\n", "", ["dump", "--code"]),
    "explain": ("text:\n- {model: \"openai/x\\e[31mred\", input: \"q\\e[31m\"}\n", "", ["explain"]),
}


# A tool server: one tool, which says ESCAPES.
TOOLS = """import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
         "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object", "properties": {}}}]},
         "tools/call": {"content": [{"type": "text", "text": %r}]}}.get(m["method"], {})
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
""" % ESCAPES


class Tests:
    def __init__(self, pdl, url):
        self.pdl = pdl
        call = "{model: openai/x, parameters: {api_base: \"%s\", api_key: k, stream: %%s}, input: hi, def: x%%s}" % url
        self.calls = {"SHOW": call % ("false", ""), "STREAM": call % ("true", ""), "ASK": call % ("false", ", contribute: []")}

    def start(self, folder, name, *more, **kw):
        program, _, args = TABLE[name]
        for word, call in self.calls.items():
            program = program.replace(word, call)
        (pathlib.Path(folder) / "main.pdl").write_text(program, encoding="utf-8")
        (pathlib.Path(folder) / "tools.py").write_text(TOOLS, encoding="utf-8")
        (pathlib.Path(folder) / "tools.json").write_text(json.dumps({"mcpServers": {"srv": {"command": sys.executable, "args": ["-I", "-S", "tools.py"]}}}))
        still = [] if args[:1] in (["check"], ["dump"], ["explain"]) else ["--progress", "none"]  # the line that shows how far a run is
        return subprocess.Popen([self.pdl, *args, *still, *more, "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL,
                                env={**os.environ, "NO_COLOR": "1", "PDL_MCP_CONFIG": "tools.json"}, **kw)

    def on_terminal(self, name):
        """Live and replayed, a terminal gets the same."""
        args = TABLE[name][2]
        no_recording = name in ("standard error of code", "a field of the program")  # of these there is none
        if (args and not args[0].startswith("--stream")) or no_recording:
            self.shown("live", name)
            return
        with tempfile.TemporaryDirectory() as folder:
            live = self.shown("live", name)
            out, err = self.start(folder, name, "--record", "j", stdout=subprocess.PIPE, stderr=subprocess.PIPE).communicate(timeout=SECONDS)
            again = self.shown("replayed", name, "--replay", os.path.join(folder, "j"))
        check("a replay shows the same: " + name, live == again, repr((live, again, out, err)))

    def shown(self, how, name, *more):
        ours, theirs = pty.openpty()
        mode = termios.tcgetattr(theirs)
        mode[1] &= ~termios.OPOST  # the bytes as they were written
        termios.tcsetattr(theirs, termios.TCSANOW, mode)
        got, end = b"", time.monotonic() + SECONDS
        with tempfile.TemporaryDirectory() as folder:
            p = self.start(folder, name, *more, stdout=theirs, stderr=theirs)
            os.close(theirs)
            while time.monotonic() < end and select.select([ours], [], [], SECONDS)[0]:
                try:
                    piece = os.read(ours, 65536)
                except OSError:
                    break
                if not piece:
                    break
                got += piece
            os.close(ours)
            p.wait(timeout=SECONDS)
        bad = [b for b in BAD if b in got]
        check("a terminal is not controlled: %s, %s" % (name, how), b"[31m" in got and not bad, repr((bad, got[:600])))
        return got

    def in_pipe(self, name):
        with tempfile.TemporaryDirectory() as folder:
            out, err = self.start(folder, name, stdout=subprocess.PIPE, stderr=subprocess.PIPE).communicate(timeout=SECONDS)
        want = TABLE[name][1].encode()
        check("a pipe gets the bytes: " + name, want in out, repr((out, err)))


def terminals():
    """Whether this system gives terminals to a test."""
    try:
        for fd in pty.openpty():
            os.close(fd)
        return True
    except OSError:
        return False


@pytest.mark.parametrize("names", groups(TABLE, 4, str))
def test_terminal(pdl, names):
    server, has_terminals = http_of.serve(Model), terminals()
    t = Tests(pdl, "http://127.0.0.1:%d/v1" % server.server_port)
    for name in names:
        if has_terminals:
            t.on_terminal(name)
        else:
            skip(name, "no terminal can be had here")
        if TABLE[name][1]:
            t.in_pipe(name)


def test_own_colours(pdl):
    """The program's own text is trusted: what it colours is coloured."""
    TABLE["own"] = ("text: \"\\e[31mred\\e[0m\"\n", "\x1b[31mred\x1b[0m", [])
    Tests(pdl, "").in_pipe("own")
