# SPDX-License-Identifier: Apache-2.0
"""pdl infer --durable: an inference that is killed continues with `pdl resume`. No answered request is sent again, and the result is the same."""
import contextlib
import json
import re
import signal
import sqlite3
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


def infer(algorithm, n, kills, every, program=ASK, how=()):
    words = ["p.pdl", "-d", "who=you", "--algo", algorithm, "-n", n, "--json", "--seed", "7", "--jobs", "2"]
    env = begin(program)
    code, expected, err = t.run(*words, word="infer", **env)
    asked = sum(t.service.asked.values())
    t.check(algorithm + ": undisturbed", code == 0, err)
    env = begin(program)
    count = 0
    while count < kills and killed(("resume", ["it", *how]) if count else ("infer", [*words, "--durable", "--id", "it"]),
                                   sum(t.service.answered.values()) + every, env):
        count += 1
    t.check(algorithm + ": it was killed", count == kills, count)
    code, out, err = t.run("it", *how, word="resume", **env)
    t.check(algorithm + ": it ends as the other one", code == 0 and out == expected, out, err)
    twice = sum(t.service.asked.values()) - asked
    t.check(algorithm + ": only what was under way is asked again", 0 <= twice <= 2 * count, twice, count)
    before = sum(t.service.asked.values())
    code, out, err = t.run("it", *how, word="resume", **env)
    t.check(algorithm + ": one that has ended asks nothing", code == 0 and sum(t.service.asked.values()) == before and out == expected, err)


def test_killed_inferences(scale):
    for algorithm, n in (("smc", 12), ("is", 12), ("maj", 9), ("rejection", 4)):
        infer(algorithm, n, scale(4, 2), 4)


def test_killed_with_sessions(scale):
    """What code keeps in Python, for each particle, is there again after a kill."""
    keeps = ASK.replace("lastOf:\n", "lastOf:\n- {lang: python, contribute: [], code: 'PDL_SESSION.n = []; result = 1'}\n", 1).replace(
        "- def: y", "- {lang: python, contribute: [], code: 'PDL_SESSION.n.append(x); result = len(PDL_SESSION.n)'}\n- def: y").replace(
        "- ${ x }${ y }", "- lang: python\n  code: result = str(PDL_SESSION.n) + y")
    infer("smc", 8, scale(4, 2), 4, keeps, ("--rebuild", "--again", "all"))  # it may be killed in the middle of code, too


def test_a_hundred_kills(scale):
    """The promise of the specification for searches holds for inferences, too."""
    infer("smc", scale(120, 12), scale(100, 5), 2)


def test_its_page():
    """One page has the values, their runs with weights, and what each run asked; copies share what they asked before."""
    for algorithm, more in ("is", []), ("smc", ["--ess", "1"]):
        env = begin()
        code, out, err = t.run("p.pdl", "-d", "who=me", "--algo", algorithm, *more, "-n", "6", "--seed", "2", "--json", "--durable", "--id", "v", word="infer", **env)
        found = json.loads(out)
        code, page, err = t.run("v", "--md", "-", word="view", **env)
        t.check(algorithm + ": a page", code == 0 and page.startswith("# Inference of p.pdl"), err, page)
        t.check(algorithm + ": runs that were replaced by copies of others are not counted twice", " \u00b7 %d runs \u00b7" % found["runs"] in page.split("\n")[2] and " %d runs," % found["runs"] in page.split("## values")[1].split("\n")[0], page)
        t.check(algorithm + ": all values", all("value \u2192 %s" % v in page for v in found["values"]), page)
        weights = ["run %d \u2192 log weight %.6g" % (i + 1, x) for i, x in enumerate(found["particles"]["logit"])]
        t.check(algorithm + ": the weight of each run", all(w in page for w in weights), weights, page)
        calls = [int(n) for n in re.findall(r"^ +- (\d+): ", page, re.M)]
        t.check(algorithm + ": each call once, below a run", sorted(calls) == list(range(1, found["usage"]["model_calls"] + 1)), calls, page)
        t.check(algorithm + ": runs without a result only where runs are replaced", ("no result" in page) == (algorithm == "smc"), page)


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
    t.run("p.pdl", "-d", "who=me", "--algo", "is", "-n", "1", "--record", "r.journal", word="infer", **env)
    for args, said in ((["--id", "x"], "--id 'x' is for durable runs"), (["--durable", "--replay", "r.journal"], "--durable and --replay exclude"),
                       (["--durable", "--id", "r"], "there is a run r already")):
        code, out, err = t.run("p.pdl", "-d", "who=me", *args, word="infer", **env)
        t.check("refused: %s" % args, code in (1, 2) and said in err, code, err)
    for args, said in ((["-d", "who=you"], "with the variables that it has"), (["--dry-run"], "is an inference")):
        code, out, err = t.run("r", *args, word="resume", **env)
        t.check("resume refuses %s" % args, code and said in out + err, code, out, err)
    (t.folder / "p.pdl").write_text(ASK + "# other\n")
    code, out, err = t.run("r", word="resume", **env)
    t.check("a program that has changed", code == 2 and "has changed since the inference r began" in err, code, err)
    (t.folder / "p.pdl").unlink()
    code, out, err = t.run("r", word="resume", **env)
    t.check("one that is not there any more", code == 0 and out, code, err)


def journal_of(name, env):
    """All bytes of the journal of a run, with what is beside it."""
    return b"".join(p.read_bytes() for p in (t.folder / "data").rglob("*" + name + ".journal*"))


def stopped(words, name, env, status=401):
    """Begins an inference whose service refuses all after two answers; then it answers again. -> what it asked with"""
    t.service.rule = lambda prompt: rule(prompt) if sum(t.service.answered.values()) < 2 else (status, "no more of it")
    code, out, err = t.run(*words, "--jobs", "1", "--durable", "--id", name, word="infer", **env)
    t.check("it fails", code == 1 and "no more of it" in err, code, out, err)
    t.service.rule = rule
    return err


def test_a_failed_one_goes_on():
    """A call that failed is asked again by a resume, as in every durable run; until then the run is listed as failed."""
    words = ["p.pdl", "-d", "who=you", "--algo", "is", "-n", "4", "--json", "--seed", "7"]
    env = begin()
    code, expected, err = t.run(*words, word="infer", **env)
    for more in ([], ["--on-error", "drop"]):
        env = begin()
        if more:
            t.service.rule = lambda prompt: (401, "no more of it")
            code, out, err = t.run(*words, *more, "--durable", "--id", "f", word="infer", **env)
            t.check("all fail", code == 1 and "all 4 runs failed" in err, code, out, err)
            t.service.rule = rule
        else:
            stopped(words, "f", env)
        code, out, err = t.run(word="runs", **env)
        t.check("it is listed as failed", code == 0 and "failed" in out, out, err)
        code, out, err = t.run("f", word="resume", **env)
        t.check("a resume asks again: %s" % more, code == 0 and json.loads(out)["values"] == json.loads(expected)["values"], code, out, err)
        code, out, err = t.run(word="runs", **env)
        t.check("it has ended", "ended" in out, out, err)


def test_an_interrupted_one_goes_on():
    words = ["p.pdl", "-d", "who=you", "--algo", "is", "-n", "6", "--json", "--seed", "7", "--jobs", "2"]
    env = begin()
    code, expected, err = t.run(*words, word="infer", **env)
    env = begin()
    p = t.start(*words, "--durable", "--id", "i", word="infer", **env)
    end = time.monotonic() + 30
    while sum(t.service.answered.values()) < 3 and time.monotonic() < end:
        time.sleep(0.002)
    p.send_signal(signal.SIGINT)
    p.communicate()
    t.check("it stopped", p.returncode == 130, p.returncode)
    code, out, err = t.run(word="runs", **env)
    t.check("it is listed as killed", "killed" in out, out, err)
    code, out, err = t.run("i", word="resume", **env)
    t.check("it ends as the other one", code == 0 and out == expected, code, out, err)


def test_only_a_given_seed_goes_to_models():
    """The requests of a resume are those of an inference that nobody stopped: without --seed they have no seed, with it they have theirs."""
    for seed in ([], ["--seed", "7"]):
        env = begin()
        stopped(["p.pdl", "-d", "who=you", "--algo", "is", "-n", "2", *seed], "s", env)
        code, out, err = t.run("s", "--wire", "log", word="resume", **env)
        log = (t.folder / "log").read_text()
        t.check("it is asked: %s" % seed, code == 0 and "one you" in log or "two" in log, code, out, err, log)
        t.check("with a seed only when one was given: %s" % seed, ('"seed"' in log) == bool(seed), log)


def test_what_a_journal_does_not_keep():
    """Addresses, which may have keys, and logs are those of the command that resumes."""
    env = begin()
    err = stopped(["p.pdl", "-d", "who=you", "-n", "2", "--otlp", "http://u:hidden-key@127.0.0.1:9/", "--otlp-content", "--wire", "log"], "k", env)
    t.check("the journal has none of them", journal_of("k", env) and b"hidden-key" not in journal_of("k", env) and b"--wire" not in journal_of("k", env))
    (t.folder / "log").unlink()
    code, out, err = t.run("k", word="resume", **env)
    t.check("they are not needed, and nothing is logged", code == 0 and not (t.folder / "log").exists(), code, err)


def test_what_a_resume_may_give():
    """Limits, logs and prices of the resuming command hold; what cannot change is refused."""
    words = ["p.pdl", "-d", "who=you", "--algo", "parallel-is", "-n", "6", "-w", "2", "--budget", "calls=4"]
    env = begin()
    code, out, err = t.run(*words, "--durable", "--id", "b", word="infer", **env)
    t.check("the budget ends it", code == 1 and "calls" in err, code, out, err)
    code, out, err = t.run("b", word="resume", **env)
    t.check("its budget holds", code == 1 and "calls" in err, code, out, err)
    for args in (["--json"], ["--trace", "x"], ["-o", "x"], ["--stream", "none"], ["--park"], ["--only-new"], ["--verbose"]):
        code, out, err = t.run("b", *args, word="resume", **env)
        t.check("refused: %s" % args, code == 2 and (args == ["--json"] or "is not for an inference" in err), code, err)
    (t.folder / "sub").mkdir()
    code, out, err = t.run("b", "--budget", "calls=100", "--jobs", "1", "--wire", "log", "--timeout", "20", "--max-rps", "1000", word="resume", **env)
    t.check("a larger one goes on", code == 0 and out.strip() and (t.folder / "log").exists() and t.service.most_open <= 2, code, out, err)


def elsewhere(*more, **env):
    """Continues the inference `it` from another folder. -> exit code, output, errors"""
    home, t.folder = t.folder, t.folder / "other"
    t.folder.mkdir(exist_ok=True)
    try:
        return t.run("it", *more, word="resume", **env)
    finally:
        t.folder = home


def test_prices_are_kept():
    """The file of prices is kept by its name, which is found from another folder; the resume may give another one."""
    words = ["p.pdl", "-d", "who=you", "--algo", "is", "-n", "12", "--json", "--jobs", "1", "--prices", "p.json", "--budget", "cost=100"]
    for more in ([], ["--prices", "new.json"]):
        env = begin()
        (t.folder / "p.json").write_text(json.dumps({"openai/*": {"input": 0.001, "output": 0.01}}))
        t.check("it is killed", killed(("infer", [*words, "--durable", "--id", "it"]), 5, env))
        if more:
            before = t.service.settled()
            (t.folder / "other").mkdir()
            (t.folder / "p.json").rename(t.folder / "other" / "new.json")
            code, out, err = elsewhere(**env)
            t.check("without the file nothing is asked", code == 2 and "p.json'" in err and sum(t.service.asked.values()) == before, code, err)
        code, out, err = elsewhere(*more, **env)
        usage = json.loads(out)["usage"] if code == 0 else None
        t.check("every answer has a price %s" % more, usage and usage["model_calls"] == 24 and usage["cost"] > 24 * 0.01, usage, code, err)


def test_what_a_resume_would_do():
    """The verdict of an inference that waits: it continues with the same program, and stops with another one."""
    env = begin()
    t.check("it is killed", killed(("infer", ["p.pdl", "-d", "who=you", "-n", "6", "--jobs", "1", "--json", "--durable", "--id", "it"]), 5, env))
    before = t.service.settled()
    code, out, err = t.run("--check", "p.pdl", "--json", word="runs", **env)
    one = json.loads(out)["runs"][0] if out else {}
    t.check("it continues", code == 0 and one["verdict"] == "continues" and 1 <= one["recorded"] == one["reused"] <= before and not one["asked"], code, out, err)
    code, out, err = t.run("it", "--check", word="resume", **env)
    t.check("alone, too", code == 0 and out.startswith("continues\n  %d of %d " % (one["reused"], one["recorded"])), code, out, err)
    (t.folder / "p.pdl").write_text(ASK.replace("one", "1"))
    code, out, err = t.run("it", "--check", word="resume", **env)
    t.check("another program", code == 4 and out.startswith("stops: p.pdl has changed since the inference it began"), code, out, err)
    t.check("as the resume says", t.run("it", word="resume", **env)[0] == 2)
    (t.folder / "p.pdl").unlink()
    t.check("a program that is gone is in the journal", t.run("it", "--check", word="resume", **env)[0] == 0)
    t.check("nothing was asked", t.service.settled() == before)
    code, out, err = t.run("it", word="resume", **env)
    t.check("it does continue", code == 0 and json.loads(out)["runs"] == 6, code, err)


def test_an_action_without_an_end():
    """Whether a resume may repeat it is not known before, so that the verdict is the careful one. One run alone kills the process: the shell of
    another, started just before, would have the process of the tests as its parent."""
    env = begin("lastOf:\n- {model: openai/m, input: \"ask ${ pdl_particle_id }\"}\n"
                "- if: ${ pdl_particle_id == 0 }\n  then: {lang: command, code: sh -c 'kill -9 $PPID'}\n")
    t.run("p.pdl", "-n", "2", "--durable", "--id", "it", word="infer", **env)
    code, out, err = t.run("it", "--check", word="resume", **env)
    t.check("it stops", code == 4 and "something began and has no end" in out, code, out, err)
    t.check("and the resume does", t.run("it", word="resume", **env)[0] not in (0, 2))


def test_a_journal_elsewhere():
    """The note names what pdl resume finds."""
    env = begin()
    code, out, err = t.run("p.pdl", "-d", "who=you", "-n", "1", "--durable", "--record", "it.journal", word="infer", **env)
    named = err.split("pdl resume ", 1)[-1].split("\n", 1)[0]
    t.check("it is named by its path", code == 0 and named.endswith("it.journal"), err)
    code, again, err = t.run(named, word="resume", **env)
    t.check("which continues it", code == 0 and again == out, code, again, err)


def test_it_is_not_shown_as_one_run():
    env = begin()
    t.run("p.pdl", "-d", "who=you", "-n", "2", "--durable", "--id", "v", word="infer", **env)
    for word, args in (("trace", []), ("trace", ["--prefix"]), ("trace", ["--format", "html"]), ("view", ["--run", "p.pdl"])):
        code, out, err = t.run("v", *args, word=word, **env)
        t.check("%s %s" % (word, args), code == 2 and "v is an inference" in err and "pdl resume v" in err and not out, code, out, err)


def test_its_runs_are_shown():
    """pdl view of an inference whose result is not known has a row for each run, in the order of lineage, with the prompts and answers of its calls."""
    env = begin()
    t.run("p.pdl", "-d", "who=you", "-n", "3", "--durable", "--id", "v", word="infer", **env)
    with contextlib.closing(sqlite3.connect(next(t.folder.glob("data/**/v.journal")))) as journal:
        journal.execute("DELETE FROM run WHERE key = 'results'")
        journal.commit()
    code, out, err = t.run("v", "--md", "-", "--all", word="view", **env)
    at = [out.find("- run %d (" % i) if "- run %d (" % i in out else out.find("- run %d" % i) for i in (1, 2, 3)]
    t.check("its runs", code == 0 and "# Inference of p.pdl" in out and -1 not in at and at == sorted(at) and "The inference has ended." in out, code, out, err)
    t.check("each call with its prompt", out.count("; sent:") == 6 and "user:" in out, out)
    code, out, err = t.run("v", "--text", "-", word="view", **env)
    t.check("the text", code == 0 and out.strip() == "3 runs asked models 6 times. The inference has ended.", code, out, err)


def test_a_name_with_a_dash():
    env = begin()
    (t.folder / "-one.pdl").write_text(ASK)
    code, out, err = t.run("-d", "who=you", "-n", "1", "--durable", "--id", "d", "--", "-one.pdl", word="infer", **env)
    code, again, err = t.run("d", word="resume", **env)
    t.check("it is continued", code == 0 and again == out, code, again, err)
