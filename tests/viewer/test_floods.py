# SPDX-License-Identifier: Apache-2.0
"""A browser that floods the page of a run in progress, with each request that a page may send and with forbidden ones, on more connections than it
gets, and without reading the answers. The run continues, signals and limits of time end it, and it costs few descriptors and little memory."""
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..checks import check, same
from ..harness.choice import Choice
from ..mcp.test_floods import watched
from .test_view import LiveView

BOXES = "- for: {i: \"${ range(3000) }\"}\n  repeat: \"some text with a number ${ i }\"\n  contribute: []\n"
PROGRAM = "text:\n" + BOXES + "- {lang: command, code: sleep %s}\n- the end\n"
CONNECTIONS = 150
HEAD = " HTTP/1.1\r\nHost: 127.0.0.1:%(port)d\r\nOrigin: http://127.0.0.1:%(port)d\r\nCookie: %(cookie)s\r\n"


def get(path):
    return "GET " + path + HEAD + "\r\n"


def post(path, body):
    return "POST " + path + HEAD + "Content-Length: %d\r\n\r\n%s" % (len(body), body)


FLOODS = {  # what comes first on a connection, and what follows without end
    "page": ("", get("/")), "script": ("", get("/page/main.js")), "no file": ("", get("/page/" + "x" * 1000)), "runs": ("", get("/api/runs")),
    "events": ("", get("/api/events")), "events again": ("", get("/api/events").replace("\r\n\r\n", "\r\nLast-Event-ID: 1.7\r\n\r\n")),
    "source": ("", get("/api/0/source")), "boxes": ("", get("/api/0/boxes/0/500")), "newest": ("", get("/api/0/newest")), "find": ("", post("/api/0/find", '{"text": "number"}')),
    "answer": ("", post("/api/0/answer/1", "x" * 60000)), "again": ("", post("/api/again", "{}")), "stop": ("", post("/api/again/stop", "{}")),
    "open": ("", get("/open/" + "0" * 32)), "nothing": ("", get("/api/9/nothing/7")), "no cookie": ("", get("/api/events").replace("Cookie", "X")),
    "another page": ("", post("/api/0/answer/1", "x").replace("Origin: http://127", "Origin: http://evil")),
    "head": ("GET /" + HEAD, "X-A: " + "b" * 100 + "\r\n"), "line": ("GET /", "x" * 1000), "chunks": ("POST /api/again" + HEAD + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
    "body": ("POST /api/again" + HEAD + "Content-Length: 999999999999\r\n\r\n", "x" * 1000), "empty lines": ("", "\r\n"), "junk": ("", "\0\1\2 junk"),
}


class Flood:
    """Sends without end on many connections that are opened again when the server closes them, and never reads."""

    def __init__(self, v, first, then):
        names = {"port": v.port, "cookie": v.cookie or "a=b"}
        self.port, self.first, self.then, self.over = v.port, (first % names).encode(), (then % names).encode(), False
        self.then *= 1 + 20000 // len(self.then)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        socks = []
        while not self.over:
            for c in socks[:]:
                try:
                    c.send(self.then)
                except BlockingIOError:
                    pass
                except OSError:
                    c.close()
                    socks.remove(c)
            for _ in range(min(10, CONNECTIONS - len(socks))):
                c = socket.socket()
                c.setblocking(False)
                try:
                    c.connect_ex(("127.0.0.1", self.port))
                    c.send(self.first)
                except OSError:
                    pass
                socks.append(c)
            time.sleep(0.005)
        for c in socks:
            c.close()

    def end(self):
        self.over = True
        self.thread.join()


def started(folder, seconds, more=""):
    (folder / "main.pdl").write_text(PROGRAM % seconds + more)
    v = LiveView(None, folder / "main.pdl")
    v.open()
    return v


def test_each_request(folder, part):
    """How soon the signal ends it is told by processor time: the clock also runs while the flood itself and other tests work."""
    def one(name):
        at = folder / name
        at.mkdir()
        v = started(at, 60)
        flood = Flood(v, *FLOODS[name])
        threading.Timer(1, v.p.send_signal, [signal.SIGINT]).start()
        v.p.stdout, v.p.stderr, v.p.text_mode = v.p.stdout.buffer, v.p.stderr.buffer, None
        _, err, *costs = watched(v.p)
        flood.end()
        return name, v.p.returncode, err, *costs
    with ThreadPoolExecutor(3) as pool:
        for name, code, err, descriptors, memory, seconds in pool.map(one, part(sorted(FLOODS), 3)):
            check("%s: the signal ends it" % name, code == 130, code, err[-300:])
            check("%s: it costs little" % name, descriptors < 110 and memory < (70 if not Choice.sanitized else 400) and seconds < (3 if not Choice.sanitized else 20),
                  descriptors, memory, seconds)


@pytest.mark.parametrize("name", ["boxes", "events", "find"])
def test_the_run_goes_on(folder, name):
    v = started(folder, 0.5)
    flood = Flood(v, *FLOODS[name])
    begin = time.monotonic()
    line = v.p.stdout.readline()
    check("it reaches its end", line == "the end\n" and time.monotonic() - begin < (20 if not Choice.sanitized else 60), line, time.monotonic() - begin)
    flood.end()
    same(v.end(), 0)
    v = started(folder, 60, "budget: {seconds: 1}\n")
    flood = Flood(v, *FLOODS[name])
    begin = time.monotonic()
    line = v.p.stderr.readline()
    check("its limit of time ends it", "second" in line and time.monotonic() - begin < (20 if not Choice.sanitized else 60), line, time.monotonic() - begin)
    flood.end()
    same(v.end(), 1)


def test_others_are_answered_afterwards(folder):
    """A page is answered as soon as the flood is over."""
    v = started(folder, 60)
    flood = Flood(v, *FLOODS["boxes"])
    time.sleep(1)
    flood.end()
    begin = time.monotonic()
    check("the page is answered", v.json("runs")["runs"][0]["live"] and time.monotonic() - begin < 20, time.monotonic() - begin)
    same(v.end(), 130)
