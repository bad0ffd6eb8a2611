# SPDX-License-Identifier: Apache-2.0
"""The Live Document in a real browser. Pictures are left in BUILD/pictures."""
import http.server
import json
import os
import re
import subprocess
import threading
import time

import pytest

from .. import reference_of
from .browse import PDL, ROOT, View, check, picture, trace_of

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = """defs:
  "x": {data: %s}
description: %s
text:
- %s
- data: {"%s": [%s]}
- def: y
  text: "![x](javascript:alert(3)) [a](javascript:alert(4)) <b onclick=alert(5)>"
"""

pytestmark = [pytest.mark.builds, pytest.mark.roomy]


def test_agent(b, folder):
    """An agent: boxes, details, code both ways, find, time, keys."""
    trace = folder / "react.json"
    subprocess.run([PDL, "--replay", str(ROOT / "examples/react.journal"), str(ROOT / "examples/react.pdl"), "--trace=" + str(trace)], stdin=subprocess.DEVNULL, capture_output=True)
    v = View(trace, "--source", ROOT / "examples/react.pdl")
    b.open(v.address)
    b.wait("#code li")
    beside = b.evaluate("!!document.querySelector('#code li').offsetParent")
    n = b.count("#tree [role=treeitem]")
    b.click("[data-kind=model] .title")
    label = b.attribute("[data-kind=model]", "aria-label")
    level = b.attribute("[data-kind=model]", "aria-level")
    b.wait("#details .chat .message")
    titles = b.texts("#details h3")
    b.wait(".lines .marked")
    marked = b.text(".lines .marked")
    b.shot(picture("agent"))
    line = b.evaluate("[...document.querySelectorAll('.lines li')].find((l) => l.textContent.includes('Thought: ')).click()")
    b.wait("[aria-selected=true][data-kind=data], [aria-selected=true][data-kind=text]")
    chosen = b.text("[aria-selected=true]")
    b.press("t")
    b.wait(".bar")
    bars = b.count(".bar[data-kind=model]")
    b.press("/")
    b.fill("#find [name=text]", "345 trees")
    b.press("Enter")
    b.wait("#find output:has-text('of')")
    found = b.text("[aria-selected=true]")
    b.press("Escape")
    b.evaluate("document.querySelector('#box-0').focus()")
    b.click("#box-0 > .title")
    b.press("ArrowDown")
    down = b.attribute("[aria-selected=true]", "id")
    b.press("ArrowLeft")
    b.press("ArrowUp")
    up = b.attribute("[aria-selected=true]", "id")
    focus = b.evaluate("document.activeElement.id")
    problems = b.problems()
    again = b.visit(v.address)
    refused = b.text("body")
    out = b.run()
    v.end()
    check("boxes are shown", out[n] > 20, out[n])
    check("the program is beside them", out[beside] is True)
    check("names begin with the kind", out[label].startswith("model, ") and out[level] == "4", (out[label], out[level]))
    check("details", out[titles][:2] == ["Result", "Usage"] and "Request" in out[titles], out[titles])
    check("a box marks its code", "model:" in out[marked] or "- " in out[marked], out[marked])
    check("a line chooses its box", "Thought: " in out[chosen], (out[line], out[chosen]))
    check("three calls in time", out[bars] == 3, out[bars])
    check("find", "345 trees" in out[found], out[found])
    check("keys walk", out[down] == "box-1" and out[up] == "box-0" and out[focus] == "box-0", (out[down], out[up], out[focus]))
    check("nothing is wrong", out[problems] == [], out[problems])
    check("the address works once", out[again] == 403 and "used already" in out[refused], out[refused])


def test_looks(b, folder):
    """Dark, phone, a failed run, one file, a comparison."""
    fail = trace_of(folder, "fail", "text:\n- before\n- for: {i: [1, 2, 3]}\n  repeat: {text: '${ 6 // (3 - i) }'}\n")
    other = [trace_of(folder, "run%d" % i, "text:\n- 'Question: what is %d?\n'\n- ${ %d + 1 }\n%s" % (i, i, "- more\n" if i else "")) for i in (0, 1)]
    html = folder / "fail.html"
    subprocess.run([PDL, "view", str(fail), "--html", str(html)], check=True)
    b.open("file://%s" % html, {"colorScheme": "dark"})
    shown = b.text("[data-kind=error]")
    b.wait("#details .caret")
    caret = b.text("#details .caret")
    b.shot(picture("failed-dark"))
    problems = b.problems()
    b.open("file://%s" % html, {"viewport": {"width": 390, "height": 800}})
    wide = b.evaluate("document.documentElement.scrollWidth <= 390")
    b.shot(picture("phone"))
    v = View(*other)
    b.open(v.address)
    deleted = b.texts("del")
    inserted = b.texts("ins")
    missing = b.attribute(".missing", "aria-label")
    b.shot(picture("comparison"))
    narrowest = b.evaluate("Math.min(...[...document.querySelectorAll('#tree .pair > .box')].map((e) => e.offsetWidth))")
    out = b.run()
    v.end()
    check("both sides have half of the width", out[narrowest] > 250, out[narrowest])
    check("the failing box is shown", "division" in out[shown] and out[problems] == [], (out[shown], out[problems]))
    check("the failing line with its caret", "${ 6 // (3 - i) }" in out[caret] and out[caret].endswith("^^^^^"), out[caret])
    check("a phone needs no scrolling to the side", out[wide])
    check("changed words", "0" in out[deleted] and "1" in out[inserted], (out[deleted], out[inserted]))
    check("a missing box says so", out[missing].startswith("missing: data"), out[missing])


def test_compared(b, folder):
    """Two runs: their programs as one, lanes, find, differences and errors in both."""
    programs = ["text:\n- include: part.pdl\n- 'The answer is %s.\n'\n- model: openai/m\n  input: hi\n  fallback: {text: 'no %s'}\n%s" % (w, w, more)
                for w, more in (("blue", "- only here\n"), ("red", ""))]
    (folder / "part.pdl").write_text("text: a part\n")
    runs = [trace_of(folder, "compare%d" % i, p) for i, p in enumerate(programs)]
    v = View(*runs)
    b.open(v.address)
    b.press("d")
    first = b.text("[aria-selected=true]")
    table = b.text("#details [data-member=other]")
    b.wait("#code .line-ins")
    lines = [b.texts("#code .line-del"), b.texts("#code .line-ins")]
    heads = b.texts("#code h2")
    b.evaluate("document.querySelector('#code .line-del').click()")
    b.pause(300)
    clicked = b.attribute("[aria-selected=true]", "data-side")
    marked = b.text("#code .marked")
    b.press("t")
    b.wait("#time .bar")
    lanes = b.texts("#time h3")
    bars = b.count("#time .bar")
    b.evaluate("(() => { const s = document.querySelector('#time input'); s.value = 0; s.dispatchEvent(new Event('input')); })()")
    later = b.count(".compared .later")
    b.evaluate("(() => { const s = document.querySelector('#time input'); s.value = 1000; s.dispatchEvent(new Event('input')); })()")
    b.shot(picture("comparison-code"))
    b.press("/")
    b.fill("#find [name=text]", "only here")
    b.press("Enter")
    b.wait("#find output:has-text('of')")
    said = b.text("#find output")
    found = b.text("[aria-selected=true]")
    b.press("Escape")
    b.evaluate("document.querySelector('[aria-selected=true]').focus()")
    b.press("Home")
    b.press("ArrowRight")
    side = b.attribute("[aria-selected=true]", "data-side")
    b.press("Enter")
    b.wait("#details h2")
    opened = "[document.querySelectorAll('#tree [role=treeitem]').length, [...document.querySelectorAll('#tree [role=treeitem]')].filter((i) => !i.closest('[hidden]')).length]"
    b.press("Home")
    b.press(" ")
    closed = b.evaluate(opened), b.attribute("#tree [role=treeitem]", "aria-expanded")
    b.press(" ")
    open_ = b.evaluate(opened), b.attribute("#tree [role=treeitem]", "aria-expanded")
    b.press(" ")
    differences = []
    for _ in range(4):
        b.press("d")
        differences.append(b.attribute("[aria-selected=true]", "aria-label"))
    problems = b.problems()
    out = b.run()
    v.end()
    v = View(runs[0], runs[0])
    b.open(v.address)
    b.press("d")
    b.wait("#notice:not([hidden])")
    same = b.text("#notice")
    b.wait("#code h2")
    equal = b.text("#code .hint")
    out2 = b.run()
    v.end()
    check("the next difference", "blue" not in out[first] and "red" in out[first], out[first])
    check("what is known of both", "In both runs" in out[table] and "compare0.json" in out[table], out[table])
    check("lines of the programs", [len(out[l]) > 0 for l in lines] == [True, True] and "blue" in "".join(out[lines[0]]) and "red" in "".join(out[lines[1]]), [out[l] for l in lines])
    check("files that are included are compared", "part.pdl" in out[heads], out[heads])
    check("a line chooses the box of its run", out[clicked] == "0" and "blue" in out[marked], (out[clicked], out[marked]))
    check("lanes of both", len(out[lanes]) == 2 and out[lanes][1].startswith("compare1.json") and out[bars] > 4, (out[lanes], out[bars]))
    check("the slider", out[later] > 4, out[later])
    check("find in both", "1 of" in out[said] and "compare0.json" in out[said] and "only here" in out[found], (out[said], out[found]))
    check("keys", out[side] == "1", out[side])
    check("boxes close and open", out[closed[0]][1] == 2 < out[closed[0]][0] == out[open_[0]][1] and (out[closed[1]], out[open_[1]]) == ("false", "true"),
          [out[x] for x in closed + open_])
    check("differences in order", len({out[d] for d in differences}) > 2 and any("only in this run" in out[d] for d in differences), [out[d] for d in differences])
    check("no problems", out[problems] == [], out[problems])
    check("equal runs", "do not differ" in out2[same] and "the same" in out2[equal], (out2[same], out2[equal]))


def test_live(b, folder):
    """A run that continues: its boxes come, and when it is over its trace is shown."""
    (folder / "live.pdl").write_text("text:\n- one\n- {read: , message: 'go on? '}\n- two\n")
    p = subprocess.Popen([PDL, "--view", "live.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    address = p.stderr.readline().split()[-1]
    b.open(address)
    running = b.wait("[data-kind=read][data-state=running]")
    said = b.text("#totals")
    b.shot(picture("live"))
    b.click("form.question button")  # the run waits for the page, however slow the machine is
    b.wait("[data-kind=read][data-state=done]")
    b.wait("#box-0 [data-kind=data]:has-text('two')")
    after = b.text("#totals")
    problems = b.problems()
    out = b.run()
    p.terminate()
    code = p.wait(10)
    check("a box is shown while it runs", out[running] is True and out[said] == "running", (out[running], out[said]))
    check("then the trace is shown", "boxes" in out[after] and out[problems] == [] and code == 0, (out[after], out[problems], code))


def test_deep_runs(b, folder):
    """Boxes in boxes are drawn forty deep, from there on a button goes further: Chromium ends a page that is nested much deeper."""
    (folder / "deep.pdl").write_text("defs:\n  f:\n    function: {n: integer}\n    return:\n      if: ${ n > 0 }\n      then: {call: '${ f }', args: {n: '${ n - 1 }'}}\n"
                                     "      else: [{read: , message: 'deep down? '}]\ncall: ${ f }\nargs: {n: 2000}\n")
    p = subprocess.Popen([PDL, "--view", "deep.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1])
    b.wait("form.question")  # the box that asks is shown, however deep
    levels = b.evaluate("Math.max(...[...document.querySelectorAll('[role=treeitem]')].map((e) => { let n = 0; for (let x = e; x; x = x.parentElement) n++; return n; }))")
    b.click(".deeper:text('around')")
    b.pause(300)
    around = b.count("#tree [role=treeitem]")
    problems = b.problems()
    out = b.run()
    p.terminate()
    code = p.wait(20)
    check("it is shown, and not too deep", isinstance(out[levels], int) and out[levels] < 300 and out[around] > 1, (out[levels], out[around]))
    check("no problems", out[problems] == [] and code in (0, 143), (out[problems], code))


def test_many_tabs(b, folder):
    """A browser has six connections to a server for all its tabs."""
    (folder / "tabs.pdl").write_text("text:\n- {read: , message: 'go on? ', def: x}\n- two\n")
    p = subprocess.Popen([PDL, "--view", "tabs.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1])
    shown = []
    for _ in range(8):
        b.tab()
        shown.append(b.wait("form.question"))
    b.click("form.question button")
    b.wait("#box-0 [data-kind=data]:has-text('two')")
    b.turn(5)
    over = b.wait("#box-0 [data-kind=data]:has-text('two')")
    out = b.run()
    p.terminate()
    p.wait(20)
    check("the ninth tab shows the run, too", all(out[i] is True for i in shown) and out[over] is True, [out[i] for i in shown], out[over])


def test_calls(b, folder):
    """The way of calls to a failure, and a server that vanishes."""
    (folder / "called.pdl").write_text("text:\n- call: ${ f }\n  args: {x: 0}\n")
    trace = trace_of(folder, "calls", "defs:\n  f: {function: {x: int}, return: {text: ['${ 6 // x }']}}\ntext:\n- include: called.pdl\n")
    v = View(trace, "--source", folder / "calls.pdl")
    b.open(v.address)
    b.wait("#details .caret")
    caret = b.text("#details .caret")
    way = b.texts("#details [data-member=where] li")
    b.click("#details [data-member=where] li button")
    b.pause(300)
    kind = b.attribute("[aria-selected=true]", "data-kind")
    out = b.run()
    v.end()
    check("where it failed", out[caret].startswith("calls.pdl:2"), out[caret])
    check("the way of calls", out[way] == ["call at called.pdl:2", "include at calls.pdl:4"] and out[kind] == "call", (out[way], out[kind]))
    (folder / "gone.pdl").write_text("text:\n- one\n- {read: , message: 'go on? '}\n")
    p = subprocess.Popen([PDL, "--view", "gone.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1])
    b.wait("form.question")
    b.kill(p.pid)
    b.wait("#notice:not([hidden])")
    said = b.text("#notice")
    kept = b.count("#box-0 [data-kind=data]")
    state = b.text("#totals")
    b.evaluate("document.activeElement.blur()")
    b.press("b")
    head = b.text("#totals span")
    out = b.run()
    p.wait(10)
    check("a server that vanishes", "does not answer" in out[said] and out[kept] == 1, (out[said], out[kept]))
    check("the run is not said to go on", [out[state], out[head]] == ["not connected", "Not connected"], (out[state], out[head]))


def test_interrupted(b, folder):
    """A reload keeps what was typed. When the run is interrupted its state says so, and its question takes no answer."""
    (folder / "stop.pdl").write_text("text:\n- one\n- {read: , message: 'go on? '}\n")
    p = subprocess.Popen([PDL, "--view", "stop.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.read(p.stderr.readline().split()[-1])
    b.wait("form.question")
    b.evaluate("(() => { const f = document.querySelector('form.question input'); f.value = 'half an ans'; f.dispatchEvent(new Event('input')); location.reload(); })()")
    b.wait("form.question input")
    typed = b.evaluate("document.querySelector('form.question input').value")
    b.interrupt(p.pid)
    b.wait("#notice:not([hidden])")
    state = b.text("#totals span")
    closed = b.evaluate("[...document.querySelectorAll('form.question :is(input, button)')].every((e) => e.disabled)")
    out = b.run()
    p.wait(10)
    check("what was typed", out[typed] == "half an ans", out[typed])
    check("state and question", out[state] == "Stopped" and out[closed] is True, (out[state], out[closed]))


def test_started_again(b, folder):
    """A server that ends and is started again at the same address: the page says what to do and then shows the run."""
    trace = trace_of(folder, "one", "text:\n- one\n- two\n")
    other = trace_of(folder, "other", "text:\n- a\n- b\n- c\n")
    v = View(trace)
    port = re.search(r":(\d+)/", v.address)[1]
    b.open(v.address)
    b.wait("#box-2")
    b.kill(v.p.pid)
    b.click("#box-2 .title")
    b.wait("#notice:has-text('does not answer')")
    b.serve(PDL, "view", str(other), "--port", port)
    b.wait("#notice:has-text('Another pdl view')")
    b.enter()
    b.wait("#box-3")
    at = b.evaluate("location.hash")
    hidden = b.evaluate("document.getElementById('notice').hidden")
    b.stop()
    out = b.run()
    v.p.wait(10)
    check("another server at the address", out[at] == "#box-2" and out[hidden] is True, out)
    (folder / "gone.pdl").write_text("text:\n- one\n- {read: , message: 'go on? '}\n")
    p = subprocess.Popen([PDL, "--view", "gone.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    address = p.stderr.readline().split()[-1]
    b.open(address)
    b.wait("form.question")
    b.kill(p.pid)
    b.wait("#notice:has-text('does not answer')")
    b.serve(PDL, "view", str(other), "--port", re.search(r":(\d+)/", address)[1])
    b.wait("#notice:has-text('Another pdl view')")
    b.enter()
    b.wait("#box-3")
    totals = b.text("#totals")
    out = b.run()
    p.wait(10)
    check("another server after a run", "4 boxes" in out[totals], out)


def test_asks(b, folder):
    """What `read` asks is answered in the page."""
    (folder / "ask.pdl").write_text("text:\n- read:\n  message: 'Name? '\n  def: who\n  contribute: []\n- Hello ${ who }!\n")
    p = subprocess.Popen([PDL, "--view", "ask.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1])
    asked = b.wait("form.question input[aria-label='Name? ']")
    b.shot(picture("question"))
    b.fill("form.question input", "<b>Ada</b>")
    b.click("form.question button")
    b.wait("#box-0 [data-kind=data]:has-text('Hello <b>Ada</b>!')")
    problems = b.problems()
    out = b.run()
    p.terminate()
    code = p.wait(10)
    check("a question is answered in the page", out[asked] is True and out[problems] == [] and code == 0, (out[problems], code))


def test_again(b, folder):
    """A prompt is changed in the page and the run continues from there: the two runs are compared."""
    env = {**os.environ, "PDL_RUNS": str(folder / "runs"), "OPENAI_API_KEY": "x"}
    mock = subprocess.Popen([PDL, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    env["OPENAI_API_BASE"] = re.search(r"http://[^ ]+/v1", mock.stdout.readline()).group(0)
    (folder / "trip.pdl").write_text("text:\n- model: openai/upper\n  input: a plan for Rome\n  def: plan\n- \"\\n\"\n- model: openai/upper\n  input: in short, ${ plan }\n")
    subprocess.run([PDL, "--durable", "--id", "trip", "trip.pdl"], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    v = View("trip", "--run", "trip.pdl", folder=folder, env=env)
    b.open(v.address)
    b.click("[data-kind=model] >> nth=0 >> .title")
    lines = b.wait("form.again textarea")
    written = b.evaluate("document.querySelector('form.again textarea').value")
    b.fill("form.again textarea", "- model: [")
    b.click("form.again button:has-text('Run from here')")
    b.wait("form.again [role=alert]:not(:empty)")
    refused = b.text("form.again [role=alert]")
    b.fill("form.again textarea", "- model: openai/upper\n  input: a plan for <b>Paris</b>\n  def: plan")
    b.shot(picture("again"))
    b.click("form.again button:has-text('Run from here')")
    b.wait("#document ins:has-text('PARIS')")  # two documents, and their boxes behind b
    b.press("b")
    b.wait("#tree ins:has-text('PARIS')")
    deleted, inserted = b.texts("#tree del"), b.texts("#tree ins")
    b.shot(picture("again-compared"))
    name = b.text("#name")
    options = b.texts("#which option")
    b.click("[data-kind=model] >> nth=0")
    kept = b.wait("form.again textarea")
    changed = b.evaluate("document.querySelector('form.again textarea').value")
    b.evaluate("(() => { const s = document.querySelector('#which'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
    b.wait("#name:text-is('run 1')")
    b.wait("[data-kind=model]")
    alone = b.texts("[data-kind=model] > .result")
    b.click("[data-kind=model] >> nth=0 >> .title")
    b.wait("#details h2")
    b.pause(300)
    forms = b.count("form.again")
    problems = b.problems()
    out = b.run()
    v.end()
    mock.terminate()
    mock.wait(10)
    check("the lines of the box are shown", out[lines] and out[written] == "- model: openai/upper\n  input: a plan for Rome\n  def: plan", out[written])
    check("a program with errors is refused", out[refused].strip() and "trip.pdl" in out[refused], out[refused])
    check("the runs are compared", "ROME" in "".join(out[deleted]) and "<B>PARIS</B>" in "".join(out[inserted]) and out[name] == "trip and run 1", (out[deleted], out[inserted], out[name]))
    check("runs can be chosen", out[options] == ["trip", "run 1", "trip and run 1"], out[options])
    check("the change is kept for the next time", out[kept] and "Paris" in out[changed], out[changed])
    check("one run alone", len(out[alone]) == 2 and "PARIS" in out[alone][1] and out[forms] == 0, (out[alone], out[forms]))
    check("nothing but the refusal went wrong", all("422" in p for p in out[problems]) and len(out[problems]) <= 1, out[problems])


FRAME = """<!doctype html><meta charset="utf-8"><title>editor</title><iframe src="%s" style="width:900px;height:600px"></iframe>"""


def test_answered(b, folder):
    """An answer, and lines of an included file, are changed in the page, of a recording, and the run goes on from there."""
    env = {**os.environ, "OPENAI_API_KEY": "x"}
    mock = subprocess.Popen([PDL, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    env["OPENAI_API_BASE"] = re.search(r"http://[^ ]+/v1", mock.stdout.readline()).group(0)
    (folder / "answered.pdl").write_text("text:\n- model: openai/upper\n  input: a plan for Rome\n  def: plan\n- include: short.pdl\n")
    (folder / "short.pdl").write_text("text:\n- \"\\n\"\n- model: openai/upper\n  input: in short, ${ plan }\n")
    subprocess.run([PDL, "--record", "answered.rec", "answered.pdl"], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    v = View("answered.rec", "--run", "answered.pdl", folder=folder, env=env)
    b.open(v.address)
    b.click("[data-kind=model] >> nth=0 >> .title")
    b.wait("form.again textarea[aria-label='What was answered']")
    said = b.evaluate("document.querySelector('form.again textarea[aria-label=\"What was answered\"]').value")
    b.fill("form.again textarea[aria-label='What was answered']", "Rest in <b>Oslo</b>.")
    b.shot(picture("again-answer"))
    b.click("form.again button:has-text('Run from here')")
    b.wait("#document ins:has-text('<B>OSLO</B>')")
    b.press("b")
    b.wait("#tree ins:has-text('<B>OSLO</B>')")
    deleted, inserted = b.texts("#tree del"), b.texts("#tree ins")
    b.click("[data-side='0'][data-kind=model] >> nth=1")
    b.wait("form.again textarea[aria-label='Lines 3 to 4 of short.pdl']")
    others = b.texts("form.again li")
    b.fill("form.again textarea[aria-label='Lines 3 to 4 of short.pdl']", "- model: openai/upper\n  input: shorter, ${ plan }")
    b.click("form.again button:has-text('Run from here')")
    b.wait("#document ins:has-text('SHORTER')")
    b.press("b")
    b.wait("#name:text-is('answered.rec and run 2')")
    b.wait("#tree ins:has-text('SHORTER')")
    second = b.texts("#tree ins")
    b.click("[data-side='0'][data-kind=data] >> nth=0")
    b.wait("#details h2")
    b.pause(300)
    lines = b.count("form.again textarea")
    problems = b.problems()
    out = b.run()
    v.end()
    mock.terminate()
    mock.wait(10)
    check("the answer is shown", out[said] == "A PLAN FOR ROME", out[said])
    check("what depends on it is asked", "ROME" in "".join(out[deleted]) and "<B>OSLO</B>." in "".join(out[inserted]), (out[deleted], out[inserted]))
    check("the change is kept", len(out[others]) == 1 and "the answer in box" in out[others][0], out[others])
    check("lines of an included file", "SHORTER" in "".join(out[second]) and "OSLO" in "".join(out[second]), out[second])
    check("a box that asked nobody has lines only", out[lines] == 1 and out[problems] == [], (out[lines], out[problems]))


def test_frames(b, folder):
    """A page of another site shows the run in a frame, as editors do, if its origin was named, and not otherwise."""
    trace = trace_of(folder, "framed", "text:\n- one\n- two\n")

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = (FRAME % self.server.shown).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = "http://localhost:%d" % server.server_port
    for given in (True, False):
        v = View(trace, *(["--view-frame", origin] if given else []))
        server.shown = v.address
        b.visit(origin + "/")
        text = b.frame_texts("#document .paper") if given else b.pause(2000)
        count = b.frame_count("#document .paper")
        out = b.run()
        v.end()
        check("a frame whose origin was named" if given else "another frame", out[count] == (1 if given else 0) and (not given or out[text] == ["onetwo"]), (out[text], out[count]))
    server.shutdown()


def test_hostile(b, folder):
    text = json.dumps(EVIL)
    trace = trace_of(folder, "hostile", HOSTILE % (text, text, text, EVIL.replace('"', ""), text))
    html = folder / "hostile.html"
    subprocess.run([PDL, "view", str(trace), "--html", str(html)], check=True)
    v = View(trace)
    results = []
    for url in (v.address, "file://%s" % html):
        b.open(url)
        b.press("t")
        b.evaluate("(async () => { for (const t of document.querySelectorAll('.box > .title')) { t.click(); await new Promise((r) => setTimeout(r, 60)); "
                   "for (const x of document.querySelectorAll('.actions button')) if (x.textContent === 'Markdown') x.click(); } })()")
        results.append((b.problems(), b.evaluate("document.querySelectorAll('#tree script, #tree img, #details script, #details img, #details a').length"), b.text("#tree")))
        b.close()
    out = b.run()
    v.end()
    for problems, markup, shown in results:
        check("hostile text is text", out[problems] == [] and out[markup] == 0 and EVIL in out[shown], (out[problems], out[markup]))


# Opens all boxes, chooses each, and says how many there are and which have nothing to tell.
LOOK = """(async () => {
  const later = () => new Promise((r) => setTimeout(r, 0));
  const items = () => [...document.querySelectorAll('#tree [role=treeitem]')];
  const silent = [];
  for (let i = 0; i < items().length && i < 300; i++) {
    const item = items()[i], title = item.querySelector(':scope > .title');
    title.click();
    if (item.getAttribute('aria-expanded') === 'false') title.click();
    await later(); await later();
    if (document.querySelector('#details h2')?.textContent !== item.dataset.kind) silent.push(item.id);
  }
  return [items().length, silent]; })()"""


PARTS = 2  # each has a browser
LOW = {"viewport": {"width": 1200, "height": 160}}  # what is below the window is not painted again with each box that is chosen


@pytest.mark.parametrize("part_of_them", range(PARTS))
def test_many(part_of_them, b, folder):
    """The traces of the examples that have a recording, and the demo traces of the reference: every box can be chosen, nothing goes wrong."""
    pages = []
    for journal in sorted((ROOT / "examples").glob("*.journal"))[part_of_them::PARTS]:
        program, html = journal.with_suffix(".pdl"), folder / (journal.stem + ".html")
        r = subprocess.run([PDL, "view", str(journal), "--source", str(program), "--html", str(html)], capture_output=True, text=True, timeout=120, check=False)
        check("the example %s is shown" % journal.stem, r.returncode == 0 and html.exists(), r.stderr)
        pages.append((journal.stem, html, 1))
    source = reference_of.source()
    demos = sorted(source.glob("pdl-live-react/src/demos/*.json"))[part_of_them::PARTS] if source else []
    print("page: %s" % ("%d demo traces of the reference" % len(demos) if demos else "SKIP the demo traces of the reference: its source cannot be fetched"))
    for demo in demos:
        html = folder / ("demo-%s.html" % demo.stem)
        r = subprocess.run([PDL, "view", str(demo), "--html", str(html)], capture_output=True, text=True, timeout=120, check=False)
        check("the demo %s is shown" % demo.stem, r.returncode == 0 and html.exists(), r.stderr)
        pages.append((demo.stem, html, 2))
    looks_ = []
    for name, html, least in pages:
        b.open("file://%s" % html, LOW)
        looks_.append((name, least, b.text("#notice"), b.evaluate(LOOK), b.text("#tree"), b.problems()))
    out = b.run()
    for name, least, notice, look, text, problems in looks_:
        seen, silent = out[look] if isinstance(out[look], list) else (0, out[look])
        check("%s: boxes" % name, seen >= least and silent == [] and out[text].strip(), (seen, silent))
        check("%s: nothing is wrong" % name, out[problems] == [] and not out[notice], (out[problems], out[notice]))


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def poisoned(value, key=""):
    """A trace in which every text, and every name that is not the trace's own, holds scripts."""
    if isinstance(value, dict):
        own = {"kind", "role"} | {k for k in value if k.startswith("pdl__")}
        blocks = "kind" in value
        return {k if blocks or k in own else EVIL + k: poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(v, key) for v in value]
    return EVIL + value if isinstance(value, str) and key != "kind" else value


def test_strangers(b, folder):
    """Scripts in every field of every block of a real trace; images that are data are shown, others are not asked for."""
    trace = folder / "react.json"
    subprocess.run([PDL, "--replay", str(ROOT / "examples/react.journal"), str(ROOT / "examples/react.pdl"), "--trace=" + str(trace)], stdin=subprocess.DEVNULL, capture_output=True)
    whole = json.loads(trace.read_text())
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + PIXEL}},
             {"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/tracker.png"}}, {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,PHN2Zy8+"}}]
    (folder / "bad.json").write_text(json.dumps(poisoned(whole)))
    block = {"kind": "model", "pdl__id": "model", "model": "m", "pdl__result": "seen", "pdl__model_input": [{"role": "user", "content": parts}],
             "pdl__timing": {"start_nanos": 1, "end_nanos": 2000}}
    (folder / "images.json").write_text(json.dumps(block))
    for name in ("bad", "images"):
        subprocess.run([PDL, "view", str(folder / (name + ".json")), "--html", str(folder / (name + ".html"))], check=True)
    b.open("file://%s" % (folder / "bad.html"))
    look = b.evaluate(LOOK)
    b.press("t")
    made = b.evaluate("document.querySelectorAll('main script, main img, main iframe, main a, main b, header img').length")
    shown = b.text("#tree")
    problems = b.problems()
    b.open("file://%s" % (folder / "images.html"))
    b.click("#box-0 .title")
    b.wait("#details .chat img")
    images = b.evaluate("[...document.images].map((i) => [i.src.slice(0, 14), i.complete && i.naturalWidth])")
    links = b.texts("#details .chat .link")
    asked = b.evaluate("performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('data:'))")
    quiet = b.problems()
    out = b.run()
    check("scripts in every field are text", out[made] == 0 and out[problems] == [] and EVIL in out[shown] and out[look][0] > 20, (out[made], out[problems], out[look]))
    check("an image that is data is shown", out[images] == [["data:image/png", 1]], out[images])
    check("other images are addresses", len(out[links]) == 2 and "tracker" in out[links][0] and out[asked] == [] and out[quiet] == [], (out[links], out[asked], out[quiet]))


def test_paper(b, folder):
    """The first figure of the paper: a chat, its boxes and its code."""
    v = View(ROOT / "examples/chatbot.journal", "--source", ROOT / "examples/chatbot.pdl")
    b.open(v.address)
    b.click("[data-kind=model] >> nth=1 >> .title")
    b.wait(".lines .marked")
    marked = b.texts(".lines .marked")
    b.shot(picture("paper"))
    problems = b.problems()
    out = b.run()
    v.end()
    check("the box of the second answer marks its code", "model:" in "".join(out[marked]) and out[problems] == [], (out[marked], out[problems]))


def test_rows(b, folder):
    """Find by each field, the slider, exports, a window of half the size (as at 200 %), the second browser and the page loaded again."""
    trace = folder / "react.json"
    subprocess.run([PDL, "--replay", str(ROOT / "examples/react.journal"), str(ROOT / "examples/react.pdl"), "--trace=" + str(trace)], stdin=subprocess.DEVNULL, capture_output=True)
    v = View(trace, "--source", ROOT / "examples/react.pdl")
    b.open(v.address)
    b.press("/")
    found = {}
    for name, text in (("kind", "model"), ("variable", "step"), ("model", "openai/gpt-4o-mini"), ("tokens", "1"), ("micros", "0"), ("role", "zebra")):
        b.fill("#find [name=%s]" % name, text)
        b.press("Enter")
        b.wait("#find output:not(:empty)")
        found[name] = (b.text("#find output"), b.attribute("[aria-selected=true]", "data-kind"))
        b.fill("#find [name=%s]" % name, "")
        b.evaluate("document.querySelector('#find output').textContent = ''")
    b.press("Escape")
    b.press("t")
    b.wait("#time input[type=range]")
    move = "(() => { const s = document.querySelector('#time input'); s.value = '%s'; s.dispatchEvent(new Event('input')); return [%s].map((c) => document.querySelectorAll('#tree .box.' + c).length); })()"
    first, whole = b.evaluate(move % ("0", "'later','open'")), b.evaluate(move % ("1000", "'later','open'"))
    hidden = b.evaluate(move % ("1", "'later'") + " && getComputedStyle(document.querySelector('.box.later > .result, .box.open > .result')).visibility")
    b.press("Escape")
    b.click("#show-export")
    names = b.texts("#export button")
    b.evaluate("window.saved = []; HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); }")
    b.click("#export button >> nth=0")
    b.click("#export button >> nth=1")
    b.click("[data-kind=model] .title")
    b.wait("#details .actions button:has-text('curl')")
    b.click("#details .actions button:has-text('Save messages')")
    b.click("#details .actions button:has-text('curl')")
    saved = b.evaluate("window.saved")
    b.evaluate("location.reload()")
    b.wait("body[data-ready]")
    reloaded = b.count("#tree [role=treeitem]")
    problems = b.problems()
    b.open("file://%s" % trace.with_suffix(".html"), {"viewport": {"width": 600, "height": 450}, "deviceScaleFactor": 2})
    wide = b.evaluate("document.documentElement.scrollWidth <= 600 && document.querySelectorAll('#tree [role=treeitem]').length > 5")
    subprocess.run([PDL, "view", str(trace), "--html", str(trace.with_suffix(".html"))], check=True)
    out = b.run()
    v.end()
    got = {name: (out[a], out[k]) for name, (a, k) in found.items()}
    check("find by kind, variable, model, tokens", all(" of " in got[n][0] for n in ("kind", "variable", "model", "tokens", "micros")) and got["kind"][1] == "model" and got["tokens"][1] == "model", got)
    check("nothing is found by what there is not", got["role"][0] == "nothing found", got)
    check("the slider shows a moment", out[first][0] > 5 and out[whole] == [0, 0] and out[hidden] == "hidden", (out[first], out[whole], out[hidden]))
    check("exports", out[names] == ["Text", "Markdown", "Trace"] and out[saved] == ["run.txt", "run.md"] + out[saved][2:] and len(out[saved]) == 4 and out[saved][3].endswith(".sh"), (out[names], out[saved]))
    check("the page loaded again shows the same", out[reloaded] > 20 and out[problems] == [], (out[reloaded], out[problems]))
    check("at 200 %", out[wide])


def test_large(b, folder):
    """A hundred thousand blocks."""
    trace = trace_of(folder, "large", "for: {i: '${ range(50000) | list }'}\nrepeat: {text: ['row ${ i }', '\n']}\n")
    start = time.time()
    v = View(trace)
    ready = time.time() - start
    first = b.open(v.address)
    b.click("#box-0 .title")
    count = b.count("#tree [role=treeitem]")
    frames = b.evaluate("""(async () => {
      const tree = document.querySelector('#tree'); let worst = 0, last = performance.now();
      for (let i = 0; i < 120; i++) { tree.scrollTop += 400; await new Promise(requestAnimationFrame); const now = performance.now(); if (i > 5) worst = Math.max(worst, now - last); last = now; }
      return worst; })()""")
    after = b.count("#tree [role=treeitem]")
    b.press("/")
    b.fill("#find [name=text]", "row 49999")
    b.press("Enter")
    b.wait("#find output:has-text('of 1')")
    b.wait("[aria-selected=true]:has-text('row 49999')")
    found = b.text("[aria-selected=true]")
    b.shot(picture("large"))
    out = b.run()
    v.end()
    print("page: 150 000 blocks: server ready after %.1f s, first boxes after %d ms, worst frame %d ms" % (ready, out[first], out[frames]))
    check("a large run opens, within the seconds that a page is waited for", out[count] > 100, (out[first], out[count]))
    check("scrolling asks for more", out[after] > out[count], (out[count], out[after]))
    check("a far box is found", "row 49999" in out[found], out[found])
