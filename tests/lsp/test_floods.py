# SPDX-License-Identifier: Apache-2.0
"""Clients that flood the language server and the debugger with each message that they may send, and read nothing. The memory that the server keeps
for this is bounded."""
import json
import os
import subprocess
import time

import pytest

from ..checks import check
from ..harness.choice import Choice

TEXT = "text:\n- a\n- ${ x }\n"
URI = "file:///d%d.pdl"


def framed(message):
    data = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


def note(method, params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def opened(i, text=TEXT):
    return note("textDocument/didOpen", {"textDocument": {"uri": URI % i, "languageId": "pdl", "version": 1, "text": text}})


def changed(i):
    return note("textDocument/didChange", {"textDocument": {"uri": URI % 0, "version": i}, "contentChanges": [{"text": TEXT + "# %d\n" % i}]})


def asked(method):
    def one(i):
        return {"id": i, **note(method, {"textDocument": {"uri": URI % 0}, "position": {"line": 2, "character": 5}, "query": "x"})}
    return one


def folders(i):
    return note("workspace/didChangeWorkspaceFolders", {"event": {"added": [{"uri": "file:///no/f%d" % i, "name": "x"}], "removed": []}})


def watched(i, n=None):
    return note("workspace/didChangeWatchedFiles", {"changes": [{"uri": "file:///no/g%d.pdl" % (i if n is None else n), "type": 1}]})


def command(name, **arguments):
    return lambda i: {"seq": i, "type": "request", "command": name, "arguments": arguments}


POINTS = [{"line": 2}] * 20
LSP = {"start": [{"id": 0, **note("initialize", {"capabilities": {}})}, note("initialized", {}), opened(0)], "rows": {
    "unknown requests": asked("a/b"), "hover": asked("textDocument/hover"), "symbols": asked("textDocument/documentSymbol"), "search": asked("workspace/symbol"),
    "unknown notes": lambda i: note("$/a", {}), "cancellations": lambda i: note("$/cancelRequest", {"id": i + 9}), "answers": lambda i: {"jsonrpc": "2.0", "id": i, "result": {}},
    "documents": opened, "large documents": lambda i: opened(i, "#" * 4000000), "changes": changed, "folders": folders, "files": watched, "one file": lambda i: watched(i, 1),
    "long ids": lambda i: {"id": "x" * 100000, **note("a", {})}, "no objects": lambda i: [i] * 1000}}
DAP = {"start": [{"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}}], "rows": {
    "unknown requests": command("a"), "threads": command("threads"), "events": lambda i: {"seq": i, "type": "event", "event": "a"},
    "answers": lambda i: {"seq": i, "type": "response", "request_seq": 1, "success": True, "command": "a"}, "no objects": lambda i: [i] * 1000,
    "breakpoints": lambda i: command("setBreakpoints", source={"path": "/no/b%d.pdl" % i}, breakpoints=POINTS)(i)}}
BYTES = {"an endless header": b"X-A: a\r\n" * 9999, "an endless line": b"a" * 99999, "an endless message": b"Content-Length: 99999999999\r\n\r\n" + b" " * 99999}
SECONDS, SENT = 0.3, 60 << 20
KEPT, KEPT_OF_LARGE = 80, 400  # MB
SANITIZED = 256  # MB that AddressSanitizer keeps of memory that was released, beside what the program keeps
LAST = b'"id":4711,'


def memory(p):
    with open("/proc/%d/status" % p.pid, encoding="ascii") as f:
        return max([int(line.split()[1]) // 1024 for line in f if line.startswith("VmHWM")] or [0])


def flood(which, folder, make, start, seconds=SECONDS):
    """-> memory at most in MB, what was written in MB, exit status or None while it runs, whether it answered the request LAST"""
    p = subprocess.Popen([str(Choice.build / "pdl"), which], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.set_blocking(p.stdin.fileno(), False)
    block = b"".join(make(i) for i in range(1, 1 + max(2, 300000 // len(make(1)))))
    data, sent, most, end = start + block, 0, 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end and p.poll() is None and sent < SENT:
            try:
                n = os.write(p.stdin.fileno(), data[:1 << 20])
                data, sent = data[n:] if n < len(data) else block, sent + n
            except BlockingIOError:
                time.sleep(0.001)
            most = max(most, memory(p))
    except (BrokenPipeError, FileNotFoundError):
        p.wait(5)
    status = p.poll()
    p.kill()
    return most, sent >> 20, status, LAST in p.communicate()[0]


def most_memory(name):
    return (KEPT_OF_LARGE if name == "large documents" else KEPT) + (SANITIZED if Choice.sanitized else 0)


def starts(kind):
    return b"".join(map(framed, kind["start"]))


@pytest.mark.parametrize("which", ["lsp", "dap"])
def test_each_message(folder, which, part):
    kind = {"lsp": LSP, "dap": DAP}[which]
    for name in part(kind["rows"], 6):
        make = kind["rows"][name]
        most, sent, status, _ = flood(which, folder, lambda i: framed(make(i)), starts(kind))
        check("%s: %s: it goes on and keeps little" % (which, name), status is None and most < most_memory(name), status, most, sent)
    for name in part(BYTES, 3):
        most, sent, status, _ = flood(which, folder, lambda i: BYTES[name], b"")
        check("%s: %s: it ends" % (which, name), status == 1 and most < 20 + (SANITIZED if Choice.sanitized else 0), status, most, sent)


def test_messages_do_not_wait_in_heaps(folder):
    """Messages that come faster than they are handled stay in the pipe, and a request before them is answered."""
    ask = framed({"id": 4711, **note("workspace/symbol", {"query": "x"})})
    most, sent, status, answered = flood("lsp", folder, lambda i: framed(LSP["rows"]["unknown notes"](i)), starts(LSP) + ask, 0.9)
    check("it is answered", status is None and answered, status, sent)
    check("little is kept", most < 20 or Choice.sanitized, most, sent)
