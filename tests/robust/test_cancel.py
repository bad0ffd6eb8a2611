# SPDX-License-Identifier: Apache-2.0
"""test_cancel.py -- a signal and a budget of seconds end a run within 200 ms of its work, whatever the run is doing.

Values of forty objects share their parts and so have 2^40 leaves. They are tried with every operator, filter, test, method and sink.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from ..checks import check
from .kit import SECONDS, children_seconds, cpu_seconds, groups, until_it_waits, until_worked

BEFORE = 0.03  # seconds of the processor that a run works before the signal, of which its start takes three thousandths
BUDGET = 0.04  # seconds by the clock that a block may take
AFTER = 0.3    # seconds of the processor that a run may work behind either

# a and b, d and e, t and u are equal and share nothing: lists, dicts, tuples of 2^40 leaves; m holds messages, c closures
DEFS = "  a: {data: [1]}\n  b: {data: [1]}\n  d: {data: {k: 1}}\n  e: {data: {k: 1}}\n  t: {data: \"${ (1,) }\"}\n  u: {data: \"${ (1,) }\"}\n" \
    "  m: {data: [{role: user, content: hi}]}\n  f: {function: {x: {optional: array}}, return: x}\n  c: {data: \"${ [f] }\"}\n"
DOUBLED = """- for: {i: "${ range(40) }"}
  repeat:
    defs:
      a: {data: "${ [a, a] }"}
      b: {data: "${ [b, b] }"}
      d: {data: "${ {'k': d, 'l': d} }"}
      e: {data: "${ {'k': e, 'l': e} }"}
      t: {data: "${ (t, t) }"}
      u: {data: "${ (u, u) }"}
      m: {data: "${ [m, m] }"}
      c: {data: "${ [c, c] }"}
    data: ""
  join: {as: lastOf}
"""

# expressions that take for ever
ENDLESS = [
    "a == b", "a != b", "d == e", "t == u", "a < b", "a <= b", "a > b", "a >= b", "t < u", "[a] < [b]", "a in [b]", "a not in [b]", "a in (b,)",
    "t in {u: 1}", "{t: 1}", "{t: 1}[u]", "d.k in e.values()", "{'k': a}.items() == {'k': b}.items()", "a ~ 'x'", "'%s' % a", "'%r' % (a,)",
    "a|string", "a|tojson", "d|tojson", "d|tojson(2)", "{1: d}|tojson", "a|json", "d|json", "a|pprint", "d|pprint", "a|escape", "a|forceescape",
    "a|upper", "a|lower", "a|title", "a|capitalize", "a|trim", "a|center", "a|striptags", "a|wordcount", "a|urlencode", "a|safe",
    "a|truncate(5)", "a|urlize", "a|replace('1', '2')", "a|join(',')", "d|xmlattr", "[a]|pylist", "[a, b]|sort", "[a, b]|min",
    "[a, b]|max", "[t, u]|unique|list", "[{'x': a}, {'x': b}]|groupby('x')", "[a]|map('string')|list", "[a]|select('eq', b)|list",
    "[a]|reject('eq', b)|list", "[{'x': a}]|selectattr('x', 'eq', b)|list", "[{'x': a}]|rejectattr('x', 'in', [b])|list", "[a]|join",
    "'%s'|format(a)", "'{}'.format(a)", "'{0!r:>3}'.format(a)", "'{x}'.format_map({'x': a})", "','.join([a|string])",
    "a is eq b", "a is equalto b", "a is ne b", "a is lt b", "a is le b", "a is gt b", "a is ge b", "a is in [b]", "[a].index(b)",
    "[a].count(b)", "(a,).index(b)", "(t,).count(u)", "dict([(t, 1)])", "{}.fromkeys([t, u])", "{t: 1}.get(u)", "[a, b].sort()", "[a].remove(b)",
    "{t: 1}.pop(u)", "{t: 1}.setdefault(u, 2)", "{}.update({t: 1})", "a in {'k': b}.values()|list", "range(10) in [a, b, t] or a in [b]",
]
# Filters that look at one level of their value, or are another name of one above.
OF_ONE_LEVEL = frozenset("""abs attr batch count d default dictsort e filesizeformat first float items last length random reverse round slice sum""".split())
# blocks that take for ever
BLOCKS = {
    "text": "text: ${ a }",
    "spec": "data: ${ a }\nspec: %s" % ("[" * 41 + "integer" + "]" * 41),
    "schema_const": "data: ${ a }\nspec: {$schema: 'https://json-schema.org/draft/2020-12/schema', type: array, uniqueItems: true}",
    "match": "match: ${ a }\nwith: [{case: {any: , def: x}, if: \"${ x == b }\", then: y}]",
    "if": "if: ${ a == b }\nthen: x",
    "until": "repeat: x\nuntil: ${ a == b }",
    "jinja": "lang: jinja\ncode: \"{{ a }}\"",
    "jinja_changed": "lang: jinja\ncode: \"{% for x in [a, b] %}{% if loop.changed(x) %}y{% endif %}{% endfor %}\"",
    "parser": "text: ${ a }\nparser: json",
    "join": "for: {x: [1, 2]}\nrepeat: ${ a }\njoin: {with: ','}",
    "join_array": "text: {for: {x: [1, 2]}, repeat: \"${ a }\", join: {as: array}}",
    "file": "text: ${ a }\ncontribute: [result]\nrole: \"${ a }\"",
}


CAUGHT = "  fallback: {text: \"caught\\n\", contribute: [stderr]}\n"


def program(block, budget):
    text = "defs:\n" + DEFS + "lastOf:\n" + DOUBLED
    lines = block.splitlines()
    text += "- " + "\n  ".join(lines) + "\n"
    if budget:
        text += "  budget: {seconds: %s}\n" % budget + ("" if "spec:" in block else CAUGHT)
    return text


# values on their way to other people, and what a run writes about itself: name, block, arguments
NOBODY = 'api_base: "http://127.0.0.1:9/v1", api_key: k, num_retries: 0'
SINKS = [
    ("trace", "data: ${ a }", ["-t", "o.json"]),
    ("trace of definitions", "data: x", ["-t", "o.json"]),
    ("trace of closures", "data: ${ c }", ["-t", "o.json"]),
    ("trace of a call", "call: ${ f }\nargs: {x: \"${ a }\"}", ["-t", "o.json"]),
    ("python", "lang: python\ncode: result = len(a)", []),
    ("python tuple", "lang: python\ncode: result = len(t)", []),
    ("record", 'model: openai/x\ninput: hi\nparameters: {mock_response: x, extra: "${ a }"}', ["--record", "j"]),
    ("record a dict", 'model: openai/x\ninput: hi\nparameters: {mock_response: x, extra: "${ d }"}', ["--record", "j"]),
    ("cache", 'model: openai/x\ninput: hi\nparameters: {%s, extra: "${ a }"}' % NOBODY, ["--cache", "j"]),
    ("wire", 'model: openai/x\ninput: hi\nparameters: {%s, extra: "${ a }"}' % NOBODY, ["--wire", "w"]),
    ("content", 'model: openai/x\ninput: {data: {role: user, content: "${ m }"}}\nparameters: {%s}' % NOBODY, []),
    ("schema", 'model: gemini/x\ninput: hi\nparameters: {%s, response_format: {type: json_schema, json_schema: {name: x, schema: "${ d }"}}}'
     % NOBODY, []),
    ("tools", 'model: anthropic/x\ninput: hi\nparameters: {%s, tools: [{type: function, function: {name: x, parameters: "${ d }"}}]}'
     % NOBODY, []),
    ("namespace", 'lang: jinja\ncode: "{% set ns = namespace(x=a) %}{% set ns.y = b %}{{ ns }}"', []),
    ("keys of other kinds", 'data: "${ {1: d, 2: d}|tojson }"', []),
]
# what ends at once, since each shared part is looked at once, or since there is too much of it: block, text of the error
AT_ONCE = {
    "namespace": ('lang: jinja\ncode: "{% set ns = namespace(x=a) %}{% set ns.y = b %}ok"', None),
    "context": ('defs: {pdl_context: {data: "${ m }"}}\ntext: ok', "a context has more than"),
    "sum of contexts": ('data: "${ pdl_context + m }"', "a context has more than"),
    "messages": ('model: openai/x\ninput: {data: "${ m }"}\nparameters: {mock_response: x}', "a context has more than"),
    "contributions": ('text: x\ncontribute: [context: {value: "${ m }"}]', "a context has more than"),
}


# One operation over a long value, which takes a quarter of a second or more, so that an end after a tenth of a second shows that it looks for
# signals while it works: name, values, expression. It is done again and again, so that the signal always comes in the middle of it.
FLAT_AFTER = 0.08
FLAT = [
    ("keys of a dict", {"s": "range(800000)|map('string')|list"}, "{}.fromkeys(s)"),
    ("sorted keys", {"d": "{}.fromkeys(range(600000)|map('string'))"}, "d|tojson"),
    ("sorted keys that are numbers", {"d": "{}.fromkeys(range(200000))"}, "d|tojson"),
    ("pairs", {"p": "{}.fromkeys(range(450000)|map('string'), 1).items()|list"}, "dict(p)"),
    ("equal dicts", {"d": "{}.fromkeys(range(1200000))", "e": "{}.fromkeys(range(1200000))"}, "d == e"),
    ("groups", {"o": "[{'x': 1}] * 800000"}, "o|groupby('x')"),
    ("letters", {"t": "'\u00e4\u00df \u03a3x' * 2500000"}, "t|upper"),
    ("words", {"t": "'ab c ' * 2500000"}, "t|title"),
    ("lines", {"t": "'ab\\u00e4\\n' * 8000000"}, "t|indent"),
    ("lines of a width", {"t": "'ab c ' * 4000000"}, "t|wordwrap"),
    ("blanks", {"t": "' ' * 30000000"}, "t.strip()"),
    ("backwards", {"t": "'ab' * 50000000"}, "t.rfind('c')"),
    ("every other", {"t": "'ab' * 40000000"}, "t[::2]"),
    ("between letters", {"t": "'ab' * 7000000"}, "t|replace('', '-')"),
    ("repr of a text", {"t": "'a\u00e4 ' * 7000000"}, "'%r' % t"),
    ("repr of bytes", {"t": "('a\u00e4 ' * 4000000).encode()"}, "'%r' % t"),
    ("pprint of words", {"t": "'a\u00e4 ' * 1000000"}, "t|pprint"),
    ("pprint of a word", {"t": "'a\u00e4b' * 7000000"}, "t|pprint"),
    ("pprint of lines", {"t": "'a\\u00e4\\n' * 4000000"}, "t|pprint"),
    ("JSON of a text", {"t": "'a\u00e4 ' * 20000000"}, "t|tojson"),
    ("fill", {"n": "1"}, "'%999999999d' % n"),
    ("fill with braces", {"n": "1"}, "'{:0999999999,}'.format(n)"),
    ("fill on both sides", {"t": "'a'"}, "t.center(999999999)"),
    ("repetition", {"t": "'ab'"}, "t * 499999999"),
    ("concatenation", {"t": "'ab' * 100000000"}, "t + t"),
    ("search", {"t": "'ab' * 50000000"}, "t.find('ababX')"),
    ("slice", {"t": "'ab' * 100000000"}, "t[1:]"),
    ("digits", {"t": "'1' * 60000000"}, "t|int"),
    ("JSON of a text in Unicode", {"t": "'a\\u00e4\\n' * 20000000"}, "t|json"),
]


# --- a run and its end ------------------------------------------------------------------------------------------------


def start(pdl, folder, text, args=(), env=None):
    (pathlib.Path(folder) / "main.pdl").write_text(text)
    return subprocess.Popen([pdl, *args, "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})


def end(p):
    """Waits. -> standard error, or None when it does not end."""
    try:
        return p.communicate(timeout=SECONDS)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return None


def best_of_three(once):
    """once() -> what is wrong, or None; whether it is only that the end came late: processor time is longer where others share the core."""
    for _ in range(3):
        why, late = once()
        if not late:
            break
    return why


def interrupted(p, worked, most, signals=1):
    """Sends SIGINT to a run that has worked so long. -> what is wrong, whether it is late."""
    if worked is None:
        return "ended before the signal: %s" % p.communicate()[1][:300], False
    spent = children_seconds()
    p.send_signal(signal.SIGINT)
    if signals == 2:
        time.sleep(0.03)
        p.send_signal(signal.SIGINT)
    err = end(p)
    spent = children_seconds() - spent - worked
    if err is None:
        return "does not end", False
    said = "exit status %d after %.2f s: %s" % (p.returncode, spent, err[:300])
    if p.returncode != 130 or signals == 1 and "Keyboard Interrupt" not in err:
        return said, False
    return (said, True) if spent > most() else (None, False)


def signalled(pdl, name, text, args=(), whole=None):
    """whole: a file that is JSON afterwards."""
    def once():
        with tempfile.TemporaryDirectory() as d:
            out = pathlib.Path(d) / "o.json"

            def most():  # what of a trace was made before the signal is kept, and written: a second signal ends that (twice)
                return AFTER + (out.stat().st_size / 1e9 if args[:1] == ["-t"] and out.exists() else 0)
            p = start(pdl, d, text, args)
            why, late = interrupted(p, until_worked(p, BEFORE), most)
            try:
                json.loads((pathlib.Path(d) / whole).read_text()) if whole and (not why or late) else None
            except (OSError, ValueError) as e:
                return "%s: %s" % (whole, e), False
            return why, late
    why = best_of_three(once)
    check(name, not why, why)


def within_budget(pdl, name, block, args=(), of_run=False):
    """A program with one block that has a budget, or a run that has one."""
    with tempfile.TemporaryDirectory() as d:
        os.mkfifo(os.path.join(d, "fifo"))
        before, p = children_seconds(), start(pdl, d, program(block, None if of_run else BUDGET), args)
        err = end(p)
        spent = children_seconds() - before
        why = "does not end" if err is None else None
        # a trace leaves out what takes long to write, and then the run ends well
        caught = "caught" in (err or "") or "budget of" in (err or "") or of_run and p.returncode == 0
        if not why and (not caught or spent > BUDGET + AFTER + 0.1):
            why = "exit status %d after %.2f s: %s" % (p.returncode, spent, err[:300])
        check(name, not why, why)


def seconds_of_budgets(pdl, blocks):
    """Runs all blocks in one program, each with a budget and a fallback that says so. -> processor time of each block that was caught."""
    text = "defs:\n" + DEFS + "lastOf:\n" + DOUBLED + "- {text: \"begin\\n\", contribute: [stderr]}\n"
    for block in blocks:
        text += "- %s\n  budget: {seconds: %s}\n%s  contribute: []\n" % ("\n  ".join(block.splitlines()), BUDGET, CAUGHT)
    spent = []
    with tempfile.TemporaryDirectory() as d:
        p = start(pdl, d, text)
        watch, last = threading.Timer(SECONDS, p.kill), 0
        watch.start()
        for line in p.stderr:
            now = cpu_seconds(p.pid)
            if line == "caught\n":
                spent.append(now - last)
            last = now
        watch.cancel()
        p.wait()
    return spent


def within_budgets(pdl, rows):
    """rows: name, block. Those that are not well in one program are run in one of their own, which says what is wrong."""
    spent = seconds_of_budgets(pdl, [block for _, block in rows])
    whole = len(spent) == len(rows)
    for i, (name, block) in enumerate(rows):
        if whole and spent[i] <= BUDGET + AFTER + 0.1:
            check(name, True)
        else:
            within_budget(pdl, name, block)


# --- expressions and blocks -------------------------------------------------------------------------------------------


def block_of(expression):
    return 'data: "${ %s }"' % expression.replace('"', '\\"')


def test_every_filter_is_tried(pdl):
    page = subprocess.run([pdl, "__builtins"], capture_output=True, text=True, check=True).stdout
    filters = set(re.findall(r"^\| `(\w+)\(", page[page.index("\n## Filters\n"):page.index("\n## Tests\n")], re.M))
    tried = set(re.findall(r"\|(\w+)", " ".join([*ENDLESS, *(row[2] for row in FLAT)])))
    check("the page has filters", len(filters) > 50, len(filters))
    missing = sorted(filters - tried - OF_ONE_LEVEL)
    check("ENDLESS or FLAT tries each filter, or OF_ONE_LEVEL says that it looks at one level", not missing, missing)
    check("OF_ONE_LEVEL has only filters that are not tried", not OF_ONE_LEVEL - (filters - tried), sorted(OF_ONE_LEVEL - (filters - tried)))


@pytest.mark.parametrize("expressions", groups(ENDLESS, 32))
def test_a_signal_ends_an_expression(pdl, expressions):
    for e in expressions:
        signalled(pdl, "signal " + e, program(block_of(e), None))


@pytest.mark.parametrize("expressions", groups(ENDLESS, 32))
def test_a_budget_ends_an_expression(pdl, expressions):
    within_budgets(pdl, [("budget " + e, block_of(e)) for e in expressions])


def test_a_signal_ends_a_block(pdl):
    for name, block in BLOCKS.items():
        signalled(pdl, "signal block " + name, program(block, None))


def test_a_budget_ends_a_block(pdl):
    rows = [("budget block " + name, block) for name, block in BLOCKS.items()]
    within_budgets(pdl, [r for r in rows if "spec:" not in r[1]])
    for name, block in rows:
        if "spec:" in block:  # its fallback would be of the wrong type
            within_budget(pdl, name, block)
    within_budget(pdl, "budget fifo", "read: fifo")


def test_a_signal_ends_what_writes(pdl):
    for name, block, args in SINKS:
        signalled(pdl, "signal " + name, program(block, None), args)


def test_a_budget_ends_what_writes(pdl):
    within_budgets(pdl, [("budget " + name, block) for name, block, args in SINKS if not args])
    for name, block, args in SINKS:
        if args:
            of_run = args[:1] == ["-t"]  # it is not the block that takes long
            within_budget(pdl, "budget " + name, block, (["--budget", "seconds=%s" % BUDGET] if of_run else []) + args, of_run)


def test_traces(pdl):
    for name, text in UNFINISHED.items():
        signalled(pdl, "signal trace of " + name, text, ["-t", "o.json"], "o.json")
    name = "two signals while a trace is written"  # writing what was kept takes a fifth of a second; the second signal ends it

    def twice():
        with tempfile.TemporaryDirectory() as d:
            p = start(pdl, d, program("data: x", None), ["-t", "o.json"])
            return interrupted(p, until_worked(p, 0.4), lambda: AFTER / 2, signals=2)
    why = best_of_three(twice)
    check(name, not why, why)


def test_at_once(pdl):
    for name, (block, want) in AT_ONCE.items():
        with tempfile.TemporaryDirectory() as d:
            before, p = children_seconds(), start(pdl, d, program(block, None))
            err = end(p)
            spent = children_seconds() - before
            ok = err is not None and spent < 2 * AFTER and (want in err if want else p.returncode == 0)
            check("at once: " + name, ok, "exit status %s after %.2f s: %s" % (p.returncode, spent, (err or "")[:300]))


def flat(pdl, values, expression):
    text = "lastOf:\n- defs:\n" + "".join('    %s: {data: "${ %s }"}\n' % x for x in values.items()) + \
        "  text: \"begins\\n\"\n  contribute: [stderr]\n" \
        "- for: {i: \"${ range(1000000) }\"}\n  repeat: {if: \"${ [%s]|length == 0 }\", then: x}\n" % expression
    with tempfile.TemporaryDirectory() as d:
        p = start(pdl, d, text, ["--check", "off"])
        while (line := p.stderr.readline()) and "begins" not in line:
            pass
        return interrupted(p, until_worked(p, cpu_seconds(p.pid) + BEFORE), lambda: FLAT_AFTER)


@pytest.mark.parametrize("rows", groups(FLAT, 7))
def test_a_signal_ends_one_operation(pdl, rows):
    for name, values, expression in rows:
        why = best_of_three(lambda v=values, e=expression: flat(pdl, v, e))
        check("many: " + name, not why, why)


# --- pipes whose other end does nothing -------------------------------------------------------------------------------

# name, program, arguments
FIFOS = [
    ("read", "read: fifo\n", []), ("include", "include: fifo\n", []), ("import", "defs: {m: {import: ./fifo}}\ntext: x\n", []),
    ("data file", "text: x\n", ["--data-file", "fifo"]), ("wire", "text: x\n", ["--wire", "fifo"]), ("trace", "text: x\n", ["-t", "fifo"]),
    ("prices", "text: x\n", ["--prices", "fifo"]),
    ("write", "defs: {o: {aggregator: {file: fifo}}}\ntext: [{text: x, contribute: [result, o]}]\n", []),
    ("write to a full pipe", "defs: {o: {aggregator: {file: big}}}\ntext: [{text: \"${ 'x' * 1000000 }\", contribute: [result, o]}]\n", []),
    ("trace to a full pipe", "text: ${ 'x' * 1000000 }\n", ["-t", "big"]),
    ("stdout full", "text: ${ 'x' * 1000000 }\n", []), ("stdout full at the end", "text: ${ 'x' * 1000000 }\n", ["--stream", "none"]),
]


# a block that has not ended when the signal comes, with a value that takes seconds to write: the trace is whole without that value
UNFINISHED = {
    "a range": "for: {i: \"${ range(100000000) }\"}\nrepeat: \"${ i * i }\"\njoin: {as: lastOf}\n",
    "calls of a loop": "for: {i: \"${ range(100000) }\"}\nrepeat:\n  text:\n  - \"${ i } \"\n  - {model: openai/m, input: a, parameters: {mock_response: b}}\n",
}


# name, program, arguments: standard error is full, and so is the pipe big when something was written
LONG_CALL = "model: openai/x\ninput: ${ 'x' * 300000 }\nparameters: {%s}\nfallback: {lang: command, code: sleep 100}\n" % NOBODY
STALLED = [
    ("stalled: the error at the end", "lang: command\ncode: sleep 100\n", []),
    ("stalled: standard error", "text: \"${ 'x' * 1000000 }\"\ncontribute: [stderr]\n", []),
    ("stalled: wire", LONG_CALL, ["--wire", "big"]),
    ("stalled: wire on standard error", LONG_CALL, ["--wire", "-"]),
    ("stalled: debug", "for: {i: ${ range(1000) }}\nrepeat: ${ i }\n", ["PDL_DEBUG=exec"]),
    ("stalled: note", "text: a\nspec: integer\nretry: 3\ntrace_error_on_retry: false\n", []),
]


# what only a regular file can be: option, exit status, error
REFUSED = [
    ("--cache", 1, "pdl: error: argument --cache: the cache fifo cannot be used: it is not a regular file\n"),
    ("--record", 2, "pdl: error: argument --record: fifo exists already: a recording needs a new file\n"),
    ("--replay", 1, "pdl: error: argument --replay: replay: fifo cannot be read: it is not a regular file\n"),
]


@pytest.mark.parametrize("sig, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
def test_a_signal_ends_a_run_that_waits_for_a_pipe(pdl, sig, status):
    """fifo is one whose other end never comes; big is a pipe that nobody empties. All runs wait at the same time."""
    runs, fds = [], []
    for name, text, args in FIFOS:
        d = tempfile.mkdtemp()
        for fifo in ("fifo", "big", "fifo.pdl"):
            os.mkfifo(os.path.join(d, fifo))
        r, w = os.pipe()
        fds += [os.open(os.path.join(d, "big"), os.O_RDWR), r, w]
        (pathlib.Path(d) / "main.pdl").write_text(text)
        p = subprocess.Popen([pdl, *args, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             stdout=w if name.startswith("stdout") else subprocess.DEVNULL)
        runs.append((name, p))
    for name, p in runs:
        until_it_waits(p)
        why = ends_by(p, sig, (status, -sig), 5 * AFTER)
        check("%s %s" % (name, sig.name), not why, why)
    for fd in fds:
        os.close(fd)


def ends_by(p, sig, statuses, seconds):
    """-> what is wrong, or None"""
    if p.poll() is not None:
        return "ended before the signal: %d %s" % (p.returncode, (p.communicate()[1] or "")[:300])
    p.send_signal(sig)
    begin = time.monotonic()
    err = end(p)
    took = time.monotonic() - begin
    if p.returncode in statuses and took < seconds:
        return None
    return "exit status %s after %.2f s: %s" % (p.returncode, took, (err or "")[:300])


def full_pipe():
    """-> both ends of a pipe that takes nothing more."""
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(w, True)
    return r, w


def test_a_signal_ends_a_run_whose_readers_do_not_read(pdl):
    """Standard error, and the pipe big, have readers that do not read."""
    runs, fds = [], []
    for name, text, args in STALLED:
        d = tempfile.mkdtemp()
        os.mkfifo(os.path.join(d, "big"))
        r, w = full_pipe()
        fds += [os.open(os.path.join(d, "big"), os.O_RDWR), r, w]
        (pathlib.Path(d) / "main.pdl").write_text(text)
        env = [x for x in args if x.startswith("PDL_")]
        p = subprocess.Popen([pdl, *args[len(env):], "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=w, env={**os.environ, **dict(x.split("=") for x in env)})
        runs.append((name, p))
    for name, p in runs:
        until_it_waits(p)
        why = ends_by(p, signal.SIGINT, (130, -signal.SIGINT), 8 * AFTER)
        check(name, not why, why)
    for fd in fds:
        os.close(fd)


def test_pipes_that_are_refused(pdl, folder):
    os.mkfifo(folder / "fifo")
    for option, status, want in REFUSED:
        p = start(pdl, folder, "text: x\n", [option, "fifo"])
        err = end(p)
        check(option, err == want and p.returncode == status, "exit status %s: %s" % (p.returncode, err))
