# SPDX-License-Identifier: Apache-2.0
"""Answers that do not fit a spec: the error says when the model refused or was cut, and the model gets all faults with their paths."""
import json
import os
import subprocess

import pytest

from ..checks import check
from ..harness.choice import Choice
from ..http_of import Quiet, serve

PDL = str(Choice.build / "pdl")
SPEC = "model: openai/m\nparser: json\nspec: {n: integer, s: string, l: [integer], o: {b: boolean, e: {enum: [x, y]}}, a: integer, c: number}\nparameters: {api_base: %s, api_key: k}\n"
WRONG = {"n": "five", "s": 1, "l": [1, "two", 3, None], "o": {"b": "yes", "e": "z"}, "c": "1"}
FAULTS = ['n is "five", should be an integer', "s is 1, should be a string", 'l[1] is "two", should be an integer', "l[3] is null, should be an integer",
          'o.b is "yes", should be a boolean', 'o.e is "z", should be one of ["x", "y"]', "Missing required field: a", 'c is "1", should be a number']


def asked(folder, program, answers, *flags):
    """-> exit status, errors, the requests. answers: (message, finish_reason), the last again and again."""
    requests = []

    class Handler(Quiet):
        def do_POST(self):
            requests.append(json.loads(self.body()))
            message, reason = answers[min(len(requests), len(answers)) - 1]
            self.reply(json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1},
                                   "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}]}).encode())
    (folder / "p.pdl").write_text(program % ("http://127.0.0.1:%d/v1" % serve(Handler).server_port), "utf-8")
    p = subprocess.run([PDL, "--stream", "none", *flags, "p.pdl"], cwd=folder, env={**os.environ, "PDL_STRESS": "time:0"}, capture_output=True, text=True, timeout=60,
                       stdin=subprocess.DEVNULL, check=False)
    return p.returncode, p.stderr, requests


ENDS = [
    ({"content": None, "refusal": "I cannot help"}, "stop", "the model refused to answer: I cannot help"),
    ({"content": '{"n": 1, "s": "x'}, "length", "cut at its limit of tokens"), ({"content": ""}, "content_filter", "filter of the service"),
    ({"content": '{"n": "x"}'}, "length", "cut at its limit of tokens"),
]


@pytest.mark.parametrize("parser", ["parser: json\n", ""], ids=["parser", "spec"])
def test_ends(folder, parser):
    for message, reason, words in ENDS:
        status, err, _ = asked(folder, "input: hi\n" + SPEC.replace("parser: json\n", parser), [(message, reason)])
        check("%s, %s" % (message, reason), status == 1 and words in err and err.index(words) < (err.find("Type errors") if "Type errors" in err else len(err)), status, err)
    status, err, _ = asked(folder, "input: hi\n" + SPEC, [({"content": '{"n": "x"}'}, "stop")])
    check("an ordinary end is not mentioned", status == 1 and "finish_reason" not in err and "refused" not in err, err)


@pytest.mark.parametrize("way", ["input", "context"])
def test_the_model_is_told_all_faults(folder, way):
    block = SPEC + "retry: 1\ntrace_error_on_retry: true\n"
    program = "input: hi\n" + block if way == "input" else "text:\n- hi\n- " + block.replace("\n", "\n  ").rstrip() + "\n"
    status, err, requests = asked(folder, program, [({"content": json.dumps(WRONG)}, "stop")])
    text = "\n".join(m["content"] for m in requests[-1]["messages"]) if len(requests) == 2 else ""
    check("it asks again", status == 1 and len(requests) == 2, status, err, len(requests))
    for fault in FAULTS:
        check(fault, fault in text, text)
    check("in the words of JSON", text and "<class" not in text and "p.pdl" not in text, text)
