# SPDX-License-Identifier: Apache-2.0
"""loopback -- a model's server for tests of the whole command: OpenAI's chat form over real HTTP.

    with Server(reply) as s: run(pdl, program, s)

`reply(body, n)` is called for each request with its JSON and number from 0 and returns the text of the answer, a list of the
events of a stream, or (status, headers, object) for anything else. Thousands of connections are fine: one thread of asyncio.
"""
import asyncio
import json
import os
import pathlib
import subprocess
import tempfile
import threading


class Server:
    def __init__(self, reply, delay=0.0, usage=(5, 7)):
        self.reply, self.delay, self.usage = reply, delay, usage
        self.requests, self.heads, self.open, self.most_open = [], [], 0, 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()

    def run(self, ready):
        async def begin():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=4096)
            self.url = "http://127.0.0.1:%d/v1" % server.sockets[0].getsockname()[1]
            ready.set()
        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                size = [int(x.split(":")[1]) for x in head.lower().split("\r\n") if x.startswith("content-length:")]
                body = json.loads(await reader.readexactly(size[0] if size else 0) or b"{}")
                await self.answer(writer, head, body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        writer.close()

    async def answer(self, writer, head, body):
        n = len(self.requests)
        self.requests.append(body)
        self.heads.append(head)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        got = self.reply(body, n)
        if self.delay:
            await asyncio.sleep(self.delay)
        self.open -= 1
        if isinstance(got, list):
            await self.events(writer, got)
            return
        if not isinstance(got, str):
            status, headers, obj = got
        elif body.get("stream"):
            await self.stream(writer, got)
            return
        else:
            status, headers, obj = 200, {}, completion(got, self.usage)
        data = json.dumps(obj).encode()
        lines = ["HTTP/1.1 %d X" % status, "Content-Type: application/json", "Content-Length: %d" % len(data)]
        lines += ["%s: %s" % x for x in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await writer.drain()

    async def stream(self, writer, text):
        events = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": c}}]} for c in text]
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events.append({"choices": [], "usage": used(self.usage)})
        await self.events(writer, events)

    async def events(self, writer, events):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for i, line in enumerate([json.dumps(e) for e in events] + ["[DONE]"]):
            data = ("data: %s\n\n" % line).encode()
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            if i % 1000 == 999:
                await writer.drain()
            if writer.is_closing():  # the client is gone
                return
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        def stop():
            for t in asyncio.all_tasks(self.loop):
                t.cancel()
            self.loop.call_soon(self.loop.call_later, 0.05, self.loop.stop)
        self.loop.call_soon_threadsafe(stop)
        self.thread.join(5)


def used(usage):
    return {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}


def completion(text, usage=(5, 7)):
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": used(usage),
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


class Place:
    """A folder with programs, and the command run in it."""

    def __init__(self, build, server=None, **env):
        self.pdl = str(pathlib.Path(build).resolve() / "pdl")
        self.folder = tempfile.TemporaryDirectory()
        self.dir = pathlib.Path(self.folder.name)
        keep = {k: v for k, v in os.environ.items() if not k.endswith(("_API_KEY", "_API_BASE", "_BASE_URL"))}
        self.env = {**keep, "OPENAI_API_KEY": "sk-secret-0123456789"}
        if server:
            self.env["OPENAI_API_BASE"] = server.url
        self.env.update(env)

    def start(self, *args, program=None, **kw):
        if program is not None:
            (self.dir / "p.pdl").write_text(program, encoding="utf-8")
        return subprocess.Popen([self.pdl, *args], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)

    def run(self, *args, program=None, timeout=60):
        p = self.start(*args, program=program)
        out, err = p.communicate(timeout=timeout)
        return p.returncode, out, err


def same(got, want, what=""):
    if got != want:
        raise AssertionError("%s\n  got  %r\n  want %r" % (what, got, want))
