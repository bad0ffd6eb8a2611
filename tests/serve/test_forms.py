# SPDX-License-Identifier: Apache-2.0
"""The other forms of requests to pdl serve besides chats: /v1/responses, /v1/completions, /v1/embeddings. They are sent raw, byte by byte; the
official clients are in tests/clients."""
import base64
import http.client
import json
import os
import socket
import struct
import threading

import pytest

from .. import http_of, serve_of
from ..checks import check
from .kit import NO_TEXT, PDL, exchange, post, written

PROGRAMS = {
    "echo": 'text: ["You said: ", "${ question }"]\n',
    "seen": 'data: {messages: "${ messages }", request: "${ request }", most: "${ max_tokens }"}\n',
    "count": 'text: "${ messages | length }"\n',
    "agent": 'model: openai/agent\n',
    "cut": 'model: openai/cut\n',
    "refusal": 'model: openai/refusal\n',
    "fails": 'text: ["begun ", "${ no.such.name }"]\n',
    "vectors": 'for: {t: "${ request.input }"}\nrepeat: {data: ["${ t | length }", 0.5, -1]}\njoin: {as: array}\n',
    "vector": 'data: [1, 2.5]\n',
    "embeds": 'data: "${ stdlib.embed(\'openai/small\', request.input) }"\n',
    "odd": 'data: [[1, x]]\n',
    "slow": 'model: openai/slow\n',
    "slow_last": 'defs:\n  f: {function: {}, return: {lastOf: [{data: 1}, {model: openai/slow, def: a}]}}\ntext:\n- if: true\n  then: {call: "${ f }"}\n',
    "slow_said": 'text: ["Hi ", {model: openai/slow}]\n',
    "slow_then": 'text: [{model: openai/slow}, "."]\n',
    "slow_retry": 'model: openai/slow\nretry: 1\n',
}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
MESSAGES = {
    "agent": ({"role": "assistant", "content": None, "reasoning_content": "let me see", "tool_calls": [CALL]}, "tool_calls", None),
    "cut": ({"role": "assistant", "content": "hé!"}, "length",
            {"content": [{"token": "hé", "logprob": -0.5, "bytes": None, "top_logprobs": [{"token": "ho", "logprob": -2.0, "bytes": None}]},
                         {"token": "!", "logprob": -0.25, "bytes": None, "top_logprobs": []}]}),
    "refusal": ({"role": "assistant", "content": "", "refusal": "I may not"}, "content_filter", None),
}

def call_piece(index, arguments, **more):
    return {"delta": {"tool_calls": [{"index": index, "function": {"arguments": arguments, **({"name": more.pop("name")} if more else {})}, **more}]}}


def token(text):
    return {"token": text, "logprob": -0.5, "bytes": None, "top_logprobs": []}


SLOW = [
    {"delta": {"role": "assistant", "reasoning_content": "let me "}}, {"delta": {"reasoning_content": "see"}},
    {"delta": {"content": "hé"}, "logprobs": {"content": [token("hé")]}}, {"delta": {"content": "!"}, "logprobs": {"content": [token("!")]}},
    call_piece(0, "", name="f", id="c1", type="function"), call_piece(0, '{"a"'), call_piece(1, '{"b', name="g", id="c2", type="function"), call_piece(0, ': 1}'),
    call_piece(1, '": 2}'), {"delta": {}, "finish_reason": "tool_calls"},
]
had = threading.Semaphore(0)


class Model(http_of.Quiet):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.body())
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        if self.path.endswith("/embeddings"):
            data = [{"object": "embedding", "index": i, "embedding": [float(i), 1.5]} for i in range(len(body["input"]))]
            return self.send("application/json", json.dumps({"object": "list", "data": data, "model": "small", "usage": {"prompt_tokens": 9, "total_tokens": 9}}))
        if body["model"] == "slow":
            return self.send_slowly()
        message, finish, logprobs = MESSAGES[body["model"]]
        if not body.get("stream"):
            return self.send("application/json", json.dumps({"choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": logprobs}],
                                                             "usage": usage}))
        delta = {k: [{**c, "index": 0} for c in v] if k == "tool_calls" else v for k, v in message.items()}
        pieces = [{"choices": [{"index": 0, "delta": delta, "logprobs": logprobs}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}]
        return self.send("text/event-stream", "".join("data: %s\n\n" % json.dumps(p) for p in pieces) + "data: [DONE]\n\n")

    def send_slowly(self):
        """Each piece is sent once the client has had the one before."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for piece in SLOW:
            self.wfile.write(("data: %s\n\n" % json.dumps({"id": "x", "choices": [{"index": 0, **piece}]})).encode())
            self.wfile.flush()
            if piece is not SLOW[-1] and not had.acquire(timeout=60):
                return
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def send(self, kind, text):
        self.reply(text.encode(), kind)


class Server:
    def __init__(self, folder, url):
        env = {**os.environ, "OPENAI_API_BASE": url, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        self.p, self.port = serve_of.start(PDL, *[str(folder / (n + ".pdl")) for n in PROGRAMS], env=env)

    def ask(self, path, model, **body):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request("POST", "/v1/" + path, json.dumps({"model": model, **body}))
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def get(self, path, model, **body):
        status, text = self.ask(path, model, **body)
        return json.loads(text) if status == 200 else {"status": status, "error": json.loads(text)["error"]}

    def stream(self, path, model, **body):
        """The data of the events; of those with a name it is the type of the data, too."""
        out = []
        for block in self.ask(path, model, stream=True, **body)[1].split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines())
            if fields:
                data = fields["data"] if fields["data"] == "[DONE]" else json.loads(fields["data"])
                if "event" in fields and fields["event"] != data["type"]:
                    raise ValueError(block)
                out.append(data)
        return out


@pytest.fixture
def s(folder):
    model = http_of.serve(Model)
    server = Server(written(folder, PROGRAMS), "http://127.0.0.1:%d/v1" % model.server_port)
    yield server
    server.p.terminate()
    code, err = server.p.wait(20), server.p.stderr.read()
    assert (code, err.replace(NO_TEXT, "")) == (0, ""), "the server ends"


def without_ids(v):
    if isinstance(v, dict):
        return {k: without_ids(x) for k, x in v.items() if k not in ("id", "item_id", "created_at")}
    return [without_ids(x) for x in v] if isinstance(v, list) else v


def test_responses(s):
    r = s.get("responses", "echo", input="hello")
    check("response", r["object"] == "response" and r["status"] == "completed" and r["id"].startswith("resp_") and r["output"][0]["role"] == "assistant" and
          r["output"][0]["content"] == [{"type": "output_text", "text": "You said: hello", "annotations": [], "logprobs": []}] and
          r["error"] is None and r["incomplete_details"] is None and r["tools"] == [] and r["tool_choice"] == "auto" and
          r["usage"] == {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, "input_tokens_details": {"cached_tokens": 0},
                         "output_tokens_details": {"reasoning_tokens": 0}}, r)
    r = s.get("responses", "seen", instructions="be brief", max_output_tokens=5000, temperature=0.5, store=False, include=[], reasoning={"effort": "low"},
              text={"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
              tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}, {"type": "web_search"}],
              tool_choice={"type": "function", "name": "f"},
              input=[{"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
                     {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "c", "annotations": []}]},
                     {"type": "reasoning", "id": "r", "summary": []},
                     {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}, {"type": "function_call", "call_id": "c2", "name": "g", "arguments": "{}"},
                     {"type": "function_call_output", "call_id": "c1", "output": "five"},
                     {"role": "user", "content": [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:x", "detail": "low"}]}])
    v = json.loads(r["output"][0]["content"][0]["text"])
    call = lambda i, name: {"id": i, "type": "function", "function": {"name": name, "arguments": "{}"}}
    check("input as messages", v["messages"] == [
        {"role": "system", "content": "be brief"}, {"role": "user", "content": "ab"}, {"role": "assistant", "content": "c", "tool_calls": [call("c1", "f"), call("c2", "g")]},
        {"role": "tool", "content": "five", "tool_call_id": "c1"},
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}}]}], v["messages"])
    check("fields as those of a chat", v["most"] == 5000 and v["request"] == {
        "model": "seen", "max_completion_tokens": 5000, "temperature": 0.5, "reasoning_effort": "low", "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True}},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}, {"type": "web_search"}]}, v["request"])
    check("and said again", r["instructions"] == "be brief" and r["max_output_tokens"] == 5000 and r["tools"][1] == {"type": "web_search"} and r["store"] is False, r)
    r = s.get("responses", "agent", input="go")
    check("calls and thoughts", without_ids(r["output"]) == [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "let me see"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "status": "completed"}] and r["usage"]["total_tokens"] == 5, r)
    r = s.get("responses", "cut", input="go")
    check("incomplete", r["status"] == "incomplete" and r["incomplete_details"] == {"reason": "max_output_tokens"} and
          r["output"][0]["content"][0]["logprobs"] == MESSAGES["cut"][2]["content"], r)
    r = s.get("responses", "refusal", input="go")
    check("refusal", r["output"][0]["content"] == [{"type": "refusal", "refusal": "I may not"}] and r["incomplete_details"] == {"reason": "content_filter"}, r)


def test_response_streams(s):
    e = s.stream("responses", "echo", input="hello")
    check("events of a text", [x["type"] for x in e] == [
        "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.delta", "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"], e)
    check("numbers of events", [x["sequence_number"] for x in e] == list(range(len(e))), e)
    check("the text", "".join(x["delta"] for x in e if x["type"].endswith("delta")) == e[6]["text"] == "You said: hello" and
          e[-1]["response"]["output"] == [e[-2]["item"]] and e[-1]["response"]["status"] == "completed" and e[0]["response"]["status"] == "in_progress" and
          len({x.get("item_id", e[2]["item"]["id"]) for x in e}) == 1 and e[0]["response"]["id"] == e[-1]["response"]["id"], e)
    e = s.stream("responses", "agent", input="go")
    check("events of a call", [x["type"] for x in e][2:] == [
        "response.output_item.added", "response.reasoning_text.delta", "response.reasoning_text.done", "response.output_item.done",
        "response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
        "response.completed"] and [x["output_index"] for x in e if "output_index" in x] == [0] * 4 + [1] * 4 and e[-5]["item"]["arguments"] == "" and
          e[-3]["arguments"] == '{"a": 1}', e)
    for name in ("agent", "cut", "refusal", "echo"):
        a, b = s.get("responses", name, input="go"), s.stream("responses", name, input="go")[-1]["response"]
        check("whole and in pieces are the same: " + name, without_ids(a) == without_ids(b), (a, b))
    e = s.stream("responses", "fails", input="go")
    check("failure in a stream", e[-1]["type"] == "response.failed" and e[-1]["response"]["status"] == "failed" and e[-1]["response"]["error"]["code"] == "expression", e)


def events_of(s, path, model, told, **body):
    """The events of a stream; told(event) says how many pieces of the model they show."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
    c.request("POST", "/v1/" + path, json.dumps({"model": model, "stream": True, **body}))
    r, out, block = c.getresponse(), [], []
    for line in r:
        if line.startswith(b"data: ") and line != b"data: [DONE]\n":
            out.append(json.loads(line[6:]))
            for _ in range(told(out[-1])):
                had.release()
        block.append(line)
    c.close()
    return out


def forget():
    while had.acquire(blocking=False):
        pass


def of_chat(e):
    choice = e["choices"][0]
    d = choice["delta"]
    return bool(d.get("reasoning_content")) + bool(choice["logprobs"]) + len(d.get("tool_calls", []))


def test_as_they_come(s):
    """The model sends a piece when the client has had the one before: a server that kept them to the end would wait for ever."""
    for name in "slow", "slow_last":
        e = events_of(s, "chat/completions", name, of_chat, messages=[{"role": "user", "content": "go"}], tools=[])
        deltas = [x["choices"][0]["delta"] for x in e]
        calls = [c for d in deltas for c in d.get("tool_calls", [])]
        check("a chat in pieces: " + name, "".join(d.get("reasoning_content", "") for d in deltas) == "let me see" and "".join(d.get("content") or "" for d in deltas) == "hé!" and
              [c["index"] for c in calls] == [0, 0, 1, 0, 1] and calls[0] == {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}} and
              "".join(c["function"]["arguments"] for c in calls if c["index"]) == '{"b": 2}' and set(calls[1]) == {"index", "function"} and
              [t["token"] for x in e if x["choices"][0]["logprobs"] for t in x["choices"][0]["logprobs"]["content"]] == ["hé", "!"] and
              e[-1]["choices"][0]["finish_reason"] == "tool_calls", e)
        forget()
    e = events_of(s, "responses", "slow", lambda e: e["type"].endswith(".delta") and (e["type"] != "response.output_text.delta" or bool(e["logprobs"])) or
                  (e["type"] == "response.output_item.added" and e["item"].get("name") == "f"), input="go")
    last, deltas = e[-1]["response"], [x for x in e if x["type"].endswith(".delta")]
    check("a response in pieces", [(x["type"].split(".")[1], x["output_index"], x["delta"]) for x in deltas if x["delta"]] == [
        ("reasoning_text", 0, "let me "), ("reasoning_text", 0, "see"), ("output_text", 1, "hé"), ("output_text", 1, "!"), ("function_call_arguments", 2, '{"a"'),
        ("function_call_arguments", 3, '{"b'), ("function_call_arguments", 2, ": 1}"), ("function_call_arguments", 3, '": 2}')], e)
    check("its items", [(x["output_index"], x["item"]) for x in e if x["type"] == "response.output_item.done"] == list(enumerate(last["output"])) and
          [i["type"] for i in last["output"]] == ["reasoning", "message", "function_call", "function_call"] and last["output"][3]["arguments"] == '{"b": 2}' and
          [t["token"] for t in last["output"][1]["content"][0]["logprobs"]] == ["hé", "!"] and last["output"][0]["content"][0]["text"] == "let me see", last)
    forget()
    for name, text, tokens in ("slow_said", "Hi hé!", 0), ("slow_then", "hé!.", 0), ("slow_retry", "hé!", 2):
        forget()
        for _ in SLOW:
            had.release()
        e = events_of(s, "chat/completions", name, lambda e: 0, messages=[{"role": "user", "content": "go"}])
        deltas = [x["choices"][0]["delta"] for x in e]
        calls = [c for d in deltas for c in d.get("tool_calls", [])]
        logprobs = [t for x in e if x["choices"][0]["logprobs"] for t in x["choices"][0]["logprobs"]["content"]]
        arguments = ["".join(c["function"]["arguments"] for c in calls if c["index"] == i) for i in range(2)]
        check("each is said once: " + name, arguments == (['{"a": 1}', '{"b": 2}'] if name != "slow_then" else ["", ""]) and len(logprobs) == tokens and
              "".join(d.get("content") or "" for d in deltas) == text and "".join(d.get("reasoning_content", "") for d in deltas) == ("let me see" if name != "slow_then" else ""), e)
    forget()
    for _ in SLOW:
        had.release()
    e = events_of(s, "completions", "slow", lambda e: 0, prompt="go", logprobs=1)
    lists = [x["choices"][0]["logprobs"] for x in e if x["choices"][0]["logprobs"]]
    check("logprobs of a completion", [(l["tokens"], l["text_offset"]) for l in lists] == [(["hé"], [0]), (["!"], [2])], e)


def test_conversations(s):
    r = s.get("responses", "count", input="a", instructions="x")
    said = [r["output"][0]["content"][0]["text"]]
    for i in range(3):
        kind = s.get if i != 1 else lambda *a, **b: s.stream(*a, **b)[-1]["response"]
        r = kind("responses", "count", input="b", previous_response_id=r["id"])
        said.append(r["output"][0]["content"][0]["text"])
    check("a conversation goes on, without the instructions", said == ["2", "3", "5", "7"] and r["previous_response_id"].startswith("resp_"), said)
    r = s.get("responses", "agent", input="go")
    r = s.get("responses", "seen", previous_response_id=r["id"], input=[{"type": "function_call_output", "call_id": "c1", "output": "5"}])
    v = json.loads(r["output"][0]["content"][0]["text"])["messages"]
    check("with its calls", [m["role"] for m in v] == ["user", "assistant", "tool"] and v[1]["tool_calls"] == [CALL], v)
    r = s.get("responses", "count", input="a", store=False)
    r = s.get("responses", "count", input="a", previous_response_id=r["id"])
    check("not stored", r["status"] == 400 and r["error"]["code"] == "previous_response_not_found" and r["error"]["param"] == "previous_response_id", r)
    first = s.get("responses", "count", input="a")["id"]
    with socket.create_connection(("127.0.0.1", s.port), timeout=30) as c:
        for _ in range(1024):
            last = json.loads(exchange(c, post("/v1/responses", {"model": "count", "input": "a"})))["id"]
    check("the oldest go", s.get("responses", "count", input="a", previous_response_id=first)["status"] == 400 and
          s.get("responses", "count", input="a", previous_response_id=last)["status"] == "completed")
    big = s.get("responses", "count", input="x" * 20000000)["id"]
    for _ in range(4):
        s.get("responses", "count", input="x" * 20000000)
    check("and make place for big ones", s.get("responses", "count", input="a", previous_response_id=big)["status"] == 400)


def test_given_again(s):
    """GET and DELETE /v1/responses/ID."""
    def ask(method, path):
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
        c.request(method, "/v1/responses/" + path)
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, json.loads(text) if text else None, r.getheader("allow")

    whole, pieces = s.get("responses", "agent", input="go"), s.stream("responses", "agent", input="go")[-1]["response"]
    for name, r in (("whole", whole), ("in pieces", pieces)):
        check("a response is given again: " + name, ask("GET", r["id"])[:2] == (200, {k: v for k, v in r.items() if k != "status"} | {"status": "completed"}), ask("GET", r["id"]))
    check("HEAD of it", ask("HEAD", whole["id"])[:2] == (200, None))
    check("it is forgotten", ask("DELETE", whole["id"])[:2] == (200, {"id": whole["id"], "object": "response", "deleted": True}))
    for method in "GET", "DELETE":
        status, body, _ = ask(method, whole["id"])
        check(method + " of what is not there", status == 404 and body["error"]["code"] == "not_found" and whole["id"] in body["error"]["message"], body)
    check("nor is it continued", s.get("responses", "count", input="a", previous_response_id=whole["id"])["status"] == 400)
    check("the other stays", ask("GET", pieces["id"])[0] == 200)
    unkept = s.get("responses", "count", input="a", store=False)["id"]
    check("what is not stored", ask("GET", unkept)[0] == 404)
    check("no id", ask("GET", "")[0] in (404, 405) and ask("GET", "x" * 4000)[0] == 404)
    check("other methods", ask("PUT", pieces["id"])[::2] == (405, "GET, HEAD, DELETE"), ask("PUT", pieces["id"]))


def test_completions(s):
    r = s.get("completions", "echo", prompt="hello")
    check("completion", r["object"] == "text_completion" and r["id"].startswith("cmpl-") and
          r["choices"] == [{"text": "You said: hello", "index": 0, "logprobs": None, "finish_reason": "stop"}] and r["usage"]["total_tokens"] == 0, r)
    r = s.get("completions", "echo", prompt=["a", "b"], n=2)
    check("several prompts", [(c["index"], c["text"]) for c in r["choices"]] == list(enumerate(["You said: a", "You said: a", "You said: b", "You said: b"])), r)
    r = s.get("completions", "echo", prompt="hello", echo=True, max_tokens=1)
    check("echo and limit", r["choices"][0]["text"] == "helloYou " and r["choices"][0]["finish_reason"] == "length", r)
    r = s.get("completions", "cut", prompt="x", logprobs=2)
    check("logprobs", r["choices"][0]["logprobs"] == {"tokens": ["hé", "!"], "token_logprobs": [-0.5, -0.25], "top_logprobs": [{"ho": -2.0}, {}],
                                                      "text_offset": [0, 2]}, r)
    e = s.stream("completions", "echo", prompt=["a", "b"], stream_options={"include_usage": True})
    said = ["", ""]
    for c in (c for x in e[:-1] for c in x["choices"]):
        said[c["index"]] += c["text"]
    check("completion in pieces", said == ["You said: a", "You said: b"] and e[-1] == "[DONE]" and e[-2]["usage"]["total_tokens"] == 0, e)
    e = s.stream("completions", "fails", prompt="x")
    check("completion that fails", e[-1]["error"]["code"] == "expression", e)


def test_embeddings(s):
    r = s.get("embeddings", "vectors", input=["ab", "c"])
    check("vectors", r["object"] == "list" and r["data"] == [{"object": "embedding", "index": 0, "embedding": [2, 0.5, -1]},
                                                             {"object": "embedding", "index": 1, "embedding": [1, 0.5, -1]}], r)
    r = s.get("embeddings", "vectors", input="abc", encoding_format="base64")
    check("vectors in bytes", struct.unpack("<3f", base64.b64decode(r["data"][0]["embedding"])) == (3.0, 0.5, -1.0), r)
    check("one vector", s.get("embeddings", "vector", input="x")["data"][0]["embedding"] == [1, 2.5])
    r = s.get("embeddings", "embeds", input=["a", "b"])
    check("what stdlib.embed gives", [d["embedding"] for d in r["data"]] == [[0.0, 1.5], [1.0, 1.5]] and r["usage"] == {"prompt_tokens": 9, "total_tokens": 9}, r)
    for name, count, text in (("vector", 2, "should give 2 vectors, but gives 1"), ("odd", 1, "vector 0 of the program is not"), ("echo", 1, "should give 1 vectors, but gives 0")):
        r = s.get("embeddings", name, input=["x"] * count)
        check("no vectors: " + name, r["status"] == 500 and r["error"]["code"] == "type" and text in r["error"]["message"], r)


# path, body, param
REFUSED = [
    ("responses", {}, "input"), ("responses", {"input": 1}, "input"), ("responses", {"input": [1]}, "input[0]"), ("responses", {"input": [{}]}, "input[0]"),
    ("responses", {"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"), ("responses", {"input": [{"type": "function_call", "name": "f"}]}, "input[0]"),
    ("responses", {"input": [{"type": "function_call_output", "output": "f"}]}, "input[0]"), ("responses", {"input": []}, "messages"),
    ("responses", {"input": "x", "previous_response_id": 7}, "previous_response_id"), ("responses", {"input": "x", "previous_response_id": "resp_x"}, "previous_response_id"),
    ("responses", {"input": "x", "temperature": 3}, "temperature"), ("responses", {"input": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ("completions", {}, "prompt"), ("completions", {"prompt": [1, 2]}, "prompt"), ("completions", {"prompt": []}, "prompt"),
    ("completions", {"prompt": ["a"] * 129}, "n"), ("completions", {"prompt": "x", "n": 0}, "n"), ("completions", {"prompt": ["x", "y"], "n": 100}, "n"),
    ("embeddings", {}, "input"), ("embeddings", {"input": [1]}, "input"), ("embeddings", {"input": []}, "input"),
    ("embeddings", {"input": "x", "encoding_format": "int"}, "encoding_format"),
    ("embeddings", {"input": "x", "dimensions": 0}, "dimensions"),
    ("embeddings", {"input": "x", "dimensions": "3"}, "dimensions"),
    ("embeddings", {"input": "x", "dimensions": True}, "dimensions"),
]


def test_refusals(s):
    for path, body, param in REFUSED:
        r = s.get(path, "echo", **body)
        check("refused: %s %s" % (path, str(body)[:60]), r.get("status") == 400 and r["error"]["param"] == param, r)
