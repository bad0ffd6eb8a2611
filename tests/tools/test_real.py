# SPDX-License-Identifier: Apache-2.0
"""Real tool servers from the registries of JavaScript and Python: the results of tests/mcp, which uses a scripted server, hold with them, too. A
server whose packages cannot be installed is skipped, with a line that says so."""
import json
import os
import pathlib
import socket
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
from .. import node_of
from .. import venv_of
from ..checks import check, skip
import pytest
from ..harness.choice import Choice

BUILD = Choice.build
PDL = str(BUILD / "pdl")
SCOPE = "@modelcontextprotocol/server-"
NODE = {name: SCOPE + name + "@2026.8.31" for name in ("everything", "filesystem", "memory")}
PYTHON = {"mcp_server_time": "mcp-server-time", "mcp_server_git": "mcp-server-git", "mcp_server_sqlite": "mcp-server-sqlite"}
START_SECONDS = 30

# What the server `everything` does, over both transports: name, program, standard output.
EVERYTHING = [
    ("a function, a name that is none, a structured result", '''
defs: {s: {import: "mcp:s"}}
text:
- "${ s.echo('hi') }|${ s['get-sum'] is defined }|${ s.call_tool('get-sum', {'a': 1, 'b': 2}).text }|"
- "${ s.call_tool('get-structured-content', {'location': 'New York'}).structured.conditions }"
''', "Echo: hi|False|The sum of 1 and 2 is 3.|Cloudy\n"),
    ("content that is no text", '''
defs: {s: {import: "mcp:s"}}
text: "${ s.call_tool('get-tiny-image').content | map(attribute='type') | join(' ') }"
''', "text image text\n"),
    ("messages about progress before the answer", '''
defs: {s: {import: "mcp:s"}}
text: "${ s.call_tool('trigger-long-running-operation', {'duration': 0.2, 'steps': 3}).text }"
''', "Long running operation completed. Duration: 0.2 seconds, Steps: 3.\n"),
    ("arguments that it refuses", '''
defs: {s: {import: "mcp:s"}, r: "${ s.call_tool('get-sum', {'a': 'x', 'b': 2}) }"}
text: "${ r.is_error } ${ 'expected number' in r.text }"
''', "True True\n"),
    ("tools that need tasks are not offered", '''
defs: {s: {import: "mcp:s"}, r: "${ s.call_tool('simulate-research-query', {'topic': 'x'}) }"}
text: "${ s.tools | map(attribute='function.name') | select('eq', 'simulate-research-query') | length } ${ r.is_error }"
''', "0 True\n"),
    ("resources and prompts", '''
defs: {s: {import: "mcp:s"}}
text:
- "${ s.request('resources/list').resources | length > 0 } ${ s.request('prompts/get', {'name': 'simple-prompt'}).messages[0].role }"
- " ${ s.request('resources/templates/list').resourceTemplates | length }"
''', "True user 2\n"),
    ("calls of a map", '''
defs: {s: {import: "mcp:s"}}
for: {i: "${ range(20) | list }"}
map: ${ s.echo(i ~ '') }
join: {with: ","}
''', ",".join("Echo: %d" % i for i in range(20)) + "\n"),
]
# The others: name, server, further settings, program, standard output. DIR is the folder of the case.
FILES = [
    ("filesystem: write, read, list", "filesystem", {}, '''
defs: {s: {import: "mcp:s"}}
text:
- "${ s.write_file('DIR/o.txt', 'one\\ntwo').content }|${ s.read_text_file('DIR/o.txt', head=1).content }|"
- "${ 'o.txt' in s.list_directory('DIR').content }"
''', "Successfully wrote to DIR/o.txt|one|true\n"),
    ("filesystem: a path outside", "filesystem", {}, '''
defs: {s: {import: "mcp:s"}}
text: {call: "${ s.read_text_file }", args: {path: /etc/passwd}, fallback: "${ 'Access denied' in pdl_error.message }"}
''', "true\n"),
    # It reads its file, changes and writes it: calls that are in flight together lose each other's entities.
    ("memory: one call after the other", "memory", {"parallel": False}, '''
defs: {s: {import: "mcp:s"}}
text:
- for: {i: "${ range(20) | list }"}
  map: "${ s.create_entities([{'name': 'e' ~ i, 'entityType': 'n', 'observations': []}]) }"
  contribute: []
- "${ s.read_graph().entities | map(attribute='name') | join(' ') }"
''', " ".join("e%d" % i for i in range(20)) + "\n"),
    ("time", "mcp_server_time", {}, '''
defs: {s: {import: "mcp:s"}}
text: "${ 'T16:00:00+09:00' in s.convert_time(source_timezone='Asia/Kolkata', time='12:30', target_timezone='Asia/Tokyo') }"
''', "true\n"),
    ("git", "mcp_server_git", {}, '''
defs: {s: {import: "mcp:s"}}
text: "${ s.git_status(repo_path='DIR/tree') }"
''', "Repository status:\nOn branch trunk\n\nNo commits yet\n\nnothing to commit (create/copy files and use \"git add\" to track)\n"),
    ("sqlite: one call after the other", "mcp_server_sqlite", {"parallel": False}, '''
defs: {s: {import: "mcp:s"}}
text:
- "${ s.create_table('create table t(a int)') }\\n"
- for: {i: "${ range(10) | list }"}
  map: "${ s.write_query('insert into t values(' ~ i ~ ')') }"
  contribute: []
- "${ s.read_query('select group_concat(a) as s from t') }"
''', "Table created successfully\n[{'s': '0,1,2,3,4,5,6,7,8,9'}]\n"),
]
# The server is started again at the same port while the program waits for a line.
RESTART = '''
defs: {s: {import: "mcp:s"}}
text:
- ${ s.echo('before') }
- {read: null, message: "?\\n", contribute: []}
- "|${ s.echo('after') }"
'''


def report(name, problems):
    check(name, not problems, "; ".join(problems))


def skip_all(names, why):
    skip(", ".join(names), why, len(names))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(folder, program, server):
    """The command, with `mcp:s` for that server."""
    (folder / "main.pdl").write_text(program.replace("DIR", str(folder)), "utf-8")
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"s": server}}), "utf-8")
    return subprocess.Popen([PDL, "--stream", "none", "main.pdl"], cwd=folder, env={**os.environ, "PDL_MCP_CONFIG": str(folder / "servers.json")},
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def judge(name, folder, program, server, want):
    p = start(folder, program, server)
    out, err = (x.decode("utf-8", "replace") for x in p.communicate(timeout=90))
    want = want.replace("DIR", str(folder))
    report(name, [] if (p.returncode, out) == (0, want) else ["exit status %s, output %r, errors %s" % (p.returncode, out[:600], err[-600:])])


def javascript(modules, name, *arguments):
    return ["node", str(pathlib.Path(modules, SCOPE + name, "dist", "index.js")), *arguments]


class Everything:
    """The server over HTTP at a port, which can be ended and started again."""

    def __init__(self, modules):
        self.argv, self.port, self.process = javascript(modules, "everything", "streamableHttp"), free_port(), None
        self.server = {"url": "http://127.0.0.1:%d/mcp" % self.port}

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, env={**os.environ, "PORT": str(self.port)}, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_SECONDS
        while self.process.poll() is None and time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def restarted(modules):
    """A server that knows the session no more answers 400 with the code -32000: the handshake is done again."""
    with tempfile.TemporaryDirectory() as d:
        with Everything(modules) as old:
            p = start(pathlib.Path(d), RESTART, old.server)
            asked = p.stdout.readline()
        with old:
            out, err = p.communicate(b"\n", timeout=60)
        got = (asked + out).decode("utf-8", "replace")
        report("everything, http: started again", [] if (p.returncode, got) == (0, "?\nEcho: before|Echo: after\n") else [repr(got), err.decode()[-600:]])


def everything(modules):
    for name, program, want in EVERYTHING:
        with tempfile.TemporaryDirectory() as d:
            command, *args = javascript(modules, "everything", "stdio")
            judge("everything, stdio: " + name, pathlib.Path(d), program, {"command": command, "args": args}, want)
    with Everything(modules) as server:
        for name, program, want in EVERYTHING:
            with tempfile.TemporaryDirectory() as d:
                judge("everything, http: " + name, pathlib.Path(d), program, server.server, want)
    restarted(modules)


def command_of(name, folder, modules, python):
    """-> (command line, its variables)"""
    if name == "filesystem":
        return javascript(modules, name, str(folder)), {}
    if name == "memory":
        return javascript(modules, name), {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    if name == "mcp_server_sqlite":
        return [str(pathlib.Path(python).parent / "mcp-server-sqlite"), "--db-path", str(folder / "x.db")], {}
    return [python, "-m", name], {}


def files(modules, python):
    for name, server, more, program, want in FILES:
        if not (modules if server in NODE else python):
            continue
        with tempfile.TemporaryDirectory() as d:
            folder = pathlib.Path(os.path.realpath(d))
            subprocess.run(["git", "init", "-q", "-b", "trunk", str(folder / "tree")], check=True)
            argv, env = command_of(server, folder, modules, python)
            judge(name, folder, program, {"command": argv[0], "args": argv[1:], "env": env, **more}, want)


@pytest.mark.builds
@pytest.mark.seconds(900)
def test_everything():
    """The server with one of everything, over both transports."""
    modules, why = node_of.modules(BUILD, *NODE.values())
    if modules:
        everything(modules)
    else:
        skip_all(["everything, %s: %s" % (by, row[0]) for by in ("stdio", "http") for row in EVERYTHING] + ["everything, http: started again"], why)


@pytest.mark.builds
@pytest.mark.seconds(900)
def test_files():
    """Servers of files, memory, times, repositories and tables."""
    modules, no_node = node_of.modules(BUILD, *NODE.values())
    python, no_python = venv_of.python(BUILD, *PYTHON, name="test-venv-tools", wanted=["mcp<2", *PYTHON.values()])
    if not modules:
        skip_all([row[0] for row in FILES if row[1] in NODE], no_node)
    if not python:
        skip_all([row[0] for row in FILES if row[1] in PYTHON], no_python)
    files(modules, python)
