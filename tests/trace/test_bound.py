# SPDX-License-Identifier: Apache-2.0
"""test_bound.py -- the maximum cost of a run: generated programs never cost more (spec know 4).

The service gives the longest answers that it may give, and counts calls and words. Branches are chosen at random.
"""
import json
import random
import subprocess

import pytest

from .. import http_of
from ..checks import check

FIRST = "defs:\n  f: {function: {x: string}, return: {model: openai/m, input: \"so ${ x }\", parameters: {max_tokens: 4}}}\n  three: {data: [a, b, c]}\ntext:\n"


class Service(http_of.Plain):
    """Answers with as many words as max_tokens allows."""

    def __init__(self):
        self.begin()
        super().__init__(self.answer)

    def begin(self):
        self.calls = self.asked = self.said = 0

    def answer(self, _head, data, send):
        body = json.loads(data)
        n = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        words = sum(len(str(m["content"]).split()) for m in body["messages"])
        self.calls, self.asked, self.said = self.calls + 1, self.asked + words, self.said + n
        reply = {"choices": [{"index": 0, "message": {"role": "assistant", "content": " ".join(["word"] * n)}, "finish_reason": "stop"}],
                 "usage": {"prompt_tokens": words, "completion_tokens": n}}
        send(http_of.answer(json.dumps(reply).encode()))
        return True


class Maker:
    """Writes a program of nested blocks."""

    def __init__(self, draw):
        self.draw, self.flags, self.n = draw, {}, 0

    def model(self):
        most = self.draw.randint(1, 9)
        given = self.draw.choice(["", ", input: \"a question of five words\"", ", input: \"${ three[0] }, and more\""])
        end = self.draw.choice(["", ", retry: 1", ", contribute: [result]", ", def: v%d" % self.n])
        self.n += 1
        return "{model: openai/m%s, parameters: {max_tokens: %d}%s}" % (given, most, end)

    def block(self, depth):
        kinds = ["model", "model", "text", "call"] + ["repeat", "map", "if", "items", "while"] * (depth > 0)
        kind = self.draw.choice(kinds)
        inner = (lambda: self.block(depth - 1))
        self.n += 1
        if kind == "model":
            return self.model()
        if kind == "text":
            return "\"some words of text\\n\""
        if kind == "call":
            return self.draw.choice(["{call: \"${ f }\", args: {x: one}}", "\"${ f(x='two') } \""])
        over = self.draw.choice(["for: {i%d: \"${ three }\"}", "for: {i%d: [1, 2]}", "for: {i%d: \"${ range(4) }\"}", "for: {i%d: \"${ range(three | length) | list }\"}",
                                 "for: {i%d: \"${ three[1:] + [4] }\"}"]) % self.n
        if kind in ("repeat", "map"):
            return "{%s, %s: {text: [%s, %s]}}" % (over, kind, inner(), inner())
        if kind == "while":
            return "{repeat: {text: [%s]}, until: \"${ false }\", maxIterations: %d}" % (inner(), self.draw.randint(0, 4))
        if kind == "if":
            flag = "b%d" % self.n
            self.flags[flag] = self.draw.choice([True, False])
            return "{if: \"${ %s }\", then: {text: [%s]}, else: {text: [%s]}}" % (flag, inner(), inner())
        return "{text: [%s, %s, %s]}" % (inner(), inner(), inner())

    def program(self):
        return FIRST + "".join("- %s\n" % self.block(3) for _ in range(self.draw.randint(1, 4)))


@pytest.fixture(name="env")
def env_(tmp_path):
    service = Service()
    base = "http://127.0.0.1:%d/v1" % service.port
    return service, tmp_path, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": base, "OPENAI_API_BASE": base}


def run(pdl, env, *args):
    _, folder, variables = env
    p = subprocess.run([pdl, *args], cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False)
    return p.returncode, p.stdout, p.stderr


def bound(pdl, env, text, *more):
    (env[1] / "p.pdl").write_text(text)
    code, out, err = run(pdl, env, "explain", "--bound", "--json", "--check=off", "p.pdl", *more)
    check("it is explained", code == 0, text, out, err)
    return json.loads(out)


def test_never_above(pdl, env, scale):
    service, close, n = env[0], 0, scale(300, 30)
    for seed in range(n):
        m = Maker(random.Random(seed))
        text = m.program()
        given = [x for name, value in m.flags.items() for x in ("-d", "%s=%s" % (name, str(value).lower()))]
        b = bound(pdl, env, text, *given)
        service.begin()
        code, _, err = run(pdl, env, "--stream", "none", "p.pdl", *given)
        check("%d: it runs" % seed, code == 0, text, err)
        check("%d: calls" % seed, b["calls"] is not None and service.calls <= b["calls"], service.calls, b, text)
        check("%d: answers" % seed, b["tokens"]["answer"] is not None and service.said <= b["tokens"]["answer"], service.said, b, text)
        check("%d: prompts" % seed, b["tokens"]["prompt"] is None or service.asked <= b["tokens"]["prompt"], service.asked, b, text)
        close += b["calls"] <= 2 * service.calls and b["tokens"]["answer"] <= 2 * service.said
    check("within twice of what happened", close >= 0.8 * n, close, n)


NONE = (
    ("a loop", "repeat: {model: openai/m, def: x, parameters: {max_tokens: 3}}\nuntil: ${ x == 'y' }\n", 1, "the loop ends when its condition says so"),
    ("a list", "for: {i: \"${ xs }\"}\nmap: {model: openai/m, input: a, parameters: {max_tokens: 3}}\n", 1, "the length of its list is not known before the run"),
    ("recursion", "defs:\n  f: {function: {}, return: [{model: openai/m, parameters: {max_tokens: 3}}, {call: \"${ f }\"}]}\ncall: ${ f }\n".replace("[{", "{lastOf: [{").replace("}]}", "}]}}"),
     2, "the function calls itself"),
    ("a value that is called", "call: ${ g }\nargs: {x: a}\n", 1, "which function is called is not known before the run"),
    ("a program as text", "lang: pdl\ncode: \"text: a\"\n", 1, "the program that is run here is not known before"),
    ("expectations", "text: a\nexpectations: [{expect: b}]\n", 1, "expectations are judged by calls that are not counted"),
)


@pytest.mark.parametrize("name, text, line, why", NONE, ids=[n[0].replace(" ", "-") for n in NONE])
def test_no_bound(pdl, env, name, text, line, why):
    b = bound(pdl, env, text)
    r = b["no_bound"][0]
    check(name, b["calls"] is None and (r["why"], r["line"], r["what"]) == (why, line, "calls"), b)
    b = bound(pdl, env, text, "--budget", "calls=7")
    check("a budget bounds it", b["calls"] == 7 and b["budget"] == {"calls": 7.0}, b)


def test_budget(pdl, env):
    b = bound(pdl, env, "budget: {requests: 3, calls: 5, seconds: 2.5}\ntext: [one]\n", "--budget", "requests=9,calls=4,turns=8")
    check("each item is named, the smaller one of two", b["budget"] == {"requests": 3.0, "calls": 4.0, "seconds": 2.5, "turns": 8.0}, b)


def test_text(pdl, env):
    (env[1] / "prices.json").write_text(json.dumps({"openai/m": {"input": 1e-3, "output": 1e-2}}))
    (env[1] / "p.pdl").write_text("for: {i: \"${ xs }\"}\nrepeat: {model: openai/m, input: three words here, parameters: {max_tokens: 10}}\n")
    code, out, err = run(pdl, env, "explain", "--bound", "p.pdl", "-d", "xs=[1, 2]", "--prices", "prices.json")
    check("numbers", code == 0 and out == "at most 2 calls, 20 tokens of answers, about 6 tokens of prompts, about $0.206\n  p.pdl:2: 2 calls, 20 tokens of answers\n", out, err)
    code, out, err = run(pdl, env, "explain", "--bound", "p.pdl")
    check("no list", code == 0 and out.splitlines()[0] == "no bound: p.pdl:1: the length of its list is not known before the run (maxIterations would bound it)", out, err)
    (env[1] / "p.pdl").write_text("model: openai/m\ninput: a\n")
    code, out, err = run(pdl, env, "explain", "--bound", "p.pdl")
    check("no max_tokens", code == 0 and out.splitlines()[:2] == ["at most 1 call, about 1 tokens of prompts",
          "no bound of tokens: p.pdl:1: the answer has no limit that is known before the run (max_tokens in its parameters would bound it)"], out, err)
    code, out, err = run(pdl, env, "explain", "--bound", "--prefix", "p.pdl")
    check("one at a time", code == 2 and not out, out, err)
    check("nothing is asked", env[0].calls == 0)


# A list in `for`, the definitions that it needs, and how many items it has at most.
LISTS = (
    ("a filter that keeps the length", "", "range(3) | list", 3),
    ("a step", "", "range(1, 8, 3)", 3),
    ("downwards", "", "range(5, 0, -2)", 3),
    ("a number of the program", "  n: 4\n", "range(n + 1)", 5),
    ("the length of a list", "  xs: {data: [a, b]}\n", "range(xs | length)", 2),
    ("a selection", "  xs: {data: [a, b, c]}\n", "xs | select('ne', 'a') | sort", 3),
    ("a beginning", "", "unknown[:4]", 4),
    ("an end", "", "unknown[-2:]", 2),
    ("a part", "  xs: {data: [a, b, c]}\n", "xs[1:9]", 3),
    ("two lists", "  xs: {data: [a, b, c]}\n", "xs + [1, 2]", 5),
    ("a repetition", "", "[0] * 6", 6),
    ("a choice", "  xs: {data: [a, b, c]}\n", "xs if flag else [1]", 3),
    ("keys of an object", "  d: {data: {a: 1, b: 2}}\n", "d | list", 2),
    ("what a loop made", "  xs: {for: {i: [1, 2]}, repeat: \"${ i }\", join: {as: array}}\n", "xs", 2),
    ("an array", "  xs: {array: [a, b]}\n", "xs", 2),
    ("a type", "  xs: {data: \"${ unknown }\", spec: {type: array, maxItems: 7}}\n", "xs", 7),
    ("an optional list", "  xs: {data: \"${ unknown }\", spec: {optional: {type: array, maxItems: 7}}}\n", "xs or []", 7),
    ("a type beside a fallback", "  xs: {data: \"${ unknown }\", spec: {type: array, maxItems: 7}, fallback: \"${ other }\"}\n", "xs", None),
    ("a product", "", "range((2 + 1) * 2)", 6),
    ("a product of numbers below zero", "", "range((2 - 10) * (2 - 10))", None),
    ("characters of an enumeration", "  s: {data: \"${ unknown }\", spec: {enum: [a, bcd]}}\n", "s | list", 3),
    ("keys of an enumeration", "  d: {data: \"${ unknown }\", spec: {enum: [{a: 1, b: 2}]}}\n", "d | list", 2),
    ("a list that is not known", "", "unknown | list", None),
    ("one of two that is not known", "", "unknown + [1]", None),
    ("set twice", "  xs: {data: [a]}\n  ys: {data: \"${ unknown }\", def: xs}\n", "xs", None),
    ("set by a pattern", "  xs: {data: [a]}\n  ys: {match: \"${ unknown }\", with: [{case: {any: , def: xs}, then: a}]}\n", "xs", None),
    ("a name in a circle", "  xs: ${ ys + ys }\n  ys: ${ xs + xs }\n", "xs", None),
)


@pytest.mark.parametrize("name, defs, of, n", LISTS, ids=[x[0].replace(" ", "-") for x in LISTS])
def test_list(pdl, env, name, defs, of, n):
    text = ("defs:\n" + defs if defs else "") + "for: {item: \"${ %s }\"}\nrepeat: {model: openai/m, input: a, parameters: {max_tokens: 3}}\n" % of
    b = bound(pdl, env, text)
    check(name, b["calls"] == n and (n is not None or b["no_bound"][0]["what"] == "calls"), b)


# The type of a parameter, what of it is put into a prompt, and how many words that has at most.
TYPES = (
    ("an enumeration", "{enum: [yes sir, \"no\"]}", "x", 2),
    ("a text", "{type: string, maxLength: 9}", "x", 5),
    ("a number", "integer", "x", 1),
    ("one of several", "{type: [integer, string], maxLength: 6}", "x", 3),
    ("nothing or a flag", "{optional: boolean}", "x", 1),
    ("a list", "{type: array, maxItems: 3, items: {enum: [a b]}}", "x", 6),
    ("a field", "{object: {a: {enum: [one two three]}, b: string}}", "x.a", 3),
    ("a field without a limit", "{object: {a: {enum: [one two three]}, b: string}}", "x.b", None),
    ("a number of items", "{array: string}", "x | length", 1),
    ("first items", "{type: array, maxItems: 2, prefixItems: [{enum: [a b c]}], items: {type: integer}}", "x", 6),
    ("first items without a limit", "{type: array, maxItems: 2, prefixItems: [{type: string}], items: {type: integer}}", "x", None),
    ("fields by pattern", "{type: object, properties: {}, patternProperties: {'.': {type: string}}, additionalProperties: false}", "x", None),
    ("any text", "string", "x", None),
    ("a list without a limit", "{array: integer}", "x", None),
)


@pytest.mark.parametrize("name, kind, shown, n", TYPES, ids=[x[0].replace(" ", "-") for x in TYPES])
def test_typed(pdl, env, name, kind, shown, n):
    text = "defs:\n  f: {function: {x: %s}, return: {model: openai/m, input: \"${ %s }\", parameters: {max_tokens: 3}}}\n" % (kind, shown)
    b = bound(pdl, env, text + "call: ${ f }\nargs: {x: \"${ unknown }\"}\n")
    check(name, b["calls"] == 1 and b["tokens"]["prompt"] == n, b)
