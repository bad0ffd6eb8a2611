# SPDX-License-Identifier: Apache-2.0
"""What each strength does for useful work, at its limits, at its end, and with more rights; also profiles with mistakes, and machines that lack
features."""
import json
import os
import pty
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ..checks import check
from .kit import PYTHON, STRENGTHS, environment, in_pairs, in_turn, run

USEFUL = """
import json, multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading
with tempfile.NamedTemporaryFile("w+") as f:
    f.write("x"); f.flush()
    assert open(f.name).read() == "x"
with tempfile.TemporaryDirectory() as d: open(os.path.join(d, "y"), "w").write("y")
with sqlite3.connect(os.path.join(tempfile.gettempdir(), "t.db")) as c:
    c.execute("create table t (a)"); c.execute("insert into t values (1)")
    assert c.execute("select a from t").fetchall() == [(1,)]
assert subprocess.run(["sh", "-c", "echo hi | tr h H"], capture_output=True, text=True).stdout == "Hi\\n"
if SHM:
    with multiprocessing.get_context("fork").Pool(3) as p: assert p.map(abs, [-1, 2, -3]) == [1, 2, 3]
fifo = os.path.join(tempfile.gettempdir(), "fifo")
os.mkfifo(fifo)
assert subprocess.run(["sh", "-c", f"echo hi > {fifo} & cat {fifo}"], capture_output=True, text=True).stdout.strip() == "hi"
t = threading.Thread(target=lambda: None); t.start(); t.join()
assert open("beside.txt").read() == "beside"
found = []
for name in ("numpy", "pandas", "matplotlib"):
    try: __import__(name)
    except ImportError: continue
    found.append(name)
result = "fine"
"""


def test_useful_work(pdl, folder, strength):
    (folder / "beside.txt").write_text("beside")
    text = USEFUL.replace("SHM", "False" if strength.name == "process" else "True")
    (folder / "a.pdl").write_text(json.dumps({"text": [{"lang": "python", "code": text}, " ",
                                                       {"lang": "command", "args": ["sh", "-c", "f=$(mktemp) && cat beside.txt > $f && cat $f"]}]}))
    r = run([pdl, "--sandbox", *strength.more, "a.pdl"], folder, strength.env)
    check("useful work", r.stdout.strip() == "fine beside", (r.stdout + r.stderr)[-800:])


KINDS = [("memory", "b = bytearray(3 << 30)\nresult = 1"), ("memory", "x = []\nwhile True: x.append(bytes(1 << 20))\n"),
         ("memory", "def f():\n    x = []\n    while True: x.append(bytes(1 << 20))\nf()"), ("memory", "import math\nmath.x = []\nwhile True: math.x.append(bytes(1 << 12))"),
         ("processes", "import os, time\nfor i in range(80):\n    if os.fork() == 0: time.sleep(3); os._exit(0)\ntime.sleep(1)\nresult = 1"),
         ("time", "import time\ntime.sleep(30)\nresult = 1")]


@in_pairs(range(len(KINDS)))
def test_limits_of_code(pdl, folder, row, strength):
    """Limits become errors that `fallback` sees, and the run continues."""
    kind, code = KINDS[row]
    (folder / "s.yaml").write_text(f"seconds: {2 if kind == 'time' else 60}\nmemory: 256\n")
    (folder / "a.pdl").write_text(json.dumps({"text": [{"lang": "python", "code": code, "fallback": "${ pdl_error.kind }"}, " ",
                                                       {"lang": "python", "code": "result = 'on'"}]}))
    r = run([pdl, "--sandbox=s.yaml", *strength.more, "a.pdl"], folder, strength.env)
    check(f"error of kind {kind}: {code}", r.stdout.strip() == f"{kind} on", (r.stdout + r.stderr)[-600:])


def with_words(words):
    """The processes that have exactly these words, each with the folder of temporary files that it was given."""
    found = {}
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if p.read_bytes() == words:
                variables = dict(v.split(b"=", 1) for v in p.with_name("environ").read_bytes().split(b"\0") if b"=" in v)
                found[p.parent.name] = variables.get(b"TMPDIR", b"").decode()
        except OSError:
            pass
    return found


def until(seconds, done):
    """What `done` gives, as soon as that is true, or after so many seconds."""
    end = time.monotonic() + seconds
    found = done()
    while not found and time.monotonic() < end:
        time.sleep(0.1)
        found = done()
    return found


def test_ends(pdl, folder, strength):
    """Nothing of a command is left when it, or the helper, is ended from outside: no daemon, no temporary folder."""
    mark = f"sleep 1000.{os.getpid()}"
    words, made = mark.replace(" ", "\0").encode() + b"\0", set()
    daemons = f"setsid {mark} </dev/null >/dev/null 2>&1 & echo begun; exec sleep 60"
    (folder / "s.yaml").write_text("seconds: 1\n")
    (folder / "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", daemons], "fallback": "${ pdl_error.kind }"}))
    env = environment(strength.env)
    with subprocess.Popen([pdl, "--sandbox=s.yaml", *strength.more, "a.pdl"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as p:
        made |= set((until(5, lambda: with_words(words) or p.poll() is not None and {"": ""}) or {}).values())
        said = p.communicate(timeout=60)[0]
        check("time", said.strip().endswith("time"), said)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
        argv = [pdl, "sandbox", *strength.more, "--", "sh", "-c", "trap '' HUP; echo $TMPDIR; " + daemons]
        with subprocess.Popen(argv, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True) as p:
            made.add(p.stdout.readline().strip())
            begun = p.stdout.readline()
            p.send_signal(sig)
            # where the command stays beside the confined one, a hangup has the exit code of all commands
            check(sig.name, begun and p.wait(30) in (-sig, 143 if sig == signal.SIGHUP else -sig), p.returncode)
    made -= {"", "/tmp"}
    check("nothing is left", until(20, lambda: not with_words(words) and not any(os.path.exists(m) for m in made)), with_words(words), made)
    check("each command had a folder of its own", len(made) >= 4 or strength.name != "process", made)


COUNTS = """import signal, time
got = []
signal.signal(signal.SIGINT, lambda *a: got.append(1))
print("ready", flush=True)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    time.sleep(0.05)
print("got", len(got), flush=True)
"""


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "sent"])
def test_a_signal_comes_once(pdl, folder, strength, typed):
    """Ctrl-C on a terminal reaches the whole group; a signal to the command that was started is passed on. The confined command gets either once."""
    argv, said = [pdl, "sandbox", *strength.more, "--", "python3", "-c", COUNTS], b""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execve(pdl, argv, environment(strength.env))
    try:
        while b"got " not in said or not said.endswith(b"\n"):
            read = os.read(terminal, 4096)
            if b"ready" in read and typed:
                os.write(terminal, b"\x03")
            elif b"ready" in read:
                os.kill(pid, signal.SIGINT)
            said += read
    except OSError:  # the terminal has ended
        pass
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    check("once", status == 0 and b"got 1\r\n" in said, status, said)


STEPS = {"read": ("cat {root}/shown/a.txt", "text"), "no key": ("test -s {root}/shown/.env && cat {root}/shown/.env || echo hidden", "hidden"),
         "write": ("echo x > {root}/open/new.txt && cat {root}/open/new.txt", "x"), "env": ("echo $COLOR", "red"),
         "no git": ("echo x > {root}/open/.git/config || echo kept", "kept"), "no start file": ("echo x > {root}/open/.bashrc || echo kept", "kept"),
         "no rename": ("mv {root}/open/.git {root}/open/git 2>/dev/null || echo kept", "kept"), "certificates": ("head -c 10 {root}/shown/authorities.pem", "-----BEGIN"),
         "certificates with a key": ("head -c 10 {root}/shown/both.pem", "")}


@pytest.mark.draws
def test_grants(pdl, folder, strength):
    """`read:`, `write:` and `env:` widen, and what must not be changed there is not."""
    (folder / "shown").mkdir()
    for name, key in (("authorities", ""), ("both", "-----BEGIN RSA PRIVATE KEY-----\n")):
        (folder / f"shown/{name}.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{key}")
    for f in ("prog/x", "shown/a.txt", "shown/.env", "open/keep.txt", "open/.git/config"):
        (folder / f).parent.mkdir(parents=True, exist_ok=True)
        (folder / f).write_text("text")
    (folder / "prog/s.yaml").write_text("read: [../shown]\nwrite: [../open]\nenv: [COLOR]\n")
    # beside what is protected nothing can be made at the strength process
    for name in in_turn(STEPS, strength, applies=lambda row, s: s.name != "process" or row not in ("write", "no start file", "no rename")):
        step, want = STEPS[name]
        (folder / "prog/a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", step.format(root=folder) + " 2>/dev/null"]}))
        r = run([pdl, "--sandbox=prog/s.yaml", *strength.more, "prog/a.pdl"], folder, {"COLOR": "red", **strength.env})
        check(name, r.stdout.strip() == want, repr(r.stdout + r.stderr)[-400:])
    check("no traces are left", not (folder / "open/.bashrc").exists())


def hello():
    """A server that says hello -> its port."""
    server = socket.create_server(("127.0.0.1", 0), backlog=16)

    def serve():
        while True:
            c = server.accept()[0]
            c.recv(4096)
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
            c.close()
    threading.Thread(target=serve, daemon=True).start()
    return server.getsockname()[1]


GET = ("import urllib.request\ntry: print(urllib.request.urlopen('http://%s:%d/', timeout=5).read().decode())\n"
       "except Exception as e: print('no', getattr(e, 'code', type(e).__name__))")


# what is granted, the host that is asked for and what it says
NET = {"127.0.0.1:%d": ("127.0.0.1", "hello"), "localhost:%d": ("localhost", "no 403"), "127.0.0.1:1": ("127.0.0.1", "no 403"), "example.org": ("127.0.0.1", "no 403")}


@in_pairs(NET, STRENGTHS[:2])
def test_net(pdl, folder, row, strength):
    """With `net:` a granted address is reached through the proxy, others are not."""
    port, (host, want) = hello(), NET[row]
    (folder / "s.yaml").write_text(json.dumps({"net": [row.replace("%d", str(port))]}))
    (folder / "a.pdl").write_text(json.dumps({"lang": "command", "args": [*PYTHON, "-c", GET % (host, port)]}))
    r = run([pdl, "--sandbox=s.yaml", "a.pdl"], folder, strength.env)
    check(f"{row} for {host}", r.stdout.strip() == want, repr(r.stdout + r.stderr)[-400:])


MISTAKES = [
    ("processes: many\nraed: [x]\nenv: [MY_API_KEY]\nread: [/]\n", {}, ["processes: many should be an integer", "did you mean 'read'", "name of a key", "/ is everything"]),
    ("net: ['https://a.org', 'a.org:x', 'a.org:70000', '*', 'a.*.org', 'a b', 'u@a.org', ':1']\n", {},
     [f"net: '{x}' should be HOST, HOST:PORT or *.DOMAIN" for x in ("https://a.org", "a.org:x", "a.org:70000", "*", "a.*.org", "a b", "u@a.org", ":1")]),
    ("env: [openai_api_key, X_PASS, GITHUB_PAT, Token, PASSENGER, SPATE]\n", {}, ["openai_api_key is the", "X_PASS is the", "GITHUB_PAT is the", "Token is the"]),
    ("[1\n", {}, ["s.yaml:"]), ("read: x\n", {}, ["read: x should be a list"]),
    ("net: [example.org]\n", {"PDL_SANDBOX_WITHOUT": "userns"}, ["namespaces of users cannot be made"]),
    ("{}", {"PDL_SANDBOX_WITHOUT": "userns"}, ["--sandbox-min process accepts less"]),
    ("{}", {"PDL_SANDBOX_WITHOUT": "userns,bwrap"}, ["cannot be made here, and bubblewrap is not installed (Debian package bubblewrap); --sandbox-min"]),
    ("{}", {"PDL_SANDBOX_WITHOUT": "landlock"}, ["Landlock"]), ("{}", {"PDL_SANDBOX_WITHOUT": "landlock1"}, ["Landlock"]), ("{}", {"PDL_SANDBOX_WITHOUT": "seccomp"}, ["seccomp"]),
    ("{}", {"PDL_SANDBOX_WITHOUT": "bwrap", "PDL_SANDBOX_BACKEND": "bwrap"}, ["Debian package bubblewrap"]), ("{}", {"PDL_SANDBOX_BACKEND": "docker"}, ["bwrap or native"])]


def test_mistakes(pdl, folder):
    """Profiles with mistakes, all at once; machines that cannot."""
    (folder / "a.pdl").write_text("text: {lang: command, args: [echo, ran]}")
    for text, env, want in MISTAKES:
        (folder / "s.yaml").write_text(text)
        r = run([pdl, "--sandbox=s.yaml", "a.pdl"], folder, env)
        ok = r.returncode in (1, 2) and "ran" not in r.stdout and all(w in r.stderr for w in want)
        check(f"refused: {text!r} {env}", ok, f"{r.returncode} {r.stdout} {r.stderr}")
    r = run([pdl, "--no-sandbox", "a.pdl"], folder, {"PDL_SANDBOX": "1", "PDL_SANDBOX_WITHOUT": "landlock"})
    check("--no-sandbox overrides the environment", r.stdout.strip() == "ran", r.stderr)


def test_what_is_not_there(pdl, folder):
    (folder / "a.pdl").write_text("text: {lang: command, args: [echo, ran]}")
    (folder / "s.yaml").write_text("read: [nowhere]\nwrite: [out, .]\nnet: ['[::1]:80', '::1', 'a.org:443', '*.b.org']\n")
    r = run([pdl, "--sandbox=s.yaml", "a.pdl"], folder, {})
    if r.returncode:
        pytest.skip("this machine has no sandbox with a network: " + r.stderr[-200:])
    said = [f"has {k}: {folder.resolve() / n}, which is not there" for k, n in (("read", "nowhere"), ("write", "out"))]
    block = {"sandbox": {"write": ["out"]}, "text": [{"sandbox": {"memory": n}, "lang": "command", "args": ["echo", "hi"]} for n in (900, 901)]}
    (folder / "b.pdl").write_text(json.dumps(block))
    b = run([pdl, "b.pdl"], folder, {})
    check("once for all blocks", b.stderr.count("which is not there") == 1, b.stderr)
    check("what is not there is said", r.stderr.count("\n") == 1 and all(x in r.stderr for x in said), r.stderr)
