#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py -- speed, side by side in one run.

    bench/run.py [--pdl build/pdl] [--reference CMD] [--no-reference] [--runs N] [--only PART] [--short] [--out FILE]

Whole processes run alternately (A B A B); printed are medians, half their spread, peak resident memory, and ratios. Peers (the reference
interpreter, Lua, jq, jinja2, minijinja, LangChain) are prepared on first use beside the command (peers.py); one that cannot be had is left out and
named, and one that takes two minutes fails. Parts: programs, micro, network, agents, python, durable. Limits are ratios to something in the same
run: a peer, or a bare loop; absolute figures are for information. --short is for tests: no peers, three runs, three times the limits. The processor is named, the machine is not. Python standard library only.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import agent_rows  # noqa: E402
import durable  # noqa: E402
import micro_rows  # noqa: E402
import network_rows  # noqa: E402
import program_rows  # noqa: E402
import python_rows  # noqa: E402
from harness import ROOT, SHARED, build_measure, processor  # noqa: E402
from peers import Peers  # noqa: E402

TITLES = {"programs": "Whole programs", "micro": "Inside one process", "network": "Model calls on loopback", "agents": "A ReAct agent, four ways",
          "python": "The Python package", "durable": "Durable runs"}
TEXT = """# Benchmarks

Written by `make bench`: medians of %d whole-process runs taken alternately, half their spread, peak resident memory. Limits are ratios to
what ran beside. Measured on %s; processor: %s. Peers: %s. %s

"""


MISSED = "## What is missed"


def table(head, lines):
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head)] + lines]) + "\n"


def part_programs(a, peers, folder):
    subprocess.run([sys.executable, str(SHARED / "gen.py"), str(folder)], check=True)
    (folder / "jsonl.pdl").write_bytes((SHARED / "jsonl.pdl").read_bytes())
    program_rows.write_modules(folder / "modules.pdl")
    return program_rows.HEAD, program_rows.rows(a, peers, folder)


def part_micro(a, peers, folder):
    return micro_rows.HEAD, micro_rows.rows(a, folder)


def part_network(a, peers, folder):
    return network_rows.HEAD, network_rows.rows(a, peers, folder)


def part_agents(a, peers, folder):
    return agent_rows.HEAD, [(cells, "fails" not in cells) for cells in agent_rows.rows(a, peers, folder)]


def part_python(a, peers, folder):
    return python_rows.HEAD, python_rows.rows(a, peers, folder)


def part_durable(a, peers, folder):
    return durable.HEAD, durable.rows(a, peers, folder)


PARTS = {"programs": part_programs, "micro": part_micro, "network": part_network, "agents": part_agents, "python": part_python, "durable": part_durable}


def said_before(path):
    """What somebody wrote below the tables of the page: it stays."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text[text.index(MISSED):] if MISSED in text else ""


def options():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--pdl", default=str(ROOT / "build" / "pdl"))
    ap.add_argument("--reference", default="", metavar="CMD", help="command of the reference interpreter; without it one is installed beside the build")
    ap.add_argument("--no-reference", action="store_true", help="none is prepared or measured")
    ap.add_argument("--runs", type=int, default=5)
    ap.add_argument("--only", choices=PARTS, action="append")
    ap.add_argument("--short", action="store_true")
    ap.add_argument("--out", metavar="FILE", help="also write the tables as a page")
    return ap.parse_args()


def main():
    a = options()
    a.pdl = str(pathlib.Path(a.pdl).resolve())
    if not SHARED.is_dir():
        print("bench: %s is not there" % SHARED)
        print("0 passed, 0 failed, %d skipped" % len(program_rows.WORK))
        return 0
    if a.short:
        a.runs, a.only = 3, a.only or ["programs"]
    peers = Peers(pathlib.Path(a.pdl).parent / "bench", a.reference, a.no_reference)
    page, passed, failed = "", 0, 0
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        build_measure(folder)
        for part in a.only or PARTS:
            head, lines = PARTS[part](a, peers, folder)
            text = "## %s\n\n%s\n" % (TITLES[part], table(head, [cells for cells, _ in lines]))
            print(text, end="", flush=True)
            page += text
            passed, failed = passed + sum(ok for _, ok in lines), failed + sum(not ok for _, ok in lines)
    if a.out:
        page += said_before(pathlib.Path(a.out))
        gone = "Not measured here for want of the peer: %s." % ", ".join(peers.missing) if peers.missing else ""
        pathlib.Path(a.out).write_text((TEXT % (a.runs, time.strftime("%d %B %Y"), processor(), peers.versions(), gone)).rstrip() + "\n\n" + page, encoding="utf-8")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
