# SPDX-License-Identifier: Apache-2.0
"""`pdl serve` over raw sockets, for the tests that send requests to it."""
import json
import os
import re
import socket
import time

from .. import serve_of
from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"
END = b"Connection: close\r\n"
# what a server says of a model that refuses; the client gets the refusal
NO_TEXT = "pdl: the answer of openai/refusal has no text: the model refused: I may not\n"


def written(folder, programs):
    """The folder, with these programs in it."""
    for name, text in programs.items():
        (folder / (name + ".pdl")).write_text(text, "utf-8")
    return folder


def post(path, body):
    """The bytes of a request on a connection that stays."""
    data = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(data)) + data


def exchange(c, data):
    """Sends a request on a connection. -> the body of its whole answer; for thousands of them, at a tenth of the work of http.client"""
    c.sendall(data)
    got = b""
    while b"\r\n\r\n" not in got:
        got += (piece := c.recv(65536))
        if not piece:
            raise ConnectionError("no answer")
    head, _, body = got.partition(b"\r\n\r\n")
    size = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
    while len(body) < size:
        body += (piece := c.recv(65536))
        if not piece:
            raise ConnectionError("half of an answer")
    return body


class Server:
    def __init__(self, folder, *flags, token="", programs=None, **more):
        env = {**os.environ, **({"PDL_SERVE_TOKEN": token} if token else {}), **more}
        files = [folder / (n + ".pdl") for n in programs] if programs else sorted(folder.glob("*.pdl"))
        self.p, self.port = serve_of.start(PDL, *flags, *map(str, files), env=env)

    @classmethod
    def of(cls, p):
        """A server that was started otherwise."""
        s = cls.__new__(cls)
        s.p, s.port = p, int(re.search(r":(\d+)/v1", p.stderr.readline()).group(1))
        return s

    def connect(self, data=b"", timeout=30):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=timeout)
        s.sendall(data)
        return s

    def raw(self, data, timeout=30):
        """Everything that comes back until the server closes the connection."""
        s = self.connect(timeout=timeout)
        out = b""
        try:
            s.sendall(data)
            while piece := s.recv(65536):
                out += piece
        finally:
            s.close()
        return out

    def health(self, timeout=10):
        """Seconds until a new client has its answer: the least of three, because others work on this machine, too."""
        took = []
        for _ in range(3):
            begin = time.monotonic()
            got = self.raw(HEALTH + END + b"\r\n", timeout)
            took.append(time.monotonic() - begin if b'{"status":"ok"}' in got else 1000)
        return min(took)

    def memory(self):
        with open("/proc/%d/status" % self.p.pid, encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) // 1024

    def cpu(self):
        with open("/proc/%d/stat" % self.p.pid, encoding="utf-8") as f:
            fields = f.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        """Seconds to its end."""
        begin = time.monotonic()
        self.p.terminate()
        code, rest = self.p.wait(20), self.p.stderr.read()
        self.p.stderr.close()
        check("the server ends well", code == 0 and rest == "", (code, rest[-2000:]))
        return time.monotonic() - begin


def chat(model, text="hi", headers=b""):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}]}).encode()
    return CHAT + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body
