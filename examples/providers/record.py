#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py -- records the programs of this folder: python3 record.py PDL_BINARY. A server on the loopback interface answers in each protocol."""
import json
import os
import pathlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = pathlib.Path(__file__).resolve().parent
CHAT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Bonjour !"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 6, "completion_tokens": 3, "total_tokens": 9}}
CLAUDE = {"content": [{"type": "text", "text": "Hello!"}], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}}
LOVELACE = {"content": [{"type": "tool_use", "id": "t1", "name": "json_tool_call", "input": {"name": "Ada Lovelace", "year": 1843}}],
            "stop_reason": "tool_use", "usage": {"input_tokens": 30, "output_tokens": 12}}


def answer(path, body, url):
    """Status and object for a request: (part of the path) -> answer."""
    if "/api/chat" in path:
        return 200, {"message": {"role": "assistant", "content": "Because air scatters blue light most."}, "done": True, "done_reason": "stop",
                     "prompt_eval_count": 12, "eval_count": 8}
    if "/v1/messages" in path:
        return 200, LOVELACE if "tools" in body else CLAUDE
    if ":generateContent" in path:
        return 200, {"candidates": [{"content": {"parts": [{"text": "17 * 3 = 10 * 3 + 7 * 3", "thought": True}, {"text": "51"}]}, "finishReason": "STOP"}],
                     "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 9}}
    if "/identity/token" in path:
        return 200, {"access_token": "a-token", "expires_in": 3600}
    if "/text/chat" in path:
        return 200, {**CHAT, "choices": [{"message": {"role": "assistant", "content": "red"}, "finish_reason": "stop"}]}
    if "/text/generation" in path:
        return 200, {"results": [{"generated_text": " blue", "generated_token_count": 1, "input_token_count": 4, "stop_reason": "max_tokens"}]}
    if path.endswith("/predictions"):
        return 201, {"id": "p1", "status": "processing", "urls": {"get": url + "/v1/predictions/p1", "cancel": url + "/v1/predictions/p1/cancel"}}
    if "/predictions/p1" in path:
        return 200, {"id": "p1", "status": "succeeded", "output": ["The ", "Nile"]}
    if path.endswith("/converse"):
        return 200, {"output": {"message": {"role": "assistant", "content": [{"text": "Mont Blanc"}]}}, "stopReason": "end_turn",
                     "usage": {"inputTokens": 5, "outputTokens": 3, "totalTokens": 8}}
    if path.endswith("/embeddings"):
        vectors = {"cats purr": [1, 0, 0], "dogs bark": [0, 1, 0], "fish swim": [0, 0, 1]}
        return 200, {"data": [{"index": i, "embedding": vectors.get(t, [0.1, 0.9, 0.1])} for i, t in enumerate(body["input"])],
                     "usage": {"prompt_tokens": 9, "total_tokens": 9}}
    if path.endswith("/completions") and "prompt" in body:
        text = "330 metres." if "330" in str(body["prompt"]) else "\n    return x * x"
        return 200, {"choices": [{"index": 0, "text": text, "finish_reason": "stop"}]}
    if "/deployments/" in path:
        return 200, CHAT
    return 503, {"error": {"message": "The model is overloaded"}}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw) if raw[:1] == b"{" else {}
        status, reply = answer(self.path.split("?")[0], body, "http://127.0.0.1:%d" % self.server.server_address[1])
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("retry-after-ms", "10")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:%d" % server.server_address[1]
    env = {"PATH": os.environ["PATH"], "AWS_REGION": "eu-west-1", "WATSONX_PROJECT_ID": "p", "WATSONX_IAM_URL": url + "/identity/token"}
    for name in ("OLLAMA", "ANTHROPIC", "GEMINI", "AZURE", "WATSONX", "REPLICATE", "BEDROCK", "OPENAI", "TEXT_COMPLETION_OPENAI", "GRANITE_IO"):
        env[name + "_API_BASE"], env[name + "_API_KEY"] = url, "none"
    env.update(AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")
    for program in sorted(HERE.glob("*.pdl")):
        journal = program.with_suffix(".journal")
        journal.unlink(missing_ok=True)
        subprocess.run([sys.argv[1], "--stream", "none", "--record", journal.name, program.name], cwd=HERE, env=env, check=True)
        print()


if __name__ == "__main__":
    main()
