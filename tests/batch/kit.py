# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of batches: a folder, a model server that counts its requests, and the command. Each item runs in a separate process and
so has a separate `t`. Nothing is started before `t.begin`."""
import collections
import csv
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from .. import checks, http_of
from ..harness.choice import Choice

# What the model says is the whole result.
ASK = "lastOf:\n- Say ${ word }\n- model: openai/upper\n"


class Service(http_of.Plain):
    """Answers with the prompt in capitals and counts; `rule(prompt)` -> (status, text) or None may say otherwise."""

    def __init__(self):
        self.lock = threading.Lock()
        self.begin()
        super().__init__(self.chat)
        self.url = "http://127.0.0.1:%d/v1" % self.port

    def begin(self, rule=None):
        self.asked, self.answered = collections.Counter(), collections.Counter()
        self.open = self.most_open = 0
        self.rule = rule

    def chat(self, head, body, send):
        body = json.loads(body)
        prompt = body["messages"][-1]["content"]
        with self.lock:
            self.asked[prompt] += 1
            self.open += 1
            self.most_open = max(self.most_open, self.open)
        try:
            status, text = self.rule and self.rule(prompt) or (200, prompt.upper())
            send(http_of.answer(self.reply(body["model"], status, text), status=status))
            with self.lock:
                self.answered[prompt] += status == 200
            return True
        finally:
            with self.lock:
                self.open -= 1

    def settled(self):
        """-> how many requests were asked for in all, when those of a client that was killed have come through."""
        asked, quiet = sum(self.asked.values()), 0
        while quiet < 10:
            time.sleep(0.02)
            now = sum(self.asked.values())
            asked, quiet = now, quiet + 1 if now == asked and not self.open else 0
        return asked

    @staticmethod
    def reply(model, status, text):
        if status != 200:
            return json.dumps({"error": {"message": text, "type": "invalid_request_error"}}).encode()
        return json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": model,
                           "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                           "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}).encode()


class Tests:
    """A folder, made anew by `begin`, and the command that runs in it."""
    check, skip = staticmethod(checks.check), staticmethod(checks.skip)
    folder = None

    @property
    def pdl(self):
        return str(Choice.build / "pdl")

    @functools.cached_property
    def service(self):
        return Service()

    def begin(self, files=None, rule=None):
        if self.folder:
            shutil.rmtree(self.folder)
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.service.begin(rule)
        for name, text in {"p.pdl": ASK, **(files or {})}.items():
            (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def env(self, **more):
        return {**os.environ, "OPENAI_BASE_URL": self.service.url, "OPENAI_API_KEY": "sk-test", "HOME": str(self.folder),
                "TMPDIR": str(self.folder), "NO_COLOR": "1", **more}

    def start(self, *args, word="batch", stdin=subprocess.DEVNULL, **env):
        return subprocess.Popen([self.pdl, word, *[str(a) for a in args]], cwd=self.folder, env=self.env(**env), stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def run(self, *args, word="batch", text=None, timeout=300, **env):
        """-> exit status, standard output, standard error"""
        p = self.start(*args, word=word, stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL, **env)
        try:
            out, err = p.communicate(text.encode() if text is not None else None, timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill(p)
            out, err = p.communicate()
        return p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    @staticmethod
    def kill(p):
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def lines(self, name):
        path = self.folder / name
        return [json.loads(x) for x in path.read_text("utf-8").splitlines()] if path.exists() else []

    def table(self, name):
        with open(self.folder / name, newline="", encoding="utf-8") as f:
            return list(csv.DictReader(f))


def jsonl(rows):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)


def words(n):
    return [{"id": i, "word": "w%d" % i} for i in range(1, n + 1)]


t = Tests()
