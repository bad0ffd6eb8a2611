# SPDX-License-Identifier: Apache-2.0
"""kit.py -- eight programs, a service that counts, and killers, for the tests of durable runs."""
import collections
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
import time

HERE = pathlib.Path(__file__).resolve().parent

PROGRAMS = {
    "chat": """
text:
- for: {i: [1, 2, 3, 4]}
  repeat:
    text:
    - {text: "question ${ i }\\n", role: user}
    - {model: openai/m, parameters: {stream: true}}
    - "\\n"
""",
    "agent": """
defs:
  look: {function: {what: string}, return: {lang: command, code: "sh -c 'echo saw ${ what } >> acts; echo ${ what }!'"}}
text:
- for: {i: [1, 2, 3]}
  repeat:
    text:
    - {model: openai/m, input: "plan ${ i }", def: plan}
    - {call: "${ look }", args: {what: "thing${ i }"}, def: seen}
    - {model: openai/m, input: "conclude ${ seen }"}
    - "\\n"
""",
    "map": """
text:
- for: {i: "${ range(200) }"}
  map: {model: openai/m, input: "row ${ i }"}
  join: {with: "\\n"}
""",
    "storm": """
text:
- for: {i: "${ range(12) }"}
  map: {model: openai/m, input: "storm ${ i }", parameters: {max_retries: 5}}
  join: {with: "\\n"}
""",
    "session": """
text:
- {lang: python, code: "PDL_SESSION.n = 3\\nresult = 'three '"}
- {model: openai/m, input: between}
- {lang: python, code: "PDL_SESSION.n += 4\\nresult = PDL_SESSION.n"}
- {model: openai/m, input: behind}
- {lang: python, code: "result = PDL_SESSION.n * 2"}
""",
    "files": """
defs: {o: {aggregator: {file: out.txt}}, p: {aggregator: {file: log.txt, mode: a}}}
text:
- for: {i: [1, 2, 3, 4]}
  repeat:
    text:
    - {model: openai/m, input: "line ${ i }", contribute: [result, o]}
    - {text: "noted ${ i }\\n", contribute: [result, p]}
""",
    "nested": """
defs:
  inner: {function: {x: string}, return: {model: openai/m, input: "inner ${ x }"}}
  outer: {function: {x: string}, return: {text: ["<", {call: "${ inner }", args: {x: "${ x }a"}}, "|", "${ inner(x=x) }", ">"]}}
text:
- for: {i: [1, 2, 3]}
  repeat: {call: "${ outer }", args: {x: "n${ i }"}}
- "\\n"
""",
    "streaming": """
text:
- {model: openai/m, input: "a long answer of many words one", parameters: {stream: true}}
- "\\n"
- {model: openai/m, input: "a long answer of many words two", parameters: {stream: true}}
- "\\n"
""",
}
# Actions may be done once more for each kill and branch; their marks are counted by lines of `acts`.
BRANCHES = {"map": 64, "storm": 12}


class Service:
    """Answers each prompt with its upper case; counts what it has answered, by prompt and Idempotency-Key."""

    def __init__(self, delay=0.004, last=False):
        """last: it answers the last message alone."""
        self.delay, self.last, self.lock = delay, last, threading.Lock()
        self.begin()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *a):
                pass

            def do_POST(self):
                outer.handle(self)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *a):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def begin(self):
        self.asked, self.answered, self.keys, self.refused = collections.Counter(), collections.Counter(), {}, set()

    def handle(self, h):
        body = json.loads(h.rfile.read(int(h.headers["content-length"])))
        text = "\n".join(str(m["content"]) for m in body["messages"][-1 if self.last else 0:]).strip()
        key = h.headers.get("Idempotency-Key")
        with self.lock:
            self.asked[text] += 1
            self.keys.setdefault(text, []).append(key)
            refuse = text.startswith("storm") and text not in self.refused
            self.refused.add(text)
        time.sleep(self.delay)
        try:
            if refuse:
                data = b'{"error": {"message": "slow down"}}'
                h.send_response(429)
                h.send_header("retry-after-ms", "20")
                h.send_header("content-length", str(len(data)))
                h.end_headers()
                h.wfile.write(data)
            elif body.get("stream"):
                h.send_response(200)
                h.send_header("content-type", "text/event-stream")
                h.send_header("connection", "close")
                h.end_headers()
                h.close_connection = True
                for word in text.split("\n")[-1].upper().split(" "):
                    piece = {"choices": [{"index": 0, "delta": {"content": word + " "}}]}
                    h.wfile.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
                    h.wfile.flush()
                    time.sleep(self.delay / 4)
                h.wfile.write(b"data: [DONE]\n\n")
            else:
                data = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": text.upper()}}],
                                   "usage": {"prompt_tokens": 2, "completion_tokens": 3}}).encode()
                h.send_response(200)
                h.send_header("content-length", str(len(data)))
                h.end_headers()
                h.wfile.write(data)
            with self.lock:
                self.answered[text] += 1
        except OSError:
            h.close_connection = True  # the client was killed


class Folder:
    """A working folder with a folder of runs in it."""

    def __init__(self, pdl, service, name, program):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="pdl_durable_"))
        self.pdl, self.name = str(pathlib.Path(pdl).resolve()), name
        (self.path / "main.pdl").write_text(program)
        address = "http://127.0.0.1:%d/v1" % service.port
        self.env = {**os.environ, "PDL_RUNS": str(self.path / "runs"), "OPENAI_API_KEY": "sk-canary-0123456789", "OPENAI_API_BASE": address,
                    "OPENAI_BASE_URL": address}

    def start(self, args, **kw):
        env = {**self.env, **kw.pop("env", {})}
        if "LD_PRELOAD" in env:  # the sanitizers want to be first otherwise
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([self.pdl, *args], cwd=self.path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **kw)

    def run(self, *args, timeout=60, **kw):
        p = self.start(args, **kw)
        try:
            out, err = p.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.kill(p)
            out, err = p.communicate()
            return "time-out", out.decode(), err.decode()
        return p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    @staticmethod
    def kill(p):
        """The run, not what it started: that sees the end of its pipes."""
        try:
            os.kill(p.pid, signal.SIGKILL)
        except OSError:
            pass

    def files(self):
        return {p.name: p.read_text() for p in sorted(self.path.iterdir()) if p.is_file() and p.name not in ("main.pdl", "acts")}

    def acts(self):
        p = self.path / "acts"
        return collections.Counter(p.read_text().splitlines()) if p.exists() else collections.Counter()

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def shim(build, name="killer"):
    """A library for LD_PRELOAD, which the build makes from the source of this name."""
    return str(pathlib.Path(build).resolve() / "tests" / "durable" / (name + ".so"))


def main(test):
    """Runs a class of tests over the build directory of the command line, and counts. -> exit status"""
    t = test(str(pathlib.Path(sys.argv[1]).resolve()))
    t.run()
    return t.finish()
