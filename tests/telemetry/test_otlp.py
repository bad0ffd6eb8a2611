# SPDX-License-Identifier: Apache-2.0
"""test_otlp.py -- traces of runs at a collector, which is also the model service.

The test reads them as JSON, and in `test-all` also with the classes of opentelemetry-proto.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from .. import serve_of, venv_of
from ..checks import check, skip
from .kit import KEY, PROGRAM, Collector

SPANS = 5000  # more than a few bodies hold
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


def value(v):
    kind, x = next(iter(v.items()))
    return [value(i) for i in x["values"]] if kind == "arrayValue" else int(x) if kind == "intValue" else x


def facts(span):
    return {a["key"]: value(a["value"]) for a in span["attributes"]}


class Sent:
    """Runs whose spans a collector gets."""

    def __init__(self, pdl, work):
        self.pdl, self.work, self.c = pdl, work, Collector()
        self.url = self.c.base + "/v1/traces"
        for name, text in (("p.pdl", PROGRAM), ("bad.pdl", FAILING), ("data.txt", "some data\n"),
                           ("many.pdl", "text: [{for: {i: '${ range(SPANS) | list }'}, repeat: {read: data.txt, contribute: []}}, done]\n"),
                           ("names.pdl", "for: {i: '${ range(2000) | list }'}\nrepeat: {def: x, text: '${ i }'}\njoin: {as: lastOf}\n")):
            (self.work / name).write_text(text.replace("SPANS", str(SPANS)))

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_") and k not in ("PDL_OTLP", "TRACEPARENT")}
        return {**env, "OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": self.c.base + "/v1", "OPENAI_API_BASE": self.c.base + "/v1",
                "PDL_RUNS": str(self.work / "runs"), **more}

    def run(self, *args, **env):
        self.c.clear()
        p = subprocess.run([self.pdl, *args], cwd=self.work, env=self.env(**env), capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                           check=False)
        return p.returncode, p.stdout, p.stderr


@pytest.fixture
def t(pdl, folder):
    return Sent(pdl, folder)


def test_tree(t):
    code, out, err = t.run("--otlp", t.url, "p.pdl")
    check("a run is sent", code == 0 and "the answer" in out and not err, (code, out, err))
    spans = t.c.spans()
    by = {s["name"]: s for s in spans}
    check("its spans", sorted(by) == sorted(["pdl p.pdl", "plan", "chat some-model", "shout", "command echo", "read", "a step with a file"]), sorted(by))
    check("one trace", len({s["traceId"] for s in spans}) == 1 and all(len(s["traceId"]) == 32 and len(s["spanId"]) == 16 for s in spans), spans)
    up = {s["name"]: s.get("parentSpanId") for s in spans}
    around = {"plan": "pdl p.pdl", "chat some-model": "plan", "shout": "pdl p.pdl", "command echo": "shout", "read": "a step with a file",
              "a step with a file": "pdl p.pdl"}
    for name, parent in around.items():
        check("%s is in %s" % (name, parent), up.get(name) == by[parent]["spanId"], up)
        check("%s: its time is within that of %s" % (name, parent),
                   int(by[parent]["startTimeUnixNano"]) <= int(by[name]["startTimeUnixNano"]) <= int(by[name]["endTimeUnixNano"]) <=
                   int(by[parent]["endTimeUnixNano"]), (by[name], by[parent]))
    check("the run has no parent", up.get("pdl p.pdl") is None, up)
    chat = by["chat some-model"]
    want = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "some-model",
            "gen_ai.request.temperature": 0.5, "gen_ai.request.max_tokens": 7, "gen_ai.request.stop_sequences": ["END"],
            "gen_ai.response.id": "answer-1", "gen_ai.response.model": "some-model-2026", "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 5}
    got = facts(chat)
    check("facts of a model call", {k: got.get(k) for k in want} == want and chat["kind"] == 3, got)
    check("the request names the span", t.c.parents == ["00-%s-%s-01" % (chat["traceId"], chat["spanId"])], t.c.parents)
    text = b"".join(t.c.bodies).decode()
    check("no content unless it is asked for", "the question" not in text and "the answer" not in text and "loud" not in text and
               "some data" not in text, text)
    check("no key", KEY not in text, text)


def test_content(t):
    t.run("--otlp", t.url, "--otlp-content", "-d", "key: %s" % KEY, "p.pdl")
    by = {s["name"]: facts(s) for s in t.c.spans()}
    asked = json.loads(by["chat some-model"]["gen_ai.input.messages"])
    said = json.loads(by["chat some-model"]["gen_ai.output.messages"])
    check("messages", asked[-1] == {"role": "user", "parts": [{"type": "text", "content": "the question"}]}, asked)
    check("the answer", said[0]["role"] == "assistant" and said[0]["parts"][0]["content"] == "the answer", said)
    check("results", "loud" in by["command echo"]["pdl.reply"] and "some data" in by["read"]["pdl.reply"], by)
    (t.work / "leak.pdl").write_text("text: [{lang: command, code: 'echo %s'}]\n" % KEY)
    t.run("--otlp", t.url, "--otlp-content", "leak.pdl")
    text = b"".join(t.c.bodies).decode()
    check("keys are replaced also in content", KEY not in text and "REDACTED" in text, text)


def test_environment(t):
    _, _, err = t.run("p.pdl", OTEL_EXPORTER_OTLP_ENDPOINT=t.c.base)
    check("nothing is sent unless it is asked for", not t.c.bodies and not err, err)
    t.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_ENDPOINT=t.c.base + "/", OTEL_EXPORTER_OTLP_HEADERS="x-one=a%20b, x-two=c",
             OTEL_SERVICE_NAME="my service", OTEL_RESOURCE_ATTRIBUTES="team=red,place=a%2Cb")
    check("the path is added to the environment's address", set(t.c.paths) == {"/v1/traces"}, t.c.paths)
    h = {k.lower(): v for k, v in t.c.headers[0].items()}
    check("headers", h.get("x-one") == "a b" and h.get("x-two") == "c" and h["content-type"] == "application/json", h)
    resource = {a["key"]: value(a["value"]) for a in json.loads(t.c.bodies[0])["resourceSpans"][0]["resource"]["attributes"]}
    check("resource", resource.get("service.name") == "my service" and resource.get("team") == "red" and resource.get("place") == "a,b", resource)
    t.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=t.c.base + "/other")
    check("the address of traces is whole", set(t.c.paths) == {"/other"}, t.c.paths)
    t.run("--otlp", t.c.base + "/mine", "p.pdl", OTEL_EXPORTER_OTLP_ENDPOINT=t.c.base)
    check("the option's address is whole", set(t.c.paths) == {"/mine"}, t.c.paths)
    t.run("--otlp", t.url, "p.pdl", OTEL_SDK_DISABLED="true")
    check("OTEL_SDK_DISABLED", not t.c.bodies)
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    t.run("--otlp", t.url, "p.pdl", TRACEPARENT="00-%s-%s-01" % (trace, parent))
    spans = t.c.spans()
    check("TRACEPARENT continues a trace", {s["traceId"] for s in spans} == {trace} and
               [s for s in spans if s.get("parentSpanId") == parent and s["name"] == "pdl p.pdl"], spans[-1:])
    t.run("--otlp", t.url, "p.pdl", TRACEPARENT="00-%s-%s-00" % (trace, parent))
    check("one that is not wanted is handed on, not sent", not t.c.bodies and t.c.parents[0].startswith("00-" + trace) and
               t.c.parents[0].endswith("-00"), t.c.parents)
    t.run("--otlp", t.url, "p.pdl", TRACEPARENT="00-junk")
    check("a bad one is ignored", len({s["traceId"] for s in t.c.spans()}) == 1 and t.c.spans()[0]["traceId"] != trace)


def test_handed_on(t):
    """The trace context: traceparent and tracestate, to services of models and to tool servers."""
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    (t.work / "server.py").write_text(TOOL_SERVER)
    (t.work / "servers.json").write_text(json.dumps({"mcpServers": {"s": {"command": sys.executable, "args": ["-I", "-S", str(t.work / "server.py")],
                                                                            "cwd": str(t.work)}}}))
    (t.work / "tool.pdl").write_text("defs: {s: {import: 'mcp:s'}}\ntext: [\"${ s.echo('hi') }\", {model: openai/some-model, input: hi}]\n")
    given = {"PDL_MCP_CONFIG": str(t.work / "servers.json"), "TRACEPARENT": "00-%s-%s-01" % (trace, parent)}
    meta = t.work / "meta"
    code, out, err = t.run("tool.pdl", **given)
    check("without telemetry nothing is handed on", code == 0 and meta.read_text() == "null\n" and t.c.parents == [None], (err, meta.read_text()))
    meta.unlink()
    code, out, err = t.run("--otlp", t.url, "tool.pdl", TRACESTATE="one=1,two=2", **given)
    spans = {s["name"]: s for s in t.c.spans()}
    tool = [s for n, s in spans.items() if n == "execute_tool echo"]
    got = json.loads(meta.read_text())
    check("a tool server gets the trace", code == 0 and len(tool) == 1 and
               got == {"traceparent": "00-%s-%s-01" % (trace, tool[0]["spanId"]), "tracestate": "one=1,two=2"}, (code, err, got, list(spans)))
    check("a model gets what others keep in it", t.c.states == ["one=1,two=2"] and t.c.parents[0].startswith("00-" + trace), t.c.states)
    check("so do the spans", {s.get("traceState") for s in spans.values()} == {"one=1,two=2"}, spans)
    meta.unlink()
    t.run("--otlp", t.url, "tool.pdl", PDL_MCP_CONFIG=given["PDL_MCP_CONFIG"], TRACESTATE="one=1")
    got = json.loads(meta.read_text())
    check("without a parent there is no state", list(got) == ["traceparent"] and t.c.states == [None], (got, t.c.states))


def test_handed_on_by_http(t):
    """Tool servers over HTTP have it as headers, too, unless their configuration says otherwise."""
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    file = t.work / "http_servers.json"
    given = {"PDL_MCP_CONFIG": str(file), "TRACEPARENT": "00-%s-%s-01" % (trace, parent), "TRACESTATE": "one=1"}
    file.write_text(json.dumps({"mcpServers": {"s": {"url": t.c.base + "/mcp"}}}))
    (t.work / "far.pdl").write_text("defs: {s: {import: 'mcp:s'}}\ntext: [\"${ s.echo('hi') }\"]\n")
    code, out, err = t.run("far.pdl", **given)
    check("without telemetry there is none", code == 0 and {t[1:] for t in t.c.tools} == {(None, None)}, (err, t.c.tools))
    code, out, err = t.run("--otlp", t.url, "far.pdl", **given)
    spans = t.c.spans()
    tool = [s["spanId"] for s in spans if s["name"] == "execute_tool echo"]
    got = {m: (p, st) for m, p, st in t.c.tools}
    check("the call has that of its span", code == 0 and len(tool) == 1 and
               got.get("tools/call") == (["00-%s-%s-01" % (trace, tool[0])], ["one=1"]), (code, err, got, spans))
    ids = {s["spanId"] for s in spans}
    check("handshake and list have that of what waits for them", all(p and p[0][3:35] == trace and p[0][36:52] in ids for p, _ in got.values()), got)
    file.write_text(json.dumps({"mcpServers": {"s": {"url": t.c.base + "/mcp", "headers": {"TraceParent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}}}}))
    code, out, err = t.run("--otlp", t.url, "far.pdl", **given)
    check("the configuration wins", code == 0 and {str(t[1:]) for t in t.c.tools} == {str((["00-" + "1" * 32 + "-" + "2" * 16 + "-01"], None))}, t.c.tools)


def test_trouble(t):
    t.run("--otlp", t.url, "bad.pdl")
    by = {s["name"]: s for s in t.c.spans()}
    call = by["chat broken"]
    check("a call that failed", call.get("status") == {"code": 2} and facts(call).get("error.type") == "bad_request", call)
    check("so did the run", by["pdl bad.pdl"].get("status") == {"code": 2}, by)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        dead = "http://127.0.0.1:%d/v1/traces" % s.getsockname()[1]  # bound, and nobody listens
        code, out, err = t.run("--otlp", dead, "many.pdl")
    check("a dead collector costs one note", code == 0 and out == "done\n" and err.count("\n") == 1 and "traces are not sent" in err, (code, out, err))
    t.c.status = 503
    code, out, err = t.run("--otlp", t.url, "many.pdl")
    check("one that refuses too", code == 0 and err.count("\n") == 1 and "503" in err, (code, err))
    t.c.status, t.c.silent = 200, True
    start = time.monotonic()
    code, out, err = t.run("--otlp", t.url, "p.pdl")
    seconds = time.monotonic() - start
    t.c.silent = False
    check("one that is silent is not waited for", code == 0 and seconds < 20 and "did not take them" in err, (code, seconds, err))
    code, _, err = t.run("p.pdl", PDL_OTLP="1", OTEL_EXPORTER_OTLP_PROTOCOL="grpc", OTEL_EXPORTER_OTLP_ENDPOINT=t.c.base)
    check("gRPC is refused with a note", code == 0 and err.count("\n") == 1 and "gRPC" in err and not t.c.bodies, (code, err))
    code, _, err = t.run("--otlp", "collector:4318", "p.pdl")
    check("an address that is none", code == 2 and "whole address" in err, (code, err))
    code, _, err = t.run("--otlp", "http://user:secret-word@127.0.0.1:1/x", "p.pdl")
    check("a password in the address is not shown", code == 0 and "secret-word" not in err and "not sent" in err, err)


def test_many(t):
    for name, most in (("many.pdl", SPANS + 1), ("names.pdl", 2001)):
        code, _, err = t.run("--otlp", t.url, name)
        spans = t.c.spans()
        complete = len(spans) == most or ("did not take them" in err and len(spans) < most)
        check("%s: every span, once" % name, code == 0 and complete and len({s["spanId"] for s in spans}) == len(spans), (code, err, len(spans)))
        check("%s: in batches" % name, 1 < len(t.c.bodies) < most / 100, len(t.c.bodies))


def test_others(t):
    code, _, err = t.run("--durable", "--id", "one", "--otlp", t.url, "p.pdl")
    root = [facts(s) for s in t.c.spans() if s["name"] == "pdl p.pdl"]
    check("a durable run has its id", code == 0 and root and root[0].get("pdl.run.id") == "one", (err, root))
    t.run("resume", "one", "--otlp", t.url)
    check("also when it is resumed", [s for s in t.c.spans() if facts(s).get("pdl.run.id") == "one"])
    t.c.clear()
    p, port = serve_of.start(t.pdl, "--otlp", t.url, str(t.work / "p.pdl"), env=t.env())
    for _ in range(2):
        h = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        h.request("POST", "/v1/chat/completions", json.dumps({"model": "p", "messages": [{"role": "user", "content": "x"}]}),
                  {"content-type": "application/json"})
        check("a request is served", h.getresponse().status == 200)
    p.send_signal(signal.SIGTERM)
    p.wait(timeout=60)
    roots = [s for s in t.c.spans() if s["name"] == "pdl p"]
    check("each request of a server is a trace", len(roots) == 2 and len({s["traceId"] for s in roots}) == 2, [s["name"] for s in t.c.spans()])


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.memory(False)
def test_classes(t, build):
    """The same bodies by the classes that collectors are made from."""
    t.run("--otlp", t.url, "--otlp-content", "p.pdl")
    exe, why = venv_of.python(build, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", name="test-otlp", wanted=["opentelemetry-proto"])
    if not exe:
        skip("the classes of collectors", why)
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
    p = subprocess.run([exe, "-c", script], input=t.c.bodies[0], capture_output=True, timeout=60, check=False)
    check("opentelemetry-proto reads it, without an unknown field", p.stdout.decode().split() == ["True", "7"], (p.stdout, p.stderr[-1500:]))


AGENT = """
defs:
  qwen: {import: lib/react/qwen}
  weather: {description: Weather of a city, function: {city: string}, return: "sun in ${ city }"}
  out: {call: "${ qwen.run }", args: {model: openai/some-model, query: how is it, tools: ["${ weather }"], max_steps: 2}}
text: "${ out.answer }"
"""


def test_library(t):
    """What runs inside of the library has no span unless it is asked for; calls from outside, tools of the program and what leaves the process have."""
    (t.work / "agent.pdl").write_text(AGENT)
    code, out, err = t.run("--otlp", t.url, "agent.pdl")
    names = sorted(s["name"] for s in t.c.spans())
    calls = names.count("chat some-model")
    check("spans of the program", code in (0, 1) and set(names) == {"chat some-model", "out", "pdl agent.pdl", "qwen", "run"} | ({"weather"} & set(names)) and calls and
          len(names) <= 5 + calls, names, err)
    few = len(names)
    t.run("--otlp", t.url, "--otlp-all", "agent.pdl")
    names = [s["name"] for s in t.c.spans()]
    check("all of them", len(names) > 5 * few and "source" in names, len(names), few)


CALLED = "dict(id='1', function=dict(name='value', arguments=dict(input='6*7')))"
HANDED = (("a call of a model", "${ stdlib.tool_answer(%s, [calc.value]) }" % CALLED, "tool_answer"),
          ("a record", "${ form.apply(form.all([dict(name='c', run=calc.value)])[0], '6*7').split()[-1] }", "all apply"),
          ("the program itself", "${ calc.value('6*7') }", ""))


@pytest.mark.parametrize("name,text,around", HANDED, ids=[h[0] for h in HANDED])
def test_tools_of_the_library(t, name, text, around):
    """A function of the library that the program hands to the library as a tool has a span for each of its calls."""
    (t.work / "handed.pdl").write_text("defs:\n  calc: {import: lib/tools/calculator}\n  form: {import: lib/tools/form}\ntext: \"%s\"\n" % text)
    code, out, err = t.run("--otlp", t.url, "handed.pdl")
    names = sorted(s["name"] for s in t.c.spans())
    check(name, (code, out.strip(), names) == (0, "42", sorted(["pdl handed.pdl", "calc", "form", "value", *around.split()])), names, out, err)


def test_calls_of_one_expression(t):
    (t.work / "calls.pdl").write_text('defs: {twice: {function: {x: integer}, return: "${ 2 * x }"}}\ntext: "${ twice(2) }${ twice(3) }"\n')
    code, out, err = t.run("--otlp", t.url, "calls.pdl")
    names = sorted(s["name"] for s in t.c.spans())
    check("each call has a span", (code, out.strip(), names) == (0, "46", ["pdl calls.pdl", "twice", "twice"]), names, out, err)


def test_runs_beside_others(t):
    """Rows and particles are runs with the name of their program, and what they ask of models has a span, also where a particle is a copy of a run."""
    (t.work / "rows.pdl").write_text('text:\n- {def: plan, model: openai/some-model, input: "the question ${ n | default(0) }"}\n- {factor: 0.5}\n')
    (t.work / "rows.jsonl").write_text('{"n": 1, "want": "x"}\n{"n": 2, "want": "x"}\n')
    (t.work / "some.pdl").write_text('defs: {style: a}\nmodel: openai/some-model\ninput: "${ style } ${ n }"\n')
    (t.work / "nine.jsonl").write_text("".join('{"n": %d, "want": "x"}\n' % n for n in range(9)))
    for args, runs, calls in ((("batch", "rows.pdl", "-i", "rows.jsonl", "-o", "out.jsonl"), 2, 2), (("eval", "rows.pdl", "-i", "rows.jsonl", "--expect", "want"), 2, 2),
                              (("optimize", "some.pdl", "--data", "nine.jsonl", "--expect", "want", "--vary", "style=a,b", "-o", "best.pdl"), 9, None),
                              (("infer", "rows.pdl", "-n", "3"), 3, 3), (("infer", "rows.pdl", "-n", "3", "--algo", "is", "--jobs", "1"), 3, 3)):
        code, out, err = t.run(args[0], "--otlp", t.url, *args[1:])
        names = [s["name"] for s in t.c.spans()]
        check(" ".join(args), code == 0 and (calls is None or names.count("chat some-model") == calls) and names.count("pdl " + args[1]) >= runs and not any(n.endswith(" ") for n in names),
              names, err)
        check("a metric of ours has no spans", not [n for n in names if n in ("pdl metric.pdl", "text_of", "fits")], names)
        asked = [s for s in t.c.spans() if s["name"] == "chat some-model"]
        ids = {s["spanId"] for s in t.c.spans()}
        check("each has its run around it", all(s["parentSpanId"] in ids for s in asked), asked)
