# SPDX-License-Identifier: Apache-2.0
"""Everyone can reach everything in the Live Document: with a keyboard alone, with few colours, on paper, by an address, and among thousands of
boxes."""
import re
import subprocess

import pytest

from .browse import PDL, ROOT, View, check, mock, trace_of

pytestmark = [pytest.mark.builds, pytest.mark.roomy]


def test_accessible(b, folder):
    """What axe-core finds in light, dark and two runs, with all panes open. A box is named by what it is, its whole text would be too much for a name, and bars of
    time are small, since each of them is a box of the tree, too."""
    trace = folder / "react.json"
    subprocess.run([PDL, "--replay", str(ROOT / "examples/react.journal"), str(ROOT / "examples/react.pdl"), "--trace=" + str(trace)], stdin=subprocess.DEVNULL, capture_output=True)
    fail = trace_of(folder, "fail", "text:\n- before\n- for: {i: [1, 2, 3]}\n  repeat: {text: '${ 6 // (3 - i) }'}\n")
    found, views = [], []
    for files in ((trace,), (fail,), (fail, trace)):
        for scheme in ("light", "dark"):
            views.append(View(*files))
            b.open(views[-1].address, {"colorScheme": scheme})
            b.wait("#tree [role=treeitem]")
            if scheme == "light":
                found.append((files, scheme, b.axe("label-content-name-mismatch", "scrollable-region-focusable")))
            b.click("#tree [data-kind=data] .title")
            b.wait("#details h2")
            for button in ("time", "find", "help", "export"):
                b.click("#show-" + button)
            b.wait(".bar")
            b.wait(".lines li")
            found.append((files, scheme + ", all open", b.axe("label-content-name-mismatch", "scrollable-region-focusable", "target-size")))
    out = b.run()
    for v in views:
        v.end()
    for which, how, said in found:
        check("axe: %s, %s" % ([f.stem for f in which], how), out[said] == [], out[said])


def test_keyboard(b, folder):
    """Without a mouse: lines of the program and bars of time are walked with arrows, a closed pane gives its focus back, long texts scroll; one box has the Tab key."""
    trace = trace_of(folder, "keys", "text:\n- one\n- two\n- \"${ 'words ' * 4000 }\"\n")
    v = View(trace, "--source", folder / "keys.pdl")
    b.open(v.address)
    stops = "document.querySelectorAll('#tree [role=treeitem][tabindex=\"0\"]').length"
    b.press("Tab")
    b.evaluate("document.querySelector('#box-0').focus()")
    b.press("ArrowDown")
    one_stop = b.evaluate(stops)
    b.wait(".lines .marked")
    b.evaluate("document.querySelector('#code [role=option][tabindex=\"0\"]').focus()")
    b.press("ArrowDown")
    line = b.evaluate("document.activeElement.textContent")
    stops_of_code = b.evaluate("document.querySelectorAll('#code [tabindex=\"0\"]').length")
    b.press("Enter")
    chosen = b.text("[aria-selected=true] > .result")
    b.press("t")
    b.wait(".bar")
    b.evaluate("document.querySelector('.bar[tabindex=\"0\"]').focus()")
    b.press("ArrowRight")
    bar = b.evaluate("[...document.querySelectorAll('.bar')].indexOf(document.activeElement)")
    b.press("Enter")
    by_bar = b.evaluate("document.activeElement.id")
    b.press("/")
    b.press("Escape")
    back = b.evaluate("document.activeElement.id")
    b.press("End")
    b.press("PageDown")
    scrolled = b.evaluate("document.querySelector('[aria-selected=true] > .result').scrollTop")
    b.wait("#details .member[tabindex='0']")
    member = b.attribute("#details .member[tabindex='0']", "aria-label")
    problems = b.problems()
    out = b.run()
    v.end()
    check("one box can be reached with Tab", out[one_stop] == 1, out[one_stop])
    check("arrows walk over lines", out[line] == "- two" and out[stops_of_code] == 1, (out[line], out[stops_of_code]))
    check("Enter on a line chooses its box", out[chosen] == "two", out[chosen])
    check("arrows walk over bars, Enter chooses", out[bar] == 1 and out[by_bar].startswith("box-"), (out[bar], out[by_bar]))
    check("a pane that is closed gives the focus back", out[back] == out[by_bar], (out[back], out[by_bar]))
    check("a long text can be scrolled", out[member] == "Result" and out[problems] == [], (out[scrolled], out[member], out[problems]))


def test_links(b, folder):
    """The address leads to the chosen box: loaded again, typed, and in a file of one page; one that leads nowhere shows the run. Parts of an object have their keys."""
    trace = trace_of(folder, "links", "defs:\n  tools: {object: {add: {function: {a: int}, return: 1}}}\ntext:\n- one\n- for: {i: '${ range(500) | list }'}\n  repeat: row ${ i }\n")
    html = folder / "links.html"
    subprocess.run([PDL, "view", str(trace), "--html", str(html)], check=True)
    v = View(trace)
    b.open(v.address)
    add = b.text("[data-kind=function] > .title .def")
    b.press("/")
    b.fill("#find [name=text]", "row 444")
    b.press("Enter")
    b.wait("[aria-selected=true]:has-text('row 444')")
    address = b.evaluate("location.hash")
    b.evaluate("location.reload()")
    b.wait("[aria-selected=true]:has-text('row 444')")
    b.wait("body[data-ready]")
    b.evaluate("(() => { location.hash = '#box-0'; })()")
    b.wait("#box-0[aria-selected=true]")
    problems = [b.problems()]
    b.open("file://%s#box-300" % html)
    there = b.wait("#box-300[aria-selected=true]")
    problems.append(b.problems())
    for bad in ("#box-99999999", "#<script>", "#box-x", "#7", "#box-"):
        b.open("file://%s%s" % (html, bad))
        b.wait(":is(#box-0, #document article):visible")
        problems.append(b.problems())
    out = b.run()
    v.end()
    check("the key of a part", out[add] == "add", out[add])
    check("the address leads to the box", re.fullmatch(r"#box-\d+", out[address]) and out[there] is True, out[address])
    check("addresses that lead nowhere", all(out[p] == [] for p in problems), [out[p] for p in problems])


def test_media(b, folder):
    """On paper everything that is open is there, in black on white; with the system's few colours what is chosen can be seen."""
    trace = trace_of(folder, "media", "text:\n- one\n- \"${ 'words and more words\\n' * 25 }\"\n")
    v = View(trace, "--source", folder / "media.pdl")
    b.open(v.address, {"colorScheme": "dark"})
    b.click("#box-1 .title")
    b.wait(".lines .marked")
    b.media({"media": "print"})
    cut = b.evaluate("[...document.querySelectorAll('.result')].filter((e) => e.scrollHeight > e.clientHeight + 1 && e.clientHeight).length")
    back = b.evaluate("getComputedStyle(document.body).backgroundColor")
    side = b.evaluate("getComputedStyle(document.querySelector('#side')).display")
    b.media({"media": "screen", "forcedColors": "active"})
    style = b.evaluate("(() => { const of = (s) => getComputedStyle(document.querySelector(s)); return [of('[aria-selected=true]').outlineStyle, of('.lines .marked').backgroundColor, "
                       "getComputedStyle(document.body).backgroundColor]; })()")
    b.media({"forcedColors": "none", "reducedMotion": "reduce"})
    moving = b.evaluate("[...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e); return s.animationName !== 'none' || s.transitionDuration !== '0s' || "
                        "s.scrollBehavior === 'smooth'; }).length")
    out = b.run()
    v.end()
    check("paper", out[cut] == 0 and out[back] == "rgb(253, 253, 252)" and out[side] == "none", (out[cut], out[back], out[side]))
    check("few colours", out[style][0] == "solid" and out[style][1] != out[style][2], out[style])
    check("nothing moves", out[moving] == 0, out[moving])


def test_crowd(b, folder):
    """A run of more boxes than a page shows, while it goes on: the newest are shown, what is asked can be answered, the oldest come back, find and time know all."""
    (folder / "crowd.pdl").write_text("text:\n- for: {i: '${ range(4000) | list }'}\n  repeat: {text: ['row ${ i }']}\n- {read: , message: 'Name? ', def: who}\n")
    p = subprocess.Popen([PDL, "--view", "crowd.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1])
    asked = b.wait("form.question input")
    shown = b.count("#tree [role=treeitem]")
    earlier = b.texts(".earlier")
    text = b.text("#tree")
    b.press("Escape")
    b.click("#show-time")
    bars = b.wait(".bar")
    b.click("#show-find")
    b.fill("#find [name=model]", "nobody")
    b.press("Enter")
    b.wait("#find output:has-text('nothing found')")
    b.fill("#find [name=model]", "")
    b.fill("#find [name=text]", "row 17")
    b.press("Enter")
    b.wait("#find output:has-text('1 of 111')")
    found = b.text("[aria-selected=true]")
    b.click(".earlier")
    b.wait("#tree .result:text-is('row 0')")
    b.fill("form.question input", "Ada")
    b.click("form.question button")
    b.wait("#totals:has-text('boxes')")
    b.click("#show-export")
    names = b.texts("#export button")
    trace = b.evaluate("fetch('/api/0/trace').then((r) => r.json()).then((t) => [t.kind, t.text.length])")
    problems = b.problems()
    out = b.run()
    p.terminate()
    p.wait(10)
    check("what is asked is shown after many boxes", out[asked] is True, out[asked])
    check("the newest boxes are shown", out[shown] <= 3500 and "row 3999" in out[text] and out[earlier][0].endswith(" earlier"), (out[shown], out[earlier]))
    check("time and find while it goes on", out[bars] is True and "row 17" in out[found], (out[bars], out[found]))
    check("the trace is exported", out[names] == ["Text", "Markdown", "Trace"] and out[trace] == ["text", 2] and out[problems] == [], (out[names], out[trace], out[problems]))


def test_tabs(b, folder):
    """Two tabs answer the same question: one answer counts, who typed the other one is told and keeps it; nobody is disturbed while typing; a tab that is loaded
    again shows the same. What is asked, and the end, are said to screen readers."""
    (folder / "ask.pdl").write_text("text:\n- read:\n  message: 'Name? '\n  def: who\n- Hello ${ who }\n- {read: , message: 'More? ', def: more}\n")
    p = subprocess.Popen([PDL, "--view", "ask.pdl"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    b.open(p.stderr.readline().split()[-1], {"viewport": {"width": 360, "height": 640}})
    b.wait("form.question input")
    said = [b.text("#said")]
    wide = b.evaluate("document.documentElement.scrollWidth")
    b.tab()
    b.wait("form.question input")
    b.fill("form.question input", "second")
    b.turn(0)
    b.fill("form.question input", "first")
    b.click("form.question button")
    b.wait("form.question input[aria-label='More? ']")
    own = b.count(".answered")
    b.turn(1)
    b.wait("form.question input[aria-label='More? ']")
    told = b.text(".answered")
    b.evaluate("location.reload()")
    b.wait("form.question input[aria-label='More? ']")
    again = b.text("#tree")
    b.press("/")
    b.click("#box-2 > .title")
    b.fill("form.question input", "x")
    b.click("form.question button")
    b.wait("#totals:has-text('boxes')")
    b.wait("#said:not(:empty)")
    said.append(b.text("#said"))
    kept = b.text("[aria-selected=true]")
    b.turn(0)
    b.wait("#totals:has-text('boxes')")
    problems = b.problems()
    out = b.run()
    p.terminate()
    result = p.communicate(timeout=10)[0]
    check("one answer counts", "first" in result and "second" not in result, result)
    check("who was later is told", out[own] == 0 and out[told] == "This was answered in another window or on the terminal. What you typed: second", (out[own], out[told]))
    check("a tab that is loaded again", "first" in out[again] and "More? " in out[again], out[again])
    check("what was chosen is chosen after the end", "Hello first" in str(out[kept]), out[kept])
    check("it is said", out[said[0]] == "The program asks: Name? " and out[said[1]].startswith("The run is over: "), [out[s] for s in said])
    check("a narrow window", out[wide] == 360 and out[problems] == [], (out[wide], out[problems]))


RIGHT_TO_LEFT = "\u202e"


def test_texts(b, folder):
    """Signs that turn the direction of writing turn only the text that they are in; what is copied is the text; every control has a name."""
    (folder / "texts.pdl").write_text("text:\n- data: {\"ab\\u202ecd\": value, next: two}\n- \"<b>one</b>\\n  two\\u202e tfel\"\n- \"\\u05e9\\u05dc\\u05d5\\u05dd\"\n")
    trace = trace_of(folder, "texts", (folder / "texts.pdl").read_text())
    v = View(trace, "--source", folder / "texts.pdl")
    b.open(v.address)
    copied = b.copied("#box-2 > .result")
    start = b.evaluate("getComputedStyle(document.querySelector('#box-3 > .result')).unicodeBidi")
    b.click("#box-1 .title")
    b.wait("#details .json-key")
    order = b.evaluate("(() => { const key = document.querySelector('#details .json-key'), rest = document.createRange(); rest.selectNodeContents(key.parentElement); "
                       "rest.setStartAfter(key); return [key.getBoundingClientRect().right, rest.getBoundingClientRect().left]; })()")
    for button in ("time", "find", "help", "export"):
        b.click("#show-" + button)
    b.wait(".lines li")
    nameless = b.nameless()
    small = []
    b.open("file://" + str(written(trace, folder)), {"viewport": {"width": 640, "height": 360}})
    b.click("#show-help")
    small.append(b.evaluate("document.querySelector('#tree').clientHeight"))
    b.feature("prefers-contrast", "more")
    faint = b.evaluate("[getComputedStyle(document.querySelector('#totals')).color, getComputedStyle(document.body).color]")
    problems = b.problems()
    out = b.run()
    v.end()
    check("what is copied is the text", out[copied] == "<b>one</b>\n  two" + RIGHT_TO_LEFT + " tfel", repr(out[copied]))
    check("texts begin at their own side", out[start] == "plaintext", out[start])
    check("a key turns nothing beside it", out[order][1] >= out[order][0] - 1, out[order])
    check("every control has a name", out[nameless] == [], out[nameless])
    check("a flat window with the help open shows boxes", out[small[0]] > 100, out[small[0]])
    check("more contrast", out[faint][0] == out[faint][1] and out[problems] == [], (out[faint], out[problems]))


def written(trace, folder):
    subprocess.run([PDL, "view", str(trace), "--html", str(folder / "texts.html")], check=True)
    return folder / "texts.html"


PAPER = """text:
- for: {i: "${ range(20)|list }", word: "${ ['a word and more of them '] * 20 }"}
  map: {object: {square: "${ i * i }", text: "${ (word * 6) ~ i }"}}
  join: {as: array}
- "\\n${ 'a line\\\\n' * 40 }"
- {model: openai/echo, input: "${ 'say this again ' * 200 }"}
- for: {i: "${ range(40)|list }"}
  repeat: "round ${ i }\\n"
"""


def test_document_on_paper(b, folder):
    """A printed document has nothing to press and nothing that would have to be scrolled, a call that is open is there as a whole, and what is left out is marked."""
    with mock() as env:
        (folder / "paper.pdl").write_text(PAPER)
        subprocess.run([PDL, "paper.pdl", "--trace=paper.json"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    v = View(folder / "paper.json", "--source", folder / "paper.pdl")
    b.read(v.address, {"viewport": {"width": 720, "height": 900}, "colorScheme": "dark"})
    b.evaluate("document.querySelectorAll('.work-head[aria-expanded=false]').forEach((e) => e.click())")
    b.click("[data-call='1']")
    b.wait(".sent .chat")
    b.media({"media": "print"})
    scrolled = b.evaluate("[...document.querySelectorAll('#document *')].filter((e) => e.checkVisibility() && getComputedStyle(e).overflow !== 'visible' && (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1) && e.clientHeight).map((e) => e.className)")
    fields = b.evaluate("[...document.querySelectorAll('input, nav button, .acts button, .close, .below, .lines-here')].filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 80))")
    marks = b.evaluate("[...document.querySelectorAll('.show-all')].filter((e) => e.checkVisibility()).map((e) => [getComputedStyle(e).fontSize, getComputedStyle(e, '::after').content])")
    heads = b.evaluate("[...document.querySelectorAll('.grid th button')].map((e) => getComputedStyle(e).display)")
    wide = b.evaluate("[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + '.' + e.className)")
    back = b.evaluate("getComputedStyle(document.body).backgroundColor")
    out = b.run()
    v.end()
    check("nothing is scrolled", out[scrolled] == [], out[scrolled])
    check("nothing to press", out[fields] == [], out[fields])
    check("what is left out", out[marks] and all(m == ["0px", '"\u2026"'] for m in out[marks]), out[marks])
    check("heads are drawn on each page", out[heads] and set(out[heads]) == {"contents"}, out[heads])
    check("nothing sideways, and no ground", out[wide] == [] and out[back] == "rgba(0, 0, 0, 0)", (out[wide], out[back]))
