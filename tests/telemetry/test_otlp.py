#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_otlp.py -- traces of runs at a collector, which also plays the model service.

    test_otlp.py BUILD_DIR

What arrives is read as JSON, and by the classes of opentelemetry-proto where they can be had. Last line: `N passed, N failed`.
"""
import http.client
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402
import serve_of  # noqa: E402
import venv_of  # noqa: E402

KEY = "sk-canary-0123456789"
PROGRAM = """
defs:
  shout: {function: {x: string}, return: {text: ["${ x }", {lang: command, code: "echo loud"}]}}
text:
- {def: plan, text: [{model: openai/some-model, input: "the question", parameters: {temperature: 0.5, max_tokens: 7, stop: [END]}}]}
- {call: "${ shout }", args: {x: "${ plan }"}}
- {description: a step with a file, read: data.txt}
"""
FAILING = "text: [{model: openai/broken, input: hi, parameters: {max_retries: 0}}]\n"


# A tool server that writes down the _meta of each call.
TOOL_SERVER = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}}]}
    else:
        open("meta", "a").write(json.dumps(m["params"].get("_meta")) + "\\n")
        r = {"content": [{"type": "text", "text": "said"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
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


class Test(Checks):
    def __init__(self, build):
        self.build, self.pdl = build, str(pathlib.Path(build).resolve() / "pdl")
        self.c = Collector()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="pdl_otlp_"))
        self.url = self.c.base + "/v1/traces"
        for name, text in (("p.pdl", PROGRAM), ("bad.pdl", FAILING), ("data.txt", "some data\n"),
                           ("many.pdl", "text: [{for: {i: '${ range(20000) | list }'}, repeat: {read: data.txt, contribute: []}}, done]\n"),
                           ("names.pdl", "for: {i: '${ range(2000) | list }'}\nrepeat: {def: x, text: '${ i }'}\njoin: {as: lastOf}\n")):
            (self.work / name).write_text(text)

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_") and k not in ("PDL_OTLP", "TRACEPARENT")}
        return {**env, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.c.base + "/v1", "OPENAI_API_BASE": self.c.base + "/v1",
                "PDL_RUNS": str(self.work / "runs"), **more}

    def run(self, *args, **env):
        self.c.clear()
        p = subprocess.run([self.pdl, *args], cwd=self.work, env=self.env(**env), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        return p.returncode, p.stdout, p.stderr

    def tree(self):
        code, out, err = self.run("--otlp", self.url, "p.pdl")
        self.check("a run is sent", code == 0 and "the answer" in out and not err, (code, out, err))
        spans = self.c.spans()
        by = {s["name"]: s for s in spans}
        self.check("its spans", sorted(by) == sorted(["pdl p.pdl", "plan", "chat some-model", "shout", "command echo", "read", "a step with a file"]), sorted(by))
        self.check("one trace", len({s["traceId"] for s in spans}) == 1 and all(len(s["traceId"]) == 32 and len(s["spanId"]) == 16 for s in spans), spans)
        up = {s["name"]: s.get("parentSpanId") for s in spans}
        around = {"plan": "pdl p.pdl", "chat some-model": "plan", "shout": "pdl p.pdl", "command echo": "shout", "read": "a step with a file",
                  "a step with a file": "pdl p.pdl"}
        for name, parent in around.items():
            self.check("%s is in %s" % (name, parent), up.get(name) == by[parent]["spanId"], up)
            self.check("%s: its time is within that of %s" % (name, parent),
                       int(by[parent]["startTimeUnixNano"]) <= int(by[name]["startTimeUnixNano"]) <= int(by[name]["endTimeUnixNano"]) <=
                       int(by[parent]["endTimeUnixNano"]), (by[name], by[parent]))
        self.check("the run has no parent", up.get("pdl p.pdl") is None, up)
        chat = by["chat some-model"]
        want = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "some-model",
                "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 7, "gen_ai.request.stop_sequences": ["END"],
                "gen_ai.response.id": "answer-1", "gen_ai.response.model": "some-model-2026", "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 5}
        got = facts(chat)
        self.check("facts of a model call", {k: got.get(k) for k in want} == want and chat["kind"] == 3, got)
        self.check("the request names the span", self.c.parents == ["00-%s-%s-01" % (chat["traceId"], chat["spanId"])], self.c.parents)
        text = b"".join(self.c.bodies).decode()
        self.check("no content unless it is asked for", "the question" not in text and "the answer" not in text and "loud" not in text and
                   "some data" not in text, text)
        self.check("no key", KEY not in text, text)

    def content(self):
        self.run("--otlp", self.url, "--otlp-content", "-d", "key: %s" % KEY, "p.pdl")
        by = {s["name"]: facts(s) for s in self.c.spans()}
        asked = json.loads(by["chat some-model"]["gen_ai.input.messages"])
        said = json.loads(by["chat some-model"]["gen_ai.output.messages"])
        self.check("messages", asked[-1] == {"role": "user", "parts": [{"type": "text", "content": "the question"}]}, asked)
        self.check("the answer", said[0]["role"] == "assistant" and said[0]["parts"][0]["content"] == "the answer", said)
        self.check("results", "loud" in by["command echo"]["pdl.reply"] and "some data" in by["read"]["pdl.reply"], by)
        (self.work / "leak.pdl").write_text("text: [{lang: command, code: 'echo %s'}]\n" % KEY)
        self.run("--otlp", self.url, "--otlp-content", "leak.pdl")
        text = b"".join(self.c.bodies).decode()
        self.check("keys are replaced also in content", KEY not in text and "REDACTED" in text, text)

    def environment(self):
        _, _, err = self.run("p.pdl", OTEL_EXPORTER_OTLP_ENDPOINT=self.c.base)
        self.check("nothing is sent unless it is asked for", not self.c.bodies and not err, err)
        self.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_ENDPOINT=self.c.base + "/", OTEL_EXPORTER_OTLP_HEADERS="x-one=a%20b, x-two=c",
                 OTEL_SERVICE_NAME="my service", OTEL_RESOURCE_ATTRIBUTES="team=red,place=a%2Cb")
        self.check("the path is added to the environment's address", set(self.c.paths) == {"/v1/traces"}, self.c.paths)
        h = {k.lower(): v for k, v in self.c.headers[0].items()}
        self.check("headers", h.get("x-one") == "a b" and h.get("x-two") == "c" and h["content-type"] == "application/json", h)
        resource = {a["key"]: value(a["value"]) for a in json.loads(self.c.bodies[0])["resourceSpans"][0]["resource"]["attributes"]}
        self.check("resource", resource.get("service.name") == "my service" and resource.get("team") == "red" and resource.get("place") == "a,b", resource)
        self.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=self.c.base + "/other")
        self.check("the address of traces is whole", set(self.c.paths) == {"/other"}, self.c.paths)
        self.run("--otlp", self.c.base + "/mine", "p.pdl", OTEL_EXPORTER_OTLP_ENDPOINT=self.c.base)
        self.check("the option's address is whole", set(self.c.paths) == {"/mine"}, self.c.paths)
        self.run("--otlp", self.url, "p.pdl", OTEL_SDK_DISABLED="true")
        self.check("OTEL_SDK_DISABLED", not self.c.bodies)
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        self.run("--otlp", self.url, "p.pdl", TRACEPARENT="00-%s-%s-01" % (trace, parent))
        spans = self.c.spans()
        self.check("TRACEPARENT continues a trace", {s["traceId"] for s in spans} == {trace} and
                   [s for s in spans if s.get("parentSpanId") == parent and s["name"] == "pdl p.pdl"], spans[-1:])
        self.run("--otlp", self.url, "p.pdl", TRACEPARENT="00-%s-%s-00" % (trace, parent))
        self.check("one that is not wanted is handed on, not sent", not self.c.bodies and self.c.parents[0].startswith("00-" + trace) and
                   self.c.parents[0].endswith("-00"), self.c.parents)
        self.run("--otlp", self.url, "p.pdl", TRACEPARENT="00-junk")
        self.check("a bad one is ignored", len({s["traceId"] for s in self.c.spans()}) == 1 and self.c.spans()[0]["traceId"] != trace)

    def handed_on(self):
        """The trace context: traceparent and tracestate, to services of models and to tool servers."""
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        (self.work / "server.py").write_text(TOOL_SERVER)
        (self.work / "servers.json").write_text(json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": [str(self.work / "server.py")],
                                                                                "cwd": str(self.work)}}}))
        (self.work / "tool.pdl").write_text("defs: {s: {import: 'mcp:s'}}\ntext: [\"${ s.echo('hi') }\", {model: openai/some-model, input: hi}]\n")
        given = {"PDL_MCP_CONFIG": str(self.work / "servers.json"), "TRACEPARENT": "00-%s-%s-01" % (trace, parent)}
        meta = self.work / "meta"
        code, out, err = self.run("tool.pdl", **given)
        self.check("without telemetry nothing is handed on", code == 0 and meta.read_text() == "null\n" and self.c.parents == [None], (err, meta.read_text()))
        meta.unlink()
        code, out, err = self.run("--otlp", self.url, "tool.pdl", TRACESTATE="one=1,two=2", **given)
        spans = {s["name"]: s for s in self.c.spans()}
        tool = [s for n, s in spans.items() if n == "execute_tool echo"]
        got = json.loads(meta.read_text())
        self.check("a tool server gets the trace", code == 0 and len(tool) == 1 and
                   got == {"traceparent": "00-%s-%s-01" % (trace, tool[0]["spanId"]), "tracestate": "one=1,two=2"}, (code, err, got, list(spans)))
        self.check("a model gets what others keep in it", self.c.states == ["one=1,two=2"] and self.c.parents[0].startswith("00-" + trace), self.c.states)
        self.check("so do the spans", {s.get("traceState") for s in spans.values()} == {"one=1,two=2"}, spans)
        meta.unlink()
        self.run("--otlp", self.url, "tool.pdl", PDL_MCP_CONFIG=given["PDL_MCP_CONFIG"], TRACESTATE="one=1")
        got = json.loads(meta.read_text())
        self.check("without a parent there is no state", list(got) == ["traceparent"] and self.c.states == [None], (got, self.c.states))

    def handed_on_by_http(self):
        """Tool servers over HTTP have it as headers, too, unless their configuration says otherwise."""
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        file = self.work / "http_servers.json"
        given = {"PDL_MCP_CONFIG": str(file), "TRACEPARENT": "00-%s-%s-01" % (trace, parent), "TRACESTATE": "one=1"}
        file.write_text(json.dumps({"mcpServers": {"s": {"url": self.c.base + "/mcp"}}}))
        (self.work / "far.pdl").write_text("defs: {s: {import: 'mcp:s'}}\ntext: [\"${ s.echo('hi') }\"]\n")
        code, out, err = self.run("far.pdl", **given)
        self.check("without telemetry there is none", code == 0 and {t[1:] for t in self.c.tools} == {(None, None)}, (err, self.c.tools))
        code, out, err = self.run("--otlp", self.url, "far.pdl", **given)
        spans = self.c.spans()
        tool = [s["spanId"] for s in spans if s["name"] == "execute_tool echo"]
        got = {m: (p, st) for m, p, st in self.c.tools}
        self.check("the call has that of its span", code == 0 and len(tool) == 1 and
                   got.get("tools/call") == (["00-%s-%s-01" % (trace, tool[0])], ["one=1"]), (code, err, got, spans))
        ids = {s["spanId"] for s in spans}
        self.check("handshake and list have that of what waits for them", all(p and p[0][3:35] == trace and p[0][36:52] in ids for p, _ in got.values()), got)
        file.write_text(json.dumps({"mcpServers": {"s": {"url": self.c.base + "/mcp", "headers": {"TraceParent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}}}}))
        code, out, err = self.run("--otlp", self.url, "far.pdl", **given)
        self.check("the configuration wins", code == 0 and {str(t[1:]) for t in self.c.tools} == {str((["00-" + "1" * 32 + "-" + "2" * 16 + "-01"], None))}, self.c.tools)

    def trouble(self):
        self.run("--otlp", self.url, "bad.pdl")
        by = {s["name"]: s for s in self.c.spans()}
        call = by["chat broken"]
        self.check("a call that failed", call.get("status") == {"code": 2} and facts(call).get("error.type") == "bad_request", call)
        self.check("so did the run", by["pdl bad.pdl"].get("status") == {"code": 2}, by)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            dead = "http://127.0.0.1:%d/v1/traces" % s.getsockname()[1]  # bound, and nobody listens
            code, out, err = self.run("--otlp", dead, "many.pdl")
        self.check("a dead collector costs one note", code == 0 and out == "done\n" and err.count("\n") == 1 and "traces are not sent" in err, (code, out, err))
        self.c.status = 503
        code, out, err = self.run("--otlp", self.url, "many.pdl")
        self.check("one that refuses too", code == 0 and err.count("\n") == 1 and "503" in err, (code, err))
        self.c.status, self.c.silent = 200, True
        start = time.monotonic()
        code, out, err = self.run("--otlp", self.url, "p.pdl")
        seconds = time.monotonic() - start
        self.c.silent = False
        self.check("one that is silent is not waited for", code == 0 and seconds < 20 and "did not take them" in err, (code, seconds, err))
        code, _, err = self.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_EXPORTER_OTLP_ENDPOINT=self.c.base)
        self.check("gRPC is refused with a note", code == 0 and err.count("\n") == 1 and "gRPC" in err and not self.c.bodies, (code, err))
        code, _, err = self.run("--otlp", "collector:4318", "p.pdl")
        self.check("an address that is none", code == 2 and "whole address" in err, (code, err))
        code, _, err = self.run("--otlp", "http://user:secret-word@127.0.0.1:1/x", "p.pdl")
        self.check("a password in the address is not shown", code == 0 and "secret-word" not in err and "not sent" in err, err)

    def many(self):
        for name, most in (("many.pdl", 20001), ("names.pdl", 2001)):
            code, _, err = self.run("--otlp", self.url, name)
            spans = self.c.spans()
            complete = len(spans) == most or ("did not take them" in err and len(spans) < most)
            self.check("%s: every span, once" % name, code == 0 and complete and len({s["spanId"] for s in spans}) == len(spans), (code, err, len(spans)))
            self.check("%s: in batches" % name, 1 < len(self.c.bodies) < most / 100, len(self.c.bodies))

    def others(self):
        code, _, err = self.run("--durable", "--id", "one", "--otlp", self.url, "p.pdl")
        root = [facts(s) for s in self.c.spans() if s["name"] == "pdl p.pdl"]
        self.check("a durable run has its id", code == 0 and root and root[0].get("pdl.run.id") == "one", (err, root))
        self.run("resume", "one", "--otlp", self.url)
        self.check("also when it is resumed", [s for s in self.c.spans() if facts(s).get("pdl.run.id") == "one"])
        self.c.clear()
        p, port = serve_of.start(self.pdl, "--otlp", self.url, str(self.work / "p.pdl"), env=self.env())
        for _ in range(2):
            h = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            h.request("POST", "/v1/chat/completions", json.dumps({"model": "p", "messages": [{"role": "user", "content": "x"}]}),
                      {"content-type": "application/json"})
            self.check("a request is served", h.getresponse().status == 200)
        p.send_signal(signal.SIGTERM)
        p.wait(timeout=60)
        roots = [s for s in self.c.spans() if s["name"] == "pdl p"]
        self.check("each request of a server is a trace", len(roots) == 2 and len({s["traceId"] for s in roots}) == 2, [s["name"] for s in self.c.spans()])

    def classes(self):
        """The same bodies by the classes that collectors are made from."""
        self.run("--otlp", self.url, "--otlp-content", "p.pdl")
        exe, why = venv_of.python(self.build, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", name="test-otlp", wanted=["opentelemetry-proto"])
        if not exe:
            self.skip("the classes of collectors", why)
            return
        script = ("import sys\nfrom google.protobuf import json_format\n"
                  "from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as R\n"
                  "import json, base64\n"
                  "d = json.load(sys.stdin)\n"
                  "for r in d['resourceSpans']:\n for c in r['scopeSpans']:\n  for s in c['spans']:\n"
                  "   for k in ('traceId', 'spanId', 'parentSpanId'):\n"
                  "    if k in s: s[k] = base64.b64encode(bytes.fromhex(s[k])).decode()\n"  # OTLP has hexadecimal ids in JSON
                  "m = json_format.ParseDict(d, R())\n"
                  "print(len(m.SerializeToString()) > 500, sum(len(c.spans) for r in m.resource_spans for c in r.scope_spans))\n")
        p = subprocess.run([exe, "-c", script], input=self.c.bodies[0], capture_output=True, timeout=60)
        self.check("opentelemetry-proto reads it, without an unknown field", p.stdout.decode().split() == ["True", "7"], (p.stdout, p.stderr[-1500:]))


def main():
    t = Test(sys.argv[1])
    for part in (t.tree, t.content, t.environment, t.handed_on, t.handed_on_by_http, t.trouble, t.many, t.others, t.classes):
        part()
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
