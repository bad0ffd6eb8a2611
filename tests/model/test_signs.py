# SPDX-License-Identifier: Apache-2.0
"""Success needs a sign (spec providers 5): every dialect is fed every shape of failure, streamed and whole, before and after a first piece. None ends as
an empty or cut success, and the service's own words stand in the message."""
import json

import pytest

from ..checks import check
from .peers import PEERS, Table, block, data, outcomes, stream

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
    return made


def bodies():
    """{name: bytes} of whole replies with status 200."""
    made = {"object: " + k: json.dumps(v).encode() for k, v in OBJECTS.items() if k != "other"}
    made.update({"indented: " + k: json.dumps(v, indent=1).encode() for k, v in OBJECTS.items() if k != "other"})
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
