"""test_left.py BUILD_DIR -- start files and repositories in folders to write cannot be changed, nor replaced by way of a folder above them;
after a run a line names those that are new in folders which confined code may write; `pdl sandbox`
says what the machine can do as JSON, too, and shows the Python of the environment; a tool server that meets a limit is an error of that kind.
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
from checks import check, finish  # noqa: E402
from test_escapes import PDL, strengths  # noqa: E402

SAID = "look at them before you enter"
# [what the command does, the new files that are named]
ROWS = [("mkdir -p w/new/.git/hooks && echo x > w/new/.bashrc", ["w/new/.git", "w/new/.bashrc"]), ("echo x > w/sub/.envrc", ["w/sub/.envrc"]),
        ("mkdir w/n && echo x > w/n/.env.local", ["w/n/.env.local"]),
        ("mkdir -p w/n/r.git/objects w/n/r.git/refs && echo x > w/n/r.git/HEAD", ["w/n/r.git"]), ("mkdir w/n && echo x > w/n/HEAD && echo ../c > w/n/commondir", ["w/n"]),
        ("echo x > w/sub/HEAD", []), ("mkdir w/n w/n/refs && echo x > w/n/HEAD", []), ("echo x > w/a; mkdir w/b; echo y > w/b/id_rsa; cat w/old/.npmrc", []), ("true", [])]


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


# What confined code tries in w, which has proj/.git/, proj/.envrc, proj/.zshrc -> ../dots/rc, proj/bare.git/ and b/, a link to proj/.git
CHANGES = ["echo x > proj/.git/config", "echo x > proj/.git/hooks/h", "mv proj p && mkdir -p proj/.git && echo x > proj/.git/config", "echo x > dots/rc", "mv dots d",
           "echo x > proj/bare.git/config", "echo x > proj/bare.git/hooks/h", "rm -rf proj/bare.git/hooks", "echo . > proj/bare.git/commondir", "echo x > proj/bare.git/config.worktree",
           "mv proj/bare.git proj/b && mkdir proj/bare.git && cp -r proj/b/objects proj/b/refs proj/b/HEAD proj/bare.git && echo x > proj/bare.git/config", "cat proj/bare.git/config",
           "cat proj/.git/config", "cat proj/.env", "echo x > proj/.envrc"]


def repository(folder):
    for name in ("objects", "refs", "hooks"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text("token")


def tree(root):
    return {str(p.relative_to(root)): None if p.is_dir() else p.read_text() for p in root.rglob("*")}


def changes(strength, env, args):
    """Neither read nor changed, whether tried at the path or by way of a folder above it."""
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        root = Path(d).resolve()
        repository(root / "w/proj/.git")
        repository(root / "w/proj/bare.git")
        (root / "w/dots").mkdir()
        (root / "w/src").mkdir()
        (root / "w/dots/rc").write_text("rc")
        (root / "w/dots/dev").write_text("token")
        (root / "w/proj/.zshrc").symlink_to("../dots/rc")
        (root / "w/proj/.env").symlink_to("../dots/dev")
        (root / "w/proj/.envrc").write_text("rc")
        (root / "s.yaml").write_text("write: [w]\n")
        before = tree(root / "w")
        for command in CHANGES:
            r = subprocess.run([PDL, "sandbox", "--sandbox=s.yaml", *args[1:], "--", "sh", "-c", f"cd w && {command}"], cwd=root, env={**os.environ, **env}, capture_output=True,
                               text=True, timeout=60, check=False)
            now = tree(root / "w")
            check(f"{strength} {env}: {command}", now == before and "token" not in r.stdout, r.stdout + r.stderr, sorted(set(now.items()) ^ set(before.items())))
        # what is not one of those is written as before, also where a repository is named itself
        (root / "own.yaml").write_text("write: [w/proj/bare.git]\n")
        for profile, command, want in (("s", "echo x > w/src/n; cat w/src/n", "x\n"), ("own", "cd w/proj/bare.git; echo x > objects/o; cat objects/o; echo x > hooks/h; echo x > config; cat config", "x\n")):
            r = subprocess.run([PDL, "sandbox", f"--sandbox={profile}.yaml", *args[1:], "--", "sh", "-c", command], cwd=root, env={**os.environ, **env}, capture_output=True, text=True,
                               timeout=60, check=False)
            check(f"{strength} {env}: {command}", r.stdout == want, r.stdout + r.stderr)
        now = tree(root / "w")
        check(f"{strength} {env}: only that", {k for k, v in now.items() if before.get(k, 0) != v} == {"src/n", "proj/bare.git/objects/o"}, sorted(set(now.items()) ^ set(before.items())))


def replaced(strength, env, args):
    """A link cannot be mounted over: what takes its place is named, as is a folder that cannot be looked into."""
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        root = Path(d).resolve()
        (root / "w/proj").mkdir(parents=True)
        (root / "w/proj/.vscode").symlink_to("../../elsewhere")
        (root / "s.yaml").write_text("write: [w]\n")
        command = "rm w/proj/.vscode && mkdir w/proj/.vscode; mkdir w/shut && chmod 311 w/shut"
        (root / "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", command]}))
        subprocess.run(["chmod", "-R", "a+rwX", str(root)], check=True)
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 and shutil.which("setpriv") else []
        r = subprocess.run([*user, PDL, "--sandbox=s.yaml", *args[1:], "a.pdl"], cwd=root, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, check=False)
        ok = "(1 or more): " + f"{root}/w/proj/.vscode" in r.stderr and f"could not be looked through for files that programs run at their start (1): {root}/w/shut" in r.stderr
        check(f"{strength} {env}: a link, and a folder that is shut", ok or os.geteuid() == 0 and not user, r.stdout + r.stderr)


def machine():
    for without in ("", "userns", "landlock", "seccomp", "bwrap", "userns,landlock4"):
        env = {**os.environ, "PDL_SANDBOX_WITHOUT": without}
        text = subprocess.run([PDL, "sandbox", "--check"], env=env, capture_output=True, text=True, timeout=60, check=False).stdout
        found = json.loads(subprocess.run([PDL, "sandbox", "--check", "--json"], env=env, capture_output=True, text=True, timeout=60, check=False).stdout)
        check(f"JSON without {without}: strength", f"strength     {found['strength']}" in text, text, found)
        for key in ("namespaces", "bubblewrap"):
            check(f"JSON without {without}: {key}", found[key]["works"] == (f"{key}   yes" in text) and (found[key]["why"] is None) == found[key]["works"], text, found)
        weaker = found["weaker"]
        ok = all(f"- {x}\n" in text for x in weaker) and text.count(" - ") == len(weaker) and any("tmp:" in x for x in weaker) == (found["strength"] == "process")
        check(f"JSON without {without}: what is weaker", ok, text, found)
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


def lost_pythons(strength, env, args):
    """A Python that is not there is said to be missing; a virtual environment that is gone does not matter, as without a sandbox."""
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        Path(d, "a.pdl").write_text(json.dumps({"lang": "python", "code": "result = 'fine'", "fallback": "${ pdl_error.message }"}))
        bare = {"PATH": str(Path(d, "empty"))}
        for named, want in (({"VIRTUAL_ENV": "/nonexistent"}, "fine"), ({"PDL_PYTHON": "/nonexistent/python3"}, "no python3 found (set PDL_PYTHON)"),
                            ({"PDL_PYTHON": str(Path(d, "a.pdl"))}, "no python3 found (set PDL_PYTHON)"), ({"PDL_PYTHON": "python3", **bare}, "no python3 found in the sandbox (set PDL_PYTHON)")):
            named = {"PDL_PYTHON": "", "VIRTUAL_ENV": "", **named}
            r = subprocess.run([PDL, *args, "a.pdl"], cwd=d, env={**os.environ, **env, **named}, capture_output=True, text=True, timeout=60, check=False)
            check(f"{strength}: {named}", r.stdout.strip().endswith(want), r.stdout + r.stderr)


def many(strength, env, args):
    """More start files than can be mounted over are a refusal that says what to do; a thousand are none."""
    with tempfile.TemporaryDirectory(prefix="pdl-") as d:
        Path(d, "s.yaml").write_text("write: [w]\n")
        for n, before in ((1000, 0), (1500, 1000)):
            for i in range(before, n):
                Path(d, f"w/{i}").mkdir(parents=True)
                Path(d, f"w/{i}/.envrc").write_text("")
            r = subprocess.run([PDL, "sandbox", "--sandbox=s.yaml", *args[1:], "--", "echo", "fine"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True, timeout=300, check=False)
            ok = r.stdout == "fine\n" or (n > 1000 and r.returncode == 1 and "too many files to hide in its folders: name smaller ones" in r.stderr)
            check(f"{strength}: {n} start files", ok, r.returncode, r.stdout + r.stderr)


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
        changes(*how)
        if how[0] != "process":  # beside what is protected nothing can be changed there
            replaced(*how)
        python_of_environment(*how)
        lost_pythons(*how)
        many(*how)
        servers(*how)
    machine()
    sys.exit(finish())
