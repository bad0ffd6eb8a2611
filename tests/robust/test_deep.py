#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_deep.py -- programs that are too deep, too long or without end: each ends soon with its result or with one located error.

    test_deep.py BUILD_DIR [NAME ...]

Under a stack of 256 KB (512 KB where lines are counted: the counters take stack) and 4 GB of memory. Python standard library only.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

SECONDS = 20
cases = {}


def case(name, text, files=None, args=(), want=None):
    """want: exit status; None: 0 or 1."""
    cases[name] = (text, files or {}, list(args), want)


def ex(name, e):
    case(name, 'data: "${ ' + e + ' }"\n')


def loop(first, step, tail):
    """x, nested 100000 deep at run time, then tail."""
    return ("defs:\n  x: {data: %s}\nlastOf:\n- for: {i: \"${ range(100000) }\"}\n  repeat:\n    defs:\n      x: \"${ %s }\"\n    data: 1\n"
            "  join: {as: lastOf}\n%s" % (first, step, tail))


def grow(tail):
    return loop("[]", "[x]", tail)


def growd(tail):
    return loop("{}", "{'a': x}", tail)


N=100000
cases={}
LONG_INT = '7' * 1500000
case('int_literal', 'data: ${ %s > 1 }\n' % LONG_INT, want=1)
case('int_hex_literal', 'data: ${ 0x%s > 1 }\n' % LONG_INT, want=1)
case('int_in_template', 'lang: jinja\ncode: "{% if ' + LONG_INT + ' > 1 %}a{% endif %}"\n', want=1)
case('int_yaml', 'data: %s\n' % LONG_INT, want=1)
case('int_yaml_sixty', 'data: 1%s\n' % (':59' * 800000), want=1)
case('int_json', 'data: "%s"\nparser: json\n' % LONG_INT, want=1)
case('int_repair', 'text: "{a: %s,}"\nparser: json\n' % LONG_INT)
case('int_of_python', 'lang: python\ncode: result = 1 << 5000000\n', want=1)
case('yaml_flow_seq', 'data: '+'['*N+']'*N+'\n')
case('yaml_flow_open', 'data: '+'['*N)
case('yaml_flow_map', 'data: '+'{a: '*N+'}'*N+'\n')
case('yaml_block_map', 'data:\n'+''.join(' '*i+'a:\n' for i in range(1,3000))+'\n')
case('yaml_block_seq', 'data:\n'+'- '*N+'x\n')
case('yaml_prog_text', ''.join(' '*(i)+'text:\n' for i in range(0,3000))+' '*3000+'x\n')
case('yaml_prog_seq', '- '*N+'x\n')
case('yaml_999', 'data: '+'['*990+']'*990+'\n')
case('prog_990', 'text: '+'['*490+'x'+']'*490+'\n')
case('json_parser', 'text: |\n  '+'['*N+']'*N+'\nparser: json\n')
case('json_open', 'text: |\n  '+'['*N+'\nparser: json\n')
case('json_objs', 'text: |\n  '+'{"a":'*N+'\nparser: json\n')
case('json_990', 'text: |\n  '+'['*990+']'*990+'\nparser: json\n')
case('jsonl', 'text: |\n  '+'['*N+']'*N+'\nparser: jsonl\n')
case('yamlparser', 'text: |\n  '+'['*N+']'*N+'\nparser: yaml\n')
case('csvparser', 'text: |\n  '+'"a,'*N+'\nparser: csv\n')
ex('paren','('*N+'1'+')'*N)
ex('paren_open','('*N)
ex('list','['*N+']'*N)
ex('dict',"{'a':"*N+'1'+'}'*N)
ex('nots','not '*N+'true')
ex('minus','-'*N+'1')
ex('minus2','- '*N+'1')
ex('plus','+'.join(['1']*N))
ex('cat','~'.join(['1']*N))
ex('attrs','a'+'.b'*N)
ex('subs','a'+'[0]'*N)
ex('calls','f('*N+')'*N)
ex('calls2','f'+'()'*N)
ex('filters',"1"+'|string'*N)
ex('tests','1'+' is defined'*N)
ex('ands',' and '.join(['1']*N))
ex('ors',' or '.join(['0']*N))
ex('cmps',' < '.join(map(str,range(N))))
ex('terns','1 if 1 else '*N+'2')
ex('terns2','(1 if '*N)
ex('pow','**'.join(['1']*N))
ex('pow2','2**'*N)
ex('mul','*'.join(['1']*N))
ex('tuple','1,'*N)
ex('biglist','['+'1,'*N+']')
ex('in',' in '.join(['[1]']*N))
ex('notin',' not in '.join(['[1]']*N))
ex('strs',"'a' "*N)
ex('dictlit','{'+','.join("'k%d':%d"%(i,i) for i in range(N))+'}')
ex('args','range('+','.join(['1']*N)+')')
ex('slices','a'+'[0:1'*N)
ex('isnot','1 is not '*N)
ex('floordiv','//'.join(['1']*N))
case('tmpl_if','lang: jinja\ncode: |\n  '+'{% if true %}'*1000+'x'+'{% endif %}'*1000+'\n')
case('tmpl_if100','lang: jinja\ncode: |\n  '+'{% if true %}'*100+'x'+'{% endif %}'*100+'\n',want=0)
case('tmpl_for','lang: jinja\ncode: |\n  '+'{% for i in [1] %}'*1000+'x'+'{% endfor %}'*1000+'\n')
case('tmpl_for_deep','lang: jinja\ncode: |\n  '+'{% for i in [1] %}'*N+'x'+'{% endfor %}'*N+'\n')
case('tmpl_elif','lang: jinja\ncode: |\n  {% if false %}'+'{% elif false %}a'*20000+'{% else %}end{% endif %}'+'\n')
case('tmpl_sets','lang: jinja\ncode: |\n  '+'{% set x = 1 %}'*N+'{{ x }}\n')
case('tmpl_macro','lang: jinja\ncode: |\n  {% macro f(n) %}{{ f(n+1) }}{% endmacro %}{{ f(0) }}\n')
case('tmpl_rloop','lang: jinja\ncode: |\n  {% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}\n')
case('tmpl_comments','lang: jinja\ncode: |\n  '+'{# x #}'*N+'\n')
case('tmpl_opens','lang: jinja\ncode: |\n  '+'{{ '*N+'\n')
case('tmpl_raw','lang: jinja\ncode: |\n  '+'{% raw %}'*N+'\n')
case('tmpl_block','lang: jinja\ncode: |\n  '+'{% filter upper %}'*N+'\n')
case('tmpl_call','lang: jinja\ncode: |\n  '+'{% call f() %}'*N+'\n')
case('runaway', 'defs:\n  f:\n    function:\n      n: integer\n    return: ${ f(n=n+1) }\ntext: ${ f(n=0) }\n',want=1)
case('runaway_call', 'defs:\n  f:\n    function:\n      n: integer\n    return:\n      call: ${ f }\n      args: {n: "${ n+1 }"}\ncall: ${ f }\nargs: {n: 0}\n',want=1)
case('runaway_nt', 'defs:\n  f:\n    function: {}\n    return:\n      call: ${ f }\ncall: ${ f }\n',want=1)
case('incl_self', 'text:\n- x\n- include: main.pdl\n',want=1)
case('incl_cycle', 'include: b.pdl\n',{'b.pdl':'include: main.pdl\n'},want=1)
case('import_self', 'defs:\n  m:\n    import: main.pdl\ntext: x\n')
case('import_cycle', 'defs:\n  m:\n    import: b\ntext: x\n',{'b.pdl':'defs:\n  m:\n    import: main\ntext: y\n'})
case('lang_pdl_self', 'defs:\n  src:\n    read: main.pdl\nlang: pdl\ncode: ${ src }\n',want=1)
case('alias_bomb', 'defs:\n  a: &a0 {array: [x, x]}\n'+''.join('  a%d: &a%d {array: [*a%d, *a%d]}\n'%(i,i,i-1,i-1) for i in range(1,60))+'text: x\n')
case('alias_bomb_data', 'data:\n- &a0 [x, x]\n'+''.join('- &a%d [*a%d, *a%d, *a%d, *a%d]\n'%(i,i-1,i-1,i-1,i-1) for i in range(1,60)))
case('merge_bomb', 'data:\n  a: &a0 {k: x}\n'+''.join('  a%d: &a%d {<<: [*a%d, *a%d, *a%d], k%d: 1}\n'%(i,i,i-1,i-1,i-1,i) for i in range(1,60)))
case('merge_many', 'data:\n  a: &a {'+','.join('k%d: x'%i for i in range(1000))+'}\n  b:\n    <<: ['+','.join(['*a']*20000)+']\n')
case('long_line', 'text: "'+'x'*10_000_000+'"\n',want=0)
case('long_expr_line', 'text: "${ '+"'"+'x'*10_000_000+"'"+' }"\n')
case('long_undefined', 'text: "'+'x'*10_000_000+'${ nope }"\n',want=1)
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
case('deep_vals', 'defs:\n  x: {data: []}\ntext:\n- for: {i: "${ range(100000) }"}\n  repeat:\n    defs:\n      x: ${ [x] }\n    text: ""\n- ${ x|length }\n')
case('deep_print', grow('- ${ x }\n'))
case('deep_text', grow('- text: "${ x }"\n'))
case('deep_eq', grow('- "${ x == [x] }"\n'))
case('deep_json', grow('- "${ x|tojson }"\n'))
case('deep_pprint', grow('- "${ x|pprint }"\n'))
case('deep_lt', grow('- "${ x < [x] }"\n'))
case('deep_in', grow('- "${ x in [1,[x]] }"\n'))
case('deep_def', grow('- def: y\n  spec: {array: integer}\n  data: ${ x }\n'))
case('deep_spec',grow('- def: y\n  spec: {type: array, items: {}}\n  data: ${ x }\n'))
case('deep_data',grow('- data: {a: "${ x }"}\n'))
case('deep_arg', grow('- lang: python\n  code: "result = len(x)"\n'))
case('deep_match', grow('- match: ${ x }\n  with:\n  - case: {array: [{array: [1]}]}\n    then: a\n  - then: b\n'))
case('deep_sort', grow('- "${ [x, [x]]|sort }"\n'))
case('deep_unique', grow('- "${ [x, [x]]|unique|list }"\n'))
case('deep_str', grow('- "${ x|string|length }"\n'))
case('deep_jinja', grow('- lang: jinja\n  code: "{{ x }}"\n'))
case('deep_key', grow('- "${ {(x,): 1} }"\n'))
case('deep_ctx', grow('- contribute: [context, result]\n  data: ${ x }\n- ${ pdl_context }\n'))
case('deep_file', grow('- contribute: [{out.txt: {}}]\n  data: ${ x }\n'))
case('deep_sum', grow('- "${ [x]|sum(start=[]) }"\n'))
case('deep_flat', grow('- "${ x|join(\',\') }"\n'))
case('deep_set', grow('- "${ [x]|map(\'length\')|list }"\n'))
case('deep_copy', grow('- "${ x|list|last|first|length }"\n'))
case('deep_xml',grow('- "${ x|xmlattr }"\n'))
case('deep_model', grow('- lang: command\n  code: echo "${ x }"\n'))
case('deep_fmt', grow('- "${ \'%s\' % x }"\n'))
case('deep_fmt2', grow('- "${ \'%r {}\'.format(x) }"\n'))
case('deepd_print', growd('- ${ x }\n'))
case('deepd_eq', growd('- "${ x == {\'a\': x} }"\n'))
case('deepd_attr', growd('- "${ x.a.a.a|length }"\n'))
case('deepd_dictsort', growd('- "${ x|dictsort }"\n'))
case('deepd_urlenc', growd('- "${ x|urlencode }"\n'))
case('deep_tuple', 'defs:\n  x: 1\nlastOf:\n- for: {i: "${ range(100000) }"}\n  repeat:\n    defs:\n      x: ${ (x,) }\n    data: 1\n  join: {as: lastOf}\n- "${ {x: 1}|length }"\n')
case('deep_ctxs', 'text:\n- for: {i: "${ range(100000) }"}\n  repeat:\n    text: m\n    role: user\n  contribute: [context]\n- ${ pdl_context|length }\n')
case('deep_func','defs:\n  f: ${ 1 }\nlastOf:\n- for: {i: "${ range(100000) }"}\n  repeat:\n    defs:\n      f:\n        function: {}\n        return: ${ 1 }\n    data: 1\n  join: {as: lastOf}\n- ${ f() }\n')
case('deep_scope','lastOf:\n- for: {i: "${ range(100000) }"}\n  repeat:\n    def: x\n    text: a\n  join: {as: lastOf}\n- ${ x }\n')
case('spec_deep','text: x\nspec: '+'{array: '*5000+'string'+'}'*5000+'\n')
case('spec_deep300','data: []\nspec: '+'{array: '*300+'string'+'}'*300+'\n')
case('spec_ref','data: []\nspec: {"$ref": "#"}\n')
case('spec_ref2','data: 1\nspec: {"$defs": {a: {"$ref": "#/$defs/b"}, b: {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}\n')
case('spec_any','data: 1\nspec: '+'{anyOf: ['*500+'{type: string}'+']}'*500+'\n')
case('blocks_if',''.join(' '*i+'if: true\n'+' '*i+'then:\n' for i in range(900))+' '*900+'x\n')
case('blocks_defs','defs:\n'+''.join('  a%d: x\n'%i for i in range(100000))+'text: x\n',want=0)
case('blocks_seq','text:\n'+'- x\n'*300000,want=0)
case('text_100_mb', "text: \"${ ('x' * 10**8)|length }\"\n", want=0)
case('text_100_mb_upper', "text: \"${ ('x' * 10**8)|upper|length }\"\n", want=0)
case('text_1_gb', "text: \"${ ('x' * 10**9)|length }\"\n")
case('text_too_long', "text: \"${ 'x' * 3 * 10**9 }\"\n", want=1)
case('program_64_mb', 'text:\n' + ('- "' + 'x' * 99_990 + '"\n') * 640, want=0)
case('program_many_blocks', 'text:\n' + '- {data: 1}\n' * 200_000, want=0)
case('jsonl_20_mb', 'defs:\n  rows:\n    read: rows.jsonl\n    parser: jsonl\nfor: {r: "${ rows }"}\nmap: ${ r.n }\njoin: {reduce: "${ add }"}\n'
     .replace('join: {reduce: "${ add }"}', 'join: {as: lastOf}'),
     {'rows.jsonl': ''.join('{"n": %d, "pad": "%s"}\n' % (i, 'p' * 180) for i in range(100_000))}, want=0)
case('line_10_mb_json', 'lastOf:\n- {read: big.json, parser: json, def: x}\n- ${ x|length }\n', {'big.json': '[' + '1,' * 5_000_000 + '1]'}, want=0)
case('macro_grows', 'lang: jinja\ncode: |\n  {% macro m(x) %}{{ m(x ~ "a") }}{% endmacro %}{{ m(1) }}\n', want=1)
case('macro_10000', 'text:\n- lang: jinja\n  code: |\n    {% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(10000) }}done\n', want=0)
case('macros_mutual', 'lang: jinja\ncode: |\n  {% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}\n', want=1)
case('include_of_many', 'text:\n' + '- include: b.pdl\n' * 3000, {'b.pdl': 'text: x\n'}, want=0)
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


def limits_of(command):
    stack = (512 if b"__gcov_init" in pathlib.Path(command).read_bytes() else 256) * 1024

    def limits():
        resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    return limits


def main():
    pdl = str(pathlib.Path(sys.argv[1]).resolve() / "pdl")
    limits = limits_of(pdl)
    names = [n for n in cases if not sys.argv[2:] or n in sys.argv[2:]]
    failed = 0
    for n in names:
        text, files, args, want = cases[n]
        with tempfile.TemporaryDirectory() as d:
            for f, t in {"main.pdl": text, **files}.items():
                (pathlib.Path(d) / f).write_bytes(t.encode("utf-8", "surrogateescape"))
            try:
                p = subprocess.run([pdl] + args + ["main.pdl"], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, preexec_fn=limits)
                status, err = p.returncode, p.stderr
            except subprocess.TimeoutExpired:
                status, err = "time-out", b""
        if status not in (0, 1) or (want is not None and status != want) or (status == 1 and b"main.pdl" not in err):
            failed += 1
            print("FAIL %s: exit status %s\n%s" % (n, status, err[:400].decode("utf-8", "replace")))
    print("%d passed, %d failed" % (len(names) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
