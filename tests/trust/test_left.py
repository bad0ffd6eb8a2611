"""test_left.py BUILD_DIR -- after a run a line names the start files that are new in folders which confined code may write; `pdl sandbox`
says what the machine can do as JSON, too, and shows the Python of the environment; a tool server that meets a limit is an error of that kind.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from checks import check, finish  # noqa: E402
from test_escapes import PDL, strengths  # noqa: E402

SAID = "look at them before you enter"
# [what the command does, the new files that are named]
ROWS = [("mkdir -p w/new/.git/hooks && echo x > w/new/.bashrc", ["w/new/.git", "w/new/.bashrc"]), ("echo x > w/sub/.envrc", ["w/sub/.envrc"]),
        ("mkdir w/n && echo x > w/n/.env.local", ["w/n/.env.local"]), ("echo x > w/a; mkdir w/b; echo y > w/b/id_rsa; cat w/old/.npmrc", []), ("true", [])]


def left(strength, env, args):
    for command, names in ROWS:
        if strength == "process" and "mkdir" in command:
            continue  # beside what is protected nothing can be made there
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            root = Path(d).resolve()
            for folder in ("w/sub", "w/old"):
                (root / folder).mkdir(parents=True)
            (root / "w/old/.npmrc").write_text("old")
            (root / "s.yaml").write_text("write: [w]\n")
            for how, block in (("run", {}), ("block", {"sandbox": {"write": ["w"]}})):
                (root / "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", command], "fallback": "failed", **block}))
                options = ["--sandbox=s.yaml", *args[1:]] if how == "run" else args[1:]
                r = subprocess.run([PDL, *options, "a.pdl"], cwd=root, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)
                ok = all(f"{root}/{n}" in r.stderr for n in names) and r.stderr.count(SAID) == bool(names) and f"({len(names)})" in r.stderr * bool(names) + "(0)"
                check(f"{strength}, {how}: {command}", ok and "failed" not in r.stdout, r.stdout + r.stderr)
                for n in names:
                    subprocess.run(["rm", "-rf", str(root / n)], check=False)
                subprocess.run(["rm", "-rf", str(root / "w/new"), str(root / "w/n"), str(root / "w/b")], check=False)


def machine():
    for without in ("", "userns", "landlock", "seccomp", "bwrap", "userns,landlock4"):
        env = {**os.environ, "PDL_SANDBOX_WITHOUT": without}
        text = subprocess.run([PDL, "sandbox", "--check"], env=env, capture_output=True, text=True, timeout=60, check=False).stdout
        found = json.loads(subprocess.run([PDL, "sandbox", "--check", "--json"], env=env, capture_output=True, text=True, timeout=60, check=False).stdout)
        check(f"JSON without {without}: strength", f"strength     {found['strength']}" in text, text, found)
        for key in ("namespaces", "bubblewrap"):
            check(f"JSON without {without}: {key}", found[key]["works"] == (f"{key}   yes" in text) and (found[key]["why"] is None) == found[key]["works"], text, found)
        check(f"JSON without {without}: locks", found["seccomp"] == ("seccomp      yes" in text) and bool(found["landlock"]) == ("Landlock     yes" in text), text, found)


def python_of_environment(strength, env, args):
    with tempfile.TemporaryDirectory(prefix="pdl-trust-", dir="/var/tmp") as d:
        venv = Path(d).resolve() / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
        Path(d, "prog").mkdir()
        python = str(venv / "bin/python3")
        for named in ({"PDL_PYTHON": python}, {"VIRTUAL_ENV": str(venv)}, {"PDL_PYTHON": sys.executable, "VIRTUAL_ENV": str(venv)}):
            named = {"PDL_PYTHON": "", "VIRTUAL_ENV": "", **named}
            r = subprocess.run([PDL, "sandbox", *args, "--", python, "-c", "print('fine')"], cwd=Path(d, "prog"), env={**os.environ, **env, **named},
                               capture_output=True, text=True, timeout=60, check=False)
            check(f"{strength}: {named}", r.stdout == "fine\n", r.stdout + r.stderr)


SERVER = "import os, time\nfor i in range(60):\n    if os.fork() == 0: time.sleep(20); os._exit(0)\ntime.sleep(20)\n"


def servers(strength, env, args):
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        Path(d, "server.py").write_text(SERVER)
        for command, want in (([sys.executable, "server.py"], "started more processes than its sandbox allows"), (["./is-not-there"], "no such program")):
            Path(d, "mcp.json").write_text(json.dumps({"mcpServers": {"many": {"command": command[0], "args": command[1:], "sandbox": {"processes": 8}}}}))
            Path(d, "a.pdl").write_text(json.dumps({"defs": {"s": {"import": "mcp:many"}}, "text": "${ s.echo() }"}))
            r = subprocess.run([PDL, *args[1:], "a.pdl"], cwd=d, env={**os.environ, **env, "PDL_MCP_CONFIG": f"{d}/mcp.json"}, capture_output=True, text=True, timeout=120, check=False)
            check(f"{strength}: a server: {want}", want in r.stdout + r.stderr, r.stdout + r.stderr)


if __name__ == "__main__":
    for how in strengths():
        left(*how)
        python_of_environment(*how)
        servers(*how)
    machine()
    sys.exit(finish())
