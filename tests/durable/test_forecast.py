# SPDX-License-Identifier: Apache-2.0
"""test_forecast.py -- `pdl runs --check` says of a waiting run exactly what a resume then does (spec know 2).

Runs of several programs wait at their question. Each program is edited in many ways, the verdict is read, and the same run is resumed with a service
that counts its requests.
"""
import itertools
import json
import random
import re
import resource
import shutil
import time

import pytest

from ..checks import check
from ..harness.choice import Choice
from .kit import Folder, Service

ACT = "{lang: command, code: \"sh -c 'echo %s >> acts; echo %s'\"}"


def ask(text, more=""):
    return "{model: openai/m, input: %s%s}" % (text, more)


KILL = "{lang: command, code: \"sh -c 'kill -9 $PPID'\"%s}"
QUESTION = "{read: null, message: \"go? \"}"


def lines(*parts, head=""):
    return head + "text:\n" + "".join("- %s\n" % p for p in parts)


FUNCTION = "defs:\n  f: {function: {x: string}, return: %s}\n" % ask('"say ${ x }"')
PROGRAMS = {
    "chat": lines(ask("one"), ask("two"), ask("three"), QUESTION, ask("last")),
    "context": lines("{text: \"tell me \", role: user}", "{model: openai/m}", "{text: \" and more\", role: user}", "{model: openai/m}", QUESTION),
    "actions": lines(ask("one"), ACT % ("did", "one"), ask("two"), ACT % ("also", "two"), QUESTION),
    "function": lines("{call: \"${ f }\", args: {x: a}}", ask("one"), "{call: \"${ f }\", args: {x: b}}", QUESTION, head=FUNCTION),
    "map": lines("{for: {i: [1, 2, 3]}, map: %s}" % ask('"row ${ i }"'), ask("one"), QUESTION),
    "loop": lines("{for: {i: [1, 2, 3]}, repeat: {text: [%s, \"\\n\"]}}" % ask('"round ${ i }"'), QUESTION),
    "branch": lines("{if: true, then: {text: [%s, %s]}}" % (ask("one"), ask("two")), QUESTION),
    "killed": lines(ask("one"), ask("two"), KILL % ", idempotent: true", ask("three")),
    "doubt": lines(ask("one"), KILL % "", ask("three")),
    "write": lines("{text: did, contribute: [o]}", ask("one"), QUESTION, head="defs: {o: {aggregator: {file: acts, mode: a}}}\n"),
}


def parts(text):
    head, _, body = text.partition("text:\n")
    return head, body.splitlines()


def joined(head, rows):
    return head + "text:\n" + "".join(r + "\n" for r in rows)


def edits(name, text):
    """(title, changed program) -- of each kind at each place."""
    head, rows = parts(text)
    yield "nothing", text
    yield "a comment", "# changed\n" + text
    for i in range(len(rows) + 1):
        yield "insert a line at %d" % i, joined(head, rows[:i] + ["- a line"] + rows[i:])
        yield "insert a call at %d" % i, joined(head, rows[:i] + ["- " + ask("inserted")] + rows[i:])
        yield "insert an action at %d" % i, joined(head, rows[:i] + ["- " + ACT % ("new", "new")] + rows[i:])
    for i, row in enumerate(rows):
        yield "delete %d" % i, joined(head, rows[:i] + rows[i + 1:])
        yield "into a branch %d" % i, joined(head, rows[:i] + ["- {if: true, then: %s}" % row[2:]] + rows[i + 1:])
        yield "not in the context %d" % i, joined(head, rows[:i] + (["- {text: [%s], contribute: []}" % row[2:]]) + rows[i + 1:])
        yield "give a name to %d" % i, joined(head, rows[:i] + [row[:-1] + ", def: named}" if row.endswith("}") else row] + rows[i + 1:])
        if "input" in row:
            yield "change the prompt %d" % i, joined(head, rows[:i] + [re.sub(r"input: (\"?)", r"input: \1other ", row, count=1)] + rows[i + 1:])
        if "code" in row:
            yield "change the action %d" % i, joined(head, rows[:i] + [row.replace("echo ", "echo x", 1)] + rows[i + 1:])
    for i, j in itertools.combinations(range(len(rows)), 2):
        moved = list(rows)
        moved[i], moved[j] = moved[j], moved[i]
        yield "swap %d and %d" % (i, j), joined(head, moved)
    if head.startswith("defs:\n"):
        yield "rename the function", text.replace("  f:", "  g:").replace("${ f }", "${ g }")
        yield "change the function", text.replace("say", "tell")
        yield "move it to a module", "MODULE" + text
    yield "break it", text.replace("text:\n", "txet:\n", 1)
    yield "an unknown name", joined(head, rows[:1] + ["- \"${ nothing }\""] + rows[1:])


def write(f, text):
    if text.startswith("MODULE"):
        body = text[len("MODULE"):]
        function = body[:body.index("text:\n")]
        (f.path / "mod.pdl").write_text(function)
        text = "defs: {m: {import: mod}}\n" + body[body.index("text:\n"):].replace("${ f }", "${ m.f }")
    (f.path / "main.pdl").write_text(text)


class Waiting:
    """A run that waits at its question, and can be put back there."""

    def __init__(self, pdl, name):
        self.service = Service(0.0)
        self.f = Folder(pdl, self.service, PROGRAMS[name])
        code, out, err = self.f.run("--durable", "--park", "--id", "r", "main.pdl")
        check("it waits, or is killed", code in (75, -9), code, out, err)
        self.kept = str(self.f.path) + ".kept"
        shutil.copytree(self.f.path, self.kept)

    def put_back(self):
        shutil.rmtree(self.f.path)
        shutil.copytree(self.kept, self.f.path)
        self.service.begin()

    def remove(self):
        self.f.remove()
        shutil.rmtree(self.kept, ignore_errors=True)


def foretold(f):
    code, out, err = f.run("runs", "--check", "main.pdl", "--json")
    runs = json.loads(out)["runs"]
    check("one run", len(runs) == 1 and not err, runs, err)
    check("the exit code says the verdict", code == {"continues": 0, "asks again": 3, "stops": 4}[runs[0]["verdict"]], code, runs)
    check("its members", list(runs[0]) == ["id", "verdict", "place", "file", "line", "recorded", "asked", "cost", "reused"], runs)
    return runs[0]


def follows(f, service, title, changed):
    """Compares the forecast with the resume."""
    before, acts = f.journal.read_bytes(), sum(f.acts().values())
    write(f, changed)
    said = foretold(f)
    check("%s: nothing is done or sent" % title, f.journal.read_bytes() == before and sum(f.acts().values()) == acts and not service.asked)
    code, out, err = f.run("resume", "r")
    done = sum(service.asked.values()) + sum(f.acts().values()) - acts
    did = "stops" if code not in (0, 75, -9) and not done else "asks again" if done else "continues"
    if said["verdict"] == "stops":
        check("%s: it stops" % title, code not in (0, 75, -9), said, code, out, err)
    else:
        check("%s: %s" % (title, said["verdict"]), did == said["verdict"], said, did, code, out, err, service.asked)
        check("%s: as many are asked at least" % title, said["asked"] <= done, said, service.asked, f.acts())
    return said


@pytest.mark.parametrize("name", PROGRAMS)
def test_edits(pdl, part, name):
    waiting = Waiting(pdl, name)
    for title, changed in part(list(edits(name, PROGRAMS[name])), 12, lambda row: "%s: %s" % (name, row[0])):
        waiting.put_back()
        follows(waiting.f, waiting.service, title, changed)
    waiting.remove()


def test_several_edits(pdl, scale):
    """Two and three edits at once, drawn at random."""
    draw = random.Random(32)
    for name in draw.sample(sorted(PROGRAMS), 3):
        waiting = Waiting(pdl, name)
        for n in range(scale(40)):
            changed, titles = PROGRAMS[name], []
            for _ in range(draw.choice([2, 3])):
                title, changed = draw.choice([e for e in edits(name, changed) if not e[1].startswith("MODULE")])
                titles.append(title)
            waiting.put_back()
            follows(waiting.f, waiting.service, "%s %d: %s" % (name, n, ", ".join(titles)), changed)
        waiting.remove()


def test_answered(pdl):
    """An answer that the run has not read yet is recorded; what comes after the question is not known."""
    waiting = Waiting(pdl, "chat")
    f = waiting.f
    check("it is answered", f.run("answer", "r", "yes")[0] == 0)
    said = foretold(f)
    check("it continues after the question", said["verdict"] == "continues" and said["recorded"] == 4 and said["reused"] == 4 and said["line"] == 6, said)
    write(f, PROGRAMS["chat"].replace("last", "final"))
    check("what comes then may change", foretold(f)["verdict"] == "continues")
    write(f, PROGRAMS["chat"].replace("go?", "really?"))
    said = foretold(f)
    check("another question is asked again", said["verdict"] == "asks again" and said["place"] == "text.3.read" and said["asked"] == 1, said)
    waiting.remove()


def test_price(pdl):
    """What the recorded answers cost that would be paid again, and the lines of the text."""
    waiting = Waiting(pdl, "actions")
    f = waiting.f
    (f.path / "prices.json").write_text(json.dumps({"openai/m": {"input": 0.5, "output": 1}}))
    f.journal.unlink()
    code, _, err = f.run("--durable", "--park", "--id", "r", "--stream", "none", "--prices", "prices.json", "main.pdl")
    check("it waits", code == 75, err)
    write(f, PROGRAMS["actions"].replace("input: two", "input: zwei"))
    said = foretold(f)
    check("the price of the answer", said["cost"] == 4 and said["asked"] == 1 and said["recorded"] == 4 and said["reused"] == 2, said)
    code, out, err = f.run("resume", "r", "--check")
    check("resume --check", code == 3 and out.splitlines() == [
        "asks again: main.pdl:4 text.2.model: model, changed", "  2 of 4 recorded answers reused, 1 asked again, which cost 4",
        "  asked again: main.pdl:4 text.2.model: model, changed, which cost 4", "  not reached: the answer recorded at text.3.code"], code, out, err)
    code, out, _ = f.run("resume", "r", "--check", "--changed", "fail")
    check("--changed fail stops", code == 4 and out.startswith("stops: the program has changed since the run began: "), code, out)
    write(f, PROGRAMS["actions"].replace("- {lang", "- above\n- {lang", 1))
    code, out, _ = f.run("resume", "r", "--check")
    check("a moved action stops", code == 4 and out.startswith("stops: main.pdl:4 text.2.code: the command at text.2.code was done before, at text.1.code") and
          "\n  --again text.1.code" in out, code, out)
    code, out, _ = f.run("resume", "r", "--check", "--skip", 'text.1.code="one"', "--skip", 'text.3.code="two"')
    check("--skip lets it continue", code == 0 and out.startswith("continues at main.pdl:7 text.5.read\n  4 of 4"), code, out)
    waiting.remove()


def test_which_runs(pdl):
    """Runs of other programs and those that have ended are left out; other names of the program are the same program."""
    waiting = Waiting(pdl, "chat")
    f = waiting.f
    shutil.copy(f.path / "main.pdl", f.path / "other.pdl")
    (f.path / "over.pdl").write_text("over\n")
    for name in ("other", "over"):
        f.run("--durable", "--park", "--id", name, name + ".pdl")
    ids = lambda program: [r["id"] for r in json.loads(f.run("runs", "--check", program, "--json")[1])["runs"]]
    check("of main.pdl", ids("main.pdl") == ["r"] and ids("./main.pdl") == ["r"] and ids(str(f.path / "main.pdl")) == ["r"])
    check("of other.pdl", ids("other.pdl") == ["other"])
    code, out, err = f.run("runs", "--check", "over.pdl")
    check("none", code == 0 and out == "no run of over.pdl waits to be resumed\n" and ids("over.pdl") == [], code, out, err)
    code, out, err = f.run("runs", "--check", "nothing.pdl")
    check("no such program", code == 2 and "nothing.pdl" in err and not out, code, out, err)
    for args in (["runs", "--check"], ["runs", "show", "r", "--check", "main.pdl"], ["resume", "r", "--json"], ["resume", "nobody", "--check"],
                 ["resume", "r", "--check", "--dry-run"]):
        code, out, err = f.run(*args)
        check("refused: %s" % args, code == 2 and err.startswith("pdl: error: ") and not out, code, out, err)
    data = bytearray(f.journal.read_bytes())
    data[len(data) // 2:] = b"x" * (len(data) - len(data) // 2)
    f.journal.write_bytes(data)
    code, out, err = f.run("runs", "--check", "main.pdl")
    check("a damaged journal is named", code in (0, 1, 4) and "r" in out + err and "damaged" in out + err, code, out, err)
    waiting.remove()


def test_many_runs(pdl, scale):
    """1 000 runs in 5 seconds."""
    waiting = Waiting(pdl, "chat")
    f, n = waiting.f, scale(1000)
    for i in range(n - 1):
        shutil.copy(f.journal, f.journal.parent / ("c%d.journal" % i))
    f.run("runs")
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    code, out, err = f.run("runs", "--check", "main.pdl")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    check("all continue", code == 0 and out.count(" continues at main.pdl:5 text.3.read\n") == n, code, out[-300:], err)
    if not Choice.sanitized:
        check("5 ms a run", spent < 0.1 + n * 0.005, n, spent, time.monotonic() - start)
    waiting.remove()
