# SPDX-License-Identifier: Apache-2.0
"""Model servers that flood with each thing that may come in place of an answer, or after a part of an answer. Limits of time end this, and it costs
little memory."""
import json
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..checks import check, same
from ..harness.choice import Choice
from ..http_of import Plain, answer
from ..mcp.test_floods import watched
from .wire import chunk, sse

STREAM = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n"
WHOLE = b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n"
CHUNKED = WHOLE + b"Transfer-Encoding: chunked\r\n\r\n"
PIECE = STREAM + sse(chunk(content="x"), done=False)
BIG = b"HTTP/1.1 %d X\r\nContent-Type: text/plain\r\n\r\n"
TIME, CUT = "Request timed out", "x" * 100


def events(**delta):
    return sse(chunk(**delta), done=False)


NOTHING = [b": ping\n\n", b"data:\n\n", b"\n", b"event: ping\ndata: {}\n\n", b"retry: 1\nid: 7\n\n", b'data: {"choices":[]}\n\n', events(content=""), events(role="assistant"),
           events(strange="x" * 100), sse({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, done=False),
           events(tool_calls=[]), events(tool_calls=None), events(refusal=""), events(reasoning_content="")]
OTHER = sse({"choices": [{"index": 7, "delta": {"content": "x"}}]}, done=False)  # of a choice that nobody asked for, beside the first one
FLOODS = [(head, n, TIME) for head in (STREAM, PIECE) for n in NOTHING] + [(PIECE, OTHER, TIME)] + [  # what comes first, what follows without end, what the run says
    (STREAM + b"data: ", b"x" * 1000, TIME), (STREAM, b"data: 1\n", TIME), (WHOLE + b"\r\n", b" " * 100, TIME), (WHOLE + b"\r\n[", b"1," * 50, TIME),
    (CHUNKED, b"1;aaaa\r\n \r\n", TIME), (CHUNKED + b"1;", b"a" * 100, TIME), (CHUNKED + b"0\r\n", b"X-A: b\r\n", "rror"), (WHOLE, b"X-A: " + b"b" * 100 + b"\r\n", "rror"),
    (WHOLE + b"A: ", b"a" * 100, "rror"), (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "rror"), (b"", b"HTTP/1.1 103 X\r\nLink: x\r\n\r\n", "rror"), (b"HTTP/1.1 200 ", b"a" * 100, "rror"),
] + [(BIG % status, b"x" * 100, CUT) for status in (400, 401, 404, 429, 500, 503)]


def start(folder, exchange, parameters="", more="", stream="result"):
    service = Plain(exchange)
    (folder / "main.pdl").write_text("text: [{model: openai/x, input: hi, parameters: {num_retries: 0%s}}]\n%s" % (parameters, more), "utf-8")
    address = "http://127.0.0.1:%d/v1" % service.port
    return subprocess.Popen([str(Choice.build / "pdl"), "--stream", stream, "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": address, "OPENAI_BASE_URL": address})


def pouring(head, piece):
    def exchange(_, body, send):
        send(head)
        block = piece * (1 + 4000 // len(piece))
        while True:
            send(block)
            time.sleep(0.002)
    return exchange


def test_each_flood(folder, part):

    def one(row):
        at = folder / str(FLOODS.index(row))
        at.mkdir()
        begin = time.monotonic()
        p = start(at, pouring(*row[:2]), ", timeout: 0.3")
        return (*row, p, *watched(p)[:4], time.monotonic() - begin)
    with ThreadPoolExecutor(4) as pool:
        for head, piece, words, p, _, err, descriptors, memory, seconds in pool.map(one, part(FLOODS, 3)):
            check("%r %r" % (head[-40:], piece[:60]), p.returncode == 1 and words in err and len(err) < 20000, p.returncode, err[-300:])
            check("it ends soon and costs little", seconds < 6 and descriptors < 40 and memory < 60, seconds, descriptors, memory)


@pytest.mark.parametrize("piece", [b": ping\n\n", events(reasoning_content="hm " * 30), events(content="x" * 90)], ids=["comments", "reasoning", "text"])
def test_signals_and_budgets_come_first(folder, piece):
    p = start(folder, pouring(STREAM, piece), ", timeout: 60")
    threading.Timer(0.4, p.send_signal, [signal.SIGINT]).start()
    watched(p)
    same(p.returncode, 130)
    for parameters, more, words in (("", "budget: {seconds: 0.3}\n", "seconds"), (", total_timeout: 0.3", "", TIME)):
        p = start(folder, pouring(STREAM, piece), parameters, more)
        begin = time.monotonic()
        _, err, *_ = watched(p)
        check("a limit ends it", p.returncode == 1 and words in err and time.monotonic() - begin < 4, p.returncode, err)


def test_redirects_are_not_followed(folder):
    asked = []

    def exchange(head, _, send):
        asked.append(head)
        send(answer(b"", status=307, headers=[("Location", "/v1/again%d" % len(asked))]))
        return True
    p = start(folder, exchange, ", timeout: 2")
    _, err, *_ = watched(p)
    check("an error", p.returncode == 1 and "307" in err and len(asked) == 1, p.returncode, err, asked)


def test_an_answer_that_goes_on_is_bounded(folder):
    """70 MB of an answer that never ends, at once."""
    def exchange(_, body, send):
        send(STREAM)
        block = events(reasoning_content="x" * 100000) * 10
        while True:
            send(block)
    p = start(folder, exchange)
    _, err, _, memory, _ = watched(p)
    check("an error", p.returncode == 1 and "longer than the limit" in err and memory < (250 if not Choice.sanitized else 900), p.returncode, err[-300:], memory)
