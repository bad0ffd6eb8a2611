# SPDX-License-Identifier: Apache-2.0
"""The document of a run in a real browser: calls that are opened in place, keys, addresses, styles. Pictures are left in BUILD/pictures."""
import json
import pathlib
import re
import subprocess

import pytest

from .. import prompt_caches
from .browse import PDL, ROOT, View, check, mock, picture, trace_of

pytestmark = [pytest.mark.builds, pytest.mark.roomy]
EXAMPLES = ROOT / "examples"
RECORDED = sorted(str(p.relative_to(EXAMPLES).with_suffix("")) for folder in ("", "patterns") for p in (EXAMPLES / folder).glob("*.journal"))


def html_of(folder, name):
    out = folder / (name.replace("/", "-") + ".html")
    subprocess.run([PDL, "view", name + ".journal", "--source", name + ".pdl", "--html", str(out)], cwd=EXAMPLES, check=True, timeout=60)
    return "file://%s" % out


def test_agent_document(b):
    """A call that is opened in place, keys, addresses, boxes and back."""
    v = View("patterns/team.journal", "--source", "patterns/team.pdl", folder=EXAMPLES)
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    b.shot(picture("document-agent"))
    text = b.text("#document .paper")
    heads = b.texts("#document .work-head")
    numbers = b.texts("#document .call")
    bars = b.texts("#strip .bar")
    margin = b.text("#document .row > .source pre")
    beside = b.texts("#document .row:has(.work) > .source > *")
    b.click(".call[data-call='4']")
    b.wait(".sent")
    title = b.text(".sent-top b")
    folded = b.text(".sent .before")
    call_at = b.text(".sent .place")
    call_line = b.text(".sent .source pre")
    said = b.texts(".sent .chat .text")
    hash_ = b.evaluate("location.hash")
    expanded = b.attribute(".call[data-call='4']", "aria-expanded")
    b.shot(picture("document-call"))
    b.click(".sent .before .all")
    unfolded = b.count(".sent .chat .text")
    b.press("Escape")
    closed = b.count(".sent")
    no_hash = b.evaluate("location.hash")
    b.evaluate("document.activeElement.blur()")
    b.press("j")
    first = b.evaluate("document.activeElement.tagName")
    b.press("/")
    b.press("Escape")
    returned = b.evaluate("document.activeElement.tagName")
    b.press("]")
    stepped = b.text(".sent-top b")
    b.press("]")
    stepped_on = b.text(".sent-top b")
    b.press("b")
    boxes = b.evaluate("[document.body.dataset.view, !!document.querySelector('#tree').offsetParent, !!document.querySelector('#document').offsetParent]")
    b.press("b")
    back = b.evaluate("document.body.dataset.view")
    b.click("#strip .bar[data-call='6']")
    by_bar = b.text(".sent-top b")
    b.press("Escape")
    b.click(".paper .piece")
    opened = b.text(".sent .source pre")
    b.shot(picture("document-origin"))
    lit = b.evaluate("[...document.querySelectorAll('.lit')].map((e) => e.className.split(' ')[0] + (e.dataset.call ?? ''))")
    origin = b.text(".sent .origin")
    makers = b.evaluate("[...document.querySelectorAll('.paper .part')].map((e) => e.dataset.maker)")
    name = b.attribute(".paper .piece", "aria-label")
    axe = b.axe()
    b.click("#totals button:has-text('tokens')")
    table = b.texts("#calls tbody .call")
    b.click("#calls tbody .call")
    by_table = b.text(".sent-top b")
    b.press("Escape")
    b.press("/")
    b.fill("#seek input", "sun in Rome")
    b.press("Enter")
    b.wait("#seek output:has-text(' of ')")
    hits = b.text("#seek output")
    hit = b.text(".hit")
    b.press("Escape")
    lanes = b.texts("#strip .lane-name")
    tree = b.evaluate("[...document.querySelectorAll('#outline [role=treeitem]')].map((e) => [e.getAttribute('aria-level'), e.getAttribute('aria-label').split(',')[0]])")
    b.press("t")
    critical = b.count("#strip .bar.critical")
    b.press("t")
    problems = b.problems()
    out = b.run()
    v.end()
    check("where a piece came from", out[origin] == "From: result of scout, in turn 1 of out; answer of call 6, in turn 2 of out" and {"bar3", "bar4", "bar6", "tool", "part"} <= set(out[lit]), (out[origin], out[lit]))
    check("parts in the colours of their makers", out[makers] == ["tool", "model"] and out[name].startswith("tool, call 2: It is"), (out[makers], out[name]))
    check("the table of calls, by tokens", out[table][0] == "4" and sorted(out[table]) == list("123456") and out[by_table].startswith("Call 4,"), (out[table], out[by_table]))
    check("find", out[hits].startswith("1 of 1") and "21" in out[hit], (out[hits], out[hit]))
    check("lanes by who called", out[lanes] == ["out", "scout"], out[lanes])
    check("the outline is a tree", out[tree] == [["1", "set-up Set-up"], ["1", "text What it said"], ["1", "work How out"], ["2", "turn Turn 1"], ["3", "tool scout"], ["2", "turn Turn 2"]], out[tree])
    check("a tall strip marks what the end waited for", out[critical] == 6, out[critical])
    check("what it said", out[text].split() == "It is warm and sunny in Rome. Rome shines.".split(), out[text])
    check("how it came about", any("out" in h and "an agent, 2 turns" in h for h in out[heads]), out[heads])
    check("calls have numbers", out[numbers] == list("123456") and [x[0] for x in out[bars]] == list("123456"), (out[numbers], out[bars]))
    check("the program beside it", "out.answer" in out[margin], out[margin])
    check("a tool of the program is beside its work", out[beside][0] == "team.pdl, line 10" and out[beside][2] == "team.pdl, line 6" and out[beside][3].startswith("scout:"), out[beside])
    check("a call of a model in a library has the line of its model", out[call_at].startswith("lib/toolcall/prompted.pdl, line ") and out[call_line].startswith("model:"), (out[call_at], out[call_line]))
    check("the call", out[title] == "Call 4, as it was sent" and out[expanded] == "true" and out[hash_] == "#call-4", (out[title], out[hash_]))
    check("messages that an earlier call had are folded", out[folded] == "2 messages as in call 3" and len(out[said]) == 3 and out[unfolded] == 5, (out[folded], out[said], out[unfolded]))
    check("the reply is last", out[said][-1] == "It is warm and sunny in Rome.", out[said])
    check("Escape closes, and the address is that of the page", out[closed] == 0 and out[no_hash] == "", out[no_hash])
    check("j begins with the set-up, and the focus returns there from find", out[first] == out[returned] == "SUMMARY", (out[first], out[returned]))
    check("] walks the calls", out[stepped].startswith("Call 1,") and out[stepped_on].startswith("Call 2,"), (out[stepped], out[stepped_on]))
    check("b shows the boxes", out[boxes] == ["boxes", True, False] and out[back] == "document", (out[boxes], out[back]))
    check("a bar opens its call", out[by_bar].startswith("Call 6,"), out[by_bar])
    check("a piece shows the program", "out.steps" in out[opened], out[opened])
    check("nothing is wrong", out[problems] == [] and out[axe] == [], out[problems], out[axe])


def test_address(b, folder):
    """#call-4 opens it, #box-0 shows the boxes, also in one file."""
    url = html_of(folder, "patterns/team")
    b.read(url + "#call-4")
    call = b.text(".sent-top b")
    b.read(url + "#box-0")
    view = b.evaluate("document.body.dataset.view")
    b.read(url + "#call-4")
    b.click(".sent .before .all")
    said = b.texts(".sent .chat .text")
    out = b.run()
    check("all messages of a call", len(out[said]) == 5 and out[said][-1] == "It is warm and sunny in Rome.", out[said])
    check("addresses", out[call].startswith("Call 4,") and out[view] == "boxes", (out[call], out[view]))


def test_ticks(b, folder):
    """A tick near the end of the time does not make the page wider, whatever the run took."""
    steps = []
    for ms in (301, 302, 1201, 5050, 61000):
        trace = folder / ("run%d.json" % ms)
        trace.write_text(json.dumps({"kind": "model", "pdl__id": "model", "model": "m", "pdl__result": "seen", "pdl__model_input": [{"role": "user", "content": "look"}],
                                     "pdl__timing": {"start_nanos": 1, "end_nanos": ms * 1000000}}))
        html = trace.with_suffix(".html")
        subprocess.run([PDL, "view", str(trace), "--html", str(html)], check=True, timeout=60)
        for width in (1280, 800):
            b.read("file://%s" % html, {"viewport": {"width": width, "height": 800}})
            steps.append((ms, width, b.count("#strip .tick"), b.evaluate("document.documentElement.scrollWidth")))
    out = b.run()
    for ms, width, ticks, at in steps:
        check("%d ms at %d px" % (ms, width), out[ticks] > 2 and out[at] <= width, (out[ticks], out[at]))


def test_narrow_bars(b, folder):
    """A bar that is too narrow for its number has none; a press on it opens its call, whose messages can be had in the form that services take."""
    def model(n, start, end):
        return {"kind": "model", "pdl__id": "text.%d.model" % n, "model": "m", "pdl__result": "seen %d" % n, "pdl__model_input": [{"role": "user", "content": "look"}],
                "pdl__timing": {"start_nanos": 1 + start * 10**6, "end_nanos": 1 + end * 10**6}}
    trace = folder / "bars.json"
    trace.write_text(json.dumps({"kind": "text", "pdl__id": "text", "text": [model(0, 0, 4000), model(1, 5000, 5010), model(2, 6000, 6200)], "pdl__result": "", "pdl__timing": {"start_nanos": 1, "end_nanos": 10**10}}))
    v = View(trace)
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    bars = b.evaluate("[...document.querySelectorAll('#strip .bar')].map((e) => e.innerText)")
    b.click("#strip .bar[data-call='2']")
    b.wait(".sent")
    b.click(".sent .act:has-text('JSON')")
    messages = b.text(".sent .exact")
    out = b.run()
    v.end()
    check("numbers and times", out[bars] == ["14.00 s", "", "3"], out[bars])
    check("messages", json.loads(out[messages]) == [{"role": "user", "content": "look"}], out[messages])


def test_shapes(b, folder):
    """A long loop, a failure, a map, a chat, texts that are hostile; dark and on a phone."""
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    loop = trace_of(folder, "loop", "text:\n- for: {i: \"${ range(200) | list }\"}\n  repeat: \"Round ${ i }.\\n\"\n")
    fail = trace_of(folder, "fail", "defs:\n  price: {function: {item: string}, return: \"${ {'tea': 3}[item] }\"}\ntext:\n- \"tea: \"\n- {call: \"${ price }\", args: {item: tea}}\n- \"\\npie: \"\n- {call: \"${ price }\", args: {item: pie}}\n")
    rows = trace_of(folder, "rows", "text:\n- for: {i: \"${ range(50) | list }\"}\n  map: {lang: command, code: \"printf '%s ' ${ i }\"}\n")
    odd = trace_of(folder, "odd", "description: %s\ntext:\n- %s\n- ${ 1 + 1 }\n" % (json.dumps(evil), json.dumps(evil)))
    b.read(page_of(loop))
    rounds = b.texts("#document .round .n")
    between = b.texts("#document .between button")
    b.fill("#document .between input", "137")
    b.press("Enter")
    b.wait(".round .n:text-is('137')")
    near = b.text(".round:has(.n:text-is('137')) .round-text")
    b.read(page_of(fail), {"colorScheme": "dark", "viewport": {"width": 1280, "height": 800}})
    fault = b.text("#document .fault")
    mark = b.text("#document .fault u")
    known = b.texts("#document .fault .known dd")
    way = b.texts("#document .fault .way li")
    seen = b.evaluate("document.querySelector('.fault').getBoundingClientRect().bottom < innerHeight")
    b.shot(picture("document-failed-dark"))
    b.click("#document .fault .way button")
    caller = b.text("#tree [aria-selected=true]")
    caller_line = b.text("#details .caret")
    b.read(page_of(rows))
    cells = b.count("#document .grid tbody tr")
    counted = b.attribute("#document [role=grid]", "aria-rowcount")
    b.click("#document .grid th button:text-is('i')")
    b.click("#document .grid th button:has-text('i')")
    b.pause(200)
    sorted_ = b.texts("#document .grid tbody td:first-child")
    b.fill("#document [aria-label='Rows that contain']", "37")
    b.pause(200)
    rows_said = b.text("#document .rows-said")
    found = b.text("#document .grid tbody tr")
    b.read(page_of(odd), {"viewport": {"width": 320, "height": 700}})
    title = b.text("#name")
    shown = b.text("#document .paper")
    fits = b.evaluate("document.documentElement.scrollWidth <= 320")
    problems = b.problems()
    out = b.run()
    check("a grid", out[counted] == "51", out[counted])
    check("the first and the last rounds", out[rounds][:2] == ["1", "2"] and out[rounds][-3:] == ["198", "199", "200"] and len(out[rounds]) == 23, out[rounds])
    check("the others are called iterations", out[between] == ["177 iterations, 21 to 197"], out[between])
    check("a round by its number", out[near].strip() == "Round 136.", out[near])
    check("the failure, its line and mark", "no attribute 'pie'" in out[fault] and "{'tea': 3}[item]" in out[mark] and out[seen], (out[fault], out[mark], out[seen]))
    check("the values of its names, and the way to it", out[known] == ["pie"] and out[way] == ["called at line 7"], (out[known], out[way]))
    check("the way leads to the line", "call: ${ price }, args: {item: pie}" in out[caller_line].replace('"', "") and "call" in out[caller], (out[caller], out[caller_line]))
    check("rows of a map", out[cells] == 50 and out[found].startswith("38") and out[sorted_][:2] == ["50", "49"] and out[rows_said] == "1 of 50 rows", (out[cells], out[found], out[sorted_], out[rows_said]))
    check("hostile text is text", evil in out[shown] and "<script>" in out[title] and out[problems] == [], (out[title], out[shown], out[problems]))
    check("a narrow page", out[fits])


ANSWER = "## Bees\n\nThey are **social**.\n\n- nectar\n- <img src=x>\n"


def test_long_texts(b, folder):
    """Long texts begin with 24 lines, an answer in Markdown is laid out, a value is a tree when it is opened, and all of a text is to be had."""
    program = "text:\n- for: {i: '${ range(3000) }'}\n  map: \"Line ${ i }.\"\n  join: {with: \"\\n\"}\n- \"\\n\"\n- model: openai/echo\n  input: %s\n- \"\\nIn a line: \"\n- model: openai/echo\n  input: It **is**.\n- \"\\n\"\n- data: {legs: 6, parts: [head, thorax]}\n"
    (folder / "long.pdl").write_text(program % json.dumps(ANSWER))
    with mock() as env:
        subprocess.run([PDL, "long.pdl", "--trace=long.json"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    v = View("long.json", "--source", "long.pdl", folder=folder)
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    short = b.text("#document .paper")
    height = b.evaluate("document.querySelector('#document .paper').offsetHeight")
    b.click("#document .paper .piece")
    b.wait(".sent .made")
    made = b.text(".sent .made")
    b.press("Escape")
    b.click("#document .show-all")
    laid = b.evaluate("document.querySelector('.laid-out .markdown').innerHTML")
    inline = b.texts("#document .paper .piece[data-maker=model]:not(.laid-out)")
    axe = b.axe()
    b.click("#document .flip")
    exact = b.text(".answer .piece")
    b.click("#document .paper > .piece >> nth=-1")
    tree = b.texts(".sent .made .json-key")
    problems = b.problems()
    out = b.run()
    v.end()
    check("24 lines at first", out[short].startswith("Line 0.\nLine 1.") and out[short].count("Line") == 24 and out[short].endswith(" words") and out[height] < 900, (out[short], out[height]))
    check("all of the text when it is opened", out[made].startswith("Line 0.") and "Line 2999." in out[made], out[made][-80:])
    check("Markdown is laid out", ">Bees</h4>" in out[laid] and "<strong>social</strong>" in out[laid] and "<li>nectar</li>" in out[laid] and "&lt;img" in out[laid], out[laid])
    check("not within a line", out[inline] == ["It **is**."], out[inline])
    check("as it was written", out[exact] == ANSWER.strip(), out[exact])
    check("a value is a tree", out[tree] == ["legs: ", "parts: ", "0: ", "1: "], out[tree])
    check("nothing is wrong", out[problems] == [] and out[axe] == [], (out[problems], out[axe]))


LIVE = """description: A talk that waits
defs:
  ask: {function: {x: string}, return: {model: openai/echo, input: "${ x }"}}
  tools: {object: {ask: "${ ask }"}}
text:
- "Tell me of bees.\\n"
- read:
  message: "Your name? "
  def: name
  contribute: []
- "Hello ${ name }.\\n"
- {text: ["${ 1 // 0 }"], fallback: ""}
- model: openai/echo
  input: one two three four five six seven eight nine ten eleven twelve thirteen fourteen
- "\\n"
- read:
  message: "More? "
  def: more
  contribute: []
- "The end.\\n"
"""

# Keeps each text that an answer had while it arrived, and what the head said then: a machine may be too busy to be asked in time.
ARRIVING = """(() => {
  window.arrived = [];
  new MutationObserver(() => {
    const live = document.querySelector('#document .live');
    if (live) window.arrived.push([live.textContent, document.getElementById('totals').textContent]);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
})()"""


def test_live_document(b, folder):
    """A run in progress is a document, too: what was printed, answers as they arrive, questions that are answered in it."""
    (folder / "live.pdl").write_text(LIVE)
    with mock("--delay", "120") as env:
        p = subprocess.Popen([PDL, "--view", "live.pdl"], cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            b.read(p.stderr.readline().split()[-1], {"viewport": {"width": 1280, "height": 800}})
            b.wait("#document form.question")
            title = b.text("#name")
            running = b.text("#totals")
            said = b.text("#document .paper")
            asked = b.text("#document .asked")
            boxes = b.evaluate("document.getElementById('tree').textContent")
            b.fill("#document form.question input", "<b>Ada</b>")
            b.evaluate(ARRIVING)
            b.press("Enter")
            b.wait("#document .live:has-text('two')")
            early = b.count("#document .row > .quiet:text-is('Question (More?)')")
            b.shot(picture("document-live"))
            b.wait("#document .asked:has-text('More?')")
            arrived = b.evaluate("window.arrived")
            whole = b.text("#document .paper .piece[data-maker=model]")
            failed = b.text("#totals")
            b.click("#document form.question button")
            b.wait("#totals .ok")
            over = b.evaluate("[document.body.dataset.view, document.querySelector('#document article').textContent]")
            ended = b.text("#said")
            problems = b.problems()
            out = b.run()
        finally:
            p.terminate()
            code = p.wait(20)
    check("title and state", out[title] == "A talk that waits" and out[running].startswith("Running"), (out[title], out[running]))
    check("what was printed", out[said].strip() == "Tell me of bees." and out[asked].strip() == "Your name?", (out[said], out[asked]))
    check("a function is shown by its parameters", "<function" not in out[boxes] and "(x)" in out[boxes], out[boxes])
    check("an answer that arrives", any(t.startswith("one two") and "fourteen" not in t and state.startswith("Running") for t, state in out[arrived]), out[arrived])
    check("a question that cannot be answered yet is not shown", out[early] == 0, out[early])
    check("all of it", out[whole].endswith("thirteen fourteen"), out[whole])
    check("the end is announced, fact by fact", out[ended].startswith("The run is over: Finished, live.pdl, "), out[ended])
    check("then the run is over", out[over][0] == "document" and "The end." in out[over][1] and "<b>Ada</b>" in out[over][1] and out[problems] == [] and code == 0, (out[over], out[problems], code, out[failed]))


def test_narrow(b, folder):
    """Without a margin, works and typed lines open their program lines. What a screen reader gets: headings of turns, and names without the signs that are drawn."""
    phone = {"viewport": {"width": 390, "height": 844}}
    b.read(html_of(folder, "patterns/router"), phone)
    b.click(".lines-here summary")
    work = b.text(".lines-here[open]")
    entries = b.texts("#outline [role=treeitem]")
    b.click(".turn .typed .piece")
    b.wait(".turn .sent")
    inside = b.text(".turn .sent")
    headings = b.evaluate("[...document.querySelectorAll('h1, h2, [role=heading]')].map((e) => [e.getAttribute('aria-level') ?? e.tagName.slice(1), e.textContent])")
    axe, problems = [b.axe()], [b.problems()]
    b.read(html_of(folder, "chatbot"), phone)
    names = b.names("button")
    b.click(".typed .piece")
    b.wait("#document .sent")
    typed = b.text("#document .sent")
    below = b.evaluate("(() => { const [a, b] = ['.paper', '.sent'].map((s) => document.querySelector(s).getBoundingClientRect()); return a.bottom <= b.top; })()")
    axe.append(b.axe())
    problems.append(b.problems())
    b.read(html_of(folder, "patterns/router"))
    wide = b.evaluate("document.querySelector('.lines-here').checkVisibility()")
    b.read(html_of(folder, "tour"))
    b.click(".attempt .work-head")
    b.wait(".attempt .why")
    attempt = b.texts(".attempt .work-body > *")
    out = b.run()
    check("a work has its program lines", out[work].startswith("router.pdl, line 8") and "router.run" in out[work], out[work])
    check("they are no entry of the contents", sum(e.startswith("Set-up") for e in out[entries]) == 1, out[entries])
    check("a typed line in a turn has them", "Read from a person" in out[inside] and "read:" in out[inside], out[inside])
    check("turns are headings", [h for h in out[headings] if h[0] == "3"] == [["3", "Turn %d" % n] for n in (1, 2, 3)] and [h[0] for h in out[headings]][:2] == ["1", "2"], out[headings])
    check("a typed line in the text opens below the sheet", "chatbot.pdl, line 11" in out[typed] and out[below], out[typed])
    check("names", "person: What is PDL?" in out[names] and "System, 11 words, seen by the model and not printed" in out[names], out[names])
    check("an attempt that made nothing says only why it failed", len(out[attempt]) == 1 and "no_such_name" in out[attempt][0], out[attempt])
    check("with a margin they are beside the work", out[wide] is False)
    check("nothing is wrong", all(out[x] == [] for x in axe + problems), [out[x] for x in axe + problems])


# What a finger presses, and is lower or narrower than 32 px.
SMALL = """[...document.querySelectorAll('button, summary, input, [role=treeitem]')].filter((e) => e.checkVisibility()).map((e) => [e.className, e.textContent, e.getBoundingClientRect()])
  .filter(([, , r]) => r.height < 31.9 || r.width < 31.9).map(([style, text, r]) => [style, text.slice(0, 20), r.width, r.height])"""


def test_touch(b, folder):
    """Where the pointer is coarse, what can be pressed is large enough for a finger, bars of the strip included."""
    b.read(html_of(folder, "patterns/team"), {"viewport": {"width": 390, "height": 844}, "hasTouch": True, "isMobile": True})
    b.click(".call[data-call='4']")
    b.click("#show-contents")
    b.click("#show-seek")
    b.click("#totals button")
    b.wait("#calls .call")
    heads = b.evaluate("[...document.querySelectorAll('#calls th')].filter((e) => e.getBoundingClientRect().right <= innerWidth - 16).map((e) => e.textContent)")
    small, fits, over = b.evaluate(SMALL), b.evaluate("document.documentElement.scrollWidth <= innerWidth"), b.evaluate(
        "(() => { const all = [...document.querySelectorAll('#strip .bar')].map((e) => e.getBoundingClientRect()); return all.some((x, i) => all.some((y, k) => i < k && x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom)); })()")
    b.shot(picture("document-touch"))
    b.read(html_of(folder, "chatbot"), {"viewport": {"width": 390, "height": 844}, "hasTouch": True, "isMobile": True})
    chat = b.evaluate(SMALL)
    out = b.run()
    check("time and tokens of the calls are in view", {"time", "in", "out"} <= set(out[heads]), out[heads])
    check("an agent", out[small] == [], out[small])
    check("a chat", out[chat] == [], out[chat])
    check("bars do not cover each other, and nothing is sideways", out[over] is False and out[fits] is True)


PLAIN = """text:
- "Dear reader,\\n"
- text: ["the answer is ", "${ 6 * 7 }", ".\\n"]
- for: {i: [1, 2, 3, 4, 5, 6, 7, 8]}
  repeat: "line\\n"
"""


def test_lines_of_plain_text(b, folder):
    """A text that cannot be pressed has its program lines below it where there is no margin, and in the margin alone where there is one."""
    trace_of(folder, "plain", PLAIN)
    v = View(folder / "plain.json", "--source", folder / "plain.pdl")
    b.read(v.address, {"viewport": {"width": 390, "height": 844}, "hasTouch": True, "isMobile": True})
    names = b.texts(".row > .lines-here > summary")
    b.click(".row > .lines-here > summary")
    lines = b.evaluate("document.querySelector('.row > .lines-here').innerText")
    paper = b.text(".paper")
    b.click(".paper .piece")
    opened = b.text(".sent .source")
    b.resize({"width": 1280, "height": 800})
    shown = b.evaluate("[...document.querySelectorAll('.lines-here')].filter((e) => e.offsetParent).length")
    written = b.count(".notes")
    without = View(folder / "plain.json")
    b.read(without.address, {"viewport": {"width": 1280, "height": 800}})
    told = b.texts("#document > .notes")
    out = b.run()
    v.end()
    without.end()
    check("a trace without its program says so once", len(out[told]) == 1 and "--source FILE" in out[told][0], out[told])
    check("lines of a file are not said to be written", out[written] == 0)
    check("a line for the text and one for the loop", out[names] == ["plain.pdl, line 2", "plain.pdl, line 4"], out[names])
    check("it has the lines", "Dear reader" in out[lines] and "6 * 7" in out[lines], out[lines])
    check("the text is alone in its sheet", out[paper] == "Dear reader,\nthe answer is 42.\n", out[paper])
    check("not beside the margin", out[shown] == 0, out[shown])
    check("what can be pressed has its own", "6 * 7" in out[opened] and "Dear" not in out[opened], out[opened])


def test_two_documents(b, folder):
    """Two runs are two documents: words that changed, the first difference in view, what was sent in both calls."""
    program = "text:\n- |\n  A beginning that both have.\n- def: who\n  lang: command\n  code: printf '%s'\n  contribute: []\n- \"The capital is ${ who } today.\\n\"\n- {model: openai/echo, input: \"Tell me of ${ who }\", parameters: {temperature: %s}}\n"
    with mock() as env:
        for name, city, heat in ("a", "London", 0), ("b", "Paris", 1):
            (folder / (name + ".pdl")).write_text(program % (city, heat))
            subprocess.run([PDL, name + ".pdl", "--trace=%s.json" % name], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    silent = json.loads((folder / "b.json").read_text(), object_hook=lambda d: {k: v for k, v in d.items() if k != "pdl__usage"})
    (folder / "b.json").write_text(json.dumps(silent))
    v = View("a.json", "b.json", folder=folder)
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    gone, come = b.texts("#document .paper del"), b.texts("#document .paper ins")
    chosen = b.evaluate("document.querySelector('.chosen')?.getBoundingClientRect().top")
    b.shot(picture("document-two"))
    cut = b.evaluate("[...document.querySelectorAll('#totals')].map((e) => { const r = document.createRange(); r.selectNodeContents(e); return Math.round(r.getBoundingClientRect().left - document.querySelector('h1').getBoundingClientRect().left); })[0]")
    read = b.evaluate("[[...document.querySelector('.paper').childNodes].map((e) => e.textContent), [...document.querySelectorAll('[role=heading]')].map((e) => e.textContent)]")
    b.press("d")
    second = b.text(".chosen")
    said = b.text("#said")
    b.click("#document .called .call")
    b.wait(".sent.both")
    heat = b.evaluate("[...document.querySelectorAll('.sent.both tr')].filter((r) => r.textContent.startsWith('temperature')).map((r) => [r.querySelector('del').textContent, r.querySelector('ins').textContent])")
    tokens = b.evaluate("[...document.querySelectorAll('.sent.both tr')].filter((r) => r.textContent.startsWith('tokens')).map((r) => [...r.querySelectorAll('td')].map((e) => e.textContent))")
    b.click("#document .called .call")
    closed = b.count(".sent.both")
    b.press("b")
    boxes = b.evaluate("[document.body.dataset.view, !!document.querySelector('#tree .pair').offsetParent]")
    b.press("b")
    axe = b.axe()
    problems = b.problems()
    narrow = View("a.json", "b.json", folder=folder)
    b.read(narrow.address, {"viewport": {"width": 390, "height": 844}})
    stacked = b.evaluate("(() => { const [x, y] = document.querySelector('.pair-row.differs').children; return y.getBoundingClientRect().top >= x.getBoundingClientRect().bottom && document.documentElement.scrollWidth <= innerWidth; })()")
    out = b.run()
    v.end()
    narrow.end()
    check("equal words are one text, and the runs have headings", out[read] == [["A beginning that both have.\nThe capital is ", "London", " today.\n"], ["First run", "Second run"]], out[read])
    check("the line below the title begins below it", out[cut] == 0, out[cut])
    check("words that changed", "London" in out[gone] and "Paris" in out[come], (out[gone], out[come]))
    check("the first difference is in view", out[chosen] is not None and 0 <= out[chosen] < 800, out[chosen])
    check("d goes on", bool(out[second]) and "of" in out[said], (out[second], out[said]))
    check("the calls of a text, what was sent in both", out[heat] == [["0", "1"]] and out[closed] == 0, (out[heat], out[closed]))
    check("tokens that a service does not count", len(out[tokens]) == 2 and all(int(a) > 0 and z == "" for a, z in out[tokens]), out[tokens])
    check("boxes behind b", out[boxes] == ["boxes", True], out[boxes])
    check("one below the other on a phone", out[stacked] is True)
    check("nothing is wrong", out[problems] == [] and out[axe] == [], (out[problems], out[axe]))


def test_two_prompts(b, folder):
    """Runs that differ only in what was sent: the first such call is opened, `d` opens the next; equal runs do not differ."""
    program = "text:\n- \"Answer: \"\n- {model: openai/m, input: \"Tell of %s, please\"}\n- \"\\n\"\n- {def: x, contribute: [], model: openai/m, input: Hidden, parameters: {temperature: %s}}\n- ${ x }\n"
    (folder / "replies.json").write_text(json.dumps([{"when": "", "reply": "The same."}]))
    with mock("--replies", str(folder / "replies.json")) as env:
        for name, city, heat in ("a", "London", 0), ("b", "Paris", 1), ("c", "London", 0):
            (folder / (name + ".pdl")).write_text(program % (city, heat))
            subprocess.run([PDL, name + ".pdl", "--trace=%s.json" % name], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    v, same = View("a.json", "b.json", folder=folder), View("a.json", "c.json", folder=folder)
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    b.wait(".sent.both")
    hint = b.text("#document .hint")
    words = b.texts(".sent.both .message :is(del, ins)")
    marks = b.texts("#document .other")
    b.press("d")
    b.wait(".sent.both td > del")
    heat = b.evaluate("[...document.querySelectorAll('.sent.both tr')].filter((r) => r.textContent.startsWith('temperature')).map((r) => r.textContent)")
    axe = b.axe()
    b.read(same.address)
    none = b.text("#document .hint")
    out = b.run()
    v.end()
    same.end()
    check("what they made is the same", "made the same" in out[hint] and "asked" in out[hint], out[hint])
    check("the words that differ", out[words] == ["London", "Paris"], out[words])
    check("marks", out[marks] == ["other messages"] * 2 + ["other model or parameters"] * 2, out[marks])
    check("the parameters of the next", out[heat] == ["temperature01"], out[heat])
    check("no difference", "do not differ" in out[none] and out[axe] == [], (out[none], out[axe]))


def page_of(trace):
    """The address of the run as one file."""
    out = pathlib.Path(str(trace) + ".html")
    subprocess.run([PDL, "view", str(trace), "--source", str(trace.with_suffix(".pdl")), "--html", str(out)], check=True, timeout=60)
    return "file://%s" % out


ATTEMPTS = {"kind": "text", "pdl__id": "text", "defs": {}, "pdl__result": "Counted: 3\n", "pdl__timing": {"start_nanos": 1, "end_nanos": 9}, "text": [
    {"kind": "data", "pdl__id": "text.0", "data": "Counted: ", "pdl__result": "Counted: ", "pdl__timing": {"start_nanos": 1, "end_nanos": 2}},
    {"kind": "code", "pdl__id": "text.1", "lang": "command", "args": ["count", "<b>"], "pdl__result": "3\n", "pdl__timing": {"start_nanos": 2, "end_nanos": 5000000009},
     "pdl__decisions": [{"sink": "command", "name": "count", "outcome": "approved", "answered": True, "nanos": 3000000002, "arguments": [
         {"name": "0", "text": "\"<b>\"", "untrusted": True, "sources": "read notes.txt"}]}],
     "pdl__abandoned": [{"kind": "error", "msg": "exit status 1", "program": {"kind": "code", "pdl__id": "text.1", "lang": "command", "args": ["count"], "pdl__result": "a half",
                                                                              "pdl__timing": {"start_nanos": 2, "end_nanos": 3}}}]}]}


def test_beside_the_text(b, folder):
    """What a person approved, with its answer; an attempt that failed is one line, and opened it says why and what it made."""
    (folder / "t.json").write_text(json.dumps(ATTEMPTS))
    v = View(folder / "t.json")
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    asked = b.text(".approval")
    marked = b.count(".approval b b")
    closed = b.texts(".attempt .work-body")
    b.click(".attempt .work-head")
    opened = b.text(".attempt")
    paper = b.texts(".paper")
    problems = b.problems()
    b.shot(picture("document-beside"))
    out = b.run()
    v.end()
    check("what was asked, and the answer", "May this be done? command count: yes" in out[asked] and '"<b>" (untrusted, from read notes.txt)' in out[asked] and "after 3.00 s" in out[asked], out[asked])
    check("as text", out[marked] == 0)
    check("an attempt is closed", out[closed] == [""], out[closed])
    check("opened", out[opened].startswith("Attempt 1 failed and was repeated") and "exit status 1" in out[opened] and "Not part of the document" in out[opened] and "a half" in out[opened], out[opened])
    check("the text is without it", "".join(out[paper]) == "Counted: 3\n", out[paper])
    check("no errors in the page", out[problems] == [], out[problems])


# Results, and how their lines end at first: whole, or at the end of a line or word, with a button for the rest.
RESULTS = [("brief", "brief"), (" ".join(["word"] * 120), "word"), ("\n".join("row %d" % i for i in range(12)), "row 11"),
           ("\n".join("row %d" % i for i in range(60)), "row 7 \u2026 Show all 120 words"), (" ".join(["word"] * 300), "word word \u2026 Show all 300 words"), ("w" * 900, "www \u2026 Show all 1 word")]


def test_results_on_a_phone(b, folder):
    """A long result begins with whole lines and words, and a press shows all of it. Works of one name have numbers in the contents."""
    results = "".join("  - {lang: command, args: [printf, '%%s', %s]}\n" % json.dumps(r) for r, _ in RESULTS)
    works = "".join("- {def: step, contribute: [], lang: command, code: 'printf %d'}\n- \"${ step }.\\n\"\n" % i for i in (1, 2))
    v = View(trace_of(folder, "results", "text:\n- def: out\n  contribute: []\n  array:\n%s- ${ out | length }\n- \"\\n\"\n%s- {read: , message: 'Go on? '}\n" % (results, works)), "--source", folder / "results.pdl")
    b.read(v.address, {"viewport": {"width": 390, "height": 844}})
    b.evaluate("document.querySelectorAll('.work-head[aria-expanded=false]').forEach((e) => e.click())")
    b.pause(300)
    shown = b.texts(".line .saying")
    scrolled = b.evaluate("[...document.querySelectorAll('.line .saying')].filter((e) => e.scrollHeight > e.clientHeight + 2).length")
    b.evaluate("document.querySelectorAll('.line .show-all').forEach((e) => e.click())")
    whole = b.texts(".line .saying")
    entries = b.evaluate("[...document.querySelectorAll('#outline [role=treeitem] .what')].map((e) => e.textContent).filter((t) => /^How/.test(t))")
    fault = b.text(".fault")
    problems = b.problems()
    b.shot(picture("results-phone"))
    out = b.run()
    v.end()
    check("every result has a line", len(out[shown]) >= len(RESULTS), out[shown])
    for (text, end), at_first, later in zip(RESULTS, out[shown], out[whole]):
        check("the beginning ends with %s" % end, at_first.endswith(end) and len(at_first) < 700, at_first)
        check("all of it", later == text, later)
    check("nothing is scrolled", out[scrolled] == 0, out[scrolled])
    check("works of one name", out[entries] == ["How out", "How step 1: 1.", "How step 2: 2.", "How this"], out[entries])
    check("no answer came", "The input ended before this question was answered" in out[fault], out[fault])
    check("no errors in the page", out[problems] == [], out[problems])


def test_a_value_is_a_table(b, folder):
    """A run that prints nothing but a value shows it as a table or a tree, with a switch to the text as it was printed."""
    table = trace_of(folder, "table", "data: [{city: Rome, people: 3}, {city: <b>Paris</b>, people: 2}, {city: Oslo}]\n")
    tree = trace_of(folder, "tree", "data: {a: {b: [1, 2]}}\n")
    views = [View(table), View(tree)]
    b.read(views[0].address)
    cells = b.texts(".paper tbody td")
    heads = b.texts(".paper th")
    in_view = b.evaluate("[...document.querySelectorAll('.paper td')].every((e) => { const r = e.getBoundingClientRect(); return !r.width || document.elementFromPoint(r.x + 3, r.y + 3)?.closest('td') === e; })")
    b.click(".paper .flip")
    text = b.text(".paper .piece")
    b.read(views[1].address)
    keys = b.texts(".paper .json-key")
    out = b.run()
    for v in views:
        v.end()
    check("a table", out[cells] == ["Rome", "3", "<b>Paris</b>", "2", "Oslo", ""] and out[heads] == ["city", "people"], out[cells], out[heads])
    check("none of it is clipped", out[in_view] is True)
    check("as it was printed", out[text].strip() == '[{"city": "Rome", "people": 3}, {"city": "<b>Paris</b>", "people": 2}, {"city": "Oslo"}]', out[text])
    check("a tree", out[keys][:2] == ["a: ", "b: "], out[keys])


TRIED = """text:
- {model: openai/m, input: price, parser: json, spec: {price: integer}, retry: 3}
- "\\n"
"""


def test_a_call_of_an_attempt_is_opened(b, folder):
    """A bar of the strip opens its call, also in an attempt that failed and is closed; find opens it, too."""
    (folder / "replies.json").write_text(json.dumps([{"when": "price", "reply": "it is three", "times": 1}, {"when": "price", "reply": '{"price": 3}'}]))
    (folder / "a.pdl").write_text(TRIED)
    with mock("--replies", str(folder / "replies.json")) as env:
        subprocess.run([PDL, "--trace=t.json", "a.pdl"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    v = View(folder / "t.json")
    b.read(v.address, {"viewport": {"width": 1280, "height": 800}})
    numbers = b.texts("#strip .bar")
    b.click("#strip .bar[data-call='1']")
    b.wait(".attempt .sent")
    reply = b.text(".attempt .sent [data-role=reply]")
    out = b.run()
    v.end()
    check("two bars", len(out[numbers]) == 2, out[numbers])
    check("the call of the attempt", "it is three" in out[reply], out[reply])


LATE = """defs: {rules: '${ "Answer in one word, and never lie. " * 170 }'}
for: {i: [1, 2, 3]}
repeat:
  lastOf:
  - if: ${ i == 3 }
    then: {lang: command, code: sleep 0.1}
  - model: anthropic/m
    parameters: {cache: auto}
    input:
      data:
      - {role: system, content: "${ rules }"}
      - {role: user, content: "On ${ i }"}
"""


def test_beginning_that_expired(b, folder):
    """The opened call says what a prompt cache no longer had. A second of the cache is a tenth of a millisecond here."""
    (folder / "late.pdl").write_text(LATE)
    (folder / "prices.json").write_text(json.dumps({"*": {"input": 1e-6, "output": 2e-6, "cached_input": 1e-7}}))
    server = prompt_caches.start(prompt_caches.Anthropic, expired=(3,))
    try:
        env = {**prompt_caches.surroundings(server), "PDL_PRICES": "prices.json"}
        subprocess.run([PDL, "--jobs", "1", "--record", "late.journal", "late.pdl"], cwd=folder, env=env, capture_output=True, check=True, timeout=60)
    finally:
        prompt_caches.stop(server)
    v = View("late.journal", folder=folder, env={**env, "PDL_STRESS": "time:0.0001"})
    try:
        b.read(v.address)
        said = []
        for n in 1, 2, 3:
            b.click("#strip .bar[data-call='%d']" % n)
            b.wait(".sent-top b:has-text('Call %d,')" % n)
            said.append(b.text(".sent .prefix"))
        got = b.run()
    finally:
        v.end()
    first, second, third = (got[i] for i in said)
    check("the first", first == "Prompt cache: no earlier call begins like this one; the service found 0 tokens.", first)
    check("one that was found", "99 % begins as call 1; the service found 1,498 tokens. In message 1 `i`, from the loop (late.pdl, line 12), is another." in second and "expired" not in second, second)
    check("one that had expired", re.search(r"That beginning had expired: last used \d+ seconds? before, and kept for 5 minutes\. Lost: about 1,\d+ tokens, \$0\.0013\. "
                                            r"cache_control with ttl: 1h would have kept it\.$", third), third)


def test_whole_texts(b, folder):
    """A text of which the server sends 4 KB is there to its end after a press, wherever it is, from a server and in one file."""
    words = " ".join("word%d" % i for i in range(2000))
    lines = "\\n".join("line %d of many" % i for i in range(900))
    program = "defs:\n  f: {function: {a: string}, return: '${ a }'}\n  long: {model: openai/echo, input: '%s'}\ntext:\n- \"${ long | length }\\n\"\n- {data: \"%s\", raw: true}\n- \"\\n\"\n- {call: '${ f }', args: {a: '%s'}}\n" % (words, lines, words)
    with mock() as env:
        (folder / "whole.pdl").write_text(program)
        subprocess.run([PDL, "whole.pdl", "--trace=whole.json"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    v = View(folder / "whole.json", "--source", "whole.pdl", folder=folder)
    subprocess.run([PDL, "view", "whole.json", "--source", "whole.pdl", "--html", "whole.html"], cwd=folder, check=True)
    press = "(async () => { for (let i = 0; i < 5; i++) { for (const e of document.querySelectorAll('#document .show-all')) e.click(); await new Promise((r) => setTimeout(r, 150)); } })()"
    seen = "(() => { const text = [...document.querySelectorAll('#document .paper, #document .line')].map((e) => e.textContent).join(); return ['word1999', 'line 899 of many'].map((x) => text.split(x).length - 1).concat(document.querySelectorAll('.show-all').length); })()"
    found = []
    for url in v.address, "file://%s" % (folder / "whole.html"):
        b.read(url)
        before = b.evaluate(seen)
        b.evaluate(press)
        found.append((before, b.evaluate(seen), b.problems()))
    out = b.run()
    v.end()
    for before, after, problems in found:
        check("cut at first", out[before][:2] == [0, 0] and out[before][2] >= 1, out[before])
        check("whole after a press", out[after][0] >= 2 and out[after][1] == 1 and out[after][2] == 0, out[after])
        check("nothing is wrong", out[problems] == [], out[problems])
