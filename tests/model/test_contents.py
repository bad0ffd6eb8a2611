# SPDX-License-Identifier: Apache-2.0
"""The content of an answer may have any form that a gateway gives it: a text, one part, a list of parts, a part without a type. The same answer is
read from each form, whole or streamed. When nothing can be read the call fails, and no empty text is printed in its place."""
import json

import pytest

from ..checks import check, same
from .peers import OpenAI, PEERS, Table, block, bedrock_event, data, line, outcomes, run

pytestmark = pytest.mark.tier("test")

H = "Hello"
PART = {"type": "text", "text": H}
FORMS = [H, PART, [PART], [H], {"text": H}, [{"text": H}], [{"type": "output_text", "text": H}], [{"type": "text", "text": {"value": H, "annotations": []}}],
         ["Hel", {"text": "lo"}], {"type": "text", "content": H}]
UNREAD = [[{"type": "weird", "x": H}], {"type": "weird"}, [{"type": "tool_result", "content": [PART]}]]
KNOWN = {p.model: p for p in PEERS}


def ollama(x, end):
    return {"message": {"role": "assistant", "content": x}, "done": end, **({"done_reason": "stop"} if end else {})}


def generated(x, end):
    return {"response": x, "done": end, **({"done_reason": "stop"} if end else {})}


def events(*values):
    return b"".join(map(data, values))


ANTHROPIC_END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
OPENAI_END = data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}) + data("[DONE]")
WHOLE = {
    "openai/m": lambda x: {"choices": [{"index": 0, "message": {"role": "assistant", "content": x}, "finish_reason": "stop"}]},
    "ollama_chat/m": lambda x: ollama(x, True),
    "ollama/m": lambda x: generated(x, True),
    "anthropic/m": lambda x: {"content": x, "stop_reason": "end_turn"},
    "gemini/m": lambda x: {"candidates": [{"content": x if isinstance(x, str) else {"parts": x}, "finishReason": "STOP"}]},
    "vertex_ai/m": lambda x: {"candidates": [{"content": {"parts": x}, "finishReason": "STOP"}]},
    "bedrock/m": lambda x: {"output": {"message": {"content": x}}, "stopReason": "end_turn"},
    "watsonx_text/m": lambda x: {"results": [{"generated_text": x, "stop_reason": "eos_token"}]},
}
STREAMED = {
    "openai/m": lambda x: data({"choices": [{"index": 0, "delta": {"content": x}}]}) + OPENAI_END,
    "text-completion-openai/m": lambda x: data({"choices": [{"index": 0, "text": x}]}) + OPENAI_END,
    "ollama_chat/m": lambda x: line(ollama(x, False)) + line(ollama("", True)),
    "ollama/m": lambda x: line(generated(x, False)) + line(generated("", True)),
    "anthropic/m": lambda x: events({"type": "content_block_delta", "index": 0, "delta": x} if isinstance(x, str) else
                                    {"type": "message_start", "message": {"content": x, "usage": {}}}, ANTHROPIC_END),
    "gemini/m": lambda x: events({"candidates": [{"content": x if isinstance(x, str) else {"parts": x}}]}, {"candidates": [{"finishReason": "STOP"}]}),
    "bedrock/m": lambda x: bedrock_event({"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": x}}}) + bedrock_event({"messageStop": {"stopReason": "end_turn"}}),
    "watsonx_text/m": lambda x: events({"results": [{"generated_text": x}]}, {"results": [{"generated_text": "", "stop_reason": "eos_token"}]}),
}


def pieces(*contents):
    return b"".join(data({"choices": [{"index": 0, "delta": {"content": c}}]}) for c in contents) + OPENAI_END


# further forms of one dialect, whole or streamed
OWN = [
    ("ollama_chat/m", {"message": {"text": H}, "done": True, "done_reason": "stop"}, H),
    ("ollama_chat/m", {"message": {"text": "boom"}}, None),
    ("ollama_chat/m", line({"message": {"text": H}, "done": False}) + line(ollama("", True)), H),
    ("ollama_chat/m", line({"message": {"text": "boom"}}) + line(ollama("", True)), None),
    ("ollama_chat/m", line({"message": "boom", "done": False}) + line(ollama("", True)), None),
    ("ollama_chat/m", line({"response": H, "done": False}) + line(generated("", True)), None),
    ("ollama/m", line({"text": H, "done": False}) + line(generated("", True)), None),
    ("anthropic/m", events({"type": "content_block_start", "index": 0, "content_block": {"text": H}}, ANTHROPIC_END), H),
    ("anthropic/m", events({"type": "content_block_delta", "index": 0, "delta": {"text": H}}, ANTHROPIC_END), H),
    ("anthropic/m", events({"type": "content_block_start", "index": 0, "content_block": {"type": "mcp_tool_result", "content": [PART]}},
                           {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "yes"}}, ANTHROPIC_END), "yes"),
    ("gemini/m", {"candidates": [{"content": {"text": H}, "finishReason": "STOP"}]}, H),
    ("gemini/m", {"candidates": [{"text": H, "finishReason": "STOP"}]}, H),
    ("gemini/m", {"candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}]}, ""),
    ("gemini/m", {"candidates": [{"content": {"parts": [{"thoughtSignature": "s"}]}, "finishReason": "STOP"}]}, ""),
    ("gemini/m", {"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}]}, "finishReason": "STOP"}]}, None),
    ("gemini/m", {"candidates": [{"content": {"parts": [{"executableCode": {"code": "1"}}, {"text": H}]}, "finishReason": "STOP"}]}, H),
    ("bedrock/m", {"output": {"message": {"content": [{"citationsContent": {"content": [{"text": H}], "citations": []}}]}}, "stopReason": "end_turn"}, H),
    ("bedrock/m", {"output": {"message": {"content": [{"guardContent": {"x": 1}}]}}, "stopReason": "end_turn"}, None),
    ("watsonx_text/m", {"results": {"generated_text": H, "stop_reason": "eos_token"}}, H),
    ("replicate/o/m", {"id": "j", "status": "succeeded", "output": None}, None),
    ("replicate/o/m", {"id": "j", "status": "succeeded", "output": []}, ""),
    ("openai/m", data({"choices": [{"index": 0, "delta": [{"content": H}]}]}) + OPENAI_END, None),
    ("bedrock/m", {"output": {"message": {"content": [{"text": H, "toolUse": None, "reasoningContent": None}]}}, "stopReason": "end_turn"}, H),
    ("gemini/m", {"candidates": [{"content": {"parts": [{"thought": True, "thoughtSignature": "s"}]}, "finishReason": "STOP"}]}, ""),
    ("anthropic/m", {"content": [{"type": "text", "text": None}], "stop_reason": "end_turn"}, ""),
    ("anthropic/m", events({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": None}}, ANTHROPIC_END), ""),
    ("openai/m", pieces([], H), H),
    ("openai/m", pieces(H, []), H),
    ("openai/m", pieces("Hel", {}, "lo"), H),
    ("openai/m", pieces(H, False), H),
    ("openai/m", pieces("Hel", [{"a": 1}], "lo"), H),
    ("openai/m", pieces([{"text": "Hel", "index": 0}], [{"text": "lo", "index": 0}]), H),
    ("openai/m", pieces([{"type": "text", "text": "Hel"}, {"a": 1}], "lo"), H),
    ("openai/m", pieces([]), ""),
    ("openai/m", pieces([{"a": 1}]), [{"a": 1}]),
]
# an answer that ends for a reason that explains why there is no text, or that has another part than its content
CALL = [{"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}]
WEIRD = [{"type": "weird"}]
EXPLAINED = [
    ("openai/m", {"choices": [{"message": {"content": WEIRD}, "finish_reason": "length"}]}),
    ("openai/m", {"choices": [{"message": {"content": WEIRD, "tool_calls": CALL}, "finish_reason": "tool_calls"}]}),
    ("openai/m", {"choices": [{"message": {"content": WEIRD, "reasoning_content": "hm"}, "finish_reason": "stop"}]}),
    ("anthropic/m", {"content": WEIRD, "stop_reason": "max_tokens"}),
    ("openai/m", data({"choices": [{"index": 0, "delta": {"content": WEIRD}}]}) + data({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}) + data("[DONE]")),
    ("openai/m", data({"choices": [{"index": 0, "delta": {"content": WEIRD, "tool_calls": CALL}}]}) + OPENAI_END),
    ("anthropic/m", events({"type": "content_block_start", "index": 0, "content_block": WEIRD[0]}, {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})),
]


def look(pdl, folder, rows, streamed):
    """rows: model, reply, the text or None for a failure"""
    table = Table()
    got = outcomes(pdl, folder, [block(KNOWN[m], table, (x, KNOWN[m].kind) if streamed else json.dumps(x).encode()) for m, x, _ in rows], streamed)
    for (model, said, want), end in zip(rows, got):
        check("%s, streamed %s, %s" % (model, streamed, said), end.get("ok") == want and ("failed" in end) == (want is None), end)


@pytest.mark.parametrize("streamed", [False, True])
def test_forms(pdl, folder, streamed):
    ways = STREAMED if streamed else WHOLE
    rows = [(model, way(x), H) for model, way in ways.items() for x in FORMS]
    look(pdl, folder, rows + [(model, way(x), None) for model, way in ways.items() for x in UNREAD], streamed)
    look(pdl, folder, [r for r in OWN + [(*r, "") for r in EXPLAINED] if isinstance(r[1], bytes) == streamed], streamed)


def test_a_failure_says_why(pdl, folder):
    """The words are the same for a whole answer and for a stream."""
    for streamed, ways in ((False, WHOLE), (True, STREAMED)):
        table, models = Table(), ["openai/m", "anthropic/m", "gemini/m"]
        rows = [block(KNOWN[m], table, (ways[m](WEIRD), KNOWN[m].kind) if streamed else json.dumps(ways[m](WEIRD)).encode()) for m in models]
        for model, end in zip(models, outcomes(pdl, folder, rows, streamed)):
            check("%s, streamed %s" % (model, streamed), end.get("kind") == "protocol" and "has no text that can be read: '{" in end["failed"], end)


def test_an_object_is_no_part(pdl, folder):
    """Nothing of an answer that is an object, or a list of objects, is lost because one member is named text."""
    table, values = Table(), [{"text": H, "score": 1}, [{"text": H, "score": 1}], {"a": 1}]
    asks = [block(KNOWN["openai/m"], table, json.dumps(WHOLE["openai/m"](v)).encode(), contribute=["result"]) for v in values]
    same(json.loads(run(pdl, folder, {"array": asks}, "--stream", "none")[0]), values)


MARK = {"extra_content": {"google": {"thought_signature": "s"}}}


@pytest.mark.parametrize("streamed", [False, True])
def test_forms_of_calls(pdl, folder, streamed):
    """A call without `function` or without a list is one, and what Google's models want back of it is kept: the next request has it."""
    peer, calls = OpenAI("litellm_proxy/fast"), {"flat": {"id": "a", "type": "function", "name": "t", "arguments": '{"u": 1}'}}
    calls["usual"] = {"id": "a", "type": "function", "function": {"name": "t", "arguments": '{"u": 1}', "provider_specific_fields": {"thought_signature": "f"}}, **MARK}
    tools = [{"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}}]
    for name, call in calls.items():
        for sent in (call, [call]):
            table = Table()
            if streamed:
                first = (data({"choices": [{"index": 0, "delta": {"tool_calls": sent}}]}) + data(peer.end("tool_calls")) + data("[DONE]"), peer.kind)
                second = (data(peer.piece("B")) + data(peer.end()) + data("[DONE]"), peer.kind)
            else:
                first = {"choices": [{"index": 0, "message": {"content": None, "tool_calls": sent}, "finish_reason": "tool_calls"}]}
                second = peer.whole("B")
            ask, then = block(peer, table, first, parameters={"tools": tools}, modelResponse="r"), block(peer, table, second, parameters={"tools": tools})
            then["input"] = {"data": "${ pdl_context + [{'role': 'tool', 'tool_call_id': 'a', 'content': 'x'}] }"}
            del ask["input"]
            out, _ = run(pdl, folder, {"lastOf": [{"role": "user", "text": "hi", "contribute": ["context"]}, ask, then, "${ r.choices[0].message.tool_calls[0].function.arguments }"]},
                         "--stream", "result" if streamed else "none")
            check("%s: its arguments are read" % name, '{"u": 1}' in out, out)
            back = table.asked[1][0]["messages"][1]["tool_calls"][0]
            same(back["function"]["name"], "t")
            if name == "usual":
                same((back.get("extra_content"), back["function"].get("provider_specific_fields")), (MARK["extra_content"], {"thought_signature": "f"}))
