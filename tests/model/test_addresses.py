# SPDX-License-Identifier: Apache-2.0
"""Base addresses as people write them, and the order in which services want messages."""
import json

import pytest

from ..checks import check, same
from ..http_of import Plain, answer
from .peers import PEERS, Anthropic, Bedrock, Gemini, Ollama, OpenAI, block, run

pytestmark = pytest.mark.tier("test")


def asked(pdl, folder, peer, base, said=None, want=0, **more):
    """-> (path, body) of the request to a server at http://HOST + base, and standard error."""
    got = []

    def exchange(head, body, send):
        got.append((head.split(" ")[1], json.loads(body)))
        send(said or answer(json.dumps(peer.whole("ok")).encode(), "application/json"))
    server = Plain(exchange)
    made = {**block(peer, Nowhere(), None), **more}
    made["parameters"]["api_base"] = base.replace("HOST", "127.0.0.1:%d" % server.port)
    _, err = run(pdl, folder, made, "--stream", "none", want=want)
    return (*got[0], err)


class Nowhere:
    def row(self, *_):
        return ""


CHAT = "/chat/completions"
BASES = [("openai/m", "http://HOST/v1/", "/v1" + CHAT), ("openai/m", "http://HOST/v1" + CHAT, "/v1" + CHAT), ("openai/m", "http://HOST/v1" + CHAT + "/", "/v1" + CHAT), ("openai/m", " http://HOST/v1\n", "/v1" + CHAT),
         ("openai/m", "http://HOST/v1?api-version=1", "/v1" + CHAT + "?api-version=1"), ("openai/m", "http://HOST/v1/?a=1&b=2#x", "/v1" + CHAT + "?a=1&b=2"), ("openai/m", "http://HOST/v1#x", "/v1" + CHAT),
         ("openai/m", "http://HOST", CHAT), ("openai/m", "http://HOST/gateway/chat", "/gateway/chat" + CHAT), ("openai/m", "http://HOST/v1?", "/v1" + CHAT),
         ("anthropic/m", "http://HOST", "/v1/messages"), ("anthropic/m", "http://HOST/v1", "/v1/messages"), ("anthropic/m", "http://HOST/v1/messages", "/v1/messages"), ("anthropic/m", "http://HOST/x?k=1", "/x/v1/messages?k=1"),
         ("ollama_chat/m", "http://HOST", "/api/chat"), ("ollama_chat/m", "http://HOST/api", "/api/chat"), ("ollama_chat/m", "http://HOST/api/chat", "/api/chat"), ("ollama_chat/m", "http://HOST/my-api", "/my-api/api/chat"),
         ("ollama/m", "http://HOST/api/", "/api/generate"), ("text-completion-openai/m", "http://HOST/v1/completions", "/v1/completions"), ("gemini/m", "http://HOST/v1beta?k=1", "/v1beta/models/m:generateContent?k=1")]


def test_bases(pdl, folder):
    """The path of the service is written once, and before a query."""
    for model, base, want in BASES:
        peer = next(p for p in PEERS if p.model == model)
        same(asked(pdl, folder, peer, base)[0], want)


def test_a_base_without_a_path(pdl, folder):
    """Only where the server does not know the path, and the address has none."""
    def refused(status, text):
        return b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(text), text)
    rows = [("http://HOST", b"404 Not Found", b"Not Found", True), ("http://HOST/", b"405 No", b"405 method not allowed", True), ("http://HOST/v1", b"404 Not Found", b"Not Found", False),
            ("http://HOST", b"404 Not Found", b'{"error": {"message": "The model `m` does not exist"}}', False), ("http://HOST", b"400 Bad", b"Bad", False)]
    for base, status, text, told in rows:
        err = asked(pdl, folder, OpenAI("openai/m"), base, refused(status, text), want=1)[2]
        same("below /v1: write http://127.0.0.1:" in err, told)
    err = asked(pdl, folder, Anthropic("anthropic/m"), "http://HOST", refused(b"404 Not Found", b"Not Found"), want=1)[2]
    check("other dialects have other paths", "/v1" not in err, err)


def user(text):
    return {"role": "user", "content": text}


def result(ident):
    return {"role": "tool", "tool_call_id": ident, "content": "result " + ident}


CALLS = {"role": "assistant", "content": "", "tool_calls": [{"id": i, "type": "function", "function": {"name": "t", "arguments": "{}"}} for i in "ab"]}
TALKS = [[user("q"), CALLS, result("a"), user("x"), result("b"), user("y")], [user("q"), CALLS, user("x"), result("a"), result("b"), user("y")], [user("q"), CALLS, result("a"), result("b"), user("x"), user("y")]]


@pytest.mark.parametrize("peer", [p for p in PEERS if isinstance(p, (Anthropic, Bedrock)) or p.model == "gemini/m"], ids=lambda p: p.model)
def test_results_come_first(pdl, folder, peer):
    """These services refuse results that do not directly follow their calls, in their order."""
    for talk in TALKS:
        body = asked(pdl, folder, peer, "http://HOST", input={"data": talk})[1]
        turn = body["contents" if isinstance(peer, Gemini) else "messages"][2]["parts" if isinstance(peer, Gemini) else "content"]
        texts = [json.dumps(p) for p in turn]
        same([next(w for w in ("result a", "result b", '"x"', '"y"') if w in t) for t in texts], ["result a", "result b", '"x"', '"y"'])


@pytest.mark.parametrize("model", ["mistral/m", "codestral/m", "openai/m", "ollama_chat/m"])
def test_the_order_of_mistral(pdl, folder, model):
    """It refuses a user's message after a result, and a last message of the assistant without a mark."""
    peer, strict = (Ollama if "ollama" in model else OpenAI)(model), "stral" in model
    for talk, roles in ((TALKS[2], ["user", "assistant", "tool", "tool"] + ["assistant"] * strict + ["user", "user"]), ([user("q"), {"role": "assistant", "content": "The"}], ["user", "assistant"]),
                        ([user("q"), {"role": "assistant", "content": "The", "prefix": False}], ["user", "assistant"]), ([user("q"), {"role": "assistant", "content": "a"}, user("x")], ["user", "assistant", "user"])):
        sent = asked(pdl, folder, peer, "http://HOST/v1", input={"data": talk})[1]["messages"]
        same([m["role"] for m in sent], roles)
        if "ollama" not in model:
            same([m.get("prefix") for m in sent], [None] * (len(sent) - 1) + [talk[-1].get("prefix", strict or None) if talk[-1]["role"] == "assistant" else None])
