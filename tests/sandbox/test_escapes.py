# SPDX-License-Identifier: Apache-2.0
"""The sandbox holds: each attempt of escapes.py succeeds without it, and fails in the weakest strength that must prevent it and in every stronger
one. Attempts in Python are made twice: as commands, where one Python forks a process for each attempt, and as code of the worker."""
import json
import os
import re
from pathlib import Path

import pytest

from ..checks import check, skip
from .escapes import ALONE, ATTEMPTS, OF_MACHINE, PROCESS, groups
from .kit import PYTHON, in_turn, run, turn
from .places import Place

DRIVER = Path(__file__).with_name("attempt_each.py")
OF_WORKER = [a for a in ATTEMPTS if a[2] == "python"]
IN_WORKER = """
import contextlib, io
said = io.StringIO()
with contextlib.redirect_stdout(said): exec(%r, {})
result = said.getvalue()
"""


def as_commands(place, attempts):
    """The blocks of a program: one Python that forks a process for each attempt, and a command for those that end a command."""
    forked = [(i, kind, place.text(text)) for i, (name, _, kind, text) in enumerate(attempts) if name not in ALONE]
    (place.dir / "attempts.json").write_text(json.dumps(forked))
    (place.dir / "each.py").write_text(DRIVER.read_text("utf-8"))
    yield {"lang": "command", "args": [*PYTHON, str(place.dir / "each.py"), str(place.dir / "attempts.json")], "fallback": ""}
    for i, (name, _, _, text) in enumerate(attempts):
        if name in ALONE:
            yield {"lang": "command", "args": [*PYTHON, "-c", place.text(text)], "def": "r", "contribute": [], "fallback": ""}
            yield f"[{i} ${{ r|trim }}]"


def in_worker(place, attempts):
    for i, (_, _, _, text) in enumerate(attempts):
        yield {"lang": "python", "code": IN_WORKER % place.text(text), "def": "r", "contribute": [], "fallback": ""}
        yield f"[{i} ${{ r|trim }}]"


def made(pdl, folder, blocks, attempts, args, env):
    """-> (the indices of the attempts that print ESCAPED, how many were made)"""
    folder.mkdir()
    place = Place(folder.resolve())
    try:
        program = place.dir / "attempts.pdl"
        program.write_text(json.dumps({"text": list(blocks(place, attempts))}))
        inherited = os.open(place.out / "inherited", os.O_RDONLY)
        os.set_inheritable(inherited, True)
        canaries = {"HOME": str(place.home), "OPENAI_API_KEY": "sk-canary", "MY_TOKEN": "sk-canary", "SSH_AUTH_SOCK": str(place.out / "sock"), "PDL_PYTHON": ""}
        r = run([pdl, *args, program], folder, {**canaries, **env}, timeout=300, close_fds=False, start_new_session=True)
        os.close(inherited)
    finally:
        place.close()
    done = dict(re.findall(r"\[(\d+) ([^\]]*)\]", r.stdout))
    if r.returncode:
        print(r.stderr[-2000:])
    return {int(i) for i, out in done.items() if "ESCAPED" in out}, len(done)


@pytest.mark.parametrize("blocks, attempts", [(as_commands, ATTEMPTS), (in_worker, OF_WORKER)], ids=["commands", "the code worker"])
def test_attempts_succeed_without_the_sandbox(pdl, folder, blocks, attempts):
    out, n = made(pdl, folder / "x", blocks, attempts, [], {})
    missing = [a[0] for i, a in enumerate(attempts) if i not in out]
    wrong = [m for m in missing if m not in OF_MACHINE]
    check("attempts succeed without the sandbox", n == len(attempts) and not wrong, n, ", ".join(wrong))
    for name in missing:
        skip(name, "does not succeed without the sandbox here")


def held(pdl, folder, blocks, attempts, args, env):
    out, n = made(pdl, folder / "x", blocks, attempts, args, env)
    check("all attempts were made", n == len(attempts), f"{n} of {len(attempts)}")
    for i, attempt in enumerate(attempts):
        check(attempt[0], i not in out, "it succeeded")


def holds(attempt, strength):
    return strength.name != "process" or attempt[1] == PROCESS


def test_attempts_as_commands(pdl, folder, strength):
    held(pdl, folder, as_commands, [a for a in ATTEMPTS if holds(a, strength)], ["--sandbox", *strength.more], strength.env)


@pytest.mark.draws
def test_attempts_in_the_code_worker(pdl, folder, strength):
    held(pdl, folder, in_worker, in_turn(OF_WORKER, strength, applies=holds), ["--sandbox", *strength.more], strength.env)


# What Landlock holds since its ABI 6; on older kernels the note says so.
SIGNALS = {"kill a process outside", "signal a group of processes outside", "signal a process outside by its descriptor"}
ABIS = [1, 2, 5]


@pytest.mark.draws
@pytest.mark.parametrize("abi", ABIS)
def test_older_kernels(pdl, folder, abi):
    """Older ABIs of Landlock hold what the strength process promises: the first, that of Debian 12, and the last without signals."""
    attempts = [a for a in ATTEMPTS if a[1] == PROCESS and a[0] not in OF_MACHINE | SIGNALS and abi in turn(a[0], ABIS)]
    env, args = {"PDL_SANDBOX_WITHOUT": f"userns,landlock{abi + 1}"}, ["--sandbox", "--sandbox-min", "process"]
    (folder / "a.pdl").write_text("text: {lang: command, args: [echo, hi]}")
    r = run([pdl, *args, "a.pdl"], folder, env)
    if "hi" not in r.stdout:
        skip(f"Landlock {abi}", r.stderr.strip()[-200:])
        return
    check("the note", "can send signals" in r.stderr, r.stderr)
    held(pdl, folder, as_commands, attempts, args, env)


def test_page():
    """The table of docs/manual/security.md has the numbers of the attempts."""
    text = (Path(__file__).resolve().parents[2] / "docs/manual/security.md").read_text("utf-8")
    for name, rows in groups():
        n = len(rows)
        line = f"| {name} | {n} | {n} | {sum(r[1] == PROCESS for r in rows)} | {sum(r[2] == 'python' for r in rows)} |"
        check(line, line in text)
