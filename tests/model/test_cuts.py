#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers cut off after every byte, in every form that answers have, on a connection that is closed, broken off or reset; and read byte by byte.

    python3 tests/model/test_cuts.py BUILD_DIR [NAME ...]      prints "N passed, N failed"

What was shown is always a beginning of the text; what counts as an answer is the whole of it, calls with all of their arguments; everything
else is an error of the transport. All cuts of a form are calls of one process against one server.
"""
import asyncio
import binascii
import json
import os
import re
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire as w  # noqa: E402
from wire import KEY, Wire, cut, head, run, sse  # noqa: E402

TEXT = "Grüße, 世界! 😀 end"
ARGS = '{"x": "ü"}'
BAD_KINDS = {"connection", "stream", "protocol"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
SECONDS = 60  # for all cuts of a form; it takes a few


def frame(kind, payload, message="event"):
    """A frame of the AWS event stream."""
    names = {":event-type": kind, ":message-type": message}
    heads = b"".join(struct.pack(">B", len(k)) + k.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode() for k, v in names.items())
    body = json.dumps(payload).encode()
    front = struct.pack(">II", len(heads) + len(body) + 16, len(heads))
    front += struct.pack(">I", binascii.crc32(front))
    whole = front + heads + body
    return whole + struct.pack(">I", binascii.crc32(whole))


def lines(*objects):
    return "".join(json.dumps(x, ensure_ascii=False) + "\n" for x in objects).encode()


def pieces_of(text):
    return [text[i:i + 7] for i in range(0, len(text), 7)]


def chunk(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, **({"finish_reason": finish} if finish else {})}]}


def openai_call():
    """The chunks of one call of a tool."""
    first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    return [chunk(tool_calls=[first]), *[chunk(tool_calls=[{"index": 0, "function": {"arguments": a}}]) for a in pieces_of(ARGS)]]


def anthropic():
    def event(kind, **fields):
        return {"type": kind, **fields}
    usage = {"input_tokens": 1, "output_tokens": 1}
    tool = {"type": "tool_use", "id": "call_1", "name": "f", "input": {}}
    return [event("message_start", message={"id": "m", "model": "m", "usage": usage}),
            event("content_block_start", index=0, content_block={"type": "text", "text": ""}), event("ping"),
            *[event("content_block_delta", index=0, delta={"type": "text_delta", "text": p}) for p in pieces_of(TEXT)], event("content_block_stop", index=0),
            event("content_block_start", index=1, content_block=tool),
            *[event("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": p}) for p in pieces_of(ARGS)],
            event("content_block_stop", index=1), event("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 2}), event("message_stop")]


def gemini():
    def event(part, **more):
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, **more}]}
    call = {"functionCall": {"id": "call_1", "name": "f", "args": json.loads(ARGS)}}
    return [*[event({"text": p}) for p in pieces_of(TEXT)], event(call),
            {**event({"text": ""}, finishReason="STOP"), "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2}}]


def watsonx_text():
    parts = [{"results": [{"generated_text": p, "stop_reason": "not_finished"}]} for p in pieces_of(TEXT)]
    return parts + [{"results": [{"generated_text": "", "stop_reason": "eos_token", "input_token_count": 1, "generated_token_count": 2}]}]


def bedrock():
    def delta(**d):
        return {"contentBlockIndex": 0, "delta": d}
    return b"".join([frame("messageStart", {"role": "assistant"}), *[frame("contentBlockDelta", delta(text=p)) for p in pieces_of(TEXT)],
                     frame("contentBlockStop", {"contentBlockIndex": 0}),
                     frame("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "call_1", "name": "f"}}}),
                     *[frame("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": p}}}) for p in pieces_of(ARGS)],
                     frame("contentBlockStop", {"contentBlockIndex": 1}), frame("messageStop", {"stopReason": "tool_use"}),
                     frame("metadata", {"usage": {"inputTokens": 1, "outputTokens": 2}})])


def ollama(field):
    def line(text, **more):
        return {"model": "m", **({"message": {"role": "assistant", "content": text}} if field == "message" else {"response": text}), "done": False, **more}
    call = {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": json.loads(ARGS)}}]}}
    calls = [{**call, "done": False}] if field == "message" else []
    return lines(*[line(p) for p in pieces_of(TEXT)], *calls, line("", done=True, done_reason="stop", prompt_eval_count=1, eval_count=2))


SSE, NDJSON, FRAMES = "text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"
CHAT = sse(*[chunk(content=p) for p in pieces_of(TEXT)], *openai_call(), chunk(finish="tool_calls"), {"choices": [], "usage": USAGE})
AWS = {"aws_access_key_id": "A", "aws_secret_access_key": "B", "aws_region_name": "r"}
IBM = {"token": "t", "project_id": "p"}
# model, parameters, type of the answer, its bytes, what says that it is complete, does it call a tool
STREAMS = {
    "openai": ("openai/m", {}, SSE, CHAT, b'"finish_reason": "tool_calls"', True),
    "completion": ("text-completion-openai/m", {}, SSE, sse(*[{"choices": [{"index": 0, "text": p}]} for p in pieces_of(TEXT)],
                                                            {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}), b'"finish_reason": "stop"', False),
    "azure": ("azure/m", {"api_version": "v1"}, SSE, CHAT.replace(b"\n", b"\r\n"), b'"finish_reason": "tool_calls"', True),
    "watsonx": ("watsonx/m", IBM, SSE, re.sub(rb"data:", rb"id: 1\nevent: message\ndata:", CHAT[:-len(b"data: [DONE]\n\n")]), b'"finish_reason": "tool_calls"', True),
    "watsonx_text": ("watsonx_text/m", IBM, SSE, sse(*watsonx_text(), done=False), b'"stop_reason": "eos_token"', False),
    "anthropic": ("anthropic/m", {}, SSE, b"".join(b"event: x\n" + sse(e, done=False) for e in anthropic()), b'"stop_reason": "tool_use"', True),
    "gemini": ("gemini/m", {}, SSE, sse(*gemini(), done=False), b'"finishReason": "STOP"', True),
    "ollama_chat": ("ollama_chat/m", {}, NDJSON, ollama("message"), b'"done": true', True),
    "ollama": ("ollama/m", {}, NDJSON, ollama("response"), b'"done": true', False),
    "bedrock": ("bedrock/m", AWS, FRAMES, bedrock(), b'"stopReason"', True),
}
CALL = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ARGS}}]
WHOLES = {
    "openai": ("openai/m", {}, {"choices": [{"message": {"content": TEXT, "tool_calls": CALL}, "finish_reason": "tool_calls"}]}, True),
    "completion": ("text-completion-openai/m", {}, {"choices": [{"text": TEXT}]}, False),
    "watsonx_text": ("watsonx_text/m", IBM, {"results": [{"generated_text": TEXT, "stop_reason": "eos_token"}]}, False),
    "anthropic": ("anthropic/m", {}, {"content": [{"type": "text", "text": TEXT}, {"type": "tool_use", "id": "call_1", "name": "f", "input": json.loads(ARGS)}],
                                      "stop_reason": "tool_use"}, True),
    "gemini": ("gemini/m", {}, {"candidates": [{"content": {"parts": [{"text": TEXT}, {"functionCall": {"id": "call_1", "name": "f", "args": json.loads(ARGS)}}]},
                                              "finishReason": "STOP"}]}, True),
    "ollama_chat": ("ollama_chat/m", {}, {"message": {"content": TEXT, "tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": json.loads(ARGS)}}]}, "done": True},
                    True),
    "bedrock": ("bedrock/m", AWS, {"output": {"message": {"content": [{"text": TEXT}, {"toolUse": {"toolUseId": "call_1", "name": "f", "input": json.loads(ARGS)}}]}},
                                   "stopReason": "tool_use"}, True),
    "replicate": ("replicate/a/b", {}, {"id": "p", "status": "succeeded", "output": [TEXT]}, False),
}


class Cutter:
    """Answers the request that says "cut N" with the first N bytes of the answer and then ends the connection its own way."""

    def __init__(self, answer, reset):
        self.answer, self.reset, self.head = answer, reset, {}
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.main, args=(ready,), daemon=True).start()
        ready.wait()

    def main(self, ready):
        async def start():
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
            self.url = "http://127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(start())
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            sent = await reader.readuntil(b"\r\n\r\n")
            size = int(re.search(rb"content-length: *(\d+)", sent.lower()).group(1))
            at = int(re.search(rb"cut (\d+)", await reader.readexactly(size)).group(1))
            writer.write(self.answer[:at])
            await writer.drain()
            if self.reset:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)


def ask(url, model, parameters, text, stream):
    native = not model.startswith(("openai", "text-completion"))
    return {"model": model, "messages": [{"role": "user", "content": text}], "stream": stream,
            "parameters": {"api_base": url if native else url + "/v1", "api_key": KEY, "max_retries": 0, **parameters}}


def calls_of(message):
    return [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls") or []]


def check_end(where, shown, end, complete, tool):
    assert TEXT.startswith(shown), (where, shown)
    if "reply" not in end:
        assert end["error"]["kind"] in BAD_KINDS, (where, end)
        return
    assert complete, (where, end)
    message = end["reply"]["message"]
    assert message["content"] == TEXT and calls_of(message) == ([("f", json.loads(ARGS))] if tool else []), (where, message)


def cut_everywhere(name, model, parameters, answer, complete_at, tool, stream, reset):
    """complete_at: the shortest beginning that may count as an answer."""
    server = Cutter(answer, reset)
    ends, shown, t0 = {}, {}, time.monotonic()
    for first in range(0, len(answer) + 1, 500):
        cuts = list(range(first, min(first + 500, len(answer) + 1)))
        for x in run({"calls": [ask(server.url, model, parameters, "cut %d" % at, stream) for at in cuts]}):
            at = cuts[x["i"]]
            if "piece" in x:
                shown[at] = shown.get(at, "") + x["piece"]
            else:
                assert at not in ends, (name, at, "ended twice")
                ends[at] = x
    server.close()
    assert len(ends) == len(answer) + 1 and time.monotonic() - t0 < SECONDS, (name, len(ends), time.monotonic() - t0)
    for at, end in ends.items():
        check_end((name, "reset" if reset else "closed", at, answer[max(0, at - 40):at]), shown.get(at, ""), end, at >= complete_at, tool)
    assert reset or "reply" in ends[len(answer)], (name, ends[len(answer)])


def chunked(body):
    return b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def test_streams_cut_at_every_byte():
    for name, (model, parameters, kind, body, mark, tool) in STREAMS.items():
        extra, coded = chunked(body)
        for answer, reset in ((head(kind) + body, False), (head(kind, extra=extra.decode()) + coded, False), (head(kind) + body, True)):
            cut_everywhere(name, model, parameters, answer, answer.index(mark), tool, True, reset)


def test_whole_answers_cut_at_every_byte():
    for name, (model, parameters, reply, tool) in WHOLES.items():
        body = json.dumps(reply, ensure_ascii=False).encode()
        for extra, reset in (("", False), ("Content-Length: %d\r\n" % len(body), False), ("", True)):
            answer = head("application/json", extra=extra) + body
            cut_everywhere(name, model, parameters, answer, len(answer), tool, False, reset)


def test_streams_byte_by_byte():
    for name, (model, parameters, kind, body, _, tool) in STREAMS.items():
        for split, parts in ((False, cut(body, 1)), (True, [body])):
            wire = Wire([head(kind)] + parts)
            got = run({"calls": [ask(wire.url, model, parameters, "x", True)], "split": split})
            wire.close()
            shown = "".join(x["piece"] for x in got if "piece" in x)
            assert shown == TEXT and "reply" in got[-1], (name, got[-1])
            check_end((name, "bytes"), shown, got[-1], True, tool)
            usage = got[-1]["reply"]["usage"]
            assert usage is None if name == "completion" else usage["total_tokens"] == 3, (name, usage)


if __name__ == "__main__":
    sys.exit(w.main(globals(), __doc__))
