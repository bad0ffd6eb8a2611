# SPDX-License-Identifier: Apache-2.0
"""The wheel for glibc on 64-bit ARM processors, in a Debian for these processors whose packages are only unpacked (mmdebstrap). Its Python runs in an
emulator of the processor, one process at a time, because this machine cannot start programs of another processor by itself. Skipped, with a line that
says so, when there is no such wheel, emulator or root."""
import os
import pathlib
import shutil
import subprocess

import pytest

from .. import bare_root
from ..checks import check, skip
from ..harness.choice import Choice, ROOT
from .test_wheel import certificate

DIST = pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist"))
HERE = pathlib.Path(__file__).resolve().parent
QEMU = shutil.which("qemu-aarch64-static")
PACKAGES = ["python3-minimal", "libpython3-stdlib", "python3-pip-whl", "ca-certificates"]
PROGRAM = "defs: {m: {import: lib/answer}}\ntext: \"${ 2 ** 70 }!\"\n"


def entered(place, *words, **env):
    return ["bwrap", "--bind", str(place), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--ro-bind", QEMU, "/qemu", "--die-with-parent", "--clearenv",
            *(w for name, value in {"HOME": "/root", "PYTHONPATH": "/site", **env}.items() for w in ("--setenv", name, value)), "/qemu", *words]


def python(place, *words, **env):
    interpreter = next(p for p in (place / "usr/bin").glob("python3.*") if not p.is_symlink())
    return subprocess.run(entered(place, "/usr/bin/" + interpreter.name, *words, **env), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
                          check=False)


def check_calls(place):
    port = place / "t" / "port"
    with subprocess.Popen(["/usr/bin/python3", HERE / "https.py", place / "t/cert.pem", place / "t/key.pem", port], stdin=subprocess.DEVNULL) as server:
        try:
            check("a server", bare_root.wait_for(port), "it does not start")
            p = python(place, "/t/use.py", "https", port.read_text("utf-8").strip(), SSL_CERT_FILE="/t/cert.pem")
            check("model calls over HTTPS", p.returncode == 0, p.stdout + p.stderr)
        finally:
            server.kill()


@pytest.mark.builds
@pytest.mark.seconds(1800)
def test_wheel():
    wheel = next(iter(DIST.glob("libpdl-*-manylinux_*_aarch64.whl")), None)
    if not wheel or not QEMU:
        skip("the wheel for arm64", "there is none: make wheel ARGS='--target manylinux_aarch64'" if QEMU else "there is no qemu-aarch64-static")
        return
    place = Choice.build / "wheel-root-arm64"
    why = bare_root.make(place, PACKAGES, processor="arm64")
    if why:
        skip("the wheel in a root for arm64", why)
        return
    for used in ("site", "t"):
        shutil.rmtree(place / used, ignore_errors=True)
    (place / "t").mkdir()
    for path in (wheel, HERE / "use.py"):
        shutil.copy(path, place / "t")
    certificate(place / "t")
    pip = next((place / "usr/share/python-wheels").glob("pip-*.whl"))
    p = python(place, "-m", "pip", "install", "-q", "--no-index", "--target", "/site", "/t/" + wheel.name, PYTHONPATH="/" + str(pip.relative_to(place)))
    check("pip takes it", p.returncode == 0, p.stderr)
    for name in ("version", "fresh", "modules"):
        p = python(place, "/t/use.py", name)
        check(name, p.returncode == 0, p.stdout + p.stderr)
    check_calls(place)
    (place / "t" / "p.pdl").write_text(PROGRAM, "utf-8")
    p = subprocess.run(entered(place, "/site/libpdl/bin/pdl", "/t/p.pdl"), capture_output=True, text=True, timeout=60, check=False)
    check("the command in it", (p.returncode, p.stdout.strip()) == (0, "1180591620717411303424!"), p)
