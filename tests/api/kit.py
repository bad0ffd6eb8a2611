# SPDX-License-Identifier: Apache-2.0
"""Finds the library, in the build folder or where pkg-config says, and compiles C programs against it. These programs count their checks
themselves."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from .. import checks
from ..checks import check
from ..harness.choice import ROOT

HERE = pathlib.Path(__file__).resolve().parent
C = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wstrict-prototypes", "-g"]
CXX = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"]
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def run(argv, env=None, cwd=None):
    p = subprocess.run([str(x) for x in argv], env={**os.environ, **(env or {})}, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=600, check=False)
    return p.returncode, p.stdout.decode("utf-8", "replace")


def counted(title, status, text):
    """The counts of a program that counts by itself."""
    found = COUNTS.findall(text)
    if not found or (status != 0 and found[-1][1] == "0") or "Sanitizer" in text:
        check(title, False, "exit status %s\n%s" % (status, text[-6000:]))
        return
    checks.add(int(found[-1][0]), int(found[-1][1]))
    if found[-1][1] != "0":
        print("FAIL %s\n%s" % (title, text[-6000:]))


def compiler(name="CC", default="cc"):
    """Words of the command."""
    return shlex.split(os.environ.get(name, default))


class Library:
    """The library as it lies in the build folder. work: where programs are written."""

    def __init__(self, build, work):
        self.work, self.flags = work, ["-I%s" % (ROOT / "include"), "-L%s" % build, "-lpdl"]
        self.use(build / "libpdl.so")

    def use(self, so):
        self.so = so
        self.sanitized = "libasan" in run(["readelf", "-d", so])[1]
        self.counted = b"__gcov_init" in so.read_bytes()  # by tools/coverage

    def options(self):
        """Options of the compiler that the library needs."""
        return ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"] if self.sanitized else []

    def compiled(self, name, source, plus=False):
        """-> the program, or None."""
        command = compiler("CXX", "c++") if plus else compiler()
        if not check("%s: there is %s" % (name, command[0]), shutil.which(command[0])):
            return None
        status, text = run([*command, *(CXX if plus else C), source, "-o", self.work / name, *self.options(), *self.flags,
                            "-Wl,-rpath," + str(self.so.parent), "-lpthread"])
        return self.work / name if check("%s compiles" % name, status == 0, text) else None


class Installed(Library):
    """What `meson install` puts into a folder. files: path of what is there, by pattern."""
    PATTERNS = ["libpdl.pc", "libpdl.so", "libpdl.a", "pdl.h", "pdl.1*", "_pdl", "pdl.fish", "bash-completion", "rag.pdl"]

    def __init__(self, build, work):
        self.root, self.work = work / "root", work
        status, text = run(["meson", "install", "--no-rebuild", "--quiet", "-C", build], {"DESTDIR": str(self.root)})
        assert status == 0, text
        self.files = {name: next(iter(sorted(self.root.rglob(name))), None) for name in self.PATTERNS}
        pc, so = self.files["libpdl.pc"], self.files["libpdl.so"]
        assert pc and so, "libpdl is not installed"
        self.config = {"PKG_CONFIG_PATH": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(self.root)}
        self.flags = run(["pkg-config", "--cflags", "--libs", "libpdl"], self.config)[1].split()
        self.use(so)
