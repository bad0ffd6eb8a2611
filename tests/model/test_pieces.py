# SPDX-License-Identifier: Apache-2.0
"""The members in which servers with OpenAI's protocol put the text of an answer: no text is lost, and no text is there twice."""
import json

from ..checks import check
from .peers import PEERS, Table, block, outcomes, run, stream

PEER = PEERS[0]
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def choice(finish=None, **members):
    return {"id": "c", "choices": [{"index": 0, **members, "finish_reason": finish}]}


STREAMS = {
    "parts": [choice(delta={"content": [{"type": "text", "text": "Hello"}]})],
    "a text as delta": [choice(delta="Hello")],
    "text of the choice": [choice(text="Hello")],
    "content of the choice": [choice(content="Hel"), choice(content="lo")],
    "text of the delta": [choice(delta={"text": "Hel"}), choice(delta={"role": "assistant", "content": None, "text": "lo"})],
    "message": [choice(message={"content": "Hello"})],
    "messages in pieces": [choice(message={"content": "Hel"}), choice(message={"content": "lo"})],
    "the whole message at the end": [choice(delta={"content": "Hel"}), choice(delta={"content": "lo"}), choice(delta={}, message={"role": "assistant", "content": "Hello"})],
    "the whole message with the reason": [choice(delta={"content": "Hello"}), choice("stop", message={"role": "assistant", "content": "Hello"})],
}
WHOLE = {
    "parts": {"message": {"content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}}, "texts": {"message": {"content": ["Hel", "lo"]}},
    "text": {"text": "Hello"}, "content": {"content": "Hello"}, "a text as message": {"message": "Hello"}, "text of the message": {"message": {"text": "Hello"}},
    "delta": {"delta": {"content": "Hello"}}, "empty message, text": {"message": {"content": ""}, "text": "Hello"},
}


def test_texts(pdl, folder):
    table = Table()
    rows = [("stream: " + k, block(PEER, table, (stream(PEER, *v, PEER.end()), PEER.kind)), True) for k, v in STREAMS.items()]
    rows += [("%s: %s" % ("streamed" if s else "whole", k), block(PEER, table, choice("stop", **v)), s) for k, v in WHOLE.items() for s in (False, True)]
    for streamed in (False, True):
        some = [r for r in rows if r[2] == streamed]
        for (title, _, _), end in zip(some, outcomes(pdl, folder, [r[1] for r in some], streamed)):
            check(title, end == {"ok": "Hello"}, end)


def test_a_whole_answer_is_printed(pdl, folder):
    """Where a stream was wanted and the answer came whole, as where it comes in pieces: all of its text, and no thoughts."""
    shapes = {**WHOLE, "thoughts": {"message": {"content": "<think>hm</think>Hello"}}}
    for title, members in shapes.items():
        out = run(pdl, folder, {"text": [block(PEER, Table(), choice("stop", **members))]}, "--stream", "result")[0]
        check(title, out == "Hello\n", out)


def test_calls_beside_a_whole_message(pdl, folder):
    whole = choice("tool_calls", delta={}, message={"role": "assistant", "content": "Hello", "tool_calls": [CALL]})
    for title, said in (("calls in the message alone", [choice(delta={"content": "Hello"}), whole]),
                        ("calls in pieces and in the message", [choice(delta={"content": "Hello", "tool_calls": [{"index": 0, **CALL}]}), whole])):
        table = Table()
        program = {"lastOf": [block(PEER, table, (stream(PEER, *said), PEER.kind), modelResponse="r"), {"data": "${ r.choices[0].message }"}]}
        message = json.loads(run(pdl, folder, program, "--stream", "result")[0])
        calls = [(c["id"], c["function"]["arguments"]) for c in message["tool_calls"]]
        check(title, message["content"] == "Hello" and calls == [("1", '{"a": 1}')], message)
