# SPDX-License-Identifier: Apache-2.0
"""Services with the prompt caches of OpenAI and Anthropic. They find the part of a request that an earlier request had, by the documented rules of
these services."""
import json
import os

from .http_of import Quiet, serve

BYTES_OF_TOKEN = 4


class Anthropic(Quiet):
    """Finds what an earlier request has marked: the longest beginning that ends at a mark of this one, or up to 20 blocks before it."""

    def do_POST(self):
        s, text = self.server, self.body()
        body = json.loads(text)
        s.raw.append(text)
        s.bodies.append(body)
        s.drop()
        blocks = [("tools", x) for x in body.get("tools", [])] + [("system", x) for x in body.get("system", [])]
        blocks += [(m["role"], x) for m in body["messages"] for x in m["content"]]
        marks = [i for i, (_, x) in enumerate(blocks, 1) if x.pop("cache_control", None)]
        starts = [json.dumps(blocks[:i]) for i in range(len(blocks) + 1)]
        found = max((i for m in marks for i in range(max(0, m - 20), m + 1) if starts[i] in s.kept), default=0)
        s.kept |= {starts[i] for i in marks}
        s.marks.append(len(marks))
        s.found.append(len(starts[found]) // BYTES_OF_TOKEN)
        usage = {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": len(starts[found]) // BYTES_OF_TOKEN}
        self.reply(json.dumps({"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": usage}).encode())


class OpenAI(Quiet):
    """Finds the longest beginning that any earlier request had: at least 1 024 tokens, and a multiple of 128."""

    def do_POST(self):
        body, s = json.loads(self.body()), self.server
        s.bodies.append(body)
        s.drop()
        text = "".join(json.dumps(m, separators=(",", ":")) for m in body["messages"])
        found = max((len(os.path.commonprefix([text, x])) for x in s.kept), default=0) // BYTES_OF_TOKEN
        s.kept.add(text)
        s.found.append(found)
        usage = {"prompt_tokens": len(text) // BYTES_OF_TOKEN, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0 if found < 1024 else found - found % 128}}
        self.reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": "w%d" % len(s.bodies)}}], "usage": usage}).encode())


def start(kind, expired=()):
    """-> a service; its list `bodies` has what was asked. expired: the numbers of the requests, from 1, before which all that it keeps has expired."""
    server = serve(kind)
    server.bodies, server.raw, server.kept, server.marks, server.found = [], [], set(), [], []
    server.drop = lambda: server.kept.clear() if len(server.bodies) in expired else None
    return server


def stop(server):
    server.shutdown()
    server.server_close()


def surroundings(server):
    """The environment of programs whose models it answers."""
    base = "http://127.0.0.1:%d" % server.server_port
    return {**os.environ, "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "OPENAI_BASE_URL": base + "/v1", "OPENAI_API_BASE": base + "/v1",
            "ANTHROPIC_API_BASE": base, "ANTHROPIC_BASE_URL": base, "DEEPSEEK_API_KEY": "k", "DEEPSEEK_API_BASE": base}
