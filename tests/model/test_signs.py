# SPDX-License-Identifier: Apache-2.0
"""Success needs a sign (spec providers 5). Every dialect gets every form of failure, streamed and whole, before and after a first piece. No failure
ends as an empty or cut success, and the message has the service's own words."""
import json

import pytest

from ..checks import check
from .peers import PEERS, Completion, OpenAI, Replicate, Table, block, data, frame, outcomes, stream

pytestmark = pytest.mark.tier("test")

BOOM = "boom of the service"
# what a server says in place of an answer; each holds BOOM
OBJECTS = {
    "error": {"error": {"message": BOOM, "code": 500}},
    "error text": {"error": BOOM},
    "object error": {"object": "error", "message": BOOM, "type": "BadRequestError", "code": 400},
    "code and message": {"code": 1301, "message": BOOM},
    "detail": {"detail": BOOM},
    "list of details": {"detail": [{"loc": ["body"], "msg": BOOM}]},
    "errors": {"errors": [{"code": "x", "message": BOOM}], "trace": "t"},
    "error code": {"error_code": 50001, "text": BOOM},
    "msg": {"success": False, "msg": BOOM},
    "metadata": {"error": {"message": "Provider returned error", "metadata": {"raw": json.dumps({"error": {"message": BOOM}}), "provider_name": "X"}}},
    "aws": {"Message": BOOM},
    "apigee": {"fault": {"faultstring": BOOM, "detail": {"errorcode": "x"}}},
    "oauth": {"error": "invalid_grant", "error_description": BOOM},
    "minimax": {"id": "x", "choices": None, "base_resp": {"status_code": 1004, "status_msg": BOOM}},
    "status beside message": {"timestamp": "t", "status": 500, "error": "Internal Server Error", "message": BOOM, "path": "/x"},
    "reasons": {"error": {"message": "Your input was flagged", "code": 403, "metadata": {"reasons": [BOOM], "flagged_input": "x"}}},
    "envelope": {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": BOOM}}},
    "errmsg": {"errcode": 40001, "errmsg": BOOM},
    "capitals": {"Error": {"Message": BOOM, "Code": "x"}},
    "cause": {"cause": {"message": BOOM}},
    "other": {"state": BOOM},
}
TEXTS = {"text": BOOM, "page": "<html>\n<body>%s</body></html>" % BOOM, "list": json.dumps([{"error": {"message": BOOM}}]), "a json text": json.dumps(BOOM)}


def events(peer):
    """{name: bytes} of failures in a stream of this peer."""
    made = {"object: " + k: peer.event(v) for k, v in OBJECTS.items() if "amazon" not in peer.kind or k == "error"}
    if peer.kind == "text/event-stream":
        made.update({"data: " + k: data(v.replace("\n", " ")) for k, v in TEXTS.items()})
        for k, v in OBJECTS.items():
            made["event: error, " + k] = b"event: error\n" + data(v)
            made["field error, " + k] = b"error: %s\n\n" % json.dumps(v).encode()
        made["event: error, text"] = b"event: error\n" + data(BOOM)
    elif "ndjson" in peer.kind:
        made.update({"line " + k: v.replace("\n", " ").encode() + b"\n" for k, v in TEXTS.items()})
    else:
        made["another exception"] = stream(peer, {"error": {"message": BOOM}})
        for k, v in {"Message": {"Message": BOOM}, "originalMessage": {"originalMessage": BOOM, "originalStatusCode": 500}}.items():
            made["exception: " + k] = frame(json.dumps(v), message_type="exception", exception_type="modelStreamErrorException")
        made["exception: text"] = frame(BOOM, message_type="exception", exception_type="x")
    return made


def bodies():
    """{name: bytes} of whole replies with status 200."""
    made = {"object: " + k: json.dumps(v).encode() for k, v in OBJECTS.items()}
    made.update({"indented: " + k: json.dumps(v, indent=1).encode() for k, v in OBJECTS.items()})
    made.update({"body " + k: v.encode() for k, v in TEXTS.items()})
    return made


def look(pdl, folder, peer, rows, streamed):
    """rows: (name, bytes, type, text that the message must hold)"""
    table = Table()
    got = outcomes(pdl, folder, [block(peer, table, (said, kind)) for _, said, kind, _ in rows], streamed)
    for (name, said, _, words), end in zip(rows, got):
        check("%s, %s: a failure with its words" % (peer.model, name), words in end.get("failed", ""), "\n ", said[:300], "\n ", end)


NAMES = [p.model for p in PEERS]
STREAMING = [p for p in PEERS if p.kind]


@pytest.mark.parametrize("peer", PEERS, ids=NAMES)
def test_whole_replies(pdl, folder, peer):
    look(pdl, folder, peer, [(k, v, None, BOOM) for k, v in bodies().items()], False)
    said = peer.whole("Hello")
    unsure = [("no reason", json.dumps(peer.whole("", None)).encode(), None, ""), ("nothing", b"", None, ""), ("an empty object", b"{}", None, "")]
    look(pdl, folder, peer, unsure, False)
    assert outcomes(pdl, folder, [block(peer, Table(), said)], False) == [{"ok": "Hello"}]
    marked = b"\xef\xbb\xbf" + json.dumps(said).encode()
    assert outcomes(pdl, folder, [block(peer, Table(), marked)], False) == [{"ok": "Hello"}]


@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_streams(pdl, folder, peer):
    rows = []
    for name, said in events(peer).items():
        for before in ((), (peer.piece("Hel"),)):
            for after in ((), (peer.end(),)):
                rows.append(("%s, %d before, %d after" % (name, len(before), len(after)), stream(peer, *before, said, *after), peer.kind, BOOM))
    rows += [("a body: " + k, v, kind, BOOM) for k, v in bodies().items() for kind in (peer.kind, "text/plain")]
    look(pdl, folder, peer, rows, True)


@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_ends_of_streams(pdl, folder, peer):
    rows = [("nothing", b""), ("only its end", peer.ended), ("cut", stream(peer, peer.piece("Hel"), ended=False))]
    if peer.kind == "text/event-stream":
        rows += [("[DONE] alone", data("[DONE]")), ("comments", b": a\n\n: b\n\n" + data("[DONE]")), ("event: error without data", b"event: error\n\n" + data("[DONE]"))]
        rows += [("text beside events", stream(peer, peer.piece("Hel"), b"upstream %s\n\n" % BOOM.encode(), ended=False), BOOM),
                 ("an object beside events", stream(peer, peer.piece("Hel"), json.dumps(OBJECTS["error"]).encode() + b"\n\n"), BOOM)]
    if not peer.done:
        rows.append(("[DONE] of another dialect", stream(peer, peer.piece("Hel"), b"data: [DONE]\n\n")))
    look(pdl, folder, peer, [(r[0], r[1], peer.kind, r[2] if len(r) > 2 else "") for r in rows], True)
    good = [stream(peer, peer.piece("Hel"), peer.piece("lo") if peer.done or "gemini" in peer.model else peer.end(), peer.end(), ended=e) for e in (True, False)]
    if peer.done:
        good += [stream(peer, peer.piece("Hel"), peer.piece("lo")), b"\xef\xbb\xbf" + good[0], b"event: ping\ndata: {}\n\n" + good[0]]
    got = outcomes(pdl, folder, [block(peer, Table(), (g, peer.kind)) for g in good], True)
    check("%s: good streams stay good" % peer.model, all("Hel" in x.get("ok", "") for x in got), got)


WITH_CHOICES = [p for p in PEERS if isinstance(p, OpenAI)]


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_errors_beside_choices(pdl, folder, peer):
    """An error counts where the server sends choices with it, too, whole or in an event."""
    error = {"error": {"code": 502, "message": BOOM}}
    whole = peer.whole("Hel")
    look(pdl, folder, peer, [("beside", json.dumps({**whole, **error}).encode(), None, BOOM),
                             ("inside", json.dumps({"choices": [{**whole["choices"][0], **error, "finish_reason": "error"}]}).encode(), None, "- " + BOOM)], False)
    if not isinstance(peer, Completion):
        failed = {"choices": [{**whole["choices"][0], "message": {**whole["choices"][0]["message"], **error}}]}
        look(pdl, folder, peer, [("in the message", json.dumps(failed).encode(), None, BOOM)], False)
        deltas = [{"id": "c", "choices": [{"index": 0, "delta": d}]} for d in (error, {"content": "", "error": BOOM})]
        look(pdl, folder, peer, [("in the delta", stream(peer, peer.piece("Hel"), d, peer.end()), peer.kind, BOOM) for d in deltas], True)
    rows = [("beside", {**peer.end(), **error}), ("inside", {"id": "c", "choices": [{**peer.end("error")["choices"][0], **error}]})]
    look(pdl, folder, peer, [(n, stream(peer, peer.piece("Hel"), e), peer.kind, BOOM) for n, e in rows], True)
    for nothing in (None, "", {}, []):
        assert outcomes(pdl, folder, [block(peer, Table(), {**whole, "error": nothing})], False) == [{"ok": "Hel"}]


@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_streams_that_nobody_asked_for(pdl, folder, peer):
    """Some gateways only stream. The same stream is read, with its failures."""
    good = stream(peer, peer.piece("Hel"), peer.piece("lo") if peer.done or "gemini" in peer.model else peer.end(), peer.end())
    if peer.kind == "text/event-stream":
        rows = [(good, "Hel"), (b": a comment\n\nevent: message\n" + good, "Hel"), (b"\n\n" + good, "Hel")]
    elif "ndjson" in peer.kind:
        rows = [(good, "Hel")]
    else:
        return
    table = Table()
    got = outcomes(pdl, folder, [block(peer, table, (said, kind)) for said, _ in rows for kind in (peer.kind, "application/json")], False)
    check("%s: streams are read" % peer.model, all(g.get("ok", "").startswith("Hel") for g in got), got)
    bad = [stream(peer, peer.piece("Hel"), ended=False), stream(peer, peer.piece("Hel"), OBJECTS["error"], peer.end())]
    got = outcomes(pdl, folder, [block(peer, table, (said, peer.kind)) for said in bad], False)
    check("%s: a cut one is no answer, and a failure in one has its words" % peer.model, "failed" in got[0] and BOOM in got[1].get("failed", ""), got)


@pytest.mark.parametrize("peer", [p for p in STREAMING if p.kind == "text/event-stream"], ids=[p.model for p in STREAMING if p.kind == "text/event-stream"])
def test_fields_with_blanks_before_them(pdl, folder, peer):
    good = stream(peer, peer.piece("Hello"), peer.end())
    got = outcomes(pdl, folder, [block(peer, Table(), (good.replace(b"data: ", b"  data: ").replace(b"\n\n", b"\n \n\n"), peer.kind))], True)
    check("%s: no event is lost" % peer.model, got == [{"ok": "Hello"}], got)


CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_chunks_without_choices(pdl, folder, peer):
    """A gateway sends them while it waits. One that has words is a failure, and one alone is no answer."""
    table, rows = Table(), [CHUNK, {**CHUNK, "choices": None}, {**CHUNK, "usage": None}]
    got = outcomes(pdl, folder, [block(peer, table, (stream(peer, r, peer.piece("Hello"), r, peer.end(), r), peer.kind)) for r in rows], True)
    check("%s: they are passed over" % peer.model, got == [{"ok": "Hello"}] * len(rows), got)
    got = outcomes(pdl, folder, [block(peer, table, (stream(peer, r), peer.kind)) for r in rows], True)
    check("%s: alone they are no answer" % peer.model, all("failed" in g for g in got), got)
    look(pdl, folder, peer, [("a chunk with words", stream(peer, peer.piece("Hel"), {**CHUNK, **OBJECTS[k]}, peer.end()), peer.kind, BOOM) for k in ("error", "detail", "code and message")], True)


def test_words_in_a_log(pdl, folder):
    peer = next(p for p in PEERS if isinstance(p, Replicate))
    said = {"id": "j", "status": "failed", "error": None, "logs": "loading\n%s\n" % BOOM}
    look(pdl, folder, peer, [("a log", json.dumps(said).encode(), None, "failed: " + BOOM)], False)


@pytest.mark.parametrize("peer", WITH_CHOICES, ids=[p.model for p in WITH_CHOICES])
def test_texts_in_any_member(pdl, folder, peer):
    """The text of a choice is found in whatever member it is, beside others that say nothing."""
    end = {"finish_reason": "stop"}
    part = {"type": "text", "text": "Hello"}
    whole = [{"text": "Hello", "message": {"role": "assistant"}}, {"text": "Hello", "message": {"role": "assistant", "content": ""}},
             {"message": {}, "delta": {"content": "Hello"}}, {"message": {"role": "assistant", "content": None}, "delta": {"content": "Hello"}},
             {"message": {"content": ["Hel", "lo"]}}, {"message": {"content": part}}, {"message": {"content": ["Hel", {"type": "text", "text": "lo"}]}}, {"delta": {"content": [part]}}]
    table = Table()
    got = outcomes(pdl, folder, [block(peer, table, {"choices": [{"index": 0, **w, **end}]}) for w in whole], False)
    for w, g in zip(whole, got):
        check("%s: %s" % (peer.model, w), g == {"ok": "Hello"}, g)
    if isinstance(peer, Completion):
        return
    events = [{"delta": "Hello"}, {"delta": {}, "message": {"content": "Hello"}}, {"delta": {}, "text": "Hello"}, {"message": "Hello"}]
    got = outcomes(pdl, folder, [block(peer, table, (stream(peer, {"id": "c", "choices": [{"index": 0, **e}]}, peer.end()), peer.kind)) for e in events], True)
    for e, g in zip(events, got):
        check("%s, streamed: %s" % (peer.model, e), g == {"ok": "Hello"}, g)


# where FastAPI found the fault, and what the message ends with
PLACES = ((["body", "model"], " (at model)"), (["body", "messages", 0, "role"], " (at messages.0.role)"), (["body"], ""), ([], ""), ("body", ""), (["body", None], ""),
          (["query", "x" * 200], " (at %s)" % ("x" * 60)), (["body"] + ["a"] * 20, " (at %s)" % ".".join("a" * 8)))


@pytest.mark.parametrize("streamed", (True, False))
def test_place_of_a_fault(pdl, folder, streamed):
    """The words of a service that checks requests say nothing without the part of the request that they are about."""
    peer, table = OpenAI("openai/m"), Table()
    said = [json.dumps({"detail": [{"type": "missing", "loc": loc, "msg": BOOM}]}).encode() for loc, _ in PLACES]
    ends = outcomes(pdl, folder, [block(peer, table, (s, "application/json")) for s in said], streamed)
    for (loc, place), end in zip(PLACES, ends):
        failed = end.get("failed", "")
        check("%s: the place" % loc, BOOM + place in failed and ("(at" in failed) == bool(place), end)
