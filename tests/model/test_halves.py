# SPDX-License-Identifier: Apache-2.0
"""A character whose two escapes arrive in two events of a stream is one character, in every dialect and place."""
import json

import pytest

from ..checks import same
from .peers import Bedrock, PEERS, Table, block, outcomes, stream

STREAMING = [p for p in PEERS if p.kind and not isinstance(p, Bedrock)]


def halved(peer, *texts):
    """Pieces with escapes as they are written, \\\\u being an escaped backslash."""
    return stream(peer, *[peer.event(json.dumps(peer.piece("TEXT")).replace("TEXT", t)) for t in texts], peer.end())


@pytest.mark.parametrize("peer", STREAMING, ids=[p.model for p in STREAMING])
def test_halves(pdl, folder, peer):
    smile = "\U0001f600"
    rows = [(["a\\ud83d", "\\ude00b"], "a" + smile + "b"), (["\\uD83D", "\\uDE00\\ud83d", "\\ude00"], smile * 2), (["a\\ud83d\\ude00"], "a" + smile),
            (["a\\\\ud83d", "\\\\ude00"], "a\\ud83d\\ude00"), (["a\\ud83d"], "a\ufffd"), (["\\ude00a"], "\ufffda"), (["\\u00e9\\ud83d", "\\ude00\\u00e9"], "\u00e9" + smile + "\u00e9")]
    table = Table()
    got = outcomes(pdl, folder, [block(peer, table, (halved(peer, *texts), peer.kind)) for texts, _ in rows], True)
    same(got, [{"ok": want} for _, want in rows])
