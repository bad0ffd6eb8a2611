# SPDX-License-Identifier: Apache-2.0
"""test_refused.py -- text that a retry refused is not in the output of a pipe or of -o; a terminal gets a note."""
import itertools
import json
import os
import pty
import re
import resource
import select
import subprocess
import urllib.request

import pytest

from .. import http_of, serve_of
from ..checks import check

FEEDBACK = ("defs: {fb: {function: {expectation: string, response: object}, return: {if: \"${ 'five' in (response | string) }\", then: {data: [0.1, \"in digits\"]}, "
            "else: {data: [1.0, \"\"]}}}}\n")
# what refuses, the program, what is printed
CASES = (
    ("spec after a parser", "model: openai/m\ninput: n\nparser: json\nspec: {n: integer}\nretry: 2\n", '{"n": 5}'),
    ("spec of a text", "model: openai/m\ninput: n\nspec: {enum: ['{\"n\": 5}']}\nretry: 2\n", '{"n": 5}'),
    ("spec of the block around", "text: [{model: openai/m, input: n}, '.']\nspec: {enum: ['{\"n\": 5}.']}\nretry: 2\n", '{"n": 5}.'),
    ("spec of the last", "lastOf: [a, {model: openai/m, input: n}]\nspec: {enum: ['{\"n\": 5}']}\nretry: 2\n", '{"n": 5}'),
    ("spec of a call", "defs: {f: {function: {}, return: {model: openai/m, input: n}}}\ncall: ${ f }\nspec: {enum: ['{\"n\": 5}']}\nretry: 2\n", '{"n": 5}'),
    ("an expectation after a parser", FEEDBACK + "model: openai/m\ninput: n\nparser: json\nexpectations: [{expect: digits, feedback: \"${ fb }\"}]\nretry: 2\n", '{"n": 5}'),
    ("spec in a block with a fallback", "text: ['head ', {model: openai/m, input: n, spec: integer}, ' tail']\nfallback: other\n", "head other"),
    ("spec with a fallback", "model: openai/m\ninput: n\nspec: {enum: [other]}\nfallback: other\n", "other"),
)


M = "{model: openai/m, input: n}"
OK = '{"n": 5}'
# a later part of the block refuses what the model wrote: the block is run again
LATER = (
    ("code after it", "text: [%s, {def: x, contribute: [], lang: python, code: 'result = int(\"five\" not in pdl_context[-1][\"content\"]) or 1 / 0'}]\nretry: 2\n" % M, OK),
    ("an expression after it", "text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", OK + "1"),
    ("spec of a later block", "text: [{def: a, model: openai/m, input: n}, {data: \"${ a | length }\", spec: {enum: [8]}, contribute: []}]\nretry: 2\n", OK),
    ("parser of a later block", "text: [{def: a, model: openai/m, input: n}, {data: \"${ '5' if 'five' not in a else '[' }\", parser: yaml}]\nretry: 2\n", OK + "5"),
    ("the object form", "text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nretry: {tries: 2}\n", OK + "1"),
    ("two models", "text: [{def: a, model: openai/m, input: n}, '|', {model: openai/m, input: '${ a }'}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", OK + "|" + OK + "1"),
    ("a loop", "repeat: {text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]}\nmaxIterations: 2\njoin: {as: text}\nretry: 2\n", (OK + "1") * 2),
    ("a map", "map: {text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]}\nfor: {i: [1]}\njoin: {as: text}\nretry: 2\n", OK + "1"),
    ("attempts inside attempts", "text: [head, {text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"], retry: 1}, \"${ 1 }\"]\nretry: 1\n", "head" + OK + "11"),
    ("attempts inside attempts that fail", "text: [{text: %s, retry: 1}, \"${ [1][pdl_context[-1].content.count('five')] }\"]\nretry: 1\n" % M, OK + "1"),
    ("a function in an expression", "defs: {f: {function: {}, return: %s}}\ntext: [{def: a, data: '${ f() }'}, \"${ [1][a.count('five')] }\"]\nretry: 2\n" % M, OK + "1"),
    ("a text to standard output", "text: [{def: a, model: openai/m, input: n, contribute: [{stdout: {value: '${ a }'}}]}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", OK + "\n1"),
    ("a fallback", "text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nfallback: other\n", '{"n": "five"}other'),
    ("attempts, then a fallback", "text: [%s, '${ nope }']\nretry: 1\nfallback: {text: [other, ' ', %s]}\n" % (M, M), "other " + OK),
    ("the last of a list", "lastOf: [a, {text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]}]\nretry: 2\n", OK + "1"),
    ("code in PDL", "text: [{def: a, lang: pdl, code: 'model: openai/m\n\n  input: n'}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", OK + "1"),
    ("an include", "text: [{include: m.pdl}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", OK + "1"),
)


# code and files refuse nothing of a model, but what they print may be refused too
FIRST_FAILS = "import os\n    print('out', os.path.exists('f'))\n    if not os.path.exists('f'): open('f', 'w').close(); 1 / 0\n    result = 'ok'"
CODE = (
    ("a command", "args: [sh, -c, 'test -e f && echo 5 || { touch f; echo five; }']\nspec: {enum: [\"5\\n\", \"5\"]}\nretry: 2\n", "5"),
    ("print in Python", "text:\n- head\n- lang: python\n  code: |\n    %s\n  retry: 2\n" % FIRST_FAILS, "headout True\nok"),
    ("a later part", "text: [{args: [echo, a]}, {if: \"${ f.n == 1 }\", then: '', else: '${ nope }', "
                     "defs: {f: {lang: python, code: \"import os\\nresult = {'n': len(os.listdir('d'))}\\nopen('d/f', 'w').close()\"}}}]\nretry: 2\n", "a"),
    ("a spec with a fallback", "args: [echo, five]\nspec: {n: integer}\nfallback: {data: {n: 1}}\n", '{"n": 1}'),
    ("a fallback alone", "text: [{args: [printf, partial]}, '${ nope }']\nfallback: '[other]'\n", "partial[other]"),
)


@pytest.mark.parametrize("title, program, printed", CODE, ids=[c[0].replace(" ", "-") for c in CODE])
def test_refused_code(pdl, tmp_path, title, program, printed):
    """Without a model, too: what may differ in the next attempt waits until it is accepted."""
    (tmp_path / "p.pdl").write_text(program)
    (tmp_path / "d").mkdir()
    for more in ([], ["-o", "out"]):
        for left in (tmp_path / "f", tmp_path / "d" / "f"):
            left.unlink(missing_ok=True)
        p = subprocess.run([pdl, *more, "p.pdl"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        out = (tmp_path / "out").read_text() if more else p.stdout
        check("%s %s" % (title, more), p.returncode == 0 and out.strip() == printed, (p.returncode, out, p.stderr))


# the last attempt is refused: exit 1, and what is printed is what stands before the block
NEVER = (
    ("a model", "text: ['head ', {model: openai/m, input: n, spec: {enum: [other]}}]\n", "head "),
    ("a model on its own", "model: openai/m\ninput: n\nspec: integer\n", ""),
    ("a text", "text: [%s, '.']\nspec: {enum: [other]}\n" % M, ""),
    ("a text without a model", "text: [five, '.']\nspec: {pattern: '^[0-9]'}\n", ""),
    ("a command", "args: [printf, five]\nspec: integer\n", ""),
    ("print in Python", "lang: python\ncode: |\n  print('out')\n  result = 'five'\nspec: integer\n", ""),
    ("a call", "defs: {f: {function: {}, return: %s}}\ncall: ${ f }\nspec: integer\n" % M, ""),
    ("a loop", "repeat: %s\nmaxIterations: 2\njoin: {as: text}\nspec: {enum: [other]}\n" % M, ""),
    ("an include", "include: m.pdl\nspec: integer\n", ""),
    ("attempts that end", "text: [%s]\nspec: {enum: [other]}\nretry: 1\n" % M, ""),
    ("a string, which every text is", "text: [{def: a, model: openai/m, input: n, spec: string}, '${ [1][a | length] }']\nspec: string\n", '{"n": "five"}'),
    ("without spec", "text: [{def: a, model: openai/m, input: n}, '${ [1][a | length] }']\n", '{"n": "five"}'),
    ("what follows", "text: ['head ', {model: openai/m, input: n, spec: integer}, ' tail', {args: [echo, end]}]\n", "head "),
    ("the first of two", "text: [{model: openai/m, input: n, spec: integer}, %s]\n" % M, ""),
    ("a map", "map: {model: openai/m, input: n, spec: integer}\nfor: {i: [1]}\njoin: {as: text}\n", ""),
    ("a parser", "model: openai/m\ninput: n\nparser: json\nspec: integer\n", ""),
)


# what asks for input in a block that holds its output, and what is printed before it asks
ASKING = (
    ("a read", "- \"2+2?\\n\"\n- {read: null, message: '', parser: json, spec: integer}", b"2+2?\n"),
    ("a read with a message", "- \"2+2?\\n\"\n- {read: null, message: 'answer: ', parser: json, spec: integer}", b"2+2?\nanswer: "),
    ("a function", "- \"2+2?\\n\"\n- {call: '${ f }'}", b"2+2?\nhm\n"),
    ("input in Python", "- \"2+2?\\n\"\n- {lang: python, code: \"print('hm')\\nresult = int(input('? '))\"}", b"2+2?\nhm\n? "),
)


@pytest.mark.parametrize("title, program, printed", NEVER, ids=[c[0].replace(" ", "-") for c in NEVER])
def test_refused_at_last(pdl, service, tmp_path, title, program, printed):
    """A pipe and a file hold nothing that `spec` refused, also where no attempt and no fallback follows."""
    (tmp_path / "m.pdl").write_text(M + "\n")
    (tmp_path / "p.pdl").write_text(program)
    for more in ([], ["-o", "out"]):
        service.asked = itertools.count()
        p = run(pdl, service, tmp_path, more)
        out = (tmp_path / "out").read_text() if more else p.stdout
        check("%s %s" % (title, more), p.returncode == 1 and out.strip("\n") == printed, (p.returncode, out, p.stderr))


@pytest.mark.parametrize("title, parts, question", ASKING, ids=[c[0].replace(" ", "-") for c in ASKING])
def test_question_is_shown(pdl, tmp_path, title, parts, question):
    """A driver at the other end of the pipes gets each question before it has to answer."""
    (tmp_path / "p.pdl").write_text("defs: {f: {function: {}, return: {text: [\"hm\\n\", {read: null, message: '', parser: json, spec: integer}]}}}\n"
                                    "retry: 2\ntext:\n%s\n- \" done\"\n" % parts)
    with subprocess.Popen([pdl, "p.pdl"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as p:
        try:
            for answer in (b"four\n", b"4\n"):
                got = b""
                while len(got) < len(question) and select.select([p.stdout], [], [], 60)[0]:
                    got += os.read(p.stdout.fileno(), len(question) - len(got)) or b"(the end)"
                check("%s before %r" % (title, answer), got == question, got)
                p.stdin.write(answer)
                p.stdin.flush()
            rest = p.communicate(timeout=60)[0]
            check("%s: the rest" % title, p.returncode == 0 and rest == b"4 done\n", (p.returncode, rest))
        finally:
            p.kill()


@pytest.mark.parametrize("title, program, printed", LATER, ids=[c[0].replace(" ", "-") for c in LATER])
def test_refused_later(pdl, service, tmp_path, title, program, printed):
    (tmp_path / "m.pdl").write_text("{def: a, model: openai/m, input: n}\n")
    (tmp_path / "p.pdl").write_text(program)
    for more in ([], ["-o", "out"], *([["--stream", "none"]] if "five" not in printed else []), ["--durable"], ["-t", "trace.json"]):
        service.asked = itertools.count()
        p = run(pdl, service, tmp_path, more)
        out = (tmp_path / "out").read_text() if "-o" in more else p.stdout
        check("%s %s" % (title, more), p.returncode == 0 and out.strip() == printed.strip(), (p.returncode, out, p.stderr))


def test_served(pdl, service, tmp_path):
    """A client of a server cannot take text back either, whether it asks for a stream or not."""
    (tmp_path / "p.pdl").write_text("text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nretry: 2\n")
    p, port = serve_of.start(pdl, "p.pdl", env=env_of(service, tmp_path), cwd=tmp_path)
    try:
        for stream in (True, False):
            service.asked = itertools.count()
            body = json.dumps({"model": "p", "stream": stream, "messages": [{"role": "user", "content": "x"}]}).encode()
            ask = urllib.request.Request("http://127.0.0.1:%d/v1/chat/completions" % port, body, {"content-type": "application/json"})
            with urllib.request.urlopen(ask, timeout=60) as r:
                lines = r.read().decode().splitlines()
            events = [json.loads(x[6:]) for x in lines if x.startswith("data: {")] if stream else [json.loads(lines[0])]
            said = "".join(c.get("delta", c.get("message", {})).get("content") or "" for e in events for c in e["choices"])
            check("served, stream %s" % stream, said == OK + "1", lines)
    finally:
        p.kill()
        p.wait()


def test_terminal(pdl, service, tmp_path):
    """A terminal shows the text while it arrives, and is told, also of what a fallback takes the place of."""
    for program, shown, told in (("text: [{def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nretry: 2\n", '{"n": "five"}{"n": 5}1', 1),
                                 ("text: [%s]\nspec: {enum: [other]}\nfallback: other\n" % M, '{"n": "five"}other', 1),
                                 ("text: ['${ nope }', %s]\nretry: 1\nfallback: other\n" % M, "other", 0),
                                 ("text: [%s, '.']\nretry: 1\n" % M, '{"n": "five"}.', 0)):
        (tmp_path / "p.pdl").write_text(program)
        service.asked = itertools.count()
        ours, theirs = pty.openpty()
        p = subprocess.Popen([pdl, "p.pdl"], cwd=tmp_path, env=env_of(service, tmp_path), stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, text=True)
        err = p.communicate(timeout=60)[1]
        os.close(theirs)
        out = b""
        while piece := read_some(ours):
            out += piece
        os.close(ours)
        out = re.sub(rb"\x1b\[[0-9;]*m|[\r\n]", b"", out).decode()
        check("terminal: " + program, p.returncode == 0 and out == shown and err.count("The text above was refused.") == told, (p.returncode, out, err))


def read_some(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""


def test_much(pdl, service, tmp_path):
    """What waits is bounded: more is printed at once, and a pipe is told when that is refused."""
    (tmp_path / "p.pdl").write_text("text: [{def: a, model: openai/m, input: n}, '${ \"y\" * 70000000 }', {data: \"${ [1][a.count('five')] }\", contribute: []}]\nretry: 2\n")
    service.asked = itertools.count()
    p = run(pdl, service, tmp_path, [])
    check("more than can wait", p.returncode == 0 and p.stdout == '{"n": "five"}' + "y" * 70000000 + OK + "y" * 70000000 + "\n"
          and p.stderr.count("The text above was refused.") == 1, (p.returncode, p.stdout[:40], len(p.stdout), p.stderr[:400]))


def test_question(pdl, service, tmp_path):
    """A question does not wait: who reads the answer of a model in a pipe is asked."""
    (tmp_path / "p.pdl").write_text("text: [{def: q, read: null, message: 'Name? ', contribute: []}, {def: a, model: openai/m, input: n}, \"${ [1][a.count('five')] }\"]\nretry: 2\n")
    service.asked = itertools.count()
    p = run(pdl, service, tmp_path, [], input="A\nB\n")
    check("questions", p.returncode == 0 and p.stdout == "Name? Name? " + OK + "1\n", (p.returncode, p.stdout, p.stderr))


def test_question_of_a_map(pdl, service, tmp_path):
    """A question is printed before its answer is waited for, also where a map is around it, in a block with attempts or outside of that."""
    asks = "{def: q, read: null, message: 'Name? ', contribute: []}"
    for program in ("text: [%s, {map: %s, for: {i: [1]}, maxWorkers: 1}]\nretry: 1\n" % (M, asks),
                    "map: {text: [%s, %s], retry: 1}\nfor: {i: [1]}\nmaxWorkers: 1\n" % (M, asks)):
        (tmp_path / "p.pdl").write_text(program)
        service.asked = itertools.count(1)
        with subprocess.Popen([pdl, "p.pdl"], cwd=tmp_path, env=env_of(service, tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            ready, _, _ = select.select([p.stdout], [], [], 30)
            said = os.read(p.stdout.fileno(), 100) if ready else b"(nothing)"
            out, err = p.communicate(b"A\n", timeout=60)
        check("asked first: " + program, said == b"Name? " and p.returncode == 0 and OK in out.decode(), (said, out, err))


def test_many_fallbacks(pdl, service, tmp_path):
    """A failure costs what its attempt printed, not what waits: 40000 in a block with attempts took 10 s before."""
    (tmp_path / "p.pdl").write_text("text: [%s, {for: {i: '${ range(40000) }'}, repeat: {text: [x, {text: '${ nope }', fallback: f}]}}]\nretry: 1\n" % M)
    service.asked = itertools.count(1)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    p = run(pdl, service, tmp_path, [])
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check("many fallbacks", p.returncode == 0 and p.stdout == OK + "xf" * 40000 + "\n" and took < 3, (p.returncode, p.stdout[:40], p.stderr, took))


def test_deep_calls(pdl, service, tmp_path):
    """Blocks with attempts may be nested as deep as calls: what a block around them refuses is dropped without C recursion."""
    (tmp_path / "p.pdl").write_text("""\
defs: {f: {function: {n: integer}, return: {text: [x, {if: "${ n > 0 }", then: "${ f(n=n - 1) }"}], retry: 1}}}
text: [{call: "${ f }", args: {n: 40000}, contribute: []}, "${ nope }"]
retry: 1
fallback: other
""")
    p = run(pdl, service, tmp_path, [], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20)))
    check("deep calls", p.returncode == 0 and p.stdout == "other\n", (p.returncode, p.stdout[:40], p.stderr[-400:]))


def test_late_function(pdl, service, tmp_path):
    """A function that code calls prints into the block around the code, also when that was ended before the function."""
    (tmp_path / "p.pdl").write_text("""\
defs:
  f: {function: {}, return: {text: [{model: openai/m, input: n}, x], retry: 1}}
text:
- {model: openai/m, input: n}
- lang: python
  budget: {seconds: 0.5}
  code: |
    import time
    result = f()
    time.sleep(3)
retry: 0
spec: {enum: [other]}
fallback: other
""")
    service.asked = itertools.count()
    p = run(pdl, service, tmp_path, [])
    check("late function", p.returncode == 0 and p.stdout == "other\n", (p.returncode, p.stdout, p.stderr))


def env_of(service, folder):
    return {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % service.port, "PDL_RUNS": str(folder / "runs")}


def run(pdl, service, folder, more, **options):
    return subprocess.run([pdl, *more, "p.pdl"], cwd=folder, env=env_of(service, folder), capture_output=True, text=True, timeout=60, check=False, **options)


@pytest.fixture(scope="module")
def service():
    """Answers in letters first, then in digits."""
    server = http_of.Plain(None)

    def answer(_, data, send):
        text = '{"n": "five"}' if next(server.asked) == 0 else '{"n": 5}'
        if not json.loads(data).get("stream"):
            send(http_of.answer(json.dumps({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}).encode()))
            return True
        send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        for piece, end in ((text[:4], None), (text[4:], "stop")):
            send(b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": end}]}).encode() + b"\n\n")
        send(b"data: [DONE]\n\n")
        return False
    server.exchange = answer
    return server


@pytest.mark.parametrize("title, program, printed", CASES, ids=[c[0].replace(" ", "-") for c in CASES])
def test_refused(pdl, service, tmp_path, title, program, printed):
    (tmp_path / "p.pdl").write_text(program)
    for more in ([], ["-o", "out"]):
        service.asked = itertools.count()
        p = run(pdl, service, tmp_path, more)
        out = (tmp_path / "out").read_text() if more else p.stdout
        check("%s %s" % (title, more), p.returncode == 0 and out.strip() == printed, (p.returncode, out, p.stderr))
