# SPDX-License-Identifier: Apache-2.0
"""The debugger: breakpoints, steps, variables, expressions, requests to models."""
import json
import pathlib
import time

import pytest

from .client import Dap
from .. import http_of

PROGRAM = """\
defs:
  twice:
    function:
      x: integer
    return:
      lastOf:
      - data: ${ x * 2 }
        def: y
      - ${ y }
text:
- data: 20
  def: n
  contribute: []
- "first "
- call: ${ twice }
  args:
    x: ${ n }
- text: " ${ n } last"
"""
FAILS = """\
text:
- before
- data: ${ nothing.at.all }
  fallback: caught
- data: ${ 1 / 0 }
"""
LOOP = """\
for:
  i: [1, 2, 3, 4]
repeat:
  text: "${ i },"
"""
MODEL = """\
text:
- "Say hello\\n"
- model: openai/m
  def: answer
- " -- ${ answer | upper }"
"""


class Reply(http_of.Quiet):
    asked = []

    def do_POST(self):
        self.asked.append(json.loads(self.body()))
        body = json.dumps({"id": "1", "object": "chat.completion", "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}).encode()
        if self.asked[-1].get("stream"):
            piece = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}
            body = ("data: %s\n\ndata: [DONE]\n\n" % json.dumps(piece)).encode()
        self.reply(body, "text/event-stream" if self.asked[-1].get("stream") else "application/json")


@pytest.fixture
def root(folder):
    return str(folder.resolve())


@pytest.fixture
def new(root, pdl):
    """A function: a program -> a debugger that waits for its first request, and the path of the program."""
    started = []

    def start(text, env=None):
        path = pathlib.Path(root) / ("p%d.pdl" % len(started))
        path.write_text(text)
        started.append(Dap(pdl, cwd=root, env={"HOME": root, **(env or {})}))
        return started[-1], path
    yield start
    print("".join(x for s in started for x in s.errors)[-3000:])


def finish(d):
    code = d.event("exited")["exitCode"]
    d.event("terminated")
    d.request("disconnect")
    return code, d.output(), d.end()


def eq(a, b):
    if a != b:
        raise AssertionError("%r is not %r" % (a, b))


def test_notes_on_dotenv(new, root):
    """What of .env sets nothing is told in the console of the debugger."""
    (pathlib.Path(root) / ".env").write_text("A=1\nno line of this kind\n")
    d, p = new(PROGRAM)
    d.launch(p)
    said = d.event("output")
    eq((said["category"], ".env:2: " in said["output"] and said["output"].endswith("the line sets nothing\n")), ("console", True))
    eq(finish(d)[0], 0)


def test_breakpoints_and_steps(new, root):
    d, p = new(PROGRAM)
    marks = d.launch(p, [7, 11, 16, 99])
    eq([(m["verified"], m.get("line")) for m in marks], [(True, 7), (True, 11), (True, 18), (False, None)])
    reason, line, frames = d.stopped()
    eq((reason, line, [f["name"] for f in frames]), ("breakpoint", 11, ["data n", "text"]))
    d.request("continue", threadId=1)
    reason, line, frames = d.stopped()
    eq((reason, line), ("breakpoint", 7))
    eq(d.scope(frames[0]["id"], "Variables")["x"], "20")
    eq(d.request("evaluate", expression="x + 1", frameId=frames[0]["id"])["result"], "21")
    d.request("stepOut", threadId=1)
    reason, line, frames = d.stopped()
    eq((reason, line), ("breakpoint", 18))
    eq(d.scope(frames[0]["id"], "Block before"), {"result": "40"})
    d.request("continue", threadId=1)
    code, out, end = finish(d)
    eq((code, out, end), (0, "first 40 20 last", (0, "")))


def test_plain_values(new, root):
    d, p = new(PROGRAM)
    marks = d.launch(p, [{"line": 9, "condition": "x == 20"}, 14, {"line": 18, "logMessage": "n is {n}"}])
    eq([m["line"] for m in marks], [9, 14, 18])
    reason, line, frames = d.stopped()
    eq((reason, line, frames[0]["name"]), ("breakpoint", 14, "data"))
    d.request("continue", threadId=1)
    reason, line, frames = d.stopped()
    eq((line, d.scope(frames[0]["id"], "Variables")["y"], [f["name"] for f in frames][1:]), (9, "40", ["lastOf", "call", "text"]))
    d.request("continue", threadId=1)
    eq(finish(d)[0], 0)
    console = [m["body"]["output"] for m in d.events if m.get("event") == "output" and m["body"]["category"] == "console"]
    eq(console, ["n is 20\n"])



def test_entry_step_in_and_over(new, root):
    d, p = new(PROGRAM)
    d.launch(p, stopOnEntry=True)
    eq(d.stopped()[:2], ("entry", 1))
    seen = []
    for command in ("stepIn", "next", "next", "next", "stepIn", "stepIn", "stepOut"):
        d.request(command, threadId=1)
        seen.append(d.stopped()[1])
    eq(seen, [3, 11, 14, 15, 6, 7, 18])
    d.request("stepIn", threadId=1)
    eq(finish(d)[0], 0)


def test_conditions_hits_and_logs(new, root):
    d, p = new(LOOP)
    d.launch(p, [{"line": 4, "condition": "i == 3"}, {"line": 4, "logMessage": "i is {i}"}])
    reason, line, frames = d.stopped()
    eq((reason, d.scope(frames[0]["id"], "Variables")["i"]), ("breakpoint", "3"))
    d.request("continue", threadId=1)
    code, out, _ = finish(d)
    eq(code, 0)
    for i in (1, 2, 3, 4):
        if "i is %d\n" % i not in out:
            raise AssertionError(out)
    d, p = new(LOOP)
    d.launch(p, [{"line": 4, "hitCondition": "4"}])
    eq(d.scope(d.stopped()[2][0]["id"], "Variables")["i"], "4")
    d.request("terminate")
    eq(finish(d)[0], 130)


def hits_of(new, condition):
    """The iterations of a loop through 1 to 4 in which a breakpoint with that count of hits stops, or why it is refused."""
    d, p = new(LOOP)
    mark = d.launch(p, [{"line": 4, "hitCondition": condition}])[0]
    if not mark["verified"]:
        d.request("disconnect")
        d.end()
        return mark["message"]
    seen = []
    while True:
        d.response(d.send_request("threads"))
        m = next((e for e in d.events if e.get("event") in ("stopped", "terminated")), None)
        if m is None:
            d.events.append(d.next())
            continue
        d.events.remove(m)
        if m["event"] == "terminated":
            d.request("disconnect")
            d.end()
            return seen
        frame = d.request("stackTrace", threadId=1)["stackFrames"][0]["id"]
        seen.append(int(d.scope(frame, "Variables")["i"]))
        d.request("continue", threadId=1)


def test_counts_of_hits(new, root):
    rows = {"": [1, 2, 3, 4], "3": [3, 4], ">= 3": [3, 4], ">3": [4], "==2": [2], "= 2": [2], "<3": [1, 2], "<= 3": [1, 2, 3], " % 2 ": [2, 4], "0": [1, 2, 3, 4]}
    for condition, wanted in rows.items():
        eq((condition, hits_of(new, condition)), (condition, wanted))
    for condition in ("often", ">= x", "% 0", "-1", "3 times", "99999999999999999999"):
        eq((condition, hits_of(new, condition)), (condition, "the count of hits is a number, or one after ==, >, >=, <, <= or %"))


def test_files_have_the_names_of_the_editor(new, root):
    """An import of ../common/util is the file that the editor calls /.../common/util.pdl, also by way of a link."""
    base = pathlib.Path(root).resolve()
    for folder in ("main", "common"):
        (base / folder).mkdir()
    util, program = base / "common" / "util.pdl", base / "main" / "p.pdl"
    util.write_text("defs:\n  twice:\n    function: {n: integer}\n    return:\n      text:\n      - ${ n * 2 }\n")
    program.write_text("defs:\n  u: {import: ../common/util}\ntext:\n- ${ u.twice(n=4) }\n")
    (base / "linked").symlink_to(base / "common")
    for name in (util, base / "linked" / "util.pdl"):
        d, _ = new("")
        d.request("initialize", adapterID="pdl")
        launched = d.send_request("launch", program=str(program))
        d.request("setBreakpoints", source={"path": str(name)}, breakpoints=[{"line": 5}])
        d.request("configurationDone")
        d.response(launched)
        reason, line, frames = d.stopped()
        eq((reason, line, frames[0]["source"]["path"]), ("breakpoint", 5, str(util)))
        d.request("continue", threadId=1)
        eq(finish(d)[:2], (0, "8"))
    d, _ = new("")
    d.launch(program, stopOnEntry=True)
    seen = []
    for _ in range(6):
        frame = d.stopped()[2][0]
        seen.append((frame["source"]["name"], frame["line"]))
        d.request("stepIn", threadId=1)
    eq(seen, [("p.pdl", 1), ("p.pdl", 2), ("util.pdl", 1), ("util.pdl", 3), ("p.pdl", 4), ("util.pdl", 5)])
    d.request("terminate")
    eq(finish(d)[0], 130)


def test_each_frame_has_its_variables(new, root):
    """A caller's frame shows the caller's variables: not the parameters of what it called, but what its own earlier parts defined."""
    d, p = new("defs:\n  outer: 7\n  f:\n    function: {n: integer}\n    return:\n      text:\n      - data: ${ n + 1 }\n"
               "text:\n- data: 3\n  def: three\n- call: ${ f }\n  args: {n: 4}\n- ${ f(n=5) }\n")
    d.launch(p, [7])
    for n in ("4", "5"):
        frames = d.stopped()[2]
        eq(d.scope(frames[0]["id"], "Variables").get("n"), n)
        around = [f for f in frames if f["line"] in (1, 11, 13)]
        eq(len(around) >= 2, True)
        for f in around:
            shown = d.scope(f["id"], "Variables")
            eq((shown.get("n"), shown.get("outer"), shown.get("three")), (None, "7", "3"))
            eq(d.request("evaluate", expression="three + outer", frameId=f["id"]).get("result"), "10")
            eq("'n' is undefined" in d.request("evaluate", expression="n", frameId=f["id"]).get("error", ""), True)
        eq(d.request("evaluate", expression="n", frameId=frames[0]["id"])["result"], n)
        d.request("continue", threadId=1)
    eq(finish(d)[0], 0)


def test_attach_says_what_is_possible(new, root):
    d, _ = new("")
    d.request("initialize", adapterID="pdl")
    eq(d.request("attach", processId=1)["error"].startswith("attach is not possible: a program is debugged from its start"), True)
    d.request("disconnect")
    eq(d.end()[0], 0)


def test_failures(new, root):
    d, p = new(FAILS)
    d.launch(p, filters=["fail"])
    reason, line, _ = d.stopped()
    eq((reason, line), ("exception", 3))
    d.request("continue", threadId=1)
    eq(d.stopped()[:2], ("exception", 5))
    info = d.request("exceptionInfo", threadId=1)
    eq(("division by zero" in info["description"], info["breakMode"], info["exceptionId"], info["details"]["typeName"]), (True, "always", "expression", "expression"))
    d.request("continue", threadId=1)
    eq(d.event("exited")["exitCode"], 1)
    eq(d.request("exceptionInfo", threadId=1), {"error": "the program is not stopped at a failure"})
    if "division by zero" not in d.output():
        raise AssertionError(d.output())
    d.request("disconnect")
    eq(d.end()[0], 0)


def test_a_failed_call_of_a_model_stops_once(new, root):
    class Refuses(Reply):
        def do_POST(self):
            self.body()
            self.send_response(400)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")
    server = http_of.serve(Refuses)
    env = {"OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % server.server_port}
    for text, line in (("text:\n- a\n- model: openai/m\n  input: hi\n- b\n", 3), ("text:\n- model: openai/m\n  input: hi\n  def: x\n- ${ x | upper }\n", 2),
                       ("text:\n- a\n- model: openai/m\n  input: hi\n  fallback: no\n", 3)):
        d, p = new(text, env)
        d.launch(p, filters=["fail"])
        eq(d.stopped()[:2], ("exception", line))
        eq(d.request("exceptionInfo", threadId=1)["breakMode"], "always")
        d.request("continue", threadId=1)
        d.event("terminated")
        eq([m for m in d.events if m.get("event") == "stopped"], [])
        d.request("disconnect")
        d.end()
    server.shutdown()


def test_lines_and_columns_are_counted_as_the_client_does(new, root):
    d, p = new("text:\n- a\n- b\n")
    d.request("initialize", adapterID="pdl", linesStartAt1=False, columnsStartAt1=False)
    launched = d.send_request("launch", program=str(p))
    eq([(b["verified"], b.get("line")) for b in d.request("setBreakpoints", source={"path": str(p)}, breakpoints=[{"line": 1}, {"line": 3}])["breakpoints"]],
       [(True, 1), (False, None)])
    d.request("configurationDone")
    d.response(launched)
    _, line, frames = d.stopped()
    eq((line, frames[0]["column"], frames[-1]["line"]), (1, 2, 0))
    d.request("continue", threadId=1)
    eq(finish(d)[0], 0)


HIDDEN = """\
text:
- {def: note, contribute: [], read: note.txt}
- {def: many, contribute: [], data: {all: ["${ note }", 7], other: 8}}
- {def: made, contribute: [], data: "${ {note: 1} }"}
- "${ note } is shown"
- ${ note.nothing_of_this_kind.at_all }
"""


@pytest.mark.parametrize("sink, hides", [("output", True), ("model", False)])
def test_what_a_policy_redacts_in_the_output_is_not_shown(new, root, sink, hides):
    """Variables, their parts and names, answers, logs and errors, all as the policies redact the output."""
    (pathlib.Path(root) / "note.txt").write_text("hid7canary")
    (pathlib.Path(root) / "p.yaml").write_text("policy: 1\nlabels: {secret: [{read: note.txt}]}\nrules: [{sink: %s, deny: [secret]}]\notherwise: allow\n" % sink)
    d, p = new("policy: p.yaml\n" + HIDDEN)
    d.launch(p, [{"line": 6, "condition": "true"}, {"line": 6, "logMessage": "a log of {note} and { note.no.part }"}], filters=["fail"])
    frame = d.stopped()[2][0]["id"]
    seen = [d.scope(frame, name) for name in ("Variables", "Block before", "Context")]
    answers = [d.request("evaluate", expression=e, frameId=frame) for e in ("note", "many", "many.all", "made", "note ~ 'x'", "note.no.part", "{}[note]", "note | int")]
    parts = [d.request("variables", variablesReference=x["variablesReference"]) for x in answers if x.get("variablesReference")]
    variables = [s for s in d.request("scopes", frameId=frame)["scopes"] if s["name"] == "Variables"][0]["variablesReference"]
    answers += [d.request("setVariable", variablesReference=variables, name="made", value=e) for e in ("note", "{}[note]", "{'a': note}")]
    d.request("continue", threadId=1)
    info, stop = None, d.event("stopped")
    info = d.request("exceptionInfo", threadId=1)
    d.request("continue", threadId=1)
    code, out, _ = finish(d)
    eq((code, stop["reason"], info["exceptionId"]), (1, "exception", "expression"))
    eq((seen[0]["note"], answers[0]["result"], "'other': 8" in seen[0]["many"]), (("'[secret]'" if hides else "'hid7canary'"),) * 2 + (True,))
    for where in (seen, answers, parts, info, stop, out):
        eq(("hid7canary" in str(where), where), (not hides and where not in (info, stop), where))


def test_a_key_is_not_shown(new, root):
    """A registered secret is redacted in names, in answers that are errors, and in the error at which the program stops."""
    d, p = new("text:\n- {def: k, contribute: [], lang: command, args: [printenv, OPENAI_API_KEY]}\n- {def: d, contribute: [], data: \"${ {k: 1} }\"}\n- ${ {}[k] }\n",
               {"OPENAI_API_KEY": "canary-key-0123456789"})
    d.launch(p, [4], filters=["fail"])
    frame = d.stopped()[2][0]["id"]
    seen = [d.scope(frame, "Variables"), *(d.request("evaluate", expression=e, frameId=frame) for e in ("k", "d", "{}[k]", "k.x", "d.nothing"))]
    seen.append(d.request("variables", variablesReference=seen[2]["variablesReference"]))
    d.request("continue", threadId=1)
    seen += [d.event("stopped"), d.request("exceptionInfo", threadId=1)]
    d.request("continue", threadId=1)
    seen += finish(d)
    eq(("canary-key" in str(seen), "[REDACTED]" in str(seen), seen), (False, True, seen))


def test_parts_of_one_kind_are_asked_for(new, root):
    d, p = new("defs:\n  l: {data: [1, 2]}\n  m: {data: {a: 1}}\ntext:\n- x\n")
    d.launch(p, [5])
    frame = d.stopped()[2][0]["id"]
    scope = next(s for s in d.request("scopes", frameId=frame)["scopes"] if s["name"] == "Variables")
    parts = {v["name"]: v["variablesReference"] for v in d.request("variables", variablesReference=scope["variablesReference"])["variables"]}
    found = {n + k: [v["name"] for v in d.request("variables", variablesReference=parts[n], filter=k)["variables"]] for n in "lm" for k in ("named", "indexed")}
    eq(found, {"lnamed": [], "lindexed": ["0", "1"], "mnamed": ["a"], "mindexed": []})
    d.request("continue", threadId=1)
    finish(d)


def test_typed_lines_do_not_fill_the_pipe(new, root):
    """Lines that the program does not read yet: the adapter waited for room in the pipe, and answered nothing more."""
    d, p = new("text:\n- args: [sh, -c, 'until [ -e go ]; do sleep 0.02; done']\n- read:\n  def: line\n  contribute: [context]\n- ${ line | length }\n")
    d.launch(p)
    line = "x" * 15000
    typed = [d.request("evaluate", expression=line, context="repl") for _ in range(6)]
    full = {"error": "the program has not read what was typed before"}
    eq([t.get("result", t) for t in typed], ["", ""] + [full] * 4)
    eq(len(d.request("threads")["threads"]), 1)
    (pathlib.Path(root) / "go").touch()
    eq(finish(d)[1].endswith("15000"), True)


def test_a_request_is_seen_before_it_is_sent(new, root):
    server = http_of.serve(Reply)
    d, p = new(MODEL, {"OPENAI_BASE_URL": "http://127.0.0.1:%d/v1" % server.server_port, "OPENAI_API_KEY": "secret-key-0123456789"})
    d.launch(p, filters=["request"])
    reason, line, frames = d.stopped()
    eq((reason, line, Reply.asked), ("exception", 3, []))
    request = d.scope(frames[0]["id"], "Request")
    eq(request["model"], "'openai/m'")
    if "Say hello" not in request["messages"]:
        raise AssertionError(request)
    if "Say hello" not in "".join(d.scope(frames[0]["id"], "Context").values()):
        raise AssertionError("no context")
    d.request("continue", threadId=1)
    code, out, _ = finish(d)
    server.shutdown()
    eq((code, out, len(Reply.asked)), (0, "Say hello\nhi -- HI", 1))


def test_expressions_ask_nobody(new, root):
    d, p = new("defs:\n  f:\n    function: {x: integer}\n    return:\n      model: openai/m\ntext:\n- text: a\n")
    d.launch(p, [7])
    frame = d.stopped()[2][0]["id"]
    got = d.request("evaluate", expression="nothing", frameId=frame)
    if "undefined" not in got.get("error", ""):
        raise AssertionError(got)
    eq(d.request("evaluate", expression="[1, 2] | length", frameId=frame)["result"], "2")
    value = d.request("evaluate", expression="{'a': [1, {'b': 2}]}", frameId=frame)
    part = d.request("variables", variablesReference=value["variablesReference"])["variables"]
    eq([(v["name"], v["value"]) for v in part], [("a", "[1, {'b': 2}]")])
    d.request("continue", threadId=1)
    eq(finish(d)[0], 0)


def test_maps_have_strands(new, root):
    d, p = new("for:\n  i: [1, 2]\nmap:\n  lastOf:\n  - data: ${ i }\n  - ${ i + 1 }\njoin:\n  as: array\n")
    d.launch(p, [5])
    seen = []
    for _ in range(2):
        frames = d.stopped()[2]
        seen.append(d.scope(frames[0]["id"], "Variables")["i"])
        if len(d.request("threads")["threads"]) < 2:
            raise AssertionError("no strand")
        d.request("continue", threadId=1)
    eq(sorted(seen), ["1", "2"])
    eq(finish(d)[0], 0)


def test_input_and_output_are_not_the_protocol(new, root):
    d, p = new("text:\n- read:\n  def: line\n- args: [sh, -c, 'echo from a child']\n- lang: python\n  code: |\n    print('printed')\n    result = line\n")
    d.launch(p, input=["typed"])
    code, out, _ = finish(d)
    eq(code, 0)
    if "typed" not in out or "from a child" not in out:
        raise AssertionError(out)


def test_wrong_programs_and_requests(new, root):
    d, p = new("text: [\n")
    d.launch(p, [1])
    eq(finish(d)[0], 1)
    d, p = new("text: a\n")
    d.request("initialize", adapterID="pdl")
    eq(d.request("launch"), {"error": "launch needs `program`: the path of a .pdl file"})
    eq(d.request("nonsense"), {"error": "no request nonsense"})
    eq(d.request("stackTrace", threadId=77)["stackFrames"], [])
    eq(d.request("variables", variablesReference=-5)["variables"], [])
    d.request("disconnect")
    eq(d.end()[0], 0)


WRITES = """text:
- one
- lang: python
  code: |
    open("DONE", "w").write("x")
    result = "two"
- text: ${ "three" }
- {read: null, fallback: nothing}
- args: [touch, READ]
"""


def test_disconnect_leaves_the_run_to_itself_when_asked(new, root):
    """The run goes on behind the client: later breakpoints do not stop it, what it reads is at its end, and nothing is sent."""
    for terminate in (None, True, False):
        d, p = new("")
        done, read = p.parent / "done", p.parent / "read"
        done.unlink(missing_ok=True)
        p.write_text(WRITES.replace("DONE", str(done)).replace("READ", str(read)))
        eq(d.request("initialize", adapterID="pdl")["supportTerminateDebuggee"], True)
        d.event("initialized")
        d.send_request("launch", program=str(p))
        d.request("setBreakpoints", source={"path": str(p)}, breakpoints=[{"line": 2}, {"line": 7}])
        d.request("configurationDone")
        eq(d.stopped()[1], 2)
        d.request("disconnect", **({} if terminate is None else {"terminateDebuggee": terminate}))
        eq(d.end()[0], 0)
        eq(done.exists(), terminate is False)
        eq(read.exists(), terminate is False)
        while (m := d.next()) is not None:
            if terminate is False:
                raise AssertionError(m)
        done.unlink(missing_ok=True)
        read.unlink(missing_ok=True)


def test_terminate_ends_a_loop_that_would_stop_again(new, root):
    d, p = new(LOOP)
    d.launch(p, [4])
    d.stopped()
    d.request("terminate")
    eq(finish(d)[0], 130)


def test_the_end_of_input_ends_a_stopped_program(new, root):
    d, p = new(PROGRAM)
    d.launch(p, [11])
    d.stopped()
    eq(d.end()[0], 0)


def ended(d, data):
    """Writes bytes, closes -> exit status, error output"""
    d.write(data)
    return d.end()


def test_the_end_of_input_after_breakpoints_hit_is_no_leak(new, root):
    d, p = new(PROGRAM)
    d.send_request("initialize")
    d.send_request("launch", program=str(p), stopOnEntry=True)
    d.send_request("configurationDone")
    eq(d.end()[0], 0)


def test_bytes_that_are_no_protocol_are_told_and_end_it(new, root):
    for data, text in ((b"hello\r\n\r\n", "without the line Content-Length: NUMBER"), (b"Content-Length: -1\r\n\r\n{}", "Content-Length"),
                       (b"Content-Length: 99999999999\r\n\r\n{}", "99999999999 bytes is longer than"),
                       (b"X: " + b"y" * 20000, "header of a message is longer than 8192"),
                       (b'Content-Length: 50\r\n\r\n{"seq', "ends in the middle of a message"), (b"Content-Len", "ends in the middle of a message")):
        code, err = ended(new("a")[0], data)
        eq((code, err.count("pdl dap: "), err.count("\n"), text in err), (1, 1, 1, True))


def test_a_message_that_is_no_object_is_told_and_left_out(new, root):
    for data, text in ((b"{", "not JSON"), (b'{"command": "\xff"}', "not UTF-8"), (b"[1]", "no JSON object"), (b"[" * 100000, "deeper than"),
                       (b'{"seq":1,"type":"request","command":"threads","arguments":%s}' % (b"[" * 3000 + b"]" * 3000), "deeper than")):
        d, _ = new("a")
        d.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        eq(d.request("threads")["threads"][0]["id"], 1)
        code, err = d.end()
        eq((code, err.count("\n"), text in err), (0, 1, True))


def test_wrong_arguments_of_launch_are_told(new, root):
    d, p = new("one")
    for wrong, text in (({"program": 5}, "needs `program`"), ({"program": "a\0b"}, "`program` is the path"), ({"cwd": 7}, "`cwd` is the path of a folder"),
                        ({"data": [1]}, "`data` is an object"), ({"stopOnEntry": "yes"}, "`stopOnEntry` is true or false"),
                        ({"noDebug": 1}, "`noDebug`"), ({"input": "line"}, "`input` is a list"), ({"input": [5]}, "`input` is a list"),
                        ({"input": ["x" * 40000]}, "at most 32 KB"),
                        ({"args": "a"}, "`args` is a list of texts"), ({"args": [1]}, "`args` is a list of texts"), ({"env": ["A=1"]}, "`env` is an object"),
                        ({"env": {"A=B": "1"}}, "`env` is an object"), ({"env": {"A": 1}}, "`env` is an object"), ({"cwd": root + "/none"}, "no folder that exists")):
        error = d.request("launch", **{"program": str(p), **wrong})["error"]
        eq((text in error, error), (True, error))
    d.launch(p, data=None, input=["a"])
    d.event("terminated")
    eq(d.output(), "one")
    d.send({"seq": 99, "type": "request"})
    eq("`command`" in d.response(99)["message"], True)
    eq(d.end()[0], 0)


def test_arguments_environment_and_folder(new, root):
    """A debugged program has what a program on the command line has: pdl_args, the environment, a folder in which it runs."""
    text = """text:
- ${ pdl_args }
- lang: python
  code: |
    import os
    result = " %s %s %s" % (os.getcwd(), os.environ.get("FROM_LAUNCH"), os.environ.get("TAKEN"))
"""
    folder = pathlib.Path(root).resolve() / "sub"
    folder.mkdir()
    (folder / "b.pdl").write_text("text: here")
    for more, want in (({}, "[] %s None 1" % pathlib.Path(root).resolve()),
                       ({"args": ["a", "b c"], "env": {"FROM_LAUNCH": "x", "TAKEN": None}, "cwd": str(folder)}, '["a", "b c"] %s x None' % folder),
                       ({"cwd": "sub", "data": {"pdl_args": "mine"}}, "mine %s None 1" % folder)):
        d, p = new(text, {"TAKEN": "1"})
        d.launch(p, **more)
        eq(finish(d)[:2], (0, want))
    d, _ = new(text)
    d.launch("b.pdl", cwd=str(folder))
    eq(finish(d)[:2], (0, "here"))


def test_variables_are_set(new, root):
    """A variable, or a part of one, gets the value of an expression; what the program does next sees it, also after the block that was stopped."""
    d, p = new("defs:\n  n: 1\n  deep: {data: {list: [1, {a: x}], other: 5}}\n  f:\n    function: {k: integer}\n    return: ${ k + n }\n"
               "text:\n- defs:\n    inner:\n      text:\n      - data: ${ n }\n      - now\n  text: ''\n- ' n=${ n }'\n- ' ${ deep }'\n- ' ${ f(k=1) }'\n")
    d.launch(p, [11, 6])
    frames = d.stopped()[2]

    def find(scope, name):
        ref = next(s["variablesReference"] for s in d.request("scopes", frameId=frames[0]["id"])["scopes"] if s["name"] == scope)
        return ref, {v["name"]: v for v in d.request("variables", variablesReference=ref)["variables"]}.get(name)

    def put(ref, name, value):
        return d.request("setVariable", variablesReference=ref, name=name, value=value)

    variables, n = find("Variables", "n")
    answer = put(variables, "n", "n + 40")
    eq((answer["value"], answer["type"], answer["variablesReference"]), ("41", "int", 0))
    eq(find("Variables", "n")[1]["value"], "41")
    eq(d.request("evaluate", expression="n", frameId=frames[0]["id"])["result"], "41")
    deep = find("Variables", "deep")[1]["variablesReference"]
    parts = {v["name"]: v["variablesReference"] for v in d.request("variables", variablesReference=deep)["variables"]}
    eq(put(parts["list"], "0", "'first'")["value"], "'first'")
    inside = {v["name"]: v["variablesReference"] for v in d.request("variables", variablesReference=parts["list"])["variables"]}
    eq(put(inside["1"], "a", "${ {'b': [n]} }")["value"], "{'b': [41]}")
    eq([v["value"] for v in d.request("variables", variablesReference=deep)["variables"]], ["['first', {'a': {'b': [41]}}]", "5"])
    put(deep, "list", "[7]")
    for ref, name, value, error in ((parts["list"], "0", "1", "no variable 0"), (variables, "absent", "1", "no variable absent"),
                                    (variables, "n", "1 +", ""), (variables, "n", "nothing", "'nothing' is undefined"), (variables, "n", " ", "is an expression"),
                                    (find("Predefined", "x")[0], "pdl_context", "1", "only variables of the program"), (99999, "n", "1", "no variable n")):
        answer = put(ref, name, value)
        eq((error in answer.get("error", "no error"), answer), (True, answer))
    eq(find("Variables", "n")[1]["value"], "41")
    d.request("continue", threadId=1)
    frames = d.stopped()[2]
    eq((frames[0]["line"], find("Variables", "k")[1]["value"]), (6, "1"))
    eq(put(find("Variables", "k")[0], "k", "100")["value"], "100")
    caller = next(s["variablesReference"] for s in d.request("scopes", frameId=frames[-1]["id"])["scopes"] if s["name"] == "Variables")
    eq("of a caller" in put(caller, "n", "0")["error"], True)
    d.request("continue", threadId=1)
    code, out, end = finish(d)
    eq((code, out.strip(), end), (0, "n=41 {'list': [7], 'other': 5} 101", (0, "")))


def test_what_bears_the_name_further_in_stays(new, root):
    d, p = new("defs: {n: 1}\ntext:\n- defs:\n    part:\n      defs: {n: 10}\n      text:\n      - data: ${ n }\n  text: ${ part }\n- ' ${ n }'\n")
    d.launch(p, [7])
    frames = d.stopped()[2]
    scopes = {f["id"]: next(s["variablesReference"] for s in d.request("scopes", frameId=f["id"])["scopes"] if s["name"] == "Variables") for f in frames}
    d.request("setVariable", variablesReference=scopes[frames[-1]["id"]], name="n", value="3")
    eq([d.scope(f["id"], "Variables")["n"] for f in (frames[0], frames[-1])], ["10", "3"])
    d.request("setBreakpoints", source={"path": str(p)}, breakpoints=[])
    d.request("continue", threadId=1)
    eq(finish(d)[:2], (0, "10 3"))


def test_a_restart_is_the_run_from_its_begin(new, root):
    d, p = new("text:\n- ''\n- read:\n  message: 'line? '\n  def: line\n- '${ line } ${ n }\n  '\n- data: last\n")
    eq({k: v for k, v in d.request("initialize", adapterID="pdl").items() if k in ("supportsRestartRequest", "supportsSetVariable")},
       {"supportsRestartRequest": True, "supportsSetVariable": True})
    d.launch(p, [{"line": 8, "hitCondition": "== 1"}], input=["one", "unread"], data={"n": 1})
    d.stopped()
    d.events.clear()
    eq(d.request("restart", arguments={"program": 5})["error"].startswith("launch needs `program`"), True)
    eq("error" in d.request("restart", arguments={"program": str(p), "data": {"n": 2}, "input": ["two"]}), False)
    eq(d.event("continued"), {"threadId": 1, "allThreadsContinued": True})
    reason, line, frames = d.stopped()
    eq((reason, line, d.scope(frames[0]["id"], "Variables")), ("breakpoint", 8, {"n": "2", "line": "'two'"}))
    d.events = [m for m in d.events if m.get("event") != "stopped"]
    eq("error" in d.request("restart"), False)
    eq(d.stopped()[:2], ("breakpoint", 8))
    eq([m.get("event") for m in d.events if m.get("event") in ("exited", "terminated")], [])
    d.request("continue", threadId=1)
    code, out, end = finish(d)
    eq((code, out, end), (0, "line? twotwo 2 line? twotwo 2 last", (0, "")))
    d, p = new("one")
    d.request("initialize", adapterID="pdl")
    eq("no program runs" in d.request("restart")["error"], True)
    d.end()


def test_terminate_takes_back_a_restart(new, root):
    begun = pathlib.Path(root).resolve() / "begun"
    d, p = new("lang: command\ncode: sh -c 'echo x >> %s; sleep 2'\n" % begun)
    d.launch(p)
    for _ in range(6000):
        if begun.exists() and begun.read_text():
            break
        time.sleep(0.01)
    both = [d.send_request("restart"), d.send_request("terminate")]
    for seq in both:
        assert d.response(seq)["success"]
    finish(d)
    eq(begun.read_text(), "x\n")
