# SPDX-License-Identifier: Apache-2.0
"""Servers that misbehave: each answer leads to the right result or the right error within bounds of time and memory, and the key is sent nowhere
else. Answers that are cut or reset at every byte are in test_cuts.py; comments, missing ends and limits of size are in test_streams.py; silence is in
test_time.py."""
import asyncio
import gzip
import json
import os
import resource
import ssl
import subprocess
import tempfile
import threading
import zlib

import pytest

from ..checks import check
from ..harness.choice import Choice
from .wire import KEY, Wire, call, chunk, drive, end, error_of, head, run, sse

pytestmark = pytest.mark.tier("test")

OK = json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}}]}).encode()


def test_two_objects_in_one_event():
    two = json.dumps(chunk(content="a")) + json.dumps(chunk(content="b"))
    error_of(call(Wire([head(), b"data: " + two.encode() + b"\n\n"]))[1], "protocol", 200)
    lines = json.dumps(chunk(content="a")) + "\ndata: " + json.dumps(chunk(content="b"))
    error_of(call(Wire([head(), b"data: " + lines.encode() + b"\n\n"]))[1], "protocol", 200)


def test_wrong_length():
    reply = head("application/json").replace(b"Connection: close\r\n", b"Content-Length: %d\r\n")
    error_of(call(Wire([reply % (len(OK) + 50) + OK]), stream=False)[1], "connection", 200)
    error_of(call(Wire([reply % (len(OK) - 5) + OK]), stream=False)[1], "protocol", 200, "Received: '")
    error_of(call(Wire([reply % 0]), stream=False)[1], "protocol", 200)
    error_of(call(Wire([b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n" + b"x" * 1000]), stream=False)[1], "protocol", 200)
    error_of(call(Wire([b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"]), stream=False)[1], "connection", 200)


def test_no_http():
    for said in [OK, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 000 X\r\n\r\n", b"HTTP/7.5 200 OK\r\n\r\n" + OK, b"SSH-2.0-OpenSSH_9.2\r\n"]:
        kind = call(Wire([said]), stream=False)[1]["error"]["kind"]
        assert kind == "connection", (said, kind)


def test_endless_headers():
    parts = [b"HTTP/1.1 200 OK\r\n"] + [b"X-%d: " % i + b"y" * 1000 + b"\r\n" for i in range(5000)]
    error_of(call(Wire(parts))[1], "protocol", 200)


def bomb(megabytes):
    """So many megabytes of blanks, compressed; made in small pieces, because what this process holds counts as memory of its children, too."""
    made, piece = zlib.compressobj(1, zlib.DEFLATED, 31), b" " * (1 << 20)
    return b"".join([made.compress(piece) for _ in range(megabytes)] + [made.flush()])


def test_compressed_bomb():
    wire = Wire([head("application/json", extra="Content-Encoding: gzip\r\n"), bomb(160)])
    error_of(call(wire, stream=False)[1], "protocol", 200, "longer than")
    end()
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check("an answer of 64 MB at most is kept", Choice.sanitized or after < 150 << 10, "%d KB" % after)
    small = Wire([head("application/json", extra="Content-Encoding: gzip\r\n"), gzip.compress(OK)])
    assert call(small, stream=False)[1]["reply"]["content"] == "ok"


class Endless(Wire):
    """Sends the same event for ever."""

    def __init__(self, event):
        super().__init__()
        self.event = event

    def answer(self, body):
        yield head()
        while True:
            yield self.event


LONG = "x" * 500000
EVENTS = {"content": sse(chunk(content=LONG), done=False), "thoughts": sse(chunk(reasoning_content=LONG), done=False), "comments": b": %s\n\n" % LONG.encode(),
          "calls": sse(chunk(tool_calls=[{"index": 0, "id": "a", "function": {"arguments": LONG}}]), done=False)}


@pytest.mark.parametrize("what", EVENTS)
def test_endless_streams(what):
    wire = Endless(EVENTS[what])
    one = {"model": "openai/m", "messages": [], "stream": True, "parameters": {"api_base": wire.url, "api_key": KEY, "max_retries": 0}}
    code, out, err = drive({"calls": [one]})
    wire.close()
    assert code == 0 and not err, (code, err)
    error_of(json.loads(out[-10000:].split("\n")[-3]), "protocol", 200, "longer than")
    end()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert used.ru_maxrss < 500 << 10 and used.ru_utime + used.ru_stime < 20, used


def job(wire, at):
    """A job of Replicate that is to be asked for at this address."""
    body = {"id": "p", "status": "starting", "urls": {"get": at, "cancel": at + "/cancel"}}
    one = {"model": "replicate/a/b", "messages": [], "parameters": {"api_base": wire.url, "api_key": KEY, "max_retries": 0, "timeout": 5}}
    wire.answers.insert(0, [head("application/json", "201 Created"), json.dumps(body).encode()])
    end = run({"calls": [one]})[-1]
    wire.close()
    return end


def test_jobs_stay_with_their_host():
    done = [head("application/json"), b'{"id": "p", "status": "succeeded", "output": "ok"}']
    other = Wire(done)
    for at in (other.url + "/p", "file:///etc/passwd", "http://169.254.169.254/latest/meta-data/"):
        wire = Wire(done)
        error_of(job(wire, at), "protocol", 200, "another host")
        assert len(wire.requests) == 1
    for target in (other.url + "/p", "/again"):  # a poll that is sent elsewhere
        wire = Wire([head("text/html", "302 Found", "Location: %s\r\n" % target), b"moved"])
        error_of(job(wire, wire.url + "/p"), "protocol", 302)
    assert not other.requests, "the key was sent to another host"
    other.close()


def test_headers_of_the_program():
    """A line end in a header would begin another one."""
    for bad in ({"X-A": "b\r\nX-Evil: 1"}, {"X-A\nX-Evil": "1"}):
        wire = Wire([head("application/json"), OK])
        error_of(call(wire, stream=False, extra_headers=bad)[1], "config", None, "a line end")
        assert not wire.requests
    wire = Wire([head("application/json"), OK])
    call(wire, stream=False, extra_headers={"X-N": 5, "X-B": True, "X-E": ""}, headers={"X-S": "s"})
    assert all(x in wire.requests[0][0].split("\r\n") for x in ("X-N: 5", "X-B: true", "X-S: s")), wire.requests


def test_redirects_are_not_followed():
    other = Wire([head("application/json"), OK])
    for target in (other.url + "/v1/chat/completions", "file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "/v1/chat/completions"):
        for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
            wire = Wire([head("text/html", status, "Location: %s\r\n" % target), b"moved"])
            error_of(call(wire, stream=False)[1], "protocol", int(status[:3]))
            assert len(wire.requests) == 1
    assert not other.requests
    other.close()


def test_absurd_waits():
    for value in ("1e300", "-5", "nan", "inf", "soon", "99999999999999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "0x10", ""):
        wire = Wire([head("application/json", "503 Busy", "retry-after: %s\r\n" % value), b"{}"], [head("application/json"), OK])
        _, last = call(wire, stream=False, max_retries=1)
        waited = wire.times[-1] - wire.times[0]
        assert ("reply" in last) == (len(wire.requests) == 2) and waited < 3, (value, last)


def test_pages_and_errors_with_status_200():
    page = b"<html><body>Sign in</body></html>"
    error_of(call(Wire([head("text/html"), page]), stream=False)[1], "protocol", 200, "Sign in")
    error_of(call(Wire([head("text/html"), page]))[1], "protocol", 200, "Sign in")
    error_of(call(Wire([head("text/html", "502 Bad Gateway"), page]), stream=False)[1], "server", 502)
    for code in (401, "401"):  # the code of the error represents the status
        body = json.dumps({"error": {"message": "m", "code": code}}).encode()
        error_of(call(Wire([head("application/json"), body]), stream=False)[1], "auth", 401)
    for body, kind in ((b'{"error": "text"}', "server"), (b'{"error": {"code": 200, "message": "m"}}', "server"), (b"null", "protocol"), (b"[]", "protocol"),
                       (b'{"choices": []}', "protocol"), (b'{"choices": {}}', "protocol"), (b'{"choices": [7]}', "protocol"), (b"", "protocol")):
        error_of(call(Wire([head("application/json"), body]), stream=False)[1], kind, 200)


def test_usage_twice_and_strange():
    u = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    events = [chunk(content="x", finish="stop"), {"choices": [], "usage": {**u, "total_tokens": 9}}, {"choices": [], "usage": u}]
    assert call(Wire([head(), sse(*events)]))[1]["reply"]["usage"] == u
    for usage in (None, [], "many", {"prompt_tokens": "x"}, {"prompt_tokens": -1, "completion_tokens": 1e300}):
        body = json.dumps({**json.loads(OK), "usage": usage}).encode()
        assert call(Wire([head("application/json"), body]), stream=False)[1]["reply"]["content"] == "ok", usage


def certificate(folder, name, days):
    def openssl(*argv):
        subprocess.run(["openssl", *argv], cwd=folder, check=True, capture_output=True)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem", "-out", "req.pem", "-subj", "/CN=" + name)
    with open(os.path.join(folder, "ext"), "w", encoding="ascii") as f:
        f.write("subjectAltName=%s:%s\n" % ("IP" if name[0].isdigit() else "DNS", name))
    openssl("x509", "-req", "-in", "req.pem", "-signkey", "key.pem", "-days", str(days), "-extfile", "ext", "-out", "cert.pem")


class Secure(Wire):
    def __init__(self, folder):
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem"))
        super().__init__([head("application/json"), OK])
        self.url = self.url.replace("http:", "https:")

    def serve(self, c):
        try:
            super().serve(self.tls.wrap_socket(c, server_side=True))
        except (OSError, ssl.SSLError):
            c.close()


def test_certificates():
    for name, days, trusted, good in (("127.0.0.1", 3, True, True), ("other.example", 3, True, False), ("127.0.0.1", -1, True, False), ("127.0.0.1", 3, False, False)):
        with tempfile.TemporaryDirectory() as folder:
            certificate(folder, name, days)
            wire = Secure(folder)
            env = {"SSL_CERT_FILE": os.path.join(folder, "cert.pem")} if trusted else {}
            _, end = call(wire, stream=False, job={"env": env})
            if good:
                assert end["reply"]["content"] == "ok", end
            else:
                error_of(end, "connection", None, "certificate")
                assert not wire.requests, "the key was sent to %s" % name
                assert call(Secure(folder), stream=False, ssl_verify=False, job={"env": env})[1]["reply"]["content"] == "ok"


def test_wrong_file_of_certificates():
    """The error names the variable, and not just the file."""
    with tempfile.TemporaryDirectory() as folder:
        certificate(folder, "127.0.0.1", 3)
        with open(os.path.join(folder, "text.pem"), "w", encoding="ascii") as f:
            f.write("no certificate\n")
        for name in ("none.pem", "", "text.pem"):
            path = os.path.join(folder, name)
            wire = Secure(folder)
            error_of(call(wire, stream=False, job={"env": {"SSL_CERT_FILE": path}})[1], "connection", None, "SSL_CERT_FILE names %s, which is no file of certificates" % path)
            assert not wire.requests, name


class Storm:
    """An asynchronous server that answers each call with its own text, but first says 429 to most requests."""

    def __init__(self, busy):
        self.busy, self.seen, self.answered = busy, {}, {}
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.main, args=(ready,), daemon=True).start()
        ready.wait()

    def main(self, ready):
        async def start():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=2000)
            self.url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(start())
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            while True:
                sent = await reader.readuntil(b"\r\n\r\n")
                size = int([x for x in sent.lower().split(b"\r\n") if x.startswith(b"content-length:")][0].split(b":")[1])
                name = json.loads(await reader.readexactly(size))["messages"][0]["content"]
                self.seen[name] = self.seen.get(name, 0) + 1
                if self.seen[name] <= self.busy:
                    body, status = b'{"error": {"message": "slow down"}}', b"429 Too Many\r\nretry-after-ms: 20"
                else:
                    self.answered[name] = self.answered.get(name, 0) + 1
                    body, status = json.dumps({"choices": [{"message": {"content": "answer to " + name}}]}).encode(), b"200 OK"
                writer.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()


def test_storm_of_429(scale):
    server = Storm(2)
    names = ["call %d" % i for i in range(scale(1000, 200))]
    calls = [{"model": "openai/m", "messages": [{"role": "user", "content": n}],
              "parameters": {"api_base": server.url + "/v1", "api_key": KEY, "max_retries": 40}} for n in names]
    lines = run({"calls": calls})
    got = {x["i"]: x["reply"]["content"] for x in lines if "reply" in x}
    assert got == {i: "answer to " + n for i, n in enumerate(names)}, [x for x in lines if "error" in x][:2]
    assert server.answered == {n: 1 for n in names}, "an answered call was repeated"
    assert set(server.seen.values()) == {3}
