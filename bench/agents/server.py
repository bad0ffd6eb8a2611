# SPDX-License-Identifier: Apache-2.0
"""server.py STEPS -- an instant model for the agent benchmarks (Python standard library only): an OpenAI-compatible chat endpoint on loopback.

Prints its base URL. The URL's `/s/NAME/` part names a conversation: its first STEPS replies ask for the tool `add_one`, the next one is the
final answer. GET /s/NAME/first gives the monotonic time of the conversation's first request.
"""
import asyncio
import json
import sys
import time

STEPS = int(sys.argv[1])
asked, first = {}, {}


def reply(name):
    n = asked.get(name, 0)
    asked[name] = n + 1
    if n >= STEPS:
        return "Thought: I now know the final answer\nFinal Answer: %d" % n
    return 'Thought: go on\nAction: add_one\nAction Input: {"x": %d}\n' % n


def chat(name, request):
    text = reply(name)
    if not request.get("stream"):
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]}
        return "application/json", json.dumps(body)
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    pieces = [dict(head, choices=[{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}]),
              dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])]
    return "text/event-stream", "".join("data: %s\n\n" % json.dumps(p) for p in pieces) + "data: [DONE]\n\n"


async def serve(reader, writer):
    try:
        while True:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            length = next((int(x.split(":")[1]) for x in lines if x.lower().startswith("content-length:")), 0)
            body = await reader.readexactly(length)
            name = lines[0].split(" ")[1].split("/")[2]
            if lines[0].startswith("GET"):
                kind, text = "text/plain", repr(first.get(name, 0.0))
            else:
                first.setdefault(name, time.monotonic())
                kind, text = chat(name, json.loads(body))
            data = text.encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind.encode(), len(data)) + data)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    print("http://127.0.0.1:%d" % server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
