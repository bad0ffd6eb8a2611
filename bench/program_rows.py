# SPDX-License-Identifier: Apache-2.0
"""program_rows.py -- whole programs: those of ../shared/bench and our own, beside Lua, jq, Python and the reference where they do the same work."""
import pathlib

from harness import ROOT, SHARED, alternate, span
from peers import quiet_environment

HERE = pathlib.Path(__file__).resolve().parent
HEAD = ["work", "pdl", "limit", "peers (time, memory, times as long as pdl)"]

# name, program, variables, {peer: its size, or "" for the same}, limit in seconds (None: none is set), in MB
WORK = [
    ("hello", "hello.pdl", "", {"true": "", "lua": "", "reference": ""}, 0.0025, 8),
    ("function calls, fib 25", "fib.pdl", "n: 25", {"lua": "", "reference": "n: 13"}, 0.7e-6 * 242785 + 0.0025, 64),
    ("recursion, 100 000 deep", "depth.pdl", "n: 100000", {"lua": "", "reference": "n: 40"}, 0.5, 256),
    ("loop, 1 000 000 iterations", "loop.pdl", "n: 1000000", {"lua": "", "reference": "n: 300"}, 1.0, 64),
    ("accumulate, 1 000 000 iterations", "accumulate.pdl", "n: 1000000", {"lua": "", "reference": "n: 150"}, 1.0, 64),
    ("chat, 20 000 turns", "chat.pdl", "n: 20000", {"reference": "n: 50"}, 0.5, 128),
    ("5 000 definitions", "defs.pdl", "", {}, 0.06, 64),
    ("import of every module of the library", "modules.pdl", "", {}, 0.005 + 0.0025, 16),
    ("JSONL, 200 000 rows", "jsonl.pdl", "", {"jq": "", "python": "", "reference": ""}, 0.15, 130),
    ("template of 200 rows, 1 000 times", "templates.pdl", "", {"jinja2": "", "minijinja": ""}, 1000 * 40e-6 + 0.0025, 16),
    ("simple expression, 100 000 times", "expressions.pdl", "", {"jinja2": "", "minijinja": ""}, 100000 * 0.2e-6 + 0.0025, 16),
]

SPIN = 0.10

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


def one(row, a, peers, folder):
    """-> cells of the table, whether the command is within three times its limit"""
    name, program, data, rivals, limit, limit_mb = row
    path = find(program, folder)
    sizes = {peer: size for peer, size in rivals.items() if not a.short and not (peer == "reference" and a.no_reference)}
    commands = {"pdl": pdl_argv([a.pdl], path, data)}
    for peer, size in sizes.items():
        argv = peer_argv(peer, program, path, size, peers)
        if argv:
            commands[peer] = argv
    got = alternate(commands, a.runs, folder, environment())
    ours = got.pop("pdl")
    others = "; ".join(cell(peer, figure, ours, sizes[peer]) for peer, figure in got.items())
    words = "<= %s, %d MB" % (span(limit), limit_mb)
    return [name, "fails" if ours is None else str(ours), words, others], within(ours, limit, limit_mb, commands["pdl"], a, folder)


def within(figure, limit, limit_mb, command, a, folder):
    """Whether the best run is within three times the limit. A miss is measured again, beside work of a fixed size that takes SPIN seconds on the processor
    of docs/benchmarks.md: a slow or busy machine is no failure."""
    for _ in range(3):
        if figure is None or (figure.best <= 3 * limit and figure.mb <= 3 * limit_mb):
            break
        got = alternate({"pdl": command, "spin": [str(folder / "measure"), "--spin"]}, a.runs, folder, environment())
        figure, limit = got["pdl"], limit * max(1, got["spin"].best / SPIN)
    return figure is not None and figure.best <= 3 * limit and figure.mb <= 3 * limit_mb


def rows(a, peers, folder):
    return [one(row, a, peers, folder) for row in WORK]
