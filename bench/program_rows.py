# SPDX-License-Identifier: Apache-2.0
"""program_rows.py -- whole programs: those of ../shared/bench and our own, beside Lua, jq, Python and the reference where they do the same work."""
import pathlib

from harness import ROOT, SHARED, alternate, bare_loop
from peers import quiet_environment

HERE = pathlib.Path(__file__).resolve().parent
HEAD = ["work", "pdl", "limit", "peers (time, memory, times as long as pdl)"]

LOOP = "bare loop"
# name, program, variables, {peer: its size, or "" for the same}, {yardstick: at most so many times as long}, limit in MB. The first yardstick that was
# measured counts.
WORK = [
    ("hello", "hello.pdl", "", {"true": "", "lua": "", "reference": ""}, {"true": 4, LOOP: 0.03}, 5),
    ("function calls, fib 25", "fib.pdl", "n: 25", {"lua": "", "reference": "n: 13"}, {"lua": 25, LOOP: 1.2}, 64),
    ("recursion, 100 000 deep", "depth.pdl", "n: 100000", {"lua": "", "reference": "n: 40"}, {"lua": 15, LOOP: 2}, 256),
    ("loop, 1 000 000 iterations", "loop.pdl", "n: 1000000", {"lua": "", "reference": "n: 300"}, {"lua": 0.3, LOOP: 2}, 64),
    ("accumulate, 1 000 000 iterations", "accumulate.pdl", "n: 1000000", {"lua": "", "reference": "n: 150"}, {"lua": 60, LOOP: 2.5}, 64),
    ("chat, 20 000 turns", "chat.pdl", "n: 20000", {"reference": "n: 50"}, {LOOP: 0.5}, 128),
    ("5 000 definitions", "defs.pdl", "", {}, {LOOP: 0.5}, 64),
    ("import of every module of the library", "modules.pdl", "", {}, {LOOP: 0.1}, 16),
    ("JSONL, 200 000 rows", "jsonl.pdl", "", {"jq": "", "python": "", "reference": ""}, {"jq": 0.5, "python": 0.3, LOOP: 3}, 130),
    ("template of 200 rows, 1 000 times", "templates.pdl", "", {"jinja2": "", "minijinja": ""}, {"jinja2": 0.11, "minijinja": 0.25, LOOP: 0.8}, 16),
    ("simple expression, 100 000 times", "expressions.pdl", "", {"jinja2": "", "minijinja": ""}, {"jinja2": 0.02, "minijinja": 0.1, LOOP: 0.15}, 16),
]

LUA = {"fib.pdl": ("fib.lua", "25"), "depth.pdl": ("depth.lua", "100000"), "loop.pdl": ("loop.lua", "1000000"),
       "accumulate.pdl": ("accumulate.lua", "1000000")}


def environment():
    return dict(quiet_environment(), PDL_PATH=str(ROOT))


def write_modules(path):
    """A program that imports all of lib/."""
    names = sorted(str(p.relative_to(ROOT).with_suffix("")) for p in (ROOT / "lib").rglob("*.pdl"))
    path.write_text("defs:\n" + "".join("  m%d: {import: %s}\n" % (i, name) for i, name in enumerate(names)) + "text: done\n", encoding="utf-8")


def find(program, folder):
    return next(p / program for p in (folder, HERE / "programs", SHARED) if (p / program).exists())


def pdl_argv(command, path, data):
    return command + ["--stream", "none"] + (["-d", data] if data else []) + [str(path)]


def peer_argv(peer, program, path, size, peers):
    """The command of a peer for a program, or None where the peer is missing."""
    if peer == "reference":
        command = peers.reference()
        return command and pdl_argv(command, path, size)
    if peer in ("jinja2", "minijinja"):
        python = peers.environment("templates")
        what = (peer, "1000") if program == "templates.pdl" else (peer + "-expr", "100000")
        return python and [python, str(HERE / "peers" / "template.py"), *what]
    command = peers.program(peer)
    if command is None or peer == "true":
        return command and [command]
    if peer == "lua":
        script, n = LUA.get(program, (None, None))
        return [command, str(HERE / "peers" / script), n] if script else [command, "-e", "print('Hello ' .. 1 + 1)"]
    rows = str(path.parent / "rows.jsonl")
    return [command, "-n", "[inputs.score] | add", rows] if peer == "jq" else [command, str(HERE / "peers" / "jsonl.py"), rows]


def cell(peer, figure, ours, size):
    if figure is None:
        return "%s fails" % peer
    note = " for %s" % size if size else ", %.3g×" % (figure.seconds / ours.seconds) if ours else ""
    return "%s %s%s" % (peer, figure, note)


def within(ours, got, limits, limit_mb, slack):
    """(the words of the limit, whether it holds). The least processor times are compared: other work of the machine takes time of the clock."""
    yard = next(name for name in limits if got.get(name))
    words = "<= %g× %s, %d MB" % (limits[yard], yard, limit_mb)
    return words, ours is not None and ours.work <= slack * limits[yard] * got[yard].work and ours.mb <= slack * limit_mb


def one(row, a, peers, folder):
    """-> cells of the table, whether the limit holds"""
    name, program, data, rivals, limits, limit_mb = row
    path = find(program, folder)
    sizes = {} if a.short else rivals
    commands = {"pdl": pdl_argv([a.pdl], path, data), LOOP: bare_loop(folder)}
    for peer, size in sizes.items():
        argv = peer_argv(peer, program, path, size, peers)
        if argv:
            commands[peer] = argv
    got = alternate(commands, a.runs, folder, environment())
    words, ok = within(got["pdl"], got, limits, limit_mb, 3 if a.short else 1)
    ours = got.pop("pdl")
    others = "; ".join(cell(peer, figure, ours, sizes.get(peer, "")) for peer, figure in got.items())
    return [name, "fails" if ours is None else str(ours), words, others], ok


def rows(a, peers, folder):
    return [one(row, a, peers, folder) for row in WORK]
