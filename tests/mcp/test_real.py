# SPDX-License-Identifier: Apache-2.0
"""Servers made with the `mcp` package of the Python registry. Skipped when the registry cannot be reached."""
import json
import socket
import subprocess
import time

import pytest

from .. import venv_of
from ..checks import check
from .kit import run

pytestmark = [pytest.mark.tier("all"), pytest.mark.builds]

REAL = '''
try:
    from mcp.server.fastmcp import FastMCP as Server
except ImportError:
    from mcp.server.mcpserver import MCPServer as Server
from sys import argv
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

if len(argv) > 1:
    import uvicorn
    uvicorn.run(s.streamable_http_app(), host="127.0.0.1", port=int(argv[1]), log_level="error")
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
from sys import argv
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

uvicorn.run(s.streamable_http_app(event_store=Store(), retry_interval=100, session_idle_timeout=float(argv[2])),
            host="127.0.0.1", port=int(argv[1]), log_level="error")
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


@pytest.fixture
def python(build):
    """An interpreter that has the package."""
    found, why = venv_of.python(build, "mcp")
    if not found:
        pytest.skip(why)
    return found


def test_stdio(python, folder):
    (folder / "real.py").write_text(REAL, "utf-8")
    config = json.dumps({"mcpServers": {"real": {"command": python, "args": [str(folder / "real.py")]}}})
    code, out, err, _ = run(folder, REAL_PROGRAM, config)
    check("real server, stdio", (code, out) == (0, REAL_OUTPUT), out, err[-600:])


# title, script, its arguments, program, output
SERVED = [("real server, http", REAL, (), REAL_PROGRAM, REAL_OUTPUT),
          ("real server, http, streams", REAL_HTTP, ("60",), REAL_HTTP_PROGRAM, "whole ok waited False True\n"),
          ("real server, http, sessions end", REAL_HTTP, ("1",), IDLE_PROGRAM, "waited waited\n")]


@pytest.mark.parametrize("title, script, arguments, program, want", SERVED, ids=[x[0] for x in SERVED])
def test_http(python, folder, title, script, arguments, program, want):
    with Real(python, folder, script, *arguments) as real:
        code, out, err = real.run(program)
    check(title, (code, out) == (0, want), out, err[-600:])
