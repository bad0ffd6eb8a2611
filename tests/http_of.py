# SPDX-License-Identifier: Apache-2.0
"""HTTP services of tests: they write no log, and listen on a port that is free."""
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
