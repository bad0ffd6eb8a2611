# SPDX-License-Identifier: Apache-2.0
"""Tool servers that flood with each message that they may send: in answer to a call, to our own answers, and unasked. Limits of time and signals end
this, and it costs few descriptors and little memory."""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..harness.choice import Choice
from ..checks import check, same
from ..http_of import Plain, answer
from .kit import start

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": "s", "version": "1"}}
TOOLS = {"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}]}
GOOD = {"content": [{"type": "text", "text": "5"}]}
PING = '{"jsonrpc":"2.0","id":%d,"method":"ping"}'
ENDLESS, LATE = "it sends requests without end", "no answer in"
FLOODS = [  # a message, and what the run says
    (PING, ENDLESS), (PING.replace("%d", '"%d"'), ENDLESS), (PING.replace("ping", "sampling/createMessage"), ENDLESS), ("[" + ",".join([PING] * 200) + "]", ENDLESS),
    (PING.replace("%d", "null"), LATE), (PING.replace("%d", '"' + "x" * 1000 + '"'), LATE), (PING.replace("%d", "1e999"), LATE), (PING.replace("%d", "[%d]"), LATE),
    ('{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":%d}}', LATE), ('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}', LATE),
    ('{"jsonrpc":"2.0","id":999%d,"result":{}}', LATE), ('{"jsonrpc":"2.0","id":999%d,"error":{"code":1,"message":"x"}}', LATE), ("junk %d", LATE), ("", LATE),
]
PROGRAM = 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.add(a=2) }"\n'
PIPE = r"""
import json, os, sys, threading, time
hello, tools, good, flood, how = json.loads(sys.argv[1])
out = 2 if how == "log" else 1
def pour():
    text, end = flood.replace("%d", "7") + "\n", time.time() + (6 if how else 1)
    block = (text * (1 + 20000 // len(text)) * (50 if how else 1)).encode()
    while time.time() < end:
        os.write(out, block)
        time.sleep(0 if how else 0.002)
    os._exit(0)
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m or "method" not in m:
        continue
    r = {"initialize": hello, "tools/list": tools}.get(m["method"]) or (good if how else None)
    if r:
        os.write(1, (json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) + "\n").encode())
    if m["method"] == "tools/call":
        open("calls", "a").write("x")
        pour()
"""


def pipe(flood, folder, how=""):
    (folder / "server.py").write_text(PIPE, "utf-8")
    return {"command": sys.executable, "args": ["-I", "-S", str(folder / "server.py"), json.dumps([HELLO, TOOLS, GOOD, flood, how])]}


def http(flood, _, pushes=False):
    """pushes: the stream of the session floods, not the answer to the call."""
    def pour(send):
        send(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n")
        block = ("data: %s\n\n" % flood.replace("%d", "7")).encode()
        block *= 1 + 20000 // len(block)
        while True:
            send(block)
            time.sleep(0.002)

    def exchange(head, body, send):
        m = json.loads(body) if body else {}
        method = m.get("method")
        rows = {"initialize": HELLO, "tools/list": TOOLS}
        if method in rows:
            send(answer(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": rows[method]}).encode()))
        elif method and method.startswith("notifications/"):
            send(answer(b"", status=202))
        elif head.startswith("GET") and not pushes or head.startswith("DELETE"):
            send(answer(b"", status=405))
        elif pushes and method == "tools/call":
            time.sleep(5)
        else:
            pour(send)
        return True
    return {"url": "http://127.0.0.1:%d/mcp" % Plain(exchange).port}


def push(flood, folder):
    return http(flood, folder, pushes=True)


def processor_time(pid):
    """Seconds that a process has used."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def watched(p, seconds=60):
    """-> output, errors, descriptors at most, memory at most in MB, processor time; ends p after that time."""
    most = [0, 0, 0.0]

    def look():
        while p.poll() is None:
            try:
                most[0] = max(most[0], len(os.listdir("/proc/%d/fd" % p.pid)))
                with open("/proc/%d/status" % p.pid, encoding="ascii") as f:
                    most[1] = max([most[1]] + [int(line.split()[1]) // 1024 for line in f if line.startswith("VmHWM")])
                most[2] = max(most[2], processor_time(p.pid))
            except OSError:
                pass
            time.sleep(0.02)
    t = threading.Thread(target=look)
    t.start()
    try:
        out, err = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    t.join()
    return out.decode(), err.decode(), *most


def config(entry, timeout=0.3):
    return json.dumps({"mcpServers": {"s": {**entry, "timeout": timeout}}})


@pytest.mark.parametrize("way", [pipe, http, push], ids=lambda w: w.__name__)
def test_each_message(folder, way):
    """How soon it ends is told by processor time: other work of the machine makes the clock run on, and the servers of these tests are work, too."""
    def one(row):
        at = folder / str(FLOODS.index(row))
        at.mkdir()
        p = start(at, PROGRAM, config(way(row[0], at)))
        return (*row, p, *watched(p)[1:])
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(one, FLOODS))
    for message, words, p, err, descriptors, memory, seconds in rows:
        check("%s: %s" % (way.__name__, message[:60]), p.returncode == 1 and words in err, p.returncode, err)
        check("it ends soon and costs little", seconds < (8 if Choice.sanitized else 1) and descriptors < 40 and memory < (240 if Choice.sanitized else 80),
              seconds, descriptors, memory)


@pytest.mark.parametrize("way", [pipe, http], ids=lambda w: w.__name__)
def test_signals_and_budgets_come_first(folder, way):
    flood = FLOODS[8][0]
    begin = time.monotonic()
    p = start(folder, PROGRAM, config(way(flood, folder), 60))
    threading.Timer(0.5, p.send_signal, [signal.SIGINT]).start()
    watched(p)
    same(p.returncode, 130)
    p = start(folder, PROGRAM + "budget: {seconds: 0.3}\n", config(way(flood, folder), 60))
    err = watched(p)[1]
    check("the budget ends it", p.returncode == 1 and "seconds" in err, p.returncode, err)
    check("at once", time.monotonic() - begin < (8 if not Choice.sanitized else 40))


@pytest.mark.parametrize("how", ["", "log"], ids=["output", "log"])
def test_nothing_waits(folder, how):
    """A server that floods while nothing waits for it is ended; the next call starts it again."""
    wait = '- {lang: command, code: sleep 3, contribute: []}\n'
    p = start(folder, 'defs: {s: {import: "mcp:s"}}\ntext:\n- "${ s.add(a=2) }"\n' + wait + '- "${ s.add(a=2) }"\n', config(pipe(" " * 4000, folder, how or "idle"), 5))
    out, err, _, memory, _ = watched(p)
    same((p.returncode, out.strip(), (folder / "calls").read_text()), (0, "55", "xx"), err)
    check("it costs little", memory < 60, memory)


def test_lists_are_bounded(folder):
    def tools(n, size):
        return {"tools": [{"name": "t%d" % i, "description": "d" * size, "inputSchema": {"type": "object"}} for i in range(n)]}

    def served(pages):
        def exchange(head, body, send):
            m = json.loads(body) if body else {}
            rows = {"initialize": HELLO, "tools/call": GOOD}
            if m.get("method") == "tools/list":
                at = int(m.get("params", {}).get("cursor", 0))
                rows["tools/list"] = {**pages[at], **({"nextCursor": str(at + 1)} if at + 1 < len(pages) else {})}
            good = "id" in m and m["method"] in rows
            send(answer(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": rows[m["method"]]}).encode() if good else b"", status=200 if good else 202 if head.startswith("POST") else 405))
            return True
        return config({"url": "http://127.0.0.1:%d/mcp" % Plain(exchange).port}, 20)
    program = 'defs: {s: {import: "mcp:s"}}\ntext: "${ s.t1() }"\n'
    for name, pages, words in [("many", [tools(9000, 10)], None), ("long", [tools(2, 3000000)], None), ("too many", [tools(12000, 1)], "more than 10000 tools"),
                               ("too long", [tools(2, 5000000)], "longer than 8388608 bytes"), ("too long in pages", [tools(2, 1000000)] * 8, "longer than 8388608 bytes")]:
        p = start(folder, program, served(pages))
        out, err = p.communicate(timeout=30)
        check("a list that is %s" % name, words.encode() in err and p.returncode == 1 if words else out == b"5\n", out, err[-300:])


def test_unreadable_answers(folder):
    """An answer that is no JSON fails its call at once, and says why."""
    script = r"""
import json, sys
bad = json.loads(sys.argv[1])
rows = json.loads(sys.argv[2])
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        r = rows.get(m["method"])
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}) if r else bad.replace("$ID", str(m["id"])), flush=True)
"""
    deep = '{"jsonrpc": "2.0", "id": $ID, "result": ' + "[" * 1200 + "]" * 1200 + "}"
    for bad in ('{"jsonrpc": "2.0", "id": $ID, "result": {"a": }}', '{"jsonrpc": "2.0", "result": {"id": 4, "b" 1}, "id": $ID}', '{"jsonrpc": "2.0", "id": $ID, "res', deep,
                '{"jsonrpc": "2.0", "result": {"x": 01}}'):
        (folder / "server.py").write_text(script, "utf-8")
        entry = {"command": sys.executable, "args": ["-I", "-S", "server.py", json.dumps(bad), json.dumps({"initialize": HELLO, "tools/list": TOOLS})]}
        p = start(folder, PROGRAM, config(entry, 20))
        begin = time.monotonic()
        _, err = p.communicate(timeout=30)
        check("%s: told at once" % bad[:50], p.returncode == 1 and b"its answer cannot be read: " in err and time.monotonic() - begin < 10, err)


def test_children_of_a_server_end_with_it(folder):
    (folder / "server.py").write_text("""
import subprocess, sys
p = subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL)
open("pid", "w").write(str(p.pid))
exec(open("echo.py").read())
""", "utf-8")
    (folder / "echo.py").write_text("""
import json, sys
rows = json.loads(sys.argv[1])
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": rows[m["method"]]}), flush=True)
""", "utf-8")
    rows = {"initialize": HELLO, "tools/list": TOOLS, "tools/call": GOOD}
    p = start(folder, PROGRAM, config({"command": sys.executable, "args": ["-I", "-S", "server.py", json.dumps(rows)]}, 20))
    out, err = p.communicate(timeout=30)
    same((p.returncode, out), (0, b"5\n"), err)
    pid = int((folder / "pid").read_text())
    until = time.monotonic() + 2
    while os.path.exists("/proc/%d" % pid) and time.monotonic() < until:
        time.sleep(0.02)
    check("its child is gone", not os.path.exists("/proc/%d" % pid))
