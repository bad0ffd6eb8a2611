#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_cancel.py -- a signal and a budget of seconds end a run within 200 ms of its work, whatever it is doing.

    test_cancel.py BUILD_DIR [NAME ...]

Values of forty objects whose parts are shared, so that they have 2^40 leaves, under every operator, filter, test, method and sink.
Python standard library only. Last line: `N passed, N failed`.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
sys.dont_write_bytecode = True
from checks import Checks  # noqa: E402
from test_size import children_seconds, cpu_seconds  # noqa: E402

SECONDS = 30
BEFORE = 0.25  # seconds of the processor that a run works before the signal
AFTER = 0.2    # ... that it may work then; sanitizers get three times as much

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


def program(block, budget):
    text = "defs:\n" + DEFS + "lastOf:\n" + DOUBLED
    lines = block.splitlines()
    text += "- " + "\n  ".join(lines) + "\n"
    if budget:
        text += "  budget: {seconds: %s}\n" % budget + ("" if "spec:" in block else "  fallback: caught\n")
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


# One operation over millions of items, each of which would take longer than a run may: name, values, expression. It is done again and
# again, so that the signal always comes in the middle of it.
MANY = 3000000
FLAT = [
    ("keys of a dict", {"s": "range(%d)|map('string')|list" % MANY}, "{}.fromkeys(s)"),
    ("sorted keys", {"d": "{}.fromkeys(range(%d)|map('string'))" % MANY}, "d|tojson"),
    ("sorted keys that are numbers", {"d": "{}.fromkeys(range(%d))" % MANY}, "d|tojson"),
    ("pairs", {"p": "{}.fromkeys(range(%d)|map('string'), 1).items()|list" % MANY}, "dict(p)"),
    ("equal dicts", {"d": "{}.fromkeys(range(%d)|map('string'))" % MANY, "e": "{}.fromkeys(range(%d)|map('string'))" % MANY}, "d == e"),
    ("groups", {"o": "[{'x': 1}] * %d" % MANY}, "o|groupby('x')"),
    ("letters", {"t": "'\u00e4\u00df \u03a3x' * %d" % (10 * MANY)}, "t|upper"),
    ("words", {"t": "'ab c ' * %d" % (20 * MANY)}, "t|title"),
    ("blanks", {"t": "' ' * %d" % (100 * MANY)}, "t.strip()"),
    ("backwards", {"t": "'ab' * %d" % (100 * MANY)}, "t.rfind('c')"),
    ("every other", {"t": "'ab' * %d" % (50 * MANY)}, "t[::2]"),
    ("between letters", {"t": "'ab' * %d" % (20 * MANY)}, "t|replace('', '-')"),
    ("repr of a text", {"t": "'a\u00e4 ' * %d" % (40 * MANY)}, "'%r' % t"),
    ("repr of bytes", {"t": "('a\u00e4 ' * %d).encode()" % (20 * MANY)}, "'%r' % t"),
    ("pprint of words", {"t": "'a\u00e4 ' * %d" % (40 * MANY)}, "t|pprint"),
    ("pprint of a word", {"t": "'a\u00e4b' * %d" % (40 * MANY)}, "t|pprint"),
    ("pprint of lines", {"t": "'a\\u00e4\\n' * %d" % (20 * MANY)}, "t|pprint"),
    ("JSON of a text", {"t": "'a\u00e4 ' * %d" % (40 * MANY)}, "t|tojson"),
    ("fill", {"n": "1"}, "'%999999999d' % n"),
    ("fill with braces", {"n": "1"}, "'{:0999999999,}'.format(n)"),
    ("fill on both sides", {"t": "'a'"}, "t.center(999999999)"),
    ("repetition", {"t": "'ab'"}, "t * 499999999"),
    ("concatenation", {"t": "'ab' * 300000000"}, "t + t"),
    ("search", {"t": "'ab' * 400000000"}, "t.find('ababX')"),
    ("slice", {"t": "'ab' * 400000000"}, "t[1:]"),
    ("digits", {"t": "'1' * 300000000"}, "t|int"),
    ("JSON of a text in Unicode", {"t": "'a\\u00e4\\n' * %d" % (40 * MANY)}, "t|json"),
]


class Tests(Checks):
    def __init__(self, build, wanted):
        self.pdl, self.wanted = str(build / "pdl"), wanted
        self.after = AFTER * (3 if "asan" in build.name or "ubsan" in build.name else 1)

    def result(self, name, why):
        self.check(name, not why, why)

    def start(self, folder, text, args, env=None):
        (pathlib.Path(folder) / "main.pdl").write_text(text)
        return subprocess.Popen([self.pdl, *args, "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})

    def end(self, p):
        """Waits; seconds of the processor since `worked`, or None when it does not end."""
        try:
            return p.communicate(timeout=SECONDS)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            return None

    def at_once(self, name, block, want):
        if self.wanted and name not in self.wanted:
            return
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            before, p = children_seconds(), self.start(d, program(block, None), ())
            err = self.end(p)
            spent = children_seconds() - before
            ok = err is not None and spent < 2 * self.after and (want in err if want else p.returncode == 0)
            self.result(name, None if ok else "exit status %s after %.2f s: %s" % (p.returncode, spent, (err or "")[:300]))

    def signal(self, name, text, args=(), whole=None):
        """whole: a file that is JSON afterwards. Processor time is longer where others share the core: the best of three counts."""
        if self.wanted and name not in self.wanted:
            return
        for _ in range(3):
            why, late = self.signal_once(text, args, whole)
            if not late:
                break
        self.result(name, why)

    def signal_once(self, text, args, whole):
        """-> what is wrong, or None; whether it is only that the end came late."""
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            p = self.start(d, text, args)
            while p.poll() is None and cpu_seconds(p.pid) < BEFORE:
                time.sleep(0.01)
            if p.returncode is not None:
                return "ended before the signal: %s" % p.communicate()[1][:300], False
            worked, spent = cpu_seconds(p.pid), children_seconds()
            p.send_signal(signal.SIGINT)
            err = self.end(p)
            spent = children_seconds() - spent - worked
            if err is None:
                return "does not end", False
            said = "exit status %d after %.2f s: %s" % (p.returncode, spent, err[:300])
            if p.returncode != 130 or "Keyboard Interrupt" not in err:
                return said, False
            try:
                json.loads((pathlib.Path(d) / whole).read_text()) if whole else None
            except (OSError, ValueError) as e:
                return "%s: %s" % (whole, e), False
            # what of a trace was made before the signal is kept, and written: a second signal ends that (twice)
            out = pathlib.Path(d) / "o.json"
            kept = out.stat().st_size / 1e9 if args[:1] == ["-t"] and out.exists() else 0
            return (said, True) if spent > self.after + kept else (None, False)

    def twice(self, name, text, args):
        """Writing what was kept takes seconds here; the second signal ends it."""
        if self.wanted and name not in self.wanted:
            return
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            p = self.start(d, text, args)
            while p.poll() is None and cpu_seconds(p.pid) < 12 * BEFORE:
                time.sleep(0.01)
            worked, spent = cpu_seconds(p.pid), children_seconds()
            p.send_signal(signal.SIGINT)
            time.sleep(0.15)
            p.send_signal(signal.SIGINT)
            err = self.end(p)
            spent = children_seconds() - spent - worked
            ok = err is not None and p.returncode == 130 and spent < 2 * self.after
            self.result(name, None if ok else "exit status %s after %.2f s: %s" % (p.returncode, spent, (err or "")[:300]))

    def flat(self, name, values, expression):
        if self.wanted and name not in self.wanted:
            return
        text = "lastOf:\n- defs:\n" + "".join('    %s: {data: "${ %s }"}\n' % x for x in values.items()) + \
            "  text: \"begins\\n\"\n  contribute: [stderr]\n" \
            "- for: {i: \"${ range(1000000) }\"}\n  repeat: {if: \"${ [%s]|length == 0 }\", then: x}\n" % expression
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            p = self.start(d, text, ["--check", "off"])
            while (line := p.stderr.readline()) and "begins" not in line:
                pass
            worked = cpu_seconds(p.pid)
            while p.poll() is None and cpu_seconds(p.pid) < worked + BEFORE:
                time.sleep(0.01)
            worked, spent = cpu_seconds(p.pid) if p.poll() is None else 0, children_seconds()
            p.send_signal(signal.SIGINT)
            err = self.end(p)
            spent = children_seconds() - spent - worked
            ok = err is not None and p.returncode == 130 and "Keyboard Interrupt" in err and spent <= self.after
            self.result(name, None if ok else "exit status %s after %.2f s: %s" % (p.returncode, spent, (err or "")[:300]))

    def budget(self, name, block, args=(), of_run=False):
        if self.wanted and name not in self.wanted:
            return
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            os.mkfifo(os.path.join(d, "fifo"))
            before, p = children_seconds(), self.start(d, program(block, None if of_run else BEFORE), args)
            err = self.end(p)
            spent = children_seconds() - before
            why = "does not end" if err is None else None
            caught = p.returncode == 0 or "budget of" in (err or "")
            if not why and (not caught or spent > BEFORE + self.after + 0.1):
                why = "exit status %d after %.2f s: %s" % (p.returncode, spent, err[:300])
            self.result(name, why)


    def fifo(self, name, text, args):
        """fifo is one whose other end never comes; big is a pipe that nobody empties."""
        for sig, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            title = "%s %s" % (name, sig.name)
            if self.wanted and title not in self.wanted:
                continue
            with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
                os.mkfifo(os.path.join(d, "fifo"))
                os.mkfifo(os.path.join(d, "big"))
                os.mkfifo(os.path.join(d, "fifo.pdl"))
                stalled = os.open(os.path.join(d, "big"), os.O_RDWR)
                r, w = os.pipe()
                (pathlib.Path(d) / "main.pdl").write_text(text)
                p = subprocess.Popen([self.pdl, *args, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                     stdout=w if name.startswith("stdout") else subprocess.DEVNULL)
                time.sleep(0.3 if self.after == AFTER else 1)
                if p.poll() is not None:
                    self.result(title, "ended before the signal: %d %s" % (p.returncode, p.communicate()[1][:300]))
                else:
                    p.send_signal(sig)
                    begin = time.monotonic()
                    err = self.end(p)
                    took = time.monotonic() - begin
                    ok = err is not None and took < 5 * self.after and p.returncode in (status, -sig)
                    self.result(title, None if ok else "exit status %s after %.2f s: %s" % (p.returncode, took, (err or "")[:300]))
                for fd in (r, w, stalled):
                    os.close(fd)

    def stalled(self, name, text, args):
        """Standard error, and the pipe big, have readers that do not read."""
        if self.wanted and name not in self.wanted:
            return
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            os.mkfifo(os.path.join(d, "big"))
            stalled = os.open(os.path.join(d, "big"), os.O_RDWR)
            r, w = os.pipe()
            os.set_blocking(w, False)
            try:
                while True:
                    os.write(w, b"x" * 4096)
            except BlockingIOError:
                os.set_blocking(w, True)
            (pathlib.Path(d) / "main.pdl").write_text(text)
            env = [x for x in args if x.startswith("PDL_")]
            p = subprocess.Popen([self.pdl, *args[len(env):], "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=w, env={**os.environ, **dict(x.split("=") for x in env)})
            time.sleep(0.4 if self.after == AFTER else 1.5)
            why = "ended before the signal" if p.poll() is not None else None
            p.send_signal(signal.SIGINT)
            begin = time.monotonic()
            try:
                p.wait(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                why = why or "does not end"
                p.kill()
                p.wait()
            took = time.monotonic() - begin
            if not why and (took > 8 * self.after or p.returncode not in (130, -signal.SIGINT)):
                why = "exit status %d after %.2f s" % (p.returncode, took)
            self.result(name, why)
            for fd in (r, w, stalled):
                os.close(fd)

    def refused(self, option, status, want):
        if self.wanted and option not in self.wanted:
            return
        with tempfile.TemporaryDirectory(prefix="pdl_cancel_") as d:
            os.mkfifo(os.path.join(d, "fifo"))
            p = self.start(d, "text: x\n", [option, "fifo"])
            err = self.end(p)
            ok = err == want and p.returncode == status
            self.result(option, None if ok else "exit status %s: %s" % (p.returncode, err))


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
    ("--cache", 1, "argument --cache: the cache fifo cannot be used: it is not a regular file\n"),
    ("--record", 2, "argument --record: fifo exists already: a recording needs a new file\n"),
    ("--replay", 1, "argument --replay: replay: fifo cannot be read: it is not a regular file\n"),
]


def main():
    t = Tests(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:])
    for e in ENDLESS:
        t.signal("signal " + e, program('data: "${ %s }"' % e.replace('"', '\\"'), None))
        t.budget("budget " + e, 'data: "${ %s }"' % e.replace('"', '\\"'))
    for name, block in BLOCKS.items():
        t.signal("signal block " + name, program(block, None))
        t.budget("budget block " + name, block)
    for name, values, expression in FLAT:
        t.flat("many: " + name, values, expression)
    for name, block, args in SINKS:
        t.signal("signal " + name, program(block, None), args)
        of_run = args[:1] == ["-t"]  # it is not the block that takes long
        t.budget("budget " + name, block, (["--budget", "seconds=%s" % BEFORE] if of_run else []) + args, of_run)
    for name, text in UNFINISHED.items():
        t.signal("signal trace of " + name, text, ["-t", "o.json"], "o.json")
    t.twice("two signals while a trace is written", program("data: x", None), ["-t", "o.json"])
    for name, (block, want) in AT_ONCE.items():
        t.at_once("at once: " + name, block, want)
    for name, text, args in FIFOS:
        t.fifo(name, text, args)
    for name, text, args in STALLED:
        t.stalled(name, text, args)
    for option, status, want in REFUSED:
        t.refused(option, status, want)
    t.budget("budget fifo", "read: fifo")
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
