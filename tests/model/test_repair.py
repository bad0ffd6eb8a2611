# SPDX-License-Identifier: Apache-2.0
"""trace_error_on_retry of a model block with its own input: the model gets its answer and what was wrong with it."""

from ..checks import same
from .loopback import Place, Server

ASK = {"role": "user", "content": "Who?"}
MISSING = "This answer cannot be used:\nType errors during spec checking:\nMissing required field: age\nAnswer again, with the corrected answer and nothing else."
PROGRAM = """
text:
- model: openai/m
  input: Who?
  parser: json
  spec: {name: string, age: integer}
  trace_error_on_retry: true
  retry: %s
"""


def play(build, program, *answers, stream="none", code=0):
    with Server(lambda body, n: answers[min(n, len(answers) - 1)]) as s:
        status, out, err = Place(build, s).run("--stream", stream, "p.pdl", program=program)
        assert status == code, (status, out, err)
        return [b["messages"] for b in s.requests], out


def shown(answer, why):
    return [ASK, *([{"role": "assistant", "content": answer}] if answer else []), {"role": "user", "content": why}]


def test_the_model_sees_its_error(build):
    for stream in ("none", "result"):
        sent, out = play(build, PROGRAM % 2, '{"name":"Ada"}', '{"name":"Ada","age":36}', stream=stream)
        same(sent, [[ASK], shown('{"name":"Ada"}', MISSING)], stream)
        assert out.endswith('{"name": "Ada", "age": 36}\n'), out


def test_only_the_last_answer_is_shown(build):
    sent, _ = play(build, PROGRAM % "{tries: 2}", "[]", '{"name":"Ada"}', '{"name":"Ada","age":36}')
    same(sent[1][1], {"role": "assistant", "content": "[]"})
    same(sent[2], shown('{"name":"Ada"}', MISSING))


def test_an_empty_answer_is_no_turn(build):
    sent, _ = play(build, PROGRAM % 1, "", '{"name":"Ada","age":36}')
    same([m["role"] for m in sent[1]], ["user", "user"])


def test_other_errors_ask_for_the_same_again(build):
    down = (500, {}, {"error": {"message": "down"}})
    program = "model: openai/m\ninput: Who?\nspec: string\nparameters: {max_retries: 0}\nretry: 1\ntrace_error_on_retry: true\n"
    sent, _ = play(build, program, down, "Ada")
    same(sent, [[ASK], [ASK]])


def test_without_the_flag(build):
    sent, _ = play(build, (PROGRAM % 1).replace("  trace_error_on_retry: true\n", ""), "{}", '{"name":"Ada","age":36}')
    same(sent, [[ASK], [ASK]])


def test_input_that_holds_the_context(build):
    """There the error stands in the context, once."""
    for more in ("", "  input: ${ pdl_context }\n"):
        program = "text:\n- Who?\n- model: openai/m\n  parser: json\n  spec: {age: integer}\n  retry: 1\n  trace_error_on_retry: true\n" + more
        sent, _ = play(build, program, "{}", '{"age":36}')
        same([m["role"] for m in sent[1]], ["user", "assistant"], more)
        assert sent[1][1]["content"].startswith("An error occurred in a PDL block."), sent


def test_not_in_the_context(build):
    program = PROGRAM % 1 + "- model: openai/m\n"
    sent, _ = play(build, program, "{}", '{"name":"Ada","age":36}', "bye")
    same([m["content"] for m in sent[2]], ['{"name":"Ada","age":36}'])
