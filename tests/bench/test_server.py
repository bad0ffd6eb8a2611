# SPDX-License-Identifier: Apache-2.0
"""The server of the benchmarks answers every client, and drops a client that hangs."""
import importlib
import socket
import subprocess
import sys
import time

from ..checks import check
from ..harness.choice import ROOT

BODY = b'{"model": "m", "messages": []}'
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
CHUNKS = b"7\r\n" + BODY[:7] + b"\r\n%x\r\n" % len(BODY[7:]) + BODY[7:] + b"\r\n0\r\n\r\n"
# what a client sends, in pieces
REQUESTS = {
    "as libcurl": [HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY],
    "names in small letters": [HEAD + b"content-length: %d\r\n\r\n" % len(BODY), BODY],
    "no blank after the colon": [HEAD + b"CONTENT-LENGTH:%d\r\n\r\n" % len(BODY), BODY[:9], BODY[9:]],
    "in chunks": [HEAD + b"transfer-encoding: chunked\r\n\r\n", CHUNKS],
    "in chunks that are cut": [HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS[:12], CHUNKS[12:-3], CHUNKS[-3:]],
}


def early(s):
    """What comes within a moment."""
    s.settimeout(0.05)
    try:
        return s.recv(65536)
    except TimeoutError:
        return b""


def answers(port, pieces):
    """What comes for a request that is sent twice over one connection: (before its end, after it) of each."""
    got = []
    with socket.create_connection(("127.0.0.1", port), timeout=5) as s:
        for _ in range(2):
            for piece in pieces[:-1]:
                s.sendall(piece)
            before = early(s) if pieces[:-1] else b""
            s.sendall(pieces[-1])
            s.settimeout(5)
            text = s.recv(65536)
            got.append((before, text + early(s)))
    return got


def test_server(folder):
    subprocess.run(["cc", "-O1", "-D_GNU_SOURCE", "-Wall", "-o", str(folder / "http_server"), str(ROOT / "bench" / "http_server.c")], check=True)
    server = subprocess.Popen([str(folder / "http_server")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline())
    for name, pieces in REQUESTS.items():
        try:
            got = answers(port, pieces)
        except OSError as e:
            got = [(b"", repr(e).encode())]
        check(name + ": one answer for each of two requests, at its end", [(len(x), y.count(b"HTTP/1.1 200")) for x, y in got] == [(0, 1)] * 2, got)
    server.stdin.close()
    server.wait(5)


def load(name):
    """A module of bench/."""
    sys.path.insert(0, str(ROOT / "bench"))
    return importlib.import_module(name)


def test_peers_have_a_limit_of_time(folder):
    harness = load("harness")
    begun = time.monotonic()
    got = harness.ended(["sh", "-c", "sleep 60 & sleep 60"], 0.2)
    check("a process that hangs fails, with those that it started", got is None and time.monotonic() - begun < 10, got)
    check("one that ends says what it wrote", harness.ended(["echo", "a"]) == "a\n")
    check("one that fails is none", harness.ended(["false"]) is None)
    peers = load("peers").Peers(folder / "bench", without_reference=True)
    check("--no-reference prepares none", peers.reference() is None and not (folder / "bench").exists())


def test_limits_are_ratios(folder):
    harness, rows = load("harness"), load("program_rows")
    fast, slow = harness.Figure([(0.1, 2, 0.1)]), harness.Figure([(0.5, 2, 0.4)])
    for ours, yard, holds in ((0.2, fast, True), (0.2, slow, True), (0.5, fast, False), (0.5, slow, True)):
        got = {rows.LOOP: yard}
        check("%g s beside %g s" % (ours, yard.work), rows.within(harness.Figure([(9, 4, ours)]), got, {"lua": 1, rows.LOOP: 2}, 5, 1)[1] == holds)
    check("a peer that was measured is the yardstick", not rows.within(slow, {"lua": fast, rows.LOOP: slow}, {"lua": 2, rows.LOOP: 2}, 5, 1)[1])
    check("memory is no ratio", not rows.within(harness.Figure([(0.1, 6, 0.1)]), {rows.LOOP: fast}, {rows.LOOP: 2}, 5, 1)[1])
