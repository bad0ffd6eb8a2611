# SPDX-License-Identifier: Apache-2.0
"""pdl serve with hostile clients and bad HTTP: invalid requests, incomplete requests, forbidden bodies, connections that send nothing, programs that
only compute. Each is reported or disconnected, and affects no other client."""
import json
import random
import re
import resource
import select
import socket
import subprocess
import threading
import time

import pytest

from ..checks import check, skip
from ..harness.choice import Choice
from .kit import CHAT, END, HEALTH, PDL, Server, chat, written

PROGRAMS = {"inside-forever": "lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result = exec_str('{repeat: {text: x}, while: true, join: {as: lastOf}}')\n",
            "echo": 'text: "You said: ${ question }"\n', "forever": 'repeat: {text: ""}\nwhile: true\n',
            "steps": 'lastOf:\n' + '- {def: a, lang: python, code: "result = 1"}\n' * 3 + '- ${ a }\n'}


@pytest.fixture
def programs(folder):
    return written(folder, PROGRAMS)


SPLIT = pytest.mark.parametrize("more", ({}, {"PDL_STRESS": "split"}), ids=("whole", "split"))


# name, what is sent, status lines that come back
ANSWERED = [
    ("wrong length", CHAT + b"Content-Length: abc\r\n\r\n{}", [400]),
    ("negative length", CHAT + b"Content-Length: -2\r\n\r\n{}", [400]),
    ("two lengths", CHAT + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", [400]),
    ("length and chunks", CHAT + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HEALTH + b"\r\n", [400]),
    ("other encoding", CHAT + b"Transfer-Encoding: gzip\r\n\r\n", [501]),
    ("huge length", CHAT + b"Content-Length: 99999999999999999999999\r\n\r\n" + HEALTH + b"\r\n", [413]),
    ("huge length, asked before", CHAT + b"Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n", [413]),
    ("asked before", CHAT + END + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", [400]),
    ("nonsense for chunks", CHAT + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", [400]),
    ("a long line for a chunk", CHAT + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 40000, [400]),
    ("a long extension", CHAT + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 40000, [400]),
    ("long trailers", CHAT + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 8000, [400]),
    ("chunks", CHAT + END + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{\"\r\n3\r\na\":\r\n2\r\n1}\r\n0\r\nT: 1\r\n\r\n", [400]),
    ("no host", b"GET /health HTTP/1.1\r\n\r\n", [400]),
    ("two hosts", HEALTH + b"Host: b\r\n\r\n", [400]),
    ("another version", b"GET /health HTTP/2.0\r\n\r\n", [505]),
    ("an old version", b"GET /health HTTP/1.0\r\n\r\n", [200]),
    ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", [400]),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400]),
    ("NUL at the beginning", b"\0GET /health HTTP/1.1", [400]),
    ("no CR", b"GET /health HTTP/1.1\n", [400]),
    ("folded header", HEALTH + b"A: b\r\n c\r\n\r\n", [400]),
    ("no UTF-8 in the path", b"GET /v1/models/%ff%fe HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", [400]),
    ("NUL in the path", b"GET /health%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", [400]),
    ("a long header", HEALTH + b"A: " + b"b" * 100000, [431]),
    ("many headers", HEALTH + b"A: b\r\n" * 200 + b"\r\n", [431]),
    ("compressed body", CHAT + END + b"Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", [415]),
    ("empty lines before", b"\r\n\r\n" + HEALTH + END + b"\r\n", [200]),
    ("target with a host", b"GET http://127.0.0.1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n" + END + b"\r\n", [200]),
    ("target with another host", b"GET http://a/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", [400]),
    ("HEAD", b"HEAD /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nHEAD /v1/models/echo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HEALTH + END + b"\r\n", [200, 200, 200]),
    ("GET with a body", HEALTH + b"Content-Length: 3\r\n\r\nabc" + HEALTH + END + b"\r\n", [200, 200]),
    ("refused, and the next", CHAT.replace(b"127.0.0.1", b"evil") + b"Content-Length: 3\r\n\r\nabc" + HEALTH + END + b"\r\n", [403, 200]),
    ("many at once", (HEALTH + b"\r\n") * 2000 + HEALTH + END + b"\r\n", [200] * 2001),
    ("names of models", b"GET /v1/models/%C3%A4%22%5C HTTP/1.1\r\nHost: 127.0.0.1\r\n" + END + b"\r\n", [404]),
    ("a cut within a character", b"GET /v1/models/" + b"%C3%A4" * 80 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + END + b"\r\n", [404]),
    ("a cut within a character of a path", b"GET /x" + b"%C3%A4" * 80 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + END + b"\r\n", [404]),
]


@SPLIT
def test_badly_written(programs, more):
    s = Server(programs, **more)
    for name, data, want in ANSWERED:
        try:
            got = s.raw(data, 10)
        except OSError as e:
            got = repr(e).encode()
        status = [int(x) for x in re.findall(rb"HTTP/1\.1 (\d+) ", got) if x != b"100"]
        check(name, status == want, got)
        try:
            json.loads(got.rsplit(b"\r\n\r\n", 1)[1].decode())
        except ValueError as e:
            check(name + ": JSON in UTF-8", False, (e, got))
    data = chat("echo", "in bytes", END)
    c = s.connect()
    for i in range(len(data)):
        c.sendall(data[i:i + 1])
        if i % 20 == 0:
            time.sleep(0.001)
    got = b""
    while piece := c.recv(4096):
        got += piece
    c.close()
    check("byte by byte", b"You said: in bytes" in got, got)
    s.close()


@SPLIT
def test_no_bodies(programs, more):
    """The answer to HEAD is that to GET without its body, also where the request is refused."""
    s = Server(programs, **more)
    rest = b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    for line in (b"*" + rest, b"/nothing" + rest, b"/mcp" + rest, b"/health" + rest, b"/v1/models/x" + rest, b"/%00" + rest, b"http://a/" + rest,
                 b"/health HTTP/1.1\r\n", b"/health HTTP/3.0\r\n", b"/health", b"/health" + rest + b" folded\r\n", b"/health" + rest + b"A: b\r\n" * 200,
                 b"/" + b"a" * 100000, b"/health" + rest + b"Content-Length: 1\r\nContent-Length: 2\r\n"):
        head, get = (s.raw(b"\r\n" + method + b" " + line + b"\r\n\r\n", 10).replace(b"HEAD", b"GET") for method in (b"HEAD", b"GET"))
        begin, end, body = get.partition(b"\r\n\r\n")
        same = [re.sub(rb"\r\n(Date|x-request-id|Content-Length): [^\r]*", b"", h, flags=re.I) for h in (head, begin + end)]
        sizes = re.findall(rb"Content-Length: (\d+)", head)
        check("HEAD %r has no body" % line[:40], same[0] == same[1] and len(sizes) == 1 and int(sizes[0]) == len(body), (head, get))
    s.close()


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def mutated(r):
    """A valid request, or several, with some faults in it."""
    seeds = [chat("echo", "a"), HEALTH + b"\r\n", CHAT + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
             CHAT + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", b"GET /v1/models/echo HTTP/1.0\r\n\r\n"]
    words = [b"\r\n", b"\r\n\r\n", b"0\r\n\r\n", b"Content-Length: 7\r\n", b"Connection: close\r\n", b" HTTP/1.1", b"Transfer-Encoding: chunked\r\n", b"\0", b"\xff", b":"]
    b = bytearray(b"".join(r.choices(seeds, k=r.randint(1, 4))))
    for _ in range(r.randint(0, 5)):
        i = r.randint(0, len(b) - 1)
        match r.randint(0, 3):
            case 0:
                b[i] = r.choice([0, 10, 13, 32, 58, 59, 48, 255, r.randint(0, 255)])
            case 1:
                b[i:i] = r.choice(words)
            case 2:
                del b[i:i + r.randint(1, 6)]
            case 3:
                b[i:i] = b[i:i + r.randint(1, 60)]
    return bytes(b) or b"x"


@SPLIT
def test_nonsense(programs, more, scale):
    """Requests with random faults, in random portions, from clients that go away at random: what comes back is HTTP, and the server lives."""
    s, n = Server(programs, **more), scale(60, 15)
    wrong = []

    def client(seed):
        r = random.Random(seed)
        for _ in range(n):
            data, got = mutated(r), b""
            c = s.connect(timeout=5)
            try:
                while data:
                    k = r.choice([1, 7, 100, len(data)])
                    c.sendall(data[:k])
                    data = data[k:]
                if r.randint(0, 3):
                    if r.randint(0, 1):
                        c.shutdown(socket.SHUT_WR)
                    c.settimeout(0.05)
                    while piece := c.recv(4096):
                        got += piece
            except OSError:
                pass
            c.close()
            if got and not re.match(rb"HTTP/1\.1 [1-5]\d\d [A-Z]", got):
                wrong.append(got)

    threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    check("random faults", not wrong, wrong[:3])
    check("and the server answers", b"You said: still here" in s.raw(chat("echo", "still here", END)))
    s.close()


def test_what_stalls(programs):
    """A line of a chunk that has no end: nobody else may wait for it, and a signal is noticed."""
    for begin in (b"", b"1;"):
        s = Server(programs)
        c = s.connect(CHAT + b"Transfer-Encoding: chunked\r\n\r\n" + begin)
        try:
            c.sendall(b"1" * 40000)
        except OSError:
            pass
        before = s.cpu()
        took = s.health()
        time.sleep(0.5)
        check("others are answered beside an endless line", took < 2, took)
        check("an endless line costs no time", s.cpu() - before < 0.3 + Choice.sanitized, s.cpu() - before)
        took = s.close()
        check("a signal is heard beside an endless line", took < 3 + 3 * Choice.sanitized, took)
        c.close()


def test_unwanted_bodies(programs):
    """Headers decide before a body is kept."""
    s = Server(programs, token="sesame")
    before = s.memory()
    size = 16 << 20
    piece, socks = b"x" * (1 << 20), []
    for _ in range(20):
        c = s.connect(CHAT + b"Content-Length: %d\r\n\r\n" % size)
        try:
            for _ in range(15):
                c.sendall(piece)
        except OSError:
            pass
        socks.append(c)
    got = socks[0].recv(100)
    check("without a token: told before the end of the body", got.startswith(b"HTTP/1.1 401 "), got)
    check("without a token: not kept", s.memory() - before < 40 or Choice.sanitized, (before, s.memory()))
    check("without a token: others are answered", s.health() < 2)
    for c in socks:
        c.close()
    c = s.connect(CHAT + b"Authorization: Bearer sesame\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    got = c.recv(100)
    c.sendall(b"{}")
    check("100 where the body is wanted", got == b"HTTP/1.1 100 Continue\r\n\r\n" and c.recv(100).startswith(b"HTTP/1.1 400 "), got)
    c.close()
    got = s.raw(CHAT + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    check("none where it is not", got.startswith(b"HTTP/1.1 401 "), got)
    body = b"x" * (30 << 20)
    got = s.raw(CHAT + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    check("who sends all of an unwanted body sees the answer", got.startswith(b"HTTP/1.1 401 "), got[:100])
    s.close()


def test_many_bodies(programs):
    """All bodies in flight have one ceiling; small ones always pass."""
    s = Server(programs)
    before = s.memory()
    piece, socks, refused = b" " * (1 << 20), [], 0
    for _ in range(30):
        c = s.connect(CHAT + b"Content-Length: %d\r\n\r\n" % (32 << 20))
        try:
            for _ in range(24):
                c.sendall(piece)
        except OSError:
            pass
        socks.append(c)
    time.sleep(0.5)
    check("bodies have a ceiling", s.memory() - before < 330 or Choice.sanitized, (before, s.memory()))
    got = s.raw(chat("echo", "small", END))
    check("a small body passes", b"You said: small" in got, got)
    for c in socks:
        c.settimeout(0.01)
        try:
            refused += c.recv(100).startswith(b"HTTP/1.1 503 ")
        except OSError:
            pass
        c.close()
    check("what is too much is refused", refused >= 15, refused)
    time.sleep(0.5)
    check("memory comes back", b"You said: small" in s.raw(chat("echo", "small", END)))
    body = chat("echo", "y" * (8 << 20), END)
    got = s.raw(body)
    check("a large body passes again", len(got) > 8 << 20, got[:200])
    s.close()


def test_idle_connections(programs, scale):
    """They give way to those who ask."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    n = scale(3500, 1200)
    if hard != resource.RLIM_INFINITY and hard < n + 200:
        skip("%d idle connections" % n, "the limit of descriptors is %d" % hard, 3)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (n + 200, hard))
    s = Server(programs)
    busy = s.connect(chat("forever"))
    half = s.connect(chat("echo", "half")[:-5])
    idle = [s.connect(HEALTH[:i % 2 * 20]) for i in range(n)]
    took = s.health()
    check("thousands of idle connections", took < 2, took)
    half.settimeout(10)
    half.sendall(chat("echo", "half")[-5:])
    got = half.recv(4096)
    check("who is in the middle of a request stays", b"You said: half" in got, got)
    busy.settimeout(0.1)
    try:
        gone = busy.recv(1) == b""
    except OSError as e:
        gone = not isinstance(e, TimeoutError)
    check("who waits for an answer stays", not gone)
    for c in [busy, half, *idle]:
        c.close()
    s.close()


def test_few_descriptors(programs):
    """Connections take half of the descriptors; programs have the others."""
    p = subprocess.Popen(["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh", PDL, "serve", "--port", "0", str(programs / "steps.pdl")],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    s = Server.of(p)
    socks = [s.connect() for _ in range(200)]
    got = s.raw(chat("steps", "", END))
    check("few descriptors", b'"content":"1"' in got, got)
    for c in socks:
        c.close()
    s.close()


def test_computing(programs, scale):
    """Programs that only compute take turns with those that wait: an answer takes little of the server's time."""
    s, n = Server(programs, "--request-time", "120"), scale(50, 25)
    s.raw(chat("steps", "", END))        # the worker is there
    busy = [s.connect(chat("forever")) for _ in range(n)]
    until(lambda: s.cpu() > 0.2)
    took = []
    for _ in range(3):
        begin = s.cpu()
        got = s.raw(chat("steps", "", END), 60)
        took.append(s.cpu() - begin)
        check("answered beside programs that compute", b'"content":"1"' in got, got)
    check("in time", min(took) < 1 + 3 * Choice.sanitized, took)
    for c in busy:
        c.close()
    check("they end with their clients", s.health() < 2)
    s.close()


def test_more_than_is_read(programs):
    """Of a client who sent more than was read, the end is noticed, too."""
    s = Server(programs)
    last = s.connect(chat("forever") + b"x" * 60000)
    until(lambda: s.cpu() > 0.1)
    last.close()
    check("also those who sent more than was read", until(
        lambda: b"pdl_requests_open 0" in s.raw(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" + END + b"\r\n")))
    s.close()


def test_computing_inside(programs, scale):
    """Programs that code runs compute as well."""
    s = Server(programs, "--request-time", "120")
    busy = [s.connect(chat("inside-forever")) for _ in range(scale(30, 8))]
    until(lambda: s.cpu() > 0.2)
    took = []
    for _ in range(3):
        begin = s.cpu()
        s.raw(HEALTH + END + b"\r\n")
        took.append(s.cpu() - begin)
    check("programs inside code, too", min(took) < 1 + 3 * Choice.sanitized, took)
    for c in busy:
        c.close()
    check("and end", s.health() < 5)
    s.close()


def test_large_expressions(programs):
    """A request is answered before those that came earlier and that each hold the server up in one expression."""
    n = 150000 if Choice.sanitized else 800000  # several times the 20 ms after which a turn is slow
    (programs / "large.pdl").write_text("data: ${ range(%d) | map('string') | join(' ') | upper | replace('1', '22') | length }\n" % n)
    s = Server(programs, programs=("large", "echo"))
    s.raw(chat("large", "", END))        # known from now on as slow
    large = [s.connect(chat("large")) for _ in range(12)]
    got = s.raw(chat("echo", "", END), 120)
    ready = select.select(large, [], [], 0)[0]
    check("answered beside large expressions", b"You said: " in got, got)
    check("before most of them", len(ready) <= 6, len(ready))
    for c in large:
        check("and they are answered", b'"content":"' in c.recv(65536))
        c.close()
    s.close()
    s = Server(programs, programs=("large", "echo"))
    large = [s.connect(chat("large")) for _ in range(12)]
    s.raw(chat("echo", "", END), 120)
    ready = select.select(large, [], [], 0)[0]
    check("also the first time", len(ready) <= 6, len(ready))
    for c in large:
        c.close()
    s.close()
