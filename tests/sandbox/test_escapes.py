"""The sandbox holds: each attempt of escapes.py succeeds without it, and with it nothing of the weakest strength or above does.
Useful work succeeds. The strengths that this machine cannot make are skipped with a word.
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]
from checks import check, finish, skip  # noqa: E402
from escapes import ATTEMPTS, FULL, OF_MACHINE, PROCESS, groups  # noqa: E402

BUILD = Path(sys.argv[1]).resolve()
PDL = BUILD / "pdl"
if BUILD.name.endswith("-asan"):  # sanitizers reserve more address space than the helper leaves to itself
    os.environ["PDL_COMMAND"] = str(BUILD.with_name(BUILD.name[:-5]) / "pdl")


class Place:
    """A home folder, a program's folder and things outside, all in one folder of the test."""

    def __init__(self, root):
        self.root = root
        self.home, self.dir, self.out = root / "home", root / "prog", root / "out"
        for d in (self.home / ".ssh", self.home / ".local/bin", self.home / ".config/autostart", self.out / "climb", self.dir / "sub", self.dir / ".git", self.out):
            d.mkdir(parents=True, exist_ok=True)
        for f in (self.home / "notes.txt", self.home / ".ssh/id_rsa", self.home / ".netrc", self.home / ".bashrc", self.dir / ".env",
                  self.dir / "sub/.env.local", self.dir / "server.pem", self.dir / "id_ed25519", self.dir / ".git/config",
                  self.dir / "run.journal", self.dir / "sub/data.txt", self.out / "other.txt", self.out / "removable",
                  self.out / "movable", self.out / "cut", self.out / "inherited"):
            f.write_text("text\n")
        (self.dir / "link.txt").symlink_to(self.home / "notes.txt")
        self.listeners = []
        for path in (self.out / "sock", self.dir / "sock", f"\0pdl-test-{os.getpid()}"):
            s = socket.socket(socket.AF_UNIX)
            s.bind(str(path))
            s.listen(64)
            self.listeners.append(s)
        datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams.bind(str(self.out / "datagrams"))
        self.listeners.append(datagrams)
        self.shared = Path(f"/dev/shm/pdl-test-{os.getpid()}")
        self.shared.write_text("text")
        tcp = socket.create_server(("127.0.0.1", 0), backlog=64)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        self.listeners += [tcp, udp]
        self.port, self.udp = tcp.getsockname()[1], udp.getsockname()[1]
        threading.Thread(target=self.answer, args=(udp,), daemon=True).start()
        self.victim = subprocess.Popen(["sleep", "1000"])
        self.key = 0x50440000 | (os.getpid() & 0xffff)
        import ctypes
        self.libc = ctypes.CDLL(None)
        self.shm = self.libc.shmget(self.key, 64, 0o1600)
        self.messages, self.semaphores = self.libc.msgget(self.key, 0o1600), self.libc.semget(self.key, 1, 0o1600)
        self.queue = b"/pdl-test-%d" % os.getpid()
        self.libc.mq_open(self.queue, os.O_CREAT | os.O_RDWR, 0o600, None)

    @staticmethod
    def answer(udp):
        try:
            while True:
                udp.sendto(b"heard", udp.recvfrom(64)[1])
        except OSError:
            pass

    def text(self, attempt):
        places = {"HOME": self.home, "DIR": self.dir, "OUT": self.out, "TMP": "/tmp", "PID": os.getpid(), "VICTIM": self.victim.pid,
                  "PORT": self.port, "UDP": self.udp, "SHMKEY": self.key}
        for k, v in places.items():
            attempt = attempt.replace("{" + k + "}", str(v))
        return attempt.replace("{{", "{").replace("}}", "}")

    def close(self):
        self.victim.kill()
        self.victim.wait()
        for s in self.listeners:
            s.close()
        self.libc.shmctl(self.shm, 0, None)
        self.libc.msgctl(self.messages, 0, None)
        self.libc.semctl(self.semaphores, 0, 0)
        self.libc.mq_unlink(self.queue)
        Path("/tmp/large").unlink(missing_ok=True)
        self.shared.unlink(missing_ok=True)


IN_WORKER = """
import contextlib, io
said = io.StringIO()
with contextlib.redirect_stdout(said): exec(%r, {})
result = said.getvalue()
"""


def block_of(place, kind, text, worker):
    if worker and kind == "python":
        return {"lang": "python", "code": IN_WORKER % place.text(text)}
    return {"lang": "command", "args": [sys.executable if kind == "python" else "sh", "-c", place.text(text)]}


def run(place, attempts, args, env, worker=False):
    """The indices of the attempts that print ESCAPED, each a block of one program: a command, or code of the worker."""
    blocks = []
    for i, (_, _, kind, text) in enumerate(attempts):
        blocks += [{**block_of(place, kind, text, worker), "def": "r", "contribute": [], "fallback": ""}, f"[{i} ${{ r|trim }}]"]
    program = place.dir / "attempts.pdl"
    program.write_text(json.dumps({"text": blocks}))
    inherited = os.open(place.out / "inherited", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    e = {**os.environ, "HOME": str(place.home), "OPENAI_API_KEY": "sk-canary", "MY_TOKEN": "sk-canary", "SSH_AUTH_SOCK": str(place.out / "sock"), **env}
    for name in ("PDL_SANDBOX", "PDL_POLICY", "PDL_PYTHON"):
        e.pop(name, None)
    r = subprocess.run([PDL, *args, str(program)], env=e, capture_output=True, text=True, close_fds=False, timeout=300,
                       start_new_session=True)
    os.close(inherited)
    if r.returncode:
        print(r.stderr[-2000:])
    done = re.findall(r"\[(\d+) ([^\]]*)\]", r.stdout)
    return {int(i) for i, out in done if "ESCAPED" in out}, len(done)


def strengths():
    for name, env, args in (("full, bubblewrap", {"PDL_SANDBOX_BACKEND": "bwrap"}, ["--sandbox"]),
                            ("full, native", {"PDL_SANDBOX_BACKEND": "native"}, ["--sandbox"]),
                            ("process", {"PDL_SANDBOX_WITHOUT": "userns"}, ["--sandbox", "--sandbox-min", "process"])):
        with tempfile.TemporaryDirectory() as d:
            (Path(d) / "a.pdl").write_text("text: {lang: command, args: [echo, hi]}")
            r = subprocess.run([PDL, *args, "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True)
        if r.returncode == 0 and "hi" in r.stdout:
            yield name, env, args
        else:
            print(f"this machine has no sandbox of the strength {name}: {r.stderr.strip()[-200:]}")


def escapes(attempts, how, worker):
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        place = Place(Path(d).resolve() / "x")
        try:
            without, n = run(place, attempts, [], {}, worker)
            missing = [a[0] for i, a in enumerate(attempts) if i not in without]
            wrong = [m for m in missing if m not in OF_MACHINE]
            check(f"{how}: attempts succeed without the sandbox", n == len(attempts) and not wrong, ", ".join(wrong))
            for name in missing:
                skip(name, "does not succeed without the sandbox here")
        finally:
            place.close()
    shown = [attempts[i] for i in sorted(without)]
    for strength, env, args in strengths():
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            place = Place(Path(d).resolve() / "x")
            try:
                out, n = run(place, shown, args, env, worker)
            finally:
                place.close()
        check(f"{how}, {strength}: all attempts were made", n == len(shown), f"{n} of {len(shown)}")
        for i, (name, weakest, _, _) in enumerate(shown):
            if strength == "process" and weakest == FULL:
                continue
            check(f"{how}, {strength}: {name}", i not in out, "it succeeded")


# What Landlock holds since its ABI 6; on older kernels the note says so.
SIGNALS = {"kill a process outside", "signal a group of processes outside", "signal a process outside by its descriptor"}


def old_kernels():
    """Older ABIs of Landlock hold what the strength process promises: the first, that of Debian 12, and the last without signals."""
    attempts = [a for a in ATTEMPTS if a[1] == PROCESS and a[0] not in OF_MACHINE]
    for abi in (1, 2, 5):
        env = {"PDL_SANDBOX_WITHOUT": f"userns,landlock{abi + 1}"}
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            Path(d, "a.pdl").write_text("text: {lang: command, args: [echo, hi]}")
            r = subprocess.run([PDL, "--sandbox", "--sandbox-min", "process", "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True)
            if "hi" not in r.stdout:
                skip(f"Landlock {abi}", r.stderr.strip()[-200:])
                continue
            check(f"Landlock {abi}: the note", "can send signals" in r.stderr, r.stderr)
            place = Place(Path(d).resolve() / "x")
            try:
                out, n = run(place, attempts, ["--sandbox", "--sandbox-min", "process"], env)
            finally:
                place.close()
        check(f"Landlock {abi}: all attempts were made", n == len(attempts), n)
        for i, attempt in enumerate(attempts):
            if attempt[0] not in SIGNALS:
                check(f"Landlock {abi}: {attempt[0]}", i not in out, "it succeeded")


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


def useful():
    for strength, env, args in strengths():
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            Path(d, "beside.txt").write_text("beside")
            text = USEFUL.replace("SHM", "False" if strength == "process" else "True")
            Path(d, "a.pdl").write_text(json.dumps({"text": [{"lang": "python", "code": text}, " ",
                                                             {"lang": "command", "args": ["sh", "-c", "f=$(mktemp) && cat beside.txt > $f && cat $f"]}]}))
            r = subprocess.run([PDL, *args, "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
            check(f"useful work, {strength}", r.stdout.strip() == "fine beside", (r.stdout + r.stderr)[-800:])


def kinds():
    """Limits become errors that `fallback` sees, and the run continues."""
    rows = (("memory", "b = bytearray(3 << 30)\nresult = 1"),
            ("memory", "x = []\nwhile True: x.append(bytes(1 << 20))\n"), ("memory", "def f():\n    x = []\n    while True: x.append(bytes(1 << 20))\nf()"),
            ("memory", "import math\nmath.x = []\nwhile True: math.x.append(bytes(1 << 12))"),
            ("processes", "import os, time\nfor i in range(200):\n    if os.fork() == 0: time.sleep(3); os._exit(0)\ntime.sleep(1)\nresult = 1"),
            ("time", "import time\ntime.sleep(30)\nresult = 1"))
    for strength, env, args in strengths():
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            for kind, code in rows:
                Path(d, "s.yaml").write_text(f"seconds: {2 if kind == 'time' else 60}\nmemory: 512\n")
                Path(d, "a.pdl").write_text(json.dumps({"text": [
                    {"lang": "python", "code": code, "fallback": "${ pdl_error.kind }"}, " ", {"lang": "python", "code": "result = 'on'"}]}))
                r = subprocess.run([PDL, "--sandbox=s.yaml", *args[1:], "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True,
                                   text=True, timeout=120)
                check(f"error of kind {kind}, {strength}", r.stdout.strip() == f"{kind} on", (r.stdout + r.stderr)[-600:])


def left_by(mark):
    """Processes whose command line has the mark, and folders of temporary files."""
    found = []
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in p.read_bytes():
                found.append(p.parent.name)
        except OSError:
            pass
    return found


def ends():
    """Nothing of a command is left when it, or the helper, is ended from outside: no daemon, no temporary folder."""
    mark = f"sleep 1000.{os.getpid()}"
    daemons = f"setsid {mark} </dev/null >/dev/null 2>&1 & echo begun; exec sleep 60"
    for strength, env, args in strengths():
        before = set(Path("/tmp").glob("pdl-sandbox-??????"))
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            Path(d, "s.yaml").write_text("seconds: 1\n")
            Path(d, "a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", daemons], "fallback": "${ pdl_error.kind }"}))
            r = subprocess.run([PDL, "--sandbox=s.yaml", *args[1:], "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True, timeout=60)
            check(f"ends, {strength}: time", r.stdout.strip() == "time", r.stdout + r.stderr)
            for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
                with subprocess.Popen([PDL, "sandbox", *args[1:], "--", "sh", "-c", "trap '' HUP; " + daemons], env={**os.environ, **env}, cwd=d, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True, start_new_session=True) as p:
                    begun = p.stdout.readline()
                    p.send_signal(sig)
                    check(f"ends, {strength}: {sig.name}", begun and p.wait(30) == -sig, p.returncode)
        for _ in range(200):
            left = left_by(mark.replace(" ", "\0").encode()), set(Path("/tmp").glob("pdl-sandbox-??????")) - before
            if not any(left):
                break
            time.sleep(0.1)
        check(f"ends, {strength}: nothing is left", not any(left), left)
        for pid in left[0]:
            os.kill(int(pid), signal.SIGKILL)


def grants():
    """`read:`, `write:` and `env:` widen, and what must not be changed there is not."""
    for strength, env, args in strengths():
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            root = Path(d)
            (root / "shown").mkdir()
            for name, key in (("authorities", ""), ("both", "-----BEGIN RSA PRIVATE KEY-----\n")):
                (root / f"shown/{name}.pem").write_text(f"-----BEGIN CERTIFICATE-----\n{key}")
            for f in ("prog/x", "shown/a.txt", "shown/.env", "open/keep.txt", "open/.git/config"):
                (root / f).parent.mkdir(parents=True, exist_ok=True)
                (root / f).write_text("text")
            (root / "prog/s.yaml").write_text("read: [../shown]\nwrite: [../open]\nenv: [COLOR]\n")
            steps = {"read": f"cat {root}/shown/a.txt", "no key": f"test -s {root}/shown/.env && cat {root}/shown/.env || echo hidden",
                     "write": f"echo x > {root}/open/new.txt && cat {root}/open/new.txt", "env": "echo $COLOR",
                     "no git": f"echo x > {root}/open/.git/config || echo kept", "no start file": f"echo x > {root}/open/.bashrc || echo kept",
                     "no rename": f"mv {root}/open/.git {root}/open/git 2>/dev/null || echo kept"}
            steps |= {"certificates": f"head -c 10 {root}/shown/authorities.pem", "certificates with a key": f"head -c 10 {root}/shown/both.pem"}
            want = {"certificates": "-----BEGIN", "certificates with a key": "", "read": "text", "no key": "hidden", "write": "x", "env": "red", "no git": "kept", "no start file": "kept",
                    "no rename": "kept"}
            for name, step in steps.items():
                if strength == "process" and name in ("write", "no start file", "no rename"):
                    continue
                (root / "prog/a.pdl").write_text(json.dumps({"lang": "command", "args": ["sh", "-c", step + " 2>/dev/null"]}))
                r = subprocess.run([PDL, "--sandbox=prog/s.yaml", *args[1:], "prog/a.pdl"], cwd=d,
                                   env={**os.environ, "COLOR": "red", **env}, capture_output=True, text=True, timeout=60)
                check(f"grants, {strength}: {name}", r.stdout.strip() == want[name], repr(r.stdout + r.stderr)[-400:])
            check(f"grants, {strength}: no traces are left", not (root / "open/.bashrc").exists())


def net():
    """With `net:` a granted address is reached through the proxy, others are not."""
    server = socket.create_server(("127.0.0.1", 0), backlog=16)
    port = server.getsockname()[1]

    def serve():
        try:
            while True:
                c = server.accept()[0]
                c.recv(4096)
                c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
                c.close()
        except OSError:
            pass
    threading.Thread(target=serve, daemon=True).start()
    get = ("import urllib.request\ntry: print(urllib.request.urlopen('http://{0}:%d/', timeout=5).read().decode())\n"
           "except Exception as e: print('no', getattr(e, 'code', type(e).__name__))" % port)
    rows = (("127.0.0.1:%d" % port, "127.0.0.1", "hello"), ("localhost:%d" % port, "localhost", "no 403"),
            ("127.0.0.1:1", "127.0.0.1", "no 403"), ("example.org", "127.0.0.1", "no 403"))
    for strength, env, args in strengths():
        if strength == "process":
            continue
        with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
            for granted, host, want in rows:
                Path(d, "s.yaml").write_text(json.dumps({"net": [granted]}))
                Path(d, "a.pdl").write_text(json.dumps({"lang": "command", "args": [sys.executable, "-c", get.replace("{0}", host)]}))
                r = subprocess.run([PDL, "--sandbox=s.yaml", "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True,
                                   timeout=60)
                check(f"net, {strength}: {granted} for {host}", r.stdout.strip() == want, repr(r.stdout + r.stderr)[-400:])
    server.close()


def mistakes():
    """Profiles with mistakes, all at once; machines that cannot."""
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        Path(d, "a.pdl").write_text("text: {lang: command, args: [echo, ran]}")
        rows = (("processes: many\nraed: [x]\nenv: [MY_API_KEY]\nread: [/]\n", {},
                 ["processes: many should be an integer", "did you mean 'read'", "name of a key", "/ is everything"]),
                ("net: ['https://a.org', 'a.org:x', 'a.org:70000', '*', 'a.*.org', 'a b', 'u@a.org', ':1']\n", {},
                 [f"net: '{x}' should be HOST, HOST:PORT or *.DOMAIN" for x in ("https://a.org", "a.org:x", "a.org:70000", "*", "a.*.org", "a b", "u@a.org", ":1")]),
                ("env: [openai_api_key, X_PASS, GITHUB_PAT, Token, PASSENGER, SPATE]\n", {}, ["openai_api_key is the", "X_PASS is the", "GITHUB_PAT is the", "Token is the"]),
                ("[1\n", {}, ["s.yaml:"]), ("read: x\n", {}, ["read: x should be a list"]),
                ("net: [example.org]\n", {"PDL_SANDBOX_WITHOUT": "userns"}, ["namespaces of users cannot be made"]),
                ("{}", {"PDL_SANDBOX_WITHOUT": "userns"}, ["--sandbox-min process accepts less"]),
                ("{}", {"PDL_SANDBOX_WITHOUT": "userns,bwrap"}, ["cannot be made here, and bubblewrap is not installed (Debian package bubblewrap); --sandbox-min"]),
                ("{}", {"PDL_SANDBOX_WITHOUT": "landlock"}, ["Landlock"]), ("{}", {"PDL_SANDBOX_WITHOUT": "landlock1"}, ["Landlock"]), ("{}", {"PDL_SANDBOX_WITHOUT": "seccomp"}, ["seccomp"]),
                ("{}", {"PDL_SANDBOX_WITHOUT": "bwrap", "PDL_SANDBOX_BACKEND": "bwrap"}, ["Debian package bubblewrap"]),
                ("{}", {"PDL_SANDBOX_BACKEND": "docker"}, ["bwrap or native"]))
        for text, env, want in rows:
            Path(d, "s.yaml").write_text(text)
            r = subprocess.run([PDL, "--sandbox=s.yaml", "a.pdl"], cwd=d, env={**os.environ, **env}, capture_output=True, text=True)
            ok = r.returncode in (1, 2) and "ran" not in r.stdout and all(w in r.stderr for w in want)
            check(f"refused: {text!r} {env}", ok, f"{r.returncode} {r.stdout} {r.stderr}")
        Path(d, "s.yaml").write_text("read: [nowhere]\nwrite: [out, .]\nnet: ['[::1]:80', '::1', 'a.org:443', '*.b.org']\n")
        r = subprocess.run([PDL, "--sandbox=s.yaml", "a.pdl"], cwd=d, env=os.environ, capture_output=True, text=True)
        if r.returncode == 0:
            said = [f"has {k}: {Path(d).resolve() / n}, which is not there" for k, n in (("read", "nowhere"), ("write", "out"))]
            block = {"sandbox": {"write": ["out"]}, "text": [{"sandbox": {"memory": n}, "lang": "command", "args": ["echo", "hi"]} for n in (900, 901)]}
            Path(d, "b.pdl").write_text(json.dumps(block))
            b = subprocess.run([PDL, "b.pdl"], cwd=d, capture_output=True, text=True)
            check("once for all blocks", b.stderr.count("which is not there") == 1, b.stderr)
            check("what is not there is said", r.stderr.count("\n") == 1 and all(x in r.stderr for x in said), r.stderr)
        r = subprocess.run([PDL, "--no-sandbox", "a.pdl"], cwd=d, env={**os.environ, "PDL_SANDBOX": "1", "PDL_SANDBOX_WITHOUT": "landlock"},
                           capture_output=True, text=True)
        check("--no-sandbox overrides the environment", r.stdout.strip() == "ran", r.stderr)


# What may be at the place of bubblewrap, and what is said of it
BUBBLEWRAPS = (("fails", "#!/bin/sh\nexit 3\n", 0o755, "does not work here (exit status 3)"), ("does nothing", "#!/bin/sh\nexit 0\n", 0o755, "does not work here (exit status 0)"),
               ("cannot be executed", "#!/bin/sh\nexit 0\n", 0o644, "does not work here (exit status 127)"), ("is no program", "garbage", 0o755, "does not work here"),
               ("is old", '#!/bin/sh\nfor a in "$@"; do [ "$a" = --size ] && echo "bwrap: Unknown option --size" >&2 && exit 1; done\nexec {real} "$@"\n', 0o755, "(exit status 1): bwrap: Unknown option --size"),
               ("prints rubbish", "#!/bin/sh\nprintf '\\033[31mno\\377'>&2; head -c 3000000 /dev/zero\nexit 9\n", 0o755, "(exit status 9): ?[31mno?"),
               ("is setuid", None, 0o4755, "is setuid, which is not used"), ("never ends", "#!/bin/sh\nexec sleep 1000\n", 0o755, "does not answer here"))


def bubblewraps():
    """A bubblewrap that cannot be used, at the path that is used, in mounts of the test's own."""
    real = Path("/usr/bin/bwrap")
    with tempfile.TemporaryDirectory(prefix="pdl-trust-") as d:
        Path(d, "a.pdl").write_text("text: {lang: command, args: [echo, ran]}")
        shutil.copy(real, Path(d, "real"))
        for name, text, mode, want in BUBBLEWRAPS:
            fake = Path(d, "bwrap")
            fake.unlink(missing_ok=True)
            fake.write_bytes(real.read_bytes() if text is None else text.replace("{real}", str(Path(d, "real"))).encode())
            fake.chmod(mode)
            inside = 'mount --bind bwrap /usr/bin/bwrap && echo mounted && "$0" --sandbox a.pdl; echo "status $?"'
            for backend in ("bwrap", ""):
                if name == "never ends" and not backend:
                    continue  # as the others; it takes ten seconds
                r = subprocess.run(["unshare", "-rm", "sh", "-c", inside, str(PDL)], cwd=d, env={**os.environ, "PDL_SANDBOX_BACKEND": backend}, capture_output=True, text=True, timeout=120)
                if "mounted" not in r.stdout:
                    skip("bubblewraps that fail", f"nothing can be mounted here: {r.stderr.strip()[-200:]}")
                    return
                if backend:
                    ok = "ran" not in r.stdout and "status 1" in r.stdout and want in r.stderr and ("without PDL_SANDBOX_BACKEND it can" in r.stderr or "--sandbox-min" in r.stderr)
                else:  # our own namespaces, where they can be made inside of those
                    ok = "ran" in r.stdout or "namespaces of users cannot be made" in r.stderr
                check(f"bubblewrap that {name}, {backend or 'any'}", ok, r.stdout + r.stderr)


def page():
    """The table of docs/security.md has the numbers of the attempts."""
    text = (Path(__file__).resolve().parents[2] / "docs/security.md").read_text()
    for name, rows in groups():
        n = len(rows)
        line = f"| {name} | {n} | {n} | {sum(r[1] == PROCESS for r in rows)} | {sum(r[2] == 'python' for r in rows)} |"
        check(f"docs/security.md: {line}", line in text)


if __name__ == "__main__":
    if not shutil.which("bwrap"):
        print("skipped: no bubblewrap")
    escapes(ATTEMPTS, "commands", False)
    escapes([a for a in ATTEMPTS if a[2] == "python"], "the code worker", True)
    old_kernels()
    useful()
    kinds()
    ends()
    grants()
    net()
    mistakes()
    if shutil.which("bwrap"):
        bubblewraps()
    page()
    sys.exit(finish())
