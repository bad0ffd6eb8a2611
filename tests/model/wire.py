# SPDX-License-Identifier: Apache-2.0
"""A server on the loopback interface that answers with raw bytes, and calls through model_driver against it; for the tests of this folder."""
import json
import os
import select
import socket
import subprocess
import tempfile
import threading
import time

from ..harness.choice import Choice

KEY = "sk-secret-0123456789"
SECONDS = 120


class Now:
    driver = None  # of the item, which has a process of its own


class Wire:
    """A server on the loopback interface whose answers are lists of raw byte pieces, one list a request."""

    def __init__(self, *answers, pause=0.0, hold=0.0):
        self.answers, self.pause, self.hold = list(answers), pause, hold
        self.requests, self.times, self.closed_early = [], [], 0
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.sock.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        data = b""
        while b"\r\n\r\n" not in data:
            more = c.recv(65536)
            if not more:
                return c.close()
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        sizes = [x.split(b":")[1] for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")]
        size = int(sizes[0]) if sizes else 0
        while len(body) < size:
            body += c.recv(65536)
        n = len(self.requests)
        text = body.decode()
        self.requests.append((head.decode(), json.loads(text) if text[:1] in ("{", "[") else text))
        self.times.append(time.monotonic())
        try:
            for piece in self.answer(self.requests[-1][1]) or self.answers[min(n, len(self.answers) - 1)]:
                c.sendall(piece)
                if self.pause:
                    time.sleep(self.pause)
            if self.hold:
                c.settimeout(self.hold)
                if c.recv(1) == b"":
                    self.closed_early += 1
        except OSError:
            self.closed_early += 1
        c.close()

    def answer(self, body):
        """Pieces made for this body; None: the next of the answers."""

    def close(self):
        """Ends the thread first: one that is about to accept would take connections of the next server, which gets the number of this socket."""
        if self.sock.fileno() < 0:
            return
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.sock.close()


def chunk(**delta):
    finish = delta.pop("finish", None)
    return {"id": "c1", "created": 1, "model": "m", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def sse(*events, end="\n", done=True):
    text = "".join("data: " + (e if isinstance(e, str) else json.dumps(e, ensure_ascii=False)) + end * 2 for e in events)
    return (text + ("data: [DONE]" + end * 2 if done else "")).encode()


def head(ctype="text/event-stream", status="200 OK", extra=""):
    return ("HTTP/1.1 %s\r\nContent-Type: %s\r\nConnection: close\r\n%s\r\n" % (status, ctype, extra)).encode()


def cut(data, n):
    return [data[i:i + n] for i in range(0, len(data), n)]


class Driver:
    """model_driver, which takes one job after the other: the libraries that it loads cost more than a call."""

    def __init__(self):
        self.errors = tempfile.TemporaryFile()
        self.p = subprocess.Popen([Choice.build / "tests" / "model" / "model_driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def ask(self, job):
        """-> exit status, 0 while it runs; what it prints; its errors"""
        before, out = self.errors.seek(0, 2), bytearray()
        self.p.stdin.write(json.dumps(job).encode() + b"\n")
        self.p.stdin.flush()
        while out[-2:] not in (b"\n\n", b"\n"):
            if not select.select([self.p.stdout], [], [], SECONDS)[0]:
                self.p.kill()
                raise TimeoutError("no end of a job")
            piece = os.read(self.p.stdout.fileno(), 1 << 20)
            out += piece
            if not piece:
                self.p.wait()
                break
        self.errors.seek(before)
        return self.p.returncode or 0, out.decode(), self.errors.read().decode("utf-8", "replace")

    def end(self):
        self.p.stdin.close()
        return self.p.wait(SECONDS)


def drive(job):
    """What the driver of this item does with a job."""
    Now.driver = Now.driver or Driver()
    return Now.driver.ask(job)


def end():
    """The driver ends, and is a child whose time and memory are known. -> its exit status"""
    driver, Now.driver = Now.driver, None
    return driver.end() if driver else 0


def run(job):
    """The lines that the driver prints for a job; fails when it crashes or shows the key."""
    code, out, err = drive(job)
    assert code == 0 and not err, (code, err)
    assert KEY not in out, "the key is shown"
    return [json.loads(x) for x in out.splitlines() if x]


def call(wire, model="openai/m", stream=True, job=None, messages=None, **parameters):
    base = wire.url if model.startswith("ollama") else wire.url + "/v1"
    parameters = {"api_base": base, "api_key": KEY, "max_retries": 0, **parameters}
    one = {"model": model, "messages": messages or [{"role": "user", "content": "Hi"}], "parameters": parameters, "stream": stream}
    try:
        lines = run({"calls": [one], **(job or {})})
    finally:
        wire.close()
    return "".join(x["piece"] for x in lines if "piece" in x), lines[-1]


def error_of(end, kind, status, text=""):
    assert "error" in end, end
    e = end["error"]
    assert (e["kind"], e["status"]) == (kind, status), e
    assert text in e["msg"], e
    return e
