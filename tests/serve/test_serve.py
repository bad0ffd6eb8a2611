# SPDX-License-Identifier: Apache-2.0
"""pdl serve over real sockets: answers, streams, errors, clients that are slow or disconnect, many clients at a time; also the official `openai`
client and the reference interpreter as clients."""
import concurrent.futures
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from http.server import ThreadingHTTPServer

import pytest

from .. import http_of, serve_of, venv_of
from ..checks import check
from ..harness.choice import Choice
from .kit import NO_TEXT, PDL, exchange, post, written

PROGRAMS = {
    "echo": 'text: "You said: ${ question }"\n',
    "shape": 'data: {question: "${ question }", n: "${ messages | length }", context: "${ pdl_context | length }",'
             ' t: "${ request.temperature }", keys: "${ request.keys() | list }", given: "${ given | default(none) }"}\n',
    "fails": 'text: ["begun ", "${ no.such.name }"]\n',
    "late": 'text: ["begun ", {model: openai/fails}]\n',
    "talk": 'text: ["A:", {model: openai/talker}, {model: openai/talker}]\n',
    "tool": 'lastOf: [{role: assistant, content: "", tool_calls: [{id: c1, type: function, function: {name: f, arguments: "{}"}}]}]\n',
    "tool-bare": 'lastOf: [{role: assistant, content: "", tool_calls: [{function: {name: f, arguments: {a: 1}}}]}]\n',
    "agent": 'model: openai/agent\nparameters: {tools: "${ request.tools | default(none) }"}\n',
    "agent-text": 'text: ["", {model: openai/agent, parameters: {tools: "${ request.tools }"}}]\n',
    "agent-last": 'lastOf: [x, {model: openai/agent, parameters: {tools: "${ request.tools }"}}]\n',
    "agent-if": 'if: true\nthen: {model: openai/agent, parameters: {tools: "${ request.tools }"}}\n',
    "agent-call": 'defs: {f: {function: {}, return: {model: openai/agent}}}\ncall: ${ f }\n',
    "agent-result": 'text: [{model: openai/agent, contribute: [result]}]\n',
    "agent-variable": 'lastOf: [{def: a, model: openai/agent, contribute: []}, "${ a }"]\n',
    "agent-seen": 'text: [{def: a, model: openai/agent}, {if: "${ pdl_context[-1].tool_calls | length > 3 }", then: x}]\n',
    "agent-before": 'text: [{model: openai/agent}, done]\n',
    "cut": 'model: openai/cut\n',
    "cut-text": 'text: ["", {model: openai/cut}]\n',
    "cut-more": 'text: ["so: ", {model: openai/cut}]\n',
    "refusal": 'model: openai/refusal\n',
    "status": 'model: "openai/status-${ question }"\nparameters: {num_retries: 0}\n',
    "limits": 'text: "${ max_tokens } ${ stop | upper }"\n',
    "words": 'text: [one two, " three ", "four äöü five six"]\n',
    "late-words": 'text: ["on", "e t", "wo thr", "ee"]\n',
    "slow": 'text: [first, {model: openai/slow}]\n',
    "big": 'text: {for: {i: "${ range(4000) | list }"}, repeat: "${ \'x\' * 10000 }"}\n',
    "forever": 'repeat: {text: ""}\nwhile: true\n',
    "reads": 'text: {read: null, fallback: no input}\n',
    "many": 'text: {for: {i: [1, 2, 3]}, repeat: {model: openai/talker, input: "many ${ i }"}}\n',
    "inside": "lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result = exec_str('{model: openai/talker, input: inside}')\n",
    "inside-slow": "lang: python\ncode: |\n  from pdl.pdl import exec_str\n  result = exec_str('{model: openai/slow, input: inside}')\n",
    "secret": 'text: "${ stdlib.fail(\'token is t0psecret-value\') }"\n',
}
opened = []             # requests that reached the model and are open
asked = []              # names of the models that were asked


AGENT = {"role": "assistant", "content": None, "reasoning_content": "let me see",
         "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
LOGPROBS = {"content": [{"token": "he", "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
MESSAGES = {   # of models that say one thing: message, finish_reason, logprobs
    "agent": (AGENT, "tool_calls", None),
    "cut": ({"role": "assistant", "content": "he"}, "length", LOGPROBS),
    "refusal": ({"role": "assistant", "content": "", "refusal": "I may not"}, "content_filter", None),
}


class Model(http_of.Quiet):
    """openai/talker says "hello world" in pieces, openai/slow takes its time, openai/fails refuses."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.body())
        asked.append(body["model"])
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        if body["model"].startswith("status-"):
            status = int(body["model"][7:])
            return self.send(status, {"error": {"message": "refused"}}, {"Retry-After": "7"} if status == 429 else {})
        if body["model"] == "fails":
            return self.send(400, {"error": {"message": "no such thing"}})
        if body["model"] == "slow":
            opened.append(self)
            try:
                self.connection.settimeout(20)
                if self.connection.recv(1) == b"":
                    opened.remove(self)
            except OSError:
                pass
            self.close_connection = True
            return None
        message, finish, logprobs = MESSAGES.get(body["model"], ({"role": "assistant", "content": "hello world"}, "stop", None))
        if not body.get("stream"):
            return self.send(200, {"choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": logprobs}], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        if body["model"] in MESSAGES:
            delta = {k: [{**c, "index": 0} for c in v] if k == "tool_calls" else v for k, v in message.items()}
            self.event({"choices": [{"index": 0, "delta": delta, "logprobs": logprobs}]})
        for piece in ("hello", " world") if body["model"] not in MESSAGES else ():
            self.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
            time.sleep(0.02)
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True
        return None

    def event(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def send(self, status, value, headers=()):
        self.reply(json.dumps(value).encode(), status=status, headers=dict(headers).items())


class Models(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, address):
        pass


@pytest.fixture
def url():
    """The address of the models."""
    model = Models(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, args=(0.02,), daemon=True).start()
    return "http://127.0.0.1:%d/v1" % model.server_address[1]


@pytest.fixture
def programs(folder):
    return written(folder, PROGRAMS)


@pytest.fixture
def s(programs, url):
    server = Server(programs, url)
    yield server
    code, err = server.close()
    assert (code, err.replace(NO_TEXT, "")) == (0, ""), "the server ends"


class Server:
    def __init__(self, folder, model_url, *flags, **env):
        full = {**os.environ, "OPENAI_API_BASE": model_url, "OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "sk-none-needed",
                "MY_SECRET": "t0psecret-value", **env}
        files = [str(folder / (n + ".pdl")) for n in PROGRAMS]
        self.p, self.port = serve_of.start(PDL, *flags, *files, env=full)

    def ask(self, method, path, body=None, headers=None, timeout=30):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
            c.request(method, path, data, headers or {})
            r = c.getresponse()
            return r.status, dict((k.lower(), v) for k, v in r.getheaders()), r.read()
        finally:
            c.close()

    def chat(self, model, text="hi", timeout=30, headers=None, **more):
        return self.ask("POST", "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": text}], **more},
                        headers, timeout)

    def socket(self, model, stream=False):
        """A connection on which a request has been sent."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        body = json.dumps({"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}).encode()
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        return s

    def memory(self):
        with open("/proc/%d/status" % self.p.pid, encoding="utf-8") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))

    def close(self):
        self.p.terminate()
        code = self.p.wait(20)
        rest = self.p.stderr.read()
        self.p.stderr.close()
        return code, rest


def events(data):
    return [e[6:] for e in data.decode().split("\n\n") if e.startswith("data: ")]


def content(reply):
    return json.loads(reply[2])["choices"][0]["message"]["content"]


def test_answers(s):
    r = s.chat("echo", "hello")
    v = json.loads(r[2])
    check("answer", r[0] == 200 and content(r) == "You said: hello" and v["object"] == "chat.completion" and v["model"] == "echo" and
          v["choices"][0]["finish_reason"] == "stop" and v["id"].startswith("chatcmpl-"), r)
    r = s.ask("POST", "/v1/chat/completions", {"model": "shape", "temperature": 0.5, "messages": [
        {"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "tool_calls": []}]})
    check("variables", r[0] == 200 and json.loads(content(r)) ==
          {"question": "ab", "n": 3, "context": 3, "t": 0.5, "keys": ["model", "temperature"], "given": None}, r)
    r = s.chat("talk")
    check("model inside", content(r) == "A:hello worldhello world" and
          json.loads(r[2])["usage"] == {"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10}, r)
    r = s.chat("tool")
    c = json.loads(r[2])["choices"][0]
    check("tool calls", c["finish_reason"] == "tool_calls" and c["message"]["tool_calls"][0]["function"]["name"] == "f" and
          c["message"]["content"] is None, r)
    r = [content(s.chat("inside")) for _ in range(3)]
    check("programs inside code", r == ["hello world"] * 3, r)
    check("standard input is at its end", content(s.chat("reads")) == "no input")
    models = json.loads(s.ask("GET", "/v1/models")[2])
    check("models", models["object"] == "list" and [m["id"] for m in models["data"]] == list(PROGRAMS) and
          models["data"][0]["owned_by"] == "pdl", models)
    check("a slash at the end", json.loads(s.ask("GET", "/v1/models/")[2]) == models and s.ask("GET", "/health/")[0] == 200 and s.ask("PUT", "/v1/models/", b"")[0] == 405)
    check("no name", [s.ask("GET", p)[0] for p in ("/v1/responses//", "/v1/models//", "//")] == [404] * 3)
    check("one model and a slash", s.ask("GET", "/v1/models/echo/")[2] == s.ask("GET", "/v1/models/echo")[2] and s.ask("GET", "/v1/models/echo//")[0] == 404)
    check("one model", json.loads(s.ask("GET", "/v1/models/echo")[2])["id"] == "echo")
    check("health", s.ask("GET", "/health")[0] == 200)


def test_streams(s):
    r = s.chat("talk", stream=True, stream_options={"include_usage": True})
    e = events(r[2])
    v = [json.loads(x) for x in e[:-1]]
    deltas = [c["delta"] for x in v for c in x["choices"]]
    check("stream", r[1]["content-type"] == "text/event-stream" and e[-1] == "[DONE]" and deltas[0] == {"role": "assistant", "content": ""} and
          "".join(d.get("content", "") for d in deltas) == "A:hello worldhello world" and len(deltas) > 5 and
          v[-2]["choices"][0]["finish_reason"] == "stop" and v[-1]["choices"] == [] and v[-1]["usage"]["total_tokens"] == 10 and
          {x["usage"] for x in v[:-1]} == {None}, r)
    v = [json.loads(x) for x in events(s.chat("tool", stream=True)[2])[:-1]]
    check("stream of tool calls", v[-2]["choices"][0]["delta"]["tool_calls"][0]["index"] == 0 and
          v[-1]["choices"][0]["finish_reason"] == "tool_calls", v)
    r = s.chat("late", stream=True)
    last = json.loads(events(r[2])[-1])
    check("error in a stream", r[0] == 200 and "no such thing" in last["error"]["message"] and last["error"]["code"] == "bad_request", r)
    c = s.socket("slow", True)
    data = b""
    while b"first" not in data:
        data += c.recv(4096)
    check("text comes before the end", b"chat.completion.chunk" in data)
    c.close()


def gathered(reply):
    """A stream as the one choice of a whole answer."""
    out = {"message": {}, "finish_reason": None, "logprobs": None}
    for piece in (json.loads(x) for x in events(reply[2])[:-1]):
        for c in piece["choices"]:
            for k, v in c["delta"].items():
                if k == "tool_calls":
                    out["message"][k] = [{n: x for n, x in call.items() if n != "index"} for call in v]
                else:
                    out["message"][k] = v if k == "role" else (out["message"].get(k) or "") + v
            out["logprobs"] = c["logprobs"] or out["logprobs"]
            out["finish_reason"] = c["finish_reason"] or out["finish_reason"]
    return out


def told(s, name, **more):
    """What a program answers, whole and in pieces: (message, finish_reason, logprobs) of each."""
    whole, pieces = json.loads(s.chat(name, **more)[2])["choices"][0], gathered(s.chat(name, stream=True, **more))
    for c in (whole, pieces):
        c["message"] = {k: v for k, v in c["message"].items() if v}
    return [(c["message"], c["finish_reason"], c["logprobs"]) for c in (whole, pieces)]


def test_model_answers(s):
    """What a model says beside its text reaches the client, where it gives the result."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    want = ({k: v for k, v in AGENT.items() if v}, "tool_calls", None)
    for name in ("agent", "agent-text", "agent-last", "agent-if", "agent-call", "agent-result", "agent-variable", "agent-seen"):
        got = told(s, name, tools=tools)
        check("calls of a model: " + name, got == [want, want], got)
    got = told(s, "agent-before", tools=tools)
    check("a model that does not give the result", got == [({"role": "assistant", "content": "done"}, "stop", None)] * 2, got)
    for name, text, logprobs in (("cut", "he", LOGPROBS), ("cut-text", "he", LOGPROBS), ("cut-more", "so: he", None)):
        got = told(s, name)
        check("end and logprobs of a model: " + name, got == [({"role": "assistant", "content": text}, "length", logprobs)] * 2, got)
    got = told(s, "refusal")
    check("refusal of a model", got == [({"role": "assistant", "refusal": "I may not"}, "content_filter", None)] * 2, got)
    got = told(s, "agent")
    check("no tools in the request", got == [want, want], got)
    for message, reason, _ in told(s, "tool-bare"):
        call = message["tool_calls"][0]
        check("calls of a program are made complete", call["type"] == "function" and call["id"].startswith("call_") and
              json.loads(call["function"]["arguments"]) == {"a": 1} and reason == "tool_calls", message)


# status of the service, of the answer, kind, Retry-After, x-should-retry
UPSTREAM = [(401, 502, "auth", None, "false"), (403, 502, "permission", None, "false"), (404, 502, "not_found", None, "false"),
            (400, 502, "bad_request", None, "false"), (500, 502, "server", None, "false"), (429, 429, "rate_limit", "7", None)]


def test_failures(programs, url):
    """A run that failed is not to be run again; what a service refused is reported as such, also before a stream has begun."""
    s = Server(programs, url)     # of its own: a service that said 429 is asked slowly for a while
    for status, told, kind, after, again in UPSTREAM:
        for stream in (False, True):
            r = s.chat("status", str(status), stream=stream)
            check("the service says %d%s" % (status, ", a stream" if stream else ""),
                  r[0] == told and json.loads(r[2])["error"]["code"] == kind and r[1].get("retry-after") == after and r[1].get("x-should-retry") == again, r)
    short = Server(programs, url, "--request-time", "5")
    for stream in (False, True, False):     # from the second on the service is not asked: it wants nothing yet
        r = short.chat("status", "429", stream=stream)
        check("the service asks to wait longer than a request may last" + ", a stream" * stream,
              r[0] == 429 and json.loads(r[2])["error"]["code"] == "rate_limit" and r[1].get("retry-after") in ("6", "7"), r)
    short.close()
    r = s.chat("fails")
    check("the program fails", r[0] == 500 and r[1].get("x-should-retry") == "false" and json.loads(r[2])["error"]["code"] == "expression", r)
    r = s.chat("none")
    check("other errors do not say it", r[0] == 404 and "x-should-retry" not in r[1], r)
    s.close()


# program, what is asked, text, reason of the end
CUTS = [
    ("words", {}, "one two three four äöü five six", "stop"), ("words", {"stop": "three"}, "one two ", "stop"),
    ("words", {"stop": ["five", "two"]}, "one ", "stop"), ("words", {"stop": "seven"}, "one two three four äöü five six", "stop"),
    ("words", {"stop": "sixty"}, "one two three four äöü five six", "stop"), ("words", {"stop": "o three"}, "one tw", "stop"),
    ("words", {"max_tokens": 1}, "one ", "length"), ("words", {"max_completion_tokens": 5}, "one two three four ", "length"),
    ("words", {"max_tokens": 100}, "one two three four äöü five six", "stop"), ("words", {"max_tokens": 2, "stop": "n"}, "o", "stop"),
    ("late-words", {"stop": ["two three"]}, "one ", "stop"), ("late-words", {"stop": ["two thref"]}, "one two three", "stop"),
    ("talk", {"max_tokens": 1}, "A:hello worldhello world", "stop"), ("talk", {"stop": "wor"}, "A:hello ", "stop"),
    ("cut", {"stop": "x"}, "he", "length"),
]


def test_cuts(s):
    """max_tokens and stop reach the program, and hold for a text that no model made."""
    r = s.chat("limits", max_tokens=700, stop="abc")
    check("limits are variables", content(r) == "700 ABC", r)
    check("and null without", content(s.chat("limits")) == "None NONE")
    for name, asks, text, reason in CUTS:
        got = told(s, name, **asks)
        check("%s with %s" % (name, asks), [(x[0].get("content"), x[1]) for x in got] == [(text, reason)] * 2, got)
    for stop in ([1], [""], "", ["a"] * 5, "a" * 1001):
        r = s.chat("words", stop=stop)
        check("stop is %s" % str(stop)[:10], r[0] == 400 and "stop should be" in json.loads(r[2])["error"]["message"], r)


def test_choices(s):
    r = s.chat("talk", n=3)
    v = json.loads(r[2])
    check("n choices", [c["index"] for c in v["choices"]] == [0, 1, 2] and
          {c["message"]["content"] for c in v["choices"]} == {"A:hello worldhello world"} and v["usage"]["total_tokens"] == 30, r)
    v = [json.loads(x) for x in events(s.chat("talk", stream=True, n=2, stream_options={"include_usage": True})[2])[:-1]]
    said, ends = {0: "", 1: ""}, []
    for c in (c for x in v for c in x["choices"]):
        said[c["index"]] += c["delta"].get("content", "")
        ends += [c["index"]] if c["finish_reason"] else []
    check("n choices in pieces", set(said.values()) == {"A:hello worldhello world"} and sorted(ends) == [0, 1] and v[-1]["usage"]["total_tokens"] == 20, v)
    for n in (0, 129, -1, 1.5, "2", True):
        r = s.chat("echo", n=n)
        check("n is %r" % (n,), r[0] == 400 and "n should be a whole number from 1 to 128" in json.loads(r[2])["error"]["message"], r)
    check("n is null", len(json.loads(s.chat("echo", n=None)[2])["choices"]) == 1)
    r = s.chat("late", n=2)
    check("one choice fails", r[0] == 502 and "no such thing" in json.loads(r[2])["error"]["message"], r)


# name, method, path, body, headers, status, text of the message
REFUSED = [
    ("path", "GET", "/nothing?a=b", None, {}, 404, "GET /nothing: there is nothing at this path"),
    ("method", "PUT", "/v1/models", b"", {}, 405, "PUT /v1/models: this path takes GET, HEAD"),
    ("no such model", "POST", "/v1/chat/completions", {"model": "x", "messages": [{"role": "user", "content": ""}]}, {}, 404, "The model `x` does not exist"),
    ("no such card", "GET", "/v1/models/x", None, {}, 404, "The model `x` does not exist"),
    ("model missing", "POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": ""}]}, {}, 400, "you must provide a model"),
    ("not JSON", "POST", "/v1/chat/completions", b"{", {}, 400, "not JSON"),
    ("no object", "POST", "/v1/chat/completions", b"[]", {}, 400, "should be an object"),
    ("no messages", "POST", "/v1/chat/completions", {"model": "echo"}, {}, 400, "Missing required parameter: 'messages'"),
    ("empty messages", "POST", "/v1/chat/completions", {"model": "echo", "messages": []}, {}, 400, "at least one"),
    ("message is none", "POST", "/v1/chat/completions", {"model": "echo", "messages": [1]}, {}, 400, "expected an object, but got an integer"),
    ("no role", "POST", "/v1/chat/completions", {"model": "echo", "messages": [{"content": "a"}]}, {}, 400, "expected a string, but got null"),
    ("content is a number", "POST", "/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": 1}]}, {}, 400, "expected a string or an array, but got an integer"),
    ("deep", "POST", "/v1/chat/completions", b"[" * 100000, {}, 400, "not JSON"),
    ("program fails", "POST", "/v1/chat/completions", {"model": "fails", "messages": [{"role": "user", "content": ""}]}, {}, 500, "'no' is undefined"),
    ("secrets", "POST", "/v1/chat/completions", {"model": "secret", "messages": [{"role": "user", "content": ""}]}, {}, 500, "token is [REDACTED]"),
    ("foreign page", "GET", "/v1/models", None, {"Origin": "http://evil.example"}, 403, "only programs of this machine"),
    ("foreign name", "GET", "/v1/models", None, {"Host": "evil.example"}, 403, "only programs of this machine"),
    ("page of this machine", "GET", "/v1/models/echo", None, {"Host": "localhost:1", "Origin": "http://localhost:1"}, 200, ""),
    ("said too long", "POST", "/v1/chat/completions", b"", {"Content-Length": "99999999999"}, 413, "too long"),
]


def test_refusals(s):
    for name, method, path, body, headers, status, text in REFUSED:
        r = s.ask(method, path, body, headers)
        v = json.loads(r[2])
        good = r[0] == status and (status == 200 or (text in v["error"]["message"] and "type" in v["error"]))
        check("refused: " + name, good, r)
    check("allow", s.ask("PUT", "/v1/models", b"")[1].get("allow"))
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
    try:
        c.request("POST", "/v1/chat/completions", (b"x" * 65536 for _ in range(1024)), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        good = c.getresponse().status >= 400
    except OSError:
        good = True     # the connection was cut
    check("endless body", good and s.chat("echo")[0] == 200)
    raw = socket.create_connection(("127.0.0.1", s.port), timeout=30)
    raw.sendall(b"GET / HTTP/1.1\r\n" + b"A: " + b"b" * 100000)
    try:
        got = raw.recv(100)
    except OSError:
        got = b""
    check("endless header", got == b"" or b" 4" in got, got)
    raw.close()


def test_bad_clients(s):
    before = len(opened)
    socks = [s.socket("slow", i % 2 == 0) for i in range(20)]
    until(lambda: len(opened) == before + 20)
    reached = len(opened)
    for c in socks:
        c.close()
    until(lambda: len(opened) == before)
    check("clients that go away end their runs", reached == before + 20 and len(opened) == before, (reached, len(opened)))
    inside = s.socket("inside-slow")
    until(lambda: len(opened) == before + 1)
    reached = len(opened)
    inside.close()
    until(lambda: len(opened) == before)
    check("and the programs that its code runs", reached == before + 1 and len(opened) == before and content(s.chat("inside")) == "hello world", reached)
    slow = [s.socket("big", True) for _ in range(4)]        # they take nothing of 40 MB each
    time.sleep(1)
    memory = s.memory()
    check("slow readers do not fill the memory", memory < 100000 or Choice.sanitized, memory)
    check("slow readers hinder nobody", content(s.chat("echo", "x", timeout=10)) == "You said: x")
    letters, end = 0, b""
    while not end.endswith(b"0\r\n\r\n") and (piece := slow[0].recv(1 << 20)):
        letters, end = letters + piece.count(b"x"), (end + piece)[-100:]
    check("a slow reader gets all", letters >= 40000000 and b"[DONE]" in end, letters, end)
    for c in slow:
        c.close()
    half = [socket.create_connection(("127.0.0.1", s.port), timeout=30) for _ in range(200)]
    for c in half:
        c.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
    check("clients in the middle of a request hinder nobody", s.chat("echo", timeout=10)[0] == 200)
    for c in half:
        c.close()
    busy = s.socket("forever")
    time.sleep(0.2)
    check("a busy program hinders nobody", s.chat("echo", timeout=20)[0] == 200)
    busy.close()
    piped = socket.create_connection(("127.0.0.1", s.port), timeout=30)
    piped.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 3)
    data = b""
    while data.count(b'{"status":"ok"}') < 3:
        piece = piped.recv(4096)
        if not piece:
            break
        data += piece
    check("requests one behind the other", data.count(b'{"status":"ok"}') == 3, data)
    piped.close()


def test_many_clients(s, scale):
    chat, n = "/v1/chat/completions", scale(300, 100)

    def one(k):
        good = 0
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
            for i in range(4):
                text = "client %d, %d" % (k, i)
                got = json.loads(exchange(c, post(chat, {"model": "echo", "messages": [{"role": "user", "content": text}]})))
                good += got["choices"][0]["message"]["content"] == "You said: " + text
        return good

    waiting = [s.socket("slow", True) for _ in range(n)]
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        good = sum(pool.map(one, range(n)))
    check("many clients beside as many that wait", good == 4 * n, good)
    for c in waiting:
        c.close()


def test_memory_is_flat(s):
    data, sizes = post("/v1/chat/completions", {"model": "echo", "messages": [{"role": "user", "content": "x"}]}), []
    with socket.create_connection(("127.0.0.1", s.port), timeout=30) as c:
        for _ in range(3):
            for _ in range(1500):
                exchange(c, data)
            sizes.append(s.memory())
    check("memory is flat", sizes[2] - sizes[1] < 300 or Choice.sanitized, sizes)


def test_limits(programs, url):
    s = Server(programs, url, "--max-requests", "2", "--max-waiting", "0", "--request-time", "2", "-d", "given: 7")
    socks = [s.socket("slow"), s.socket("slow")]
    time.sleep(0.3)
    r = s.chat("echo")
    check("too many requests", r[0] == 503 and r[1].get("retry-after") == "1" and json.loads(r[2])["error"]["code"] == "overloaded", r)
    data = b""
    while b"\r\n\r\n" not in data:
        piece = socks[0].recv(4096)
        if not piece:
            break
        data += piece
    check("time of a request", b" 504 " in data and b"did not end in time" in data, data)
    for c in socks:
        c.close()
    time.sleep(0.2)
    r = s.chat("echo", n=3)
    check("more choices than runs", r[0] == 400 and "from 1 to 2" in json.loads(r[2])["error"]["message"], r)
    r = s.chat("shape", temperature=1)
    check("variables of the command", json.loads(content(r))["given"] == 7, r)
    code, err = s.close()
    check("ends with SIGTERM", code == 0 and err == "", (code, err))


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def reply(sock):
    """Status and content of the answer that a socket waits for."""
    r = http.client.HTTPResponse(sock)
    r.begin()
    data = r.read()
    return r.status, json.loads(data) if data else None


def test_queue(programs, url):
    """Two at a time, four wait, the next is refused; who goes away leaves his place to others."""
    s = Server(programs, url, "--max-requests", "2", "--max-waiting", "4")
    before = len(opened)
    busy = [s.socket("slow") for _ in range(2)]
    until(lambda: len(opened) == before + 2)
    waiting = [s.socket("echo") for _ in range(4)]
    time.sleep(0.3)
    r = s.chat("echo", timeout=10)
    check("the queue is full", r[0] == 503 and r[1].get("retry-after") == "1", r)
    check("waiting hinders nobody else", s.ask("GET", "/health")[0] == 200)
    for c in waiting[:2]:
        c.close()
    time.sleep(0.3)
    waiting[:2] = [s.socket("echo"), s.socket("echo")]
    time.sleep(0.3)
    check("those who went away left their places", s.chat("echo", timeout=10)[0] == 503)
    busy[0].close()
    got = [reply(c) for c in waiting]
    check("those who waited are answered", all(x[0] == 200 and x[1]["choices"][0]["message"]["content"] == "You said: hi" for x in got), got)
    both = []
    asker = threading.Thread(target=lambda: both.append(s.chat("echo", n=2)))
    asker.start()
    time.sleep(0.3)
    check("who needs two places waits for two", not both)
    busy[1].close()
    asker.join(20)
    check("and gets them", both and both[0][0] == 200 and len(json.loads(both[0][2])["choices"]) == 2, both)
    for c in waiting:
        c.close()
    busy = [s.socket("slow") for _ in range(4)]
    time.sleep(0.3)
    s.p.send_signal(2)
    code, err = s.p.wait(20), s.p.stderr.read()
    check("ends with Ctrl-C while clients queue", code == 0 and err == "", (code, err))
    for c in busy:
        c.close()
    s = Server(programs, url, "--max-requests", "1", "--request-time", "1")
    first, second = s.socket("forever"), s.socket("echo")
    check("time ends in the queue, too", {reply(first)[0], reply(second)[0]} <= {504, 503, 200})
    first.close()
    second.close()
    s.close()


def test_run_options(programs, url):
    """What `pdl FILE` offers for calls of models."""
    wire, cache = programs / "wire.log", programs / "replies.db"
    s = Server(programs, url, "--budget", "calls=2", "--cache", str(cache), "--wire", str(wire), "--max-rps", "1000", "--timeout", "total=1")
    r = [s.chat("talk", n=2) for _ in range(2)]
    check("each run has its budget", [x[0] for x in r] == [200, 200], r)
    r = s.chat("many")
    check("a spent budget", r[0] == 500 and json.loads(r[2])["error"]["code"] == "budget", r)
    r = s.chat("slow")
    check("time of a model call", r[0] == 504 and r[1].get("x-should-retry") == "false" and json.loads(r[2])["error"]["code"] == "timeout", r)
    del asked[:]
    r = [s.chat("talk") for _ in range(3)]
    r += [s.chat("inside") for _ in range(2)]
    check("of programs inside code, too", asked == ["talker"] and content(r.pop()) == content(r.pop()) == "hello world", asked)
    del asked[:]
    check("a cache is shared by requests", not asked and {content(x) for x in r} == {"A:hello worldhello world"}, (asked, r))
    check("usage of what was cached", json.loads(r[0][2])["usage"]["total_tokens"] == 10, r[0])
    s.close()
    text = wire.read_text("utf-8")
    check("the wire", text.startswith("#1 > POST ") and "/chat/completions" in text and "#2 < HTTP/1.1 200" in text and "sk-none-needed" not in text, text[:300])
    rows = subprocess.run([PDL, "cache", "list", str(cache)], capture_output=True, text=True, timeout=30, check=False).stdout.splitlines()
    check("choices are repetitions", sorted(x.split()[6] for x in rows if "'A:'" in x or "'hello world'" in x) == ["#0", "#0", "#1", "#1"], rows)


def test_tokens(programs, url):
    (programs / "token").write_text("open-sesame\n", "utf-8")
    s = Server(programs, url, "--token-file", str(programs / "token"))
    check("token missing", s.ask("GET", "/v1/models")[0] == 401 and s.ask("GET", "/health")[0] == 200)
    check("token wrong", s.chat("echo", headers={"Authorization": "Bearer open-sesam"})[0] == 401)
    check("token right", s.chat("echo", headers={"Authorization": "Bearer open-sesame", "Host": "anywhere"})[0] == 200)
    s.close()
    p = subprocess.run([PDL, "serve", "--host", "0.0.0.0", str(programs / "echo.pdl")], capture_output=True, text=True, timeout=30, check=False)
    check("others need a token", p.returncode == 2 and "needs a token" in p.stderr, p.stderr)


def test_wrong_starts(programs):
    (programs / "broken.pdl").write_text("text: {nonsense: 1}\n", "utf-8")
    (programs / "sub").mkdir()
    shutil.copy(programs / "echo.pdl", programs / "sub" / "echo.pdl")
    busy = socket.socket()
    busy.bind(("127.0.0.1", 0))
    busy.listen()
    port = str(busy.getsockname()[1])
    for name, args, text, want in [
            ("broken program", ["broken.pdl"], "broken.pdl:1", 1), ("no such file", ["none.pdl"], "none.pdl", 2), ("nothing", [], "FILE", 2),
            ("two of one name", ["echo.pdl", "sub/echo.pdl"], "there is a program echo already", 1),
            ("port in use", ["--port", port, "echo.pdl"], "cannot listen at 127.0.0.1 port " + port, 1),
            ("no such address", ["--host", "127.0.0.300", "echo.pdl"], "argument --host: cannot listen at 127.0.0.300", 2), ("port is none", ["--port", "x", "echo.pdl"], "--port", 2),
            ("budget is none", ["--budget", "x", "echo.pdl"], "--budget: 'x' is not a budget", 2), ("rate is none", ["--max-rps", "0", "echo.pdl"], "--max-rps", 2),
            ("queue is none", ["--max-waiting", "-1", "echo.pdl"], "--max-waiting", 2), ("a recording", ["--record", "x", "echo.pdl"], "--record", 2)]:
        p = subprocess.run([PDL, "serve", *args], cwd=programs, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
        check("start: " + name, p.returncode == want and text in p.stderr, (p.returncode, p.stderr))
    busy.close()


OPENAI = '''
import openai
from sys import argv
c = openai.OpenAI(base_url=argv[1], api_key="x", max_retries=0)
print([m.id for m in c.models.list()][:2])
r = c.chat.completions.create(model="talk", messages=[{"role": "user", "content": "hi"}])
print(r.choices[0].message.content, r.usage.total_tokens, r.choices[0].finish_reason)
print("|".join(k.choices[0].delta.content or "" for k in c.chat.completions.create(
    model="echo", messages=[{"role": "user", "content": "hi"}], stream=True)))
r = c.chat.completions.create(model="tool", messages=[{"role": "user", "content": "hi"}])
print(r.choices[0].message.tool_calls[0].function.name)
try:
    c.chat.completions.create(model="none", messages=[{"role": "user", "content": "hi"}])
except openai.NotFoundError as e:
    print(e.code)
'''
OPENAI_SAYS = "['echo', 'shape']\nA:hello worldhello world 10 stop\n|You said: hi|\nf\nmodel_not_found\n"


@pytest.mark.tier("all")
@pytest.mark.builds
def test_official_client(s, build):
    python, why = venv_of.python(build, "openai")
    if not python:
        pytest.skip(why)
    p = subprocess.run([python, "-c", OPENAI, "http://127.0.0.1:%d/v1" % s.port], capture_output=True, text=True, timeout=120, check=False)
    check("the openai client", p.stdout == OPENAI_SAYS, p.stdout + p.stderr[-800:])


def ask_from(s, command, folder):
    """A program of this command, or of another interpreter, whose model is the server."""
    (folder / "client.pdl").write_text("text:\n- {def: a, model: openai/echo, input: hello}\n", "utf-8")
    url = "http://127.0.0.1:%d/v1" % s.port
    env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
    for mode in ("none", "result"):
        p = subprocess.run([command, "--stream", mode, "client.pdl"], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=180,
                           check=False)
        check("%s as a client, --stream %s" % (command, mode), re.sub("\x1b\\[[0-9;]*m", "", p.stdout).strip() == "You said: hello", p.stdout + p.stderr[-600:])


def test_pdl_as_a_client(s, programs):
    ask_from(s, PDL, programs)


@pytest.mark.tier("all")
@pytest.mark.builds
def test_reference_as_a_client(s, programs, build):
    """Of the caller, or the one that `make bench` has prepared."""
    reference = os.environ.get("PDL_REFERENCE") or str(build.with_name(build.name.removesuffix("-asan")) / "bench" / "reference" / "bin" / "pdl")
    if not os.path.exists(reference):
        pytest.skip("the reference interpreter is not installed (PDL_REFERENCE names it)")
    ask_from(s, reference, programs)


def test_ctrl_c(programs, url):
    s = Server(programs, url)
    waiting = s.socket("slow")
    until(lambda: opened)
    s.p.send_signal(2)
    code, err = s.p.wait(20), s.p.stderr.read()
    check("ends with Ctrl-C while clients wait", code == 0 and err == "", (code, err[-2000:]))
    waiting.close()
