# SPDX-License-Identifier: Apache-2.0
"""Particles that cannot be copied, because code left an object, are replayed from their answers: the result is that of copies, and nothing is asked or done twice."""
import math

from .kit import forward, hmm, infer, probability, t

OBJECT = "- def: o\n  contribute: []\n  lang: python\n  code: |\n    class A: pass\n    result = A()\n"
NOTE = "left an object of Python, which cannot be copied: particles are replayed from their answers"
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


def test_what_cannot_be_replayed():
    """PDL_SESSION is one for all particles; a journal would have code twice."""
    t.begin({"s.pdl": "lastOf:\n- lang: python\n  contribute: []\n  code: |\n    PDL_SESSION.n = 1\n    result = 1\n- factor: ${ -1.0 * pdl_particle_id }\n- x\n",
             "o.pdl": "lastOf:\n" + OBJECT + "- factor: ${ -1.0 * pdl_particle_id }\n- x\n",
             "u.pdl": "lastOf:\n" + OBJECT + "- lang: python\n  contribute: []\n  code: |\n    import pathlib\n    n = len(list(pathlib.Path('%s').glob('x*')))\n    pathlib.Path('%s/x' + str(n)).touch()\n    result = o\n    if n >= 3: raise ValueError('no more')\n- factor: ${ -1.0 * pdl_particle_id }\n- x\n"})
    (t.folder / "u.pdl").write_text((t.folder / "u.pdl").read_text().replace("%s", str(t.folder)))
    args = ("-n", "3", "--ess", "1", "--seed", "1")
    _, err = infer("s.pdl", *args, expected=1)
    t.check("a session", err.startswith("s.pdl:2 - resampling cannot copy particle ") and "PDL_SESSION" in err and NOTE not in err, err)
    for more in (["--record", "r.journal"], ["--durable", "--id", "d"]):
        code, out, err = t.run("o.pdl", *args, *more, word="infer", XDG_DATA_HOME=str(t.folder), XDG_STATE_HOME=str(t.folder))
        t.check("%s: it cannot" % more, code == 1 and "cannot copy" in err and "o.pdl:" in err and "without --record" in err, code, err)
    _, err = infer("u.pdl", *args, expected=1)
    t.check("code that does otherwise the next time", "no more" in err, err)
