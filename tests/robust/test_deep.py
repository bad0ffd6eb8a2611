# SPDX-License-Identifier: Apache-2.0
"""test_deep.py -- programs that are too deep, too long or without end: each ends soon, with its result or with one located error.

The stack has 256 KB (512 KB where lines are counted, because the counters need stack), and the memory 4 GB.
"""
import functools
import pathlib
import subprocess
import tempfile

import pytest

from ..checks import check
from ..harness.choice import scaled
from .kit import groups, limited

SECONDS = 20
N = min(100000, scaled(100000, 30000))  # a stack of 256 KB has 9 bytes for each level of the smaller one
LONG_INT = '7' * 1500000
cases = {}


def case(name, text, files=None, args=(), want=None):
    """text and files: what they are, or functions that make them, where they are long. want: exit status; None: 0 or 1."""
    cases[name] = (text, files or {}, list(args), want)


def made(x):
    return x() if callable(x) else x


def ex(name, e):
    case(name, lambda: 'data: "${ ' + made(e) + ' }"\n')


def loop(first, step, tail):
    """x, nested as deep at run time, then tail."""
    return ("defs:\n  x: {data: %s}\nlastOf:\n- for: {i: \"${ range(%d) }\"}\n  repeat:\n    defs:\n      x: \"${ %s }\"\n    data: 1\n"
            "  join: {as: lastOf}\n%s" % (first, N, step, tail))


def grow(tail):
    return loop("[]", "[x]", tail)


def growd(tail):
    return loop("{}", "{'a': x}", tail)


case('int_literal', lambda: 'data: ${ %s > 1 }\n' % LONG_INT, want=1)
case('int_hex_literal', lambda: 'data: ${ 0x%s > 1 }\n' % LONG_INT, want=1)
case('int_in_template', lambda: 'lang: jinja\ncode: "{% if ' + LONG_INT + ' > 1 %}a{% endif %}"\n', want=1)
case('int_yaml', lambda: 'data: %s\n' % LONG_INT, want=1)
case('int_yaml_sixty', lambda: 'data: 1%s\n' % (':59' * 800000), want=1)
case('int_json', lambda: 'data: "%s"\nparser: json\n' % LONG_INT, want=1)
case('int_repair', lambda: 'text: "{a: %s,}"\nparser: json\n' % LONG_INT)
case('int_of_python', 'lang: python\ncode: result = 1 << 5000000\n', want=1)
case('yaml_flow_seq', lambda: 'data: '+'['*N+']'*N+'\n')
case('yaml_flow_open', lambda: 'data: '+'['*N)
case('yaml_flow_map', lambda: 'data: '+'{a: '*N+'}'*N+'\n')
case('yaml_block_map', lambda: 'data:\n'+''.join(' '*i+'a:\n' for i in range(1,3000))+'\n')
case('yaml_block_seq', lambda: 'data:\n'+'- '*N+'x\n')
case('yaml_prog_text', lambda: ''.join(' '*(i)+'text:\n' for i in range(0,3000))+' '*3000+'x\n')
case('yaml_prog_seq', lambda: '- '*N+'x\n')
case('yaml_999', lambda: 'data: '+'['*990+']'*990+'\n')
case('prog_990', lambda: 'text: '+'['*490+'x'+']'*490+'\n')
case('json_parser', lambda: 'text: |\n  '+'['*N+']'*N+'\nparser: json\n')
case('json_open', lambda: 'text: |\n  '+'['*N+'\nparser: json\n')
case('json_objs', lambda: 'text: |\n  '+'{"a":'*N+'\nparser: json\n')
case('json_990', lambda: 'text: |\n  '+'['*990+']'*990+'\nparser: json\n')
case('jsonl', lambda: 'text: |\n  '+'['*N+']'*N+'\nparser: jsonl\n')
case('yamlparser', lambda: 'text: |\n  '+'['*N+']'*N+'\nparser: yaml\n')
case('csvparser', lambda: 'text: |\n  '+'"a,'*N+'\nparser: csv\n')
ex('paren',lambda: '('*N+'1'+')'*N)
ex('paren_open',lambda: '('*N)
ex('list',lambda: '['*N+']'*N)
ex('dict',lambda: "{'a':"*N+'1'+'}'*N)
ex('nots',lambda: 'not '*N+'true')
ex('minus',lambda: '-'*N+'1')
ex('minus2',lambda: '- '*N+'1')
ex('plus',lambda: '+'.join(['1']*N))
ex('cat',lambda: '~'.join(['1']*N))
ex('attrs',lambda: 'a'+'.b'*N)
ex('subs',lambda: 'a'+'[0]'*N)
ex('calls',lambda: 'f('*N+')'*N)
ex('calls2',lambda: 'f'+'()'*N)
ex('filters',lambda: "1"+'|string'*N)
ex('tests',lambda: '1'+' is defined'*N)
ex('ands',lambda: ' and '.join(['1']*N))
ex('ors',lambda: ' or '.join(['0']*N))
ex('cmps',lambda: ' < '.join(map(str,range(N))))
ex('terns',lambda: '1 if 1 else '*N+'2')
ex('terns2',lambda: '(1 if '*N)
ex('pow',lambda: '**'.join(['1']*N))
ex('pow2',lambda: '2**'*N)
ex('mul',lambda: '*'.join(['1']*N))
ex('tuple',lambda: '1,'*N)
ex('biglist',lambda: '['+'1,'*N+']')
ex('in',lambda: ' in '.join(['[1]']*N))
ex('notin',lambda: ' not in '.join(['[1]']*N))
ex('strs',lambda: "'a' "*N)
ex('dictlit',lambda: '{'+','.join("'k%d':%d"%(i,i) for i in range(N))+'}')
ex('args',lambda: 'range('+','.join(['1']*N)+')')
ex('slices',lambda: 'a'+'[0:1'*N)
ex('isnot',lambda: '1 is not '*N)
ex('floordiv',lambda: '//'.join(['1']*N))
case('tmpl_if',lambda: 'lang: jinja\ncode: |\n  '+'{% if true %}'*1000+'x'+'{% endif %}'*1000+'\n')
case('tmpl_if100',lambda: 'lang: jinja\ncode: |\n  '+'{% if true %}'*100+'x'+'{% endif %}'*100+'\n',want=0)
case('tmpl_for',lambda: 'lang: jinja\ncode: |\n  '+'{% for i in [1] %}'*1000+'x'+'{% endfor %}'*1000+'\n')
case('tmpl_for_deep',lambda: 'lang: jinja\ncode: |\n  '+'{% for i in [1] %}'*N+'x'+'{% endfor %}'*N+'\n')
case('tmpl_elif',lambda: 'lang: jinja\ncode: |\n  {% if false %}'+'{% elif false %}a'*20000+'{% else %}end{% endif %}'+'\n')
case('tmpl_sets',lambda: 'lang: jinja\ncode: |\n  '+'{% set x = 1 %}'*N+'{{ x }}\n')
case('tmpl_macro','lang: jinja\ncode: |\n  {% macro f(n) %}{{ f(n+1) }}{% endmacro %}{{ f(0) }}\n')
case('tmpl_rloop','lang: jinja\ncode: |\n  {% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}\n')
case('tmpl_comments',lambda: 'lang: jinja\ncode: |\n  '+'{# x #}'*N+'\n')
case('tmpl_opens',lambda: 'lang: jinja\ncode: |\n  '+'{{ '*N+'\n')
case('tmpl_raw',lambda: 'lang: jinja\ncode: |\n  '+'{% raw %}'*N+'\n')
case('tmpl_block',lambda: 'lang: jinja\ncode: |\n  '+'{% filter upper %}'*N+'\n')
case('tmpl_call',lambda: 'lang: jinja\ncode: |\n  '+'{% call f() %}'*N+'\n')
case('runaway', 'defs:\n  f:\n    function:\n      n: integer\n    return: ${ f(n=n+1) }\ntext: ${ f(n=0) }\n',want=1)
case('runaway_call', 'defs:\n  f:\n    function:\n      n: integer\n    return:\n      call: ${ f }\n      args: {n: "${ n+1 }"}\ncall: ${ f }\nargs: {n: 0}\n',want=1)
case('runaway_nt', 'defs:\n  f:\n    function: {}\n    return:\n      call: ${ f }\ncall: ${ f }\n',want=1)
case('incl_self', 'text:\n- x\n- include: main.pdl\n',want=1)
case('incl_cycle', 'include: b.pdl\n',{'b.pdl':'include: main.pdl\n'},want=1)
case('import_self', 'defs:\n  m:\n    import: main.pdl\ntext: x\n')
case('import_cycle', 'defs:\n  m:\n    import: b\ntext: x\n',{'b.pdl':'defs:\n  m:\n    import: main\ntext: y\n'})
case('lang_pdl_self', 'defs:\n  src:\n    read: main.pdl\nlang: pdl\ncode: ${ src }\n',want=1)
case('alias_bomb', lambda: 'defs:\n  a: &a0 {array: [x, x]}\n'+''.join('  a%d: &a%d {array: [*a%d, *a%d]}\n'%(i,i,i-1,i-1) for i in range(1,60))+'text: x\n')
case('alias_bomb_data', lambda: 'data:\n- &a0 [x, x]\n'+''.join('- &a%d [*a%d, *a%d, *a%d, *a%d]\n'%(i,i-1,i-1,i-1,i-1) for i in range(1,60)))
case('merge_bomb', lambda: 'data:\n  a: &a0 {k: x}\n'+''.join('  a%d: &a%d {<<: [*a%d, *a%d, *a%d], k%d: 1}\n'%(i,i,i-1,i-1,i-1,i) for i in range(1,60)))
case('merge_many', lambda: 'data:\n  a: &a {'+','.join('k%d: x'%i for i in range(1000))+'}\n  b:\n    <<: ['+','.join(['*a']*20000)+']\n')
case('long_line', lambda: 'text: "'+'x'*10_000_000+'"\n',want=0)
case('long_expr_line', lambda: 'text: "${ '+"'"+'x'*10_000_000+"'"+' }"\n')
case('long_undefined', lambda: 'text: "'+'x'*10_000_000+'${ nope }"\n',want=1)
case('strmul2', 'text: "${ \'x\' * 10**12 }"\n',want=1)
case('listmul','data: "${ [0]*10**9 }"\n',want=1)
case('range','data: "${ range(10**18)|list }"\n',want=1)
case('range2','data: "${ range(10**18) }"\n')
case('range3','for: {i: "${ range(10**18) }"}\nrepeat: ${ i }\nmaxIterations: 3\n')
case('shift','data: "${ (10**1000000) % 7 }"\n',want=0)
case('format2','text: "${ \'{:1000000000000}\'.format(1) }"\n')
case('format3','text: "${ \'%.999999999f\' % 1.5 }"\n')
case('format4','text: "${ \'{:.999999999f}\'.format(1.5) }"\n')
case('ljust','text: "${ \'x\'.ljust(10**10) }"\n')
case('batch','data: "${ [1]|batch(10**9, 0)|list|length }"\n')
case('slice','data: "${ [1]|slice(10**9, 0)|list|length }"\n')
case('expandtabs','text: "${ \'\\t\'.expandtabs(10**10) }"\n')
case('zfill','text: "${ \'1\'.zfill(10**10) }"\n')
case('lipsum','text: "${ lipsum(10**9) }"\n')
case('round','text: "${ 1.5|round(10**9) }"\n')
case('tojson','data: "${ 1|tojson(indent=10**10) }"\n')
for i,rx in enumerate(['(a+)+$','(a|a)*$','(a*)*b','(.*)*x','(x+x+)+y','((a?){60})a{60}', '('*1000+'a'+')'*1000, 'a{65535}{65535}','(?:a{1000}){1000}', '[a-'*1000, '(?=a'*300]):
    case('regex%d'%i, 'text: '+'a'*40+'!\nparser:\n  regex: "'+rx+'"\n  mode: search\n')
case('deep_vals', 'defs:\n  x: {data: []}\ntext:\n- for: {i: "${ range(N) }"}\n  repeat:\n    defs:\n      x: ${ [x] }\n    text: ""\n- ${ x|length }\n')
case('deep_print', lambda: grow('- ${ x }\n'))
case('deep_text', lambda: grow('- text: "${ x }"\n'))
case('deep_eq', lambda: grow('- "${ x == [x] }"\n'))
case('deep_json', lambda: grow('- "${ x|tojson }"\n'))
case('deep_pprint', lambda: grow('- "${ x|pprint }"\n'))
case('deep_lt', lambda: grow('- "${ x < [x] }"\n'))
case('deep_in', lambda: grow('- "${ x in [1,[x]] }"\n'))
case('deep_def', lambda: grow('- def: y\n  spec: {array: integer}\n  data: ${ x }\n'))
case('deep_spec',lambda: grow('- def: y\n  spec: {type: array, items: {}}\n  data: ${ x }\n'))
case('deep_data',lambda: grow('- data: {a: "${ x }"}\n'))
case('deep_arg', lambda: grow('- lang: python\n  code: "result = len(x)"\n'))
case('deep_match', lambda: grow('- match: ${ x }\n  with:\n  - case: {array: [{array: [1]}]}\n    then: a\n  - then: b\n'))
case('deep_sort', lambda: grow('- "${ [x, [x]]|sort }"\n'))
case('deep_unique', lambda: grow('- "${ [x, [x]]|unique|list }"\n'))
case('deep_str', lambda: grow('- "${ x|string|length }"\n'))
case('deep_jinja', lambda: grow('- lang: jinja\n  code: "{{ x }}"\n'))
case('deep_key', lambda: grow('- "${ {(x,): 1} }"\n'))
case('deep_ctx', lambda: grow('- contribute: [context, result]\n  data: ${ x }\n- ${ pdl_context }\n'))
case('deep_file', lambda: grow('- contribute: [{out.txt: {}}]\n  data: ${ x }\n'))
case('deep_sum', lambda: grow('- "${ [x]|sum(start=[]) }"\n'))
case('deep_flat', lambda: grow('- "${ x|join(\',\') }"\n'))
case('deep_set', lambda: grow('- "${ [x]|map(\'length\')|list }"\n'))
case('deep_copy', lambda: grow('- "${ x|list|last|first|length }"\n'))
case('deep_xml',lambda: grow('- "${ x|xmlattr }"\n'))
case('deep_model', lambda: grow('- lang: command\n  code: echo "${ x }"\n'))
case('deep_fmt', lambda: grow('- "${ \'%s\' % x }"\n'))
case('deep_fmt2', lambda: grow('- "${ \'%r {}\'.format(x) }"\n'))
case('deepd_print', lambda: growd('- ${ x }\n'))
case('deepd_eq', lambda: growd('- "${ x == {\'a\': x} }"\n'))
case('deepd_attr', lambda: growd('- "${ x.a.a.a|length }"\n'))
case('deepd_dictsort', lambda: growd('- "${ x|dictsort }"\n'))
case('deepd_urlenc', lambda: growd('- "${ x|urlencode }"\n'))
case('deep_tuple', 'defs:\n  x: 1\nlastOf:\n- for: {i: "${ range(N) }"}\n  repeat:\n    defs:\n      x: ${ (x,) }\n    data: 1\n  join: {as: lastOf}\n- "${ {x: 1}|length }"\n')
case('deep_ctxs', 'text:\n- for: {i: "${ range(N) }"}\n  repeat:\n    text: m\n    role: user\n  contribute: [context]\n- ${ pdl_context|length }\n')
case('deep_func','defs:\n  f: ${ 1 }\nlastOf:\n- for: {i: "${ range(N) }"}\n  repeat:\n    defs:\n      f:\n        function: {}\n        return: ${ 1 }\n    data: 1\n  join: {as: lastOf}\n- ${ f() }\n')
case('deep_scope','lastOf:\n- for: {i: "${ range(N) }"}\n  repeat:\n    def: x\n    text: a\n  join: {as: lastOf}\n- ${ x }\n')
case('spec_deep',lambda: 'text: x\nspec: '+'{array: '*5000+'string'+'}'*5000+'\n')
case('spec_deep300',lambda: 'data: []\nspec: '+'{array: '*300+'string'+'}'*300+'\n')
case('spec_ref','data: []\nspec: {"$ref": "#"}\n')
case('spec_ref2','data: 1\nspec: {"$defs": {a: {"$ref": "#/$defs/b"}, b: {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}\n')
case('spec_any',lambda: 'data: 1\nspec: '+'{anyOf: ['*500+'{type: string}'+']}'*500+'\n')
case('blocks_if',lambda: ''.join(' '*i+'if: true\n'+' '*i+'then:\n' for i in range(900))+' '*900+'x\n')
case('blocks_defs',lambda: 'defs:\n'+''.join('  a%d: x\n'%i for i in range(100000))+'text: x\n',want=0)
case('blocks_seq',lambda: 'text:\n'+'- x\n'*300000,want=0)
case('text_100_mb', "text: \"${ ('x' * 10**8)|length }\"\n", want=0)
case('text_100_mb_upper', "text: \"${ ('x' * 10**8)|upper|length }\"\n", want=0)
case('text_1_gb', "text: \"${ ('x' * 10**9)|length }\"\n")
case('text_too_long', "text: \"${ 'x' * 3 * 10**9 }\"\n", want=1)
case('program_64_mb', lambda: 'text:\n' + ('- "' + 'x' * 99_990 + '"\n') * 640, want=0)
case('program_many_blocks', lambda: 'text:\n' + '- {data: 1}\n' * 200_000, want=0)
case('jsonl_20_mb', lambda: 'defs:\n  rows:\n    read: rows.jsonl\n    parser: jsonl\nfor: {r: "${ rows }"}\nmap: ${ r.n }\njoin: {reduce: "${ add }"}\n'
     .replace('join: {reduce: "${ add }"}', 'join: {as: lastOf}'),
     lambda: {'rows.jsonl': ''.join('{"n": %d, "pad": "%s"}\n' % (i, 'p' * 180) for i in range(100_000))}, want=0)
case('line_10_mb_json', 'lastOf:\n- {read: big.json, parser: json, def: x}\n- ${ x|length }\n', lambda: {'big.json': '[' + '1,' * 5_000_000 + '1]'}, want=0)
case('macro_grows', 'lang: jinja\ncode: |\n  {% macro m(x) %}{{ m(x ~ "a") }}{% endmacro %}{{ m(1) }}\n', want=1)
case('macro_10000', 'text:\n- lang: jinja\n  code: |\n    {% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(10000) }}done\n', want=0)
case('macros_mutual', 'lang: jinja\ncode: |\n  {% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}\n', want=1)
case('include_of_many', lambda: 'text:\n' + '- include: b.pdl\n' * 3000, {'b.pdl': 'text: x\n'}, want=0)
case('bytes_invalid', 'text: "a\udcffb"\n', want=1)
case('bytes_nul', 'text: "a\0b"\n', want=1)
case('bytes_nul_escaped', 'text: "a\\0b"\n', want=0)
case('bytes_bom', '\ufefftext: hello\n', want=0)
case('bytes_bom_inside', 'text: "a\ufeffb"\n', want=0)
case('bytes_surrogate', 'text: "\\ud800"\n')
case('bytes_surrogate_json', "text: '\"\\ud800\"'\nparser: json\n")
case('bytes_line_separator', 'text: "a\u2028b\u2029c\u0085d"\n', want=0)
case('bytes_invalid_file', 'read: bad.txt\n', {'bad.txt': 'a\udcff\udcfe\0'})
case('bytes_invalid_csv', 'read: bad.csv\nparser: csv\n', {'bad.csv': 'a,\udcff\n\0'})
for i, n in enumerate(['9223372036854775807 + 1', '-9223372036854775808 - 1', '-9223372036854775808 // -1', '-9223372036854775808 % -1',
                       '9223372036854775808|abs', '1e308 * 10', '5e-324 / 2', '0.1 + 0.2', '1e400', '-1e400', '(1e400 - 1e400)', '2**63', '2**-1074',
                       '10**400 * 1.0', '1 // 0.0', '1 % 0', '0 ** -1', '0x7fffffffffffffff', '1_000', '007', '1e5|int', '1e400|int', "'1e400'|float",
                       "'9' * 400|int", "('9' * 5000)|int", '3|round(-400)', '1.5|round(400)', 'range(2**63, 2**63 + 2)|list', '[1][2**63]',
                       "'abc'[-2**63:2**63]", '2**64 == 2.0**64', '(2**53 + 1) == (2**53 + 1) * 1.0', '-0.0', '0.0 == -0.0', '1 << 3']):
    ex('number_%d' % i, n)
case('while_forever_max','repeat:\n  data: 1\nmaxIterations: 1000000\njoin: {as: lastOf}\n',want=0)


# Long rather than deep: test_many.py and test_size.py have their like.
LARGE = ["program_64_mb", "program_many_blocks", "jsonl_20_mb", "blocks_seq", "text_1_gb", "text_100_mb_upper", "while_forever_max"]


@functools.cache
def stack_of(command):
    return (512 if b"__gcov_init" in pathlib.Path(command).read_bytes() else 256) * 1024


def run(pdl, name):
    """-> exit status, standard error"""
    text, files, args, _ = cases[name]
    with tempfile.TemporaryDirectory() as d:
        for f, t in {"main.pdl": text, **made(files)}.items():
            (pathlib.Path(d) / f).write_bytes(made(t).replace("range(N)", "range(%d)" % N).encode("utf-8", "surrogateescape"))
        try:
            p = subprocess.run([pdl, *args, "main.pdl"], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False,
                               preexec_fn=limited(stack=stack_of(pdl), memory=4 << 30))
            return p.returncode, p.stderr
        except subprocess.TimeoutExpired:
            return "time-out", b""


def ends(pdl, names):
    for n in names:
        status, err = run(pdl, n)
        want = cases[n][3]
        ok = status in (0, 1) and (want is None or status == want) and not (status == 1 and b"main.pdl" not in err)
        check(n, ok, "exit status %s\n%s" % (status, err[:400].decode("utf-8", "replace")))


@pytest.mark.parametrize("names", groups([n for n in cases if n not in LARGE], 27, str))
def test_deep(pdl, scale, names):
    ends(pdl, names)


@pytest.mark.tier("all")
def test_large(pdl):
    ends(pdl, LARGE)
