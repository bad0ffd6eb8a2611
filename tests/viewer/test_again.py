# SPDX-License-Identifier: Apache-2.0
"""pdl view --run: the page runs a durable run again, with changed lines and with the recorded answers."""
import hashlib
import http.client
import http.server
import json
import os
import re
import signal
import subprocess
import threading
import time

from .. import http_of
from ..checks import check
from ..harness.choice import Choice

PDL = str(Choice.build / "pdl")
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


class Handler(http_of.Quiet):
    protocol_version = "HTTP/1.1"
    n = 0

    def do_POST(self):
        asked = json.loads(self.body())["messages"][-1]["content"]
        self.server.asked.append(asked)
        if "wait" in asked:
            time.sleep(60)
            return
        Handler.n += 1
        piece = {"choices": [{"index": 0, "delta": {"content": "%d(%s)" % (Handler.n, asked)}, "finish_reason": "stop"}]}
        body = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(piece).encode()
        self.reply(body, "text/event-stream")


class View:
    def __init__(self, env, folder, *args, stdin=subprocess.DEVNULL):
        self.told = open(folder / "told", "w+")
        self.p = subprocess.Popen([PDL, "view", *map(str, args)], cwd=folder, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=self.told, text=True)
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

    def head(self):
        """What the page is told first: JSON with no blank and no comma too many."""
        text = self.ask("/api/runs")[2]
        told = json.loads(text)
        check("/api/runs is compact JSON", text == json.dumps(told, separators=(",", ":"), ensure_ascii=False), text)
        return told

    def runs(self):
        return self.head()["runs"]

    def again(self, text, edits=(), box=0, fresh=False, **more):
        body = {"hash": hashlib.sha256(text.encode()).hexdigest(), "box": box, "fresh": fresh, "edits": edits, **more}
        status, _, told = self.ask("/api/again", "POST", json.dumps(body))
        return status, told

    def answer(self, box):
        status, _, told = self.ask("/api/again/answer/%d" % box)
        if status != 200:
            return status
        check("an answer is compact JSON", told == json.dumps(json.loads(told), separators=(",", ":"), ensure_ascii=False), told)
        return json.loads(told)

    def wait(self, n):
        """Until there are n runs, none of which continues."""
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


def test_changes(folder):
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
    (folder / "made-a").unlink()
    v.again(program, [[1, 1, "text:\n- begin"], [11, 11, "  input: fourth"]], 0)
    v.wait(5)
    check("several changes, and more lines than before", v.text(4).startswith("begin" + first.split()[0]) and model.take() == ["fourth"], v.text(4))
    check("an action that has moved is not done again", not (folder / "made-a").exists())
    check("the program is shown as it ran", "- begin" in json.loads(v.ask("/api/4/source")[2])["source"])
    code, told = v.end()
    lines = [l for l in told.splitlines() if "sha256" in l]
    hash_ = hashlib.sha256(program.encode()).hexdigest()[:12]
    check("each start is told on the terminal", len(lines) == 4 and all("r.pdl" in l and hash_ in l for l in lines) and "text.2.model" in lines[0] and "changed" in lines[0] and
          "everything asked again from text.2" in lines[2] and "changed" not in lines[2], told)
    check("nothing is left", code == 0 and list((folder / "tmp").iterdir()) == [], (code, list((folder / "tmp").iterdir())))
    check("the file and the journal are as before", (folder / "r.pdl").read_text() == program and (folder / "runs" / "r.journal").read_bytes() == journal)


def test_refusals(folder):
    model = Model()
    env = environment(folder, model)
    program = "text:\n- model: openai/a\n  input: hello\n- x\n"
    durable(folder, env, "r", program)
    model.take()
    hash_ = hashlib.sha256(program.encode()).hexdigest()
    good = json.dumps({"hash": hash_, "box": 1, "fresh": False, "edits": [[3, 3, "  input: hostile"]]})
    v = View(env, folder, "r")
    check("without --run nothing runs", v.ask("/api/again", "POST", good)[0] == 403 and v.ask("/api/again/stop", "POST", "{}")[0] == 409)
    check("and the page knows it", "again" not in v.head())
    v.end()
    v = View(env, folder, "r", "--run", "r.pdl")
    check("the hash is shown", v.head()["again"] == {"file": "r.pdl", "hash": hash_})
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
    check("a box that asked nobody", status == 422 and "sent no request" in told, (status, told))
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
    for args, why in ((("t.json", "--run", "r.pdl"), "durable"), (("none", "--run", "r.pdl"), "none"), (("rec", "--run", "none.pdl"), "none.pdl"), (("r", "--run", "r.pdl", "--html", "x"), "--run"),
                      (("r", "r", "--run", "r.pdl"), "--run"), (("r", "--run", "none.pdl"), "none.pdl")):
        p = subprocess.run([PDL, "view", *args], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        check("refused: %s" % (args,), p.returncode in (1, 2) and why in p.stderr and "Traceback" not in p.stderr, p)


def test_guards(folder):
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


ANSWERS = """text:
- read:
  message: 'Name? '
  def: who
- model: openai/a
  input: hello ${ who }
  def: one
- lang: python
  code: "result = dict(n=3)"
  def: two
- lang: command
  code: echo command
  def: three
- model: openai/b
  input: about ${ one }, ${ two.n }, ${ three }
  parser: json
  spec: {a: integer}
  fallback: {data: {a: 1}}
- for: {i: [1, 2]}
  repeat: {model: openai/c, input: 'round ${ i }'}
"""


def test_answers(folder):
    """What was answered is shown and changed: what depends on it is asked, all else comes from the journal."""
    model = Model()
    env = environment(folder, model)
    (folder / "r.pdl").write_text(ANSWERS)
    subprocess.run([PDL, "--durable", "--id", "r", "r.pdl"], cwd=folder, env=env, input="Ada\n", capture_output=True, text=True, timeout=60)
    asked = model.take()
    check("four calls", len(asked) == 4, asked)
    journal = (folder / "runs" / "r.journal").read_bytes()
    v = View(env, folder, "r", "--run", "r.pdl")
    read, one, two, three = box_of(v, "read"), box_of(v, "model"), box_of(v, "code"), box_of(v, "code", 1)
    list_ = json.loads(v.ask("/api/0/boxes/0/500")[2])
    second = [b["id"] for b in list_ if b["kind"] == "model" and b["place"] == "text.4.model"][0]
    rounds = [b["id"] for b in list_ if b["kind"] == "model" and "repeat" in b["place"] and b["place"].startswith("text.5")]
    check("what a person said", v.answer(read) == {"text": "Ada", "json": False}, v.answer(read))
    check("what a model said", v.answer(one)["text"].endswith("(hello Ada)") and not v.answer(one)["json"], v.answer(one))
    check("what code gave", json.loads(v.answer(two)["text"]) == {"n": 3} and v.answer(two)["json"], v.answer(two))
    check("what a command wrote", v.answer(three) == {"text": "command\n", "json": False}, v.answer(three))
    check("what asked nobody", v.answer(0) is None and v.answer(9999) == 404 and v.answer(box_of(v, "data")) is None)
    n = 1

    def change(*given, edits=()):
        nonlocal n
        status, told = v.again(ANSWERS, edits, one, answers=given)
        if status == 202:
            n += 1
            v.wait(n)
        return status, told, model.take()

    status, told, asked = change([one, "NEW \u0001 <b>\U0001f600"])
    check("another answer of a model", status == 202 and len(asked) == 1 and asked[0].startswith("about NEW \u0001 <b>\U0001f600, 3, command"), (status, told, asked))
    check("it is in the run", "NEW" in v.text(n - 1) and "Ada" in v.text(n - 1))
    status, told, asked = change([read, "Grace"])
    check("another answer of a person", asked[0] == "hello Grace" and len(asked) == 2, (told, asked))
    status, told, asked = change([two, '{"n": 44}'])
    check("another result of code", len(asked) == 1 and ", 44, " in asked[0], (told, asked))
    status, told, asked = change([three, "other"])
    check("another output of a command", len(asked) == 1 and asked[0].strip().endswith(", other"), (told, asked))
    status, told, asked = change([one, "x"], [two, '{"n": 5}'])
    check("several answers", len(asked) == 1 and asked[0].startswith("about x, 5, command"), (told, asked))
    status, told, asked = change([second, '{"a": 7}'])
    check("another answer goes through parser and spec", asked == [] and '{"a": 7}' in v.text(n - 1), (told, asked, v.text(n - 1)))
    status, told, asked = change([rounds[0], "the first round"])
    check("one of several rounds", asked == [] and "the first round" in v.text(n - 1) and "(round 2)" in v.text(n - 1), (told, asked, v.text(n - 1)))
    status, told, asked = change([one, "x"], edits=[[6, 6, "  input: bye"]])
    check("with a changed prompt the answer is asked for", asked[0] == "bye", (told, asked))
    for bad, why in (([two, "{"], "JSON"), ([0, "x"], "asked for nothing"), ([9999, "x"], "no such box"), ([one], "box and a text"), ([one, 3], "box and a text"), (["x", "y"], "no such box"),
                     ([-1, "y"], "no such box")):
        status, told, asked = change(bad)
        check("refused: %s" % bad, status in (400, 422) and why in told and asked == [], (status, told))
    status, told = v.again(ANSWERS, [], one, answers="x")
    check("no list of answers", status == 400, told)
    code, told = v.end()
    check("told on the terminal", "another answer at text.1.model" in told, told)
    check("the journal is as before", (folder / "runs" / "r.journal").read_bytes() == journal)


def test_secrets(folder):
    """A key in an answer is not shown, and stays what it is when something else is changed."""
    model = Model()
    env = environment(folder, model)
    program = "text:\n- model: openai/a\n  input: say KEY-OF-TEST-123456\n  def: one\n- model: openai/b\n  input: got ${ one }\n- x\n"
    durable(folder, env, "r", program)
    model.take()
    v = View(env, folder, "r", "--run", "r.pdl")
    shown = v.answer(box_of(v, "model"))
    check("keys are hidden in answers", "KEY-OF" not in shown["text"] and "REDACTED" in shown["text"], shown)
    v.again(program, [], 0, answers=[[box_of(v, "model"), "\u0001k:OPENAI_API_KEY\u0001"]])
    v.wait(2)
    asked = model.take()
    check("nothing that is typed becomes a key", asked == ["got \u0001k:OPENAI_API_KEY\u0001"], asked)
    v.end()


def test_included(folder):
    """Lines of files that the program includes can be changed when they are the user's own, as they are on the disk."""
    model = Model()
    env = environment(folder, model)
    program = "defs:\n  m: {import: lib/mod}\ntext:\n- include: inc.pdl\n- call: ${ m.f }\n  args: {x: 1}\n- include: gone.pdl\n"
    (folder / "lib").mkdir()
    (folder / "inc.pdl").write_text("text:\n- model: openai/a\n  input: included\n")
    (folder / "gone.pdl").write_text("text: gone\n")
    (folder / "lib/mod.pdl").write_text("defs:\n  f:\n    function: {x: int}\n    return:\n      model: openai/b\n      input: imported ${ x }\n")
    durable(folder, env, "r", program)
    check("two calls", sorted(model.take()) == ["imported 1", "included"])
    (folder / "gone.pdl").write_text("text: changed\n")
    v = View(env, folder, "r", "--run", "r.pdl")
    source = json.loads(v.ask("/api/0/source")[2])["included"]
    number = {f["source_name"]: i + 1 for i, f in enumerate(source)}
    again = v.head()["again"]
    hash_ = {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in ("inc.pdl", "lib/mod.pdl")}
    check("own files have hashes, changed ones have none", again["files"] == {str(number[n]): h for n, h in hash_.items()}, (again, number))
    status, told = v.again(program, [], 0, included=[[number["inc.pdl"], hash_["inc.pdl"], [[3, 3, "  input: other"]]]])
    runs = v.wait(2) if status == 202 else None
    asked = model.take()
    check("lines of an included file", runs and asked == ["other"] and "(imported 1)" in v.text(1), (status, told, asked, v.text(1)))
    check("it is shown as it ran", "input: other" in v.ask("/api/1/source")[2])
    status, told = v.again(program, [[6, 6, "  args: {x: 2}"]], 0, included=[[number["lib/mod.pdl"], hash_["lib/mod.pdl"], [[6, 6, "      input: new ${ x }"]]]])
    v.wait(3)
    asked = model.take()
    check("lines of an imported file, and of the program", asked == ["new 2"], (asked, v.text(2)))
    for bad in ([number["gone.pdl"], hashlib.sha256(b"text: gone\n").hexdigest(), []], [number["inc.pdl"], "0" * 64, []], [0, hash_["inc.pdl"], []], [99, hash_["inc.pdl"], []],
                [number["inc.pdl"], hash_["inc.pdl"], [[9, 9, "x"]]], [number["inc.pdl"], hash_["inc.pdl"]], "x", [number["inc.pdl"], hash_["inc.pdl"], "x"]):
        status, told = v.again(program, [], 0, included=[bad])
        check("refused: %s" % bad, status == 400 and model.take() == [], (status, told))
    status, told = v.again(program, [], 0, included=[[number["inc.pdl"], hash_["inc.pdl"], [[1, 3, "txt: x"]]]])
    runs = v.wait(4)
    check("a file with an error", status == 202 and runs[3]["failed"] and "inc.pdl" in v.ask("/api/3/boxes/0/50")[2], (status, told))
    code, told = v.end()
    check("changed files are told", "lib/mod.pdl (sha256 %.12s, changed in the page to " % hash_["lib/mod.pdl"] in told, told)
    check("the files are as before", "included" in (folder / "inc.pdl").read_text() and list((folder / "tmp").iterdir()) == [])


def test_recordings(folder):
    """A recording of --record can be run again like a durable run; one that ends early goes on where it ends."""
    model = Model()
    env = environment(folder, model)
    program = "text:\n- ${ name }\n- model: openai/a\n  input: first\n  def: one\n- model: openai/b\n  input: second ${ one }\n- lang: command\n  code: touch made\n"
    (folder / "r.pdl").write_text(program)
    r = subprocess.run([PDL, "--record", "rec", "-d", "name=Ada", "r.pdl"], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    check("recorded", r.returncode == 0 and len(model.take()) == 2, r)
    (folder / "made").unlink()
    before = (folder / "rec").read_bytes()
    v = View(env, folder, "rec", "--source", "r.pdl", "-d", "name=Ada")
    check("a recording with data is shown", v.text(0).startswith("Ada"), v.text(0))
    v.end()
    v = View(env, folder, "rec", "--run", "r.pdl", "-d", "name=Ada")
    check("shown, and nothing is asked", v.text(0).startswith("Ada") and "(first)" in v.text(0) and model.take() == [] and not (folder / "made").exists(), v.text(0))
    check("under its name", v.runs()[0]["name"] == "rec" and v.runs()[0]["failed"] == 0, v.runs())
    v.again(program, [[7, 7, "  input: other ${ one }"]], 0)
    v.wait(2)
    asked = model.take()
    check("the rest is asked", len(asked) == 1 and asked[0].startswith("other ") and not (folder / "made").exists(), asked)
    v.again(program, [], 0, answers=[[box_of(v, "model"), "typed"]])
    v.wait(3)
    asked = model.take()
    check("answers of a recording", asked == ["second typed"], asked)
    code, told = v.end()
    check("nothing is left of it", code == 0 and list((folder / "tmp").iterdir()) == [] and (folder / "rec").read_bytes() == before and not (folder / "runs").exists(), told)
    longer = program + "- model: openai/c\n  input: third\n"
    (folder / "longer.pdl").write_text(longer)
    v = View(env, folder, "rec", "--run", "longer.pdl", "-d", "name=Ada")
    shown = v.text(0)
    check("a recording that ends early is shown up to there", v.runs()[0]["failed"] or "(first)" in v.ask("/api/0/boxes/0/99")[2], (shown, v.runs()))
    check("what it lacks is not asked by showing it", model.take() == [])
    v.again(longer, [], 0)
    v.wait(2)
    check("but when it is run", model.take() == ["third"] and "(third)" in v.text(1), v.text(1))
    v.end()
    (folder / "cut").write_bytes(before[:len(before) // 2])
    for name, why in (("cut", "cut"), ("r.pdl", "durable")):
        p = subprocess.run([PDL, "view", name, "--run", "r.pdl"], cwd=folder, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
        check("refused: %s" % name, p.returncode in (1, 2) and why in p.stderr and len(p.stderr.splitlines()) <= 2, p)
    check("and nothing is left", list((folder / "tmp").iterdir()) == [], list((folder / "tmp").iterdir()))


def test_questions(folder):
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
