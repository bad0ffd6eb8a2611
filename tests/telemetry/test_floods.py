# SPDX-License-Identifier: Apache-2.0
"""Collectors that flood, with each thing that may come in place of an answer, and with endless answers. The run is not slowed down, its end does not
wait, and it costs few descriptors and little memory."""
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..checks import check
from ..harness.choice import Choice
from ..http_of import Plain, answer
from ..mcp.test_floods import watched

JSON = b"Content-Type: application/json\r\n"
CHUNKED = JSON + b"Transfer-Encoding: chunked\r\n\r\n"
FLOODS = [(b"HTTP/1.1 %d X\r\n" % status + first, piece) for status in (200, 400, 503) for first, piece in [  # what comes first, what follows without end
    (JSON + b"\r\n", b" " * 100), (JSON + b'\r\n{"partialSuccess": {"errorMessage": "', b"x" * 100), (JSON + b"\r\n[", b"1," * 50), (CHUNKED, b"1;aaaa\r\n \r\n"),
    (CHUNKED + b"1;", b"a" * 100), (CHUNKED + b"0\r\n", b"X-A: b\r\n"), (JSON, b"X-A: " + b"b" * 100 + b"\r\n"), (b"A: ", b"a" * 100), (b"Retry-After: ", b"1" * 100),
    (b"Content-Length: 999999999999\r\n\r\n", b"x" * 1000), (b"Retry-After: 0\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 503 X\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")]
] + [(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (b"", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n"), (b"HTTP/1.1 200 ", b"a" * 100), (b"", b"\0\xff junk"), (b"", b"\r\n")]
PROGRAM = "text:\n- for: {i: \"${ range(50) }\"}\n  repeat: {lang: command, code: sleep 0.01}\n- {lang: command, code: sleep %s}\n- hi\n"


def start(folder, exchange, seconds="0.2"):
    service = Plain(exchange)
    (folder / "p.pdl").write_text(PROGRAM % seconds, "utf-8")
    return subprocess.Popen([str(Choice.build / "pdl"), "--otlp", "http://127.0.0.1:%d/v1/traces" % service.port, "p.pdl"], cwd=folder, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "OTEL_BSP_SCHEDULE_DELAY": "50"})


def pouring(head, piece):
    def exchange(_, body, send):
        send(head)
        block = piece * (1 + 20000 // len(piece))
        while True:
            send(block)
            time.sleep(0.002)
    return exchange


def test_each_flood(folder, part):
    """How soon it ends is told by processor time, of which the commands of the program have no part."""
    def one(row):
        at = folder / str(FLOODS.index(row))
        at.mkdir()
        p = start(at, pouring(*row))
        return (*row, p, *watched(p))
    with ThreadPoolExecutor(4) as pool:
        for head, piece, p, out, err, descriptors, memory, seconds in pool.map(one, part(FLOODS, 3)):
            check("%r %r" % (head[-40:], piece[:40]), p.returncode == 0 and out.strip().endswith("hi") and len(err) < 2000, p.returncode, out, err[-300:])
            check("it ends and costs little", descriptors < 50 and memory < (60 if not Choice.sanitized else 300) and seconds < (1 if not Choice.sanitized else 8),
                  descriptors, memory, seconds)


@pytest.mark.parametrize("head, piece", [FLOODS[0], FLOODS[6]], ids=["body", "headers"])
def test_signals_come_first(folder, head, piece):
    p = start(folder, pouring(head, piece), "60")
    threading.Timer(1.5, p.send_signal, [signal.SIGINT]).start()
    _, err, *costs = watched(p)
    check("the signal ends it", p.returncode == 130, p.returncode, err, costs)


def test_redirects_are_not_followed(folder):
    asked = []

    def exchange(head, _, send):
        asked.append(head.split()[1])
        send(answer(b"", status=307, headers=[("Location", "/v1/again%d" % len(asked))]))
        return True
    p = start(folder, exchange)
    out, err, *_ = watched(p)
    check("the run has its result", p.returncode == 0 and out.strip().endswith("hi"), p.returncode, err)
    check("it asks where it was told to", asked and set(asked) == {"/v1/traces"}, asked)
