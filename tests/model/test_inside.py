# SPDX-License-Identifier: Apache-2.0
"""A failure inside of what holds an answer, beside an ordinary end (spec providers 5): in a choice, a message, a part, a delta, an event; what looks like one and
is none; and which choice of a stream is the answer."""
import json

import pytest

from ..checks import check
from .peers import PEERS, Anthropic, Bedrock, Completion, Gemini, Ollama, OllamaText, OpenAI, Replicate, Table, WatsonxText, block, outcomes, stream
from .test_signs import BOOM, NAMES, OBJECTS, STREAMING, WITH_CHOICES, look

pytestmark = pytest.mark.tier("test")

SHAPES = {**{k: v for k, v in OBJECTS.items() if k != "other"}, "text and code": {"text": BOOM, "code": 500}, "a status that failed": {"status": "failed", "reason": BOOM}}


def wholes(peer, o):
    """Replies with the object `o` where the answer should be."""
    if isinstance(peer, OpenAI):
        yield {**o, **peer.whole("")}
        yield {"choices": [{"index": 0, **o, "finish_reason": "stop"}]}
        if not isinstance(peer, Completion):
            yield {"choices": [{"index": 0, "message": o, "finish_reason": "stop"}]}
            yield {"choices": [{"index": 0, "message": {"role": "assistant", "content": None, **o}, "finish_reason": "stop"}]}
    elif isinstance(peer, Anthropic):
        yield {**o, "content": [], "stop_reason": "end_turn"}
        yield {"content": [o], "stop_reason": "end_turn"}
    elif isinstance(peer, Gemini):
        yield {"candidates": [{**o, "finishReason": "STOP"}]}
        yield {"candidates": [{"content": o, "finishReason": "STOP"}]}
        yield {"candidates": [{"content": {"parts": [o]}, "finishReason": "STOP"}]}
    elif isinstance(peer, Bedrock):
        yield {"output": {"message": {"content": [o]}}, "stopReason": "end_turn"}
        yield {"output": o, "stopReason": "end_turn"}
    elif isinstance(peer, OllamaText):
        yield {**o, "done": True, "done_reason": "stop"}
        yield {"response": o, "done": True, "done_reason": "stop"}
    elif isinstance(peer, Ollama):
        yield {"message": o, "done": True, "done_reason": "stop"}
        yield {"message": {"role": "assistant", "content": "", **o}, "done": True, "done_reason": "stop"}
        yield {**o, "done": True, "done_reason": "stop"}
    elif isinstance(peer, WatsonxText):
        yield {"results": [{**o, "stop_reason": "eos_token"}]}
        yield {"results": [{"generated_text": "", **o, "stop_reason": "eos_token"}]}
    elif isinstance(peer, Replicate):
        yield {"id": "j", "status": "failed", "output": None, **{k: v for k, v in o.items() if k != "status"}}


def events(peer, o):
    """Events with the object `o` where a part of the answer should be."""
    if isinstance(peer, OpenAI):
        yield {**o, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}}
        for choice in (o, {"delta": o}, {"delta": {"role": "assistant", "content": "", **o}}, {"message": o}, {"delta": o, "finish_reason": "stop"}):
            yield {"choices": [{"index": 0, **choice}]}
    elif isinstance(peer, Anthropic):
        for kind in ("content_block_delta", "message_delta", "ping"):
            yield {"type": kind, "delta": {k: v for k, v in o.items() if k != "type"}}
    elif isinstance(peer, Gemini):
        yield {**o, "usageMetadata": {"promptTokenCount": 1}}
        for candidate in (o, {"content": o}, {"content": {"parts": [o]}}):
            yield {"candidates": [candidate]}
    elif isinstance(peer, Bedrock):
        for kind in ("messageStop", "metadata", "contentBlockStart", "something_new"):
            yield {kind: o}
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": o}}
    elif isinstance(peer, Ollama):
        yield {**o, "done": False}
        yield {"response" if isinstance(peer, OllamaText) else "message": o, "done": False}
        yield {**o, "done": True, "done_reason": "stop"}
    elif isinstance(peer, WatsonxText):
        yield {"results": [], **o}
        yield {"results": [{"generated_text": "", **o}]}


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_inside_of_whole_replies(pdl, folder, peer):
    look(pdl, folder, peer, [("%s %s" % (k, json.dumps(w)[:60]), json.dumps(w).encode(), None, BOOM) for k, o in SHAPES.items() for w in wholes(peer, o)], False)


@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_inside_of_streams(pdl, folder, peer):
    rows = []
    for k, o in SHAPES.items():
        for e in events(peer, o):
            rows += [("%s %s" % (k, json.dumps(e)[:60]), stream(peer, *before, e, peer.end()), peer.kind, BOOM) for before in ((), (peer.piece("Hel"),))]
    look(pdl, folder, peer, rows, True)


def test_a_message_of_another_form(pdl, folder):
    """An object that has no member of a message is none, whatever its words are."""
    other = {"state": BOOM}
    for peer, said in [(p, {"choices": [{"index": 0, "message": other, "finish_reason": "stop"}]}) for p in WITH_CHOICES if not isinstance(p, Completion)] + \
            [(Ollama("ollama_chat/m"), {"message": other, "done": True, "done_reason": "stop"}), (WatsonxText("watsonx_text/m", **PEERS[6].parameters), {"results": [{**other, "stop_reason": "eos_token"}]})]:
        look(pdl, folder, peer, [("other", json.dumps(said).encode(), None, BOOM)], False)


FINE = [{"code": 0, "msg": "success"}, {"code": 200, "message": "OK"}, {"status": "success", "msg": "ok"}, {"base_resp": {"status_code": 0, "status_msg": ""}},
        {"success": True, "errors": [], "detail": "cached"}, {"error": None, "code": "0", "msg": "fine"}]


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_what_is_no_failure(pdl, folder, peer):
    """Many services write a code of success into each answer, also into one that is empty."""
    table = Table()
    for text in ("Hello", ""):
        got = outcomes(pdl, folder, [block(peer, table, {**peer.whole(text), **f}) for f in FINE], False)
        check("%s, whole: %r" % (peer.model, text), got == [{"ok": text}] * len(FINE), got)
    got = outcomes(pdl, folder, [block(peer, table, (stream(peer, {**peer.piece("Hello"), **f}, {**peer.end(), **f}), peer.kind)) for f in FINE], True)
    check("%s, streamed" % peer.model, got == [{"ok": "Hello"}] * len(FINE), got)


def numbered(peer, index, event):
    return {**event, "choices": [{**event["choices"][0], "index": index}]}


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_which_choice(pdl, folder, peer):
    """Of a stream: the first that arrives, whatever its number is; of several that were requested, number 0."""
    one = [stream(peer, *[numbered(peer, i, e) for e in (peer.piece("Hel"), peer.piece("lo"), peer.end())], ended=ended) for i in (0, 1, 7) for ended in (True, False)]
    two = [stream(peer, *[numbered(peer, i, e) for i, e in ((1, peer.piece("no")), (0, peer.piece("Hello")), (1, peer.end()), (0, peer.end()))])]
    only = [stream(peer, *[numbered(peer, 1, e) for e in (peer.piece("no"), peer.end())])]
    table = Table()
    got = outcomes(pdl, folder, [block(peer, table, (s, peer.kind)) for s in one] + [block(peer, table, (s, peer.kind), parameters={"n": 2}) for s in two + only], True)
    check("%s: the text" % peer.model, got[:-1] == [{"ok": "Hello"}] * 7, got)
    check("%s: none of them is the answer" % peer.model, "failed" in got[-1], got)
