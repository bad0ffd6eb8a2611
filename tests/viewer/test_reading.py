# SPDX-License-Identifier: Apache-2.0
"""A run as a document, without a browser: `pdl view --text` is the printed text of the run, byte for byte, and `--md` shows each form as its golden
(expected/NAME.md; PDL_UPDATE=1 writes it). The goldens have no times, because these depend on the machine."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from ..checks import check
from ..harness.choice import Choice, ROOT
from ..page.browse import mock
from .test_view import View

HERE = pathlib.Path(__file__).resolve().parent
PDL = str(Choice.build / "pdl")
EXAMPLES = ROOT / "examples"
PRINTED = ROOT / "tests/examples/expected"
RECORDED = sorted(p.relative_to(EXAMPLES).with_suffix("") for p in EXAMPLES.glob("**/*.journal") if p.with_suffix(".pdl").exists())
# What stands on standard output beside the text of the run: the prompts of `read`, and what was shown on the way.
PROMPTS = {"chatbot": ["> "] * 4, "patterns/chatbot": ["What is your query?\n", "\nEnter a query or say \"quit\" to exit.\n", "\nEnter a query or say \"quit\" to exit.\n"]}
TIME = re.compile(r"(, | \u00b7 | \(| after )[\d.]+ (ms|s|min \d+ s)\b\)?")
# Never in what a document says around the text of its run.
NEVER = re.compile(r"pdl__|<function|litellm|\btext\.\d|lastOf|\bempty\b|NaN|undefined")


def view(*args, **more):
    return subprocess.run([PDL, "view", *map(str, args)], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False, **more)


def without(text, parts):
    for part in parts:
        assert part in text, (part, text)
        text = text.replace(part, "", 1)
    return text


@pytest.mark.parametrize("name", map(str, RECORDED))
def test_text_of_example(name):
    r = view(name + ".journal", "--source", name + ".pdl", "--text", "-", cwd=EXAMPLES)
    want = (PRINTED / (name + ".txt")).read_text("utf-8")
    if name == "patterns/qwen":  # everything but the end is shown on the way
        want = want[want.rindex("\033[0m\n") + 5:]
    check("text of " + name, r.returncode == 0 and r.stdout.decode() == without(want, PROMPTS.get(name, [])), r.stdout.decode(), r.stderr.decode())


# name: (program, what is typed); what each prints is compared with `--text`, and how it is shown with a golden
SHAPES = {
    "literals": ("description: A greeting\ntext:\n- Hello\n- ' world'\n- \"\\n\"\n- \"${ 1 + 1 }\\n\"\n", ""),
    "functions": ("# Nested calls: each says one thing.\ndefs:\n  inner: {function: {n: integer}, return: \"<${ n }>\"}\n  outer:\n    function: {n: integer}\n    return:\n"
                  "      text:\n      - call: ${ inner }\n        args: {n: \"${ n }\"}\n      - call: ${ inner }\n        args: {n: \"${ n + 1 }\"}\ntext:\n- call: ${ outer }\n  args: {n: 4}\n"
                  "- \"\\n\"\n- \"${ outer(7) }\\n\"\n", ""),
    "loop": ("text:\n- for: {i: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}\n  repeat: \"Line ${ i }\\n\"\n- \"in one line: \"\n- for: {i: [1, 2, 3, 4, 5, 6, 7, 8]}\n  repeat: ${ i }\n  join: {with: ', '}\n", ""),
    # Loops and maps that called nothing. The last definition has too few rows, and no piece uses the one before it.
    "plain-loops": ("defs:\n  halves: {for: {i: \"${ range(9) | list }\"}, repeat: {data: {n: \"${ i }\", half: \"${ i // 2 }\"}}, join: {as: array}}\n"
                    "  table:\n    array:\n    - {for: {i: [1, 2, 3, 4]}, map: {data: \"${ i * i }\"}, join: {as: array}}\n"
                    "    - {for: {i: [1, 2, 3, 4]}, map: {for: {k: [1, 2, 3, 4]}, map: {data: {product: \"${ i * k }\"}}, join: {as: array}}, join: {as: array}}\n"
                    "  f: {function: {n: integer}, return: {for: {i: \"${ range(n) | list }\"}, map: {data: \"${ i }\"}, join: {as: array}}}\n"
                    "  made: {call: \"${ f }\", args: {n: 9}}\n"
                    "  unused: {for: {i: [1, 2, 3, 4]}, map: {data: \"${ i }\"}, join: {as: array}}\n  few: {for: {i: [1, 2, 3]}, map: {data: \"${ i }\"}, join: {as: array}}\n"
                    "text:\n- \"${ halves | length } halves, ${ few }, ${ made }\\n\"\n- \"${ table[0] }\\n\"\n"
                    "- {for: {i: [1, 2, 3, 4]}, map: {data: {square: \"${ i * i }\"}}, join: {as: array}}\n- \"\\n\"\n- {for: {i: [1, 2, 3, 4]}, map: \"row ${ i }\\n\"}\n", ""),
    "joins": ("text:\n- for: {i: [1, 2]}\n  repeat: ${ i }\n  join: {as: array}\n- for: {i: [1, 2]}\n  repeat: ${ i }\n  join: {as: lastOf}\n- sequence: [a, b]\n  join: {with: '+'}\n"
              "- sequence: [c, d]\n  join: {as: lastOf}\n- lastOf: [e, f]\n- array: [g, h]\n- {object: {a: i}}\n- for: {i: [1, 2]}\n  repeat: {data: {k: \"${ i }\"}}\n  join: {as: object}\n", ""),
    "map": ("text:\n- for: {i: [1, 2, 3, 4, 5]}\n  map:\n    lang: command\n    code: printf '%s ' ${ i }\n- \"\\n\"\n", ""),
    "failure": ("text:\n- \"Order: \"\n- def: price\n  lang: command\n  code: printf 3\n- \"\\n\"\n- \"${ {'tea': 3}['pie'] }\\n\"\n- never\n", ""),
    # The answer fails after the text below it was made, which is not printed: the run ended above it.
    "failed-later": ("text:\n- \"Before\\n\"\n- {model: openai/m, parameters: {base_url: \"http://127.0.0.1:9/v1\", api_key: k, num_retries: 0}}\n"
                     "- {text: \"Never\\n\", contribute: [result]}\n", ""),
    "failed-work": ("defs:\n  f: {function: {x: integer}, return: \"${ 1 // x }\"}\n  y: {call: \"${ f }\", args: {x: 0}}\ntext: [\"${ y }\"]\n", ""),
    "fallback": ("text:\n- text: [\"${ 1 // 0 }\"]\n  fallback: \"instead\\n\"\n- lang: command\n  code: 'false'\n  fallback: code\n- data: \"{\"\n  parser: json\n  fallback: \" parsed\"\n", ""),
    "question": ("text:\n- read:\n  message: \"Name? \"\n  def: name\n  contribute: []\n- \"Hello ${ name }\\n\"\n- read:\n  message: \"And? \"\n", "Ada\nfine\n"),
    # Standard input has ended.
    "failed-question": ("text:\n- \"Dear Ada\\n\"\n- {def: ask, read: , message: \"Sent? \", contribute: []}\n- \"${ ask }\\n\"\n", ""),
    "quiet": ("text:\n- role: system\n  content: You are a helpful guide.\n  contribute: [context]\n- text: \"Never say no to anybody.\"\n  contribute: [context]\n- \"Said.\\n\"\n", ""),
    "shown": ("defs:\n  stdlib: {import: lib/stdlib}\n  f: {function: {x: string}, return: {text: [\"${ stdlib.show('inside ' ~ x) }\", \"f of ${ x }\"]}}\ntext:\n- \"Start.\\n\"\n"
              "- \"A line \"\n- ${ stdlib.show('in its middle', '!\\n') }\n- \"ends.\\n\"\n- {call: \"${ f }\", args: {x: a}}\n- \"\\n\"\n- ${ f('b') ~ '\\n' }\n"
              "- {text: [\"to the screen\"], contribute: [stdout]}\n- {for: {i: [1, 2]}, repeat: \"${ stdlib.show('round ' ~ i) }\"}\n- End\n", ""),
    "value": ("data: {name: Ada, langs: [pdl, yaml], more: {deep: true, none: null}}\n", ""),
    "code": ("defs:\n  rows: {lang: command, code: \"printf 'a b'\"}\n  n: ${ rows | length }\ntext:\n- \"Counted ${ n }\\n\"\n- lang: jinja\n  code: \"{{ 3 }}\\n\"\n- lang: pdl\n  code: \"text: [x, y]\"\n", ""),
    "parsers": ("text:\n- data: '{\"a\":1,   \"b\":[1,2]}'\n  parser: json\n- data: \"a: 1\\nb: [1, 2]\"\n  parser: yaml\n- data: \"[3]\\n{}\"\n  parser: jsonl\n- data: x=7\n  parser: {regex: 'x=(.*)', mode: fullmatch}\n", ""),
    "choices": ("defs: {x: 3}\ntext:\n- if: ${ x > 2 }\n  then: big\n  else: small\n- if: ${ x > 5 }\n  then: big\n- match: ${ x }\n  with:\n  - case: 1\n    then: one\n  - case: 3\n    then: [three, \"\\n\"]\n"
                "- if: ${ x < 2 }\n  then: a\n  else: \" b\\n\"\n", ""),
    "progress": ("text:\n- \"First line.\\n\"\n- {lang: command, code: printf two, contribute: [stdout]}\n- \"Second line.\\nThird \"\n- {lang: command, code: printf four, contribute: [stdout]}\n- \"line.\\nFourth \"\n- \"line.\\n\"\n", ""),
    "escapes": ("text:\n- \"\\e[1mbold\\e[0m and \\e]8;;http://a\\e\\\\link\\e]8;;\\e\\\\\\n\"\n", ""),
}
# Of examples with models: what a recording holds.
RECORDED_SHAPES = {"chat": "chatbot", "agent": "patterns/team", "rag": "rag", "tools": "tools", "router": "patterns/router"}


def judge(name, text):
    shown = TIME.sub("", text)
    path = HERE / "expected" / (name + ".md")
    if os.environ.get("PDL_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    check("%s as a document" % name, shown == path.read_text("utf-8"), shown)
    bare = shown.replace("\\", "")
    check("words around %s" % name, not NEVER.search(bare), NEVER.findall(bare))


@pytest.mark.parametrize("name", SHAPES)
def test_shape(name, folder):
    program, typed = SHAPES[name]
    (folder / (name + ".pdl")).write_text(program)
    run = subprocess.run([PDL, "--trace=t.json", name + ".pdl"], cwd=folder, input=typed, capture_output=True, text=True, timeout=60, check=False)
    prompts = {"question": ["Name? ", "And? "], "failed-question": ["Sent? "], "progress": ["two\n", "four\n"], "shown": ["in its middle!\n", "inside a\n", "inside b\n", "to the screen\n", "round 1\n", "round 2\n"]}.get(name, [])
    r = view("t.json", "--text", "-", cwd=folder)
    check("text of " + name, r.stdout.decode() == without(run.stdout, prompts), r.stdout.decode(), run.stdout, run.stderr)
    judge(name, view("t.json", "--source", name + ".pdl", "--md", "-", cwd=folder).stdout.decode())


@pytest.mark.parametrize("name", RECORDED_SHAPES)
def test_recorded_shape(name):
    example = RECORDED_SHAPES[name]
    for words, suffix in (["--md", "-"], ""), (["--all", "--md", "-"], "-all"):
        r = view(example + ".journal", "--source", example + ".pdl", *words, cwd=EXAMPLES)
        check("pdl view of %s" % example, r.returncode == 0, r.stderr.decode())
        judge(name + suffix, r.stdout.decode())


def test_recordings_hold_their_program():
    """A recording of the examples is shown as it is, with the lines of its program."""
    for path in sorted(p for folder in ("", "patterns", "security", "eval") for p in (EXAMPLES / folder).glob("*.journal")):
        r = view(path, "--md", "-", cwd=EXAMPLES)
        text = r.stdout.decode()
        check(path.name, r.returncode == 0 and path.stem + ".pdl" in text, r.stderr.decode(), text[:200])


def test_replayed(tmp_path):
    """A replay says so, since its times are those of the recorded run; the recorded run itself and other runs do not."""
    recording, program = EXAMPLES / "tour.journal", EXAMPLES / "tour.pdl"
    traces = {"replay": ["--replay", recording, "-t", "replay.json", program], "whole": ["--replay", recording, "--whole", "-t", "whole.json", program],
              "recorded": ["trace", recording], "run": ["-t", "run.json", "-e", "text: a"]}
    for name, words in traces.items():
        r = subprocess.run([PDL, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        check(name, r.returncode == 0, r.stderr)
        if name == "recorded":
            (tmp_path / "recorded.json").write_text(r.stdout)
        trace = json.loads((tmp_path / (name + ".json")).read_text())
        check("key of " + name, (trace.pop("pdl__replayed", None) is True) == (name == "replay") and "pdl__replayed" not in json.dumps(trace), trace)
        page = view(name + ".json", "--html", "-", cwd=tmp_path).stdout.decode()
        check("page of " + name, ("\\nreplayed\\n" in page) == (name == "replay"), page[-3000:])


def test_words_around():
    """The turns of a work are counted through its loops; a reply without words says so; a title has no marks of Markdown."""
    def shown(name):
        return view(name + ".journal", "--md", "-", cwd=EXAMPLES).stdout.decode()
    turns = [x.strip("- ") for x in shown("patterns/answer").splitlines() if "- Turn " in x]
    check("turns of two loops", turns == ["Turn 1", "Turn 2"], turns)
    check("a title with code", shown("patterns/chatbot").startswith("# A chat on the terminal; quit ends it\n"), shown("patterns/chatbot")[:80])
    check("no words", "1: no words (it has tools)" in shown("tools"), shown("tools"))


def test_served(folder):
    """The same document as the page asks for it: ranges of items, what is inside of one, calls."""
    v = View("patterns/team.journal", "--source", "patterns/team.pdl", cwd=EXAMPLES)
    try:
        v.open()
        def get(path, want=200):
            status, _, body = v.ask(path)
            check("%s: %d" % (path, want), status == want, status, body)
            return json.loads(body) if status == 200 else None
        run, = get("/api/runs")["runs"]
        check("title and facts", run["title"] == "An agent as a tool of another" and run["ended"] == "Finished" and "6 model calls" in run["facts"], run)
        status, kind, body = v.ask("/api/0/markdown")
        check("as Markdown", status == 200 and body.decode() == view("patterns/team.journal", "--source", "patterns/team.pdl", "--md", "-", cwd=EXAMPLES).stdout.decode(), kind, body)
        top = get("/api/0/document/0/100")
        shapes = [x["shape"] for x in top["items"]]
        check("the document", shapes == ["set-up", "piece", "work"] and top["total"] == 3, shapes)
        check("pieces", top["items"][1]["text"] == "It is warm and sunny in Rome.\nRome shines.\n" and top["items"][1]["source"]["line"] == 11, top["items"][1])
        check("a range", [x["id"] for x in get("/api/0/document/1/2")["items"]] == [x["id"] for x in top["items"][1:3]])
        work = top["items"][2]
        turns = get("/api/0/inside/%d/0/9" % work["id"])
        check("turns", [x["title"] for x in turns["items"]] == ["Turn 1", "Turn 2"], turns)
        inside = get("/api/0/inside/%d/0/9" % turns["items"][0]["id"])["items"]
        check("a tool", inside[1]["shape"] == "tool" and inside[1]["call"] == 2 and inside[1]["args"] == [{"name": "question", "text": "How is the weather in Rome?"}], inside)
        call = get("/api/0/call/4")
        check("a call", call["model"] == "openai/gpt-4o-mini" and call["same"] == 2 and call["same_call"] == 3 and call["messages"][-1] == {"role": "observation", "text": "21 \u00b0C and sun in Rome"}
              and call["reply"] == "It is warm and sunny in Rome." and call["tokens_in"] > 100, call)
        p = call["prefix"]
        check("what its prompt cache can find", p["place"] and p["shared"]["call"] == 3 and p["shared"]["messages"] == 2 and 50 < 100 * p["shared"]["bytes"] / p["bytes"] < 100, p)
        check("the first call has no earlier one", get("/api/0/call/1")["prefix"]["shared"]["call"] is None)
        check("a piece is cut where its makers change", [p.get("kind") for p in top["items"][1]["parts"]] == ["tool", None, "model", None] and top["items"][1]["parts"][2]["call"] == 6, top["items"][1])
        origin = get("/api/0/origin/%d" % top["items"][1]["id"])
        check("its origin in words", origin["text"] == "result of scout, in turn 1 of out; answer of call 6, in turn 2 of out" and origin["calls"] and origin["values"][0]["name"] == "out", origin)
        check("and backwards", get("/api/0/origin/%d" % origin["from"][1])["into"] == [top["items"][1]["id"]])
        check("calls by time", [c["took"] for c in get("/api/0/calls?sort=took")["items"]] == sorted((c["took"] for c in get("/api/0/calls")["items"]), reverse=True))
        check("who called", [c["who"] for c in get("/api/0/calls")["items"]] == ["out", "out", "scout", "scout", "out", "out"])
        found = get("/api/0/find?text=SUN%20in+rome")
        check("found, with what is around it", found["total"] == 1 and len(found["items"][0]) == 4, found)
        check("the slow ones", get("/api/0/find?slow=1&kind=model")["total"] >= 1)
        calls = get("/api/0/calls")
        check("calls in time", [c["call"] for c in calls["items"]] == [1, 2, 3, 4, 5, 6] and all(c["start"] < c["end"] for c in calls["items"]), calls)
        for path in "call/0", "call/7", "call", "inside/999999/0/9", "inside/1/0", "document/0", "document/x/1", "calls/1":
            get("/api/0/" + path, 404)
    finally:
        v.end()


TYPED = """text:
- read:
  message: "Your name? "
- "\\nAge: "
- read:
- "\\n"
"""


def test_printed_answers(folder):
    """A printed answer that begins a line says who wrote it; within a line nothing stands before it."""
    (folder / "a.pdl").write_text(TYPED)
    subprocess.run([PDL, "--trace=t.json", "a.pdl"], cwd=folder, input="Ada\n7\n", capture_output=True, text=True, timeout=60, check=True)
    v = View("t.json", cwd=folder)
    try:
        v.open()
        items = json.loads(v.ask("/api/0/document/0/9")[2])["items"]
    finally:
        v.end()
    check("who", [(x["text"].strip(), x.get("title")) for x in items if x.get("kind") == "person"] == [("Ada", "You (Your name?)"), ("7", None)], items)


VALUES = """defs: {n: 3, s: "a: b"}
text:
- "Round ${ n + 1 }: ${ n }\\n"
- "${ n }\\n"
- "${ n }${ n }\\n"
- "Here ${ s }: ${ n }\\n"
"""


def test_values_in_a_text(folder):
    """Of a text with expressions only their values are marked. One value alone is its piece, and what cannot be told apart is not divided."""
    (folder / "a.pdl").write_text(VALUES)
    subprocess.run([PDL, "--trace=t.json", "a.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True)
    v = View("t.json", cwd=folder)
    try:
        v.open()
        items = json.loads(v.ask("/api/0/document/0/9")[2])["items"]
    finally:
        v.end()
    parts = [[(p["text"], p.get("kind")) for p in x.get("parts", [])] for x in items if x["shape"] == "piece"]
    check("parts", parts == [[("Round ", None), ("4", "expression"), (": ", None), ("3", "expression"), ("\n", None)], [], [], []], parts)


def test_asked(folder):
    """Hashes of what was sent: equal for equal messages, also where one trace has whole lists; and one file has each message once."""
    chat = "text:\n- {role: user, text: \"Begin%s\\n\"}\n- for: {i: \"${ range(60) | list }\"}\n  repeat: {text: [\"${ 'word ' * 200 }${ i }\", {model: openai/m, parameters: {temperature: %d}}]}\n"
    with mock() as env:
        for name, program, flags in ("a", chat % ("", 0), []), ("w", chat % ("", 0), ["--whole"]), ("b", chat % ("!", 1), []):
            (folder / (name + ".pdl")).write_text(program)
            r = subprocess.run([PDL, "--trace=%s.json" % name, *flags, name + ".pdl"], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
            check("ran", r.returncode == 0, r.stderr)
    def asked(name):
        v = View(name + ".json", cwd=folder)
        try:
            v.open()
            return json.loads(v.ask("/api/0/asked")[2])
        finally:
            v.end()
    a, w, b = asked("a"), asked("w"), asked("b")
    check("short and whole lists", len(a) == 60 and a == w, a[:2], w[:2])
    check("each call is another one", len({m for m, _ in a}) == 60 and len({s for _, s in a}) == 1, a[:3])
    check("other messages, other parameters", all(x[0] != y[0] and x[1] != y[1] for x, y in zip(a, b)), b[:2])
    view("a.json", "--html", "a.html", cwd=folder)
    check("each message once", (folder / "a.html").stat().st_size < 1800000, (folder / "a.html").stat().st_size)


ROWS = """text:
- for: {i: [3, 1, 2, 10], word: [c, a, b, Z]}
  map: {lang: command, code: "printf '{\\"n\\": %s}' ${ i }", parser: json}
  join: {as: array}
"""


def test_rows(folder):
    """The rows of a map, sorted and filtered by the server."""
    (folder / "rows.pdl").write_text(ROWS)
    subprocess.run([PDL, "--trace=t.json", "rows.pdl"], cwd=folder, capture_output=True, timeout=60, check=False)
    v = View("t.json", cwd=folder)
    try:
        v.open()
        def get(path):
            return v.ask(path)
        items = json.loads(get("/api/0/inside/1/0/9")[2])["items"]
        number = items[0]["id"]
        def rows(query):
            return json.loads(get("/api/0/rows/%d/0/9%s" % (number, query))[2])
        all_ = rows("")
        check("columns", [c["name"] for c in all_["columns"]] == ["i", "word", "n", "time"] and all_["total"] == all_["all"] == 4, all_)
        check("cells", [r["cells"] for r in all_["items"]] == [["3", "c", "3"], ["1", "a", "1"], ["2", "b", "2"], ["10", "Z", "10"]], all_)
        check("sorted as numbers", [r["number"] for r in rows("?sort=n")["items"]] == [2, 3, 1, 4])
        check("the greatest first", [r["number"] for r in rows("?sort=-i")["items"]] == [4, 1, 3, 2])
        check("filtered in any case", [r["number"] for r in rows("?where=z")["items"]] == [4] and rows("?where=z")["all"] == 4)
        check("none has failed", rows("?where=failed")["items"] == [] and rows("")["failed"] == 0)
        for path in "rows/0/0/9", "rows/%d/0" % number, "rows/999999/0/9", "origin/999999":
            check(path, get("/api/0/" + path)[0] == 404)
    finally:
        v.end()


def test_files(folder):
    (folder / "a.pdl").write_text("text: [one, two]\n")
    subprocess.run([PDL, "--trace=t.json", "a.pdl"], cwd=folder, capture_output=True, timeout=60, check=False)
    r = view("t.json", "--md", "a.md", "--text", "a.txt", cwd=folder)
    check("two files at once", r.returncode == 0 and (folder / "a.txt").read_text() == "onetwo\n" and "onetwo" in (folder / "a.md").read_text(), r.stderr.decode())
    r = view("t.json", "--all", cwd=folder)
    check("--all alone", r.returncode == 2 and b"give --md FILE, too" in r.stderr, r.stderr.decode())
    r = view("t.json", "t.json", "--md", "-", cwd=folder)
    check("two runs", r.returncode == 2 and b"give one FILE" in r.stderr, r.stderr.decode())
    r = view("t.json", "--text", "t.json", cwd=folder)
    check("over what it reads", r.returncode == 2 and json.loads((folder / "t.json").read_text()), r.stderr.decode())


# --- traces of strangers ---

HOSTILE = {
    "a block without members": {"kind": "text"},
    "texts where lists are": {"kind": "text", "text": "x", "pdl__result": 1, "contribute": "y", "join": 3, "pdl__timing": {"start_nanos": "x"}},
    "a list that names itself": {"kind": "model", "pdl__id": "m", "pdl__timing": {}, "pdl__result": {"pdl__same": "m", "pdl__more": []}},
    "a loop of nothing": {"kind": "repeat", "pdl__trace": [None, 1, "x", {"kind": "data", "pdl__timing": {}}], "pdl__timing": {}},
    "names that are no texts": {"kind": "call", "call": [1], "args": 3, "pdl__tool": {"a": 1}, "pdl__timing": {}},
    "negative times": {"kind": "model", "pdl__timing": {"start_nanos": -5, "end_nanos": 2 ** 62}, "pdl__usage": {"prompt_tokens": -1, "cost": "x"}},
    "a function as a result": {"kind": "data", "data": 1, "pdl__result": {"kind": "function"}, "pdl__timing": {}},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, folder):
    for trace in HOSTILE[name], {"kind": "text", "text": [HOSTILE[name]], "defs": {"d": HOSTILE[name]}, "pdl__timing": {}}:
        (folder / "t.json").write_text(json.dumps(trace))
        r = view("t.json", "--md", "-", "--all", "--text", "-", cwd=folder)
        check(name, r.returncode == 0, r.returncode, r.stderr.decode())


def test_cut(folder):
    """Every beginning of a trace is shown, as far as it goes."""
    (folder / "a.pdl").write_text("defs: {f: {lang: command, code: printf 1}}\ntext:\n- \"a ${ f }\\n\"\n- for: {i: [1, 2, 3]}\n  repeat: \"${ i }\\n\"\n")
    subprocess.run([PDL, "--trace=t.json", "a.pdl"], cwd=folder, capture_output=True, timeout=60, check=False)
    text = (folder / "t.json").read_text()
    for at in range(40, len(text), 61):
        (folder / "cut.json").write_text(text[:at])
        r = view("cut.json", "--md", "-", cwd=folder)
        check("cut at %d" % at, r.returncode == 0 and "cut or damaged" in r.stdout.decode() and "Failed" not in r.stdout.decode(), r.stdout.decode(), r.stderr.decode())


def test_size(folder):
    """A document takes time as its trace is long, also where everything is one loop, one line, or one deep call."""
    import time  # pylint: disable=import-outside-toplevel
    one = {"kind": "data", "data": {"pdl__expr": "${ x }", "pdl__result": "x"}, "pdl__result": "x", "pdl__timing": {"start_nanos": 1, "end_nanos": 2}}
    took = []
    for n in 10000, 40000:
        trace = {"kind": "text", "pdl__timing": {"start_nanos": 1, "end_nanos": 9}, "pdl__result": "x" * n, "text": [
            {"kind": "repeat", "repeat": "x", "pdl__trace": [dict(one, contribute=["context"]) if i % 3 else one for i in range(n)], "pdl__timing": {"start_nanos": 1, "end_nanos": 9}}]}
        (folder / "t.json").write_text(json.dumps(trace))
        start = time.monotonic()
        r = view("t.json", "--text", "-", "--md", folder / "m.md", cwd=folder)
        took.append(time.monotonic() - start)
        check("%d rounds" % n, r.returncode == 0 and len(r.stdout) == (n + 2) // 3 + 1, len(r.stdout), r.stderr.decode())
    check("time of 40 000 rounds against 10 000: %.2f and %.2f s" % (took[1], took[0]), took[1] < 12 * took[0] + 0.5)


def test_rounds_are_all(folder):
    """What is inside of a long loop is its rounds, also where something is between them."""
    for sep in "\\n", "--\\n":
        (folder / "l.pdl").write_text("for: {i: '${ range(200) }'}\nrepeat: {text: [\"Round ${ i }.\"]}\njoin: {with: \"%s\"}\n" % sep)
        r = subprocess.run([PDL, "--trace=l.json", "l.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        v = View("l.json", cwd=folder)
        try:
            v.open()
            loop = json.loads(v.ask("/api/0/document/0/9")[2])["items"][0]
            inside = json.loads(v.ask("/api/0/inside/%d/136/1" % loop["id"])[2])
            check("200 rounds, the 137th by its number", loop["shape"] == "loop" and inside["total"] == 200 and inside["items"][0]["number"] == 137, loop, inside)
        finally:
            v.end()
        check("the text", view("l.json", "--text", "-", cwd=folder).stdout.decode() == r.stdout)
        short = view("l.json", "--md", "-", cwd=folder).stdout.decode()
        check("those that are left out are called iterations", "iterations, " in short and "round" not in short, short)


def test_what_is_typed_ends_the_line():
    """An answer after a question stands below it, also where the run printed no new line between two answers."""
    chat = ROOT / "examples" / "patterns"
    words = [str(Choice.build / "pdl"), "view", "chatbot.journal", "--source", "chatbot.pdl"]
    found = subprocess.run([*words, "--md", "-"], cwd=chat, capture_output=True, text=True, timeout=60, check=True).stdout
    order = [found.index(x) for x in ("What is a language salad?", "A language salad is a mix", "Tell it as a story.", "In a world of many tongues", "**You**: quit")]
    check("each answer below its question", order == sorted(order), found)
    text = subprocess.run([*words, "--text", "-"], cwd=chat, capture_output=True, text=True, timeout=60, check=True).stdout
    check("the pieces are what was printed", text.startswith("A language salad is a mix of languages.In a world"), text)


# What stands around a block that fails, and what the document says of the way to it.
WAYS = [("text: ['${ 1 // 0 }']\n", 0),
        ("text:\n- include: fails.pdl\n", 1),
        ("for: {i: [1]}\nrepeat: {include: fails.pdl}\n", 2),
        ("defs:\n  f: {function: {}, return: {include: fails.pdl}}\nfor: {i: [1]}\nrepeat: {call: '${ f }', args: {}}\n", 3),
        ("defs:\n  f: {function: {n: integer}, return: {if: '${ n }', then: {call: '${ f }', args: {n: '${ n - 1 }'}}, else: {include: fails.pdl}}}\ncall: ${ f }\nargs: {n: 20}\n", 12)]


@pytest.mark.parametrize("program,steps", WAYS, ids=["%d-steps" % n for _, n in WAYS])
def test_way_to_a_failure(program, steps, folder):
    """The page gets each step on the way to a failure, from none up to as many as it shows."""
    (folder / "fails.pdl").write_text("text:\n- ${ 6 // 0 }\n")
    (folder / "w.pdl").write_text(program)
    subprocess.run([PDL, "--trace=w.json", "w.pdl"], cwd=folder, capture_output=True, timeout=60, check=False)
    page = view("w.json", "--source", "w.pdl", "--html", "-", cwd=folder).stdout.decode()
    items = json.loads(re.search(r'id="run-items">(.*?)</script>', page, re.S).group(1))
    way, = [x["way"] for x in items if x["shape"] == "failure"]
    check("%d steps" % steps, len(way) == steps and all(re.match("included|called|iteration", w["text"]) and w["box"] >= 0 for w in way), way)


# name: (program, what is said of the run, whether it is interrupted)
ENDED = {
    "interrupted": ("text:\n- \"begin\\n\"\n- {lang: command, code: \"sleep 9\"}\n- \" end\\n\"\n", "Stopped", True),
    "another_failed": ("text:\n- {def: a, model: openai/m, input: hi, contribute: []}\n- {lang: command, code: \"sleep 9\"}\n", "Failed", False),
}


@pytest.mark.parametrize("name", ENDED)
def test_what_did_not_end(name, folder):
    """A block that had not ended when the run did has not failed: no failure without a message, and an interrupted run is not a failed one."""
    program, state, interrupted = ENDED[name]
    (folder / "a.pdl").write_text(program)
    env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "nowhere"}
    p = subprocess.Popen([PDL, "a.pdl", "-t", "a.json"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if interrupted:
        p.stdout.read(len("begin\n"))
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
    p.communicate(timeout=60)
    md = view("a.json", "--source", "a.pdl", "--md", "-", cwd=folder).stdout.decode()
    check("the run", md.splitlines()[2].startswith(state + " \u00b7 "), md)
    check("the command", "**Stopped before its end** (a.pdl, line 3)" in md, md)
    check("failures have messages", len(re.findall(r"\*\*Failed\*\* \(a.pdl, line \d\): \S", md)) == md.count("**Failed**") == (not interrupted), md)
