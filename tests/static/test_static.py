# SPDX-License-Identifier: Apache-2.0
"""The static command of `make static`: alone in an empty root, with TLS, with SQLite, packed with a program, and as fast as the ordinary command."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

from .. import bare_root
from ..checks import check, skip
from ..harness.choice import Choice, ROOT
from ..wheel.test_wheel import certificate

DIST = pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist"))  # make-release says where it made them
MADE = DIST / "pdl-linux-x86_64"
ARM = DIST / "pdl-linux-aarch64"
QEMU = shutil.which("qemu-aarch64-static")
MAX_BYTES = 12 << 20
HELLO = "text:\n- \"hello ${ 2 ** 100 } ${ 'abc'|upper }\\n\"\n- {data: {a: 1}, def: x}\n"
RECORDED = "text:\n- {text: a1, parser: {regex: '(?P<x>[a-z])', mode: search}}\n- {read: note.txt}\n"


@pytest.fixture
def root(tmp_path):
    """A root with the command and nothing else; enter(argv) runs in it, without /proc and /dev."""
    if not MADE.is_file():
        skip("the static command", "there is none: make static")
        pytest.skip("there is no static command")
    shutil.copy(MADE, tmp_path / "pdl")

    def enter(*argv, **env):
        if os.geteuid() != 0:
            skip("a root without /proc", "that takes root")
            return None
        before = [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin"), str(tmp_path)]
        return subprocess.run([*before, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False, env=env)
    enter.place = tmp_path
    return enter


def test_file(root):
    size = MADE.stat().st_size
    check("at most 12 MB", size <= MAX_BYTES, size)
    said = subprocess.run(["readelf", "-ld", MADE], capture_output=True, text=True, check=True).stdout
    check("no library and no loader", "(NEEDED)" not in said and "interpreter" not in said, said)
    listed = subprocess.run(["readelf", "-SW", MADE], capture_output=True, text=True, check=True).stdout
    check("no tables for unwinding frames", " .text " in listed and " .eh_frame " not in listed, listed)
    check("no fixed addresses", "DYN (" in subprocess.run(["readelf", "-h", MADE], capture_output=True, text=True, check=True).stdout, "they are fixed")


def test_empty_root(root):
    (root.place / "hello.pdl").write_text(HELLO)
    p = root("/pdl", "hello.pdl")
    check("it runs a program", p and (p.returncode, p.stderr) == (0, "") and p.stdout.startswith("hello 1267650600228229401496703205376 ABC"), p)
    (root.place / "note.txt").write_text("noted\n")
    (root.place / "r.pdl").write_text(RECORDED)
    p = root("/pdl", "--record", "/r.db", "r.pdl")
    check("it records with SQLite", p and p.returncode == 0 and (root.place / "r.db").stat().st_size > 0, p)
    (root.place / "note.txt").unlink()
    again = root("/pdl", "--replay", "/r.db", "r.pdl")
    check("and answers from it", again and p and (again.returncode, again.stdout) == (0, p.stdout), again)
    p = root("/pdl", "doctor")
    check("doctor says what it lacks", p and "Parquet" in p.stdout and "ok       SQLite" in p.stdout and "ok       libcurl" in p.stdout, p)
    check("and where its modules are", p and re.search(r"ok +imports +modules inside of the command$", p.stdout, re.M), p)
    (root.place / "m.pdl").write_text("policy: careful\ndefs:\n  m: {import: lib/answer}\ntext: found\n")
    p = root("/pdl", "m.pdl")
    check("it has the modules and policies of the language inside", p and (p.returncode, p.stdout.strip(), p.stderr) == (0, "found", ""), p)
    p = root("/pdl", "version")
    check("its version", p and p.stdout.startswith("PDL "), p)


@pytest.fixture
def https():
    """A model behind TLS whose certificate is signed by nobody else. -> its port, and the file of the certificate"""
    with tempfile.TemporaryDirectory() as scratch:
        place = pathlib.Path(scratch)
        certificate(place)
        port = place / "port"
        with subprocess.Popen(["/usr/bin/python3", ROOT / "tests/wheel/https.py", place / "cert.pem", place / "key.pem", port], stdin=subprocess.DEVNULL) as server:
            try:
                check("a server", bare_root.wait_for(port), "it does not start")
                yield port.read_text("utf-8").strip(), place / "cert.pem"
            finally:
                server.kill()


def test_certificates(root, https):
    """Trusted are those of SSL_CERT_FILE, else those of the system, else a list inside, which does not have that of this server."""
    port, signed = https
    (root.place / "call.pdl").write_text("model: openai/m\ninput: abc\nparameters: {api_base: 'https://127.0.0.1:%s/v1', api_key: k}\n" % port)
    inside = MADE.read_bytes().count(b"-----BEGIN CERTIFICATE-----")
    check("a list is inside", inside > 100, inside)
    p = root("/pdl", "call.pdl")
    check("a server that nobody signed is refused", p and p.returncode == 1 and "certificate" in p.stderr, p)
    shutil.copy(signed, root.place / "own.pem")
    p = root("/pdl", "call.pdl", SSL_CERT_FILE="/own.pem")
    check("a model call over TLS, with a file that is named", p and (p.returncode, p.stdout.strip()) == (0, "cba"), p)
    system = root.place / "etc/ssl/certs"
    system.mkdir(parents=True)
    shutil.copy(signed, system / "ca-certificates.crt")
    p = root("/pdl", "call.pdl")
    check("and with that of the system", p and (p.returncode, p.stdout.strip()) == (0, "cba"), p)


def test_packed(root):
    (root.place / "agent.pdl").write_text("defs:\n  a: {import: sub/m}\ntext: \"packed ${ a.x }\"\n")
    (root.place / "sub").mkdir()
    (root.place / "sub" / "m.pdl").write_text("defs: {x: {data: 9}}\n")
    p = root("/pdl", "pack", "agent.pdl", "-o", "/agent")
    check("a static command packs itself", p and p.returncode == 0 and "libraries" not in p.stderr, p)
    shutil.rmtree(root.place / "sub")
    (root.place / "agent.pdl").unlink()
    p = root("/agent")
    check("the file finds itself without /proc", p and (p.returncode, p.stdout.strip()) == (0, "packed 9"), p)
    with open(root.place / "agent", "r+b") as f:
        f.seek(-200, os.SEEK_END)
        c = f.read(1)
        f.seek(-200, os.SEEK_END)
        f.write(bytes([c[0] ^ 1]))
    p = root("/agent")
    check("it refuses when it was changed", p and p.returncode == 1 and p.stdout == "", p)


def started(argv):
    """-> milliseconds of processor time, and of the clock, that a command takes"""
    begun = time.perf_counter()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    check("%s ends well" % argv[0], p.returncode == 0, p.returncode)
    return (used.ru_utime + used.ru_stime) * 1000, (time.perf_counter() - begun) * 1000


def medians(commands, times=25):
    """Of each command, in turns, so that a busy moment is one for all. -> {name: (processor, clock)}"""
    found = {name: [] for name in commands}
    for _ in range(times):
        for name, argv in commands.items():
            found[name].append(started(argv))
    return {name: tuple(sorted(column)[times // 2] for column in zip(*rows)) for name, rows in found.items()}


def test_start(root):
    """Processor time, which other processes of the machine do not lengthen as they do the clock."""
    hello, agent = root.place / "hello.pdl", root.place / "agent"
    hello.write_text("text: hello\n")
    subprocess.run([root.place / "pdl", "pack", hello, "-o", agent], check=True, capture_output=True)
    found = medians({"static": [root.place / "pdl", hello], "packed": [agent], "linked": [Choice.build / "pdl", hello]})
    print(", ".join("%s: %.2f ms of the processor, %.2f of the clock" % (name, *row) for name, row in found.items()))
    static, packed, linked = (found[name][0] for name in ("static", "packed", "linked"))
    check("a packed command starts in 3 ms over hello", packed < static + 3, packed, static)
    check("the static command starts as the other one", static < linked + 2, static, linked)


# Items that put a library of theirs into the command, which a command without a loader does not take.
PRELOADED = "test_kills or test_power or test_writes_of_a_call or test_a_sync_that_fails"


def pytest_of(build, *words, **more):
    return subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", "--build=%s" % build, *words], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=900, check=False, env={**os.environ, **more})


def build_of(folder):
    """A build folder for suites, without its command."""
    models = Choice.build / "tests" / "model"
    shutil.copytree(models, folder / "tests" / "model") if models.is_dir() else folder.mkdir()
    return folder


@pytest.mark.tier("all")
@pytest.mark.seconds(1800)
@pytest.mark.parametrize("suite", ["cli", "lang", "model", "durable"])
def test_suites(root, suite, tmp_path):
    """The suites run against the static command as they run against the other one."""
    build = build_of(tmp_path / "build")
    shutil.copy(MADE, build / "pdl")
    p = pytest_of(build, "-n", "2", "tests/" + suite, "-k", "not (%s)" % PRELOADED)
    if suite == "durable":
        skip("kills of the static command", "they are made by a library that is put into it")
    check("the suite %s" % suite, p.returncode == 0, p.stdout[-3000:])


@pytest.fixture
def emulated(tmp_path):
    """A build folder whose command is that for arm64, run by an emulator of its processor."""
    if not ARM.is_file() or not QEMU:
        skip("the static command for arm64", "there is none: make static ARGS='--processor aarch64'" if QEMU else "there is no qemu-aarch64-static")
        pytest.skip("it cannot be run")
    build = build_of(tmp_path / "build")
    (build / "pdl").write_text("#!/bin/sh\nexec %s -0 pdl %s \"$@\"\n" % (QEMU, ARM))
    (build / "pdl").chmod(0o755)
    return build


# The clock runs on while a processor is emulated: limits of a third of a second are too short, and a run has not begun
# after a twentieth of one. Limits of memory are the emulator's, which ignores them.
NOT_EMULATED = PRELOADED + " or test_floods or code_memory or test_each_instant"


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.seconds(900)
def test_arm(emulated):
    """All programs of the language, and each tenth item of the other suites."""
    p = subprocess.run([emulated / "pdl", "version"], capture_output=True, text=True, timeout=60, check=False)
    check("it starts", p.returncode == 0 and p.stdout.startswith("PDL "), p)
    p = pytest_of(emulated, "-n", "4", "tests/lang")
    check("the suite lang", p.returncode == 0, p.stdout[-3000:])
    for suite in ("cli", "model", "durable"):
        listed = pytest_of(emulated, "-v", "--collect-only", "tests/" + suite, "-k", "not (%s)" % NOT_EMULATED).stdout
        items = [line for line in listed.splitlines() if "::" in line][::10]
        check("items of the suite %s" % suite, len(items) > 5, listed[-1000:])
        p = pytest_of(emulated, "-n", "4", *items)
        check("a tenth of the suite %s" % suite, p.returncode == 0, p.stdout[-3000:])
