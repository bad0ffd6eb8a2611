# SPDX-License-Identifier: Apache-2.0
"""Start files and repositories in writable folders cannot be changed, and cannot be replaced through a folder above them. After a run a line names
new ones in folders that confined code may write. `pdl sandbox` also reports as JSON what the machine supports, and shows the Python of the
environment. A tool server that reaches a limit is an error of that kind."""
import json
import os
import shutil
import sys
import tempfile
import venv
from pathlib import Path

import pytest

from ..checks import check
from .kit import PYTHON, STRENGTHS, in_pairs, in_turn, run

SAID = "check them before you enter"
# [what the command does, the new files that are named]
ROWS = [("mkdir -p w/new/.git/hooks && echo x > w/new/.bashrc", ["w/new/.git", "w/new/.bashrc"]), ("echo x > w/sub/.envrc", ["w/sub/.envrc"]),
        ("mkdir w/n && echo x > w/n/.env.local", ["w/n/.env.local"]),
        ("mkdir -p w/n/r.git/objects w/n/r.git/refs && echo x > w/n/r.git/HEAD", ["w/n/r.git"]), ("mkdir w/n && echo x > w/n/HEAD && echo ../c > w/n/commondir", ["w/n"]),
        ("echo x > w/sub/HEAD", []), ("mkdir w/n w/n/refs && echo x > w/n/HEAD", []), ("echo x > w/a; mkdir w/b; echo y > w/b/id_rsa; cat w/old/.npmrc", []), ("true", [])]


# beside what is protected nothing can be made at the strength process
@in_pairs(range(len(ROWS)), lambda row: STRENGTHS[:2] if "mkdir" in ROWS[row][0] else STRENGTHS)
def test_new_files_are_named(pdl, row, strength):
    command, names = ROWS[row]
    for how, block in (("run", {}), ("block", {"sandbox": {"write": ["w"]}})):
        root = Path(tempfile.mkdtemp()).resolve()
        for name in ("w/sub", "w/old"):
            (root / name).mkdir(parents=True)
        (root / "w/old/.npmrc").write_text("old")
        (root / "s.yaml").write_text("write: [w]\n")
        (root / "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", command], "fallback": "failed", **block}))
        r = run([pdl, *(["--sandbox=s.yaml"] if how == "run" else []), *strength.more, "a.pdl"], root, strength.env)
        ok = all(f"{root}/{n}" in r.stderr for n in names) and r.stderr.count(SAID) == bool(names) and f"({len(names)})" in r.stderr * bool(names) + "(0)"
        check(f"{how}: {command}", ok and "failed" not in r.stdout, r.stdout + r.stderr)


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


def lay_out(root):
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
    (root / "own.yaml").write_text("write: [w/proj/bare.git]\n")


@pytest.mark.draws
def test_start_files_stay(pdl, folder, strength):
    """Neither read nor changed, whether tried at the path or by way of a folder above it."""
    root = folder.resolve()
    lay_out(root)
    before = tree(root / "w")
    for command in in_turn(CHANGES, strength):
        r = run([pdl, "sandbox", "--sandbox=s.yaml", *strength.more, "--", "sh", "-c", f"cd w && {command}"], root, strength.env)
        now = tree(root / "w")
        check(command, now == before and "token" not in r.stdout, r.stdout + r.stderr, sorted(set(now.items()) ^ set(before.items())))


def test_the_rest_is_written(pdl, folder, strength):
    """What is not one of those is written as before, also where a repository is named itself."""
    root = folder.resolve()
    lay_out(root)
    before = tree(root / "w")
    for profile, command, want in (("s", "echo x > w/src/n; cat w/src/n", "x\n"),
                                   ("own", "cd w/proj/bare.git; echo x > objects/o; cat objects/o; echo x > hooks/h; echo x > config; cat config", "x\n")):
        r = run([pdl, "sandbox", f"--sandbox={profile}.yaml", *strength.more, "--", "sh", "-c", command], root, strength.env)
        check(command, r.stdout == want, r.stdout + r.stderr)
    now = tree(root / "w")
    check("only that", {k for k, v in now.items() if before.get(k, 0) != v} == {"src/n", "proj/bare.git/objects/o"}, sorted(set(now.items()) ^ set(before.items())))


def test_a_link_is_replaced(pdl, folder, full):
    """A link of that name stays, or with bubblewrap what takes its place is named; a folder that cannot be looked into is named."""
    root = folder.resolve()
    (root / "w/proj").mkdir(parents=True)
    (root / "w/proj/.vscode").symlink_to("../../elsewhere")
    (root / "s.yaml").write_text("write: [w]\n")
    command = "rm w/proj/.vscode && mkdir w/proj/.vscode; mkdir w/shut && chmod 311 w/shut"
    (root / "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", command]}))
    for path in (root, *(p for p in root.rglob("*") if not p.is_symlink())):
        path.chmod(path.stat().st_mode | 0o666 | (0o111 if path.is_dir() else 0))
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 and shutil.which("setpriv") else []
    if os.geteuid() == 0 and not user:
        pytest.skip("root looks into every folder, and there is no setpriv")
    open_to_all(root)
    r = run([*user, pdl, "--sandbox=s.yaml", *full.more, "a.pdl"], root, full.env)
    named = "(1 or more): " + f"{root}/w/proj/.vscode" in r.stderr
    ok = (named if "bubblewrap" in full.name else (root / "w/proj/.vscode").is_symlink()) and f"could not be looked through for files that programs run at their start (1): {root}/w/shut" in r.stderr
    check("a link, and a folder that is shut", ok, r.stdout + r.stderr)


def open_to_all(root):
    """Lets every user reach the folder: those of the test above it are the test's alone."""
    for path in root.parents:
        path.chmod(path.stat().st_mode | 0o111)
        if path == Path(tempfile.gettempdir()).resolve().parent:
            return


def test_json_of_the_machine(pdl, folder):
    for without in ("", "userns", "landlock", "seccomp", "bwrap", "userns,landlock4"):
        env = {"PDL_SANDBOX_WITHOUT": without}
        text = run([pdl, "sandbox", "--show"], folder, env).stdout
        also = run([pdl, "sandbox", "--check"], folder, env)
        check(f"--check, the name of --show in the specification, without {without}", (also.returncode, also.stdout) == (0, text), also)
        found = json.loads(run([pdl, "sandbox", "--show", "--json"], folder, env).stdout)
        check(f"JSON without {without}: strength", f"strength     {found['strength']}" in text, text, found)
        for key in ("namespaces", "bubblewrap"):
            check(f"JSON without {without}: {key}", found[key]["works"] == (f"{key}   yes" in text) and (found[key]["why"] is None) == found[key]["works"], text, found)
        weaker = found["weaker"]
        ok = all(f"- {x}\n" in text for x in weaker) and text.count(" - ") == len(weaker) and any("tmp:" in x for x in weaker) == (found["strength"] == "process")
        check(f"JSON without {without}: what is weaker", ok, text, found)
        check(f"JSON without {without}: locks", found["seccomp"] == ("seccomp      yes" in text) and bool(found["landlock"]) == ("Landlock     yes" in text), text, found)


@in_pairs(["PDL_PYTHON", "VIRTUAL_ENV", "PDL_PYTHON, VIRTUAL_ENV"])
def test_the_python_of_the_environment_is_shown(pdl, row, strength):
    d = tempfile.mkdtemp(prefix="pdl-venv-", dir="/var/tmp")
    try:
        place = Path(d).resolve() / "venv"
        venv.create(place, with_pip=False, symlinks=True)
        Path(d, "prog").mkdir()
        python = str(place / "bin/python3")
        named = {"PDL_PYTHON": sys.executable if "," in row else python if "PYTHON" in row else "", "VIRTUAL_ENV": str(place) if "ENV" in row else ""}
        r = run([pdl, "sandbox", *strength.more, "--", python, "-c", "print('fine')"], Path(d, "prog"), {**named, **strength.env})
        check(row, r.stdout == "fine\n", r.stdout + r.stderr)
    finally:
        shutil.rmtree(d)


LOST = "cannot be started: PDL_PYTHON names it"


@in_pairs(["no environment", "no file", "no program", "not in PATH"])
def test_lost_pythons(pdl, folder, row, strength):
    """A Python that is not there is said to be missing; a virtual environment that is gone does not matter, as without a sandbox."""
    (folder / "a.pdl").write_text(json.dumps({"lang": "python", "code": "result = 'fine'", "fallback": "${ pdl_error.message }"}))
    named, want = {"no environment": ({"VIRTUAL_ENV": "/nonexistent"}, "fine"), "no file": ({"PDL_PYTHON": "/nonexistent/python3"}, LOST),
                   "no program": ({"PDL_PYTHON": str(folder / "a.pdl")}, LOST),
                   "not in PATH": ({"PDL_PYTHON": "python3", "PATH": str(folder / "empty")}, "no python3 found in the sandbox (set PDL_PYTHON)")}[row]
    r = run([pdl, "--sandbox", *strength.more, "a.pdl"], folder, {"PDL_PYTHON": "", "VIRTUAL_ENV": "", **strength.env, **named})
    check(f"{row}: {named}", r.stdout.strip().endswith(want), r.stdout + r.stderr)


# bubblewrap reads all mounts again for each one
@in_pairs([1000, 1500], only_all=STRENGTHS[:1])
def test_many_start_files(pdl, folder, row, strength):
    """More start files than can be mounted over are a refusal that says what to do; a thousand are none."""
    (folder / "s.yaml").write_text("write: [w]\n")
    (folder / "empty").write_text("")
    for i in range(row):
        (folder / f"w/{i}").mkdir(parents=True)
        os.link(folder / "empty", folder / f"w/{i}/.envrc")
    r = run([pdl, "sandbox", "--sandbox=s.yaml", *strength.more, "--", "echo", "fine"], folder, strength.env, timeout=200)
    ok = r.stdout == "fine\n" or (row > 1000 and r.returncode == 1 and "too many files to hide or keep in its folders: " in r.stderr and ".envrc is one. Name smaller folders" in r.stderr)
    check(f"{row} start files", ok, r.returncode, r.stdout + r.stderr)


SERVER = "import os, time\nfor i in range(20):\n    if os.fork() == 0: time.sleep(20); os._exit(0)\ntime.sleep(20)\n"


AT_A_LIMIT = {"started more processes than its sandbox allows": [*PYTHON, "server.py"], "no such program": ["./is-not-there"]}


@in_pairs(AT_A_LIMIT)
def test_servers_at_a_limit(pdl, folder, row, strength):
    (folder / "server.py").write_text(SERVER)
    command = AT_A_LIMIT[row]
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"many": {"command": command[0], "args": command[1:], "sandbox": {"processes": 8}}}}))
    (folder / "a.pdl").write_text(json.dumps({"defs": {"s": {"import": "mcp:many"}}, "text": "${ s.echo() }"}))
    r = run([pdl, *strength.more, "a.pdl"], folder, {**strength.env, "PDL_MCP_CONFIG": str(folder / "mcp.json")})
    check(f"a server: {row}", row in r.stdout + r.stderr, r.stdout + r.stderr)
