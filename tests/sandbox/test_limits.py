# SPDX-License-Identifier: Apache-2.0
"""A command that reaches a limit of its profile gets an error of a special kind, which `fallback` sees, and the run continues. A resource that the
machine lacks at the moment can be tried again."""
import json
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from ..checks import check, skip
from .kit import PYTHON, in_turn, python_line, run

KIND = "${ pdl_error.kind }"
IN_C = "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (char *p; (p = malloc(1 << 16));) memset(p, 1, 1 << 16); abort(); }\n"
# [kind, program of the command or a script of the shell]
ROWS = [
    ("memory", [*PYTHON, "-c", "x = []\nwhile True: x.append(bytes(1 << 20))"]), ("memory", [*PYTHON, "-c", "bytearray(3 << 30)"]),
    ("memory", "awk 'BEGIN { x = \"aaaaaaaaaaaaaaaa\"; while (1) x = x x }'"), ("memory", "x=a; while :; do x=$x$x; done"),
    ("memory", python_line(" -c 'bytearray(3 << 30)' || exit 7")), ("memory", ["./grow"]), ("memory", "./grow; exit $?"),
    ("code", "echo memory is fine >&2; exit 3"), ("code", "kill -9 $$"), ("code", "kill -SEGV $$"), ("code", ["./is-not-there"]),
    ("time", "sleep 60"), ("time", "setsid sleep 60 & wait"), ("time", "trap '' TERM INT HUP; while :; do sleep 0.1; done"),
    ("processes", "for i in 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p; do sleep 30 & done; wait"),
]


@pytest.mark.draws
def test_limits(pdl, folder, strength):
    rows = in_turn(ROWS, strength)
    (folder / "grow.c").write_text(IN_C)
    needs_c = any("grow" in str(command) for _, command in rows)
    has_c = needs_c and shutil.which("cc") and subprocess.run(["cc", "-o", "grow", "grow.c"], cwd=folder, check=False).returncode == 0
    for kind, command in rows:
        if "grow" in str(command) and not has_c:
            skip(str(command), "no compiler")
            continue
        (folder / "s.yaml").write_text(f"seconds: {1 if kind == 'time' else 60}\nmemory: 256\nprocesses: 16\n")
        argv = command if isinstance(command, list) else ["sh", "-c", command]
        (folder / "a.pdl").write_text(json.dumps({"text": [{"lang": "command", "args": argv, "fallback": KIND}, " ", {"lang": "command", "args": ["echo", "on"]}]}))
        r = run([pdl, "--sandbox=s.yaml", *strength.more, "a.pdl"], folder, strength.env)
        check(f"{kind}: {command}", r.stdout.strip() == f"{kind} on" and r.returncode == 0, r.stdout + r.stderr)


def test_what_it_wrote_is_shown(pdl, folder, strength):
    (folder / "s.yaml").write_text("memory: 256\n")
    (folder / "a.pdl").write_text(json.dumps({"lang": "command", "args": [*PYTHON, "-c", "bytearray(3 << 30)"], "retry": 1}))
    r = run([pdl, "--sandbox=s.yaml", *strength.more, "a.pdl"], folder, strength.env)
    check("what it wrote is shown", r.returncode == 1 and r.stderr.count("MemoryError\n") == 2 and "more memory than its sandbox allows" in r.stderr, r.stderr)


# The command is a copy outside of /tmp, which is mounted over.
FULL = """
mount -t tmpfs -o size=8k,nr_inodes=4 none /tmp || exit 9
touch /tmp/1 /tmp/2 /tmp/3 2>/dev/null
for backend in process native; do
    min=; [ $backend = process ] && min='--sandbox-min process' && export PDL_SANDBOX_WITHOUT=userns
    [ $backend = native ] && unset PDL_SANDBOX_WITHOUT
    echo "== $backend"; "$0" --sandbox $min a.pdl 2>&1; echo "== status $?"
done
rm /tmp/1 /tmp/2 /tmp/3; PDL_SANDBOX_WITHOUT=userns "$0" --sandbox --sandbox-min process a.pdl 2>/dev/null
"""


def outside_of_tmp(pdl):
    """A folder outside of /tmp, with a copy of the command, which may stand below /tmp itself."""
    place = pathlib.Path(tempfile.mkdtemp(prefix="pdl-full-", dir="/var/tmp"))
    shutil.copy(pdl, place / "pdl")
    return place


def test_full_tmp(pdl):
    """A full /tmp outside: at the strength process the folder for temporary files cannot be made, which another try may change."""
    place = outside_of_tmp(pdl)
    try:
        blocks = [{"lang": "command", "args": ["echo", "hi"], "retry": 2, "fallback": KIND}, " ", {"lang": "python", "code": "result = 'py'", "fallback": KIND}, " on"]
        (place / "a.pdl").write_text(json.dumps({"text": blocks}))
        r = run(["unshare", "-rm", "sh", "-c", FULL, place / "pdl"], place, {"TMPDIR": "/tmp"})
    finally:
        shutil.rmtree(place)
    if "== native" not in r.stdout:
        pytest.skip(f"nothing can be mounted here: {r.stderr.strip()[-200:]}")
    if "no Landlock" in r.stdout or "no seccomp" in r.stdout:
        pytest.skip("no sandbox here")
    said = {part.split("\n")[0]: part for part in r.stdout.split("== ")}
    process = said["process"]
    check("a full /tmp, process: it is tried again", process.count("[Retry ") == 2 and process.count("No space left") == 3, process)
    check("a full /tmp, process: fallback sees io", process.count("\nio ") == 2 and " on\n" in process, process)
    if "cannot confine code fully" not in r.stdout:
        check("a full /tmp, full: no matter", "hi\n py on" in said["native"], said["native"])
    check("with room again", r.stdout.rstrip().endswith("hi\n py on"), r.stdout)
