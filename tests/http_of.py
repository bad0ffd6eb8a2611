# SPDX-License-Identifier: Apache-2.0
"""HTTP services for tests. They write no log, and listen on a free port."""
import contextlib
import re
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def body(self):
        """What was sent, bytes."""
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, data, kind="application/json", status=200, headers=()):
        """A whole answer: bytes, their type, further headers as pairs."""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def serve(handler):
    """-> a server that runs until the test ends; its port is server_port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def answer(data, kind="application/json", status=200, headers=()):
    """The bytes of a whole answer."""
    lines = ["HTTP/1.1 %d X" % status, "Content-Type: " + kind, "Content-Length: %d" % len(data)] + ["%s: %s" % x for x in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


class Plain:
    """A service for thousands of requests: a fifth of the work of http.server, and no more of HTTP than clients of models speak. Each connection has
    a thread. `exchange(head, body, send)` answers a request through send(bytes); what it returns is false where the connection ends."""

    def __init__(self, exchange):
        self.exchange = exchange
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=(self.sock.accept()[0],), daemon=True).start()

    def serve(self, c):
        with contextlib.suppress(OSError), c:
            c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            data = self.until(c, b"", lambda data: b"\r\n\r\n" in data)
            while data:
                head, _, data = data.partition(b"\r\n\r\n")
                size = int((re.search(rb"(?i)\ncontent-length: *(\d+)", head) or [0, 0])[1])
                data = self.until(c, data, lambda data: len(data) >= size)
                if len(data) < size or not self.exchange(head.decode("latin-1"), data[:size], c.sendall):
                    return
                data = self.until(c, data[size:], lambda data: b"\r\n\r\n" in data)

    @staticmethod
    def until(c, data, enough):
        """What has come, until it is enough or the client is gone."""
        while not enough(data):
            more = c.recv(1 << 16)
            if not more:
                return b""
            data += more
        return data

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()
