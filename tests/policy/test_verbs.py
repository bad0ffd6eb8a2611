# SPDX-License-Identifier: Apache-2.0
"""Every command that runs a program applies the policy and the sandbox, in whatever way they were requested. In each cell the first run has neither
policy nor sandbox, and must do what the other runs must not do."""
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from ..checks import check, skip
from ..dap.client import Dap
from ..harness.choice import Choice, taken

TEXT = """%stext:
- {def: x, read: note, contribute: []}
- {lang: command, args: [touch, "${ x }"]%s}
"""
DENY = {"policy": 1, "rules": [{"sink": "command", "deny": ["file"]}], "otherwise": "allow"}
CONFINE = {"policy": 1, "sandbox": {}, "otherwise": "allow"}


class Folder:
    def __init__(self, pdl, root, block):
        self.pdl, self.d, self.program = pdl, Path(tempfile.mkdtemp()).resolve(), TEXT % (root, block)
        for name, text in (("a.pdl", self.program), ("note", "hit"), ("deny.yaml", json.dumps(DENY)), ("confine.yaml", json.dumps(CONFINE)), ("in.jsonl", '{"n": 1}\n'),
                           ("a.test.yaml", "tests: [{name: t, input: {}, expect: {contains: ''}}]\n")):
            (self.d / name).write_text(text)
        self.env = {**{k: v for k, v in os.environ.items() if k not in ("PDL_POLICY", "PDL_SANDBOX")}, "HOME": str(self.d), "PDL_RUNS": str(self.d / "runs")}

    def did(self):
        """Was the file made? It is gone afterwards."""
        made = (self.d / "hit").exists()
        (self.d / "hit").unlink(missing_ok=True)
        return made

    def run(self, *args, **more):
        return subprocess.run([self.pdl, *map(str, args)], cwd=self.d, env=self.env, capture_output=True, text=True, timeout=120, start_new_session=True, check=False,
                              **{"stdin": subprocess.DEVNULL, **more}).returncode


def post(port, path, body, **headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", path, json.dumps(body), {"Content-Type": "application/json", "Accept": "application/json", **headers})
    r = c.getresponse()
    return r.status, r.read().decode()


def started(f, *args, stream="stderr"):
    p = subprocess.Popen([f.pdl, *map(str, args)], cwd=f.d, env=f.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    return p, getattr(p, stream).readline()


def ended(p):
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)


def served(*more, key=None, mcp=False):
    def run(f, given):
        p, line = started(f, "serve", "--port", 0, *more, *given, "a.pdl")
        try:
            found = re.search(r"http://[^ ]*?:(\d+)", line)
            if found and mcp:
                post(int(found.group(1)), "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": {"question": "x"}}})
            elif found:
                post(int(found.group(1)), "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}, **({"Idempotency-Key": key} if key else {}))
        finally:
            ended(p)
    return run


def over_pipes(f, given):
    hello = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "a", "arguments": {"question": "x"}}}]
    p = subprocess.Popen([f.pdl, "serve", "--mcp", *given, "a.pdl"], cwd=f.d, env=f.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)
    p.stdin.write("".join(json.dumps(m) + "\n" for m in hello))
    p.stdin.flush()
    while json.loads(p.stdout.readline() or '{"id": 2}').get("id") != 2:
        pass
    ended(p)


def simply(*args, program="a.pdl", **more):
    return lambda f, given: f.run(*args, *given, *([program] if program else []), **more)


def batched(*more):
    return lambda f, given: f.run("batch", "--input", "in.jsonl", "--output", "out.jsonl", "--overwrite", *more, *given, "a.pdl")


def evaluated(f, given):
    (f.d / "rows.jsonl").write_text('{"n": 1, "answer": "x"}\n')
    f.run("eval", "--input", "rows.jsonl", "--expect", "answer", *given, "a.pdl")


def judged(f, given):
    """The program beside which another one is judged, and the judge."""
    (f.d / "b.pdl").write_text("data: x\n")
    (f.d / "rows.jsonl").write_text('{"n": 1, "answer": "x"}\n')
    f.run("eval", "--input", "rows.jsonl", "--expect", "answer", "--against", "a.pdl", *given, "b.pdl")


def judge(f, given):
    (f.d / "b.pdl").write_text("data: x\n")
    (f.d / "rows.jsonl").write_text('{"n": 1, "answer": "x"}\n')
    f.run("eval", "--input", "rows.jsonl", "--expect", "answer", "--judge", "a.pdl", *given, "b.pdl")


def typed(f, given):
    """The lines of the program; its root cannot be typed, so it is included."""
    f.run("repl", stdin=None, input="include: a.pdl\n\n")


def debugged(no_debug):
    def run(f, given):
        d = Dap(f.pdl, cwd=str(f.d), env=f.env)
        try:
            d.launch(f.d / "a.pdl", noDebug=no_debug)
            d.event("terminated")
        finally:
            d.end()
    return run


def resumed(f, given):
    """A run that had to wait for a line before."""
    (f.d / "a.pdl").write_text(f.program.replace("text:\n", "text:\n- {read: null, message: ask, contribute: []}\n"))
    f.run("--durable", "--park", "--id", "r", *given, "a.pdl")
    f.run("answer", "r", "go")
    f.run("resume", "r")
    f.run("runs", "rm", "r")


def again(f, given):
    """A changed program, from the page of a run."""
    (f.d / "a.pdl").write_text(f.program.replace("touch", "echo"))
    f.run("--durable", "--id", "v", *given, "a.pdl")
    text = (f.d / "a.pdl").read_text()
    n = text.split("\n").index(next(line for line in text.split("\n") if "echo" in line)) + 1
    p, line = started(f, "view", "v", "--run", "a.pdl", stream="stdout")
    try:
        found = re.search(r":(\d+)(/\S+)", line)
        port = int(found.group(1))
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        c.request("GET", found.group(2))
        r = c.getresponse()
        r.read()
        cookie = (r.getheader("Set-Cookie") or "").split(";")[0]
        post(port, "/api/again", {"hash": hashlib.sha256(text.encode()).hexdigest(), "box": 0, "fresh": False, "edits": [[n, n, text.split("\n")[n - 1].replace("echo", "touch")]]},
             Cookie=cookie, Origin="http://127.0.0.1:%d" % port)
        for _ in range(600):
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            c.request("GET", "/api/runs", headers={"Cookie": cookie})
            runs = json.loads(c.getresponse().read())["runs"]
            if len(runs) > 1 and not runs[0].get("live"):
                break
            time.sleep(0.02)
    finally:
        ended(p)
        f.run("runs", "rm", "v")


# verb -> how it runs a.pdl with more options; False: it has none of --policy and --sandbox
VERBS = {
    "a run": (simply(), True), "its text": (lambda f, given: f.run("-e", f.program, *given), True), "standard input": (lambda f, given: f.run(*given, "-", stdin=None, input=f.program), True),
    "with a cache": (simply("--cache", "c"), True), "recorded": (lambda f, given: ((f.d / "j").unlink(missing_ok=True), f.run("--record", "j", *given, "a.pdl")), True),
    "durable": (lambda f, given: (f.run("--durable", "--id", "d", *given, "a.pdl"), f.run("runs", "rm", "d")), True), "resumed": (resumed, True), "again from a page": (again, True),
    "a batch": (batched(), True), "a batch with a cache": (batched("--cache", "c"), True), "a batch of one at a time": (batched("--jobs", "1"), True), "a batch that keeps": (batched("--keep"), True),
    "a server": (served(), True), "a server with a cache": (served("--cache", "c"), True), "a durable server": (served("--durable"), True),
    "a key": (served("--durable", key="k"), True), "a key and a cache": (served("--durable", "--cache", "c", key="k"), True), "a tool": (served(mcp=True), True), "over pipes": (over_pipes, True),
    "over pipes with a cache": (lambda f, given: over_pipes(f, ("--cache", "c", *given)), True),
    "questions": (evaluated, True), "a program beside": (judged, True), "a judge": (judge, True), "tests": (simply("test", program="a.test.yaml"), False), "typed": (typed, False),
    "a debugger": (debugged(False), False), "run by a debugger": (debugged(True), False),
}
# way -> options, environment, root of the program, part of the block, needs a sandbox
WAYS = {
    "nothing": ((), {}, "", "", False), "--policy": (("--policy", "deny.yaml"), {}, "", "", False), "PDL_POLICY": ((), {"PDL_POLICY": "deny.yaml"}, "", "", False),
    "--policy twice": (("--policy", "deny.yaml", "--policy", "default"), {}, "", "", False), "both, the weaker by option": (("--policy", "default"), {"PDL_POLICY": "deny.yaml"}, "", "", False),
    "of the program": ((), {}, "policy: %s\n" % json.dumps(DENY), "", False), "of the program, a weaker one by option": (("--policy", "default"), {}, "policy: %s\n" % json.dumps(DENY), "", False),
    "--sandbox": (("--sandbox",), {}, "", "", True), "PDL_SANDBOX": ((), {"PDL_SANDBOX": "code"}, "", "", True), "of the block": ((), {}, "", ", sandbox: true", True),
    "of the block, --no-sandbox": (("--no-sandbox",), {}, "", ", sandbox: true", True), "--sandbox and --no-sandbox": (("--sandbox", "--no-sandbox"), {}, "", "", True),
    "of a policy": (("--policy", "confine.yaml"), {}, "", "", True), "of a policy of the environment": ((), {"PDL_POLICY": "confine.yaml"}, "", "", True),
    "of the program's policy": ((), {}, "policy: %s\n" % json.dumps(CONFINE), "", True),
}
EVERY = 6  # one cell of so many is made in `test`


def ways_of(verb):
    """The ways that this run takes: `test` those that the commit draws, and always that nothing asks, which shows what the others must not do."""
    for way, (options, env, root, block, confines) in WAYS.items():
        if (options and not VERBS[verb][1]) or (root and verb == "typed"):
            continue  # it has none of the options; what is typed has no root, and that of an included program is not asked
        if not Choice.rest if way == "nothing" else taken((verb, way), EVERY):
            yield way, options, env, root, block, confines


@pytest.mark.draws
@pytest.mark.parametrize("verb", VERBS)
def test_verbs(pdl, verb):
    for way, options, env, root, block, confines in ways_of(verb):
        if confines and subprocess.run([pdl, "sandbox", "--", "true"], capture_output=True, check=False).returncode:
            skip("%s, %s" % (verb, way), "this machine has no sandbox")
            continue
        f = Folder(pdl, root, block)
        f.env.update(env)
        VERBS[verb][0](f, options)
        check("%s, %s" % (verb, way), f.did() == (way == "nothing"))


@pytest.mark.parametrize("named", [("a.pdl", "b.pdl"), ("b.pdl", "a.pdl")], ids=["last", "first"])
def test_the_policy_of_another_program(pdl, named):
    """Programs of one server answer from the same processes: the policy of one holds for all."""
    f = Folder(pdl, "", "")
    (f.d / "b.pdl").write_text("policy: %s\ndata: x\n" % json.dumps(DENY))
    served(*[n for n in named if n != "a.pdl"])(f, ()) if named[0] == "b.pdl" else served()(f, ("b.pdl",))
    check("the policy of another program of the server, %s first" % named[0], not f.did())
    (f.d / "b.pdl").write_text("policy: {policy: 1, ruls: []}\ndata: x\n")
    p = subprocess.run([pdl, "serve", "--port", "0", *named], cwd=f.d, env=f.env, capture_output=True, text=True, timeout=60, check=False)
    check("a mistake in one, %s first" % named[0], p.returncode == 1 and "b.pdl:1" in p.stderr and "did you mean 'rules'" in p.stderr, p.returncode, p.stderr)


def test_a_batch(pdl):
    f = Folder(pdl, "policy: {policy: 1, ruls: []}\n", "")
    p = subprocess.run([pdl, "batch", "--input", "in.jsonl", "--output", "out.jsonl", "a.pdl"], cwd=f.d, env=f.env, capture_output=True, text=True, timeout=60, check=False)
    ok = p.returncode == 2 and "a.pdl:1" in p.stderr and "did you mean 'rules'" in p.stderr and not f.did() and not (f.d / "out.jsonl").exists()
    check("a mistake in the policy of a batch", ok, p.returncode, p.stderr)
    check("a dry run does nothing", f.run("batch", "--dry-run", "--input", "in.jsonl", "a.pdl") is not None and not f.did())
