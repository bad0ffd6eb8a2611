# SPDX-License-Identifier: Apache-2.0
"""A server on the loopback interface that answers with raw bytes, and calls through model_driver against it; for the tests of this folder."""
import json
import socket
import subprocess
import threading
import time

from ..harness.choice import Choice

KEY = "sk-secret-0123456789"


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


def drive(job):
    """-> exit status, what the driver prints for a job: a JSON object a line, its errors"""
    p = subprocess.run([Choice.build / "tests" / "model" / "model_driver"], input=json.dumps(job), capture_output=True, text=True, timeout=120, check=False)
    return p.returncode, p.stdout, p.stderr


def run(job):
    """The lines that the driver prints for a job; fails when it crashes or shows the key."""
    code, out, err = drive(job)
    assert code == 0 and not err, (code, err)
    assert KEY not in out, "the key is shown"
    return [json.loads(x) for x in out.splitlines()]


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
