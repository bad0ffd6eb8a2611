# SPDX-License-Identifier: Apache-2.0
"""agent_rows.py -- the same ReAct agent four times: our module, our program written out, that program in the reference, LangChain's agent.
What is compared: lines of the user's code, process start to first request, time a step with an instant local model, peak memory."""
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

from harness import ROOT, Figure, measure, span
from peers import quiet_environment

HERE = pathlib.Path(__file__).resolve().parent / "agents"
HEAD = ["agent", "lines", "start to first request", "a step", "memory"]


class Server:
    """The scripted model with STEPS tool calls a conversation."""

    def __init__(self, steps):
        self.process = subprocess.Popen([sys.executable, str(HERE / "server.py"), str(steps)], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.count = 0

    def conversation(self):
        self.count += 1
        return "%s/s/%d" % (self.url, self.count)

    def close(self):
        self.process.terminate()
        self.process.wait()


def first_request(url):
    with urllib.request.urlopen(url + "/first", timeout=10) as reply:
        return float(reply.read())


def lines_of(path):
    return sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and not line.strip().startswith("#"))


def once(argv, server, folder):
    """(seconds, MB), seconds until the first request; None when it fails."""
    url = server.conversation()
    started = time.monotonic()
    got = measure(argv, folder, dict(quiet_environment(), OPENAI_API_BASE=url + "/v1", OPENAI_BASE_URL=url + "/v1", PDL_PATH=str(ROOT)))
    return None if got is None else (got, first_request(url) - started)


def compare(agent, path, argv, steps, runs, folder):
    """A row of the table: the time of a step is the difference of a run with all its steps and a run with one, so start-up is not in it."""
    few, many = Server(1), Server(steps)
    try:
        short = [once(argv, few, folder) for _ in range(runs)]
        long = [once(argv, many, folder) for _ in range(runs)] if None not in short else [None]
    finally:
        few.close()
        many.close()
    if None in short + long:
        return [agent, str(lines_of(path)), "fails", "fails", ""]
    begin, one, all_steps = Figure([(s[1], s[0][1]) for s in short]), Figure([s[0] for s in short]), Figure([s[0] for s in long])
    step = (all_steps.seconds - one.seconds) / (steps - 1)
    return [agent, str(lines_of(path)), span(begin.seconds), "%s (%d steps)" % (span(step), steps), "%.0f MB" % all_steps.mb]


def rows(a, peers, folder):
    pdl = [a.pdl, "--stream", "none"]
    work = [("`lib/react/qwen`", HERE / "module.pdl", pdl, 200), ("written out in PDL", HERE / "plain.pdl", pdl, 200)]
    reference, python = peers.reference(), peers.environment("agents")
    if reference:
        work.append(("the same in the reference", HERE / "plain.pdl", reference + ["--stream", "none"], 20))
    if python:
        work.append(("LangChain's ReAct agent", HERE / "langchain_react.py", [python], 200))
    return [compare(name, path, argv + [str(path)], 10 if a.short else steps, a.runs, folder) for name, path, argv, steps in work]
