# SPDX-License-Identifier: Apache-2.0
"""pdl serve --ping, the health check of a container: with a running server, with a stopped server that does not answer, with a server that answers
something else, and with no server."""
import http.server
import signal
import socket
import subprocess
import threading

from ..checks import check
from .kit import PDL, Server, written


def ping(*words, **env):
    return subprocess.run([PDL, "serve", "--ping", *map(str, words)], capture_output=True, text=True, timeout=30, env=env or None, check=False)


class Unwell(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(503)

    def log_message(self, *_):
        pass


def test_ping(folder):
    server = Server(written(folder, {"a": "text: a\n"}), token="secret")
    try:
        for words in ((), ("--host", "localhost"), ("--host", "0.0.0.0")):
            r = ping("--port", server.port, *words)
            check("a server that is well, %s" % (words,), (r.returncode, r.stdout, r.stderr) == (0, "", ""), r)
        server.p.send_signal(signal.SIGSTOP)
        r = ping("--port", server.port)
        check("a server that hangs", (r.returncode, r.stderr) == (1, "pdl: error: http://127.0.0.1:%d/health: it does not answer within 2 seconds\n" % server.port), r)
    finally:
        server.p.send_signal(signal.SIGCONT)
        server.p.kill()
        server.p.wait()


def test_others():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    r = ping("--port", port)
    check("nobody is there", (r.returncode, r.stderr) == (1, "pdl: error: http://127.0.0.1:%d/health: no server can be reached there\n" % port), r)
    other = http.server.HTTPServer(("127.0.0.1", 0), Unwell)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    r = ping("--port", other.server_port)
    other.shutdown()
    check("one that is not well", r.returncode == 1 and r.stderr.endswith("/health: it answers with status 503\n"), r)


def test_words(folder):
    (folder / "a.pdl").write_text("text: a\n", "utf-8")
    for words, said in [(("--port", 0), "expected a whole number from 1 to 65535"), (("--port", 65536), "expected a whole number from"),
                        ((folder / "a.pdl",), "--ping takes no FILE")]:
        r = ping(*words)
        check("refused: %s" % (words,), r.returncode == 2 and said in r.stderr, r)
