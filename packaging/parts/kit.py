# SPDX-License-Identifier: Apache-2.0
"""Parts that all packages need: the version, the sources of the libraries inside, the folder of things that are compiled once, and the compiler for
other systems.

These parts are in one folder outside of the tree, which new clones and other worktrees share: PDL_PARTS, or else libpdl in the folder of caches.
Its folder `tools/` is a Python environment with the packages of tools.txt. `TARGET/` has the libraries for a target, which third-party builds.
"""
import fcntl
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ABSENT = 77  # exit status where something cannot be fetched
GLIBC = "2.28"
# The beginning and end of a wheel's tag -> the target of the compiler. The first target is that of the machines on which builds are
# made.
TARGETS = {
    "manylinux_x86_64": "x86_64-linux-gnu." + GLIBC, "manylinux_aarch64": "aarch64-linux-gnu." + GLIBC,
    "musllinux_x86_64": "x86_64-linux-musl", "musllinux_aarch64": "aarch64-linux-musl",
    "macosx_arm64": "aarch64-macos.11.0", "macosx_x86_64": "x86_64-macos.11.0",
}
CROSS = """[binaries]
c = '%(cc)s'
ar = '%(ar)s'
strip = 'strip'
pkgconfig = 'pkg-config'
[properties]
pkg_config_libdir = '%(third)s/lib/pkgconfig'
[host_machine]
system = '%(system)s'
cpu_family = '%(processor)s'
cpu = '%(processor)s'
endian = 'little'
"""


def version(root=ROOT):
    """Returns the version of the project, which is in meson.build."""
    return re.search(r"^\s*version: '([^']+)'", (root / "meson.build").read_text("utf-8"), re.M).group(1)


def sources():
    """Returns {name: (version, digest)} of the libraries that are compiled for packages, in the order of
    sources.txt."""
    rows = [line.split() for line in (HERE / "sources.txt").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return {name: (number, digest) for name, number, digest in rows}


def place():
    named = os.environ.get("PDL_PARTS")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(named or os.path.join(caches, "libpdl")).resolve()


def of_tools(folder):
    return next(iter(folder.glob("lib/python*/site-packages/ziglang/zig")), None)


def zig_that_is_there():
    """Returns the path of zig's program, or None. The program is the one that was fetched, or else that of a Python on
    PATH."""
    found = of_tools(place() / "tools")
    if found:
        return str(found)
    for python in (sys.executable, "python3"):
        try:
            said = subprocess.run([python, "-c", "import ziglang, os; print(os.path.dirname(ziglang.__file__))"], capture_output=True, text=True,
                                  check=False)
        except OSError:
            continue
        if said.returncode == 0:
            return os.path.join(said.stdout.strip(), "zig")
    return None


class alone:
    """A lock. Two builds at the same time would write the same files, so the second one waits. what: the tools, or the target of
    libraries."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        place().mkdir(parents=True, exist_ok=True)
        self.file = open(place() / (".lock-" + self.what), "w", encoding="utf-8")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


def tools():
    """Fetches the compiler and auditwheel on first use. Returns the folder of their Python environment."""
    with alone("tools"):
        return fetched_tools()


def fetched_tools():
    folder, wanted = place() / "tools", (HERE / "tools.txt").read_bytes()
    stamp = folder / "tools.txt"
    if not stamp.is_file() or stamp.read_bytes() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        if subprocess.run([folder / "bin" / "pip", "install", "-q", "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r",
                           HERE / "tools.txt"], check=False).returncode:
            print("what packaging/parts/tools.txt names cannot be fetched", file=sys.stderr)
            sys.exit(ABSENT)
        stamp.write_bytes(wanted)
    return folder


def is_macos(target):
    return "-macos" in target


def cross_file(path, third, target):
    """Writes the file with which meson builds for another system, with the libraries in the folder `third`."""
    values = {"cc": HERE / "compiler", "ar": HERE / "archiver" if is_macos(target) else "ar", "third": third,
              "system": "darwin" if is_macos(target) else "linux", "processor": target.split("-")[0]}
    path.write_text(CROSS % values, "utf-8")


def libraries(target):
    """Builds the missing libraries for a target. Returns their folder, and the compiler for the target."""
    folder = tools()
    family = target.split(".")[0]
    os.environ.update(PDL_ZIG=str(of_tools(folder)), PDL_TARGET=target, ZIG_GLOBAL_CACHE_DIR=str(place() / "zig"),
                      ZIG_LOCAL_CACHE_DIR=str(place() / "zig"))
    third = place() / target
    with alone(target):
        status = subprocess.run([sys.executable, HERE / "third-party", third, HERE / "compiler", family], check=False).returncode
    if status:
        sys.exit(status)
    return third, HERE / "compiler"
