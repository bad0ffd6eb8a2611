# SPDX-License-Identifier: Apache-2.0
"""The time of a model call is its time on the network. Every report shows separately the time of waiting for another attempt or for a rate."""
import json
import os
import re
import subprocess
import time

import pytest

from ..checks import check, same
from ..http_of import Quiet, serve
from ..viewer.test_view import View, all_boxes
from .kit import facts

WAIT_S, ANSWER_S = 0.4, 0.15
ENDS = re.compile(r"(?:, |failed after )(-?[\d.]+) s(?:, waited ([\d.]+) s)?")
PROGRAM = "text:\n- {model: openai/some, input: {text: [hi, {lang: command, code: sleep 0.2}]}}\n"


class Service:
    """The first request is refused, and the client comes again after WAIT_S; `refuses`: every one. It takes the spans as well."""

    def __init__(self, refuses=False):
        self.calls, self.bodies = 0, []
        outer = self

        class Handler(Quiet):
            def do_POST(self):
                body = self.body()
                if "traces" in self.path:
                    outer.bodies.append(json.loads(body))
                    return self.reply(b"{}")
                outer.calls += 1
                time.sleep(ANSWER_S)
                if refuses or outer.calls == 1:
                    headers = [("retry-after-ms", "%d" % (WAIT_S * 1000))]
                    return self.reply(b'{"error": {"message": "not now"}}', status=503, headers=headers)
                return self.reply(json.dumps({"choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
                                              "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).encode())
        self.base = "http://127.0.0.1:%d" % serve(Handler).server_port

    def chat(self):
        spans = [s for b in self.bodies for r in b["resourceSpans"] for c in r["scopeSpans"] for s in c["spans"]]
        return next(s for s in spans if s["name"].startswith("chat"))


def run(pdl, folder, service, *args, status=0):
    (folder / "p.pdl").write_text(PROGRAM)
    env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": service.base + "/v1", "PDL_RUNS": str(folder / "runs")}
    p = subprocess.run([pdl, "--verbose", "--no-sandbox", *args, "p.pdl"], cwd=folder, env=env, capture_output=True, text=True, timeout=60)
    same(p.returncode, status, p.stderr)
    line = next(x for x in p.stderr.splitlines() if "model openai/some" in x)
    network, waited = ENDS.search(line).groups()
    return float(network), float(waited or 0)


def check_times(what, network, waited):
    check("%s: the network" % what, 2 * ANSWER_S - 0.02 <= network < 2 * ANSWER_S + WAIT_S * 0.7, network)
    check("%s: waited" % what, WAIT_S * 0.7 <= waited < WAIT_S + 0.5, waited)


def test_each_report(pdl, folder):
    service = Service()
    check_times("--verbose", *run(pdl, folder, service, "--otlp", service.base + "/v1/traces", "-t", "t.json", "--record", "j"))
    span = service.chat()
    waited, took = facts(span)["pdl.waited_seconds"], (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9
    check_times("OTLP", took - waited, waited)
    model = json.loads((folder / "t.json").read_text())["text"][0]
    timing, tried = model["pdl__timing"], sum(a["seconds"] for a in model["pdl__attempts"])
    command = model["input"]["text"][1]["pdl__timing"]["end_nanos"]
    check_times("trace", (timing["end_nanos"] - timing["sent_nanos"]) / 1e9 + tried, (timing["sent_nanos"] - command) / 1e9 - tried)
    for shown in (folder / "t.json", folder / "j"):
        v = View(shown, cwd=folder)
        v.open()
        box = next(b for b in all_boxes(v) if b["kind"] == "model")
        bar = next(b for b in v.json("0/lanes") if b["kind"] == "model")
        v.end()
        same(box["waited"], bar["waited"])
        check_times("page of %s, from the end of its input" % shown.name, (box["end"] - box["start"] - box["waited"]) / 1e6 - 0.2, box["waited"] / 1e6)


def test_answers_that_are_kept(pdl, folder):
    """A replay shows the recorded times; an answer out of a cache did not wait."""
    service = Service()
    run(pdl, folder, service, "--record", "j", "--cache", "c")
    check_times("--replay", *run(pdl, folder, service, "--replay", "j"))
    network, waited = run(pdl, folder, service, "--cache", "c")
    check("a cache", (waited, 0 <= network < 0.1) == (0, True), (network, waited))


def test_a_durable_run(pdl, folder):
    service = Service()
    check_times("--durable", *run(pdl, folder, service, "--durable"))


@pytest.mark.parametrize("args", [(), ("--durable",)])
def test_a_failure(pdl, folder, args):
    service = Service(refuses=True)
    (folder / "one").write_text("")
    network, waited = run(pdl, folder, service, *args, "--otlp", service.base + "/v1/traces", "-t", "t.json", status=1)
    tries = service.calls
    check("the network of a failure", tries * ANSWER_S - 0.02 <= network < tries * ANSWER_S + 0.5, (network, tries))
    check("waited before it", (tries - 1) * WAIT_S * 0.7 <= waited < (tries - 1) * WAIT_S + 0.5, (waited, tries))
    same(round(facts(service.chat())["pdl.waited_seconds"], 2), waited)


def test_other_calls_that_fail_have_their_time(pdl, folder):
    (folder / "p.pdl").write_text("lang: command\nargs: [sh, -c, sleep 0.3; false]\n")
    p = subprocess.run([pdl, "--verbose", "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60)
    m = re.search(r"command \S+, failed after ([\d.]+) s|command \S+, ([\d.]+) s, exit status 1", p.stderr)
    check("a command", m and float(m.group(1) or m.group(2)) >= 0.3, p.stderr)
    (folder / "p.pdl").write_text("lang: python\ncode: |\n  import time\n  time.sleep(0.3)\n  1 / 0\n")
    p = subprocess.run([pdl, "--verbose", "p.pdl"], cwd=folder, capture_output=True, text=True, timeout=60)
    m = re.search(r"python failed after|python, failed after ([\d.]+) s", p.stderr)
    check("code", m and float(m.group(1) or 0) >= 0.3, p.stderr)
