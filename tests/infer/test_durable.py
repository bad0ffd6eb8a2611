# SPDX-License-Identifier: Apache-2.0
"""pdl infer --durable: an inference that is killed continues with `pdl resume`; nothing that was answered is asked again, and the result is the same."""
import json
import time

from .kit import t

# Each particle asks three times; what it asks depends on its answers and its number.
ASK = """lastOf:
- def: x
  lastOf: ["one ${ who } ${ pdl_particle_id }", {model: openai/m}]
- factor: ${ -0.5 * (x | int) }
- def: y
  lastOf: ["two ${ x } ${ pdl_particle_id } ${ [1, 2, 3] | random }", {model: openai/m}]
- factor: ${ -0.25 * (y | int) }
- ${ x }${ y }
"""


def rule(prompt):
    time.sleep(0.01)
    return 200, str(sum(map(ord, prompt)) % 3)


def begin(program=ASK):
    t.begin({"p.pdl": program}, rule)
    return {"XDG_DATA_HOME": str(t.folder / "data"), "XDG_STATE_HOME": str(t.folder / "data"), "HOME": str(t.folder)}


def killed(words, after, env):
    """Starts or continues the inference, and kills it when the service has answered so often. -> it was killed before it ended"""
    word, words = words
    p = t.start(*words, word=word, **env)
    end = time.monotonic() + 60
    while p.poll() is None and sum(t.service.answered.values()) < after and time.monotonic() < end:
        time.sleep(0.002)
    running = p.poll() is None
    t.kill(p)
    p.communicate()
    return running


def infer(algorithm, n, kills, every):
    words = ["p.pdl", "-d", "who=you", "--algo", algorithm, "-n", n, "--json", "--seed", "7", "--jobs", "2"]
    env = begin()
    code, expected, err = t.run(*words, word="infer", **env)
    asked = sum(t.service.asked.values())
    t.check(algorithm + ": undisturbed", code == 0, err)
    env = begin()
    count = 0
    while count < kills and killed(("resume", ["it"]) if count else ("infer", [*words, "--durable", "--id", "it"]),
                                   sum(t.service.answered.values()) + every, env):
        count += 1
    t.check(algorithm + ": it was killed", count == kills, count)
    code, out, err = t.run("it", word="resume", **env)
    t.check(algorithm + ": it ends as the other one", code == 0 and out == expected, out, err)
    twice = sum(t.service.asked.values()) - asked
    t.check(algorithm + ": only what was under way is asked again", 0 <= twice <= 2 * count, twice, count)
    before = sum(t.service.asked.values())
    code, out, err = t.run("it", word="resume", **env)
    t.check(algorithm + ": one that has ended asks nothing", code == 0 and sum(t.service.asked.values()) == before and out == expected, err)


def test_killed_inferences(scale):
    for algorithm, n in (("smc", 12), ("is", 12), ("maj", 9), ("rejection", 4)):
        infer(algorithm, n, scale(4, 2), 4)


def test_a_hundred_kills(scale):
    """The promise of the specification for searches holds for inferences, too."""
    infer("smc", scale(120, 12), scale(100, 5), 2)


def test_without_a_seed():
    """The seed is kept, so that the same distribution goes on."""
    env = begin()
    code, out, err = t.run("p.pdl", "-d", "who=me", "--algo", "is", "-n", "3", "--json", "--durable", "--id", "s", word="infer", **env)
    code, again, err = t.run("s", word="resume", **env)
    t.check("the same seed and distribution", code == 0 and json.loads(again) == json.loads(out), out, again, err)
    code, out, err = t.run(word="runs", **env)
    t.check("it is listed as other durable runs", code == 0 and "p.pdl" in out, out, err)


def test_what_is_not_known():
    """Code that was under way may have done something: as in every durable run the user says what to do."""
    env = begin("lastOf:\n- lang: python\n  code: |\n    import time, pathlib\n    pathlib.Path('begun').write_text('')\n    time.sleep(20 if not pathlib.Path('again').exists() else 0)\n"
                "    result = 5\n")
    words = ["p.pdl", "--algo", "is", "-n", "2", "--durable", "--id", "c"]
    p = t.start(*words, word="infer", **env)
    end = time.monotonic() + 30
    while not (t.folder / "begun").exists() and time.monotonic() < end:
        time.sleep(0.01)
    t.kill(p)
    p.communicate()
    (t.folder / "again").write_text("")
    code, out, err = t.run("c", word="resume", **env)
    t.check("it is asked about", code == 1 and "particle0.lastOf.0.code" in err and "--again" in err, code, err)
    code, out, err = t.run("c", "--again", "all", word="resume", **env)
    t.check("and done again when the user says so", code == 0 and out == "5\n", code, out, err)


def test_what_is_refused():
    env = begin()
    t.run("p.pdl", "-d", "who=me", "--algo", "is", "-n", "1", "--durable", "--id", "r", word="infer", **env)
    for args, said in ((["--id", "x"], "--id 'x' is for durable runs"), (["--durable", "--replay", "p.pdl"], "--durable and --replay exclude"),
                       (["--durable", "--id", "r"], "there is a run r already")):
        code, out, err = t.run("p.pdl", "-d", "who=me", *args, word="infer", **env)
        t.check("refused: %s" % args, code in (1, 2) and said in err, code, err)
    for args, said in ((["-d", "who=you"], "with the variables that it has"), (["--dry-run"], "is an inference"), (["--check"], "is an inference")):
        code, out, err = t.run("r", *args, word="resume", **env)
        t.check("resume refuses %s" % args, code and said in out + err, code, out, err)
    (t.folder / "p.pdl").write_text(ASK + "# other\n")
    code, out, err = t.run("r", word="resume", **env)
    t.check("a program that has changed", code == 2 and "has changed since the inference r began" in err, code, err)
    (t.folder / "p.pdl").unlink()
    code, out, err = t.run("r", word="resume", **env)
    t.check("one that is not there any more", code == 0 and out, code, err)
