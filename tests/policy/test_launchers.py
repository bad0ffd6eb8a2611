"""A rule for a command applies wherever the command is started: by env, sudo, a script of a shell, find. When the words do not show which command is
started, every rule that names a command applies. The programs here are links to `true`, so nothing is really done.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import subprocess

import pytest

from ..checks import check
from .tries import run

X = "${ w }"
RM = {"rules": [{"sink": "command rm", "allow": []}, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}
REFUSED = (
    ["rm", X], ["/bin/rm", X], ["env", "rm", X], ["env", "-i", "A=b", "rm", X], ["env", "-u", "A", "-C", "/tmp", "--", "rm", X], ["env", "-", "rm", X], ["env", "--unset=A", "rm", X],
    ["env", "-S", "rm", X], ["/usr/bin/env", "/bin/rm", X], ["env", "A=" + X, "rm"], ["sudo", "-u", "x", "rm", X], ["sudo", "-nu", "x", "B=1", "rm", X], ["sudo", "-i", "rm", X],
    ["doas", "rm", X], ["nice", "rm", X], ["nice", "-n", "5", "rm", X], ["nice", "-5", "rm", X], ["nice", "--adjustment=5", "rm", X], ["nice", "-n5", "env", "rm", X],
    ["timeout", "5", "rm", X], ["timeout", "-s", "KILL", "-k5", "5", "rm", X], ["timeout", "--foreground", "5", "nice", "rm", X], ["nohup", "rm", X], ["setsid", "-w", "rm", X],
    ["stdbuf", "-oL", "rm", X], ["ionice", "-c2", "-n", "0", "rm", X], ["chrt", "-b", "0", "rm", X], ["taskset", "1", "rm", X], ["chroot", "/", "rm", X], ["unshare", "-r", "rm", X],
    ["flock", "lock", "rm", X], ["flock", "lock", "-c", "rm " + X], ["xargs", "rm", X], ["xargs", "-n", "1", "-0", "rm", X], ["xargs", "-I{}", "rm", X], ["busybox", "rm", X],
    ["busybox", "sh", "-c", 'rm "$1"', "sh", X], ["toybox", "rm", X], ["time", "-p", "rm", X], ["fakeroot", "rm", X], ["find", ".", "-name", X, "-exec", "rm", "{}", X, ";"],
    ["find", X, "-execdir", "env", "rm", X, "+"], ["find", X, "-exec", "rm", "{}", ";"], ["find", ".", "-name", X, "-exec", "rm", "./{}", "+"], ["find", X, "-exec", "sh", "-c", 'rm "$1"', "sh", "{}", ";"],
    ["find", X, "-exec", "true", "{}", ";", "-exec", "nice", "rm", "{}", ";"], ["find", "-exec", "rm", "{}", ";", "-path", X], ["sh", "-c", 'find "$1" -exec rm {} \\;', "sh", X],
    ["xargs", "-a", X, "rm"], ["xargs", "-d", X, "rm"], ["find", ".", "-ok", "rm", X, ";"],
    ["sh", "-c", "rm " + X], ["sh", "-c", 'rm "$1"', "sh", X], ["sh", "-ec", 'rm "$1"', "sh", X], ["bash", "-o", "pipefail", "-c", 'true | rm "$1"', "sh", X], ["dash", "-c", 'exec "$@"', "sh", "rm", X],
    ["sh", "-c", '"$0" "$1"', "rm", X], ["sh", "-c", "'r'm \"$1\"", "sh", X], ["sh", "-c", 'r\\m "$1"', "sh", X], ["sh", "-c", '"rm" "$1"', "sh", X], ["sh", "-c", 'A=b rm "$1"', "sh", X],
    ["sh", "-c", 'if true; then rm "$1"; fi', "sh", X], ["sh", "-c", 'for f in a b; do rm "$f"; done', "sh", X], ["sh", "-c", '! rm "$1"', "sh", X], ["sh", "-c", '{ rm "$1"; }', "sh", X],
    ["sh", "-c", '(cd /tmp && rm "$1")', "sh", X], ["sh", "-c", '>log rm "$1"', "sh", X], ["sh", "-c", 'rm 2>/dev/null "$1"', "sh", X], ["sh", "-c", '$CMD "$1"', "sh", X],
    ["sh", "-c", '$(echo rm) "$1"', "sh", X], ["sh", "-c", '`echo rm` "$1"', "sh", X], ["sh", "-c", 'eval "r""m $1"', "sh", X], ["sh", "-c", 'echo "$(rm $1)"', "sh", X],
    ["sh", "-c", 'f() { rm "$1"; }; f "$1"', "sh", X], ["sh", "-c", 'case a in a) rm "$1";; esac', "sh", X], ["sh", "-c", 'env rm "$1"', "sh", X], ["sh", "-c", 'xargs rm <"$1"', "sh", X],
    ["sh", "-c", 'trap "rm $1" EXIT', "sh", X], ["sh", "-c", 'command rm "$1"', "sh", X], ["sh", "-c", 'set -- rm "$1"; "$@"', "sh", X], ["sh", "-c", '/bin/r? "$1"', "sh", X],
    ["sh", "-c", 'true\nrm "$1"', "sh", X], ["sh", "-c", 'true&rm "$1"', "sh", X], ["sh", "-c", "sh -c 'rm \"$1\"' sh \"$1\"", "sh", X], ["sh", "-c", 'cat <<E | sh\nrm\nE', "sh", X],
    ["sh", "-c", 'time rm "$1"', "sh", X], ["sh", "-c", 'time -p rm "$1"', "sh", X], ["sh", "-c", "rm $1", "sh", X], ["sh", "-c", 'find . -exec rm "$1" ";"', "sh", X],
    ["sh", "-c", 'echo "$1" | xargs rm', "sh", X], ["sh", "-c", 'echo "$1" | sh', "sh", X], ["sh", "-c", 'echo "$1" | cat | rm', "sh", X], ["sh", "-c", 'echo "$1" > f; xargs rm < f', "sh", X],
    ["sh", "-c", 'echo "$1" >> f && rm f', "sh", X], ["sh", "-c", 'echo "$1" | tee f; xargs -a f rm', "sh", X],
    ["zsh", "-c", 'rm "$1"', "sh", X], ["fish", "-c", "rm", X], ["python3", "-c", "import os; os.system('rm')", X], ["perl", "-le", "system('rm')", X], ["ruby", "-e", "1", X], ["node", "--eval=1", X],
    ["awk", "{system(\"rm\")}", X], ["tar", "--to-command=rm", "-xf", X], ["rsync", "-ae", "rm", X], ["git", "-c", "alias.x=!rm", "x", X], ["su", "-c", "rm", X], ["ssh", "host", "rm", X],
    ["fd", "-x", "rm", X], ["fd", "-e", "txt", "--exec", "rm", X], ["fdfind", "-HX", "rm", X], ["fd", "--exec-batch=rm", X], ["rg", "--pre", "rm", X], ["rg", "--pre=rm", "a", X], ["sort", "--compress-program=rm", X],
    ["npx", "rm", X], ["uv", "run", "rm", X], ["make", X], ["numactl", "-N0", "rm", X], ["chronic", "rm", X], ["hyperfine", X],
    ["watch", "rm", X], ["strace", "rm", X], ["docker", "run", "i", "rm", X], ["parallel", "rm", ":::", X], ["script", "-c", "rm", X],
)
PASSES = (
    ["echo", X], ["env", "echo", X], ["env", "-i", "A=rm", "echo", X], ["nice", "-n", "5", "echo", "rm", X], ["timeout", "5", "echo", X], ["xargs", "echo", X], ["sudo", "-u", "rm", "echo", X], ["env", X, "a"], ["awk", X, "file"], ["env", "A=b"],
    ["sh", "-c", 'echo "$1"', "sh", X], ["sh", "-c", 'echo rm "$1" | wc -l > /dev/null; true', "sh", X], ["sh", "-c", 'if [ -n "$1" ]; then echo "rm $1"; fi', "sh", X], ["sh", "-c", 'exec "$@"', "sh", "echo", X],
    ["sh", "-c", 'echo "$1" 2>&1 >/dev/null; rm -f nothing', "sh", X], ["sh", "-c", 'echo "$1" || rm -f nothing', "sh", X], ["sh", "-c", 'echo "$1" > f', "sh", X],
    ["sh", "-c", "# rm\necho \"$1\" 2>/dev/null", "sh", X], ["sh", "-c", 'for f in a; do echo "$f" "$1"; done', "sh", X], ["find", ".", "-name", X, "-exec", "echo", "{}", ";"], ["find", ".", "-name", X], ["find", X, "-exec", "echo", "{}", ";"], ["find", X, "-exec", "rm", "-f", "nothing", ";"],
    ["find", ".", "-exec", "echo", X, "{}", ";", "-exec", "rm", "-f", "{}", ";"], ["xargs", "-a", "file", "echo", X],
    ["python3", "script.py", X], ["awk", "{print $1}", X], ["tar", "-xf", X], ["busybox", "echo", X], ["sh", "-ec", 'set -u; echo "$1"', "sh", X], ["git", "add", X], ["rmdir", X], ["env", "rmdir", X],
    ["fd", "-e", "txt", X], ["rg", "-n", X, "."], ["sort", "-u", X],
)


@pytest.fixture
def links(folder):
    """A folder of programs that do nothing, in the place of those that are meant."""
    place = folder / "bin"
    place.mkdir()
    for name in {c[0].rsplit("/", 1)[-1] for c in REFUSED + PASSES} | {"printenv"}:
        (place / name).symlink_to("/bin/true")
    return place


def program(args):
    return {"defs": {"w": {"read": "mail"}}, "text": [{"lang": "command", "args": args}, " RAN"]}


def tried(pdl, folder, links, args, policy, *options):
    args = [a.replace("/usr/bin/env", str(links / "env")).replace("/bin/rm", str(links / "rm")) for a in args[:1]] + args[1:]
    return run(pdl, folder, program(args), *options, policy=policy, files={"mail": "words"}, env={"PATH": "%s:%s" % (links, os.environ["PATH"])})


@pytest.mark.parametrize("part", range(4))
def test_refused(pdl, folder, links, part):
    for args in REFUSED[part::4]:
        out, err = tried(pdl, folder, links, args, RM)
        check(str(args), "RAN" not in out and "policy p.yaml, line 1, refuses argument" in err, out, err)


def test_passes(pdl, folder, links):
    for args in PASSES:
        out, err = tried(pdl, folder, links, args, RM)
        check(str(args), "RAN" in out and "refuses" not in err, out, err)
    for args in REFUSED:  # without the text of the file, and without a rule for rm
        policy = {"rules": [{"sink": "command", "allow": ["file"]}], "otherwise": "deny"}
        out, err = tried(pdl, folder, links, args, policy) if args[0] in ("env", "nice", "sh") and len(args) < 5 else ("RAN", "")
        check("no rule: %s" % args, "RAN" in out, out, err)


def test_rules(pdl, folder, links):
    user = {"sink": "command", "argument": 0, "allow": []}
    for name, args, policy, want in (
            ("always", ["env", "rm", "a"], {"rules": [{"sink": "command rm", "always": "approve"}], "otherwise": "allow"}, False),
            ("always, another", ["env", "echo", "a"], {"rules": [{"sink": "command rm", "always": "approve"}], "otherwise": "allow"}, True),
            ("always, in the dark", ["sh", "-c", "$(cat x)"], {"rules": [{"sink": "command rm", "always": "approve"}], "otherwise": "allow"}, False),
            ("named commands alone", ["env", "rm", X], {"rules": [{"sink": "command env", "allow": ["file"]}, {"sink": "command echo", "allow": ["file"]}], "otherwise": "deny"}, False),
            ("both are named", ["env", "echo", X], {"rules": [{"sink": "command env", "allow": ["file"]}, {"sink": "command echo", "allow": ["file"]}], "otherwise": "deny"}, True),
            ("a number", ["env", "echo", "a", X], {"rules": [{"sink": "command echo", "argument": 2, "deny": ["file"]}], "otherwise": "allow"}, False),
            ("another number", ["env", "echo", X, "a"], {"rules": [{"sink": "command echo", "argument": 2, "deny": ["file"]}], "otherwise": "allow"}, True),
            ("a number in a script", ["sh", "-c", 'echo a "$1"', "sh", X], {"rules": [{"sink": "command echo", "argument": 2, "deny": ["file"]}], "otherwise": "allow"}, False),
            ("another in a script", ["sh", "-c", 'echo "$1"', "sh", X], {"rules": [{"sink": "command echo", "argument": 2, "deny": ["file"]}], "otherwise": "allow"}, True),
            ("the name is the text", ["env", X], {"rules": [user, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}, False),
            ("the script is the text", ["sh", "-c", X], {"rules": [user, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}, False),
            ("the code is the text", ["python3", "-c", X], {"rules": [user, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}, False),
            ("the code is not", ["python3", "-c", "1", X], {"rules": [user, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}, True),
            ("the script is not", ["sh", "-c", "$A b", "sh", X], {"rules": [user, {"sink": "command", "allow": ["file"]}], "otherwise": "deny"}, True),
            ("patterns", ["env", "rm", X], {"rules": [{"sink": "command r*", "deny": ["file"]}], "otherwise": "allow"}, False),
            ("values", ["sh", "-c", X], {"lists": {"few": ["words"]}, "rules": [{"sink": "command rm", "in": "few", "otherwise": "deny"}], "otherwise": "allow"}, False)):
        out, err = tried(pdl, folder, links, args, policy)
        check(name, ("RAN" in out) == want, out, err)
    _, err = tried(pdl, folder, links, ["env", "rm", X], RM)
    check("who starts it", "refuses argument 1 of sink command rm, which env starts: from file" in err, err)
    _, err = tried(pdl, folder, links, ["sh", "-c", X], RM)
    check("any command", "of sink command sh, which may start any command: from file" in err, err)


def test_sources(pdl, folder, links):
    """A label for what a command says is given when another one starts it; trust is not."""
    use = {"lang": "command", "args": ["echo", "${ v }"]}
    policy = {"labels": {"secret": [{"command": "printenv"}]}, "rules": [{"sink": "command echo", "deny": ["secret"]}], "otherwise": "allow"}
    for args, want in ((["printenv"], False), ([str(links / "printenv")], False), (["env", "printenv"], False), (["sh", "-c", "printenv"], False), (["sh", "-c", "$X"], False), (["env", "A=b", "true"], True)):
        out, err = run(pdl, folder, {"text": [{"def": "v", "lang": "command", "args": args, "contribute": []}, use, " RAN"]}, policy=policy, env={"X": "true", "PATH": "%s:%s" % (links, os.environ["PATH"])})
        check(f"label of {args}", ("RAN" in out) == want, out, err)
    policy = {"trusted": [{"command": "date"}, {"command": "env"}, {"command": "sh"}], "rules": [{"sink": "command echo", "deny": ["command"]}], "otherwise": "allow"}
    (links / "date").symlink_to("/bin/true")
    for args, want in ((["date"], True), (["env", "date"], True), (["env", "true"], False), (["sh", "-c", "$X"], False), ([str(links / "date")], False)):
        out, err = run(pdl, folder, {"text": [{"def": "v", "lang": "command", "args": args, "contribute": []}, use, " RAN"]}, policy=policy, env={"X": "true", "PATH": "%s:%s" % (links, os.environ["PATH"])})
        check(f"trust of {args}", ("RAN" in out) == want, out, err)


def test_one_question(pdl, folder, links):
    """A person who approved the whole command is not asked again about what it starts."""
    policy = {"rules": [{"sink": "command", "allow": [], "otherwise": "approve"}], "otherwise": "deny"}
    out, err = tried(pdl, folder, links, ["env", "nice", "rm", X], policy, "--durable", "--park", "--id", "q")
    check("it asks", "may this be done" in err, out, err)
    env = {**os.environ, "HOME": str(folder), "PATH": "%s:%s" % (links, os.environ["PATH"])}
    said = [subprocess.run([pdl, *a], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False) for a in (["answer", "q", "--at", "text.0.code.approval", "y"], ["resume", "q"])]
    check("once", "RAN" in said[1].stdout, *(p.stdout + p.stderr for p in said))


def test_check(pdl, folder, links):
    """pdl check finds what is always refused, and knows that such a rule is used."""
    for args, refused in ((["env", "rm", X], True), (["env", "echo", X], False), (["sh", "-c", 'rm "$1"', "sh", X], True)):
        (folder / "p.yaml").write_text(json.dumps({"policy": 1, **RM}))
        (folder / "a.pdl").write_text(json.dumps(program(args)))
        p = subprocess.run([pdl, "check", "--policy", "p.yaml", "a.pdl"], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
        check(str(args), ("always refuses argument" in p.stdout + p.stderr) == refused, p.stdout, p.stderr)
