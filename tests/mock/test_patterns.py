# SPDX-License-Identifier: Apache-2.0
"""Every sample of docs/spec/patterns.md runs with `pdl mock` (those of the manual: tests/docs): scores, text completions and Ollama's interface included."""
import json
import os
import re
import subprocess

import pytest

from ..checks import check
from ..docs.test_pages import Server
from ..harness.choice import ROOT

FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.M | re.S)

# What the models of the specification's samples say, what is typed, and what is printed at the end.
SPEC = [
    (["Thought: I look.\nAction: weather\nAction Input: {\"city\": \"Paris\"}\n", "Final Answer: sunny"], "", '"answer": "sunny"'),
    (["Thought: x\nAction: search\nAction Input: {\"query\": \"Canada\"}\n", "Final Answer: 4000万"], "", "4000万"),
    (["It is of 1889."], "", "It is of 1889."),
    (["Action: Search[president]", "Action: Finish[80]"], "", "80"),
    (["Thought: 12 times 6", "Action: Calculate[12*6]", "Observation: 72", "Action: Finish[72]"], "", "Observation: 72"),
    (['{"tool": "weather", "parameters": {"city": "Paris"}}', "It is 21 °C."], "", "It is 21 °C."),
    (["1", "Send me the number."], "I have a bill.\n", "billing: Send me the number."),
    (["In 1889."], "", "In 1889."),
    (["```yaml\ndata: ${ 3 * 3 * 60 }\n```"], "", "540"),
]


def run(pdl, folder, program, server, stdin=""):
    keep = {k: os.environ[k] for k in ("PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "PDL_PYTHON") if k in os.environ}
    env = {**keep, "PATH": "%s:%s" % (folder, os.environ["PATH"]), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "mock", "OLLAMA_API_BASE": server.url[:-3], "NO_COLOR": "1"}
    (folder / "main.pdl").write_text(program, "utf-8")
    return subprocess.run([str(pdl), "main.pdl"], cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def served(pdl, folder, replies):
    (folder / "replies.yaml").write_text(json.dumps(replies), "utf-8")
    return Server(pdl, folder, "pdl mock --strict --replies replies.yaml")


def test_specification(pdl, folder):
    page = (ROOT / "docs" / "spec" / "patterns.md").read_text("utf-8")
    samples = [m.group(3) for m in FENCE.finditer(page) if m.group(1) == "yaml" and ("import:" in m.group(3))]
    assert len(samples) == len(SPEC)
    for name, said in (("ddgr", "many"), ("wiki-text", "A president.")):
        (folder / name).write_text("#!/bin/sh\necho %s\n" % said)
        (folder / name).chmod(0o755)
    (folder / "docs.yaml").write_text("- The tower was built in 1889.\n")
    (folder / "demos.txt").write_text("Question: one\n```\ndata: 1\n```\n")
    for program, (replies, stdin, last) in zip(samples, SPEC):
        server = served(pdl, folder, replies)
        r = run(pdl, folder, program, server, stdin)
        server.stop()
        check(program.splitlines()[1], r.returncode == 0 and last in r.stdout, (r.stdout[-300:], r.stderr[-500:]))


JUDGE = """
lastOf:
- {model: openai/x, input: "true", modelResponse: raw, parameters: {logprobs: true, top_logprobs: 3}, contribute: []}
- data: ${ stdlib.bool_confidence(raw) }
"""
SCORE = """
lastOf:
- {def: rated, model: text-completion-openai/x, input: Robot, parameters: {score: [" go on", "ics", " é"]}, contribute: []}
- data: ${ rated.scores }
"""


@pytest.mark.parametrize("program, replies, want", [
    (SCORE, [], [-2, -1, -1]),  # a word has -1
    (SCORE, [{"scores": {" go on": -1, "ics": -2, "s": -9, " é": -3}}], [-1, -2, -3]),  # of two that end it the longer one
    (SCORE, [{"scores": [-4, -5.5, -6], "when": "Robot", "times": 2}], [-4, -5.5, -6]),
    (JUDGE, [], 0),  # without an item a word is certain
    (JUDGE, [{"reply": "true", "logprobs": {"true": -1, "false": -1}}], -0.6931471805599453),
    (JUDGE, [{"reply": "false", "logprobs": {"true": -1, "false": -1}}], -0.6931471805599453),
    (JUDGE, [{"reply": "true", "logprobs": [{"token": "true", "logprob": -1, "top_logprobs": [{"token": "false", "logprob": -1}, {"token": "true", "logprob": -1}]}]}], -0.6931471805599453),
])
def test_numbers(pdl, folder, program, replies, want):
    """Log-probabilities, whole and streamed, of `pdl mock` and of the replies of `pdl test`."""
    (folder / "replies.yaml").write_text(json.dumps(replies), "utf-8")
    server = Server(pdl, folder, "pdl mock --replies replies.yaml")
    got = json.loads(run(pdl, folder, program, server).stdout)
    server.stop()
    pairs = list(zip(got, want)) if isinstance(want, list) else [(got, want)]
    check("pdl mock", all(abs(a - b) < 1e-9 for a, b in pairs), got)
    if replies:
        (folder / "main.test.yaml").write_text(json.dumps({"tests": [{"name": "numbers", "replies": replies, "expect": {"result": got}}]}))
        r = subprocess.run([str(pdl), "test", "main.test.yaml"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check("pdl test", r.returncode == 0, r.stdout + r.stderr)


def test_interfaces(pdl, folder):
    """Models of each interface, whole and streamed, with calls of tools and with refusals."""
    replies = [{"when": "tool", "reply": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}}, {"when": "busy", "status": 400, "error": "not that"}]
    (folder / "replies.yaml").write_text(json.dumps(replies))
    server = Server(pdl, folder, "pdl mock --replies replies.yaml")
    for model in ("openai/upper", "text-completion-openai/upper", "ollama_chat/upper", "ollama/upper"):
        for more in ("", ", parser: json", ", modelResponse: r"):
            text = '"Grüße\\n zwei"' if "json" not in more else '"[1, 2]"'
            r = run(pdl, folder, "{model: %s, input: %s%s}" % (model, text, more), server)
            check("%s%s" % (model, more), r.returncode == 0 and ("ZWEI" in r.stdout or r.stdout.strip() == "[1, 2]"), (r.stdout, r.stderr))
        r = run(pdl, folder, "{model: %s, input: I am busy}" % model, server)
        check("%s refuses" % model, r.returncode == 1 and "not that" in r.stderr, r.stderr)
    for model in ("openai/x", "ollama_chat/x"):
        for stream in ("true", "false"):
            r = run(pdl, folder, 'lastOf: [{model: %s, input: a tool, modelResponse: r, parser: {regex: "^$"}, parameters: {stream: %s}}, "${ r.choices[0].message.tool_calls[0].function | json }"]' % (model, stream), server)
            check("%s calls %s" % (model, stream), r.returncode == 0 and json.loads(json.loads(r.stdout)["arguments"]) == {"a": 1} if r.stdout.startswith("{") else False, (r.stdout, r.stderr))
    server.stop()
