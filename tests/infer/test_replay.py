# SPDX-License-Identifier: Apache-2.0
"""Particles that cannot be copied, because code left an object or used PDL_SESSION, are replayed from their answers. The result equals that of
copies, and no request or action is repeated."""
import json
import math

import pytest

from .kit import forward, hmm, infer, probability, t

OBJECT = "- def: o\n  contribute: []\n  lang: python\n  code: |\n    class A: pass\n    result = A()\n"
NOTE = "left an object of Python or used PDL_SESSION, which cannot be copied: particles are replayed from their answers"
ASK = """lastOf:
%s- def: x
  lastOf: ["one ${ pdl_particle_id }", {model: openai/m}]
- lang: command
  code: sh -c 'echo did >> acts'
  contribute: []
- factor: ${ -0.5 * (x | int) }
- def: y
  lastOf: ["two ${ x } ${ pdl_particle_id } ${ [1, 2, 3] | random }", {model: openai/m}]
- factor: ${ -0.25 * (y | int) }
- ${ x }${ y }
"""


def rule(prompt):
    return 200, str(sum(map(ord, prompt)) % 3)


def outcome(program, *args):
    """What the inference found, what its models were asked, and how often the command ran."""
    t.begin({"p.pdl": program}, rule)
    d, err = infer("p.pdl", "--ess", "1", "--seed", "7", *args)
    acts = t.folder / "acts"
    return d, dict(t.service.asked), acts.read_text().count("did") if acts.exists() else 0, err


def test_as_copies():
    """An object that nothing uses makes replays of what are copies without it."""
    for name, plain, with_object, args in (("chance", hmm([1, 0, 1, 1], .7, .9), hmm([1, 0, 1, 1], .7, .9).replace("lastOf:\n- repeat", "lastOf:\n" + OBJECT + "- repeat"), ("-n", "24")),
                                           ("models and commands", ASK % "", ASK % OBJECT, ("-n", "8")), ("at any --jobs", ASK % "", ASK % OBJECT, ("-n", "8", "--jobs", "1")),
                                           ("aligned", ASK % "", ASK % OBJECT, ("-n", "8", "--align"))):
        one, other = outcome(plain, *args), outcome(with_object, *args)
        t.check(name + ": the same result", one[0] == other[0], one[0], other[0])
        t.check(name + ": nothing is asked or done twice", one[1:3] == other[1:3] and (not name.startswith("models") or one[2] == 8), one[1:3], other[1:3])
        t.check(name + ": one note", other[3].count(NOTE) == 1 and "p.pdl:" in other[3] and NOTE not in one[3], other[3])


def test_what_an_object_holds():
    """Each particle has its object, with what its ancestors did to it."""
    observed = [1, 1, 0, 1, 1]
    t.begin({"p.pdl": "defs:\n  first: \"${ range(2) | list | random }\"\nlastOf:\n- def: o\n  contribute: []\n  lang: python\n  code: |\n    class State: pass\n    result = State()\n    result.s = [first]\n"
                      "- repeat:\n    lastOf:\n    - def: s\n      contribute: []\n      lang: python\n      code: |\n        import random\n        o.s.append(1 - o.s[-1] if random.randrange(10) >= 7 else o.s[-1])\n        result = o.s[-1]\n"
                      "    - factor: ${ %.17g if s == y else %.17g }\n  for: {y: %s}\n- ${ o.s | join }\n" % (math.log(.9), math.log(.1), observed)})
    n, last, evidence = 200, 0., 0.
    d, err = infer("p.pdl", "-n", str(n), "--ess", "1", "--seed", "3")
    for v, p in zip(d["values"], d["probs"]):
        t.check("a state for each step, and the first", len(v) == 6 and set(v) <= set("01"), v)
        last += p * (v[-1] == "1")
    want, evidence = forward(observed, .7, .9)
    t.check("the posterior", abs(last - want) < 4 * math.sqrt(want * (1 - want) / n) + .02, last, want)
    t.check("the evidence", abs(d["log_evidence"] - evidence) < .3, d["log_evidence"], evidence)
    t.check("paths of ancestors are kept", probability(d, "111111") > 0 and len(d["values"]) > 2, d["values"])


SESSION = "- {lang: python, contribute: [], code: 'PDL_SESSION.n = [] ; result = 1'}\n"
USE = "- {lang: python, contribute: [], code: 'PDL_SESSION.n.append(x); result = len(PDL_SESSION.n)'}\n"


def test_a_session_for_each():
    """PDL_SESSION is that of the particle, and of its ancestors; copies without one are the measure."""
    program = hmm([1, 0, 1, 1], .7, .9)
    keeps = program.replace("lastOf:\n- repeat:\n    lastOf:\n", "lastOf:\n" + SESSION + "- repeat:\n    lastOf:\n", 1).replace(
        "    - factor", "    - {def: n, contribute: [], lang: python, code: 'PDL_SESSION.n.append(s); result = list(PDL_SESSION.n)'}\n    - factor")
    path = program.replace("defs:\n", "defs:\n  n: {data: []}\n", 1).replace("    - factor", "    - {defs: {n: '${ n + [s] }'}}\n    - factor")
    one, other = (outcome(x.replace("- ${ s }\n", "- data: ${ n }\n"), "-n", "40") for x in (path, keeps))
    t.check("the paths are those of copies", one[0] == other[0] and len(one[0]["values"]) > 3, one[0], other[0])
    t.check("one note, which names the block", other[3].count(NOTE) == 1 and "p.pdl:4 left" in other[3], other[3])


@pytest.mark.parametrize("algorithm", ["is", "maj", "rejection"])
def test_sessions_do_not_pile_up(algorithm):
    """What ended runs left in PDL_SESSION is released, and few runs that have one are open at a time."""
    t.begin({"p.pdl": "lastOf:\n- {lang: python, contribute: [], code: 'PDL_SESSION.of_a_run = pdl_particle_id; result = 1'}\n- factor: 0.0\n"
                      "- lang: python\n  code: |\n    import gc\n    own = PDL_SESSION.of_a_run == pdl_particle_id\n"
                      "    result = [own, sum(type(o) is type(PDL_SESSION) and hasattr(o, 'of_a_run') for o in gc.get_objects())]\n"})
    d, _ = infer("p.pdl", "-n", "200", "--algo", algorithm, *(["--max-score", "0"] if algorithm == "rejection" else []), "--by", "result")
    t.check("each has its own", all(own for own, _ in d["values"]), d["values"])
    t.check("few at a time", max(n for _, n in d["values"]) <= 32, d["values"])


@pytest.mark.parametrize("made,used", [(OBJECT, "- {lang: python, contribute: [], code: 'o.n = getattr(o, chr(110), 0) + 1; result = o.n'}\n"), (SESSION, USE)])
def test_in_files(made, used):
    """A recording and the journal of a durable inference have what was done again, beside what was done first."""
    program = (ASK % made).replace("- def: y", used + "- def: y")
    plain = outcome(program, "-n", "8")
    for more in (["--record", "r.db"], ["--durable", "--id", "d"], ["--jobs", "1", "--cache", "c.db"]):
        t.begin({"p.pdl": program}, rule)
        words = ("p.pdl", "-n", "8", "--ess", "1", "--seed", "7", "--json")
        env = {"XDG_DATA_HOME": str(t.folder / "x"), "XDG_STATE_HOME": str(t.folder / "x")}
        code, out, err = t.run(*words, *more, word="infer", **env)
        t.check("the same with %s" % more, code == 0 and json.loads(out) == plain[0] and NOTE in err, err, out, plain[0])
        asked = sum(t.service.asked.values())
        if "--record" in more:
            code, out, err = t.run(*words, "--replay", "r.db", word="infer", **env)
        elif "--durable" in more:
            code, out, err = t.run("d", word="resume", **env)
        t.check("and again from it", code == 0 and json.loads(out) == plain[0] and sum(t.service.asked.values()) == asked, err, out)


def test_code_that_does_otherwise():
    t.begin({"u.pdl": "lastOf:\n" + OBJECT + "- lang: python\n  contribute: []\n  code: |\n    import pathlib\n    n = len(list(pathlib.Path('%s').glob('x*')))\n    pathlib.Path('%s/x' + str(n)).touch()\n    result = o\n    if n >= 3: raise ValueError('no more')\n- factor: ${ -1.0 * pdl_particle_id }\n- x\n"})
    (t.folder / "u.pdl").write_text((t.folder / "u.pdl").read_text().replace("%s", str(t.folder)))
    _, err = infer("u.pdl", "-n", "3", "--ess", "1", "--seed", "1", expected=1)
    t.check("its error", "no more" in err, err)
