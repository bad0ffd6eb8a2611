# SPDX-License-Identifier: Apache-2.0
"""A web server for tests, on the loopback interface: pages by their path, faults of servers, and a list of its requests."""
import gzip
import socket
import struct
import threading
import time

from ..http_of import Quiet, serve


def whole(body, kind="text/plain", status=200, headers=()):
    return lambda h: h.reply(body, kind, status, headers)


def redirect(to, status=302):
    return lambda h: h.reply(b"", "text/plain", status, [("Location", to)])


def cut(h):
    """Announces more than it sends, and resets the connection."""
    h.send_response(200)
    h.send_header("Content-Length", "1000")
    h.end_headers()
    h.wfile.write(b"half")
    h.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    h.close_connection = True


def endless(h):
    """Sends until nobody reads."""
    h.send_response(200)
    h.send_header("Content-Type", "text/plain")
    h.end_headers()
    try:
        while True:
            h.wfile.write(b"x" * 65536)
    except OSError:
        h.close_connection = True


def slow(h):
    """A byte now and then, for longer than anybody waits."""
    h.send_response(200)
    h.send_header("Content-Length", "1000")
    h.end_headers()
    try:
        for _ in range(100):
            h.wfile.write(b".")
            time.sleep(0.1)
    except OSError:
        pass
    h.close_connection = True


def many_headers(h):
    h.send_response(200)
    try:
        for i in range(20000):
            h.send_header("X-%d" % i, "y" * 100)
            h.flush_headers()
        h.end_headers()
    except OSError:
        pass
    h.close_connection = True


def packed(body, name="gzip"):
    return lambda h: h.reply(gzip.compress(body), "text/plain", 200, [("Content-Encoding", name)])


class Site:
    """pages: path -> a function of the handler, or bytes. `asked`: (method, path, headers, body) in the order of arrival."""

    def __init__(self, **pages):
        self.pages = {"/" + k: v for k, v in pages.items()}
        self.asked = []
        lock = threading.Lock()
        site = self

        class Handler(Quiet):
            protocol_version = "HTTP/1.1"

            def reply(self, data, kind="application/json", status=200, headers=()):
                super().reply(b"" if self.command == "HEAD" else data, kind, status, headers)

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with lock:
                    site.asked.append((self.command, self.path, dict(self.headers), body))
                page = site.pages.get(self.path.partition("?")[0], whole(b"none", status=404))
                (whole(page) if isinstance(page, bytes) else page)(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_GET

        self.server = serve(Handler)
        self.at = "127.0.0.1:%d" % self.server.server_port
        self.url = "http://" + self.at

    def paths(self):
        return [x[1] for x in self.asked]

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.server.shutdown()
        self.server.server_close()
