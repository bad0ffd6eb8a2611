# SPDX-License-Identifier: Apache-2.0
"""An answer that was cut or filtered, under a spec or a JSON parser, is an error that says so, in every dialect, streamed and whole. Its JSON is not
completed."""
import pytest

from ..checks import check
from .peers import PEERS, Table, block, outcomes, stream

pytestmark = pytest.mark.tier("test")
CUT = {"anthropic": "max_tokens", "gemini": "MAX_TOKENS", "vertex_ai": "MAX_TOKENS", "bedrock": "max_tokens", "watsonx_text": "max_tokens"}
FILTERED = {"anthropic": "refusal", "gemini": "SAFETY", "vertex_ai": "PROHIBITED_CONTENT", "bedrock": "guardrail_intervened", "ollama": None, "ollama_chat": None,
            "watsonx_text": None}
STREAMING = [p for p in PEERS if p.kind]
SPEC = {"spec": {"n": "integer", "s": "string"}}
TEXTS = ('{"n": 1, "s": "x', '{"n": "x"}', "")


def said(peer, text, reason, streamed):
    return (stream(peer, *([peer.piece(text)] if text else []), peer.end(reason)), peer.kind) if streamed else peer.whole(text, reason)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_cut_answers(pdl, folder, peer, streamed):
    name, table, rows = peer.model.split("/")[0], Table(), []
    for fields in (SPEC, {**SPEC, "parser": "json"}, {"parser": "json"}):
        for text in TEXTS if "spec" in fields else TEXTS[:1]:
            for reason, words in ((CUT.get(name, "length"), "cut at its limit of tokens"), (FILTERED.get(name, "content_filter"), "filter")):
                if reason:
                    rows.append(((text, reason, fields), words, {"lastOf": [block(peer, table, said(peer, text, reason, streamed), **fields)]}))
    for (title, words, _), end in zip(rows, outcomes(pdl, folder, [r[2] for r in rows], streamed)):
        failed = end.get("failed", "")
        check("%s: %s" % (peer.model, title), words in failed or "refus" in failed, end)
    good = [{"lastOf": [block(peer, table, said(peer, text, reason, streamed), parser="json")]}
            for text, reason in (('{"n": 1, "s": "}x["}', CUT.get(name, "length")), ('{"n": 1, "s": "x', peer_end(peer)),
                                 ('{"n": 1}\nThat is the set {x', CUT.get(name, "length")))]
    got = outcomes(pdl, folder, good, streamed)
    check("%s: whole JSON is taken, also before prose that was cut, and that of an answer which ended by itself is completed" % peer.model,
          got == [{"n": 1, "s": "}x["}, {"n": 1, "s": "x"}, {"n": 1}], got)


def peer_end(peer):
    """The reason of an ordinary end."""
    return type(peer).end.__defaults__[0]
