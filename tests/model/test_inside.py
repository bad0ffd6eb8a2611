# SPDX-License-Identifier: Apache-2.0
"""A failure inside of a part of an answer, beside an ordinary end (spec providers 5): in a choice, a message, a part, a delta, an event. Also parts
that only look like a failure, and which choice of a stream is the answer."""
import json

import pytest

from ..checks import check
from .peers import PEERS, Anthropic, Bedrock, Completion, Gemini, Ollama, OllamaText, OpenAI, Replicate, Table, WatsonxText, block, outcomes, stream
from .test_signs import BOOM, NAMES, OBJECTS, STREAMING, WITH_CHOICES, look

pytestmark = pytest.mark.tier("test")

SHAPES = {**{k: v for k, v in OBJECTS.items() if k not in ("other", "error code")}, "error code": {"error_code": 50001, "message": BOOM},
          "a status that failed": {"status": "failed", "reason": BOOM}}
# what is a failure also beside a place for the answer that is empty; other words there may be a note
PLAIN = {k: v for k, v in SHAPES.items() if k not in ("code and message", "detail", "list of details", "aws", "cause")}


def wholes(peer, o):
    """Replies with the object `o` where the answer should be."""
    if isinstance(peer, OpenAI):
        if o in PLAIN.values():
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
    """Events with the object `o` where a part of the answer should be. A text in `message` of a choice is an answer, unless a code of failure is beside it."""
    if isinstance(peer, OpenAI):
        yield {**o, "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}}
        for choice in ([] if o == SHAPES["code and message"] else [o]) + [{"delta": o}, {"delta": {"role": "assistant", "content": "", **o}}, {"message": o}, {"delta": o, "finish_reason": "stop"}]:
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
            rows.append(("%s %s" % (k, json.dumps(e)[:60]), stream(peer, e, peer.end()), peer.kind, BOOM))
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


NOTES = [{"code": 10000, "message": "ok"}, {"code": 1, "msg": "ok"}, {"code": 20000, "message": "Ok."}, {"status": 1, "message": "x"}, {"status_code": 201, "message": "Created"},
         {"code": "A0000", "msg": "ok"}, {"code": "000000", "msg": "success"}, {"detail": "cached"}, {"msg": "queue position 3"}, {"cause": "cache"}, {"status": 206, "title": "chat"}]
PAYLOADS = [{"annotations": [{"type": "file_citation", "message": "m", "code": 5}]}, {"search_results": [{"title": "T", "status": "404", "detail": "d"}]},
            {"executed_tools": [{"index": 0, "output": "", "error": "Traceback"}]}, {"provider_specific_fields": {"citation": {"title": "T", "detail": "d"}}}]


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_notes_beside_an_answer(pdl, folder, peer):
    """An answer with an ordinary end is a success, whatever is beside it."""
    table, used = Table(), {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    role, hello, end = peer.piece(""), peer.piece("Hello"), peer.end()
    streams = [s for f in NOTES for s in ((stream(peer, *[{**e, **f} for e in (role, hello, end, used)])), stream(peer, {**used, **f}, hello, end))]
    streams += [stream(peer, *order, end) for p in PAYLOADS for delta in [{"choices": [{"index": 0, "delta": p}]}] for order in ((delta, hello), (hello, delta))]
    got = outcomes(pdl, folder, [block(peer, table, (s, peer.kind)) for s in streams], True)
    check("%s, streamed" % peer.model, got == [{"ok": "Hello"}] * len(got), got)
    for text in ("Hello", ""):
        got = outcomes(pdl, folder, [block(peer, table, {**peer.whole(text), **f}) for f in NOTES], False)
        check("%s, whole: %r" % (peer.model, text), got == [{"ok": text}] * len(got), got)


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_words_in_place_of_a_choice(pdl, folder, peer):
    """An event without a choice that has words tells why a stream was cut, or why nothing came. Beside an ordinary end it is a note."""
    table, begun, hello, end, done = Table(), peer.piece(""), peer.piece("Hello"), peer.end(), b"data: [DONE]\n\n"
    empty = {k: [] for k, v in peer.piece("").items() if isinstance(v, list)}
    for f in ({"message": BOOM}, {"detail": BOOM}, {"detail": [{"loc": ["body"], "msg": BOOM}]}, {"code": 500, "message": BOOM}):
        note = {**empty, "usage": {"prompt_tokens": 1}, **f}
        cut = [(note,), (note, done), (begun, note), (begun, note, done), (hello, note)]
        got = outcomes(pdl, folder, [block(peer, table, (stream(peer, *s, ended=False), peer.kind)) for s in cut], True)
        check("%s: %s tells why" % (peer.model, f), all(BOOM in str(g) and "ok" not in g for g in got), got)
        fine = [(note, hello, end), (hello, note, end), (hello, end, note)]
        got = outcomes(pdl, folder, [block(peer, table, (stream(peer, *s), peer.kind)) for s in fine], True)
        check("%s: %s is a note" % (peer.model, f), got == [{"ok": "Hello"}] * len(fine), got)


def test_codes_beside_a_text(pdl, folder):
    """A text is an answer, whatever code is beside it, and no part of it is lost."""
    table, (chat, completion, gemini, bedrock) = Table(), [PEERS[i] for i in (0, 2, 8, 13)]
    parts, stop = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo", "code": 5}], {"index": 0, "finish_reason": "stop"}
    coded = [{k: v for k, v in p.items() if k != "type"} for p in parts]
    wholes = [(chat, {"choices": [{**stop, **c}]}) for c in ({"text": "Hello", "code": 1}, {"content": "Hello", "code": 1}, {"message": "Hello", "status": 1},
                                                            {"message": {"text": "Hello", "status": 2}}, {"message": {"role": "assistant", "content": parts}})]
    wholes += [(completion, {"choices": [{**stop, "text": "Hello", "status": 2}]}), (bedrock, {"output": {"message": {"content": coded}}, "stopReason": "end_turn"})]
    wholes += [(gemini, {"candidates": [{"content": {"parts": p}, "finishReason": "STOP"}]}) for p in ([{"text": "Hello", "code": "x"}], [{"text": "Hel"}, {"text": "lo", "status": 500}])]
    got = outcomes(pdl, folder, [block(p, table, w) for p, w in wholes], False)
    check("whole", got == [{"ok": "Hello"}] * len(got), got)
    streams = [(chat, {"choices": [{"index": 0, "delta": d}]}) for d in ({"content": parts}, {"content": "Hello", "code": "x", "title": "t"})]
    streams += [(chat, {"choices": [{"index": 0, "delta": {"content": "Hello"}, "status": 1, "message": "x"}]}), (completion, {"choices": [{"index": 0, "text": "Hello", "code": 7}]})]
    streams += [(gemini, {"candidates": [{"content": {"parts": coded}}]}), (bedrock, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello", "code": 3}}})]
    got = outcomes(pdl, folder, [block(p, table, (stream(p, e, p.end()), p.kind)) for p, e in streams], True)
    check("streamed", got == [{"ok": "Hello"}] * len(got), got)


def test_last_lines_of_ollama(pdl, folder):
    peer, table = PEERS[3], Table()
    ends = [{"message": m, "done": True, "done_reason": "stop"} for m in ({}, "", {"reasoning": "x"})]
    streams = [stream(peer, peer.piece("Hello"), e) for e in ends] + [stream(peer, {"message": {}, "done": False}, peer.piece("Hello"), peer.end())]
    got = outcomes(pdl, folder, [block(peer, table, (s, peer.kind)) for s in streams], True)
    check("the text", got == [{"ok": "Hello"}] * len(got), got)


def test_a_body_that_was_made_to_be_slow(pdl, folder):
    """The search visits a bounded number of values; without the bound, this takes minutes."""
    peer, table, said = PEERS[0], Table(), [{"error": 1}] + [{}] * 60000
    for _ in range(8):
        said = {"message": said}
    got = outcomes(pdl, folder, [block(peer, table, said)] * 4, False)
    check("a failure", all("failed" in g for g in got), got)


def numbered(peer, index, event):
    return {**event, "choices": [{**event["choices"][0], "index": index}]}


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_which_choice(pdl, folder, peer):
    """Of a stream: number 0; where it has none and one choice was requested, the first that arrives."""
    table, several, none = Table(), [{"n": 2}, {"extra_body": {"n": 2}}], {}
    one = [stream(peer, *[numbered(peer, i, e) for e in (peer.piece("Hel"), peer.piece("lo"), peer.end())], ended=ended) for i in (0, 1, 7) for ended in (True, False)]
    two = stream(peer, *[numbered(peer, i, e) for i, e in ((1, peer.piece("no")), (0, peer.piece("Hello")), (1, peer.end()), (0, peer.end()))])
    role = stream(peer, numbered(peer, 1, peer.piece("")), peer.piece("Hello"), peer.end())
    only = stream(peer, *[numbered(peer, 1, e) for e in (peer.piece("no"), peer.end())])
    rows = [(s, none) for s in one + [two, role]] + [(two, p) for p in several] + [(only, p) for p in several]
    got = outcomes(pdl, folder, [block(peer, table, (s, peer.kind), parameters=p) for s, p in rows], True)
    check("%s: the text" % peer.model, got[:-2] == [{"ok": "Hello"}] * (len(got) - 2), got)
    check("%s: none of them is the answer" % peer.model, all("failed" in g for g in got[-2:]), got)


def test_which_candidate(pdl, folder):
    peer, table = PEERS[8], Table()
    two = stream(peer, *[{"candidates": [{**e["candidates"][0], "index": i}]} for i, e in ((1, peer.piece("no")), (0, peer.piece("Hello")), (1, peer.end()), (0, peer.end()))])
    asked = [{}, {"n": 2}, {"candidateCount": 2}, {"extra_body": {"generationConfig": {"candidateCount": 2}}}]
    got = outcomes(pdl, folder, [block(peer, table, (two, peer.kind), parameters=p) for p in asked], True)
    check("the text", got == [{"ok": "Hello"}] * len(got), got)
