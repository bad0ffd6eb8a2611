# SPDX-License-Identifier: Apache-2.0
"""--provider-batch against a server on loopback that speaks the batch interfaces of OpenAI and Anthropic."""
import collections
import json
import re
import time

import pytest

from .. import http_of
from .kit import jsonl, t, words

STAGES = """text:
- defs:
    a: {lastOf: ["First ${ word }", {model: MODEL}]}
    b: {lastOf: ["Second ${ a }", {model: MODEL}]}
  text: ${ b }
"""


class Provider:
    """Batches are worked off `polls` looks after they were made; `rule(prompt)` may refuse a request."""

    def __init__(self):
        self.server = http_of.serve(self.handler())
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        self.begin()

    def begin(self, polls=2, rule=None):
        self.files, self.batches, self.asked, self.direct = {}, {}, collections.Counter(), 0
        self.polls, self.rule, self.keys, self.stuck = polls, rule, set(), False
        self.down = 0
        self.slow = {}  # path -> seconds from the making of what is asked for to the answer
        self.refusals = {}  # beginning of the path -> statuses of the next answers

    def refusal(self, path):
        """A status other than 200 that comes in place of the next answer."""
        found = [k for k in sorted(self.refusals, key=len, reverse=True) if re.match(k, path) and self.refusals[k]]
        return self.refusals[found[0]].pop(0) if found else None

    def answer(self, body):
        prompt = body["messages"][-1]["content"]
        if isinstance(prompt, list):
            prompt = prompt[0]["text"]
        self.asked[prompt] += 1
        return self.rule and self.rule(prompt), prompt.upper()

    def openai_line(self, line):
        r = json.loads(line)
        status, said = self.answer(r["body"])
        body = {"error": {"message": "refused", "type": "invalid_request_error"}} if status else {
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}}
        return {"id": "x", "custom_id": r["custom_id"], "response": {"status_code": status or 200, "body": body}, "error": None}

    def anthropic_line(self, r):
        status, said = self.answer(r["params"])
        if status:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "refused"}}
            return {"custom_id": r["custom_id"], "result": {"type": "errored", "error": error}}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": said}],
                   "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}
        return {"custom_id": r["custom_id"], "result": {"type": "succeeded", "message": message}}

    def is_ready(self, b):
        b["looks"] += 1
        return b["looks"] > self.polls and not self.stuck

    def handler(outer):
        class Handler(http_of.Quiet):
            protocol_version = "HTTP/1.1"

            def say(self, data, status=200):
                self.reply(data if isinstance(data, bytes) else json.dumps(data).encode(), status=status)

            def do_POST(self):
                body = self.body()
                status = outer.refusal("POST " + self.path)
                if status:
                    return self.say({"error": {"message": "not now"}}, status)
                outer.keys.add(self.headers.get("Authorization") or self.headers.get("x-api-key"))
                n = len(outer.batches) + len(outer.files)
                said = self.make(n, body)
                time.sleep(outer.slow.get(self.path, 0))
                self.say(*said)

            def make(self, n, body):
                if self.path == "/v1/files":
                    assert b'name="purpose"\r\n\r\nbatch' in body and self.headers["Content-Type"].startswith("multipart/form-data")
                    name = "file-%d" % n
                    outer.files[name] = re.search(rb"application/jsonl\r\n\r\n(.*)\r\n--", body, re.S).group(1)
                    return {"id": name, "object": "file"},
                if self.path == "/v1/batches":
                    asked = json.loads(body)
                    assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
                    outer.batches["batch_%d" % n] = {"file": asked["input_file_id"], "looks": 0}
                    return {"id": "batch_%d" % n, "status": "validating"},
                if self.path == "/v1/messages/batches":
                    assert self.headers["anthropic-version"]
                    outer.batches["msgbatch_%d" % n] = {"requests": json.loads(body)["requests"], "looks": 0}
                    return {"id": "msgbatch_%d" % n, "processing_status": "in_progress"},
                outer.direct += 1
                return {"error": {"message": "not here"}}, 400

            def do_GET(self):
                parts = self.path.split("/")
                status = outer.refusal("GET " + self.path)
                if status:
                    return self.say({"error": {"message": "not now"}}, status)
                if self.path.startswith("/v1/batches/"):
                    if outer.down:
                        outer.down -= 1
                        return self.say({"error": {"message": "come back later"}}, 503)
                    b = outer.batches[parts[3]]
                    if not outer.is_ready(b):
                        return self.say({"id": parts[3], "status": "in_progress"})
                    if "out" not in b:
                        lines = [outer.openai_line(x) for x in outer.files[b["file"]].splitlines() if x.strip()]
                        lines.reverse()  # answers come in any order
                        b["out"] = "out-" + parts[3]
                        outer.files[b["out"]] = "".join(json.dumps(x) + "\n" for x in lines).encode()
                    return self.say({"id": parts[3], "status": "completed", "output_file_id": b["out"], "error_file_id": None})
                if self.path.startswith("/v1/files/"):
                    return self.say(outer.files[parts[3]])
                b = outer.batches[parts[4]]
                if self.path.endswith("/results"):
                    if "out" not in b:
                        made = [outer.anthropic_line(r) for r in b["requests"]]
                        b["out"] = "".join(json.dumps(y) + "\n" for x in made for y in (x if isinstance(x, list) else [x])).encode()
                    return self.say(b["out"])
                return self.say({"id": parts[4], "processing_status": "ended" if outer.is_ready(b) else "in_progress"})
        return Handler


p = None  # the provider of an item, which has a process of its own


@pytest.fixture(autouse=True)
def provider():
    global p
    p = Provider()


def env(**more):
    return {"OPENAI_BASE_URL": p.url + "/v1", "OPENAI_API_KEY": "sk-one", "ANTHROPIC_API_BASE": p.url, "ANTHROPIC_BASE_URL": p.url,
            "ANTHROPIC_API_KEY": "sk-two", "PDL_STRESS": "time:0.02", **more}


def run(*args, **more):
    return t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--provider-batch", *args, **env(**more))


def test_seconds():
    """A budget of seconds ends the waiting for an upload that is not ready; the same command continues."""
    t.begin({"in.jsonl": jsonl(words(3))})
    p.stuck = True
    code, _, err = run("--budget", "seconds=0.5")
    t.check("it waits no longer", code == 1 and "the budget of 0.5 seconds is spent" in err and "a larger --budget continues" in err, (code, err))
    t.check("the upload is kept", len(p.batches) == 1)
    p.stuck = False
    code, _, err = run("--budget", "seconds=60")
    t.check("it continues, and uploads nothing again", code == 0 and len(p.batches) == 1 and len(t.lines("out.jsonl")) == 3, (code, err))


@pytest.mark.parametrize("model, path", [("openai", "/v1/files"), ("openai", "/v1/batches"), ("anthropic", "/v1/messages/batches")])
def test_seconds_of_an_upload(model, path):
    """A provider that answers after the budget has made the batch, and it is paid once: the answer, which has its name, is waited for."""
    t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: %s/m\n" % model})
    p.slow = {path: 4}
    code, _, err = run("--budget", "seconds=2")
    t.check("the budget ends the waiting after the upload", code == 1 and "the budget of 2 seconds is spent" in err and len(p.batches) == 1, (code, err, p.batches))
    code, _, err = run("--budget", "seconds=2")
    t.check("one batch exists", code == 0 and len(p.batches) == 1 and len(p.files) <= 2 and set(p.asked.values()) == {1} and len(t.lines("out.jsonl")) == 3, (code, err, p.batches))


@pytest.mark.parametrize("model, title, key", [("openai/m", "openai", "Bearer sk-one"), ("anthropic/m", "anthropic", "sk-two")], ids=["openai", "anthropic"])
def test_dialect(model, title, key):
    program = "lastOf:\n- Say ${ word }\n- model: %s\n" % model
    p.begin()
    t.begin({"in.jsonl": jsonl(words(25)), "p.pdl": program})
    code, out, err = run()
    rows = t.lines("out.jsonl")
    t.check(title + ": mixed back in order", code == 0 and [r["result"] for r in rows] == ["SAY W%d" % i for i in range(1, 26)], "%s %s" % (rows[:2], err))
    t.check(title + ": one upload, no call", len(p.batches) == 1 and p.direct == 0 and "25 requests given to the provider" in err, err)
    t.check(title + ": the key of the calls", p.keys == {key}, p.keys)
    code, out, err = run("--report", "r.json")
    usage = json.loads((t.folder / "r.json").read_text())
    t.check(title + ": usage", code == 0 and (usage["prompt_tokens"], usage["completion_tokens"]) == (75, 50) and len(p.batches) == 1, usage)
    p.begin(rule=lambda prompt: 400 if prompt == "Say w3" else None)
    t.begin({"in.jsonl": jsonl(words(5)), "p.pdl": program})
    code, out, err = run()
    rows = t.lines("out.jsonl")
    t.check(title + ": a refused request is a failed row", code == 3 and [r["id"] for r in rows if r["error"]] == [3] and "refused" in rows[2]["error"],
            "%s %s" % (rows, err))
    p.begin(polls=1)
    t.begin({"in.jsonl": jsonl(words(10)), "p.pdl": STAGES.replace("MODEL", model)})
    code, out, err = run()
    t.check(title + ": in stages", code == 0 and len(p.batches) == 2
            and [r["result"] for r in t.lines("out.jsonl")] == ["SECOND FIRST W%d" % i for i in range(1, 11)], "%s %s" % (t.lines("out.jsonl")[:2], err))
    p.begin()
    t.begin({"in.jsonl": jsonl([{"word": "same"}] * 6), "p.pdl": program})
    code, out, err = run()
    t.check(title + ": equal rows", code == 0 and len(t.lines("out.jsonl")) == 6 and p.asked["Say same"] == 6, "%s %s" % (p.asked, err))


def test_prefix_first():
    """No call of an upload waits for the answer to another one, which may take a day."""
    p.begin()
    t.begin({"in.jsonl": jsonl(words(5)), "p.pdl": "lastOf:\n- %s ${ word }\n- model: openai/m\n" % ("Say it loud. " * 500)})
    code, out, err = run("--prefix-first")
    t.check("one upload", code == 0 and len(p.batches) == 1 and len(t.lines("out.jsonl")) == 5, len(p.batches), err)


def test_resume():
    program = "lastOf:\n- Say ${ word }\n- model: openai/m\n"
    for how in ("terminate", "kill"):
        p.begin(polls=0)
        p.stuck = True
        t.begin({"in.jsonl": jsonl(words(12)), "p.pdl": program})
        process = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--provider-batch", **env())
        deadline = time.monotonic() + 60
        while not any(b["looks"] for b in p.batches.values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        getattr(process, how)()
        _, err = process.communicate(timeout=60)
        t.check("resume: ended by " + how, process.returncode == (143 if how == "terminate" else -9), err)
        p.stuck = False
        code, out, err = run()
        t.check("resume: the same upload, later", code == 0 and len(p.batches) == 1 and set(p.asked.values()) == {1}
                and [r["result"] for r in t.lines("out.jsonl")] == ["SAY W%d" % i for i in range(1, 13)], "%s %s" % (len(p.batches), err))


def test_retry():
    program = "lastOf:\n- Say ${ word }\n- model: openai/m\n"
    for how in ("ended", "killed"):
        p.begin(polls=0, rule=lambda prompt: 400 if prompt in ("Say w2", "Say w5") else None)
        t.begin({"in.jsonl": jsonl(words(6)), "p.pdl": program})
        code, out, err = run()
        t.check("retry %s: failed" % how, code == 3 and len(p.batches) == 1, err)
        p.rule = None
        if how == "killed":
            p.stuck = True
            process = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--provider-batch", "--retry-errors", **env())
            deadline = time.monotonic() + 60
            while (len(p.batches) < 2 or not list(p.batches.values())[-1]["looks"]) and time.monotonic() < deadline:
                time.sleep(0.02)
            process.kill()
            process.communicate(timeout=60)
            p.stuck = False
        code, out, err = run("--retry-errors")
        t.check("retry %s: what failed is uploaded again, once" % how, code == 0 and len(p.batches) == 2 and p.asked["Say w2"] == 2 and p.asked["Say w1"] == 1
                and [r["result"] for r in t.lines("out.jsonl")] == ["SAY W%d" % i for i in range(1, 7)], "%s %s %s" % (len(p.batches), p.asked, err))


def test_hiccup():
    """The provider does not answer twice while it works."""
    p.begin(polls=3)
    p.down = 2
    t.begin({"in.jsonl": jsonl(words(2)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: openai/m\n"})
    code, out, err = run()
    t.check("a provider that does not answer for a while", code == 0 and p.down == 0 and len(p.batches) == 1 and err.count("asked again") == 1, "%s %s" % (p.down, err))


DOORS = [("openai", "POST /v1/files"), ("openai", "POST /v1/batches"), ("openai", "GET /v1/batches/"), ("openai", "GET /v1/files/"),
         ("anthropic", "POST /v1/messages/batches"), ("anthropic", "GET /v1/messages/batches/[^/]*$"), ("anthropic", "GET /v1/messages/batches/.*/results")]


@pytest.mark.parametrize("model, path", DOORS)
def test_busy(model, path):
    """The provider is busy for a while at each of its doors: nothing is lost, nothing is uploaded twice."""
    for status in (429, 503):
        p.begin(polls=1)
        p.refusals = {path: [status]}
        t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: %s/m\n" % model})
        code, out, err = run()
        t.check("busy: %d to %s" % (status, path), code == 0 and len(p.batches) == 1 and p.refusals == {path: []} and max(p.asked.values()) == 1
                and [r["result"] for r in t.lines("out.jsonl")] == ["SAY W1", "SAY W2", "SAY W3"], "%s %s %s" % (code, p.batches, err))


def test_no_interface():
    """A server that answers questions and has no batches."""
    p.begin()
    t.begin({"in.jsonl": jsonl(words(2)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: openai/m\n"})
    code, out, err = run(OPENAI_BASE_URL=p.url + "/other")
    t.check("a server without a batch interface", code == 1 and "/other/files: status 400" in err and "without --provider-batch" in err, "%s %s" % (code, err))


@pytest.mark.parametrize("model", ("openai/m", "anthropic/m"))
def test_stages_killed(model):
    """Ended while the second stage is worked on: the answers of the first one were in memory."""
    p.begin(polls=0)
    t.begin({"in.jsonl": jsonl(words(6)), "p.pdl": STAGES.replace("MODEL", model)})
    p.rule = lambda prompt: setattr(p, "stuck", True)  # from the first answer on
    process = t.start("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--provider-batch", **env())
    deadline = time.monotonic() + 60
    while (len(p.batches) < 2 or not list(p.batches.values())[-1]["looks"]) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    p.rule, p.stuck = None, False
    code, out, err = t.run("p.pdl", "-i", "in.jsonl", "-o", "out.jsonl", "--provider-batch", timeout=60, **env())
    t.check("%s: killed in the second stage" % model, code == 0 and len(p.batches) == 2 and set(p.asked.values()) == {1}
            and [r["result"] for r in t.lines("out.jsonl")] == ["SECOND FIRST W%d" % i for i in range(1, 7)], "%s %s %s" % (code, p.asked, err))


EXPIRED = {"code": "batch_expired", "message": "not executed in time"}
# dialect, what differs in each result, what that is, what the error of the row says
ODD = [
    ("openai", lambda r: r.update(response=None, error=EXPIRED), "expired", "not executed in time"),
    ("openai", lambda r: r.update(response=None), "neither response nor error", "the batch has no response for it"),
    ("openai", lambda r: r["response"].pop("status_code"), "no status", "the batch has no response for it"),
    ("openai", lambda r: r["response"].update(body=None), "no body", "no choices"),
    ("openai", lambda r: r.update(custom_id="other"), "the name of another", "ended without an answer"),
    ("openai", lambda r: r.update(custom_id=7), "a name that is no text", "ended without an answer"),
    ("anthropic", lambda r: r.update(result={"type": "expired"}), "expired", "(expired)"),
    ("anthropic", lambda r: r.update(result={"type": "canceled\"}"}), "quotes", '(canceled"})'),
    ("anthropic", lambda r: r.update(result={"type": "succeeded"}), "no message", "(succeeded)"),
    ("anthropic", lambda r: r.pop("result"), "no result", "(no result)"),
]


@pytest.mark.parametrize("model, change, title, said", ODD, ids=["%s, %s" % (x[0], x[2]) for x in ODD])
def test_odd_answers(model, change, title, said):
    """What the results of a batch hold that did not go well: an error of the row, which says why."""
    line = getattr(p, "%s_line" % model)

    def changed(request):
        made = line(request)
        change(made)
        return made
    p.begin(polls=0)
    setattr(p, "%s_line" % model, changed)
    t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: %s/m\n" % model})
    code, out, err = run()
    rows = t.lines("out.jsonl")
    t.check("%s: %s" % (model, title), code == 3 and len(rows) == 3 and len(p.batches) == 1 and all(said in str(r["error"]) for r in rows),
            "%s %s %s %s" % (code, len(p.batches), rows[:1], err))


def test_twice():
    """A request that is answered twice: what is good stays."""
    p.begin(polls=0)
    t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: anthropic/m\n"})
    line = p.anthropic_line

    def both(request):
        good = line(request)
        bad = {"custom_id": good["custom_id"], "result": {"type": "expired"}}
        return [good, bad]
    p.anthropic_line = both
    code, out, err = run()
    t.check("answered twice", code == 0 and [r["result"] for r in t.lines("out.jsonl")] == ["SAY W1", "SAY W2", "SAY W3"], "%s %s" % (code, err))


def batch(**facts):
    return lambda self: self.path.startswith("/v1/batches/") and (self.say({"id": self.path.split("/")[3], **facts}), True)[1]


def answer(path, what, status=200):
    return lambda self: self.path.startswith(path) and (self.say(what, status), True)[1]


def nameless(self):
    self.body()
    self.say({})
    return True


# what happens, what is said of it, exit status, the answer to a look, the answer to what is sent
STATES = [
    ("failed", "without an answer: line 3 is bad", 3, batch(status="failed", errors={"data": [{"message": "line 3 is bad"}]}), None),
    ("expired", "without an answer: expired", 3, batch(status="expired", output_file_id=None), None),
    ("cancelled", "without an answer: cancelled", 3, batch(status="cancelled"), None),
    ("complete without a file", "ended without an answer", 3, batch(status="completed", output_file_id=None, error_file_id=None), None),
    ("forgotten", "status 404", 3, answer("/v1/batches/", {"error": {"message": "No such batch"}}, 404), None),
    ("file is gone", "status 404", 3, answer("/v1/files/", {"error": {"message": "No such file"}}, 404), None),
    ("file is broken", "ended without an answer", 3, answer("/v1/files/", b'\xff\x00{"custom_id":\n[1]\n"x"\n{}\n{"custom_id":"x"}\n'), None),
    ("no JSON", "the answer is not JSON", 1, answer("/v1/batches/", b"<html>"), None),
    ("key refused", "status 401", 1, answer("/v1/batches/", {"error": {"message": "bad key"}}, 401), None),
    ("made without a name", "the answer has no id", 1, None, nameless),
]


@pytest.mark.parametrize("title, said, wanted, looked, made", STATES, ids=[x[0] for x in STATES])
def test_states(title, said, wanted, looked, made):
    """How a batch may end, and what a service may say in place of one."""
    handler = p.server.RequestHandlerClass
    get, post = handler.do_GET, handler.do_POST
    p.begin(polls=0)
    t.begin({"in.jsonl": jsonl(words(3)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: openai/m\n"})
    if looked:
        handler.do_GET = lambda self: looked(self) or get(self)
    if made:
        handler.do_POST = lambda self: made(self) or post(self)
    code, out, err = run()
    rows = t.lines("out.jsonl")
    texts = [str(r["error"]) for r in rows] if wanted == 3 else [err]
    t.check("batch: " + title, code == wanted and texts and all(said in x for x in texts) and (wanted == 1 or len(rows) == 3), "%s %s %s" % (code, rows[:1], err))


def test_refused():
    p.begin()
    t.begin({"in.jsonl": jsonl(words(2)), "p.pdl": "lastOf:\n- Say ${ word }\n- model: ollama/m\n"})
    code, out, err = run(OLLAMA_API_BASE=p.url)
    t.check("a service without batches", code in (1, 2) and "has no batches that are known" in err and not (t.lines("out.jsonl")), "%s %s" % (code, err))
