# SPDX-License-Identifier: Apache-2.0
"""A loop of a thousand steps against a model that answers at once takes at most half a second of processor time.

Twice the steps take not much more than twice the time where requests stay short. Where each request contains the whole conversation, the time grows
no faster than the text that is sent. The model is the parameter mock_response. Processor time is counted, so a busy machine does not matter.
"""
import os
import resource
import subprocess

import pytest

from ..checks import check
from ..harness.choice import Choice, ROOT

STEPS, SECONDS, SLACK = 1000, 0.5, 0.08
GROWTH = {"react/distill, acting": 3.0, "webgpt": 3.0}  # requests that stay short; the others:
GROWING = 5.0
HEAD = """defs:
  agent: {import: lib/%s}
  weather: {description: Weather of a city, function: {city: string}, return: "Sunny in ${ city }"}
"""
CALL = """call: ${ agent.%s }
args: {model: openai/m, %s, parameters: {mock_response: %s}}
fallback: "${ pdl_error.message }"
"""
TOOLS = 'tools: ["${ weather }"]'
QWEN = '"Thought: I look.\\nAction: weather\\nAction Input: {\\"city\\": \\"Paris\\"}\\n"'
# name: module, function, arguments with the number of steps, what the model says each time, what the program prints
LOOPS = {
    "react/qwen": ("react/qwen", "run", "query: q, max_steps: %d, " + TOOLS, QWEN, "Too Many Iterations"),
    "react/qwen chat": ("react/qwen", "chat", "history: [], query: q, max_steps: %d, " + TOOLS, QWEN, "Too Many Iterations"),
    "react/json": ("react/json", "run", "question: q, max_steps: %d, " + TOOLS, "'{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}'",
                   "Too Many Iterations"),
    "react/distill, acting": ("react/distill", "run", "question: q, n: %d, " + TOOLS, '"Action: weather[Paris]"', "Too Many Iterations"),
    "react/distill, thinking": ("react/distill", "run", "question: q, n: %d, " + TOOLS, '"Thought: I think."', "Too Many Iterations"),
    "react/docstore": ("react/docstore", "run", "question: q, max_steps: %d, store: {pages: {Paris: Sunny}}", '" I look.\\nAction: Search[Paris]"',
                       "Agent stopped"),
    "toolcall/prompted": ("toolcall/prompted", "run", "query: q, max_steps: %d, " + TOOLS, "'{\"tool\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}'",
                          "Too Many Iterations"),
    "toolcall/prompted, watched": ("toolcall/prompted", "run", "query: q, max_steps: %d, max_repeats: 100000, max_result: 5, " + TOOLS,
                                   "'{\"tool\": \"weather\", \"parameters\": {\"city\": \"Paris\"}}'", "Too Many Iterations"),
    "webgpt": ("webgpt", "run", "question: q, max_actions: %d, search: \"${ page }\", open: \"${ page }\"", '"Search x"', "limit"),
    "router": ("router", "run", "agents: [{name: a, condition: c, system: s}, {name: b, condition: c, system: s}]", '"take 1"', "take 1"),
}
PAGE = '  page: {function: {query: string}, return: {data: {text: "one\\ntwo", links: {}}}}\n'
TRIES = 3


def seconds(pdl, work, name, steps):
    module, function, args, said, want = LOOPS[name]
    (work / "loop.pdl").write_text(HEAD % module + PAGE + CALL % (function, args % steps if "%d" in args else args, said), "utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    p = subprocess.run([pdl, "--stream", "none", "loop.pdl"], cwd=work, input="hello\n" * steps, capture_output=True, text=True, timeout=200, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert p.returncode == 0 and want in p.stdout, p.stdout[-300:] + p.stderr[-300:]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("name", LOOPS)
def test_a_thousand_steps(name, pdl, folder):
    os.symlink(ROOT / "lib", folder / "lib")
    slow = 10 if Choice.sanitized else 1
    with open(pdl, "rb") as f:
        if b"__gcov_init" in f.read():  # lines are counted
            slow = 3
    one = two = 1e9
    for _ in range(TRIES):
        one, two = min(one, seconds(pdl, folder, name, STEPS // 2)), min(two, seconds(pdl, folder, name, STEPS))
        ok = two <= SECONDS * slow and two <= GROWTH.get(name, GROWING) * one + SLACK * slow
        if ok:
            break
    check(name, ok, "%d steps %.3f s, %d steps %.3f s" % (STEPS // 2, one, STEPS, two))
