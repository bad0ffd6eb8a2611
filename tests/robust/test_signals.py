# SPDX-License-Identifier: Apache-2.0
"""test_signals.py -- signals that follow each other: the first one begins the end of the run, and the next one ends it at once. In both cases no
child of the run is left."""
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from ..checks import check
from .kit import SECONDS, Runs, descendants

INT, TERM, HUP, QUIT = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT
SERVER = """import json, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(['sleep', '47'])
for line in sys.stdin:
    m = json.loads(line)
    if m.get('method') == 'initialize':
        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'protocolVersion': m['params']['protocolVersion'],
              'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}}}), flush=True)
    elif m.get('method') == 'tools/list':
        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': {'tools': [{'name': 'wait', 'inputSchema': {'type': 'object'}}]}}), flush=True)
while True:
    signal.pause()
"""
CONFIG = '{"mcpServers": {"s": {"command": "%s", "args": ["-I", "-S", "server.py"]}}}' % sys.executable
PYTHON = "lang: python\ncode: |\n  import subprocess\n  subprocess.Popen(['sleep', '47'])\n  subprocess.run(['sleep', '47'])\n  result = 1\n"
# program, processes that it starts
PROGRAMS = {
    "sixty commands": ("for: {i: \"${ range(60) }\"}\nmap: {lang: command, code: sleep 47}\n", 60),
    "commands with children": ("for: {i: \"${ range(5) }\"}\nmap: {lang: command, code: sh -c 'sleep 47 & sleep 47'}\n", 15),
    "Python": (PYTHON, 3),
    "a tool server": ("defs: {s: {import: \"mcp:s\"}}\ntext: ${ s.wait() }\n", 2),
    "Python that computes": ("lang: python\ncode: |\n  while True: pass\n", 1),
}
# signals, milliseconds between them, the exit statuses that may come of it
SEQUENCES = [
    ((INT, INT), 2, (130,)), ((INT, INT), 10, (130,)), ((INT, TERM), 0, (130, 143)), ((INT, TERM, HUP), 1, (130, 143)),
    ((HUP, HUP), 1, (143,)), ((INT, HUP), 1, (130, 143)), ((HUP, INT), 1, (143, 130)), ((QUIT,), 0, (-QUIT,)),
]


def wait_for_children(t, n):
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if t.count() > n:  # the run itself is one
            return True
        time.sleep(0.02)
    return False


def one(t, name, signals, gap_ms, want):
    program, n = PROGRAMS[name]
    title = "%s to %s, %d ms apart" % (" ".join(signal.Signals(s).name for s in signals), name, gap_ms)
    with tempfile.TemporaryDirectory() as d:
        (pathlib.Path(d) / "server.py").write_text(SERVER)
        (pathlib.Path(d) / "mcp.json").write_text(CONFIG)
        p = t.start(d, program, env={"PDL_MCP_CONFIG": "mcp.json"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if not wait_for_children(t, n):
            p.kill()
            check(title + ": starts", False, p.communicate()[1].decode())
            return
        time.sleep(0.02)
        for s in signals:
            p.send_signal(s)
            time.sleep(gap_ms / 1000)
        begin = time.monotonic()
        status, _, err = t.finished(p, title)
        took = time.monotonic() - begin
        check(title, status in want and took < 5, "exit status %s after %.1f s\n%s" % (status, took, err[:600]))
        t.clean(title, d)


@pytest.mark.parametrize("name", PROGRAMS)
def test_sequences(pdl, name):
    t = Runs(pdl)
    for signals, gap_ms, want in SEQUENCES:
        one(t, name, signals, gap_ms, want)


COMMANDS = {"eval main.pdl -i rows.jsonl --expect e": 6, "test main.pdl": 2, "infer main.pdl -n 2": 4, "batch main.pdl -i rows.jsonl": 6}
ENDS = [(INT, (130, -INT)), (TERM, (143, -TERM)), (HUP, (143,))]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_end_their_children(pdl, command):
    """Children have sessions of their own: what Ctrl-C does not reach is ended by the command, whether it watches for signals or not."""
    t = Runs(pdl)
    for sig, want in ENDS:
        with tempfile.TemporaryDirectory() as d:
            folder, title = pathlib.Path(d), "%s: %s" % (command, sig.name)
            (folder / "main.pdl").write_text("lang: command\ncode: sh -c 'sleep 47 & sleep 47'\n")
            (folder / "main.test.yaml").write_text("tests: [{name: a, expect: {output: x}}]\n")
            (folder / "rows.jsonl").write_text('{"e": "1"}\n{"e": "2"}\n{"e": "3"}\n')
            t.known = set(descendants())
            p = subprocess.Popen([pdl, *command.split()], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            check(title + ": starts", wait_for_children(t, COMMANDS[command]))
            time.sleep(0.1)
            p.send_signal(sig)
            status, _, err = t.finished(p, title)
            check(title, status in want, "exit status %s\n%s" % (status, err[:600]))
            t.clean(title, d)


def test_a_hangup_is_a_request_to_end(pdl, folder):
    for command in ("lsp", "dap", "repl"):
        p = subprocess.Popen([pdl, command], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        p.send_signal(HUP)
        check(command, p.wait(20) == 143, p.returncode)
        p.stdin.close()
