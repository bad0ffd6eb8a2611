# SPDX-License-Identifier: Apache-2.0
"""prefix_first.py -- what `--prefix-first` costs and brings: a map of calls that begin alike, against a server with a prompt cache that keeps a beginning
from its first byte on. The map may take one time to first byte longer, and all but the first call find their beginning."""
import http.server
import json
import os
import threading
import time

from harness import alternate, span

CALLS, FIRST, REST = 32, 0.2, 0.3  # seconds to the first byte of an answer, and from there to its end
PROGRAM = """defs: {rules: "${ 'Answer in one word, and never lie. ' * 200 }"}
for: {i: "${ range(%d) | list }"}
map: {model: openai/m, input: "${ rules } ${ i }", parameters: {stream: true}}
join: {with: ""}
""" % CALLS
LEAST = 4096  # bytes of a beginning that is kept: 1 024 tokens


class Caching(http.server.BaseHTTPRequestHandler):
    """Streams an answer; the server counts the calls that found what an earlier answer had begun with."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][0]["content"]
        with self.server.lock:
            self.server.found += any(len(os.path.commonprefix([text, x])) >= LEAST for x in self.server.kept)
        time.sleep(FIRST)
        with self.server.lock:
            self.server.kept.append(text)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b'data: {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "o"}}]}\n\n')
        time.sleep(REST)
        self.wfile.write(b'data: {"choices": [{"index": 0, "delta": {"content": "k"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads, request_queue_size = True, 2 * CALLS

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Caching)
        self.lock, self.kept, self.found = threading.Lock(), [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def end(self):
        self.shutdown()
        self.server_close()
        return self.found


def row(a, peers, folder):
    """Both ways in turn; each run has a server with an empty cache."""
    (folder / "alike.pdl").write_text(PROGRAM, "utf-8")
    seconds, found = {}, {}
    for _ in range(a.runs):
        for name, more in (("off", []), ("on", ["--prefix-first"])):
            server = Server()
            base = "http://127.0.0.1:%d/v1" % server.server_port
            env = {"OPENAI_API_BASE": base, "OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none"}
            got = alternate({name: [a.pdl, "--jobs", CALLS, *more, "alike.pdl"]}, 1, folder, env)[name]
            found[name] = server.end()
            if got is None:
                return ["`--prefix-first`", "fails", "", ""], False
            seconds.setdefault(name, []).append(got.seconds)
    on, off = min(seconds["on"]), min(seconds["off"])
    shown = "%s, %d of %d calls find their beginning" % (span(on), found["on"], CALLS)
    limit = "<= %s more than without, the time to first byte" % span(FIRST)
    others = "without: %s, %d of %d calls" % (span(off), found["off"], CALLS)
    return ["`--prefix-first`: map of %d calls that begin alike" % CALLS, shown, limit, others], on <= off + 1.25 * FIRST and found["on"] == CALLS - 1
