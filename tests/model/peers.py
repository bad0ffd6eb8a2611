# SPDX-License-Identifier: Apache-2.0
"""The fourteen dialects from the view of a server: how each writes a text, its end, and any object in its stream. Also a run of `pdl` in which every
block is answered from a table."""
import json
import struct
import subprocess
import zlib

from ..http_of import Plain, answer

AWS = {"aws_access_key_id": "A", "aws_secret_access_key": "B", "aws_region_name": "r"}
IBM = {"token": "t", "project_id": "p"}
GOOGLE = {"vertex_project": "p", "vertex_location": "global"}


def data(value):
    """One event of an event stream."""
    return ("data: " + (value if isinstance(value, str) else json.dumps(value)) + "\n\n").encode()


def line(value):
    return ((value if isinstance(value, str) else json.dumps(value)) + "\n").encode()


def frame(payload, **headers):
    """One message of an AWS event stream."""
    head = b"".join(bytes([len(k) + 1]) + b":" + k.replace("_", "-").encode() + b"\7" + struct.pack(">H", len(v)) + v.encode() for k, v in headers.items())
    body = payload.encode()
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    rest = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return rest + struct.pack(">I", zlib.crc32(rest))


def bedrock_event(value):
    kind = next(iter(value), "x")
    if kind == "error":
        return frame(json.dumps(value["error"]), message_type="exception", exception_type="internalServerException")
    return frame(json.dumps(value[kind]), message_type="event", event_type=kind)


class Peer:
    """A dialect: its model, what its blocks need, and bytes of replies."""
    kind, event, ended, done = "text/event-stream", staticmethod(data), b"data: [DONE]\n\n", True

    def __init__(self, model, **parameters):
        self.model, self.parameters = model, parameters

    def reason(self, reason):
        return self.end(reason)


class OpenAI(Peer):
    def piece(self, text):
        return {"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}

    def end(self, reason="stop"):
        return {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}

    def whole(self, text, reason="stop"):
        return {"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}]}


class Completion(OpenAI):
    def piece(self, text):
        return {"id": "c", "choices": [{"index": 0, "text": text}]}

    def whole(self, text, reason="stop"):
        return {"id": "c", "choices": [{"index": 0, "text": text, "finish_reason": reason}]}


class Anthropic(Peer):
    ended, done = b"", False

    def piece(self, text):
        return {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": text}}

    def end(self, reason="end_turn"):
        return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}

    def whole(self, text, reason="end_turn"):
        return {"content": [{"type": "text", "text": text}] if text else [], "stop_reason": reason}


class Gemini(Peer):
    ended, done = b"", False

    def piece(self, text):
        return {"candidates": [{"content": {"parts": [{"text": text}]}}]}

    def end(self, reason="STOP"):
        return {"candidates": [{"content": {"parts": []}, "finishReason": reason}]}

    def whole(self, text, reason="STOP"):
        return {"candidates": [{"content": {"parts": [{"text": text}]} if text else {}, "finishReason": reason}]}


class Bedrock(Peer):
    kind, event, ended, done = "application/vnd.amazon.eventstream", staticmethod(bedrock_event), b"", False

    def piece(self, text):
        return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}

    def end(self, reason="end_turn"):
        return {"messageStop": {"stopReason": reason}}

    def whole(self, text, reason="end_turn"):
        return {"output": {"message": {"content": [{"text": text}] if text else []}}, "stopReason": reason}


class Ollama(Peer):
    kind, event, ended, done = "application/x-ndjson", staticmethod(line), b"", False

    def said(self, text):
        return {"message": {"role": "assistant", "content": text}}

    def piece(self, text):
        return {**self.said(text), "done": False}

    def end(self, reason="stop"):
        return {**self.said(""), "done": True, "done_reason": reason}

    def whole(self, text, reason="stop"):
        return {**self.said(text), "done": True, "done_reason": reason}


class OllamaText(Ollama):
    def said(self, text):
        return {"response": text}


class WatsonxText(Peer):
    ended, done = b"", False

    def piece(self, text):
        return {"results": [{"generated_text": text, "stop_reason": "not_finished"}]}

    def end(self, reason="eos_token"):
        return {"results": [{"generated_text": "", "stop_reason": reason}]}

    def whole(self, text, reason="eos_token"):
        return {"results": [{"generated_text": text, "stop_reason": reason}]}


class Replicate(Peer):
    kind, done = None, False  # it does not stream

    def whole(self, text, reason="succeeded"):
        return {"id": "j", "status": reason, "output": [text]}


PEERS = [OpenAI("openai/m"), OpenAI("huggingface/a/b"), Completion("text-completion-openai/m"), Ollama("ollama_chat/m"), OllamaText("ollama/m"),
         OpenAI("watsonx/m", **IBM), WatsonxText("watsonx_text/m", **IBM), Anthropic("anthropic/m"), Gemini("gemini/m"), Gemini("vertex_ai/m", **GOOGLE),
         OpenAI("azure/m", api_version="2024-10-21"), OpenAI("azure_ai/m"), Replicate("replicate/o/m"), Bedrock("bedrock/m", **AWS)]


def stream(peer, *values, ended=True):
    """The bytes of a stream: objects in the form of the peer, bytes as they are."""
    return b"".join(v if isinstance(v, bytes) else peer.event(v) for v in values) + (peer.ended if ended else b"")


class Table:
    """A server that answers the block NUMBER, which asks /NUMBER/.., with its replies in their order (the last one again): (bytes or object,
    type or None); what was asked is in `asked`, {number: [body]}."""

    def __init__(self):
        self.rows, self.asked = [], {}
        self.server = Plain(self.exchange)

    def exchange(self, head, body, send):
        number = int(head.split("/", 2)[1])
        sent = self.asked.setdefault(number, [])
        sent.append(json.loads(body) if body else None)
        replies = self.rows[number]
        said, kind = replies[min(len(sent), len(replies)) - 1]
        send(answer(said if isinstance(said, bytes) else json.dumps(said).encode(), kind or "application/json"))

    def row(self, *replies):
        """-> the address for a block that gets these replies."""
        self.rows.append([r if isinstance(r, tuple) else (r, None) for r in replies])
        return "http://127.0.0.1:%d/%d" % (self.server.port, len(self.rows) - 1)


def run(pdl, folder, program, *args, want=0, stdin=""):
    """-> standard output and standard error of a program given as data."""
    (folder / "p.pdl").write_text(program if isinstance(program, str) else json.dumps(program), encoding="utf-8")
    done = subprocess.run([pdl, *args, "p.pdl"], cwd=folder, capture_output=True, text=True, input=stdin, timeout=100)
    assert done.returncode == want, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout, done.stderr


def outcomes(pdl, folder, blocks, streamed):
    """Runs the blocks in one program -> for each {ok: its text} or {failed: its message}."""
    told = {"object": {"failed": "${ pdl_error.message }", "kind": "${ pdl_error.kind }"}}
    many = [{"object": {"r": {**b, "contribute": ["result"], "fallback": told}}} for b in blocks]
    out, _ = run(pdl, folder, {"array": many}, "--stream", "result" if streamed else "none")
    return [o["r"] if isinstance(o["r"], dict) else {"ok": o["r"]} for o in json.loads(out)]


def block(peer, table, *replies, **more):
    parameters = {"api_base": table.row(*replies), "api_key": "k", "max_retries": 0, **peer.parameters, **more.pop("parameters", {})}
    return {"model": peer.model, "input": "hi", "parameters": parameters, **more}
