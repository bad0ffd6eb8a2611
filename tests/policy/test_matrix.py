# SPDX-License-Identifier: Apache-2.0
"""No operation loses the label of its input: every filter, test, function, method, operator, parser, join, block and effect, from the tables of the
command and of the sources. A row without a sample here fails, so each new operation needs a decision. The label of a result is read in the trace,
from the decision of a policy on its endorsement."""
import json
import re
import subprocess
from pathlib import Path

from ..checks import check
from .label_runs import origins

ROOT = Path(__file__).resolve().parent.parent.parent

# Read from files: t a text, u one in lower case, l a list of integers, ls of texts, d an object, lo a list of objects, n, x numbers, day a date, b a boolean
SOURCES = {"t": ("Ab c 3 {x}", None), "u": ("abc", None), "l": ("[3, 1, 2]", "json"), "ls": ('["b", "a"]', "json"), "d": ('{"a": "x", "b": "y"}', "json"),
           "lo": ('[{"a": 1}, {"a": 2}]', "json"), "n": ("5", "json"), "x": ("2.5", "json"), "day": ("2024-01-15", "yaml"), "b": ("true", "json"),
           "vec": ("[[1.0, 0.0], [0.0, 1.0]]", "json"),
           "call": ('{"id": "c", "function": {"name": "f", "arguments": "{}"}}', "json"), "reply": ('{"text": "t", "is_error": false, "content": [], "structured": null}', "json"),
           "model": ('{"choices": [{"message": {"content": "true"}, "logprobs": {"content": [{"token": "true", "logprob": -0.1, '
                     '"top_logprobs": [{"token": "true", "logprob": -0.1}, {"token": "false", "logprob": -2}]}]}}]}', "json")}
FILTERS = {"abs": "n | abs", "attr": "d | attr('a') is defined", "batch": "l | batch(2) | list", "center": "t | center(20)", "d": "t | d('x')", "default": "t | default('x')",
           "dictsort": "d | dictsort", "filesizeformat": "n | filesizeformat", "first": "l | first", "float": "n | float", "format": "'%s' | format(t)",
           "groupby": "lo | groupby('a')", "indent": "t | indent", "int": "x | int", "items": "d | items | list", "join": "ls | join(',')", "last": "l | last",
           "list": "l | list", "map": "ls | map('upper') | list", "max": "l | max", "min": "l | min", "random": "l | random", "reject": "l | reject('odd') | list",
           "rejectattr": "lo | rejectattr('a', 'odd') | list", "replace": "'x' | replace('x', t)", "reverse": "l | reverse | list", "round": "x | round",
           "select": "l | select('odd') | list", "selectattr": "lo | selectattr('a', 'odd') | list", "slice": "l | slice(2) | list", "sort": "l | sort", "sum": "l | sum",
           "truncate": "t | truncate(5)", "unique": "l | unique | list", "xmlattr": "d | xmlattr", "pylist": "l | pylist", "wordwrap": "t | wordwrap(3)"}
TESTS = {n: "n is %s" % n for n in ("even", "odd", "integer", "float", "number")}
TESTS.update({n: "n is %s(2)" % n for n in ("eq", "equalto", "ge", "greaterthan", "gt", "le", "lessthan", "lt", "ne", "divisibleby", "sameas", "==", "!=", "<", "<=", ">", ">=")})
TESTS.update({n: "n %s 2" % n for n in ("==", "!=", "<", "<=", ">", ">=")})
TESTS.update({"in": "n is in([1, 2])", "mapping": "d is mapping", "filter": "u is filter", "test": "u is test"})
FUNCTIONS = {"cycler": "cycler(t, 'x').next()", "dict": "dict(a=t)", "joiner": "(joiner(t)() ~ joiner(t)()) if false else t", "lipsum": "lipsum(1, false, 1, 2) ~ t",
             "namespace": "namespace(a=t).a", "range": "range(n) | list"}
TEXT_ARGS = {"center": "(20)", "count": "('b')", "endswith": "('3')", "find": "('b')", "format": "(x=1)", "format_map": "({'x': 1})", "index": "('b')", "join": "(['a', 'b'])",
             "ljust": "(20)", "maketrans": "(u, 'xyz')", "partition": "(' ')", "removeprefix": "('A')", "removesuffix": "('3')", "replace": "('A', 'B')", "rfind": "('b')", "rindex": "('b')",
             "rjust": "(20)", "rpartition": "(' ')", "split": "(' ')", "rsplit": "(' ')", "startswith": "('A')", "translate": "({65: 'B'})", "zfill": "(20)", "expandtabs": "(4)"}
LIST_ARGS = {"count": "(1)", "index": "(1)", "pop": "(0)"}
LIST_CHANGES = {"append": "(9)", "extend": "([9])", "insert": "(0, 9)", "remove": "(1)", "clear": "()", "reverse": "()", "sort": "()"}
DICT_ARGS = {"get": "('a')", "pop": "('a')", "fromkeys": "(['a'], t)", "setdefault": "('a', 1)", "update": "({'c': 1})"}
NATIVES = {"bool_confidence": "stdlib.bool_confidence(model)", "calculate": "stdlib.calculate(n | string ~ ' + 1')", "check": "stdlib.check(t, 'string')",
           "fill": "stdlib.fill('{x}', {'x': t})", "find_object": "stdlib.find_object(d | json, {'a': 'string'})", "find_tool": "pdl_find_tool(call, [f])",
           "nearest": "stdlib.nearest(vec, [1.0, 0.0], 1)", "reward": "stdlib.reward(model)", "show": None, "slots": "stdlib.slots(t)",
           "tfidf": "stdlib.tfidf(['a b', 'c'], u, 1)", "tool_error": "pdl_tool_error({'message': t})", "tool_result": "pdl_tool_result(reply)", "tool_text": "pdl_tool_text(reply)",
           "http_request": "pdl_http_request('http://x/' ~ n, 'GET', {}, none, 1, 1, none).url",
           "http_next": "pdl_http_next(pdl_http_request('http://x/', 'GET', {}, none, 1, 1, none), {'status': 302, 'headers': {'location': 'y' ~ n}}, 3).url",
           "fail": None, "embed": None, "http_send": None, "tool_call": None, "tool_request": None}  # None: prints, fails, or is an effect (below)
OPERATORS = ["n + 1", "n - 1", "n * 2", "n / 2", "n // 2", "n % 2", "n ** 2", "-n", "+n", "not b", "n < 3", "n == 3", "n in [5]", "u ~ 'x'", "'x' ~ u", "u[0]", "u[0:1]", "l[0]",
             "l[n - 4]", "['x', 'y'][n - 5]", "l[0:2]", "d.a", "d['a']", "{'a': 1, 'b': 2, 'c': 3}[u[0]]", "[u]", "(u, 1)", "{'a': u}", "{u: 1}", "u if true else 1", "1 and b", "b or 1",
             "'%s' % u", "l + [1]", "[1] + l", "u * 2", "d | length + 1"]
BLOCKS = {"text": {"text": ["x", "${ t }"]}, "lastOf": {"lastOf": ["x", "${ t }"]}, "array": {"array": ["${ t }"]}, "object": {"object": {"a": "${ t }"}},
          "sequence": {"sequence": ["x", "${ t }"], "join": {"as": "text"}}, "if": {"if": True, "then": "${ t }"}, "match": {"match": "${ u }", "with": [{"case": {"any": None, "def": "m"}, "then": "${ m }"}]},
          "repeat": {"for": {"i": "${ ls }"}, "repeat": "${ i }"}, "map": {"for": {"i": "${ ls }"}, "map": "${ i }"}, "include": {"include": "inner.pdl"},
          "import": {"lastOf": [{"def": "mod", "import": "inner.pdl"}, "${ mod.got }"]}, "function": {"lastOf": [{"def": "f", "function": {"p": None}, "return": "${ p }"}, "${ f(t) }"]},
          "call": {"lastOf": [{"def": "f", "function": {"p": None}, "return": "${ p }"}, {"call": "${ f }", "args": {"p": "${ t }"}}]},
          "model": {"model": "openai/x", "input": "${ t }", "parameters": {"mock_response": "m"}}, "code": {"lang": "python", "code": "result = t", "scope": {"t": "${ t }"}},
          "get": {"get": "t"}, "data": {"data": {"a": ["${ t }"]}}, "message": {"lastOf": [{"role": "user", "content": "${ t }"}, "${ pdl_context[-1].content }"]}, "read": {"read": "t"},
          "scalar": {"lastOf": ["${ t }"]}, "factor": None, "aggregator": {"lastOf": [{"def": "agg", "aggregator": "context"}, {"data": "${ t }", "contribute": ["agg"]}, "${ agg | string ~ t }"]},
          "error": None, "empty": None}  # give nothing of what goes in
JOINS = {"text": "a", "array": "a", "object": "o", "lastOf": "a", "reduce": "a"}
PARSERS = {"json": "'[' ~ n | string ~ ']'", "jsonl": "n | string", "yaml": "'a: ' ~ u", "csv": "'a,' ~ u", "regex": "u"}
EFFECTS = {"model": "model", "embed": None, "http": None, "code": "code", "object": None, "tool": None, "command": "command", "read": "file", "write": None, "input": "user", "source": None,
           "sleep": None, "approval": None, "permit": None, "now": "clock", "random": "clock"}  # None: no reply, one that needs a service (tests/unit/value/test_labels.c), or program text
EFFECT_BLOCKS = {"model": {"model": "openai/x", "input": "q", "parameters": {"mock_response": "m"}}, "code": {"lang": "python", "code": "result = 1"}, "command": {"lang": "command", "args": ["echo", "x"]},
                 "read": {"read": "t"}, "input": {"read": None}, "now": None, "random": {"data": "${ [1, 2] | random }"}}


LABELS = ["file", "user", "data", "model", "code", "command", "clock"]


def names_of(page, section):
    part = re.search(r"^## %s\n(.*?)(?=^## |\Z)" % re.escape(section), page, re.S | re.M).group(1)
    return [m.replace("stdlib.", "") for m in re.findall(r"^\| `([^(`]+)\(", part, re.M)]


def run(pdl, samples):
    return origins(pdl, SOURCES, {"inner.pdl": 'lastOf: [{def: got, read: t}]\n'}, samples, LABELS)


def tables(pdl):
    """Samples of everything that the page of builtins lists."""
    page = subprocess.run([pdl, "__builtins"], capture_output=True, text=True, check=True).stdout
    found = {}

    def table(section, samples, default):
        names = names_of(page, section)
        check(section + " are listed", len(names) > 0)
        for unknown in set(samples) - set(names):
            check("%s: %s" % (section, unknown), False, "a sample of what is not there")
        found.update({"%s: %s" % (section, n): {"data": "${ %s }" % (samples[n] if n in samples else default(n))} for n in names if samples.get(n, "") is not None})

    table("Filters", FILTERS, lambda n: "t | %s" % n)
    table("Tests", TESTS, lambda n: "t is %s" % n)
    table("Functions", FUNCTIONS, lambda n: "no sample of " + n)
    table("Methods of texts", {}, lambda n: ("t.%s%s" % (n, TEXT_ARGS.get(n, "()"))) if n != "maketrans" else "'a'.maketrans" + TEXT_ARGS[n])
    table("Methods of lists", {}, lambda n: "l.%s%s" % (n, LIST_ARGS.get(n, LIST_CHANGES.get(n, "()"))))
    table("Methods of tuples", {}, lambda n: "(n, 1).%s(5)" % n)
    table("Methods of ranges", {}, lambda n: "range(n).%s(1)" % n)
    table("Methods of contexts", {}, lambda n: "t ~ pdl_context.%s('json')" % n)
    table("Methods of objects", {}, lambda n: ("(own.%s%s, own)[1]" if n == "update" else "own.%s%s") % (n, DICT_ARGS.get(n, "()")))
    table("Methods of whole numbers", {}, lambda n: "n.%s()" % n)
    table("Methods of floats", {}, lambda n: "x.%s()" % n)
    table("Methods of dates", {}, lambda n: "day.%s%s" % (n, "('%Y')" if n == "strftime" else "()"))
    table("Natives of stdlib and of its functions", NATIVES, lambda n: "no sample of " + n)
    for n, args in LIST_CHANGES.items():  # the list itself is the result
        found["Methods of lists: " + n] = {"defs": {"own": "${ l }"}, "data": "${ (own.%s%s, own)[1] }" % (n, args)}
    for name in [n for n in found if n.startswith("Methods of objects: ")]:
        found[name] = {"defs": {"own": "${ d }"}, **found[name]}
    for name in ("lists", "objects"):  # nothing is left of what was in it
        del found["Methods of %s: clear" % name]
    found["Natives of stdlib and of its functions: find_tool"]["defs"] = {"f": {"function": {}, "return": "x"}}
    return found


def constructs(pdl):
    """Samples of operators, blocks, joins, parsers and arguments."""
    found = {"operator: " + o: {"data": "${ %s }" % o} for o in OPERATORS}
    kinds = {b["kind"] for b in json.loads(subprocess.run([pdl, "dump", "--table"], capture_output=True, text=True, check=True).stdout)["blocks"]}
    check("every kind of block has a sample", kinds == set(BLOCKS), kinds ^ set(BLOCKS))
    found.update({"block: " + k: b for k, b in BLOCKS.items() if b})
    for j in JOINS:
        body = "${ {i: 1} }" if j == "object" else "${ i }"
        how = {"reduce": "${ f }"} if j == "reduce" else {"as": j}
        found["join: " + j] = {"lastOf": [{"def": "f", "function": {"p": None, "q": None}, "return": "${ p ~ q }"}, {"for": {"i": "${ ls }"}, "repeat": body, "join": how}]}
    for p, e in PARSERS.items():
        found["parser: " + p] = {"data": "${ %s }" % e, "parser": {"regex": "(?P<a>b)", "mode": "search", "spec": {"a": "string"}} if p == "regex" else p}
    for name, params in (("no types", {"a": None, "b": None}), ("types that bound nothing", {"a": "string", "b": "string"})):
        function = {"def": "f", "function": params, "return": "${ a }"}
        found["an object of arguments, " + name] = {"lastOf": [function, {"call": "${ f }", "args": "${ d }"}]}
        found["an object of arguments in an expression, " + name] = {"lastOf": [function, "${ f(**d) }"]}
        found["an object of arguments from a parser, " + name] = {"lastOf": [function, {"def": "made", "data": "${ d | json }", "parser": "json"},
                                                                             {"call": "${ f }", "args": "${ made }"}]}
    found["pattern: part"] = {"match": "${ d }", "with": [{"case": {"object": {"a": {"any": None, "def": "m"}}}, "then": "${ m }"}]}
    found["template"] = {"lang": "jinja", "code": "{% for c in u %}{{ c }}{% endfor %}{% set x = u %}{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x) }}"}
    found["pdl_context"] = {"lastOf": [{"data": "${ t }"}, "${ pdl_context | string }"]}
    return found


def test_operations(pdl):
    samples = {**tables(pdl), **constructs(pdl)}
    found, wrong = run(pdl, samples)
    check("the samples run", not wrong, wrong[:2000])
    for name in samples:
        check(name, "file" in found.get(name, []), found.get(name, "its label is lost"))


def test_effects(pdl):
    kinds = set(re.findall(r"^EFFECT\((\w+),", (ROOT / "src/machine/effect/effects.def").read_text("utf-8"), re.M))
    check("every kind of effect has a row", kinds == set(EFFECTS), kinds ^ set(EFFECTS))
    samples = {k: EFFECT_BLOCKS[k] for k, origin in EFFECTS.items() if origin and EFFECT_BLOCKS[k]}
    found, wrong = run(pdl, samples)
    check("the effects run", not wrong, wrong[:2000])
    for name in samples:
        check("effect: " + name, EFFECTS[name] in found.get(name, []), found.get(name, "no label"))
