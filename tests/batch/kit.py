# SPDX-License-Identifier: Apache-2.0
"""kit.py -- what the tests of batches share: a folder, a model server that counts, the command."""
import collections
import csv
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from checks import Checks  # noqa: E402

PROGRAM = "text:\n- text: Say ${ word }\n  contribute: [context]\n- model: openai/upper\n  def: said\n  contribute: []\n- ${ said }\n"
# The same, but what the model says is the whole result.
ASK = "lastOf:\n- Say ${ word }\n- model: openai/upper\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        service = self.server.service
        with service.lock:
            service.asked[prompt] += 1
            service.open += 1
            service.most_open = max(service.most_open, service.open)
        try:
            status, text = service.answer(prompt)
            if status == 200:
                reply = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
                         "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
                         "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}
            else:
                reply = {"error": {"message": text, "type": "invalid_request_error"}}
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            if status == 200:
                with service.lock:
                    service.answered[prompt] += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with service.lock:
                service.open -= 1


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass


class Service:
    """Answers with the prompt in capitals and counts; `rule(prompt)` -> (status, text) or None may say otherwise."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rule = None
        self.begin()
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.service = self
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d/v1" % self.server.server_address[1]

    def begin(self, rule=None):
        self.asked, self.answered = collections.Counter(), collections.Counter()
        self.open = self.most_open = 0
        self.rule = rule

    def answer(self, prompt):
        said = self.rule(prompt) if self.rule else None
        return said or (200, prompt.upper())


class Tests(Checks):
    """A counter of checks, and a folder for each of them."""

    def __init__(self, build):
        self.pdl = os.path.join(os.path.abspath(build), "pdl")
        self.service = Service()
        self.folder = None

    def begin(self, files=None, rule=None):
        if self.folder:
            shutil.rmtree(self.folder)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pdl_batch_"))
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

    def finish(self):
        if self.folder:
            shutil.rmtree(self.folder)
        return super().finish()


def jsonl(rows):
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)


def words(n):
    return [{"id": i, "word": "w%d" % i} for i in range(1, n + 1)]
