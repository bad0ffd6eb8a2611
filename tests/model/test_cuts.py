# SPDX-License-Identifier: Apache-2.0
"""Answers of every form are cut off after every byte, on a connection that is closed, broken or reset; they are also read byte by byte. The shown
text is always a beginning of the whole text. Only the whole answer counts as an answer, with all arguments of its calls; everything else is an error
of the transport. All cuts of a form are calls of one process to one server."""
import binascii
import json
import re
import socket
import struct
import threading

import pytest

from ..checks import check
from ..harness.choice import Choice
from .wire import KEY, Wire, cut, head, run, sse

pytestmark = pytest.mark.tier("test")

TEXT = "Grüße, 世界! 😀 end"
ARGS = '{"x": "ü"}'
BAD_KINDS = {"connection", "stream", "protocol"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
NEAR = 3  # bytes to both sides of a boundary are always cut


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
    """Answers the request that says "cut N" with the first N bytes of the answer and then ends the connection its own way. One thread takes one
    connection after the other: the client has sent its request when it is connected."""

    def __init__(self, answer, reset):
        self.answer, self.reset = answer, reset
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.url = "http://127.0.0.1:%d" % self.sock.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                c, _ = self.sock.accept()
            except OSError:
                return
            try:
                self.one(c)
            except OSError:
                pass
            c.close()

    def one(self, c):
        data = b""
        while b"cut " not in data or not data.endswith(b"}"):
            more = c.recv(65536)
            if not more:
                return
            data += more
        c.sendall(self.answer[:int(re.search(rb"cut (\d+)", data).group(1))])
        if self.reset:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.sock.close()


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


def boundaries(answer, mark):
    """Where something ends in an answer: its head, lines and what stands between them, frames, what says that it is complete."""
    start = answer.index(b"\r\n\r\n") + 4
    found = {0, start, mark, len(answer)} | {m.end() for m in re.finditer(rb"\n", answer)}
    at = answer.find(b"\0\0\0", start)
    while FRAMES.encode() in answer[:start] and 0 <= at < len(answer) - 4:
        found.add(at)
        at += struct.unpack(">I", answer[at:at + 4])[0]
    return found


def places(name, answer, mark, part):
    """The cuts that this run takes: those near a boundary, and in `make test` one in five of the others."""
    near = {at for end in boundaries(answer, mark) for at in range(end - NEAR, end + NEAR + 1) if 0 <= at <= len(answer)}
    others = part([at for at in range(len(answer) + 1) if at not in near], 5, lambda at: "%s %d" % (name, at))
    return sorted(others + ([] if Choice.rest else list(near)))


def cut_everywhere(name, model, parameters, answer, complete_at, tool, stream, reset, part):
    """complete_at: the shortest beginning that may count as an answer."""
    server = Cutter(answer, reset)
    ends, shown, taken = {}, {}, places(name, answer, complete_at, part)
    for first in range(0, len(taken), 500):
        cuts = taken[first:first + 500]
        for x in run({"calls": [ask(server.url, model, parameters, "cut %d" % at, stream) for at in cuts]}):
            at = cuts[x["i"]]
            if "piece" in x:
                shown[at] = shown.get(at, "") + x["piece"]
            else:
                assert at not in ends, (name, at, "ended twice")
                ends[at] = x
    server.close()
    assert len(ends) == len(taken), (name, len(ends), len(taken))
    for at, end in ends.items():
        check_end((name, "reset" if reset else "closed", at, answer[max(0, at - 40):at]), shown.get(at, ""), end, at >= complete_at, tool)
    assert reset or len(answer) not in ends or "reply" in ends[len(answer)], (name, ends[len(answer)])
    check("%s, %d cuts" % (name, len(taken)), taken or Choice.rest)


def chunked(body):
    return b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


# how the bytes go: as they are and the connection is closed, in a chunk, as they are and the connection is reset
WAYS = {"closed": (False, False), "chunked": (True, False), "reset": (False, True)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", STREAMS)
def test_streams_cut(name, way, part):
    model, parameters, kind, body, mark, tool = STREAMS[name]
    in_chunks, reset = WAYS[way]
    extra, body = chunked(body) if in_chunks else (b"", body)
    answer = head(kind, extra=extra.decode()) + body
    cut_everywhere("%s, %s" % (name, way), model, parameters, answer, answer.index(mark), tool, True, reset, part)


@pytest.mark.parametrize("name", WHOLES)
def test_whole_answers_cut(name, part):
    model, parameters, reply, tool = WHOLES[name]
    body = json.dumps(reply, ensure_ascii=False).encode()
    for way, extra, reset in (("closed", "", False), ("with its length", "Content-Length: %d\r\n" % len(body), False), ("reset", "", True)):
        answer = head("application/json", extra=extra) + body
        cut_everywhere("%s, %s" % (name, way), model, parameters, answer, len(answer), tool, False, reset, part)


@pytest.mark.parametrize("name", STREAMS)
def test_streams_byte_by_byte(name):
    model, parameters, kind, body, _, tool = STREAMS[name]
    for split, parts in ((False, cut(body, 1)), (True, [body])):
        wire = Wire([head(kind)] + parts)
        got = run({"calls": [ask(wire.url, model, parameters, "x", True)], "split": split})
        wire.close()
        shown = "".join(x["piece"] for x in got if "piece" in x)
        assert shown == TEXT and "reply" in got[-1], (name, got[-1])
        check_end((name, "bytes"), shown, got[-1], True, tool)
        usage = got[-1]["reply"]["usage"]
        assert usage is None if name == "completion" else usage["total_tokens"] == 3, (name, usage)
