#!/usr/bin/env python3
"""test_trace.py -- what traces hold, as the reference writes it.

    test_trace.py BUILD_DIR [NAME ...]

NAME: tests whose name has this text. Python standard library only.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TIMEOUT_S = 120
TESTS = []


def test(fn):
    TESTS.append(fn)
    return fn


def equal(got, want, what=""):
    assert got == want, "%s\n  is     %r\n  wanted %r" % (what, got, want)


class Command:
    def __init__(self, build):
        self.pdl = str((pathlib.Path(build) / "pdl").resolve())

    def run(self, folder, program, *args, status=0):
        """The trace of a program, as bytes; None: there is no file."""
        (folder / "main.pdl").write_text(program, encoding="utf-8")
        out = folder / "t.json"
        p = subprocess.run([self.pdl, "--stream", "none", *args, "-t", str(out), "main.pdl"], cwd=folder, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=TIMEOUT_S, env={"OPENAI_API_KEY": "x", "PATH": "/usr/bin:/bin"})
        equal(p.returncode, status, p.stderr.decode()[-2000:])
        return out.read_bytes() if out.exists() else None

    def trace(self, folder, program, **more):
        return json.loads(self.run(folder, program, **more))


# --- fields ---------------------------------------------------------------------------------------------------------


@test
def the_function_of_a_join_has_its_value(pdl, folder):
    t = pdl.trace(folder, """
defs:
  add: {function: {a: integer, b: integer}, return: "${ a + b }"}
text:
- for: {i: [1, 2]}
  repeat: ${ i }
  join: {reduce: "${ add }"}
- for: {i: [1, 2]}
  map: ${ i }
  join: {as: reduce, reduce: "${ add }"}
""")
    for block in t["text"]:
        equal(block["join"]["reduce"]["pdl__expr"], "${ add }")
        equal(block["join"]["reduce"]["pdl__result"],
              {"kind": "function", "pdl__id": "", "defs": {}, "function": {"a": "integer", "b": "integer"}, "return": "${ a + b }",
               "def": "add", "expectations": [], "pdl__is_leaf": True})


@test
def the_mode_of_a_parser_is_written_in_lower_case(pdl, folder):
    t = pdl.trace(folder, """
array:
- {data: a1b2, parser: {mode: findAll, regex: "[0-9]"}}
- {data: a1b2, parser: {regex: "[0-9]", mode: SPLIT, spec: [string], description: parts}}
- {data: "1", parser: JSON}
""")
    got = [list(b["parser"].items()) for b in t["array"][:2]]
    equal(got[0], [("regex", "[0-9]"), ("mode", "findall")])
    equal(got[1], [("description", "parts"), ("spec", ["string"]), ("regex", "[0-9]"), ("mode", "split")])
    equal(t["array"][2]["parser"], "json")


FALLBACK = """
text:
- %s
- model: openai/m
  parameters: {mock_response: litellm.RateLimitError, num_retries: 0}
  fallback: saved
"""


@test
def a_model_answered_by_its_fallback_has_the_context_of_it_and_no_usage(pdl, folder):
    for first in ('"Hello"', '{data: none, contribute: []}'):
        model = pdl.trace(folder, FALLBACK % first)["text"][1]
        equal(model["pdl__context"], [{"role": "user", "content": "saved", "pdl__defsite": "text.1.model.fallback.data"}])
        assert "pdl__usage" not in model, model["pdl__usage"]
        equal(model["fallback"]["pdl__result"], "saved")


@test
def a_model_behind_a_fallback_keeps_its_own_usage(pdl, folder):
    t = pdl.trace(folder, """
model: openai/m
parameters: {mock_response: litellm.RateLimitError, num_retries: 0}
fallback: {model: openai/m, parameters: {mock_response: good}}
""")
    assert "pdl__usage" not in t
    equal(t["fallback"]["pdl__usage"]["model_calls"], 1)
    equal(t["fallback"]["pdl__result"], "good")


@test
def the_input_of_a_model_names_the_blocks_it_came_from(pdl, folder):
    t = pdl.trace(folder, """
text:
- Hello
- {model: openai/m, parameters: {mock_response: one}}
- {model: openai/m, parameters: {mock_response: two}}
- {model: openai/m, input: {array: [{role: user, content: said}]}, parameters: {mock_response: three}}
- {model: openai/m, input: plain, parameters: {mock_response: four}}
""")
    inputs = [b["pdl__model_input"] for b in t["text"][1:]]
    equal([m["pdl__defsite"] for m in inputs[0]], ["text.0.data"])
    equal([m["pdl__defsite"] for m in inputs[1]], ["text.0.data", "text.1.model"])
    equal(inputs[2], [{"role": "user", "content": "said", "pdl__defsite": "text.3.model.input.array.0.message"}])
    equal(inputs[3], [{"role": "user", "content": "plain"}])


# --- runner ---------------------------------------------------------------------------------------------------------


def main():
    pdl, names = Command(sys.argv[1]), sys.argv[2:]
    failed = passed = 0
    for fn in TESTS:
        if names and not any(n in fn.__name__ for n in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                fn(pdl, pathlib.Path(folder))
                passed += 1
            except Exception as e:
                failed += 1
                print("FAIL %s: %s: %s" % (fn.__name__, type(e).__name__, e))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
