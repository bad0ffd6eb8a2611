# SPDX-License-Identifier: Apache-2.0
"""A value that is read from inside of another value has the labels that arrived with the whole: attributes, subscripts, filters that examine items,
methods that change their receiver, loops, patterns, spread arguments, parsers, imports, the Python worker. The labels of what chose the part count as
well: an index, a key, the order. So do those of error messages, which quote the operands. Parts beside the chosen one stay free of these labels."""
from ..checks import check
from .label_runs import origins

SOURCES = {"t": ("Ab c 3 {x}", None), "u": ("abc", None), "key": ("a", None), "l": ("[3, 1, 2]", "json"), "ls": ('["b", "a"]', "json"), "d": ('{"a": "x", "b": "y"}', "json"),
           "lo": ('[{"a": 1, "b": "q"}, {"a": 2, "b": "r"}]', "json"), "two": ('[[1, "x"], [2, "y"]]', "json"), "n": ("5", "json"), "one": ("1", "json"), "zero": ("0", "json"), "tr": ("true", "json"),
           "dd": ('{"in": {"a": "x", "l": [1, 2]}, "k": [{"z": "w"}]}', "json"), "msgs": ('[{"role": "user", "content": "hey"}]', "json"),
           "calls": ('[{"id": "c", "function": {"name": "f", "arguments": "{}"}}]', "json"), "ctx": ('{"p": 1, "pdl_context": [{"role": "user", "content": "evil"}]}', "json")}
MORE = [("mixed", {"data": {"a": "${ t }", "b": "safe", "c": {"in": "${ d }"}}}), ("ml", {"data": ["safe", "${ t }", "${ d }"]})]
FILES = {"inner.pdl": "lastOf: [{def: got, read: t}, {def: gd, read: d, parser: json}]\n"}
LABELS = ["file", "user", "data", "model", "code", "command", "clock"]

EXPRESSIONS = [
    "d.a", "d['a']", "d.get('a')", "d.get('zz', 'x')", "dd['in'].a", "dd['in']['l'][0]", "dd.k[0].z", "lo[0].a", "lo[-1]['b']", "(lo | first).a", "(lo | last).b",
    "(lo | map(attribute='a') | list)[0]", "(lo | map(attribute='zz', default='x') | list)[0]", "(lo | selectattr('a', 'odd') | list)[0].b", "(lo | rejectattr('a', 'odd') | list)[0].b",
    "(lo | groupby('a') | list)[0].grouper", "(lo | groupby('a') | list)[0].list[0].b", "(lo | groupby('a') | list)[0][1][0]['b']", "(lo | sort(attribute='a'))[0].b",
    "(lo | unique(attribute='a') | list)[0].b", "(lo | max(attribute='a')).b", "(d | dictsort)[0][1]", "(d | dictsort)[0][0]", "(d | items | list)[0][1]", "(d.items() | list)[0][0]",
    "(d.values() | list)[0]", "(d.keys() | list)[0]", "(d | list)[0]", "(l | batch(2) | list)[0][0]", "(l | slice(2) | list)[0][0]", "(l | reverse | list)[0]", "(l | sort)[0]", "l[0:1][0]",
    "(l + [1])[0]", "([1] + l)[1]", "dict(two)[1]", "dict(d).a", "dict(d, z=1).a", "namespace(d).a", "{'q': d}.q.a", "[d][0].a", "(d, 1)[0].a", "'%(a)s' % d", "'{0[a]}'.format(d)",
    "'{a}'.format(**d)", "'{a}'.format_map(d)", "mixed.a", "mixed.c['in'].a", "ml[1]", "ml[2].a", "(mixed | items | list)[0][1]", "(ml | reverse | list)[1]", "(two | map('first') | list)[0]",
    "(two | map(attribute=1) | list)[0]", "d.copy().a", "calls[0].function.name", "(d | d('x')).a", "{}.fromkeys(ls, 'v').a", "{}.fromkeys(['a'], u).a",
    # what chose the part
    "{'a': 1}[key]", "{'to': 'x', key: 'y'}.a", "{'a': 'x', key: 'y'}.a", "{key: 'y'}['a']", "({key: 'y'} | items | list)[0][1]", "({key: 'y'}.values() | list)[0]", "{'a': 1}.get(key)",
    "['x', 'y'][one]", "['x', 'y', 'z'][zero:one][0]", "('x', 'y')[one]", "'xyz'[one]", "range(10)[one]", "(['x', 'y'] | sort(reverse=tr))[0]", "(['x', 'y', 'z'] | batch(one) | list)[0][0]",
    "(['abc', 'yy'] | select('equalto', u) | list)[0]", "([{'k': 'abc', 'v': 1}] | selectattr('k', 'equalto', u) | list)[0].v", "([{'a': 1, 'b': 2}] | map(attribute=key) | list)[0]",
    "([{'a': 2}, {'a': 1}] | sort(attribute=key))[0].a", "[1, 2, 3].pop(one)", "[3, 4].index(n - 1)"]
OWN = {"pop an index": (["x", "y"], "own.pop(one)"), "what a pop leaves": (["x", "y"], "(own.pop(one), own)[1][0]"), "insert": (["x", "y"], "(own.insert(one, 'evil'), own)[1][1]"),
       "insert a value": (["x"], "(own.insert(0, u), own)[1][0]"), "remove": (["x", "abc", "y"], "(own.remove(u), own)[1][1]"), "sort": (["x", "y"], "(own.sort(reverse=tr), own)[1][0]"),
       "append": ([], "(own.append(u), own)[1][0]"), "extend": ([], "(own.extend(ls), own)[1][0]"), "setdefault, a key": ({"b": 1}, "(own.setdefault(key, 'evil'), own)[1].a"),
       "setdefault, its value": ({"b": 1}, "own.setdefault(key, 'evil')"), "update": ({"a": 1}, "(own.update(d), own)[1].a"), "update by name": ({"a": 1}, "(own.update(a=u), own)[1].a"),
       "a member by a key": ({"a": []}, "(own[key].append('evil'), own)[1].a"), "an item by an index": ([[], []], "(own[one].append('evil'), own)[1][1]"),
       "pop a key": ({"a": 1}, "own.pop(key)"), "a part of a whole": ("${ d }", "own.pop('a')"), "the last pair": ("${ d }", "own.popitem()[1]")}
# Parts that have nothing of it.
FREE = {"mixed.b": "mixed.b", "ml[0]": "ml[0]", "a default": "{'a': 'x'}.get('b', 'y')", "beside a key": "{'b': 'x', key: 'y'}.b",
        "what append gives": "([].append(u)) is none", "a free item": "[u, 'x'][1]"}
F = {"def": "f", "function": {"p": None}, "return": "${ p }"}
MEMBER = {"def": "f", "function": {"p": None}, "return": "${ p.a }"}


def error(block):
    return {"fallback": "${ pdl_error.message }", **block}


def match(value, pattern):
    return {"match": "${ %s }" % value, "with": [{"case": pattern, "then": "${ m }"}]}


def jinja(text):
    return {"lang": "jinja", "code": text}


def python(code, **more):
    return {"lang": "python", "code": code, **more}


M = {"any": None, "def": "m"}
BLOCKS = {
    "a loop over a list": {"for": {"i": "${ lo }"}, "repeat": "${ i.b }"}, "a loop over values": {"for": {"i": "${ d.values() | list }"}, "repeat": "${ i }"},
    "a pattern": match("dd", {"object": {"in": {"object": {"a": M}}}}), "a pattern of a list": match("two", {"array": [{"array": [{"any": None}, M]}, {"any": None}]}),
    "a pattern, one part": match("mixed", {"object": {"a": M}}),
    "template: items": jinja("{% for k, v in d.items() %}{{ v }}{% endfor %}"), "template: keys": jinja("{% for k, v in d.items() %}{{ k }}{% endfor %}"),
    "template: pairs": jinja("{% for a, b in two %}{{ b }}{% endfor %}"), "template: set": jinja("{% set a, b = two[0] %}{{ b }}"),
    "template: the item before": jinja("{% for x in lo %}{{ loop.previtem.b if loop.previtem }}{% endfor %}"), "template: a length": jinja("{% for x in l %}{{ loop.length }}{% endfor %}"),
    "template: a macro": jinja("{% macro m(a, b='') %}{{ a }}{% endmacro %}{{ m(**d) }}"), "template: varargs": jinja("{% macro m() %}{{ varargs[0] }}{% endmacro %}{{ m(*ls) }}"),
    "template: kwargs": jinja("{% macro m() %}{{ kwargs.a }}{% endmacro %}{{ m(**d) }}"),
    "template: caller": jinja("{% macro m() %}{{ caller(d.a) }}{% endmacro %}{% call(x) m() %}{{ x }}{% endcall %}"),
    "template: namespace": jinja("{% set ns = namespace(x=0) %}{% for i in lo %}{% set ns.x = i.b %}{% endfor %}{{ ns.x }}"),
    "template: a method as a value": jinja("{% set g = d.get %}{{ g('a') }}"), "template: pop as a value": jinja("{% set g = l.pop %}{{ g(0) }}"),
    "template: pop as a value, by an index": jinja("{% set g = [1, 2].pop %}{{ g(one) }}"),
    "an argument": {"lastOf": [MEMBER, {"call": "${ f }", "args": {"p": "${ d }"}}]}, "an object of arguments": {"lastOf": [MEMBER, {"call": "${ f }", "args": "${ {'p': d} }"}]},
    "spread": {"lastOf": [{"def": "f", "function": {"a": None, "b": None}, "return": "${ b }"}, "${ f(**d) }"]},
    "spread of a list": {"lastOf": [{"def": "f", "function": {"a": None, "b": None}, "return": "${ b }"}, "${ f(*ls) }"]},
    "a typed object": {"lastOf": [{"def": "f", "function": {"p": {"object": {"a": "string", "b": "string"}}}, "return": "${ p.a }"}, "${ f(p=d) }"]},
    "the context of a call": {"lastOf": [{"def": "f", "function": {"p": None}, "return": "${ pdl_context[0].content }"}, {"call": "${ f }", "args": "${ ctx }"}]},
    "the context of a call in an expression": {"lastOf": [{"def": "f", "function": {"p": None}, "return": "${ pdl_context[0].content }"}, "${ f(**ctx) }"]},
    "pdl_context from data": {"defs": {"pdl_context": {"data": "${ msgs }"}}, "data": "${ pdl_context[0].content }"},
    "an import": {"lastOf": [{"def": "mod", "import": "inner.pdl"}, "${ mod.gd.a }"]}, "array": {"lastOf": [{"def": "x", "array": ["${ d }", "s"]}, "${ x[0].a }"]},
    "object": {"lastOf": [{"def": "x", "object": {"q": "${ d }"}}, "${ x.q.a }"]}, "object of objects": {"lastOf": [{"def": "x", "object": [{"data": {"a": "one"}}, {"data": "${ d }"}]}, "${ x.a }"]},
    "join: object": {"lastOf": [{"def": "x", "for": {"i": "${ lo }"}, "repeat": "${ {i.b: 'v'} }", "join": {"as": "object"}}, "${ x.q }"]},
    "join: array": {"lastOf": [{"def": "x", "for": {"i": "${ lo }"}, "map": "${ i }", "join": {"as": "array"}}, "${ x[1].b }"]},
    "join: reduce": {"for": {"i": "${ lo }"}, "repeat": "${ i }", "join": {"reduce": "${ f }"}, "defs": {"f": {"function": {"p": None, "q": None}, "return": "${ q.b }"}}},
    "parser: json": {"lastOf": [{"def": "x", "data": "${ d | tojson }", "parser": "json"}, "${ x.a }"]}, "parser: yaml": {"lastOf": [{"def": "x", "data": "${ d | tojson }", "parser": "yaml"}, "${ x.a }"]},
    "parser: jsonl": {"lastOf": [{"def": "x", "data": "${ d | tojson }", "parser": "jsonl"}, "${ x[0].a }"]}, "parser: csv": {"lastOf": [{"def": "x", "data": "a,${ u }", "parser": "csv"}, "${ x[0][0] }"]},
    "parser: regex": {"lastOf": [{"def": "x", "data": "${ u }", "parser": {"regex": "(?P<q>b)", "mode": "search", "spec": {"q": "string"}}}, "${ x.q }"]},
    "a spec": {"lastOf": [{"def": "x", "data": "${ d }", "spec": {"a": "string", "b": "string"}}, "${ x.a }"]},
    "a message": {"lastOf": [{"role": "user", "content": "${ d }"}, "${ pdl_context[-1].content }"]},
    "Python: a variable": python("result = d['a']", scope={"d": "${ d }"}), "Python: inside of another": {"lastOf": [{"def": "x", **python("result = {'k': d}", scope={"d": "${ d }"})}, "${ x.k.a }"]},
    "Python: an attribute": {"lastOf": [{"def": "x", **python("class A:\n    pass\nresult = A()\nresult.v = d['a']", scope={"d": "${ d }"})}, "${ x.v }"]},
    "Python: a generator": {"lastOf": [{"def": "x", **python("result = (v for v in d.values())", scope={"d": "${ d }"})}, "${ (x | list)[0] }"]},
    "Python: a rebound list": {"lastOf": [{"def": "q", "data": [1]}, python("q.append(d['a'])\nresult = 1"), "${ q[-1] }"]}, "Python: a function": {"lastOf": [F, python("result = f(p=d)['a']")]},
    "the raw reply": {"lastOf": [{"model": "openai/x", "input": "${ u }", "parameters": {"mock_response": "m"}, "modelResponse": "raw"}, "${ raw.choices[0].message.content }"]},
    "error: a key that is not there": error({"data": "${ {}[u] }"}), "error: an attribute of a context": error({"data": "${ pdl_context[u] }"}), "error: pop": error({"data": "${ {}.pop(u) }"}),
    "error: by intent": error({"data": "${ stdlib.fail(u) }"}), "error: index": error({"data": "${ ['a'].index(u) }"}), "error: an operator": error({"data": "${ 1 + u }"}),
    "error: a format": error({"data": "${ '%d' % u }"}), "error: a template": error(jinja("{{ {}.pop(u) }}")), "error: in a function": error({"defs": {"f": {"function": {"p": None}, "return": "${ {}.pop(p) }"}}, "data": "${ f(u) }"}),
    "error: Python": error(python("raise ValueError(u)")), "error: a parser": error({"data": "${ u }", "parser": "json"}), "error: a file": error({"read": "${ u }/none"}),
    "error: a function that is none": error({"call": "${ u }"}), "error: arguments": error({"lastOf": [F, {"call": "${ f }", "args": "${ d }"}]}), "error: a loop": error({"for": {"i": "${ u }"}, "repeat": "${ i }"}),
    "error: a field of it": {"fallback": "${ pdl_error['message'] }", "data": "${ stdlib.fail(u) }"}, "error: the whole": {"fallback": "${ pdl_error | tojson }", "data": "${ stdlib.fail(u) }"},
    "error: a program": error({"lang": "pdl", "code": "${ u }: ["})}


LABELLED = {**{x: {"data": "${ %s }" % x} for x in EXPRESSIONS}, **{"change: " + k: {"defs": {"own": {"data": v}}, "data": "${ %s }" % x} for k, (v, x) in OWN.items()}, **BLOCKS}
NOT_LABELLED = {"free: " + k: {"data": "${ %s }" % x} for k, x in FREE.items()}


def test_members(pdl):
    found, wrong = origins(pdl, SOURCES, FILES, {**LABELLED, **NOT_LABELLED}, LABELS, MORE)
    check("the samples run", not wrong, wrong[:3000])
    for name in LABELLED:
        check(name, "file" in found.get(name, []), found.get(name, "its label is lost"))
    for name in NOT_LABELLED:
        check(name, "file" not in found.get(name, []), "it has the label of a part beside it")
