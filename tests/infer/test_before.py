# SPDX-License-Identifier: Apache-2.0
"""The expected cost of an inference, by pdl explain -n, and its progress, by --progress."""
import json
import time

from .kit import t

PROGRAM = "lastOf:\n- for: {i: [1, 2]}\n  repeat:\n    lastOf: [\"ask ${ i } ${ pdl_particle_id }\", {model: openai/m, parameters: {max_tokens: 7}}]\n  join: {as: array}\n"
PRICES = json.dumps({"openai/*": {"input": 0.001, "output": 0.01}})


def explain(*args):
    code, out, err = t.run("p.pdl", "-d", "pdl_particle_id=0", *args, "--prices", "prices.json", word="explain")
    return code, out, err


def test_explained():
    t.begin({"p.pdl": PROGRAM.replace("i: [1, 2]", "i: [1]"), "prices.json": PRICES})
    one = json.loads(explain("--json")[1])
    five = json.loads(explain("--json", "-n", "5")[1])
    t.check("all that is counted is multiplied", all(abs(five["totals"][k] - 5 * v) < 1e-9 for k, v in one["totals"].items() if not isinstance(v, bool))
            and one["totals"]["calls"] == 1, one["totals"], five["totals"])
    t.check("the calls are those of one run", five["calls"] == one["calls"] and five["particles"] == 5 and "particles" not in one)
    code, out, err = explain("-n", "5")
    t.check("as text", code == 0 and "total of 5 runs: 5 calls" in out and "at most 35 in answers" in out, out, err)
    code, out, err = explain("-n", "5", "--budget", "calls=4,tokens=100000")
    t.check("a budget is compared with all runs", "budget: calls 5 of 4: the run would stop" in out, out, err)
    for args in (["-n", "0"], ["-n", "x"], ["-n", "1000000000"], ["-n", "2", "--bound"], ["-n", "2", "--prefix"]):
        code, out, err = explain(*args)
        t.check("refused: %s" % args, code == 2 and "particles" in err and not out, code, out, err)
    t.check("nothing is sent", not t.service.asked, t.service.asked)


def test_progress():
    t.begin({"p.pdl": PROGRAM}, lambda p: time.sleep(0.01) or (200, "1"))
    code, out, err = t.run("p.pdl", "--algo", "is", "-n", "20", "--jobs", "1", "--progress", "line", word="infer", PDL_STRESS="time:0.002")
    lines = [x for x in err.split("\n") if "runs ended" in x]
    t.check("lines say how far it is", code == 0 and len(lines) > 2 and all(x.split()[1:3] == ["of", "20"] for x in lines), err)
    t.check("with calls and time", all(" call" in x and x.endswith(" s") for x in lines) and lines[0].startswith("0 of"), lines)
    code, out, err = t.run("p.pdl", "--algo", "is", "-n", "2", word="infer")
    t.check("without it nothing is said into a pipe", code == 0 and "runs ended" not in err, err)
