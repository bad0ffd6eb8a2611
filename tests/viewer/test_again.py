#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_again.py BUILD -- pdl view --run: a durable run is run again from the page, with changed lines and with what was answered before."""
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
PDL = str(BUILD / "pdl")
passed = failed = 0
PROGRAM = """text:
- model: openai/a
  input: first
  def: one
- " "
- model: openai/b
  input: second
  def: two
- " "
- model: openai/c
  input: third after ${ two }
- " "
- lang: command
  code: touch made-%s
"""


def check(name, good, told=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAIL %s: %s" % (name, str(told)[:700]))


class Model(http.server.ThreadingHTTPServer):
    """Answers with the number of the answer and what was asked; keeps what was asked. What holds the word `wait` is never answered."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self):
        out, self.asked = self.asked, []
        return out


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    n = 0

    def log_message(self, *args):
        pass

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        self.server.asked.append(asked)
        if "wait" in asked:
            time.sleep(60)
            return
        Handler.n += 1
        piece = {"choices": [{"index": 0, "delta": {"content": "%d(%s)" % (Handler.n, asked)}, "finish_reason": "stop"}]}
        body = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(piece).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class View:
    def __init__(self, env, folder, *args, stdin=subprocess.DEVNULL):
        self.told = open(folder / "told", "w+")
        self.p = subprocess.Popen([PDL, "view", *map(str, args)], cwd=folder, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=self.told, text=True,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.address = self.p.stdout.readline().strip()
        m = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/open/\w+)", self.address)
        self.port, self.cookie = int(m.group(1)), None
        self.cookie = (self.ask(m.group(2))[1]["Set-Cookie"] or "").split(";")[0]

    def ask(self, path, method="GET", body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            own["Origin"] = "http://127.0.0.1:%d" % self.port
        c.request(method, path, body, {**own, **headers})
        r = c.getresponse()
        return r.status, r.headers, r.read().decode()

    def runs(self):
        return json.loads(self.ask("/api/runs")[2])["runs"]

    def again(self, text, edits=(), box=0, fresh=False, **more):
        body = {"hash": hashlib.sha256(text.encode()).hexdigest(), "box": box, "fresh": fresh, "edits": edits, **more}
        status, _, told = self.ask("/api/again", "POST", json.dumps(body))
        return status, told

    def wait(self, n):
        """Until there are n runs, none of which goes on."""
        for _ in range(1200):
            runs = self.runs()
            if len(runs) == n and not runs[0].get("live"):
                return runs
            time.sleep(0.05)
        raise RuntimeError(runs)

    def text(self, run):
        return self.ask("/api/%d/text/0" % run)[2]

    def end(self):
        self.p.send_signal(signal.SIGINT)
        code = self.p.wait(30)
        self.told.seek(0)
        return code, self.told.read()


def environment(folder, model):
    (folder / "tmp").mkdir()
    return {**os.environ, "PDL_RUNS": str(folder / "runs"), "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % model.server_port, "OPENAI_API_KEY": "KEY-OF-TEST-123456",
            "TMPDIR": str(folder / "tmp")}


def durable(folder, env, name, program, *args):
    (folder / (name + ".pdl")).write_text(program)
    return subprocess.run([PDL, "--durable", "--id", name, *args, name + ".pdl"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def box_of(v, kind, which=0):
    list_ = json.loads(v.ask("/api/0/boxes/0/500")[2])
    return [b["id"] for b in list_ if b["kind"] == kind][which]


def changes(folder):
    """What is before a change comes from the journal, what it changes and what depends on it is asked; nothing of the user is changed."""
    model = Model()
    env = environment(folder, model)
    program = PROGRAM % "a"
    durable(folder, env, "r", program)
    check("three calls", len(model.take()) == 3 and (folder / "made-a").exists())
    (folder / "made-a").unlink()
    journal = (folder / "runs" / "r.journal").read_bytes()
    v = View(env, folder, "r", "--run", "r.pdl")
    first = v.text(0)
    v.again(program, [[7, 7, "  input: other"]], box_of(v, "model", 1))
    v.wait(2)
    asked = model.take()
    check("only what changed is asked", asked[0] == "other" and len(asked) == 2 and asked[1].startswith("third after ") and "(other)" in asked[1], asked)
    check("the answer before is reused", v.text(1).split()[0] == first.split()[0] and "(other)" in v.text(1), (first, v.text(1)))
    check("an action that is the same is not done again", not (folder / "made-a").exists())
    v.again(program, [[14, 14, "  code: touch made-b"]], 0)
    v.wait(3)
    check("an action that changed is done", (folder / "made-b").exists() and model.take() == [])
    v.again(program, [], box_of(v, "model", 1), fresh=True)
    v.wait(4)
    asked = model.take()
    check("fresh: from the box on", asked[0] == "second" and len(asked) == 2 and (folder / "made-a").exists(), asked)
    check("fresh: not what is before", v.text(3).split()[0] == first.split()[0] and v.text(3).split()[1] != first.split()[1], (first, v.text(3)))
    v.again(program, [[1, 1, "text:\n- begin"], [11, 11, "  input: fourth"]], 0)
    v.wait(5)
    check("several changes, and more lines than before", v.text(4).startswith("begin" + first.split()[0]) and model.take() == ["fourth"], v.text(4))
    check("the program is shown as it ran", "- begin" in json.loads(v.ask("/api/4/source")[2])["source"])
    code, told = v.end()
    lines = [l for l in told.splitlines() if "sha256" in l]
    hash_ = hashlib.sha256(program.encode()).hexdigest()[:12]
    check("each start is told on the terminal", len(lines) == 4 and all("r.pdl" in l and hash_ in l for l in lines) and "text.2.model" in lines[0] and "changed" in lines[0] and
          "everything asked again from text.2" in lines[2] and "changed" not in lines[2], told)
    check("nothing is left", code == 0 and list((folder / "tmp").iterdir()) == [], (code, list((folder / "tmp").iterdir())))
    check("the file and the journal are as before", (folder / "r.pdl").read_text() == program and (folder / "runs" / "r.journal").read_bytes() == journal)


def refusals(folder):
    model = Model()
    env = environment(folder, model)
    program = "text:\n- model: openai/a\n  input: hello\n- x\n"
    durable(folder, env, "r", program)
    model.take()
    hash_ = hashlib.sha256(program.encode()).hexdigest()
    good = json.dumps({"hash": hash_, "box": 1, "fresh": False, "edits": [[3, 3, "  input: hostile"]]})
    v = View(env, folder, "r")
    check("without --run nothing runs", v.ask("/api/again", "POST", good)[0] == 403 and v.ask("/api/again/stop", "POST", "{}")[0] == 409)
    check("and the page knows it", "again" not in json.loads(v.ask("/api/runs")[2]))
    v.end()
    v = View(env, folder, "r", "--run", "r.pdl")
    check("the hash is shown", json.loads(v.ask("/api/runs")[2])["again"] == {"file": "r.pdl", "hash": hash_})
    for headers in ({"Cookie": ""}, {"Cookie": "pdl_view_%d=%s" % (v.port, "0" * 32)}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}):
        check("refused with %s" % headers, v.ask("/api/again", "POST", good, **headers)[0] == 403)
        check("stop refused with %s" % headers, v.ask("/api/again/stop", "POST", "{}", **headers)[0] == 403)
    check("not by GET", v.ask("/api/again")[0] == 400)
    for bad in ("", "[]", "{", '{"hash": 1}', json.dumps({"hash": hash_}), good.replace(hash_, "0" * 64), good.replace('"box": 1', '"box": 99'), good.replace('"box": 1', '"box": -1'),
                good.replace("[3, 3,", "[4, 3,"), good.replace("[3, 3,", "[0, 3,"), good.replace("[3, 3,", "[99, 99,"), good.replace('[[3, 3, "  input: hostile"]]', '[[3, 3, "x"], [3, 4, "y"]]'),
                good.replace('[[3, 3, "  input: hostile"]]', "[[3, 3]]"), good.replace('[[3, 3, "  input: hostile"]]', '["x"]'), good.replace("3, 3,", "3.5, 3,"),
                good.replace("[3, 3,", "[9223372036854775807, 9223372036854775807,"), good.replace("false", '"no"')):
        check("bad request %r" % bad[:100], v.ask("/api/again", "POST", bad)[0] == 400, v.ask("/api/again", "POST", bad))
    check("stop when nothing runs", v.ask("/api/again/stop", "POST", "{}")[0] == 409)
    status, told = v.again(program, [[3, 3, "  inpt: x"]], 1)
    check("a program with an error", status == 422 and "inpt" in told, (status, told))
    status, told = v.again(program, [[3, 3, "  input: [x"]], 1)
    check("no YAML", status == 422 and told, (status, told))
    status, told = v.again(program, [], box_of(v, "data"), fresh=True)
    check("a box that asked nobody", status == 422 and "nobody" in told, (status, told))
    check("nothing was asked, nothing is shown", model.take() == [] and len(v.runs()) == 1)
    v.again(program, [[3, 3, "  input: wait"]], 1)
    for _ in range(600):
        if model.asked:
            break
        time.sleep(0.05)
    check("it goes on", v.runs()[0].get("live") is True and v.again(program, [], 1)[0] == 409)
    check("stop", v.ask("/api/again/stop", "POST", "{}")[0] == 202)
    runs = v.wait(2)
    check("a run that was stopped is shown as failed", runs[1]["failed"] > 0, runs)
    check("and the next one runs", v.again(program, [[3, 3, "  input: better"]], 1)[0] == 202 and len(v.wait(3)) == 3 and "better" in v.text(2))
    v.again(program, [[3, 3, "  input: wait"]], 1)
    code, told = v.end()
    check("Ctrl-C while it runs", code == 0 and "KEY-OF-TEST" not in told and list((folder / "tmp").iterdir()) == [], (code, told))
    (folder / "r.pdl").write_text(program + "- mine\n")
    v = View(env, folder, "r", "--run", "r.pdl")
    status, _ = v.again(program + "- mine\n", [], 0)
    v.wait(2)
    _, told = v.end()
    check("the user's file runs, not the text of the journal", status == 202 and "not as it was" in told, told)
    subprocess.run([PDL, "r.pdl", "--trace=t.json", "--record", "rec"], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    for args, why in ((("t.json", "--run", "r.pdl"), "durable"), (("rec", "--run", "r.pdl"), "durable"), (("r", "--run", "r.pdl", "--html", "x"), "--run"),
                      (("r", "r", "--run", "r.pdl"), "--run"), (("r", "--run", "none.pdl"), "none.pdl")):
        p = subprocess.run([PDL, "view", *args], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        check("refused: %s" % (args,), p.returncode in (1, 2) and why in p.stderr and "Traceback" not in p.stderr, p)


def guards(folder):
    """The policy and the inputs of the run hold for what is run again."""
    model = Model()
    env = environment(folder, model)
    program = "text:\n- ${ who }\n- model: openai/a\n  input: hello\n  def: m\n- for: {i: [1]}\n  repeat: x\n"
    p = durable(folder, env, "r", program, "--data", "who=Ada", "--policy", "careful")
    v = View(env, folder, "r", "--run", "r.pdl")
    v.again(program, [[6, 7, "- lang: command\n  code: touch made-${ m }"]])
    runs = v.wait(2)
    found = json.loads(v.ask("/api/1/find", "POST", '{"state": "failed"}')[2])
    box = v.ask("/api/1/details/%d" % found["boxes"][-1][0])[2]
    check("the policy of the run holds", p.returncode == 0 and runs[1]["failed"] and "policy" in box and not list(folder.glob("made*")), (p, box))
    v.again(program, [[6, 7, "- data: ${ who }"]])
    v.wait(3)
    check("the inputs of the run hold", v.text(2).startswith("Ada") and v.text(2).endswith("Ada"), v.text(2))
    v.end()


def questions(folder):
    """What is asked again is answered from the journal; a new question is answered in the page."""
    model = Model()
    env = environment(folder, model)
    program = "text:\n- read:\n  message: 'Name? '\n  def: who\n- end\n"
    (folder / "r.pdl").write_text(program)
    subprocess.run([PDL, "--durable", "--id", "r", "r.pdl"], cwd=folder, env=env, input="Ada\n", capture_output=True, text=True, timeout=60)
    v = View(env, folder, "r", "--run", "r.pdl", stdin=subprocess.PIPE)
    v.again(program, [[5, 5, "- read:\n  message: 'More? '\n  def: more"]])
    c = http.client.HTTPConnection("127.0.0.1", v.port, timeout=60)
    c.request("GET", "/api/events", headers={"Cookie": v.cookie})
    r = c.getresponse()
    asked = []
    for line in iter(r.readline, b""):
        if line.startswith(b"event: over"):
            break
        for box in json.loads(line[5:]) if line.startswith(b"data: [") else []:
            if box.get("asks") and box["asks"] not in [a["asks"] for a in asked]:
                asked.append(box)
                v.ask("/api/0/answer/%d" % box["asks"], "POST", "much")
    v.wait(2)
    check("one question is asked", [a["text"] for a in asked] == ["More? "], asked)
    check("and answered", "Ada" in v.text(1) and "much" in v.text(1), v.text(1))
    v.end()


def main():
    with tempfile.TemporaryDirectory() as t:
        for test in (changes, refusals, guards, questions):
            folder = pathlib.Path(t) / test.__name__
            folder.mkdir()
            test(folder)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
