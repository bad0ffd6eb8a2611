# SPDX-License-Identifier: Apache-2.0
"""test_promises.py -- the other promises of durable runs: changed programs, time and chance, budgets, owners, keys, guards.

Runs are killed at a known place: at a command that waits until it may continue.
"""
import fcntl
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from ..checks import check, skip
from ..harness.choice import Choice
from .kit import SECONDS, STOP, Folder, Service, kill_at_stop, wait_for

KEY = "sk-canary-0123456789"


class Runs:
    def __init__(self, pdl):
        self.pdl, self.service = pdl, Service(0.001)

    def folder(self, program, **files):
        self.service.begin()
        return Folder(self.pdl, self.service, program, **files)


@pytest.fixture
def t(pdl):
    return Runs(pdl)


# --- 3: actions ---


def test_actions(t):
    f = t.folder("text:\n- {lang: command, code: \"sh -c 'echo did >> acts; touch here; sleep 60'\"}\n- \" end\"\n")
    kill_at_stop(f)
    code, _, err = f.run("resume", "r")
    check("an action without an end stops the resume", code == 1 and "text.0.code" in err and "--again" in err and "--skip" in err, err)
    before = f.journal.read_bytes()
    code, _, err = f.run("resume", "r", "--skip", "text.0.code=[1]")
    check("the result of a command is a text", code == 2 and "string" in err and f.journal.read_bytes() == before, err)
    code, _, err = f.run("resume", "r", "--skip", "text.0.code={")
    check("a result is JSON", code == 2 and "--skip text.0.code: Expecting property name" in err, err)
    code, _, err = f.run("resume", "r", "--skip", "text.0.code")
    check("a result has a place", code == 2 and "--skip text.0.code: expected PLACE=JSON" in err, err)
    code, _, err = f.run("resume", "r", "--skip", "text.9=1")
    check("a place at which nothing is open", code == 2 and "text.9" in err, err)
    code, out, err = f.run("resume", "r", "--skip", 'text.0.code="by hand"')
    check("--skip gives its result", code == 0 and out == "by hand end\n" and f.acts()["did"] == 1, (out, err))
    f = t.folder("defs: {o: {aggregator: {file: out.txt}}}\ntext:\n- {text: \"one\\n\", contribute: [o]}\n- %s\n- {text: \"two\\n\", contribute: [o]}\n" % STOP)
    kill_at_stop(f)
    (f.path / "out.txt").write_text("somebody else's\n")
    code, _, err = f.run("resume", "r")
    check("a file that others changed stops the resume", code == 1 and "out.txt" in err, err)
    check("and is left as it is", (f.path / "out.txt").read_text() == "somebody else's\n")


def test_writes(t):
    """A write that began and has no end: the file is cut to what was acknowledged, and the write is done again, without asking."""
    for title, mode, first in (("the first write to a file that was there", "a", True), ("a later one", "a", False), ("to a new file", "w", True),
                               ("a later one to a new file", "w", False)):
        lines = ["one"] if first else ["one", "two"]
        f = t.folder("defs: {o: {aggregator: {file: out.txt, mode: %s}}}\ntext:\n%s- %s\n- {text: end, contribute: [o]}\n" %
                        (mode, "".join("- {text: \"%s\", contribute: [o]}\n" % x for x in lines), STOP))
        old = "old\n" if mode == "a" else ""
        if mode == "a":
            (f.path / "out.txt").write_text(old)
        kill_at_stop(f)
        kept = old + "".join(x + "\n" for x in lines)
        check(title + ": what is there when the run is killed", (f.path / "out.txt").read_text() == kept, (f.path / "out.txt").read_text())
        db = sqlite3.connect(f.journal)  # as if it had been killed between the write and its row
        db.execute("update effects set state = 0, reply = null, end = null where id = (select max(id) from effects where kind = 'write')")
        db.execute("update files set size = ?", (-1 if first else len(old) + len("one\n"),))
        db.commit()
        db.close()
        code, out, err = f.run("resume", "r")
        check(title + ": it is there once", code == 0 and (f.path / "out.txt").read_text() == kept + "end\n", (code, err, (f.path / "out.txt").read_text()))
        f = t.folder("defs: {o: {aggregator: {file: out.txt, mode: a}}}\ntext:\n- {text: one, contribute: [o]}\n- %s\n" % STOP)
    (f.path / "out.txt").write_text("old\n")
    kill_at_stop(f)
    db = sqlite3.connect(f.journal)  # as if the write had failed
    error = db.execute("select quote(error) from effects").fetchone()
    db.execute("update files set size = -1")
    db.commit()
    db.close()
    code, out, err = f.run("resume", "r")
    check("a file that was there before is never emptied", (f.path / "out.txt").read_text().startswith("old\n"), (code, err, error))

# --- 4: changed programs ---


def test_changes(t):
    program = ("text:\n- {model: openai/m, input: first}\n- {model: openai/m, input: second}\n- {read: data.txt}\n- %s\n- \" end\"\n" % STOP)
    for what, old, new, asked, note in (
            ("a line above", "text:\n", "text:\n- \"new line \"\n", {}, "text.1.model: the answer recorded at text.0.model"),
            ("another question", "input: second", "input: other", {"other": 1}, "text.1.model: something else was recorded there"),
            ("a question between", "- {model: openai/m, input: second", "- {model: openai/m, input: between}\n- {model: openai/m, input: second",
             {"between": 1}, "text.1.model: something else was recorded there"),
            ("a comment", "text:\n", "text: # nothing else\n", {}, ""),
            ("the order", "input: first}\n- {model: openai/m, input: second", "input: second}\n- {model: openai/m, input: first", {}, "recorded at")):
        f = t.folder(program, data_txt="data\n")
        kill_at_stop(f)
        (f.path / "main.pdl").write_text(program.replace(old, new))
        t.service.begin()
        before = f.journal.read_bytes()
        code, out, err = f.run("resume", "r", "--dry-run")
        check("%s: --check says what would be asked and changes nothing" % what, code == 0 and "from the journal" in out and
                   f.journal.read_bytes() == before and not t.service.asked, (out, err))
        if note:
            code, out, err = f.run("resume", "r", "--changed", "fail")
            check("%s: --changed fail stops" % what, code == 1 and "changed" in err and not t.service.asked, (code, err))
        code, out, err = f.run("resume", "r")
        check("%s: only what is new is asked" % what, code == 0 and dict(t.service.asked) == asked, (out, err, t.service.asked))
        check("%s: a note says so" % what, "has changed" in err and note in err, err)
        f = t.folder(program, data_txt="data\n")
    kill_at_stop(f)
    (f.path / "data.txt").write_text("other\n")
    code, out, err = f.run("resume", "r")
    check("the run has what it read; a note names the file that changed", code == 0 and "data\n" in out and "data.txt" in err, (out, err))
    f = t.folder("text:\n- {lang: command, code: \"sh -c 'echo act >> acts; echo one'\"}\n- %s\n" % STOP)
    kill_at_stop(f)
    text = (f.path / "main.pdl").read_text()
    (f.path / "main.pdl").write_text(text.replace("text:\n", "text:\n- above\n"))
    code, out, err = f.run("resume", "r", "--again", "all")
    check("an action is reused at its own place alone", code == 0 and f.acts()["act"] == 2, (out, err, f.acts()))


def test_inputs(t):
    """-d of a resume replaces what was given, and is the run's from then on."""
    f = t.folder("text:\n- {model: openai/m, input: \"about ${ a }\"}\n- {model: openai/m, input: \"about ${ b }\"}\n- %s\n" % STOP)
    kill_at_stop(f, "-d", "a=bees", "-d", "b=ants")
    t.service.begin()
    code, out, err = f.run("resume", "r", "-d", "b=wasps", "--changed", "fail")
    check("other inputs are a change", code == 1 and "changed" in err and not t.service.asked, (code, err))
    code, out, err = f.run("resume", "r", "-d", "b=wasps")
    check("what is given again replaces what was recorded", code == 0 and dict(t.service.asked) == {"about wasps": 1} and "text.1.model" in err, (out, err, t.service.asked))
    code, again, err = f.run("resume", "r")
    check("the run keeps it", (code, again) == (0, out) and sum(t.service.asked.values()) == 1, (again, err))


def test_misuse(t):
    f = t.folder("text: hi\n")
    for words, what in ((["--older-than", "3d"], "--older-than and --all belong to prune"), (["--redact"], "--redact is for export"), (["rm", "r", "--json"], "--json"),
                        (["prune", "--older-than", "3d", "--redact"], "--redact is for export")):
        code, _, err = f.run("runs", *words)
        check("runs %s" % " ".join(words), code == 2 and what in err, err)


def test_failures(t):
    """A run that failed because a model did not answer asks it again; what the program has caught stays."""
    f = t.folder("for: {i: [1, 2, 3, 4, 5, 6]}\nmap: {model: openai/m, input: \"storm ${ i }\", parameters: {max_retries: 0}}\njoin: {with: ' '}\n")
    code, _, err = f.run("--durable", "--id", "r", "main.pdl")
    check("all calls of a map are refused", code == 1 and "slow down" in err, err)
    code, out, err = f.run("resume", "r")
    check("one resume asks all of them again", code == 0 and out.split() == [w for n in "123456" for w in ("STORM", n)] and
               max(t.service.asked.values()) == 2, (out, err, t.service.asked))
    refused = "{model: openai/m, input: storm %s, parameters: {max_retries: 0}%s}"
    f = t.folder("text:\n- %s\n- {model: openai/m, input: between, def: x}\n- \"${ x } \"\n- %s\n" %
                    (refused % ("a", ", fallback: {lang: command, code: \"sh -c 'echo caught >> acts; echo caught'\"}"), refused % ("b", "")))
    code, _, err = f.run("--durable", "--id", "r", "main.pdl")
    check("the second is refused", code == 1 and f.acts()["caught"] == 1, (err, f.acts()))
    code, out, err = f.run("resume", "r")
    check("a failure that the program has caught stays", code == 0 and t.service.asked["storm a"] == 1 == f.acts()["caught"] and
               t.service.asked["between"] == 1 and t.service.asked["storm b"] == 2 and "caught" in out, (out, err, t.service.asked))


def test_failed_actions(t):
    """A run that failed over an action is not over: --again PLACE does that one again, and no other."""
    f = t.folder("text:\n- {lang: command, code: \"sh -c 'echo paid >> acts'\"}\n- {lang: command, code: \"sh -c 'echo tried >> acts; test -e go'\"}\n"
                    "- {lang: python, code: \"import os\\nif not os.path.exists('here'): raise ValueError('not here')\\nresult = 'py '\"}\n"
                    "- {read: later.txt}\n")
    check("a command fails", f.run("--durable", "--id", "r", "main.pdl")[0] == 1 and f.acts()["tried"] == 1)
    (f.path / "go").touch()
    code, _, err = f.run("resume", "r")
    check("it is not done again in silence", code == 1 and f.acts()["tried"] == 1, (err, f.acts()))
    code, _, err = f.run("resume", "r", "--again", "text.1.code")
    check("it is done when its place is named", code == 1 and "not here" in err and f.acts() == {"paid": 1, "tried": 2}, (err, f.acts()))
    (f.path / "here").touch()
    code, _, err = f.run("resume", "r", "--again", "text.2.code")
    check("so is code", code == 1 and "later.txt" in err, err)
    (f.path / "later.txt").write_text("later")
    code, out, err = f.run("resume", "r")
    check("a file that was not there is read again", code == 0 and out == "py later\n" and f.acts() == {"paid": 1, "tried": 2}, (code, out, err, f.acts()))
    f.run("resume", "r", "--again", "text.1.code")
    check("of a run that ended nothing is done again", f.acts() == {"paid": 1, "tried": 2}, f.acts())

# --- 6: time, chance, budgets ---


def test_time_and_chance(t):
    f = t.folder("text:\n- \"${ now() } \"\n- \"${ range(1000000) | list | random } \"\n- %s\n- \" ${ now() }\"\n" % STOP)
    code, out, _ = f.run("-e", "text: ['${ now() }', '${ [1] | random }']")
    if code == 0:
        kill_at_stop(f, "-o", "printed")
        rows = [r for r in sqlite3.connect(f.journal).execute("select kind, reply from effects where kind in ('now', 'random')")]
        code, out, err = f.run("resume", "r")
        printed = (f.path / "printed").read_text()
        first = next((r[1] for r in rows if r[0] == "now"), "nothing")
        check("the clock is read once", code == 0 and printed.split()[0] == first.strip('"').rstrip("0") or first[:12] in printed, (printed, rows, err))
    f = t.folder("text: [{read: a.txt}, {model: openai/m, input: one}, %s, {model: openai/m, input: two}, {model: openai/m, input: three}]\n" % STOP, a_txt="x")
    kill_at_stop(f, "--budget", "calls=2")
    code, out, err = f.run("resume", "r")
    check("what was spent stays spent", code == 1 and "budget" in err and t.service.asked["three"] + t.service.asked["two"] == 1, (code, err, t.service.asked))
    code, out, err = f.run("resume", "r", "--budget", "calls=3")
    check("an option that is given again replaces the recorded one", code == 0 and sum(t.service.asked.values()) == 3, (code, err, t.service.asked))
    call = "{model: openai/m, input: %s}"
    f = t.folder("text:\n- text: [%s]\n  budget: {calls: 1}\n  fallback: \" caught \"\n- %s\n- %s\n" % (", ".join(call % x for x in "abc"), STOP, call % "d"))
    kill_at_stop(f, "--budget", "calls=2")
    code, out, err = f.run("resume", "r")
    check("what a budget refused is not spent", code == 0 and " caught " in out and t.service.asked["d"] == 1, (code, out, err, t.service.asked))

# --- 7: output ---


def test_output(t):
    f = t.folder("text:\n- before\n- {model: openai/m, input: x, def: x}\n- \"${ x[:0] }\"\n- %s\n- after\n" % STOP)
    kill_at_stop(f)
    code, out, _ = f.run("resume", "r", "--only-new")
    check("--only-new leaves out what was printed, but perhaps its last piece", code == 0 and "before" not in out and out.endswith("after\n"), out)
    code, out, _ = f.run("resume", "r")
    check("a run that ended is printed again", code == 0 and out == "beforeX went\nafter\n" or out == "beforeXwent\nafter\n", out)

# --- 8: one owner ---


def test_copies(t):
    """A copy of the journal of a run that goes on is another run only when that is said; each is listed by the name of its file."""
    f = t.folder("text: [%s, \" end\"]\n" % STOP)
    p = f.start(["--durable", "--id", "r", "main.pdl"])
    wait_for(f.path / "here")
    for name in ("r.journal", "r.journal-wal"):
        shutil.copy(f.journal.parent / name, f.journal.parent / name.replace("r.", "copy.", 1))
    code, _, err = f.run("resume", "copy")
    check("a copy of a run that goes on", code == 1 and "copy of the journal of a run that is at work (process %d" % p.pid in err and "--take-over" in err, err)
    f.kill(p)
    p.communicate(timeout=SECONDS)
    (f.path / "go").touch()
    code, out, err = f.run("resume", "copy")
    check("of one that ended it continues", code == 0 and out == "went\n end\n", (code, out, err))
    f.journal.with_name("empty.journal").touch()
    newer = bytearray(f.journal.with_name("copy.journal").read_bytes())
    newer[60:64] = b"\0\0\0\x09"
    f.journal.with_name("newer.journal").write_bytes(newer)
    code, out, err = f.run("runs", "--json")
    check("the list names files", {r["id"]: r["state"] for r in json.loads(out)} == {"r": "killed", "copy": "ended", "empty": "killed"}, out)
    check("and what it cannot read", "newer.journal is left out" in err and "format 9" in err and "pdl runs rm newer" in err, err)
    for name in ("r", "copy", "empty", "newer"):
        os.utime(f.journal.with_name(name + ".journal"), (1, 1))
    f.run("runs", "prune", "--older-than", "1s")
    check("prune removes what nothing is in, and leaves what it cannot read",
          not f.journal.with_name("empty.journal").exists() and f.journal.with_name("newer.journal").exists())


def test_one_instant(t):
    """Of runs of one name that begin at once one begins: the lock is taken before anybody looks at the file."""
    f = t.folder("text: {model: openai/m, input: x}\n")
    f.journal.parent.mkdir()
    with open(f.journal, "w", encoding="utf-8") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        for args in (["--durable", "--id", "r", "main.pdl"], ["--durable", "--record", str(f.journal), "main.pdl"], ["resume", "r"],
                     ["serve", "--port", "0", "--durable", "--id", "r", "main.pdl"]):
            code, out, err = f.run(*args)
            check("somebody begins it: %s" % args, code == 1 and "is in use by process %d" % os.getpid() in err and f.journal.stat().st_size == 0,
                  (code, out, err))
    runs = [f.start(["--durable", "--id", "r", "main.pdl"]) for _ in range(3)]
    ends = [(p.communicate(timeout=SECONDS)[1].decode(), p.returncode) for p in runs]
    check("three at once: one runs", sorted(code for _, code in ends) == [0, 1, 1] and t.service.asked["x"] == 1, ends)
    check("the others say so", all("there is a run r already" in err for err, code in ends if code), ends)


def test_removed_in_one_instant(t):
    """Of a resume and a removal that begin at once one is refused, in words that say what happened."""
    f = t.folder("text: {read: null, message: \"go? \"}\n")
    said = set()
    for _ in range(25):
        check("it is parked", f.run("--durable", "--park", "--id", "r", "main.pdl")[0] == 75)
        check("it is answered", f.run("answer", "r", "yes")[0] == 0)
        both = [f.start(args) for args in (["runs", "rm", "r"], ["resume", "r"])]
        (_, no_rm), (_, no_resume) = [p.communicate(timeout=SECONDS) for p in both]
        ends = [p.returncode for p in both]
        words = (no_resume if ends[1] else no_rm).decode()
        said.add(re.sub("/.*/", "", words))
        check("one says why", ends == [0, 0] or ends == [0, 2] and ("there is no run r" in words or "there is no journal" in words) or
              ends == [1, 0] and "runs: end it first" in words, (ends, no_rm, no_resume))
        if f.journal.exists():
            check("it can be removed then", f.run("runs", "rm", "r")[0] == 0)
    check("both were tried", said)


def test_a_run_that_cannot_begin(t):
    """Its file was made, and then the disk is full: that is what is wrong, and not its name."""
    f = t.folder("description: %s\ntext: x\n" % ("x" * 300000))

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200000, 200000))
    for args in (["--id", "r"], ["--record", "here.journal"]):
        code, out, err = f.run("--durable", *args, "main.pdl", preexec_fn=small)
        check("it says so: %s" % args, code == 1 and "cannot write" in err and "already" not in err and not out, (code, out, err))


def test_owner(t):
    f = t.folder("text: [%s, {model: openai/m, input: x}]\n" % STOP)
    p = f.start(["--durable", "--id", "r", "main.pdl"])
    wait_for(f.path / "here")
    code, _, err = f.run("resume", "r")
    check("a run that goes on is nobody else's", code == 1 and "runs already: process %d" % p.pid in err and socket.gethostname() in err, err)
    code, _, err = f.run("--durable", "--id", "r", "main.pdl")
    check("its name is taken", code == 1 and "there is a run r already" in err, err)
    code, _, err = f.run("runs", "rm", "r")
    check("it is not removed", code == 1 and f.journal.exists(), err)
    code, _, err = f.run("answer", "r", "x")
    check("it is not answered", code == 1 and "runs already" in err, err)
    code, out, _ = f.run("runs", "--json")
    check("it is listed as running", json.loads(out)[0]["state"] == "running", out)
    code, out, _ = f.run("runs", "export", "r", "copy.journal")
    check("it can be copied", code == 0 and (f.path / "copy.journal").exists(), out)
    code, out, err = f.run("trace", "r")
    check("its trace is shown up to here", code == 0 and json.loads(out), err)
    f.kill(p)
    p.communicate()
    (f.path / "go").touch()
    code, _, err = f.run("resume", "./copy.journal")
    check("a copy of a run that went on needs --take-over, or its owner is gone", code == 0 or "--take-over" in err, (code, err))
    db = sqlite3.connect(f.journal)
    owner = db.execute("select value from run where key = 'owner'").fetchone()[0]
    db.execute("update run set value = ? where key = 'owner'", (owner.rsplit(" ", 1)[0] + " elsewhere",))
    db.commit()
    db.close()
    code, _, err = f.run("resume", "r")
    check("one of another host needs --take-over", code == 1 and "--take-over" in err and "elsewhere" in err, err)
    code, _, err = f.run("resume", "r", "--take-over")
    check("with it the run continues", code == 0, err)


def test_lock_of_a_child(t):
    """Who is killed while it starts a child leaves it the lock, until the child is another program."""
    f = t.folder("text: [before, %s]\n" % STOP)
    kill_at_stop(f)
    fd = os.open(f.journal, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    child = subprocess.Popen(["sleep", "0.5"], pass_fds=[fd])
    os.close(fd)
    code, out, _ = f.run("runs", "--json")
    check("the run is killed all the same", code == 0 and json.loads(out)[0]["state"] == "killed", out)
    code, out, err = f.run("resume", "r")
    check("and is continued", code == 0 and out.startswith("before"), (code, out, err))
    child.wait()

# --- 9: keys ---


def test_keys(t):
    f = t.folder("text: [{read: key.txt, def: k}, {model: openai/m, input: \"say ${ k }\"}, %s, {model: openai/m, input: \"again ${ k }\"}]\n" % STOP, key_txt=KEY)
    kill_at_stop(f, OPENAI_API_KEY=KEY)
    rest = b"".join(p.read_bytes() for p in f.journal.parent.iterdir() if "journal" in p.name)
    check("keys stand as references", KEY.encode() not in rest and b"k:OPENAI_API_KEY" in rest)
    check("the file is its owner's", oct(f.journal.stat().st_mode & 0o777) == "0o600", f.journal.stat())
    env = {k: v for k, v in f.env.items() if k != "OPENAI_API_KEY"}
    f.env = env
    code, _, err = f.run("resume", "r")
    check("a key that is not set is an error with its name", code == 1 and "OPENAI_API_KEY" in err, err)
    f.env = {**env, "OPENAI_API_KEY": "sk-another-9876543210"}
    code, out, err = f.run("resume", "r")
    check("another key takes its place", code == 0, err)
    code, _, err = f.run("runs", "export", "r", "out.journal", "--redact")
    data = (f.path / "out.journal").read_bytes()
    check("a redacted copy has neither", code == 0 and KEY.encode() not in data and b"k:OPENAI_API_KEY" not in data, err)
    code, _, err = f.run("resume", "./out.journal")
    check("and does not continue", code == 1 and "redacted" in err, err)

# --- policies and sandboxes only become stricter ---


def test_guards(t):
    head, tail = "policy: 1\nrules:\n", "otherwise: allow\n"
    policy = head + "- {sink: tool, deny: [file]}\n" + tail
    f = t.folder("text: [{read: a.txt, def: x}, %s, {model: openai/m, input: \"${ x }\"}]\n" % STOP, a_txt="x", p_yaml=policy,
                    q_yaml=head + "- {sink: model, deny: [file]}\n" + tail)
    kill_at_stop(f, "--policy", "p.yaml")
    (f.path / "p.yaml").write_text(head + "- {sink: tool, deny: [model]}\n" + tail)
    code, _, err = f.run("resume", "r", "--again", "all")
    check("a policy that was loosened stops the resume", code == 2 and "p.yaml" in err, (code, err))
    (f.path / "p.yaml").write_text(policy)
    code, _, err = f.run("resume", "r", "--again", "all", "--policy", "q.yaml")
    check("one that is added holds, too", code == 1 and "policy" in err, (code, err))
    code, _, err = f.run("resume", "r", "--again", "all")
    check("the recorded one is enough", code == 0, (code, err))
    f = t.folder("text: [{read: a.txt}, {lang: command, code: sleep 1}, {model: openai/m, input: x}]\n", a_txt="x")
    p = f.start(["--durable", "--id", "r", "--sandbox", "main.pdl"])
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and p.poll() is None and f.run("runs", "show", "r")[1].count("open") == 0:
        time.sleep(0.02)
    f.kill(p)
    _, err = p.communicate()
    if Choice.sanitized:
        skip("sandboxes", "their helper under sanitizers", 3)
    elif p.returncode != -signal.SIGKILL or b"sandbox" in err:
        skip("sandboxes", "there is none here: %s" % err.decode()[:200], 3)
    else:
        code, _, err = f.run("resume", "r", "--no-sandbox")
        check("a sandbox is not left", code == 2 and "sandbox" in err, (code, err))
        code, _, err = f.run("resume", "r", "--sandbox-min", "process")
        check("nor made weaker", code == 2 and "weaker" in err, (code, err))
        code, _, err = f.run("resume", "r")
        check("a command in it that changed nothing is repeated without asking", code == 0, (code, err))


def test_own_policies(t):
    """The policy that stands in the program itt."""
    own = "policy: {policy: 1, rules: [{sink: tool, deny: [file]}], otherwise: allow}\n"
    body = "text: [{read: a.txt}, %s]\n" % STOP
    for title, now, code_wanted in (("is not removed", body, 2), ("nor loosened", own.replace("deny: [file]", "deny: []") + body, 2),
                                    ("stays where the rest changes", own + body.replace("text: [", "text: [more, "), 0)):
        f = t.folder(own + body, a_txt="x")
        kill_at_stop(f)
        (f.path / "main.pdl").write_text(now)
        code, _, err = f.run("resume", "r", "--again", "all")
        check("the program's own policy " + title, code == code_wanted and ("policy" in err) == (code == 2), (code, err))
        (f.path / "main.pdl").write_text(own + body)
        code, _, err = f.run("resume", "r", "--again", "all")
        check("with it the run continues", code == 0, (code, err))
        f = t.folder(body, a_txt="x")
    kill_at_stop(f)
    (f.path / "main.pdl").write_text(own + body)
    code, _, err = f.run("resume", "r", "--again", "all")
    check("one may be added", code == 0, (code, err))

# --- pausing ---


def test_pauses(t):
    f = t.folder("text:\n- for: {i: [1, 2]}\n  map: {if: \"${ i == 1 }\", then: {read: null, message: \"Who? \"}, else: {model: openai/m, input: aside}}\n"
                    "- \" and \"\n- {read: null, message: \"Whom? \"}\n")
    code, out, err = f.run("--durable", "--park", "--id", "r", "main.pdl")
    check("a question parks", code == 75 and "Who? " in err and "pdl answer r --at" in err, (code, out, err))
    check("what can run has run", t.service.asked["aside"] == 1, t.service.asked)
    code, _, err = f.run("resume", "r")
    check("it parks again", code == 75, err)
    place = re.search(r"--at (\S+)", err).group(1)
    check("an answer", f.run("answer", "r", "--at", place, "Ann")[0] == 0)
    check("there is no second one", f.run("answer", "r", "Bob")[0] == 1)
    code, _, err = f.run("resume", "r", stdin=open("/dev/null", "rb"))
    check("the next question", code == 75 and "Whom? " in err, err)
    (f.path / "lines").write_text("Ann\nBob\n")
    code, out, err = f.run("resume", "r", stdin=open(f.path / "lines", "rb"))
    check("standard input goes on behind the recorded lines", code == 0 and "and Whom? Bob" in out and "read on after" in err and
               t.service.asked["aside"] == 1, (code, out, err))


def test_nothing(t):
    f = t.folder("text: hello\n")
    (f.path / "runs").mkdir()
    f.journal.touch()
    for args in (["resume", "r"], ["resume", "r", "--dry-run"], ["answer", "r", "yes"], ["runs", "show", "r"], ["runs", "export", "r", "copy"], ["trace", "r"]):
        code, _, err = f.run(*args)
        check("a run that left nothing: %s" % args, code == 1 and "nothing was recorded" in err and not (f.path / "copy").exists(), code, err)
    code, out, err = f.run("--durable", "--id", "r", "main.pdl")
    check("its name is free", code == 0 and out == "hello\n", err)


def test_reader_is_gone(t):
    """`pdl trace ID | head` ends as every command does: without a word."""
    f = t.folder("for: {i: \"${ range(500) }\"}\nrepeat: \"${ i }\"\n")
    check("a run", f.run("--durable", "--id", "r", "main.pdl")[0] == 0)
    for form in ("json", "html", "perfetto"):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as out:
            p = subprocess.run([f.pdl, "trace", "r", "--format", form], cwd=f.path, env=f.env, stdout=out, stderr=subprocess.PIPE, timeout=SECONDS, check=False)
        check(form, p.returncode == 141 and not p.stderr, (p.returncode, p.stderr))
