# SPDX-License-Identifier: Apache-2.0
"""test_root.py -- `make install` on a Debian that has only the packages of `make deps`. In its own root (mmdebstrap), which is entered without
network (bubblewrap), the library is built and installed. pkg-config and the loader find it, and the first program of the page about embedding is
compiled and run. Skipped, with a line that says so, when such a root cannot be made. The root is kept in BUILD."""
import pathlib
import shutil
import subprocess

import pytest

from .. import bare_root
from ..api.test_api import first_program
from ..checks import check, skip
from ..harness.choice import ROOT

SECONDS = 1200
# name, shell line in the root, standard output ("" for any).
STEPS = [
    ("nothing is there before", "! command -v pdl && ! ls /usr/local/lib/libpdl* 2>/dev/null", ""),
    ("it builds", "(cd /src && sh tools/setup build %s && make J=2) >/src/log 2>&1 || { tail -20 /src/log; exit 1; }", ""),
    ("it is installed", "make -C /src install >/src/log 2>&1 || { tail -20 /src/log; exit 1; }", ""),
    ("pkg-config knows it", "pkg-config --modversion libpdl", ""),
    ("the first program is compiled", "cc /hello.c $(pkg-config --cflags --libs libpdl) -o /tmp/hello", ""),
    ("the first program runs", "/tmp/hello", first_program()[1]),
    ("the command runs an example", "pdl /usr/local/share/doc/libpdl/examples/hello.pdl --replay /usr/local/share/doc/libpdl/examples/hello.journal", ""),
    ("the manual page is there", "test -f /usr/local/share/man/man1/pdl.1", ""),
]


QUICK = "-Doptimization=0 -Ddebug=false"  # where all has to be compiled


def packages():
    """What `make deps` installs, with the compiler cache that it adds where it can."""
    cache = ["ccache"] if shutil.which("ccache") else []
    return cache + subprocess.run(["sh", "tools/install-deps", "--list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def leave_out(folder, names):
    return [n for n in names if pathlib.Path(folder) == ROOT and (n == ".git" or n.startswith("build"))]


@pytest.mark.builds
@pytest.mark.seconds(3600)
def test_install(build):
    place = build / "test-root"
    why = bare_root.make(place, ["make", *packages()])
    if why:
        skip("a root of its own", why, len(STEPS))
        return
    for used in ("src", "usr/local", "var/tmp"):
        shutil.rmtree(place / used, ignore_errors=True)
        (place / used).mkdir(parents=True)
    subprocess.run(["ldconfig", "-r", str(place)], check=True)
    shutil.copytree(ROOT, place / "src", dirs_exist_ok=True, symlinks=True, ignore=leave_out)
    (place / "hello.c").write_text(first_program()[0], "utf-8")
    cache = bare_root.cache(place)
    for name, line, want in STEPS:
        line = line.replace("%s", "" if cache else QUICK)
        p = subprocess.run(bare_root.enter(place, line, cache), capture_output=True, text=True, timeout=SECONDS, check=False)
        check(name, p.returncode == 0 and (not want or p.stdout == want), "exit status %s\n%s%s" % (p.returncode, p.stdout[-3000:], p.stderr[-3000:]))
