# SPDX-License-Identifier: Apache-2.0
"""test_trace.py -- the content of traces is that of the reference's traces."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time
from http.server import ThreadingHTTPServer

import pytest

from .. import http_of, used_by
from .test_prefix import mock

TIMEOUT_S = 120
NANOS = re.compile(r"(?<=_nanos\": )\d+")
NOT_SANITIZED = pytest.mark.memory(False)  # a sanitizer keeps what was released, and has its own prices


def equal(got, want, what=""):
    assert got == want, "%s\n  is     %r\n  wanted %r" % (what, got, want)


def models_of(t, around=()):
    """(id, block, ids of the models around it) of each model of a trace."""
    if isinstance(t, list):
        for x in t:
            yield from models_of(x, around)
    elif isinstance(t, dict):
        if t.get("kind") == "model" and "pdl__timing" in t:
            yield t["pdl__id"], t, around
        for key, x in t.items():
            if key not in ("pdl__context", "pdl__model_input"):
                yield from models_of(x, around + (t["pdl__id"],) if t.get("kind") == "model" else around)


def is_executed(block):
    return "pdl__timing" in block


def expanded(t):
    """The trace with whole lists of messages, by the rule in docs/manual/live-document.md."""
    models = {}
    for i, b, _ in models_of(t):  # a model that ended with its fallback has the id of its last attempt, which was asked
        if i not in models or "pdl__model_input" in b:
            models[i] = b

    def whole(v, member, around):
        if not (isinstance(v, dict) and "pdl__same" in v):
            return v
        own = member == "pdl__context" or v["pdl__same"] in around
        other = "pdl__context" if own else "pdl__model_input"
        base = models[v["pdl__same"]]
        return whole(base[other], other, (base["pdl__id"],)) + v["pdl__more"]

    def walk(v, around):
        if isinstance(v, list):
            return [walk(x, around) for x in v]
        if not isinstance(v, dict):
            return v
        if v.get("kind") == "model":
            around = around + (v.get("pdl__id"),)
        return {k: walk(whole(x, k, around), around) for k, x in v.items()}

    return walk(t, ())


class Command:
    def __init__(self, pdl):
        self.pdl = pdl

    def run(self, folder, program, args=(), status=0, env=None):
        """The trace of a program, as bytes; None: there is no file."""
        (folder / "main.pdl").write_text(program, encoding="utf-8")
        out = folder / "t.json"
        p = subprocess.run([self.pdl, "--stream", "none", *args, "-t", str(out), "main.pdl"], cwd=folder, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=TIMEOUT_S, env=env or {"OPENAI_API_KEY": "x", "PATH": "/usr/bin:/bin"})
        equal(p.returncode, status, p.stderr.decode()[-2000:])
        return out.read_bytes() if out.exists() else None

    def trace(self, folder, program, **more):
        return json.loads(self.run(folder, program, **more))


@pytest.fixture
def pdl(pdl):
    return Command(pdl)


# --- fields ---------------------------------------------------------------------------------------------------------


def test_the_function_of_a_join_has_its_value(pdl, folder):
    t = pdl.trace(folder, """
defs:
  add: {function: {a: integer, b: integer}, return: "${ a + b }"}
text:
- for: {i: [1, 2]}
  repeat: ${ i }
  join: {reduce: "${ add }"}
- for: {i: [1, 2]}
  map: ${ i }
  join: {as: reduce, reduce: "${ add }"}
""")
    for block in t["text"]:
        equal(block["join"]["reduce"]["pdl__expr"], "${ add }")
        equal(block["join"]["reduce"]["pdl__result"],
              {"kind": "function", "pdl__id": "", "defs": {}, "function": {"a": "integer", "b": "integer"}, "return": "${ a + b }",
               "def": "add", "expectations": [], "pdl__is_leaf": True})


def test_the_mode_of_a_parser_is_written_in_lower_case(pdl, folder):
    t = pdl.trace(folder, """
array:
- {data: a1b2, parser: {mode: findAll, regex: "[0-9]"}}
- {data: a1b2, parser: {regex: "[0-9]", mode: SPLIT, spec: [string], description: parts}}
- {data: "1", parser: JSON}
""")
    got = [list(b["parser"].items()) for b in t["array"][:2]]
    equal(got[0], [("regex", "[0-9]"), ("mode", "findall")])
    equal(got[1], [("description", "parts"), ("spec", ["string"]), ("regex", "[0-9]"), ("mode", "split")])
    equal(t["array"][2]["parser"], "json")


FALLBACK = """
text:
- %s
- model: openai/m
  parameters: {mock_response: litellm.RateLimitError, num_retries: 0}
  fallback: saved
"""


def test_a_model_answered_by_its_fallback_has_the_context_of_it_and_no_usage(pdl, folder):
    for first in ('"Hello"', '{data: none, contribute: []}'):
        model = pdl.trace(folder, FALLBACK % first)["text"][1]
        equal(model["pdl__context"], [{"role": "user", "content": "saved", "pdl__defsite": "text.1.model.fallback.data"}])
        assert "pdl__usage" not in model, model["pdl__usage"]
        equal(model["fallback"]["pdl__result"], "saved")


def test_a_model_behind_a_fallback_keeps_its_own_usage(pdl, folder):
    t = pdl.trace(folder, """
model: openai/m
parameters: {mock_response: litellm.RateLimitError, num_retries: 0}
fallback: {model: openai/m, parameters: {mock_response: good}}
""")
    assert "pdl__usage" not in t
    equal(t["fallback"]["pdl__usage"]["model_calls"], 1)
    equal(t["fallback"]["pdl__result"], "good")


def test_the_input_of_a_model_names_the_blocks_it_came_from(pdl, folder):
    t = pdl.trace(folder, """
text:
- Hello
- {model: openai/m, parameters: {mock_response: one}}
- {model: openai/m, parameters: {mock_response: two}}
- {model: openai/m, input: {array: [{role: user, content: said}]}, parameters: {mock_response: three}}
- {model: openai/m, input: plain, parameters: {mock_response: four}}
""")
    inputs = [b["pdl__model_input"] for b in expanded(t)["text"][1:]]
    equal([m["pdl__defsite"] for m in inputs[0]], ["text.0.data"])
    equal([m["pdl__defsite"] for m in inputs[1]], ["text.0.data", "text.1.model"])
    equal(inputs[2], [{"role": "user", "content": "said", "pdl__defsite": "text.3.model.input.array.0.message"}])
    equal(inputs[3], [{"role": "user", "content": "plain"}])


# --- calls in expressions -----------------------------------------------------------------------------------------------

CALLING = """
defs:
  f:
    function: {q: string}
    return:
      lastOf:
      - {model: openai/m, input: "${ q }", parameters: {mock_response: "[${ q }]"}, contribute: []}
      - "${ q }!"
  add: {function: {a: string, b: string}, return: "${ f(a) ~ b }"}
  judge: {function: {expectation: string, response: string}, return: {lastOf: ["${ f('j') }", {object: {met: true}}]}}
text:
- "${ f('text') }"
- {if: "${ f('if') }", then: "x"}
- {repeat: "r", until: "${ f('until') }"}
- {for: {i: "${ [f('for')] }"}, repeat: "${ i }"}
- {for: {i: [a, b]}, map: "${ i }", join: {reduce: "${ add }"}}
- {call: "${ add }", args: {a: "${ f('arg') }", b: b}}
- {model: openai/m, input: "${ f('input') }", parameters: {mock_response: "m"}}
- {lang: jinja, code: "{{ f('jinja') }}"}
- {lang: pdl, code: "text: [\\"${ f('pdl') }\\", {model: openai/m, parameters: {mock_response: \\"m\\"}}]"}
- {data: "x", def: "g", expectations: [{expect: good, feedback: "${ judge }"}]}
- {defs: {z: "${ f('defs') }"}, text: "${ z }"}
- {match: "${ f('match') }", with: [{case: "match!", if: "${ f('guard') }", then: "t"}]}
- {lang: python, code: "result = f(q='python')"}
- {data: "y", retry: 1, parser: json, fallback: "${ f('fallback') }"}
"""
# where the blocks with the models of CALLING are, in the words of a journal
PLACES = ["text.call0.lastOf.0.model", "text.1.if.call0.lastOf.0.model", "text.2.repeat.call0.lastOf.0.model",
          "text.3.repeat.call0.lastOf.0.model", "text.4.map.call0.call0.lastOf.0.model", "text.5.call.call1.lastOf.0.model",
          "text.5.call.call0.lastOf.0.model", "text.6.model", "text.6.model.call0.lastOf.0.model", "text.7.code.call0.lastOf.0.model",
          "text.8.code.call0.lastOf.0.model", "text.8.code.text.1.model", "text.9.data.call0.lastOf.call0.lastOf.0.model",
          "text.10.text.call0.lastOf.0.model", "text.11.match.call0.lastOf.0.model", "text.11.match.call1.lastOf.0.model"]


def executed(v, kind):
    """The blocks of a kind that a trace says were executed, in the order of the text."""
    if isinstance(v, list):
        return [b for x in v for b in executed(x, kind)]
    if not isinstance(v, dict):
        return []
    own = [v] if v.get("kind") == kind and "pdl__timing" in v else []
    return own + [b for x in v.values() for b in executed(x, kind)]


def test_calls_in_expressions_are_in_the_trace(pdl, folder):
    (folder / "main.pdl").write_text(CALLING)
    argv = [pdl.pdl, "--no-sandbox", "--verbose", "--record", "j", "main.pdl", "-t", "t.json"]
    p = subprocess.run(argv, cwd=folder, capture_output=True, timeout=TIMEOUT_S, env={"PATH": "/usr/bin:/bin"})
    equal(p.returncode, 0, p.stderr.decode())
    models = executed(json.loads((folder / "t.json").read_bytes()), "model")
    equal(sum(m["pdl__usage"]["model_calls"] for m in models), p.stderr.decode().count("model openai/m,"))
    with contextlib.closing(sqlite3.connect(folder / "j")) as db:
        journal = [place for (place,) in db.execute("select place from effects where kind = 'model'")]
    equal(sorted(m["pdl__id"] for m in models), sorted(journal))
    missing = set(PLACES) - set(journal)
    assert not missing, missing
    q = subprocess.run([pdl.pdl, "--replay", "j", "--whole", "main.pdl", "-t", "whole.json"], cwd=folder, capture_output=True,
                       timeout=TIMEOUT_S, env={"PATH": "/usr/bin:/bin"})
    equal(q.returncode, 0, q.stderr.decode())
    assert b"pdl__calls" not in (folder / "whole.json").read_bytes()


def test_a_call_in_an_expression_is_a_call_block(pdl, folder):
    t = pdl.trace(folder, """
defs: {f: {function: {q: string}, return: {text: ["${ q }", b]}}}
text: "${ f('a') ~ f(q='c') }"
""")
    calls = t["text"]["pdl__calls"]
    equal([(c["kind"], c["pdl__id"], c["call"], c["args"]["pdl__result"], c["pdl__result"]) for c in calls],
          [("call", "text.call0", "f", {"q": "a"}, "ab"), ("call", "text.call1", "f", {"q": "c"}, "cb")])
    equal([b["pdl__id"] for b in calls[1]["pdl__trace"]["text"][:1]], ["text.call1.text.0.data"])


def test_a_failure_in_a_call_of_an_expression_is_where_it_happened(pdl, folder):
    t = pdl.trace(folder, 'defs: {f: {function: {}, return: {text: [a, "${ nope }"]}}}\ntext: ["${ f() }"]\n', status=1)
    outer = t["text"][0]
    equal(outer["kind"], "error")
    inner = outer["program"]["pdl__calls"][0]["pdl__trace"]["text"][1]
    equal((inner["kind"], inner["program"], "nope" in inner["msg"]), ("error", "${ nope }", True))


def test_ten_thousand_calls_of_one_expression(pdl, folder):
    t = pdl.trace(folder, """
defs: {f: {function: {i: integer}, return: {text: ["${ i }", b]}}}
data:
  lang: jinja
  code: "{% for i in range(10000) %}{% if f(i) == '' %}x{% endif %}{% endfor %}"
""".replace("data:\n  lang", "lang").replace("\n  code", "\ncode"))
    equal([c["args"]["pdl__result"]["i"] for c in t["pdl__calls"]], list(range(10000)))


# --- lists of messages that repeat one before them --------------------------------------------------------------------

SAYS = '{model: openai/m, parameters: {mock_response: "r${ i }"}%s}'
TALKS = {
    "the context": '{text: ["q${ i }", %s]}' % SAYS % "",
    "the context as input": '{text: ["q${ i }", %s]}' % SAYS % ', input: "${ pdl_context }"',
    "more than the context": '{text: ["q${ i }", %s]}' % SAYS % ', input: "${ pdl_context + [{\'role\': \'user\', \'content\': i ~ \'?\'}] }"',
    "a list of its own": '{lastOf: [%s, {data: "${ h + [{\'role\': \'user\', \'content\': \'m\' ~ i}] }", def: h, contribute: []}]}'
                         % SAYS % ', input: "${ h }", contribute: []',
    "two that take turns": '{text: [%s, {data: "${ h + [{\'role\': \'user\', \'content\': \'m\' ~ i}] }", def: h, contribute: []}, %s]}'
                           % (SAYS % ', input: "${ h }", contribute: []', SAYS % ', input: "${ h2 + h }", contribute: []'),
    "a map": '{text: ["q${ i }", {for: {k: [1, 2]}, map: {text: ["k${ k }", %s]}}]}' % SAYS % "",
    "attempts": '{text: ["q${ i }", %s], retry: 1, fallback: {text: [%s]}, parser: {spec: integer, regex: "x"}}' % (SAYS % "", SAYS % ""),
    "functions": '{text: ["q${ i }", {call: "${ f }", args: {i: "${ i }"}}, {data: "${ f(i, pdl_context=pdl_context) }"}]}',
    "nothing but constants": '{text: [%s]}' % SAYS % ', input: {array: [{role: user, content: "say ${ i }"}]}',
}


GROW = ("a list of its own", "two that take turns", "a map")  # by what the program keeps itself; of a map no list continues another


@pytest.mark.parametrize("name", TALKS)
def test_lists_of_messages_that_repeat(pdl, folder, name):
    program = """
defs:
  h: {data: [{role: user, content: first}]}
  h2: {data: [{role: user, content: second}]}
  f: {function: {i: integer}, return: {text: ["f${ i }", %s]}}
repeat: %s
index: i
maxIterations: %%d
""" % (SAYS % "", TALKS[name])
    short = pdl.trace(folder, program % 6)
    whole = pdl.trace(folder, program % 6, args=["--whole"])
    assert "pdl__same" in json.dumps(short) or name.startswith("nothing"), short
    assert "pdl__same" not in json.dumps(whole)

    def lists(t):
        called = [b for i, b, _ in models_of(t) if "call" not in i.split(".")[0:1]]
        made = {b["pdl__id"]: b["input"] if is_executed(b["input"]) else None for b in called}
        return {b["pdl__id"]: (b.get("pdl__context"), b["pdl__model_input"], made[b["pdl__id"]]) for b in called}
    got, want = lists(expanded(short)), lists(whole)
    for place, parts in want.items():
        for a, b in zip(got[place], parts):
            if a is None and b is not None and parts[2] is b:  # of an `input` that is written messages they are enough
                continue
            equal(json.loads(NANOS.sub("0", json.dumps(a))), json.loads(NANOS.sub("0", json.dumps(b))), place)
    sizes = [len(pdl.run(folder, program % n)) for n in (40, 80)] if name not in GROW else [1, 1]
    assert sizes[1] < 2.1 * sizes[0], sizes


REFUSED = """
text:
- hello
- for: {i: "${ range(%d) }"}
  repeat:
    model: openai/m
    parameters: {mock_response: five}
    spec: {enum: [other]}
    retry: %d
    trace_error_on_retry: true
    fallback: {text: [{model: openai/m, parameters: {mock_response: other}}]}
"""


def test_attempts_name_the_messages_of_attempts(pdl, folder):
    """The messages of each attempt are in the trace once, in whatever block the next one is."""
    t = expanded(pdl.trace(folder, REFUSED % (3, 2)))
    for i in range(3):
        begin, place = ["hello"] + ["other"] * i, "text.1.repeat.%d.model" % i
        asked = [b for at, b, _ in models_of(t) if at.startswith(place) and "pdl__model_input" in b]
        equal([b["pdl__id"] for b in asked], [place + at for at in (".fallback.text.0.model", ".retry0", ".retry1", ".retry2")])
        for b, errors in zip(asked, (2, 0, 1, 2)):
            sent = [m["content"] for m in b["pdl__model_input"]]
            equal([sent[:i + 1], len(sent)], [begin, len(begin) + errors], b["pdl__id"])
            equal([m["content"] for m in b["pdl__context"]][:i + 1], begin, b["pdl__id"])
    for once, twice in ((20, 2), (40, 2)), ((1, 40), (1, 80)):
        sizes = [len(pdl.run(folder, REFUSED % n)) for n in (once, twice)]
        assert sizes[1] < 2.1 * sizes[0], sizes


WRITTEN = ['[{role: user, content: "say ${ i }"}]', '{array: [{role: user, content: hi}]}', '{role: user, content: hi}', '{text: [hi, "${ i }"]}',
           '[{role: system, content: "be brief"}, {role: user, content: {text: ["say ", "${ i }"]}}]']


@pytest.mark.parametrize("given", WRITTEN)
def test_an_input_of_written_messages_is_in_the_trace_once(pdl, folder, given):
    program = '{repeat: {text: [q, {model: openai/m, input: %s, parameters: {mock_response: r}}]}, index: i, maxIterations: %%d}' % given
    short, whole = pdl.run(folder, program % 100), pdl.trace(folder, program % 3, args=["--whole"])
    assert len(short) < 100 * (2000 if "system" not in given else 2200), len(short)  # 2 000 rounds of one short message: 4 MB
    assert len(pdl.run(folder, program % 200)) < 2.05 * len(short)
    t = pdl.trace(folder, program % 3)
    for (_, a, _), (_, b, _) in zip(models_of(expanded(t)), models_of(whole), strict=True):
        equal(a["pdl__model_input"], b["pdl__model_input"])
        equal((is_executed(a["input"]), is_executed(b["input"])), (False, True))
    p = subprocess.run([pdl.pdl, "check", "t.json"], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    equal(p.returncode, 0, p.stdout + p.stderr)


def test_messages_of_calls_after_the_end_of_their_loop_repeat(pdl, folder):
    """The loop has ended before the first reply arrives, and the replies arrive in any order."""
    program = 'text: [{repeat: {text: [q, {model: openai/echo, input: hi}]}, maxIterations: %d}]'
    with mock(pdl.pdl) as env:
        sizes = [len(pdl.run(folder, program % n, env=env)) for n in (100, 300)]
    assert sizes[0] < 200000 and sizes[1] < 4 * sizes[0], sizes


MADE = {'[{role: user, content: "${ f() }"}]': "pdl__calls", '[{role: user, content: {model: openai/n, parameters: {mock_response: n}}}]': "openai/n",
        '[{role: user, content: {data: 7, def: x}}]': "pdl__timing", '[{role: user, content: {lang: jinja, code: a}}]': "pdl__timing",
        '[{role: user, content: {data: "1", parser: yaml, fallback: b}}]': "pdl__timing", '"say ${ 1 }"': "pdl__timing"}


@pytest.mark.parametrize("given", MADE)
def test_an_input_that_was_made_is_in_the_trace(pdl, folder, given):
    t = pdl.trace(folder, 'defs: {f: {function: {}, return: {text: [a, b]}}}\ntext: [{model: openai/m, input: %s, parameters: {mock_response: r}}]' % given)
    assert is_executed(t["text"][0]["input"]) and MADE[given] in json.dumps(t["text"][0]["input"]), t["text"][0]["input"]


def test_an_input_that_failed_is_in_the_trace(pdl, folder):
    program = '{text: [{model: openai/m, input: [{role: user, content: a}, {role: user, content: "${ nope }"}], parameters: {mock_response: r}}]}'
    t = pdl.trace(folder, program, status=1)
    assert "nope" in json.dumps(executed(t, "message")) or '"kind": "error"' in json.dumps(t), t
    t = pdl.trace(folder, '{text: [{model: openai/m, input: [{role: user, content: a}], parameters: "${ nope }"}]}', status=1)
    assert '"content": "a"' in json.dumps(t), t


def test_a_whole_trace_has_only_what_the_reference_writes(pdl, folder):
    program = '{model: openai/m, input: "x", parameters: {mock_response: a, input_cost_per_token: 0.5, output_cost_per_token: 2}}'
    ours, whole = pdl.trace(folder, program), pdl.trace(folder, program, args=["--whole"])
    usage = ours["pdl__usage"]
    equal(usage["cost"], 0.5 * usage["prompt_tokens"] + 2 * usage["completion_tokens"])
    times = ours["pdl__timing"]
    assert times["start_nanos"] <= times["sent_nanos"] <= times["end_nanos"], times
    equal((sorted(whole["pdl__usage"]), sorted(whole["pdl__timing"])),
          (["completion_tokens", "model_calls", "prompt_tokens"], ["end_nanos", "start_nanos", "timezone"]))


# --- long traces: what is over is put aside ---------------------------------------------------------------------------

LOOP = """
repeat:
  defs: {n: "${ i * 2 }", f: {function: {x: integer}, return: "${ x }"}}
  text:
  - "%s"
  - if: ${ i %% 3 == 0 }
    then: {call: "${ f }", args: {x: "${ n }"}}
    else: {lastOf: ["${ n }", "é\\x01\\x02"]}
index: i
maxIterations: %d
join: {as: lastOf}
contribute: [result]
"""


def check_loop(t, n):
    equal(len(t["pdl__trace"]), n)
    for i, block in enumerate(t["pdl__trace"]):
        equal(block["pdl__id"], "repeat.%d.text" % i)
        equal(block["defs"]["n"]["pdl__result"], 2 * i)
        choice = block["text"][1]
        equal((choice["if"]["pdl__result"], choice["pdl__result"]), (i % 3 == 0, 2 * i if i % 3 == 0 else "é\x01\x02"))
        if i % 3 == 0:
            equal(choice["then"]["pdl__trace"]["pdl__result"], 2 * i)
        else:  # a branch that was not taken has the id of the last time that it was
            equal(choice["then"]["pdl__id"], "repeat.%d.text.1.if.then.call" % ((n - 1) // 3 * 3))


def test_a_long_loop_is_written_in_order(pdl, folder):
    check_loop(pdl.trace(folder, LOOP % ("x", 2000)), 2000)


def test_texts_of_every_length_are_put_aside(pdl, folder):
    for size in (1, 100, 8000, 8191, 8192, 8193, 16384, 70000):
        t = pdl.trace(folder, LOOP % ("y" * size, 7))
        check_loop(t, 7)
        equal({b["text"][0]["pdl__result"] for b in t["pdl__trace"]}, {"y" * size})


def test_the_iterations_of_a_map_are_in_order(pdl, folder):
    program = """
for: {i: "${ range(300)|list }"}
map:
  text:
  - "a${ i }"
  - {model: openai/m, input: "q${ i }", parameters: {mock_response: "r${ i }"}}
  - {for: {k: [1, 2, 3]}, map: "${ i * k }", join: {as: array}}
join: {as: array}
"""
    t = pdl.trace(folder, program)
    equal([b["pdl__id"] for b in t["pdl__trace"]], ["map.%d.text" % i for i in range(300)])
    for i, b in enumerate(t["pdl__trace"]):
        equal(b["text"][1]["pdl__result"], "r%d" % i)
        equal(b["text"][1]["pdl__usage"]["model_calls"], 1)
        equal([x["pdl__result"] for x in b["text"][2]["pdl__trace"]], [i, 2 * i, 3 * i])


def test_attempts_that_failed_leave_nothing(pdl, folder):
    t = pdl.trace(folder, """
repeat:
  retry: 1
  text:
  - for: {k: "${ range(50)|list }"}
    map: "${ k }"
  - ${ nope }
  fallback: saved
maxIterations: 200
join: {as: array}
""")
    equal(len(t["pdl__trace"]), 200)
    for i, b in enumerate(t["pdl__trace"]):
        equal((b["pdl__id"], b["fallback"]["pdl__result"]), ("repeat.%d.text.retry1" % i, "saved"))
        assert "pdl__trace" not in b["text"][0], b["text"][0]


M = '{model: openai/m, input: "q${ i }", parameters: {mock_response: x}}'
TRIED = {  # calls that were made
    '{text: [%s, "${ nope }"], retry: 2, fallback: b}' % M: 3,
    '{text: [{for: {k: [1, 2]}, repeat: %s}, {for: {k: [1, 2]}, map: %s}, "${ f(1) }", "${ nope }"], retry: 1, fallback: %s}' % (M, M, M): 11,
    '{model: openai/m, input: "a", parameters: {mock_response: x}, spec: integer, retry: 1, fallback: {data: 7}}': 2,
    '{defs: {d: %s}, text: ["${ d }", {text: [%s, "${ nope }"], fallback: c}, "${ nope }"], fallback: %s}' % (M, M, M): 3,
}


@pytest.mark.parametrize("block", TRIED)
def test_calls_of_attempts_that_failed_are_counted(pdl, folder, block):
    program = 'defs: {i: 1, f: {function: {i: integer}, return: %s}}\ntext:\n- %s\n' % (M, block)

    def calls(v):
        parts = v if isinstance(v, list) else v.values() if isinstance(v, dict) else []
        return sum(map(calls, parts)) + (v["pdl__usage"]["model_calls"] if isinstance(v, dict) and v.get("pdl__usage") else 0)
    (folder / "main.pdl").write_text(program)
    p = subprocess.run([pdl.pdl, "--verbose", "main.pdl", "-t", "t.json"], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    equal((p.returncode, p.stderr.count("model openai/m,")), (0, TRIED[block]), p.stderr)
    equal(calls(json.loads((folder / "t.json").read_text())), TRIED[block])
    p = subprocess.run([pdl.pdl, "check", "t.json"], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_S)
    equal(p.returncode, 0, p.stdout + p.stderr)


def test_a_call_that_fails_at_once_is_an_error(pdl, folder):
    (folder / "p.pdl").write_text("text:\n- model: openai/x\n  input: hi\n- model: openai/x\n  input: hi\n  fallback: other\n")
    env = {k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"}
    subprocess.run([pdl.pdl, "--trace=t.json", "p.pdl"], cwd=folder, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    t = json.loads((folder / "t.json").read_text())
    equal(t["text"][0]["kind"], "error")
    equal("Missing credentials" in t["text"][0]["msg"], True)


def test_a_failing_run_shows_what_was_done(pdl, folder):
    t = pdl.trace(folder, """
repeat: {text: ["${ i }", "${ 10 // (2000 - i) }"]}
index: i
maxIterations: 5000
join: {as: lastOf}
""", status=1)
    equal(len(t["pdl__trace"]), 2001)
    equal([x["kind"] for x in t["pdl__trace"][-1]["text"]], ["data", "error"])


# --- forms: later executions of a block are written by the text of the first ones (fold_form.c) ---------------------


def without_times(x):
    """A part of a trace without what differs from iteration to iteration: times, and its number in ids."""
    if isinstance(x, dict):
        return {k: 0 if k.endswith("_nanos") else without_times(v) for k, v in x.items()}
    if isinstance(x, list):
        return [without_times(v) for v in x]
    return re.sub(r"^text\.0\.repeat\.(call)?\d+", r"text.0.repeat.\1N", x) if isinstance(x, str) else x


# name: body of a loop whose i is 0 for all iterations, so that all of them are alike
ALIKE = {
    "text": '{text: [a, "${ i }", {text: ["${ i }", b], def: x, role: user}]}',
    "structures": '{array: [1, {object: {a: "${ i }", b: {data: {c: [1, "${ i }"]}}}}, {lastOf: [1, 2]}]}',
    "if": '{if: "${ i == 0 }", then: {text: ["yes"]}, else: {text: [no]}}',
    "match": '{match: "${ i }", with: [{case: 1, then: a}, {case: 0, if: "${ i == 1 }", then: b}, {case: 0, then: {text: [c]}}, {then: d}]}',
    "call": '{call: "${ f }", args: {a: "${ i }", b: [1, {c: 2}]}}',
    "call without arguments": '{call: "${ g }"}',
    "expression call": '${ f(a=i, b=[]) }',
    "defs": '{defs: {x: 1, y: {text: ["${ x }"]}}, text: ["${ y }"]}',
    "function in defs": '{defs: {h: {function: {a: integer}, return: "${ a }"}}, text: [{call: "${ h }", args: {a: "${ i }"}}]}',
    "parser": '{data: "{\\"k\\": 1}", parser: json, spec: {k: integer}}',
    "regex": '{data: "ab", parser: {regex: "(?P<x>a)b"}}',
    "loop": '{for: {k: [1, 2]}, repeat: {text: ["${ k }", "${ i }"]}, join: {reduce: "${ add }"}}',
    "while": '{defs: {n: 0}, while: "${ n < 2 }", repeat: {def: n, data: "${ n + 1 }"}}',
    "map": '{for: {k: [1, 2]}, map: "${ k + i }", join: {as: array}}',
    "map of one name": '{map: {data: 1}, maxIterations: 2, join: {as: array}}',
    "fallback": '{data: "${ 1 // 0 }", fallback: {text: [saved]}}',
    "retry": '{data: "${ 1 // 0 }", retry: 1, fallback: r}',
    "null and booleans": '{array: [{data: null}, {data: "${ i == 0 }"}, {data: "${ [] }"}]}',
    "no result": '{text: [a], contribute: []}',
    "messages": '{text: [{role: user, text: hello}, {text: [x], contribute: [result]}], context: independent}',
    "secrets": '{data: {api_key: "${ secret }", x: "${ secret ~ 1 }"}, parser: null}',
    "quotes": '{text: ["\\u00e4\\"\\\\\\n\\x7f", "${ i }"]}',
    "get": '{defs: {o: {data: {a: [1]}}}, get: o.a}',
    "error in a fallback": '{text: [{text: [{data: "${ nothing }"}]}], fallback: {text: ["${ i }"]}}',
    "include": '{include: part.pdl}',
    "code": '{lang: jinja, code: "a{{ i }}"}',
    "command": '{args: [echo, "x${ i }"]}',
}
LOOP_OF_BODY = """
defs:
  secret: sesame-open
  add: {function: {a: string, b: string}, return: "${ a ~ b }"}
  f: {function: {a: integer, b: array}, return: {text: ["${ a }"]}}
  g: {function: null, return: {data: [1]}}
text:
- for: {i: [0, 0, 0, 0, 0]}
  repeat:
    %s
"""


def iterations_of(pdl, folder, body):
    (folder / "part.pdl").write_text('{text: ["${ i }", p]}')
    (folder / "main.pdl").write_text(LOOP_OF_BODY % body)
    p = subprocess.run([pdl.pdl, "--stream", "none", "-t", "t.json", "main.pdl"], cwd=folder, capture_output=True, timeout=TIMEOUT_S,
                       env={"PATH": "/usr/bin:/bin"})
    if p.returncode:
        return p, None
    return p, json.loads((folder / "t.json").read_bytes())["text"][0]["pdl__trace"]


def test_later_iterations_are_written_like_the_first(pdl, folder):
    for name, body in ALIKE.items():
        p, parts = iterations_of(pdl, folder, body)
        equal(p.returncode, 0, name + ": " + p.stderr.decode())
        equal(len(parts), 5, name)
        alike = [without_times(x) for x in parts]
        for x in alike[1:]:
            equal(x, alike[0], name)


def test_iterations_of_other_shapes_have_what_is_theirs(pdl, folder):
    body = """
    text:
    - if: ${ i % 2 == 0 }
      then: {text: [even]}
      else: {data: "${ i }"}
    - match: ${ i % 6 }
      with:
      - {case: 0, then: zero}
      - {case: 1, then: {data: null}}
      - {case: 2, then: {array: [2]}}
      - {case: 3, if: "${ i > 5 }", then: three}
      - {then: {text: [more, "${ i }"]}}
    - {data: "${ none if i % 3 == 0 else i }"}
"""
    n = 40
    t = pdl.trace(folder, "text:\n- for: {i: \"${ range(%d) }\"}\n  repeat:%s" % (n, body))
    for i, part in enumerate(t["text"][0]["pdl__trace"]):
        choice, match, data = part["text"]
        branch, other = ("then", "else") if i % 2 == 0 else ("else", "then")
        equal(choice["if"]["pdl__result"], i % 2 == 0, i)
        equal(choice[branch]["pdl__result"], "even" if i % 2 == 0 else i, i)
        equal(isinstance(choice[other], dict) and "pdl__result" in choice[other], False, i)
        six = i % 6
        taken = six if six < 3 or (six == 3 and i > 5) else 4
        equal([c["pdl__matched"] is True and "pdl__result" in c["then"] for c in match["with"]], [k == taken for k in range(5)], i)
        equal(match["pdl__result"], ["zero", None, [2], "three", "more%d" % i][taken], i)
        equal(data["pdl__result"], None if i % 3 == 0 else i, i)
        equal(data["pdl__id"].split(".")[-1], "data", i)


def test_a_failure_after_many_iterations_is_that_iteration(pdl, folder):
    body = "{text: [a, {data: \"${ 10 // (i - 7) }\"}, b]}"
    (folder / "main.pdl").write_text("text:\n- for: {i: \"${ range(9) }\"}\n  repeat: " + body)
    t = json.loads(pdl.run(folder, (folder / "main.pdl").read_text(), status=1))
    text = json.dumps(t)
    equal(text.count('"kind": "error"'), 1)
    equal("division" in text, True)


def seconds_of(pdl, folder, *args):
    """Processor time of a run, the least of some."""
    return min(used(pdl, folder, "--stream", "none", *args)[0] for _ in range(4))


def used(pdl, folder, *args, env=None):
    """-> seconds of the processor, the most memory in bytes"""
    status, seconds, peak, _, err = used_by.run([pdl.pdl, *args, "main.pdl"], cwd=folder, stdout=subprocess.DEVNULL, env=env)
    equal(status, 0, err.decode()[-1000:])
    return seconds, peak


@NOT_SANITIZED
def test_a_trace_of_a_loop_is_cheaper_than_one_of_other_blocks(pdl, folder):
    def cost(program):
        (folder / "main.pdl").write_text(program)
        return seconds_of(pdl, folder, "-t", "t.json") - seconds_of(pdl, folder)

    n, block = 2500, 'text: [a, "${ 1 }", {if: true, then: yes}]'
    for _ in range(3):  # others share the core
        once = cost("text:\n" + "- {%s}\n" % block * n)
        again = cost('text:\n- for: {i: "${ range(%d) }"}\n  repeat: {%s}\n' % (n, block))
        if again < once * 0.7:
            break
    equal(again < once * 0.7, True, "%.3f s for blocks that are executed once, %.3f s for a loop" % (once, again))


@NOT_SANITIZED
def test_a_trace_of_models_takes_linear_time(pdl, folder):
    """Each call has the context of all calls before it."""
    def cost(n):
        (folder / "main.pdl").write_text("for: {i: '${ range(%d) }'}\nrepeat:\n  text:\n  - \"${ i } \"\n"
                                         "  - {model: openai/m, input: a, parameters: {mock_response: b}}\n" % n)
        return seconds_of(pdl, folder, "-t", "t.json")
    for _ in range(3):  # others share the core
        few, many = cost(1000), cost(6000)
        if many < 12 * few:
            break
    equal(many < 12 * few, True, "%.3f s for 1 000 calls, %.3f s for 6 000" % (few, many))


@NOT_SANITIZED
def test_a_trace_takes_no_memory(pdl, folder, scale):
    program = "contribute: [result]\nrepeat: {text: [a]}\nmaxIterations: %d\njoin: {as: lastOf}\n" % scale(100000, 20000)
    (folder / "main.pdl").write_text(program)
    without, traced = (used(pdl, folder, *args)[1] for args in ((), ("-t", "t.json")))
    size = (folder / "t.json").stat().st_size
    assert size > scale(40_000_000, 8_000_000), size
    assert traced < without + min(8_000_000, size / 4), "%d bytes without a trace, %d with one" % (without, traced)


class Late(http_of.Quiet):
    """A model that takes its time, so that what can be done without it is done before."""

    def do_POST(self):
        self.body()
        time.sleep(1.5)
        text = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "late"}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@NOT_SANITIZED
def test_iterations_behind_one_without_an_answer_take_no_memory(pdl, folder):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Late)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    env = {"OPENAI_API_KEY": "x", "PATH": "/usr/bin:/bin", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % server.server_address[1]}
    (folder / "main.pdl").write_text("""
for: {i: "${ range(12000) }"}
map:
  if: ${ i == 0 }
  then: {model: openai/m, input: hi}
  else: {lastOf: ["x${ i }"]}
join: {as: lastOf}
""")
    without, traced = (used(pdl, folder, "--stream", "none", *a, env=env)[1] for a in ((), ("-t", "t.json")))
    server.shutdown()
    t = json.loads((folder / "t.json").read_text())["pdl__trace"]
    equal([b["pdl__id"] for b in t], ["map.%d.if" % i for i in range(12000)])
    equal([t[i]["pdl__result"] for i in (0, 1, 11999)], ["late", "x1", "x11999"])
    assert traced < without + 4_000_000, "%d bytes without a trace, %d with one" % (without, traced)


def test_a_run_that_is_killed_leaves_nothing(pdl, folder):
    (folder / "main.pdl").write_text("repeat: {text: [a]}\nmaxIterations: 100000000\njoin: {as: lastOf}\n")
    (folder / "tmp").mkdir()
    (folder / "t.json").write_text("old")
    p = subprocess.Popen([pdl.pdl, "-t", "t.json", "main.pdl"], cwd=folder, stdout=subprocess.DEVNULL,
                         env={"TMPDIR": str(folder / "tmp"), "PATH": "/usr/bin:/bin"})
    try:
        p.wait(1)
    except subprocess.TimeoutExpired:
        pass
    p.send_signal(signal.SIGKILL)
    equal(p.wait(), -signal.SIGKILL)
    equal((folder / "t.json").read_text(), "old")
    equal(sorted(x.name for x in folder.rglob("*")), ["main.pdl", "t.json", "tmp"])
