# SPDX-License-Identifier: Apache-2.0
"""test_faults.py -- the surroundings of a run break: streams, files, limits of the process, signals at random moments.

Each run is bounded in time and memory. Afterwards no process of the run is left, and the files that it wrote are whole.
"""
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time

import pytest

from ..checks import check
from ..harness.choice import Choice
from .kit import MB, SECONDS, Runs, closing, limited
from .programs import PROGRAMS

# --- streams and files ---------------------------------------------------------------------------

LONG = "text:\n- for: {i: \"${ range(3000) }\"}\n  repeat: \"some words of output ${ i }\"\n"


def test_streams_and_files(pdl):
    t = Runs(pdl)
    full = open("/dev/full", "wb")
    t.case("standard output is full", LONG, 1, "No space left on device", stdout=full)
    t.case("standard output is full, with trace and journal", LONG, 1, "No space left on device", stdout=full,
           args=["-t", "trace.json", "--record", "journal.db"])
    t.case("standard error is full", PROGRAMS["fails"], 1, stderr=full)
    full.close()
    t.case("standard output is closed", "text: hello\n", 1, "cannot write", limits=closing(1))
    t.case("standard input is closed", "read:\nmessage: name\nfallback: none\n", (0, 1), limits=closing(0))
    t.case("standard error is closed", PROGRAMS["fails"], 1, limits=closing(2))
    t.case("all streams are closed", PROGRAMS["python"], 1, limits=closing(0, 1, 2))
    t.case("the trace cannot be written", "text: hello\n", 0, "trace", b"hello", args=["-t", "/proc/none/trace.json"])
    t.case("the journal cannot be written", "text: hello\n", 2, "journal", args=["--record", "/proc/none/journal.db"])
    t.case("files may not grow: trace", LONG, 0, "trace", args=["-t", "trace.json"], limits=limited(file_size=4096), stdout=subprocess.PIPE)
    t.case("files may not grow: journal", PROGRAMS["python"], 1, "", args=["--record", "journal.db"], limits=limited(file_size=4096))
    t.case("files may not grow: a file of the program", "defs: {f: {aggregator: {file: big.txt}}}\ntext: \"${ 'x' * 100000 }\"\ncontribute: [f]\n",
           1, "main.pdl:3 - ", limits=limited(file_size=4096))


# --- limits of the process -----------------------------------------------------------------------


LITTLE = 80 * MB
# name: program, the line of the block that is reported when there is no memory; the messages say "memory"
EATERS = {
    "many small values": ("text:\n- on\n- for: {i: \"${ range(100000000) }\"}\n  repeat:\n    data: {a: \"${ i }\", b: [\"${ i }\"]}\n  join: {as: array}\n", 3),
    "a list that doubles": ("defs: {x: {data: [0]}}\nrepeat:\n  def: x\n  data: ${ x + x }\njoin: {as: lastOf}\n", 4),
    "a text that doubles": ("defs: {x: xxxxxxxx}\nrepeat:\n  def: x\n  text: ${ x ~ x }\njoin: {as: lastOf}\n", 4),
    "nested values": ("defs: {x: {data: []}}\nrepeat:\n  def: x\n  data: ${ [x, 'text', [1, 2]] }\njoin: {as: lastOf}\n", 1),
    "iterations side by side": ("text:\n- on\n- {for: {i: \"${ range(3000000) }\"}, map: {data: {a: [\"${ i }\"], b: [\"${ i }\"], c: [\"${ i }\"]}}}\n", 3),
    "the context": ("repeat:\n  text: \"some words for the context\"\n  contribute: [context]\njoin: {as: lastOf}\n", 1),
}
FALLBACK = """text:
- for: {i: "${ range(100000000) }"}
  repeat:
    data: {a: "${ i }", b: ["${ i }"]}
  join: {as: array}
  fallback: saved
- ", and on"
"""


def test_small_stacks(pdl):
    t = Runs(pdl)
    for name, program in PROGRAMS.items():
        status = {"fails": 1, "wrong": 1}.get(name, (0, 1))
        t.case("stack of 256 KB: " + name, program, status, limits=limited(stack=256 * 1024))


def test_little_memory(pdl):
    t = Runs(pdl)
    for name in ("hello", "loops", "template", "large"):
        t.case("memory of 64 MB: " + name, PROGRAMS[name], (0, 1), limits=limited(memory=64 * MB))
    for name, (program, line) in EATERS.items():
        t.case("memory is eaten by " + name, program, 1, "main.pdl:%d - " % line, limits=limited(memory=LITTLE))
    t.case("memory comes back", FALLBACK, 0, "", b"saved, and on", limits=limited(memory=LITTLE))
    t.case("memory is eaten by Python", "lang: python\ncode: |\n  x = [0]\n  while True: x = x + x\n", 1, "MemoryError",
           limits=limited(memory=600 * MB))


def test_few_descriptors(pdl):
    t = Runs(pdl)
    t.case("eight descriptors", PROGRAMS["python"], (0, 1), limits=limited(files=8))
    t.case("twenty descriptors", PROGRAMS["python"], (0, 1), limits=limited(files=20))
    with tempfile.TemporaryDirectory() as d:
        said = [t.finished(t.start(d, PROGRAMS["python"], limits=limited(files=n), stdout=subprocess.PIPE, stderr=subprocess.PIPE), "%d descriptors" % n)[2] for n in range(9, 20)]
    check("the want of descriptors is told, and not that there is no python3", any("too many open files" in err for err in said) and not any("no python3" in err for err in said), said)


# --- signals -------------------------------------------------------------------------------------

BUSY = {
    "python": "text:\n- lang: python\n  code: |\n    import subprocess\n    print('on', flush=True)\n    subprocess.run(['sleep', '30'])\n    result = 1\n",
    "loop": "text:\n- on\n- repeat: {data: 1}\n  maxIterations: 1000000000\n  join: {as: lastOf}\n",
    "endless": "text:\n- on\n- lang: python\n  code: |\n    while True: pass\n",
    "command": "text:\n- on\n- lang: command\n  code: sleep 30\n",
    "cell": "text:\n- on\n- lang: ipython\n  code: |\n    while True: pass\n- lang: command\n  code: sleep 30\n",
    "functions": "defs:\n  f:\n    function: {n: integer}\n    return: ${ n + 1 }\ntext:\n- on\n- lang: python\n  code: |\n    while True: f(n=1)\n",
    "map": "text:\n- on\n- for: {i: \"${ range(8) }\"}\n  map: {lang: command, code: sleep 30}\n",
}
STATUS = {signal.SIGINT: (130, -2), signal.SIGTERM: (143, -15), signal.SIGHUP: (143, -1), signal.SIGPIPE: None}


def wait_until_ignored(pid, sig):
    """Before the first line of main a signal still does what the system does: that moment is not ours."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        mask = int(re.search(r"SigIgn:\t(\w+)", pathlib.Path("/proc/%d/status" % pid).read_text())[1], 16)
        if mask >> (sig - 1) & 1:
            return
        time.sleep(0.002)


def interrupt(t, name, sig, after, args):
    title = "%s to %s after %.0f ms" % (signal.Signals(sig).name, name, after * 1000)
    with tempfile.TemporaryDirectory() as d:
        p = t.start(d, BUSY[name], args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(after)
        if STATUS[sig] is None:
            wait_until_ignored(p.pid, sig)
        p.send_signal(sig)
        if STATUS[sig] is None:  # ignored; what follows is not
            time.sleep(0.05)
            check(title + ": goes on", p.poll() is None)
            p.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        status, _, err = t.finished(p, title)
        want = STATUS[sig] or STATUS[signal.SIGTERM]
        check(title, status in want and time.monotonic() - begin < 5 and "Traceback" not in err, "exit status %s\n%s" % (status, err[:600]))
        t.clean(title, d)


@pytest.mark.parametrize("name", BUSY)
def test_signals(pdl, scale, name):
    """At random moments, which are those of the commit."""
    t, rng = Runs(pdl), random.Random(Choice.seed + name)
    for _ in range(scale(4, 2)):
        sig = rng.choice(list(STATUS))
        args = rng.choice([[], ["-t", "trace.json"], ["--record", "journal.db"], ["-t", "trace.json", "--record", "journal.db"]])
        interrupt(t, name, sig, rng.choice([0.02, 0.1, 0.4]) * rng.random(), args)


def test_a_killed_run(pdl, folder):
    t = Runs(pdl)
    p = t.start(folder, BUSY["endless"], ["--record", "journal.db"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.read(2)
    time.sleep(0.3)
    p.kill()
    t.finished(p, "SIGKILL")
    t.clean("SIGKILL", folder)
