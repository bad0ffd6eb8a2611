# SPDX-License-Identifier: Apache-2.0
"""control: strict in each construct that can choose. With `data` a command runs that a model chose, because none of the model's text gets there. With
`strict` it does not run, and neither may a chosen constant get there."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from ..checks import check

RUNS = "{lang: command, args: [echo, RAN]}"  # %A below
# what chooses -> a block (YAML in one line); v is `abc`, which a model said
CHOICES = {
    "if then": "{if: \"${ v == 'abc' }\", then: %A}",
    "if else": "{if: \"${ v != 'abc' }\", then: x, else: %A}",
    "elif": "{if: \"${ v == 'z' }\", then: x, else: {if: true, then: %A}}",
    "match case": "{match: '${ v }', with: [{case: abc, then: %A}]}",
    "match if": "{match: 1, with: [{case: 1, if: \"${ v == 'abc' }\", then: %A}]}",
    "match default": "{match: '${ v }', with: [{case: z, then: x}, {then: %A}]}",
    "while": "{while: \"${ v == 'abc' }\", repeat: %A, maxIterations: 1}",
    "until second turn": "{defs: {n: {data: 0}}, repeat: {lastOf: [{def: n, data: '${ n + 1 }'}, {if: '${ n == 2 }', then: %A}]}, until: \"${ n == 2 or v != 'abc' }\"}",
    "for over split": "{for: {i: '${ v | list }'}, repeat: %A}",
    "for range len": "{for: {i: '${ range(v | length) }'}, repeat: %A}",
    "map": "{for: {i: '${ v | list }'}, map: %A}",
    "maxIterations": "{repeat: %A, maxIterations: '${ v | length }'}",
    "call by name": "{defs: {d: {data: {abc: 1}}, f: {function: null, return: %A}, o: {data: {abc: '${ f }'}}}, call: '${ o[v] }'}",
    "call expr by name": "{defs: {f: {function: null, return: %A}, o: {data: {abc: '${ f }'}}}, data: '${ o[v]() }'}",
    "function arg cond": "{defs: {f: {function: {a: }, return: {if: \"${ a == 'abc' }\", then: %A}}}, call: '${ f }', args: {a: '${ v }'}}",
    "function expr cond": "{defs: {f: {function: null, return: %A}}, data: \"${ f() if v == 'abc' else 1 }\"}",
    "and short": "{defs: {f: {function: null, return: %A}}, data: \"${ v == 'abc' and f() }\"}",
    "or short": "{defs: {f: {function: null, return: %A}}, data: \"${ v != 'abc' or f() }\"}",
    "jinja if": "{defs: {f: {function: null, return: %A}}, lang: jinja, code: \"{% if v == 'abc' %}{{ f() }}{% endif %}\"}",
    "jinja for": "{defs: {f: {function: null, return: %A}}, lang: jinja, code: \"{% for i in v %}{{ f() }}{% endfor %}\"}",
    "map filter": "{defs: {f: {function: {a: }, return: %A}}, for: {i: '${ [1,2] | select(\"lt\", v|length) | list }'}, repeat: %A}",
    "default filter": "{defs: {f: {function: null, return: %A}}, data: \"${ [f][v|length - 3]() }\"}",
    "fallback": "{data: '${ stdlib.fail(v) }', fallback: %A}",
    "fallback of type": "{data: '${ v }', spec: {enum: [\"RAN\\n\"]}, fallback: %A}",
    "fallback of key": "{data: '${ {}[v] }', fallback: %A}",
    "fallback nested": "{lastOf: [{data: '${ v }', spec: integer}, 1], fallback: %A}",
    "after check passes": "{lastOf: [{data: '${ stdlib.check(v, {type: string}) if false else v }'}, {if: \"${ v == 'abc' }\", then: {def: z, data: 1}}, {if: '${ z == 1 }', then: %A}]}",
    "var set in branch": "{defs: {z: {data: 0}}, lastOf: [{if: \"${ v == 'abc' }\", then: {def: z, data: 1}}, {lang: command, args: [echo, RAN, '${ z | string }']}]}",
    "const in match": "{lastOf: [{def: z, match: '${ v }', with: [{case: abc, then: one}, {then: two}], contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "const ternary": "{lang: command, args: [echo, RAN, \"${ 'x' if v == 'abc' else 'y' }\"]}",
    "const dict key": "{lang: command, args: [echo, RAN, \"${ {'abc': 'x'}[v] }\"]}",
    "const list index": "{lang: command, args: [echo, RAN, \"${ ['x','y','z','q'][v | length] }\"]}",
    "const get default": "{lang: command, args: [echo, RAN, \"${ {'abc': 'x'}.get(v, 'y') }\"]}",
    "const and": "{lang: command, args: [echo, RAN, \"${ v == 'abc' and 'x' }\"]}",
    "const or": "{lang: command, args: [echo, RAN, \"${ v == 'z' or 'x' }\"]}",
    "const slice": "{lang: command, args: [echo, RAN, \"${ 'hello'[:v | length] }\"]}",
    "const replace": "{lang: command, args: [echo, RAN, \"${ 'xabcx'.replace(v, '') }\"]}",
    "const times": "{lang: command, args: [echo, RAN, \"${ 'x' * (v | length) }\"]}",
    "const filter select": "{lang: command, args: [echo, RAN, \"${ ['abc','d'] | select('equalto', v) | join }\"]}",
    "const dict order": "{defs: {o: {data: '${ {v: 1, \"b\": 2} }'}}, lang: command, args: [echo, RAN, \"${ o.values() | list | string }\"]}",
    "const sort": "{lang: command, args: [echo, RAN, \"${ ([{'k': v, 'x': 'one'}, {'k': 'b', 'x': 'two'}] | sort(attribute='k') | first).x }\"]}",
    "loop join lastOf": "{lastOf: [{def: z, for: {i: '${ v | list }'}, repeat: k, join: {as: lastOf}, contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "loop count": "{defs: {n: {data: 0}}, lastOf: [{for: {i: '${ v | list }'}, repeat: {def: n, data: '${ n + 1 }'}, contribute: []}, {lang: command, args: [echo, RAN, '${ n | string }']}]}",
    "reduce": "{defs: {p: {function: {a: , b: }, return: {if: \"${ b == 'abc' }\", then: %A, else: '${ a }'}}}, for: {i: ['x', '${ v }']}, repeat: '${ i }', join: {reduce: '${ p }'}}",
    "regex findall count": "{lastOf: [{def: z, data: '${ v }', parser: {regex: '.', mode: findall}, contribute: []}, {for: {i: '${ z }'}, repeat: %A}]}",
    "parser bool": "{lastOf: [{def: z, data: \"${ 'true' if v == 'abc' else 'false' }\", parser: json, spec: boolean, contribute: []}, {if: '${ z }', then: %A}]}",
    "def in computed": "{lang: pdl, code: '${ code }', defs: {code: {data: \"${ 'lang: command\\nargs: [echo, RAN]' if v == 'abc' else '1' }\"}}}",
    "contribute cond": "{lastOf: [{if: \"${ v == 'abc' }\", then: {role: user, text: 'go', contribute: [context]}}, {if: '${ pdl_context | length > 0 }', then: %A}]}",
    "model param": "{lastOf: [{def: z, model: openai/y, input: x, parameters: {mock_response: k, temperature: '${ v | length }'}, contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "code block chosen": "{lastOf: [{if: \"${ v == 'abc' }\", then: {lang: python, code: \"PDL_SESSION.q = 1\\nresult = 1\"}}, {def: z, lang: python, code: 'result = getattr(PDL_SESSION, \"q\", 0)'}, {lang: command, args: [echo, RAN, '${ z | string }']}]}",
    "error message const": "{lastOf: [{def: z, if: \"${ v == 'abc' }\", then: \"${ stdlib.fail('one') }\", fallback: '${ pdl_error.message }', contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "select function": "{defs: {f: {function: {a: }, return: %A}, g: {function: {a: }, return: 1}}, call: \"${ f if v == 'abc' else g }\", args: {a: 1}}",
    "map function index": "{for: {i: \"${ [1] if v == 'abc' else [] }\"}, repeat: %A}",
    "join by": "{for: {i: [1,2]}, repeat: {if: \"${ v == 'abc' and i == 2 }\", then: %A}}",
    "object branch": "{object: {a: {if: \"${ v == 'abc' }\", then: %A}}}",
    "array branch": "{array: [{if: \"${ v == 'abc' }\", then: %A}]}",
    "get computed": "{defs: {o: {data: {abc: 'x'}}}, lastOf: [{def: z, data: '${ o[v] }'}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "spec default": "{lastOf: [{def: z, data: '${ {v: 1} }', spec: {type: object}, contribute: []}, {lang: command, args: [echo, RAN, \"${ 'abc' in z and 'y' }\"]}]}",
    "is defined": "{lang: command, args: [echo, RAN, \"${ 'x' if ({'abc': 1}[v]) is defined else 'y' }\"]}",
    "filter in": "{lang: command, args: [echo, RAN, \"${ ('abc' in [v]) | string }\"]}",
    "sleep": "{lastOf: [{if: \"${ v == 'abc' }\", then: {data: 1, def: q}, else: {data: 2, def: q}}, {match: '${ q }', with: [{case: 1, then: %A}]}]}",
    "repeat index": "{for: {i: '${ v | list }'}, index: k, repeat: {if: '${ k == 2 }', then: %A}}",
    "until body then after": "{defs: {n: {data: 0}}, lastOf: [{repeat: {def: n, data: '${ n + 1 }'}, until: \"${ n > (v | length) }\", contribute: []}, {lang: command, args: [echo, RAN, '${ n | string }']}]}",
    "maxIterations of a map": "{map: %A, maxIterations: '${ v | length }'}",
    "jinja for with if": "{defs: {f: {function: null, return: %A}}, lang: jinja, code: \"{% for i in [1, 2] if v == 'abc' %}{{ f() }}{% endfor %}\"}",
    "jinja recursive": "{defs: {f: {function: null, return: %A}}, lang: jinja, code: \"{% for i in v recursive %}{{ f() }}{% endfor %}\"}",
    "parser passes": "{lastOf: [{data: '${ v }', parser: yaml, contribute: []}, %A], fallback: '${ pdl_error.message }'}",
    "spec passes": "{lastOf: [{data: '${ v }', spec: {enum: [abc]}}, %A], fallback: '${ pdl_error.message }'}",
    "spec passes, retry": "{lastOf: [{data: '${ v }', spec: {enum: [abc]}}, %A], retry: 1, fallback: '${ pdl_error.message }'}",
    "spec of a definition passes": "{lastOf: [{defs: {x: {data: '${ v }', spec: {enum: [abc]}}}, lastOf: [%A]}], fallback: '${ pdl_error.message }'}",
    "spec passes in a map": "{for: {i: ['${ v }']}, map: {lastOf: [{data: '${ i }', spec: {enum: [abc]}}, %A]}, fallback: '${ pdl_error.message }'}",
    "spec passes in a loop": "{lastOf: [{for: {i: [1, 2]}, repeat: {data: '${ v }', spec: {enum: [abc]}}, contribute: []}, %A], fallback: '${ pdl_error.message }'}",
    "spec passes in a function": "{defs: {f: {function: {a: }, return: {data: '${ a }', spec: {enum: [abc]}}}}, lastOf: [{call: '${ f }', args: {a: '${ v }'}, contribute: []}, %A], fallback: '${ pdl_error.message }'}",
    "spec passes before a call": "{defs: {f: {function: null, return: %A}}, lastOf: [{data: '${ v }', spec: {enum: [abc]}, contribute: []}, {call: '${ f }'}], fallback: '${ pdl_error.message }'}",
    "an expression passes": "{lastOf: [\"${ 1 // (v | length - 2) }\", {text: [{text: [%A]}]}], fallback: '${ pdl_error.message }'}",
    "a read passes": "{lastOf: [{read: './${ v }.txt'}, %A], fallback: '${ pdl_error.message }'}",
    "code passes": "{lastOf: [{lang: python, code: \"assert v == 'abc'\\nresult = 1\"}, %A], fallback: '${ pdl_error.message }'}",
    "an inner fallback was not needed": "{lastOf: [{lastOf: [{data: '${ v }', spec: integer}], fallback: y, contribute: []}, %A], fallback: '${ pdl_error.message }'}",
    "const in fallback": "{lastOf: [{lastOf: [{data: '${ v }', spec: integer}], fallback: {def: z, data: two}}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "match object": "{match: {k: '${ v }'}, with: [{case: {object: {k: abc}}, then: %A}]}",
    "match any": "{match: '${ v }', with: [{case: {any: null, def: q}, if: \"${ q == 'abc' }\", then: %A}]}",
    "trusted file chosen": "{lastOf: [{def: z, read: './trusted/${ v }.txt', contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "jinja namespace": "{lastOf: [{def: z, lang: jinja, contribute: [], code: \"{% set n = namespace(a='x') %}{% for i in v %}{% set n.a = 'y' %}{% endfor %}{{ n.a }}\"}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "jinja caller": "{lastOf: [{def: z, lang: jinja, contribute: [], code: \"{% macro m() %}{% if v == 'abc' %}{{ caller() }}{% endif %}{% endmacro %}{% call m() %}in{% endcall %}\"}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "recursion": "{lastOf: [{def: z, defs: {f: {function: {n: integer}, return: {if: '${ n <= 0 }', then: done, else: {call: '${ f }', args: {n: '${ n - 1 }'}}}}}, call: '${ f }', args: {n: '${ v | length }'}, contribute: []}, {lang: command, args: [echo, RAN, '${ z }']}]}",
    "const selectattr": "{lang: command, args: [echo, RAN, \"${ [{'k': 'abc', 'x': '1'}] | selectattr('k', 'equalto', v) | map(attribute='x') | join }\"]}",
    "const rejectattr": "{lang: command, args: [echo, RAN, \"${ [{'k': 'q', 'x': '1'}] | rejectattr('k', 'eq', v) | map(attribute='x') | join }\"]}",
    "const reject in": "{lang: command, args: [echo, RAN, \"${ ['abc', 'd'] | reject('in', v) | join }\"]}",
    "const groupby": "{lang: command, args: [echo, RAN, \"${ ([{'k': v, 'x': 'one'}] | groupby('k') | first)[1][0].x }\"]}",
    "const unique by": "{lang: command, args: [echo, RAN, \"${ [{'k': v, 'x': '1'}, {'k': 'b', 'x': '2'}] | unique(attribute='k') | map(attribute='x') | join }\"]}",
    "const min by": "{lang: command, args: [echo, RAN, \"${ ([{'k': v, 'x': '1'}, {'k': 'b', 'x': '2'}] | min(attribute='k')).x }\"]}",
    "const map attribute": "{lang: command, args: [echo, RAN, \"${ [{'abc': '1'}] | map(attribute=v) | join }\"]}",
    "const default, boolean": "{lang: command, args: [echo, RAN, \"${ (v == 'z') | default('q', true) }\"]}",
    "const batch": "{lang: command, args: [echo, RAN, \"${ [1, 2, 3, 4] | batch(v | length) | list | length | string }\"]}",
    "const format width": "{lang: command, args: [echo, RAN, \"${ '{:>{w}}'.format('x', w=v | length) }\"]}",
    "const percent width": "{lang: command, args: [echo, RAN, \"${ '%*s' | format(v | length, 'x') }\"]}",
    "const list index of": "{lang: command, args: [echo, RAN, \"${ ['a', 'abc'].index(v) | string }\"]}",
    "const chained comparison": "{lang: command, args: [echo, RAN, \"${ ('a' < v < 'b') | string }\"]}",
    "const is in": "{lang: command, args: [echo, RAN, \"${ (v is in ['abc']) | string }\"]}",
    **{"changed in a branch: " + change: "{defs: {l: {data: [a]}, d: {data: {k: [b]}}}, lastOf: [{if: \"${ v == 'abc' }\", then: {data: \"${ %s }\", contribute: []}}, "
                                        "{lang: command, args: [echo, RAN, '${ [l, d] | string }']}]}" % change
       for change in ("l.append('x')", "l.clear()", "l.pop()", "l.reverse()", "l.extend(['x'])", "d.update({'x': 1})", "d.pop('k')", "d.setdefault('x', 1)", "d.k.append('x')")},
    **{"an object changed in a branch: " + change: "{defs: {n: {data: \"${ %s }\"}}, lastOf: [{if: \"${ v == 'abc' }\", then: {%s, contribute: []}}, {lang: command, args: [echo, RAN, '${ %s }']}]}" % (
        made, change, read) for made, change, read in (
        ("namespace(a=[])", "data: \"${ n.a.append('x') }\"", "n.a | join"), ("namespace(a='x')", "lang: jinja, code: \"{% set n.a = 'y' %}\"", "n.a"),
        ("cycler('x', 'y')", 'data: "${ n.next() }"', "n.current"), ("cycler('x', 'y')", 'data: "${ [n.next][0]() }"', "n.next()"), ("joiner('x')", 'data: "${ n() }"', "n()"))},
    "an object changed in a branch of a template": "{defs: {n: {data: \"${ namespace(a='x') }\"}}, lastOf: [{lang: jinja, contribute: [], code: \"{% if v == 'abc' %}{% set n.a = 'y' %}{% endif %}\"}, "
                                                   "{lang: command, args: [echo, RAN, '${ n.a }']}]}",
    "changed in an expression": "{defs: {l: {data: [a]}}, lastOf: [{data: \"${ v == 'abc' and l.append('x') }\", contribute: []}, {lang: command, args: [echo, RAN, '${ l | join }']}]}",
    "changed in a loop": "{defs: {l: {data: [a]}}, lastOf: [{for: {i: '${ v | list }'}, repeat: {data: \"${ l.append('x') }\"}, contribute: []}, {lang: command, args: [echo, RAN, '${ l | join }']}]}",
    "changed in a template": "{lastOf: [{def: z, lang: jinja, contribute: [], code: \"{% set l = [] %}{% if v == 'abc' %}{% set q = l.append('x') %}{% endif %}{{ l }}\"}, {lang: command, args: [echo, RAN, '${ z }']}]}",
}
MODEL = "{def: v, contribute: [], model: openai/x, input: q, parameters: {mock_response: abc, num_retries: 0}}"


def run(pdl, d, control):
    Path(d, "p.yaml").write_text(json.dumps({"policy": 1, "control": control, "trusted": [{"read": "trusted/*"}], "rules": [{"sink": "command", "deny": ["model"]}], "otherwise": "allow"}))
    p = subprocess.run([pdl, "--policy", "p.yaml", "a.pdl"], cwd=d, env={**os.environ, "HOME": d}, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=100, check=False)
    return "RAN" in p.stdout, p.stdout + p.stderr


def test_control(pdl, part):
    for name, block in part(CHOICES.items(), 2, name=lambda row: row[0]):
        with tempfile.TemporaryDirectory() as d:
            Path(d, "abc.txt").write_text("T")
            Path(d, "trusted").mkdir()
            Path(d, "trusted/abc.txt").write_text("T")
            Path(d, "a.pdl").write_text("text:\n- %s\n- %s\n" % (MODEL, block.replace("%A", RUNS)))
            ran, told = run(pdl, d, "data")
            check("%s: data" % name, ran or "%A" not in block, told)
            ran, told = run(pdl, d, "strict")
            check("%s: strict" % name, not ran and "policy p.yaml, line 1, refuses" in told and "from model" in told, told)


def changed(made, change, read, times):
    """A block in which the letters of x choose whether an object of the program is changed, and that then reads the object."""
    def choice(i):
        return {"if": "${ x[%d] == '%s' }" % (i, "ba"[i]), "then": {"data": "${ %s }" % change, "contribute": []}}
    return {"defs": {"o": {"data": made}}, "lastOf": [*(choice(i) for i in range(times)), "${ %s }" % read]}


OBJECTS = (([], "o.append('a')", "o | join"), ([], "o.append('a')", "o[0]"), ({}, "o.update({'k': 'a'})", "o.k"), ({"k": ["b"]}, "o.k.append('a')", "o.k[0]"),
           ("${ cycler('a', 'b', 'c') }", "o.next()", "o.current"), ("${ namespace(t=['a']) }", "o.t.append('b')", "o.t | join"))
# x is `ba`, of a file. One choice among the constants of the program is as bounded as what made it; several that are joined are a text.
SEVERAL = {
    "concatenated": "('a' if x[0] == 'a' else 'b') ~ ('a' if x[1] == 'a' else 'b')", "added": "('a' if x[0] == 'a' else 'b') + ('a' if x[1] == 'a' else 'b')",
    "joined": "[('a' if x[0] == 'a' else 'b'), ('a' if x[1] == 'a' else 'b')] | join", "and, or": "(x[0] == 'a' and 'a' or 'b') ~ (x[1] == 'a' and 'a' or 'b')",
    "formatted": "'%s%s' % (('a' if x[0] == 'a' else 'b'), ('a' if x[1] == 'a' else 'b'))", "format()": "'{}{}'.format(('a' if x[0] == 'a' else 'b'), ('a' if x[1] == 'a' else 'b'))",
    "replaced": "'12'.replace('1', 'a' if x[0] == 'a' else 'b').replace('2', 'a' if x[1] == 'a' else 'b')", "default": "(('a' if x[0] == 'a') | default('b')) ~ (('a' if x[1] == 'a') | default('b'))",
    "lists": "((['a'] if x[0] == 'a' else ['b']) + (['a'] if x[1] == 'a' else ['b'])) | join", "numbers": "'%d' % ((1 if x[0] == 'b' else 0) * 10 + (1 if x[1] == 'b' else 0))",
    "in an argument": "f('a' if x[0] == 'a' else 'b') ~ f('a' if x[1] == 'a' else 'b')", "of a function": "g(x[0]) ~ g(x[1])",
    "a template": "{% if x[0] == 'a' %}a{% else %}b{% endif %}{% if x[1] == 'a' %}a{% else %}b{% endif %}",
    "a loop of a template": "{% for i in [0, 1] %}{% if x[i] == 'a' %}a{% else %}b{% endif %}{% endfor %}",
    "two bounds of a slice": "'aabab'[(0 if x[1] == 'a' else 1):(2 if x[0] == 'a' else 3)]", "a bound and a step": "'aabab'[(0 if x[0] == 'a' else 1)::(2 if x[1] == 'a' else 1)]",
    "a slice of a slice": "'aabab'[(0 if x[0] == 'a' else 1):][:(2 if x[1] == 'a' else 3)]", "a slice of a choice": "('aab' if x[0] == 'a' else 'bba')[(0 if x[1] == 'a' else 1):]",
    "two bounds of a list": "['a', 'b', 'c'][(0 if x[0] == 'a' else 1):(2 if x[1] == 'a' else 3)] | join", "an item of such a list": "['a', 'b', 'c'][(0 if x[0] == 'a' else 1):(2 if x[1] == 'a' else 3)][0]",
    "a namespace": "{% set n = namespace(t='') %}{% for i in [0, 1] %}{% set n.t = n.t ~ ('a' if x[i] == 'a' else 'b') %}{% endfor %}{{ n.t }}",
    **{"changed twice: %s, %s" % o[1:]: changed(*o, 2) for o in OBJECTS},
}
ONE = {
    **{"changed once: %s, %s" % o[1:]: changed(*o, 1) for o in OBJECTS if "join" not in o[2]},
    "one": "'a' if x[0] == 'a' else 'b'", "a chain": "'a' if x[0] == 'a' else 'b' if x[0] == 'b' else 'c'", "and": "x[0] == 'b' and 'y'", "of two": "'a' if x[0] == 'a' or x[1] == 'a' else 'b'",
    "nested": "('aa' if x[1] == 'a' else 'ab') if x[0] == 'a' else ('ba' if x[1] == 'a' else 'bb')", "beside text": "('a' if 1 == 1 else 'b') ~ ('c' if true else 'd')",
    "a template": "{% if x[0] == 'a' %}a{% else %}b{% endif %}", "one bound": "'aabab'[(0 if x[0] == 'a' else 1):3]", "the other bound": "'aabab'[1:(2 if x[0] == 'a' else 3)]",
    "a step": "'aabab'[::(2 if x[0] == 'a' else 1)]", "a slice of a choice": "('aab' if x[0] == 'a' else 'bba')[1:]", "one bound of a list": "['a', 'b', 'c'][(0 if x[0] == 'a' else 1):] | join",
}


def test_several_choices_are_a_text(build):
    functions = {"f": {"function": {"v": None}, "return": "${ v }"}, "g": {"function": {"v": None}, "return": {"if": "${ v == 'a' }", "then": "a", "else": "b"}}}
    with tempfile.TemporaryDirectory() as d:
        Path(d, "x.txt").write_text("ba")
        Path(d, "p.yaml").write_text("{policy: 1, control: strict, rules: [{sink: command, allow: [bounded]}], otherwise: allow}")
        for rows, passes in ((SEVERAL, False), (ONE, True)):
            for name, text in rows.items():
                value = text if isinstance(text, dict) else {"lang": "jinja", "code": text} if "{%" in text else {"data": "${ %s }" % text}
                blocks = [{"def": "x", "read": "./x.txt", "contribute": []}, {"def": "y", **value, "contribute": []}, {"args": ["echo", "got", "${ y }"]}]
                Path(d, "a.pdl").write_text(json.dumps({"defs": functions, "text": blocks}))
                p = subprocess.run([build / "pdl", "--policy", "p.yaml", "a.pdl"], cwd=d, capture_output=True, text=True, timeout=60, check=False)
                check("%s, %s" % (name, "passes" if passes else "is refused"), ("got " in p.stdout) == passes and (passes or "refuses argument" in p.stderr), (p.stdout, p.stderr))
