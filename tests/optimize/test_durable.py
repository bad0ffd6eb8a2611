# SPDX-License-Identifier: Apache-2.0
"""pdl optimize --durable: a search that is killed continues with `pdl resume`, and no answered request is sent again."""
import json
import os
import threading
import time

from ..batch.kit import t
from .test_optimize import ASK, begin, rule
from .test_reflect import PROPOSE

WORDS = ["p.pdl", "--data", "data.jsonl", "--expect", "answer", "--json", "--durable", "--jobs", "4"]


def folder():
    return next(iter((t.folder / "experiments").iterdir()), None) if (t.folder / "experiments").exists() else None


def killed(words, after):
    """Starts a search, and kills it when the service has answered so often. -> it was killed before it ended"""
    p = t.start(*words, word="optimize") if folder() is None else t.start("experiments/" + folder().name, word="resume")
    end = time.monotonic() + 60
    while p.poll() is None and sum(t.service.answered.values()) < after and time.monotonic() < end:
        time.sleep(0.002)
    running = p.poll() is None
    t.kill(p)
    out, err = p.communicate()
    t.check("it says how it continues, or did not come so far", running or p.returncode == 0, p.returncode, err)
    return running


def facts(text):
    r = json.loads(text)
    return {k: r[k] for k in ("winner", "verdict", "standings", "evaluations", "calls", "tokens")}


def unhurried(rule):
    """A service that takes a moment for each answer, so that few come between the decision to kill and the kill."""
    def answer(prompt):
        time.sleep(0.01)
        return rule(prompt)
    return answer


def search(words, answer, every, kills):
    """Kills a search again and again; then it ends as one that nobody killed."""
    begin(rule=answer())
    code, out, err = t.run(*words, word="optimize")
    t.check("undisturbed", code == 0, err)
    asked, expected = sum(t.service.asked.values()), facts(out)
    t.check("it says how it continues", "pdl resume experiments/p-" in err, err)
    begin(rule=unhurried(answer()))
    n = 0
    while n < kills and killed(words, sum(t.service.answered.values()) + every):
        n += 1
    t.check("it was killed", n == kills, n, kills)
    code, out, err = t.run(folder().name, word="resume")
    t.check("it ends as the other one", code == 0 and facts(out) == expected, out, err)
    twice = sum(t.service.asked.values()) - asked
    t.check("only what was under way is asked again", 0 <= twice <= 4 * n, twice, n)
    before = sum(t.service.asked.values())
    code, out, err = t.run("experiments/" + folder().name, word="resume")
    t.check("one that has ended asks nothing", code == 0 and sum(t.service.asked.values()) == before and facts(out) == expected, err)
    t.check("its program is there", (t.folder / "optimized_p.pdl").read_text() == ASK.replace("whisper ", "shout "))


def test_killed_searches(scale):
    search([*WORDS, "--vary", "form=whisper,speak,shout"], lambda: rule, 4, scale(20, 3))


def test_a_killed_reflection(scale):
    def answers():
        said = {}

        def answer(prompt):
            if not prompt.startswith(PROPOSE):
                return rule(prompt)
            return 200, said.setdefault(prompt, ["mumble", "speak", "shout"][min(len(said), 2)])
        return answer
    search([*WORDS, "--tune", "form", "--method", "reflect", "--proposals", "4"], answers, 5, scale(20, 3))


def test_a_budget_is_that_of_both():
    words = [*WORDS, "--vary", "form=whisper,speak,shout", "--budget", "calls=150"]
    begin()
    killed(words, 60)
    code, out, err = t.run(folder().name, word="resume")
    t.check("the budget holds over a kill", code == 0 and sum(t.service.answered.values()) <= 150 + 4 and json.loads(out)["calls"] <= 150, sum(t.service.answered.values()), err)


def test_what_cannot_go_on():
    words = [*WORDS, "--vary", "form=whisper,shout"]
    for name, why in (("p.pdl", "p.pdl has changed since"), ("data.jsonl", "data.jsonl has changed since")):
        begin()
        killed(words, 10)
        with open(t.folder / name, "a") as f:
            f.write("\n")
        before = t.service.settled()
        code, out, err = t.run(folder().name, word="resume")
        t.check("refused: %s is another one" % name, code == 2 and why in err and sum(t.service.asked.values()) == before, code, err, before, t.service.asked)
    begin()
    killed(words, 10)
    code, out, err = t.run(folder().name, "--jobs", "3", word="resume")
    t.check("options", code == 2 and "give none" in err, err)
    (folder() / "state.json").write_text("[]")
    code, out, err = t.run(folder().name, word="resume")
    t.check("a broken state", code == 2 and "not the state of a search" in err, err)
    (folder() / "state.json").write_text("{")
    code, out, err = t.run(folder().name, word="resume")
    t.check("a cut state", code == 2 and "state.json: " in err, code, err)
    code, out, err = t.run("nothing", word="resume")
    t.check("no such search", code == 2 and "nothing" in err, err)


def test_what_its_state_does_not_keep():
    """Addresses, which may have keys, and logs are those of the command that resumes, whatever the state says."""
    words = [*WORDS, "--vary", "form=whisper,shout"]
    more = ["--otlp", "http://u:hidden-key@127.0.0.1:9/", "--otlp-content", "--wire", "log"]
    begin()
    killed([*words, *more], 6)
    path = folder() / "state.json"
    t.check("it has none of them", not any(x in path.read_text() for x in ("hidden-key", "--otlp", "--wire")), path.read_text())
    path.write_text(path.read_text().replace('"--json"', '"--json", "--wire=other", "--otlp=http://127.0.0.1:9/"'))
    (t.folder / "log").unlink()
    code, out, err = t.run(folder().name, word="resume")
    t.check("it logs nothing", code == 0 and not (t.folder / "log").exists() and not (t.folder / "other").exists(), code, err)
    begin()
    killed([*words, *more], 6)
    (t.folder / "log").unlink()
    code, out, err = t.run(folder().name, "--wire", "log", word="resume")
    t.check("unless the resume says so", code == 0 and (t.folder / "log").exists(), code, err)


GROWS = """defs:
  search:
    function: {engine: }
    return:
      lastOf:
      - def: added
        data: "${ engine.add({'form': 'shout'}, 0) }"
      - ${ engine.evaluate([added.candidate], 5) }
      - ${ engine.evaluate(engine.candidates, engine.rows) }
      - data: {winner: "${ added.candidate }", certain: false}
"""


def test_a_killed_search_names_what_it_evaluated():
    begin(files={"grows.pdl": GROWS}, rule=unhurried(rule))
    t.check("it is killed", killed([*WORDS, "--vary", "form=whisper,speak", "--method", "grows.pdl"], 15))
    scored = {json.loads(line)["candidate"] for line in (folder() / "scores.jsonl").read_text().splitlines()}
    listed = {x["candidate"]: x["values"] for x in t.lines("experiments/%s/candidates.jsonl" % folder().name)}
    t.check("also a candidate that the method has added", scored == {2} and listed.get(2) == {"form": "shout"}, scored, listed)


def test_a_name_with_a_dash():
    begin()
    (t.folder / "p.pdl").rename(t.folder / "-one.pdl")
    words = [*WORDS[1:], "--vary", "form=whisper,shout", "--", "-one.pdl"]
    killed(words, 6)
    code, out, err = t.run("experiments/" + folder().name, word="resume")
    t.check("it is continued", code == 0 and json.loads(out)["winner"], code, out, err)


def test_keys_in_its_folder():
    """The state has references to keys, for its owner alone; what others may read has none."""
    key = "hidden-key-0123456789"
    words = [*WORDS, "--vary", "form=whisper,shout", "--vary", "extra=%s,none" % key]
    begin(program=ASK.replace("defs:\n", "defs:\n  extra: none\n"))
    code, out, err = t.run(*words, word="optimize", MY_API_KEY=key)
    t.check("it ends", code == 0, err)
    files = [f for f in folder().iterdir() if f.suffix in (".json", ".jsonl", ".yaml", ".txt", ".md")]
    t.check("no file has the key", len(files) == 6 and not any(key in f.read_text() for f in files), [f.name for f in files if key in f.read_text()])
    state = folder() / "state.json"
    t.check("the state is private", state.stat().st_mode & 0o077 == 0 and "k:MY_API_KEY" in state.read_text(), oct(state.stat().st_mode), state.read_text())
    asked = sum(t.service.asked.values())
    code, out, err = t.run(folder().name, word="resume")
    t.check("without the key", code == 2 and "MY_API_KEY, which is not set" in err, code, err)
    code, out, err = t.run(folder().name, word="resume", MY_API_KEY=key)
    t.check("with the key", code == 0 and sum(t.service.asked.values()) == asked, code, out, err)


def test_a_cost_is_that_of_all_processes():
    """What a killed search has paid counts, but for the answers that were on their way to it: at most 4, and as many that it had not noted."""
    prices = json.dumps({"openai/*": {"input": 0.001, "output": 0.01}})
    program = ASK + "- model: openai/m\n  input: ${ form } ${ word }\n"
    words = [*WORDS, "--vary", "form=whisper,shout"]
    begin(program=program, files={"prices.json": prices})
    code, out, err = t.run(*words, "--prices", "prices.json", word="optimize")
    whole = json.loads(out)["cost"]
    t.check("undisturbed", code == 0 and whole > 0, out, err)
    each = whole / sum(t.service.answered.values())
    begin(program=program, files={"prices.json": prices})
    kills = 0
    while kills < 4 and killed([*words, "--prices", "prices.json"], sum(t.service.answered.values()) + 15):
        kills += 1
    code, out, err = t.run(folder().name, word="resume")
    answered = sum(t.service.answered.values())
    t.check("all of it: %s of %s" % (json.loads(out)["cost"], each * answered), code == 0 and abs(json.loads(out)["cost"] - each * answered) <= each * 8 * kills, each, answered, kills)
    t.check("it was killed", kills == 4, kills)


PRICES = json.dumps({"openai/*": {"input": 0.001, "output": 0.01}})
EACH = 5 * 0.001 + 2 * 0.01  # of the 5 and 2 tokens of each answer
TWICE = ASK + "- model: openai/m\n  input: ${ form } ${ word }\n"


def test_a_run_that_the_budget_ends_has_cost_something():
    """Its first calls were paid for, and the last one refused. The cost is that of all answers, in one process and in two."""
    again = "  - {model: openai/m, input: '${ form } ${ word }'}\n"
    program = ASK + "- if: ${ form == 'shout' }\n  then:\n    lastOf:\n" + 2 * ("  " + again)  # three calls, and else one: two on average
    words = [*WORDS, "--vary", "form=whisper,shout", "--prices", "prices.json", "--budget", "calls=43"]  # two are left for a run of three
    begin(program=program, files={"prices.json": PRICES})
    code, out, err = t.run(*words, word="optimize")
    r, answered = json.loads(out), t.service.settled() and sum(t.service.answered.values())
    used = (t.folder / r["folder"] / "used.txt").read_text().split()
    whole = sum(3 if x["candidate"] else 1 for x in t.lines(r["folder"] + "/scores.jsonl"))
    t.check("the budget is spent", code == 0 and r["budget_spent"] and answered > whole, answered, whole, r, err)
    t.check("the cost is that of all answers", abs(r["cost"] / EACH - answered) < 0.01 and abs(float(used[4]) - r["cost"]) < EACH / 100, r["cost"] / EACH, answered, used)


def test_a_cost_never_falls():
    """Each cost that the file gets is one after which the search may be killed: a run that ends is not counted twice, nor left out."""
    words = [*WORDS, "--vary", "form=whisper,shout", "--prices", "prices.json"]
    begin(program=TWICE, files={"prices.json": PRICES})
    killed(words, 15)
    file = folder() / "used.txt"
    before = file.read_text()
    file.unlink()
    os.mkfifo(file)
    noted = []

    def read():
        file.write_text(before)
        noted.extend(float(line.split()[4]) for line in file.read_text().splitlines())
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    code, out, err = t.run(folder().name, "--prices", "prices.json", word="resume")
    reader.join(60)
    t.check("it ends", code == 0 and len(noted) > 100, code, err, noted)
    fallen = [(a, b) for a, b in zip(noted, noted[1:]) if b < a - EACH / 100]
    t.check("no cost is less than the one before", not fallen and abs(noted[-1] - json.loads(out)["cost"]) < EACH / 100, fallen, noted[-1:], out)


def elsewhere(*more, **env):
    """Resumes the search from another folder. -> exit code, output, errors"""
    home, t.folder = t.folder, t.folder / "other"
    t.folder.mkdir(exist_ok=True)
    try:
        return t.run(os.path.relpath(next((home / "experiments").iterdir()), t.folder), *more, word="resume", **env)
    finally:
        t.folder = home


def test_prices_are_kept():
    """The file of prices is kept by its name, which is found from another folder; the resume may give another one."""
    prices = {"prices.json": json.dumps({"openai/*": {"input": 0.001, "output": 0.01}})}
    words = [*WORDS, "--vary", "form=whisper,shout", "--prices", "prices.json", "--budget", "cost=100"]
    for more in ([], ["--prices", "new.json"]):
        begin(files=prices)
        t.check("it is killed", killed(words, 10))
        if more:
            (t.folder / "other").mkdir()
            (t.folder / "prices.json").rename(t.folder / "other" / "new.json")
        code, out, err = elsewhere(*more)
        t.check("every answer has a price %s" % more, code == 0 and json.loads(out)["winner"]["values"] == {"form": "shout"} and json.loads(out)["cost"] > 0
                and "is not known" not in out, code, out, err)
    begin(files=prices)
    killed(words, 10)
    (t.folder / "prices.json").write_text("{}")
    before = t.service.settled()
    code, out, err = elsewhere()
    t.check("without a price nothing is asked", code == 2 and "--budget: no price of openai/m is known" in err and sum(t.service.asked.values()) == before, code, err)
    (t.folder / "prices.json").unlink()
    code, out, err = elsewhere()
    t.check("nor without the file", code == 2 and "there is no file 'prices.json'" in err and sum(t.service.asked.values()) == before, code, err)


def test_keys_in_answers_and_programs():
    """Scores and the programs of the front have no key, whether it is in a row, in a result or in a text of the program."""
    key = 'hidden "key" 0123456789'
    program = ASK.replace("lastOf:\n", "  extra: none\nlastOf:\n").replace("- model: openai/m\n", "- model: openai/m\n  def: said\n- ${ said } ${ key }\n")
    rows = [{"word": "w%d" % i, "answer": "W%d" % i, "key": key} for i in range(20)]
    begin(program=program, rows=rows)
    code, out, err = t.run(*WORDS[:-2], "--vary", "form=whisper,shout", "--vary", "extra=[%s]" % json.dumps(key), "--objective", "score,calls",
                           word="optimize", MY_API_KEY=key)
    t.check("it ends", code == 0, err)
    scores = (folder() / "scores.jsonl").read_text()
    t.check("each line is JSON", all(json.loads(x)["result"].endswith(" [REDACTED]") for x in scores.splitlines()) and scores, scores[:2000])
    files = [f for f in folder().rglob("*") if f.suffix in (".jsonl", ".yaml", ".md", ".pdl")]
    t.check("there is a front", any(f.suffix == ".pdl" for f in files), files)
    for f in files:
        t.check("%s has no key" % f.name, not any(form in f.read_text() for form in (key, json.dumps(key)[1:-1])), f.read_text()[:2000])


def test_a_configuration_without_keys():
    """A value that is a key stays a text in config.yaml, also where the search came from a configuration."""
    key = "hidden-key-0123456789"
    more = {"c.yaml": "program: p.pdl\ndata: data.jsonl\nexpect: answer\nvary:\n  form: [whisper, shout]\n  extra:\n  - %s\n  - none\n" % key}
    for words in ([*WORDS, "--vary", "form=whisper,shout", "--vary", "extra=%s,none" % key], ["-c", "c.yaml", "--json", "--durable"]):
        begin(program=ASK.replace("defs:\n", "defs:\n  extra: none\n"), files=more)
        code, out, err = t.run(*words, word="optimize", MY_API_KEY=key)
        text = (folder() / "config.yaml").read_text()
        t.check("quoted", code == 0 and key not in text and ("'[REDACTED]'" in text or '"[REDACTED]"' in text), text, err)


def test_a_key_in_the_front():
    """A program of the front has `[REDACTED]` as a text, where YAML would read a list."""
    key = "hidden-key-0123456789"
    for program in (ASK.replace("defs:\n", "defs:\n  extra: none\n"), ASK.replace("${ word }", "${ word }${ '' if extra else '' }")):
        begin(program=program)
        code, out, err = t.run(*WORDS, "-d", "extra=none", "--vary", "form=whisper,shout", "--vary", "extra=%s" % key, "--objective", "score,calls", word="optimize", MY_API_KEY=key)
        t.check("it ends", code == 0, err)
        texts = [(folder() / "front" / f.name).read_text() for f in (folder() / "front").iterdir()]
        t.check("quoted", any("extra: '[REDACTED]'" in x or 'extra: "[REDACTED]"' in x for x in texts) and not any(key in x or "extra: [" in x for x in texts), texts)


def test_a_key_of_a_file():
    """A key in `.env` of the folder of the command is found from another folder; where it is missing, the message names the state."""
    key = "hidden-key-0123456789"
    words = [*WORDS, "--vary", "form=whisper,shout", "--vary", "extra=%s,none" % key]
    begin(program=ASK.replace("defs:\n", "defs:\n  extra: none\n"), files={".env": "MY_API_KEY=%s\n" % key})
    t.check("it is killed", killed(words, 10))
    code, out, err = elsewhere()
    t.check("it is continued", code == 0 and json.loads(out)["winner"], code, err)
    (t.folder / ".env").unlink()
    code, out, err = elsewhere()
    t.check("the message", code == 2 and "state.json: the search used the key MY_API_KEY, which is not set" in err and "journal" not in err, code, err)
