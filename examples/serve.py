#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""serve.py -- the model of the examples: answers PROGRAM's questions from replies.json, whatever the model is called.

    examples/serve.py        # prints its address; PROGRAM's base URL is ADDRESS/s/PROGRAM/v1

Those of patterns/NAME.pdl come from patterns/replies.json, at ADDRESS/s/patterns-NAME/v1; those of eval/NAME.pdl from eval/replies.json, at
ADDRESS/s/eval-NAME/v1, where questions are asked at the same time: {TEXT: [reply, ...]}, and the TEXT that is last in a request tells. The server is the one of the conformance kit, so models
it knows (openai/upper ...) answer as there. It also completes texts; a reply {"scores": {TEXT: NUMBER}} rates continuations (parameter `score`).
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "tests" / "conformance"))
import model_server  # noqa: E402


class Handler(model_server.Handler):
    def do_POST(self):
        m = re.fullmatch(r"/s/([^/]+)/v1/completions", self.path)
        if not m:
            return super().do_POST()
        body, session = self._body(), self.server.session(m.group(1))
        prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
        choices = [(self.rated if body.get("echo") else self.completed)(session, body, i, p) for i, p in enumerate(prompts)]
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        value = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": body["model"], "choices": choices, "usage": usage}
        if not body.get("stream"):
            return self._send_json(200, value)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._chunk(b"data: " + json.dumps(value).encode() + b"\n\ndata: [DONE]\n\n")
        self._chunk(b"")

    @staticmethod
    def completed(session, body, i, prompt):
        reply = model_server.answer(session, body["model"], dict(body, messages=[{"role": "user", "content": prompt}]))
        return {"index": i, "text": reply["content"], "finish_reason": "stop", "logprobs": None}

    @staticmethod
    def rated(session, body, i, prompt):
        session = about(session, prompt)
        with session.lock:
            table = next(r["scores"] for r in session.replies["default"] if r.get("scores"))
            tail = next(t for t in table if prompt.endswith(t))
            value = table.pop(tail)
        cut = len(prompt) - len(tail)
        lp = {"tokens": [prompt[:cut], tail], "token_logprobs": [None, value], "text_offset": [0, cut], "top_logprobs": None}
        return {"index": i, "text": prompt, "finish_reason": "length", "logprobs": lp}


def about(session, text):
    """The session of the key that is last in the text, where replies have keys."""
    replies = session.replies.get("default")
    if not isinstance(replies, dict):
        return session
    key = max(replies, key=lambda k: (text.rfind(k) + len(k) if k in text else -1, len(k)))
    with session.lock:
        if not hasattr(session, "parts"):
            session.parts = {}
        return session.parts.setdefault(key, model_server.Session({"default": replies[key]}))


def scripted(known, session, model, body):
    text = "\n".join(model_server.content_text(m) for m in body.get("messages") or [])
    return known(about(session, text), "script" if model == "gpt-4o-mini" else model, body)


def start():
    """A server without replies; sessions are added by the caller."""
    known = model_server.answer
    model_server.answer = lambda session, model, body: scripted(known, session, model, body)
    server = model_server.ModelServer()
    server.RequestHandlerClass = Handler
    return server


def serve():
    server = start()
    for prefix, folder in (("", HERE), ("patterns-", HERE / "patterns"), ("eval-", HERE / "eval")):
        for name, replies in json.loads((folder / "replies.json").read_text("utf-8")).items():
            server.sessions[prefix + name] = model_server.Session({"default": replies})
    return server


if __name__ == "__main__":
    s = serve()
    print(s.url, flush=True)
    try:
        s.serve_forever()
    except KeyboardInterrupt:
        pass
