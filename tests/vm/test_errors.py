# SPDX-License-Identifier: Apache-2.0
"""test_errors.py -- small programs that fail while they run, and similar programs that do not: a value or a message, each through `lang: pdl` and
`fallback`."""
import json
import subprocess

from ..checks import check

BETWEEN = "\n@@\n"
PLACE = "! PDL Code error: line 1 - "
# program, what it gives or, behind an exclamation mark, what is said
ROWS = [
    ('{text: "a ${ f } ${ [f] }", defs: {f: {function: {}, return: 1}}}',
     'a <function f> [<function f>]'),
    ('{call: "${ f }", args: {x: 1}, defs: {f: {function: {x: integer}, return: "${ x + 1 }"}}}',
     '2'),
    ('{text: "${ f(1, 2) }", defs: {f: {function: {x: integer}, return: 1}}}',
     '! Too many arguments to the call of f'),
    ('{for: {i: 5}, repeat: x}',
     "! PDL Code error: PDLParseError(['line 1 - 5 should be of type list or string (an expression)'])"),
    ('{for: {i: "${ 5 }"}, repeat: x}',
     "! Values inside the For block must be lists but got <class 'int'>."),
    ('{for: {"${ 5 }": [1]}, repeat: x}',
     "! names inside the For block must be strings but got an integer"),
    ('{for: {i: [1, 2], j: [1]}, repeat: x}',
     '! Lists inside the For block must be of the same length.'),
    ('{for: {i: "${ nope }"}, repeat: x}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
    ('{repeat: x, maxIterations: "${ \'a\' }"}',
     '! maxIterations is expected to be an integer but got a value of type str'),
    ('{repeat: x, maxIterations: "${ 2.5 }"}',
     'xxx'),
    ('{repeat: x, maxIterations: "${ -1.5 }"}',
     ''),
    ('{for: {i: [1, 2, 3]}, repeat: "${ i }", maxIterations: "${ 2 ** 70 }"}',
     '123'),
    ('{repeat: x, maxIterations: "${ -(2 ** 70) }"}',
     ''),
    ('{for: {i: "${ [] }"}, repeat: "${ i }", join: {reduce: "${ f }"}}',
     "! Error during the evaluation of ${ f }: 'f' is undefined"),
    ('{for: {i: [1, 2]}, repeat: "${ i }", join: {reduce: "${ 5 }"}}',
     "! 'int' object is not callable"),
    ('{for: {i: [1, 2]}, repeat: "${ i }", join: {as: object}}',
     '! objects are expected to be joined as an object, but element 1 is of type int'),
    ('{for: {i: [1, 2]}, repeat: {data: {k: "${ i }"}}, join: {as: object}}',
     '{"k": 2}'),
    ('{for: {i: [1, 2]}, map: "${ i }", join: {as: lastOf}}',
     '2'),
    ('{for: {i: "${ [] }"}, repeat: "${ i }", join: {as: lastOf}}',
     'null'),
    ('{object: [{data: {a: 1}}, {data: 5}]}',
     '! objects are expected to be joined as an object, but element 2 is of type int'),
    ('{object: {a: 1, b: {data: [2]}}}',
     '{"a": 1, "b": [2]}'),
    ('{factor: "${ \'x\' }"}',
     '! factor is expected to be a number but got a value of type str'),
    ('{call: "${ 5 }"}',
     "! Type error: ${ 5 } is of type <class 'int'> but should be a function."),
    ('{call: "${ f }", args: "${ [1] }", defs: {f: {function: {}, return: 1}}}',
     '! args of a call should be an object but got a value of type list'),
    ('{call: "${ f }", defs: {f: {function: {x: integer}, return: 1}}}',
     '! Type errors during function call to ${ f }:\nline 1 - Missing required field: x'),
    ('{call: "${ f }", args: {x: a}, defs: {f: {function: {x: integer}, return: 1}}}',
     "! Type errors during function call to ${ f }:\nline 1 - a should be of type <class 'int'>"),
    ('{call: "${ f }", args: {x: 1, y: 2}, defs: {f: {function: {x: integer}, return: 1}}}',
     '! Type errors during function call to ${ f }:\nline 1 - Field not allowed: y'),
    ('{call: "${ f }", args: {pdl_context: 5}, defs: {f: {function: {}, return: 1}}}',
     "! '<class 'int'>' object is not a valid context"),
    ('{call: "${ f }", args: {pdl_context: [{role: user, content: hi}]}, defs: {f: {function: {}, return: "${ pdl_context|length }"}}}',
     '1'),
    ('{call: "${ f }", defs: {f: {function: {}, return: {data: x}, spec: integer}}}',
     "! Type errors in result of the function f:\nline 1 - x should be of type <class 'int'>"),
    ('{text: ["${ f }"], defs: {f: {function: {x: integer}, return: 1}}}',
     ''),
    ('{lang: python, code: "x", scope: 5}',
     "! PDL Code error: PDLParseError(['line 1 - 5 should be of type object or string (an expression)'])"),
    ('{lang: python, code: "${ 5 }"}',
     '! Python Code error: Traceback (most recent call last):\nTypeError: compile() arg 1 must be a string, bytes or AST object'),
    ('{lang: python, code: "x = 1"}',
     "! Python Code error: the code never sets `result`, which is the value of the block\nAttributeError: 'types.SimpleNamespace' object has no attribute 'result'"),
    ('{lang: command, code: "${ 5 }"}',
     '! Shell Code error: AttributeError("\'int\' object has no attribute \'read\'")'),
    ('{args: ["${ 5 }"]}',
     "! Shell Code error: TypeError('expected str, bytes or os.PathLike object, not int')"),
    ('{lang: command, code: ""}',
     "! Shell Code error: IndexError('list index out of range')"),
    ('{lang: command, code: "exit 3"}',
     "! Shell Code error: FileNotFoundError(2, 'No such file or directory')"),
    ('{lang: command, code: "no-such-command-here"}',
     "! Shell Code error: FileNotFoundError(2, 'No such file or directory')"),
    ('{lang: command, code: "printf \'a"}',
     "! Shell Code error: ValueError('No closing quotation')"),
    ('{lang: jinja, code: "${ 5 }"}',
     '! Jinja Code error: TypeError("Can\'t compile non template nodes")'),
    ('{lang: pdl, code: "${ 5 }"}',
     '! PDL Code error: AttributeError("\'int\' object has no attribute \'read\'")'),
    ('{lang: pdl, code: "data: ${ 1 / 0 }"}',
     '! Error during the evaluation of data: ${ 1 / 0 }: division by zero'),
    ('{lang: python, code: "result = 1", contribute: [{context: {value: 5}}]}',
     "! '<class 'int'>' object is not a valid context"),
    ('{data: 1, contribute: [{stdout: {value: "${ nope }"}}]}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
    ('{data: 1, contribute: [nobody]}',
     "! Error during the evaluation of ${ nobody }: 'nobody' is undefined"),
    ('{data: 1, contribute: [g], defs: {g: {data: 5}}}',
     "! An aggregator was expected but got a value of type <class 'int'>."),
    ('{data: 1, contribute: [g], defs: {g: {aggregator: {file: "${ 5 }"}}}}',
     '! file of a file aggregator is expected to be a string but got a value of type int'),
    ('{data: 1, contribute: [g], defs: {g: {aggregator: {file: "/nowhere/at/all"}}}}',
     "! [Errno 2] No such file or directory: '/nowhere/at/all'"),
    ('{data: 1, contribute: [g], defs: {g: {aggregator: {file: "x", mode: "${ 5 }"}}}}',
     '! mode of a file aggregator is expected to be a string but got a value of type int'),
    ('{read: "${ 5 }"}',
     "! read should be a file name but is an integer"),
    ('{read: /nowhere/at/all}',
     '! file /nowhere/at/all not found'),
    ('{include: /nowhere/at/all}',
     '! file /nowhere/at/all not found'),
    ('{import: /nowhere/at/all}',
     '! file /nowhere/at/all.pdl not found'),
    ('{get: nope}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
    ('{match: 1, with: [{case: "${ nope }", then: a}]}',
     ''),
    ('{match: [1, 2], with: [{case: {array: [1, {any: , def: v}]}, then: "${ v }"}]}',
     '2'),
    ('{match: {a: 1}, with: [{case: {object: {a: {anyOf: [2, 1], def: v}}}, then: "${ v }"}]}',
     '1'),
    ('{match: 5, with: [{case: 4, then: a}]}',
     ''),
    ('{match: 5, with: [{if: "${ nope }", then: a}]}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
    ('{if: "${ nope }", then: a}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
    ('{if: "${ [] }", then: a, else: b}',
     'b'),
    ('{if: "${ \'x\' }", then: a, else: b}',
     'a'),
    ('{data: 1, spec: string}',
     "! Type errors during spec checking:\nline 1 - 1 should be of type <class 'str'>"),
    ('{data: "${ 1 }", parser: json}',
     '! Attempted to parse ill-formed JSON: expected a string but got integer'),
    ('{data: "{", parser: jsonl}',
     "! Attempted to parse ill-formed JSON: JSONDecodeError('Expecting property name enclosed in double quotes: line 1 column 2 (char 1)')"),
    ('{data: 1, expectations: [{expect: x, feedback: "${ 5 }"}]}',
     '! feedback should be a function but is of type int'),
    ('{data: 1, retry: {tries: "${ \'x\' }"}}',
     '! tries of retry is expected to be a number but got a value of type str'),
    ('{model: "${ 5 }", input: x}',
     "! model should be a string but is an integer"),
    ('{model: m, parameters: "${ 5 }", input: x}',
     "! Error during 'm' model call: TypeError('parameters should be an object, not int')"),
    ('{model: nobody-knows-this, input: x}',
     "! Error during 'nobody-knows-this' model call: unknown_provider: LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You passed model=nobody-knows-this"),
    ('{model: openai/m, input: {data: 5}, parameters: {mock_response: hi}}',
     '! Error during \'openai/m\' model call: TypeError("\'<class \'int\'>\' object is not a valid context")'),
    ('{model: openai/m, input: {array: [{data: {role: user, content: hi}}]}, parameters: {mock_response: hi}}',
     'hi'),
    ('{data: "${ 1", raw: false}',
     "! Syntax error in ${ 1: unexpected end of template, expected 'end of print statement'."),
    ('{data: "${ [1][5] }"}',
     '! Error during the evaluation of ${ [1][5] }: list object has no element 5'),
    ('{data: "${ \'a\'.x }"}',
     "! Error during the evaluation of ${ 'a'.x }: 'str object' has no attribute 'x'"),
    ('{data: "${ {}.x.y }"}',
     "! Error during the evaluation of ${ {}.x.y }: 'dict object' has no attribute 'x'"),
    ('{data: 1, budget: {calls: "${ \'x\' }"}}',
     '! calls of budget is expected to be a number but got a value of type str'),
    ('{data: 1, budget: {seconds: -1}}',
     '! seconds of budget is negative: write 0 or more, or leave it out'),
    ('{defs: {x: {data: "${ nope }"}}, text: "${ x }"}',
     "! Error during the evaluation of ${ nope }: 'nope' is undefined"),
]


def test_errors(pdl, folder):
    each = {"lang": "pdl", "code": "${ p }", "fallback": "! ${ pdl_error.message }", "contribute": ["result"]}
    program = {"defs": {"programs": {"data": [p for p, _ in ROWS], "raw": True}}, "for": {"p": "${ programs }"}, "repeat": each, "join": {"with": BETWEEN}}
    (folder / "main.pdl").write_text(json.dumps(program), "utf-8")
    p = subprocess.run([pdl, "--stream", "none", "main.pdl"], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    got = p.stdout[:-1].split(BETWEEN)
    if p.returncode or len(got) != len(ROWS):
        print("exit status %d, %d results\n%s" % (p.returncode, len(got), p.stderr[-2000:]))
        got += [None] * len(ROWS)
    for (source, want), text in zip(ROWS, got):
        check(source, text is not None and text.replace(PLACE, "! ", 1) == want, "\n  got  %r\n  want %r" % (text, want))


LINES = "".join("    line %d\n" % i for i in range(1, 300))
BAD = "    x {{ 1 + 'a' }}\n"
FAR = "text:\n- lang: jinja\n  code: |\n" + LINES
# what a template is, the rest of the program, and where its fault is shown
TEMPLATES = (
    ("text", FAR + BAD, "  303 |     x {{ 1 + 'a' }}\n      |          ^^^^^^^ column 10\n"),
    ("a name", FAR + "    {{ nope() }}\n", "  303 |     {{ nope() }}\n      |        ^^^^^^ column 8\n"),
    ("a filter", FAR + "    {{ 1 | nofilter }}\n", "  303 |     {{ 1 | nofilter }}\n"),
    ("a bracket", FAR + "    x {{ 1\n" + LINES, "  304 |     line 1\n      |     ^^^^ column 5; a }} is missing\n"),
    ("a loop", FAR + "    {% for i in [1] %}\n    {{ i.x.y }}\n    {% endfor %}\n", "  304 |     {{ i.x.y }}\n"),
    ("a macro", FAR + "    {% macro m(x) %}\n" + BAD.replace("1", "x") + "    {% endmacro %}{{ m(1) }}\n", "  304 |     x {{ x + 'a' }}\n"),
    ("quoted", "lang: jinja\ncode: \"a\\n{{ 1 + 'a' }}\"\n", "    2 | code: \"a\\n{{ 1 + 'a' }}\"\n      |              ^^^^^^^ column 14\n"),
    ("text with a value after the fault", FAR + BAD + "    ${ pdl_context }\n", "  303 |     x {{ 1 + 'a' }}\n"),
    ("text with a value before it", FAR + "    ${ 1 }\n" + BAD, "    2 | - lang: jinja\n      |   ^^^^^^^^^^^ column 3; it is in line 301 of the template\n"),
    ("made by a block", FAR.replace("code: |\n", "code:\n    text: |\n").replace("    line", "      line") + "  " + BAD, "column 3; it is in line 300 of the template\n"),
    ("of one line", "defs: {t: {data: \"{{ 1 + 'a' }}\"}}\ntext:\n- lang: jinja\n  code: ${ t }\n", "    3 | - lang: jinja\n      |   ^^^^^^^^^^^ column 3\n"),
    ("what it calls", "defs:\n  f: {function: {}, return: '${ 1 // 0 }'}\n" + FAR + "    {{ f() }}\n", "    2 |   f: {function: {}, return: '${ 1 // 0 }'}\n"),
)


def test_place_in_a_template(pdl, folder):
    for name, program, shown in TEMPLATES:
        (folder / "a.pdl").write_text(program)
        p = subprocess.run([pdl, "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check(name, p.returncode == 1 and shown in p.stderr and p.stderr.count("\n") == 3, p.stderr)


def test_call_of_a_long_text(pdl, folder):
    for text in ("call: |\n" + LINES, "call: |\n" + LINES + "    ${ 1 }\n"):
        (folder / "a.pdl").write_text(text)
        p = subprocess.run([pdl, "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check("a line of it is printed", "Type error: ... line 1 ... is of type <class 'str'> but should be a function." in p.stderr and p.stderr.count("\n") == 3, p.stderr)
