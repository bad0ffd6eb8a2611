# SPDX-License-Identifier: Apache-2.0
"""programs.py -- programs that together use most of the interpreter, for tests that break something at every moment."""

PROGRAMS = {
    "hello": "text: hello\n",
    "data": "data: {a: [1, 2.5, null, true, \"x\"], b: {c: ${ 10**40 }}}\n",
    "defs": "defs:\n  f:\n    function: {n: integer}\n    return: ${ n + 1 }\n  x: ${ f(n=1) }\ntext: [\"${ x }\", \"${ f(n=x)|string|upper }\"]\n",
    "loops": "text:\n- for: {i: [1, 2, 3]}\n  repeat: {text: \"${ i }\", def: last}\n  join: {with: \",\"}\n- repeat: {def: n, data: \"${ n|default(0) + 1 }\"}\n"
             "  until: ${ n > 5 }\n- for: {i: [1, 2, 3]}\n  map: ${ i * 2 }\n  join: {as: array}\n",
    "types": "defs:\n  s: {data: {a: [1], b: x}, spec: {a: [integer], b: string}}\ntext: ok\nspec: string\n",
    "parsers": "lastOf:\n- {text: '[1, {\"a\": 2}]', parser: json, def: a}\n- {text: 'a: [b]', parser: yaml, def: b}\n- {text: \"{}\\n{}\", parser: jsonl, def: c}\n"
               "- {text: ab12, parser: {regex: '(?P<x>[a-z]+)(?P<y>\\d+)', mode: match, spec: {x: string, y: string}}, def: d}\n- ${ [a, b, c, d] }\n",
    "template": "lang: jinja\ncode: |\n  {% macro m(x) %}<{{ x }}>{% endmacro %}{% for i in range(20) if i % 2 %}{{ m(i) }}{% else %}none{% endfor %}"
                "{% set ns = namespace(a=1) %}{{ ns.a|tojson }} {{ 'a,b'.split(',')|join('-') }}\n",
    "errors": "text:\n- text: ${ 1 // 0 }\n  fallback: \"caught ${ pdl_error.kind }\"\n- text: ${ nope }\n  fallback: x\n- match: 3\n  with:\n  - {case: 3, then: three}\n",
    "fails": "text:\n- a\n- text: ${ nmae }\n",
    "wrong": "text:\n- if: true\n  thn: x\n- mode: 5\n  modle: x\n",
    "python": "text:\n- lang: python\n  code: |\n    print('hello')\n    result = [1, {'a': (2, 3)}]\n- lang: command\n  code: echo there\n",
    "files": "text:\n- read: in.txt\n- include: part.pdl\n- defs: {m: {import: part}}\n  text: ${ m.p }\n",
    "write": "defs: {o: {aggregator: {file: out.txt}}}\ntext:\n- {text: line one, contribute: [result, o]}\n- {text: line two, contribute: [result, o]}\n",
    "regex": "text: \"${ 'abcabc'|replace('b', 'x') } ${ 'a1b22'|regex_findall('[0-9]+') if false else '' }\"\n",
    "context": "text:\n- {text: hi, role: user, contribute: [context]}\n- {text: there, role: assistant}\n- ${ pdl_context|length }\n",
    "large": "text:\n- for: {i: \"${ range(300) }\"}\n  repeat: \"${ 'word ' * 20 }\"\n- ${ range(2000)|map('string')|join(' ')|length }\n",
}
FILES = {"in.txt": "some text\n", "part.pdl": "defs: {p: {text: part}}\ntext: included\n", "data.yaml": "x: [1, 2]\n"}
