# SPDX-License-Identifier: Apache-2.0
"""The cost of a page for the run that it shows: the processor time up to the last output, compared with the same run without a page."""
import http.client
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
BLOCKS = 30000
MANY = 100000
MILLION_BLOCKS = 500000  # rounds of two blocks each
TRIES = 7
MAX_TIMES = 2.5  # it is 1.8; with boxes made at once and views of the document during the run it was 3 to 4
ROWS = "- for: {i: \"${ range(%d)|list }\"}\n  repeat: {text: [\"block ${ i }\"]}\n  join: {with: ''}\n- END\n"
ASKS = "- {read: , message: 'go? '}\n"
NEWEST_SECONDS = 0.12  # as in live_document.js


def used_by(pid):
    """Seconds of processor time, of all threads."""
    return sum(int(t.read_text().split()[0]) for t in pathlib.Path("/proc/%d/task" % pid).glob("*/schedstat")) / 1e9


def connect(p):
    """Opens the printed address. Returns a connection and the headers of its next requests."""
    address = re.search(rb"http://127\.0\.0\.1:(\d+)(/open/\w+)", p.stderr.readline())
    c = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
    c.request("GET", address[2].decode())
    r = c.getresponse()
    r.read()
    return c, {"Cookie": r.headers["Set-Cookie"].split(";")[0]}


class Page(threading.Thread):
    """Follows a run as a page does: reads what comes, and asks for the newest of the document."""

    def __init__(self, p):
        super().__init__(daemon=True)
        self.connection, self.headers = connect(p)
        self.stream = http.client.HTTPConnection("127.0.0.1", self.connection.port)
        self.stream.request("GET", "/api/events", headers=self.headers)
        self.reply = self.stream.getresponse()
        self.asked = 0

    def run(self):
        last = 0
        try:
            while self.reply.read1(1 << 16):
                if time.monotonic() - last < NEWEST_SECONDS:
                    continue
                last = time.monotonic()
                self.connection.request("GET", "/api/0/newest", headers=self.headers)
                self.connection.getresponse().read()
                self.asked += 1
        except (OSError, http.client.HTTPException):
            pass


def until_end(folder, page, *flags):
    """Processor time from the answer to the last output, and the page if there is one."""
    p = subprocess.Popen([PDL, *flags, "many.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = b""
    while b"go? " not in seen:
        seen += os.read(p.stdout.fileno(), 1 << 16)
    watcher = page(p) if page else None
    if watcher:
        watcher.start()
        while not watcher.asked:  # the page has shown the document so far
            time.sleep(0.01)
    before = used_by(p.pid)
    p.stdin.write(b"\n")
    p.stdin.flush()
    while b"END" not in seen:
        piece = os.read(p.stdout.fileno(), 1 << 16)
        if not piece:
            break
        seen = (seen + piece)[-1000:]
    used = used_by(p.pid) - before
    p.kill()
    p.communicate()
    return used


@pytest.mark.parametrize("rounds", [MANY, MILLION_BLOCKS])
@pytest.mark.parametrize("page", [None, Page], ids=["without_page", "with_page"])
def test_asks_nobody(folder, page, rounds):
    (folder / "many.pdl").write_text("text:\n" + ASKS + ROWS % rounds + ASKS)
    alone, watched = [], []
    for _ in range(TRIES):
        alone.append(until_end(folder, None))
        watched.append(until_end(folder, page, "--view"))
        if min(watched) < MAX_TIMES * min(alone):
            break
    check("a run that asks nobody, with a view", min(watched) < MAX_TIMES * min(alone), [alone, watched])


def test_all_is_shown_in_the_end(folder):
    """The boxes are made when somebody asks for them."""
    (folder / "many.pdl").write_text("text:\n" + ROWS % BLOCKS)
    p = subprocess.Popen([PDL, "--view", "many.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    seen = b""
    while b"END" not in seen:
        seen = (seen + os.read(p.stdout.fileno(), 1 << 16))[-1000:]
    c, headers = connect(p)
    for _ in range(600):
        c.request("GET", "/api/runs", headers=headers)
        run = json.loads(c.getresponse().read())["runs"][0]
        if not run.get("live"):
            break
    check("all boxes are there", run.get("boxes", 0) >= 2 * BLOCKS, run)
    c.request("GET", "/api/0/boxes/%d/1" % (2 * BLOCKS - 1), headers=headers)
    check("the last of them, too", json.loads(c.getresponse().read())[0]["id"] == 2 * BLOCKS - 1)
    p.kill()
    p.communicate()
