"""test_limits.py BUILD_DIR -- what a command meets at the limits of its profile is an error of its own kind, which `fallback` sees, and the
run continues; what is lacking outside at that moment can be tried again.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from checks import check, finish, skip  # noqa: E402
from test_escapes import PDL, strengths  # noqa: E402

KIND = "${ pdl_error.kind }"
IN_C = "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (char *p; (p = malloc(1 << 16));) memset(p, 1, 1 << 16); abort(); }\n"
# [kind, program of the command or a script of the shell]
ROWS = [
    ("memory", [sys.executable, "-c", "x = []\nwhile True: x.append(bytes(1 << 20))"]), ("memory", [sys.executable, "-c", "bytearray(3 << 30)"]),
    ("memory", "awk 'BEGIN { x = \"aaaaaaaaaaaaaaaa\"; while (1) x = x x }'"), ("memory", "x=a; while :; do x=$x$x; done"),
    ("memory", f"{sys.executable} -c 'bytearray(3 << 30)' || exit 7"), ("memory", ["./grow"]), ("memory", "./grow; exit $?"),
    ("code", "echo memory is fine >&2; exit 3"), ("code", "kill -9 $$"), ("code", "kill -SEGV $$"), ("code", ["./is-not-there"]),
    ("time", "sleep 60"), ("time", "setsid sleep 60 & wait"), ("time", "trap '' TERM INT HUP; while :; do :; done"),
    ("processes", "for i in 1 2 3 4 5 6 7 8 9 a b c d e f g h i j k l m n o p; do sleep 30 & done; wait"),
]


def limits(strength, env, args):
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        Path(d, "grow.c").write_text(IN_C)
        has_c = shutil.which("cc") and subprocess.run(["cc", "-o", "grow", "grow.c"], cwd=d, check=False).returncode == 0
        for kind, command in ROWS:
            if "grow" in str(command) and not has_c:
                skip(f"{strength}: {command}", "no compiler")
                continue
            Path(d, "s.yaml").write_text(f"seconds: {1 if kind == 'time' else 60}\nmemory: 256\nprocesses: 16\n")
            argv = command if isinstance(command, list) else ["sh", "-c", command]
            Path(d, "a.pdl").write_text(json.dumps({"text": [{"lang": "command", "args": argv, "fallback": KIND}, " ", {"lang": "command", "args": ["echo", "on"]}]}))
            r = subprocess.run([PDL, "--sandbox=s.yaml", *args[1:], "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
            check(f"{strength}: {kind}: {command}", r.stdout.strip() == f"{kind} on" and r.returncode == 0, r.stdout + r.stderr)
        Path(d, "s.yaml").write_text("memory: 256\n")
        Path(d, "a.pdl").write_text(json.dumps({"lang": "command", "args": [sys.executable, "-c", "bytearray(3 << 30)"], "retry": 1}))
        r = subprocess.run([PDL, "--sandbox=s.yaml", *args[1:], "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
        check(f"{strength}: what it wrote is shown", r.returncode == 1 and r.stderr.count("MemoryError\n") == 2 and "more memory than its sandbox allows" in r.stderr, r.stderr)


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


def full_tmp():
    """A full /tmp outside: at the strength process the folder for temporary files cannot be made, which another try may change."""
    with tempfile.TemporaryDirectory(prefix="pdl-trust-", dir="/var/tmp") as d:
        blocks = [{"lang": "command", "args": ["echo", "hi"], "retry": 2, "fallback": KIND}, " ", {"lang": "python", "code": "result = 'py'", "fallback": KIND}, " on"]
        Path(d, "a.pdl").write_text(json.dumps({"text": blocks}))
        r = subprocess.run(["unshare", "-rm", "sh", "-c", FULL, str(PDL)], cwd=d, capture_output=True, text=True, timeout=120, check=False)
        if "== native" not in r.stdout:
            skip("a full /tmp", f"nothing can be mounted here: {r.stderr.strip()[-200:]}")
            return
        said = {part.split("\n")[0]: part for part in r.stdout.split("== ")}
        if "no Landlock" in r.stdout or "no seccomp" in r.stdout:
            skip("a full /tmp", "no sandbox here")
            return
        process = said["process"]
        check("a full /tmp, process: it is tried again", process.count("[Retry ") == 2 and process.count("No space left") == 3, process)
        check("a full /tmp, process: fallback sees io", process.count("\nio ") == 2 and " on\n" in process, process)
        if "cannot confine code fully" not in r.stdout:
            check("a full /tmp, full: no matter", "hi\n py on" in said["native"], said["native"])
        check("with room again", r.stdout.rstrip().endswith("hi\n py on"), r.stdout)


if __name__ == "__main__":
    for how in strengths():
        limits(*how)
    full_tmp()
    sys.exit(finish())
