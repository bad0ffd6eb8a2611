# SPDX-License-Identifier: Apache-2.0
"""test_prefix.py -- why a prompt cache misses: planted faults are named, and stable programs raise no alarm (spec know 1).

Runs are recorded with `pdl mock` and the beginnings of their requests are compared, or the program is explained.
"""
import contextlib
import itertools
import json
import os
import re
import subprocess

import pytest

from ..checks import check
from ..harness.choice import sample
from ..prompt_caches import Anthropic, OpenAI, start, stop, surroundings

RULES = "  rules: \"${ 'You are careful and kind, and answer in one word. ' * 120 }\"\n"  # about 1 500 tokens


def program(head, *items):
    return "defs:\n" + RULES + head + "text:\n" + "".join("- " + i.replace("\n", "\n  ") + "\n" for i in items)


def ask(text, model="openai/m", more=""):
    return "model: %s\ninput: %s%s" % (model, text, more)


def code(name, text):
    return "lang: python\ndef: %s\ncode: |\n  %s\ncontribute: []" % (name, text.replace("\n", "\n  "))


def loop(*items, word="repeat"):
    return "for: {i: [1, 2, 3]}\n%s:\n  text:\n" % word + "\n".join("  - " + i.replace("\n", "\n    ") for i in items)


MAKERS = {
    "clock": code("v", "import datetime\nresult = datetime.datetime.now().isoformat()"),
    "random": code("v", "import uuid\nresult = str(uuid.uuid4())"),
    "reply": "model: openai/upper\ninput: \"${ i } seven eight\"\ndef: v\ncontribute: []",
    "file": "read: f${ i }.txt\ndef: v\ncontribute: []",
}
MODELS = ("openai/m", "anthropic/m")
FAULTS = []  # (name, program, origin, the line of the value)


def line_of(text, word):
    return next(n for n, row in enumerate(text.splitlines(), 1) if word in row)


for model, (origin, maker), where in itertools.product(MODELS, MAKERS.items(), ("first", "middle")):
    if origin == "reply" and model.startswith("anthropic"):  # the other service answers it
        continue
    text = "\"${ v } ${ rules }\"" if where == "first" else "\"Hello. ${ v } ${ rules } Go.\""
    p = program("", loop(maker, ask(text, model), word="map" if origin == "file" else "repeat"))
    FAULTS.append(("%s, %s, %s" % (origin, where, model), p, origin, line_of(p, maker.split("\n")[0].split("{")[0])))
for model, (word, origin) in itertools.product(MODELS, (("repeat", "loop"), ("map", "row"))):
    p = program("", loop(ask("\"On ${ i } ${ rules }\"", model), word=word))
    FAULTS.append(("a variable of %s, %s" % (word, model), p, origin, line_of(p, "On ${ i }")))
for model in MODELS:
    p = program("", loop(ask("\"${ range(1000000) | random } ${ rules }\"", model)))
    FAULTS.append(("an expression, %s" % model, p, "random", line_of(p, "| random")))

# What else is in the way: values in other places, made in other ways.
CLOCK, UUID = MAKERS["clock"], MAKERS["random"]
OTHERS = [  # (name, items, a word of the line that makes the value, origin)
    ("a system message", loop(CLOCK, "text: \"${ v } ${ rules }\"\nrole: system\ncontribute: [context]", "text: hi", "model: MODEL", word="map"), "lang: python", "clock"),
    ("a message of a list", loop(UUID, "model: MODEL\ninput:\n  array:\n  - role: system\n    content: \"${ v } ${ rules }\"\n  - role: user\n    content: hi"),
     "lang: python", "random"),
    ("a definition", loop("defs:\n  v:\n    lang: python\n    code: |\n      import time\n      result = str(time.time_ns())\n" + ask("\"${ v } ${ rules }\"", "MODEL")),
     "v:", "clock"),
    ("a command", loop("lang: command\ndef: v\ncode: date +%N\ncontribute: []", ask("\"${ v } ${ rules }\"", "MODEL")), "lang: command", "clock"),
    ("a counter", loop("def: n\ndata: \"${ (n | default(10)) + 1 }\"\ncontribute: []", ask("\"${ n } ${ rules }\"", "MODEL")), "def: n", "counter"),
    ("an outer loop", "for: {k: [one, two, three]}\nrepeat:\n  for: {i: [1]}\n  repeat:\n    model: MODEL\n    input: \"${ k } ${ rules }\"", "${ k }", "loop"),
    ("a branch", loop("if: ${ i > 0 }\nthen:\n  model: MODEL\n  input: \"${ i } ${ rules }\""), "${ i } ${ rules", "loop"),
    ("the second line", loop(UUID, "model: MODEL\ninput: |\n  Be careful.\n  Number ${ v }.\n  ${ rules }"), "lang: python", "random"),
    ("pid and more", loop(code("v", "import os, secrets\nresult = '%d %s' % (os.getpid(), secrets.token_hex(4))"), ask("\"${ v } ${ rules }\"", "MODEL")), "lang: python", "random"),
    ("a message that is written as data", loop("model: MODEL\ninput:\n  data:\n  - {role: system, content: \"${ i } ${ rules }\"}\n  - {role: user, content: hi}"), "${ i } ${ rules }", "loop"),
    ("parts of a message", loop("def: m\ncontribute: []\ndata:\n- role: user\n  content:\n  - {type: text, text: \"On ${ i }. ${ rules }\"}", "model: MODEL\ninput: ${ m }"), "On ${ i }", "loop"),
    ("messages of an expression", loop("model: MODEL\ninput: '${ [{\"role\": \"user\", \"content\": \"On \" ~ i ~ rules}] }'"), "~ rules", "loop"),
    ("what a tool does", loop("model: MODEL\ninput: ${ rules }\nparameters:\n  tools:\n  - type: function\n    function:\n      name: f\n      description: Number \"${ i }\"\n"
                              "      parameters: {type: object}"), "description", "loop"),
    ("a question at the end that changes, too", loop(CLOCK, ask("\"It is ${ v }. ${ rules } Question ${ i }: is it ${ v }?\"", "MODEL")), "lang: python", "clock"),
    ("two values one after the other", loop(UUID, ask("\"${ v } ${ 'w' * (range(99) | random) } ${ rules } ${ i }\"", "MODEL")), "lang: python", "random"),
    ("a draw that is named", loop("def: v\ndata: \"${ range(1000000) | random }\"\ncontribute: []", ask("\"${ v } ${ rules }\"", "MODEL")), "def: v", "random"),
]
for model, (name, item, word, origin) in itertools.product(MODELS, OTHERS):
    p = program("", item.replace("MODEL", model))
    FAULTS.append(("%s, %s" % (name, model), p, origin, line_of(p, word)))
assert len(FAULTS) == 52

STABLE = {
    "a chat": program("", "text: \"${ rules }\"\nrole: system\ncontribute: [context]", loop("text: \"question ${ i }\"\nrole: user", "model: openai/m")),
    "the question behind": program("", loop(ask("\"${ rules } ${ i }\""), word="map")),
    "two prompts": program("", ask("\"${ rules } one\""), ask("\"two ${ rules[10:] }\"", "openai/other")),
    "one call": program("", ask("\"${ rules }\"")),
    "short": "text:\n- for: {i: [1, 2, 3]}\n  repeat: {model: openai/m, input: \"On ${ i }, in short\"}\n",
    "the same again": program("", loop(ask("\"${ rules }\""))),
}


LAST = {  # prompts in which what changes is behind all that stays
    "a text": ask("\"${ rules } ${ v }\"", "MODEL"),
    "two lines": "model: MODEL\ninput: |\n  ${ rules }\n  Now ${ v }.",
    "two messages": "model: MODEL\ninput:\n  array:\n  - role: system\n    content: \"${ rules }\"\n  - role: user\n    content: \"It is ${ v }.\"",
    "an answer before": "model: MODEL\ninput:\n  array:\n  - role: user\n    content: \"${ rules }\"\n  - role: assistant\n    content: yes\n  - role: user\n    content: ${ v }",
    "a system prompt": "text:\n- {text: \"${ rules }\", role: system, contribute: [context]}\n- text: It is ${ v }.\n- model: MODEL",
}
ROWS = {**MAKERS, "loop": "data: ${ i }\ndef: v\ncontribute: []", "constant": "data: 7\ndef: v\ncontribute: []",
        "order": code("v", "result = ' '.join(set('abc'))"), "draw": "data: ${ range(1000000) | random }\ndef: v\ncontribute: []", "lines": code("v", "result = 'a\\nb %d' % id(object())")}
ROWS["random 2"] = code("v", "import secrets\nresult = secrets.token_hex(4)")
QUIET = [("%s, %s, %s, %s" % (maker, prompt, word, model), program("", loop(ROWS[maker].replace("openai/upper", model), LAST[prompt].replace("MODEL", model), word=word)))
         for maker, prompt, word, model in itertools.product(ROWS, LAST, ("repeat", "map"), MODELS) if prompt != "a system prompt" or word == "map"]
assert len(QUIET) + len(STABLE) >= 180


@pytest.fixture
def folder(tmp_path):
    for i in range(1, 4):
        (tmp_path / ("f%d.txt" % i)).write_text("%d is the text of a file" % i)
    return tmp_path


def run(pdl, folder, env, *args):
    p = subprocess.run([pdl, *args], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    return p.returncode, p.stdout, p.stderr


@contextlib.contextmanager
def mock(pdl):
    """The environment of programs that `pdl mock` answers."""
    p = subprocess.Popen([pdl, "mock", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        base = re.search(r"http://[^ ]+/v1", p.stdout.readline())[0]
        yield {**os.environ, "OPENAI_API_KEY": "mock", "ANTHROPIC_API_KEY": "mock", "OPENAI_BASE_URL": base, "OPENAI_API_BASE": base}
    finally:
        p.kill()
        p.communicate()


def report(pdl, folder, text, *more):
    (folder / "p.pdl").write_text(text)
    (folder / "j.journal").unlink(missing_ok=True)
    server = start(Anthropic if "anthropic/" in text else OpenAI)
    try:
        code_, _, err = run(pdl, folder, surroundings(server), "--prefix-first", "--record", "j.journal", "p.pdl")
    finally:
        stop(server)
    check("it runs", code_ == 0, err)
    code_, out, err = run(pdl, folder, os.environ, "trace", "--prefix", "j.journal", "--json", *more)
    check("it is reported", code_ == 0 and not err, out, err)
    return json.loads(out)


@pytest.mark.parametrize("name, text, origin, line", sample(FAULTS, 5))
def test_fault(pdl, folder, name, text, origin, line):
    r = report(pdl, folder, text)
    lost = [c for c in r["calls"] if c["lost"]["tokens"]]
    check("two calls have lost", len(lost) == 2, r)
    for c in lost:
        d = c["differs"]
        check("its origin and line", (d["origin"], d["line"]) == (origin, line), d, text)
        check("what would mend it", c["remedy"] and c["shared"]["call"], c)
        check("the tokens", 1100 <= c["lost"]["tokens"] <= 1900, c)
    check("the sum", r["total"]["lost"]["tokens"] == sum(c["lost"]["tokens"] for c in lost) == r["total"]["lost"]["by_origin"][origin], r["total"])


@pytest.mark.parametrize("name, text", sample(QUIET, 40))
def test_quiet(pdl, folder, name, text):
    """What changes behind the rest costs nothing, and the service finds what is said to be shared."""
    r = report(pdl, folder, text)
    calls = [c for c in r["calls"] if c["bytes"] > 4096]
    check("no alarm", len(calls) == 3 and r["total"]["lost"]["tokens"] == 0 and all(c["remedy"] is None for c in calls), r)
    asked_in_order = "openai/" in text and not name.startswith("reply, ")  # rows of a map whose replies come in any order
    for c in calls[1:] if asked_in_order else ():
        expected = c["shared"]["bytes"] / 4
        check("what the service finds", abs(c["cached_tokens"] - expected) <= 128 + 0.04 * expected, c)


@pytest.mark.parametrize("name", STABLE)
def test_stable(pdl, folder, name):
    r = report(pdl, folder, STABLE[name])
    check("no alarm", r["total"]["lost"] == {"tokens": 0, "cost": None, "by_origin": {}} and all(c["remedy"] is None for c in r["calls"]), r)


def test_text(pdl, folder):
    text = FAULTS[0][1]
    (folder / "prices.json").write_text(json.dumps({"openai/m": {"input": 1e-6, "output": 2e-6, "cached_input": 1e-7}}))
    r = report(pdl, folder, text, "--prices", "prices.json")
    tokens = r["calls"][1]["lost"]["tokens"]
    check("the price of what is lost", abs(r["calls"][1]["lost"]["cost"] - tokens * 9e-7) < 1e-12, r["calls"][1])
    with mock(pdl) as env:
        code_, out, err = run(pdl, folder, env, "trace", "--prefix", "j.journal")
        check("as text", code_ == 0 and out.count("clock, `v`, made in p.pdl:") == 2 and "\ntotal: 3 calls, " in out and "(clock %d)" % (2 * tokens) in out, out, err)
        code_, out, err = run(pdl, folder, env, "trace", "--prefix", "j.journal", "j.journal", "--json")
        check("with itself nothing is lost", code_ == 0 and json.loads(out)["total"]["lost"]["tokens"] == 0 and
              all(c["shared"]["call"] == "earlier run" for c in json.loads(out)["calls"]), out, err)
        for args in (["trace", "j.journal", "j.journal"], ["trace", "j.journal", "--json"], ["trace", "--prefix"], ["trace", "--prefix", "nothing"]):
            code_, out, err = run(pdl, folder, env, *args)
            check("refused: %s" % args, code_ == 2 and not out and err.startswith("pdl: error: "), code_, out, err)


def expiring(pdl, folder, text, factor, expired=(3,)):
    """The calls of a run whose third call comes a tenth of a second late, reported when a second of the caches is as long as `factor`; and what was found."""
    (folder / "p.pdl").write_text(text)
    (folder / "prices.json").write_text(json.dumps({"*": {"input": 1e-6, "output": 2e-6, "cached_input": 1e-7}}))
    (folder / "j.journal").unlink(missing_ok=True)
    server = start(Anthropic if "anthropic/" in text else OpenAI, expired)
    try:
        code_, _, err = run(pdl, folder, surroundings(server), "--jobs", "1", "--record", "j.journal", "p.pdl")
    finally:
        stop(server)
    check("it runs", code_ == 0 and len(server.found) == 4, err)
    env = {**os.environ, "PDL_STRESS": "time:%s" % factor}
    code_, out, err = run(pdl, folder, env, "trace", "--prefix", "j.journal", "--json", "--prices", "prices.json")
    check("it is reported", code_ == 0 and not err, out, err)
    text = run(pdl, folder, env, "trace", "--prefix", "j.journal", "--prices", "prices.json")[1]
    return json.loads(out), server.found, text


LATE = """for: {i: [1, 2, 3, 4]}
repeat:
  lastOf:
  - if: ${ i == 3 }
    then: {lang: command, code: sleep 0.1}
  - model: %s
    parameters: {%s}
    input:
      data:
      - {role: system, content: %s}
      - {role: user, content: "On ${ i }"}"""
PLAIN, HOUR, AUTO = '"${ rules }"', '[{type: text, text: "${ rules }", cache_control: {type: ephemeral, ttl: 1h}}]', "cache: auto"


@pytest.mark.parametrize("model, parameters, system, factor, kept, remedy", [
    ("openai/m", "temperature: 0", PLAIN, 3e-4, 300, "prompt_cache_retention: 24h"), ("anthropic/m", AUTO, PLAIN, 3e-4, 300, "cache_control with ttl: 1h"),
    ("openai/m", "prompt_cache_retention: 24h", PLAIN, 1e-6, 86400, None), ("anthropic/m", "temperature: 0", HOUR, 1e-5, 3600, None),
    ("anthropic/m", AUTO, HOUR, 1e-5, 3600, None), ("openai/m", "temperature: 0", PLAIN, 1, None, None), ("anthropic/m", AUTO, HOUR, 3e-4, None, None),
    ("anthropic/m", "temperature: 0", PLAIN, 1e-5, None, None), ("deepseek/m", "temperature: 0", PLAIN, 1e-6, None, None)])
def test_expired(pdl, folder, model, parameters, system, factor, kept, remedy):
    """A beginning that was kept too short is named, with what it cost and what would have kept it; a loss within its time, or of what is not kept, is not."""
    r, found, said = expiring(pdl, folder, program("", LATE % (model, parameters, system)), factor)
    ends = [c["expired"] for c in r["calls"]]
    if kept is None:
        check("nothing has expired that is known to", ends == [None] * 4 and r["total"]["expired"]["calls"] == 0 and "expired" not in said, ends, said)
        return
    e, others = ends[2], found[3]
    check("the third call", [x is None for x in ends] == [True, True, False, True] and e["kept"] == kept and e["remedy"] == remedy and 0.1 <= e["seconds"] < 60, ends)
    check("what it lost is what the next one found", others > 1024 and abs(e["tokens"] - others) <= 128 + 0.04 * others and abs(e["cost"] - e["tokens"] * 9e-7) < 1e-12, e, found)
    check("the sum", r["total"]["expired"] == {"calls": 1, "tokens": e["tokens"], "cost": e["cost"]}, r["total"])
    after = "%s would have kept it" % remedy if remedy else "no longer time that is known"
    check("as text", "  expired: last used 0 s before, and kept for " in said and after in said and "; expired: about %d tokens" % e["tokens"] in said, said)


def test_explain(pdl, folder):
    """Before the run what waits for a reply or for code is not known, and is said to be so."""
    with mock(pdl) as env:
        (folder / "p.pdl").write_text(program("", loop(ask("\"On ${ i } ${ rules }\""), word="map")))
        code_, out, err = run(pdl, folder, env, "explain", "--prefix", "--json", "p.pdl")
        r = json.loads(out)
        check("a map is known", code_ == 0 and r["total"]["calls"] == 3 and set(r["total"]["lost"]["by_origin"]) == {"row"} and not r["not_known"], out, err)
        (folder / "p.pdl").write_text(FAULTS[0][1])
        code_, out, err = run(pdl, folder, env, "explain", "--prefix", "p.pdl")
        check("code is not", code_ == 0 and out.startswith("no call of a model is known\nnot known:\n  p.pdl:"), out, err)


def test_verbose(pdl, folder):
    (folder / "p.pdl").write_text(STABLE["the same again"])
    with mock(pdl) as env:
        code_, _, err = run(pdl, folder, env, "--verbose", "p.pdl")
    lines = [row for row in err.splitlines() if "model openai/m" in row]
    check("one word a call", code_ == 0 and "prefix" not in lines[0] and all(row.endswith(", prefix 100 %") for row in lines[1:]) and len(lines) == 3, err)


@pytest.mark.tier("all")
def test_many_texts(pdl, folder):
    """A cause is searched among the texts that were made before its call, also where a run makes more of them than are kept."""
    (folder / "p.pdl").write_text(program("", "for: {i: '${ range(600) | list }'}\nmap:\n  lastOf:\n  - for: {k: [1, 2, 3, 4]}\n    repeat: x${ k }\n  - model: openai/m\n    input: \"${ i } ${ rules }\""))
    with mock(pdl) as env:
        code_, _, err = run(pdl, folder, env, "--record", "j.journal", "p.pdl")
        check("it runs", code_ == 0, err)
        code_, out, err = run(pdl, folder, env, "trace", "--prefix", "j.journal", "--json")
    total = json.loads(out)["total"]
    check("each has its cause", code_ == 0 and total["calls"] == 600 and set(total["lost"]["by_origin"]) == {"row"}, total, err)
