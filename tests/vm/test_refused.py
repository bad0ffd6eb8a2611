# SPDX-License-Identifier: Apache-2.0
"""test_refused.py -- what a retry refused is not in the output of a pipe, nor in that of -o; a terminal is told."""
import itertools
import json
import os
import subprocess

import pytest

from .. import http_of
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
    ("spec with a fallback", "model: openai/m\ninput: n\nspec: {enum: [other]}\nfallback: other\n", "other"),
)


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
    env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_API_BASE": "http://127.0.0.1:%d/v1" % service.port}
    for more in ([], ["-o", "out"]):
        service.asked = itertools.count()
        p = subprocess.run([pdl, *more, "p.pdl"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
        out = (tmp_path / "out").read_text() if more else p.stdout
        check("%s %s" % (title, more), p.returncode == 0 and out.strip() == printed, (p.returncode, out, p.stderr))
