# SPDX-License-Identifier: Apache-2.0
"""One interface to all agents of the library, for the tables of test_tools.py and test_bad_input.py: which text of a model makes the agent call a
tool or end, how the agent is called, and what it has seen. The model is a script on the loopback interface, which keeps its requests."""
import json
import os
import pathlib
import subprocess
import tempfile

from .. import checks
from ..conformance import check_patterns
from ..harness.choice import ROOT


class Agent:
    """module, function; model id; name of the question's argument; how calls and ends are written; what was observed, from the result."""

    def __init__(self, module, call, final, observed, function="run", model="openai/m", query="query", extra=""):
        self.module, self.call, self.final, self.observed = module, call, final, observed
        self.function, self.model, self.query, self.extra = function, model, query, extra


def dumps(x):
    return json.dumps(x, ensure_ascii=False)


def steps(key):
    return lambda r: [s[key] for s in r["steps"]]


def chat_observed(r):
    return [p.partition("\nThought:")[0] for p in r["response"].split("\nObservation: ")[1:]]


def distill_observed(r):
    """Distilled observations; what a tool says is in the request before."""
    return [x.partition(" - ")[2] for x in r["transcript"].split("\n") if " - Observation: " in x]


# A call has the tool's name and an object of one text argument; json and distill need several replies for it.
AGENTS = {
    "react/qwen": Agent("lib/react/qwen", lambda n, a: ["Thought: t\nAction: %s\nAction Input: %s\n" % (n, dumps(a))],
                        lambda t: ["Thought: I know.\nFinal Answer: " + t], steps("observation"), extra="arguments: json"),
    "react/qwen chat": Agent("lib/react/qwen", lambda n, a: ["Thought: t\nAction: %s\nAction Input: %s\n" % (n, dumps(a))],
                             lambda t: [" I know.\nFinal Answer: " + t], chat_observed, function="chat", model="text-completion-openai/m",
                             extra="history: [], arguments: json"),
    "react/json": Agent("lib/react/json", lambda n, a: ["Tho: t\nAct:", dumps({"name": n, "arguments": a})],
                        lambda t: ["Tho: t\nAct:", dumps({"name": "Finish", "arguments": {"answer": t}})], steps("observation"), query="question"),
    "react/distill": Agent("lib/react/distill", lambda n, a: ["Action: %s[%s]" % (n, next(iter(a.values()), "")), "Observation: seen"],
                           lambda t: ["Action: Finish[%s]" % t], distill_observed, query="question"),
    "toolcall/prompted": Agent("lib/toolcall/prompted", lambda n, a: ["```tool_json\n%s\n```" % dumps({"tool": n, "parameters": a})],
                               lambda t: [t], steps("result")),
}


class Outcome:
    def __init__(self, status, out, err, requests, left):
        self.status, self.out, self.err, self.requests, self.left = status, out, err, requests, left
        self.message = check_patterns.message(err)
        self.result = json.loads(out.strip().rpartition("\n")[2]) if status == 0 and out.strip() else None

    def heard(self):
        """What each request said, as one text."""
        return [r["prompt"] if "prompt" in r else "\n".join(str(m["content"]) for m in r["messages"]) for r in self.requests]


class Bench:
    """A server, and a folder with lib/."""

    def __init__(self, pdl):
        self.pdl = pdl
        self.server = check_patterns.Server().start()
        self.work = pathlib.Path(tempfile.mkdtemp())
        os.symlink(ROOT / "lib", self.work / "lib")
        self.number = 0

    def run(self, program, replies, stdin="", options=("--stream", "none"), timeout=120):
        self.number += 1
        script = check_patterns.Script({"replies": replies, "expect": {}})
        self.server.sessions[str(self.number)] = script
        base = "%s/s/%d/v1" % (self.server.url, self.number)
        env = {**os.environ, "OPENAI_API_BASE": base, "OPENAI_BASE_URL": base, "OPENAI_API_KEY": "none", "NO_COLOR": "1"}
        path = self.work / ("case%d.pdl" % self.number)
        path.write_text(program, "utf-8")
        p = subprocess.run([self.pdl, *options, path.name], cwd=self.work, env=env, input=stdin.encode(), capture_output=True, timeout=timeout, check=False)
        return Outcome(p.returncode, p.stdout.decode("utf-8", "replace"), p.stderr.decode("utf-8", "replace"), script.requests,
                       len(script.pending))

    def program(self, agent, tools, defs="", options=""):
        """The program that asks the agent a question over tools (YAML flow text)."""
        args = ["model: %s" % agent.model, "%s: q" % agent.query, "tools: %s" % tools] + [x for x in (agent.extra, options) if x]
        return "defs:\n  agent: {import: %s}\n%s  out:\n    call: ${ agent.%s }\n    args: {%s}\ntext: \"\\n${ out | json }\"\n" % (
            agent.module, defs, agent.function, ", ".join(args))

    def check(self, title, ok, outcome, why=""):
        return checks.check(title, ok, why, "\n  exit status %d\n  output %s\n  error %s\n  last request %s" % (
            outcome.status, outcome.out[-400:], outcome.err[-400:], (outcome.heard() or [""])[-1][-400:]))
