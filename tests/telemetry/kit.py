# SPDX-License-Identifier: Apache-2.0
"""kit.py -- a program, and a collector of its traces that is also its model service."""
import http.server
import json
import threading
import time

KEY = "sk-canary-0123456789"
PROGRAM = """
defs:
  shout: {function: {x: string}, return: {text: ["${ x }", {lang: command, code: "echo loud"}]}}
text:
- {def: plan, text: [{model: openai/some-model, input: "the question", parameters: {temperature: 0.5, max_tokens: 7, stop: [END]}}]}
- {call: "${ shout }", args: {x: "${ plan }"}}
- {description: a step with a file, read: data.txt}
"""


class Collector:
    """Keeps what it is sent, and answers prompts. status: of its answers to traces; silent: it does not answer them."""

    def __init__(self):
        self.lock, self.bodies, self.headers, self.paths, self.parents, self.states = threading.Lock(), [], [], [], [], []
        self.status, self.silent, self.tools = 200, False, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *a):
                pass

            def do_POST(self):
                outer.handle(self)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *a):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.base = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def clear(self):
        with self.lock:
            self.bodies, self.headers, self.paths, self.parents, self.states = [], [], [], [], []
            self.tools = []

    def handle(self, h):
        body = h.rfile.read(int(h.headers["content-length"]))
        if h.path == "/mcp":
            return self.tool(h, json.loads(body))
        if "chat/completions" in h.path:
            with self.lock:
                self.parents.append(h.headers.get("traceparent"))
                self.states.append(h.headers.get("tracestate"))
            broken = b"broken" in body
            data = json.dumps({"error": {"message": "no"}} if broken else {
                "id": "answer-1", "model": "some-model-2026", "choices": [{"index": 0, "finish_reason": "stop",
                                                                           "message": {"role": "assistant", "content": "the answer"}}],
                "usage": {"prompt_tokens": 11, "completion_tokens": 5}}).encode()
            return self.answer(h, 400 if broken else 200, data)
        with self.lock:
            self.bodies.append(body)
            self.headers.append(dict(h.headers))
            self.paths.append(h.path)
        if self.silent:
            time.sleep(60)
        return self.answer(h, self.status, b"{}")

    def tool(self, h, m):
        """A tool server over HTTP; `tools` has method, traceparent and tracestate of each request."""
        with self.lock:
            self.tools.append((m["method"], h.headers.get_all("traceparent"), h.headers.get_all("tracestate")))
        if "id" not in m:
            return self.answer(h, 202, b"")
        r = {"initialize": {"protocolVersion": m["params"].get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}},
             "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}]},
             "tools/call": {"content": [{"type": "text", "text": "said"}]}}[m["method"]]
        return self.answer(h, 200, json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}).encode(), "application/json")

    @staticmethod
    def answer(h, status, data, kind=None):
        h.send_response(status)
        h.send_header("content-length", str(len(data)))
        if kind:
            h.send_header("content-type", kind)
        h.end_headers()
        h.wfile.write(data)

    def spans(self):
        with self.lock:
            return [s for b in self.bodies for r in json.loads(b)["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]


def value(v):
    kind, x = next(iter(v.items()))
    return [value(i) for i in x["values"]] if kind == "arrayValue" else int(x) if kind == "intValue" else x


def facts(span):
    return {a["key"]: value(a["value"]) for a in span["attributes"]}
