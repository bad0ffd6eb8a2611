# SPDX-License-Identifier: Apache-2.0
"""kit.py -- eight programs, a service that counts, and killers, for the tests of durable runs."""
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from .. import http_of
from ..checks import check
from ..harness.choice import Choice

SECONDS = 60
# The run stops here until the file `go` is there; the file `here` says that it has come so far.
STOP = "{lang: command, code: \"sh -c 'touch here; while [ -e here ] && [ ! -e go ]; do sleep 0.02; done; echo went'\", idempotent: true}"

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


class Service(http_of.Plain):
    """Answers each prompt with its upper case; counts what it has answered, by prompt and Idempotency-Key."""

    def __init__(self, delay=0.004, last=False):
        """last: it answers the last message alone."""
        self.delay, self.last, self.lock = delay, last, threading.Lock()
        self.begin()
        super().__init__(self.answer)

    def begin(self):
        self.asked, self.answered, self.keys, self.refused = collections.Counter(), collections.Counter(), {}, set()

    def answer(self, head, data, send):
        body = json.loads(data)
        text = "\n".join(str(m["content"]) for m in body["messages"][-1 if self.last else 0:]).strip()
        key = re.search(r"(?im)^idempotency-key: *(.*?)\r?$", head)
        with self.lock:
            self.asked[text] += 1
            self.keys.setdefault(text, []).append(key and key[1])
            refuse = text.startswith("storm") and text not in self.refused
            self.refused.add(text)
        time.sleep(self.delay)
        if refuse:
            send(http_of.answer(b'{"error": {"message": "slow down"}}', status=429, headers=[("retry-after-ms", "20")]))
        elif body.get("stream"):
            self.stream(text, send)
        else:
            reply = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text.upper()}}], "usage": {"prompt_tokens": 2, "completion_tokens": 3}}
            send(http_of.answer(json.dumps(reply).encode()))
        with self.lock:
            self.answered[text] += 1
        return not body.get("stream")

    def stream(self, text, send):
        """A reply in pieces; the end of the connection is its end."""
        send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for word in text.split("\n")[-1].upper().split(" "):
            send(b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": word + " "}}]}).encode() + b"\n\n")
            time.sleep(self.delay / 4)
        send(b"data: [DONE]\n\n")


class Folder:
    """A working folder with a folder of runs in it."""

    def __init__(self, pdl, service, program, **files):
        """files: their names, with _ for the point, and what they hold."""
        self.path = pathlib.Path(tempfile.mkdtemp())
        self.pdl, self.journal = pdl, self.path / "runs" / "r.journal"
        for name, text in files.items():
            (self.path / name.replace("_", ".")).write_text(text)
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


def wait_for(met):
    """Waits for a file, or until met() is true."""
    end = time.monotonic() + SECONDS
    while not (met() if callable(met) else met.exists()) and time.monotonic() < end:
        time.sleep(0.01)


def kill_at_stop(f, *args, **env):
    """Runs the program up to STOP and kills it there; then the way is free."""
    p = f.start(["--durable", "--id", "r", *args, "main.pdl"], env=env)
    wait_for(f.path / "here")
    f.kill(p)
    out, err = p.communicate(timeout=SECONDS)
    check("it is killed where it stops", p.returncode == -signal.SIGKILL, (p.returncode, out, err))
    (f.path / "go").touch()


def shim(name="killer"):
    """A library for LD_PRELOAD, which the build makes from the source of this name."""
    return str(Choice.build / "tests" / "durable" / (name + ".so"))
