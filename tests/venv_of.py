# SPDX-License-Identifier: Apache-2.0
"""Installs packages of the Python registry for tests, in the folder of caches, so that each is installed once for all clones and runs. When several
items need a package at the same time, one of them installs it. After a month a package is installed again, in its then newest version."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time

OLD = 60 * 86400  # seconds after which what nobody asks for is removed
# Programs of other people import thousands of files. Tests let no bytecode be written beside sources, so each process would compile all of them again.
BYTECODE = "import sys; sys.dont_write_bytecode = False; sys.pycache_prefix = %r\n"


def cached(name):
    """The folder of this month for what a name means, outside of the tree (as packaging/parts/kit.py says); older ones are removed."""
    caches = os.environ.get("PDL_PARTS") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "libpdl")
    tests = pathlib.Path(caches).resolve() / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    for other in tests.glob(name + "-*"):
        if other.is_dir() and time.time() - other.stat().st_mtime > OLD:
            shutil.rmtree(other, ignore_errors=True)
    return str(tests / ("%s-%s" % (name, time.strftime("%Y-%m"))))


@contextlib.contextmanager
def alone(place):
    """Nobody else installs into this folder meanwhile."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def name_of(kind):
    return "%s-%s" % (kind, sysconfig.get_python_version() + ("d" if hasattr(sys, "gettotalrefcount") else ""))


def pip(exe, seconds):
    """The command of pip that installs into the environment of an interpreter. One pip installs into all of them, since it takes five seconds of the
    processor to make; those that cannot (before 22.3) are made in each."""
    import ensurepip
    if tuple(map(int, ensurepip.version().split(".")[:2])) < (22, 3):
        subprocess.run([exe, "-m", "ensurepip"], check=True, capture_output=True, timeout=seconds)
        return [exe, "-m", "pip"]
    place = cached(name_of("test-pip"))
    with alone(place):
        if not os.path.exists(os.path.join(place, "complete")):
            subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, capture_output=True, timeout=seconds)
            pathlib.Path(place, "complete").touch()
    return [os.path.join(place, "bin", "python"), "-m", "pip", "--python", exe]


def made(place, seconds):
    """A new environment, whose programs keep their bytecode in it."""
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, capture_output=True, timeout=seconds)
    packages = next(pathlib.Path(place).glob("lib/python*/site-packages"))
    (packages / "keeps_bytecode.pth").write_text(BYTECODE % os.path.join(place, "bytecode"), "utf-8")


def python(build, *packages, seconds=180, name="test-venv", wanted=()):
    """-> (path of an interpreter that has the packages, None), or (None, why there is none). Made once and kept.

    build: the folder under test. packages: names to import. name: of the environment, for packages that do not get along with others. wanted: what is to be
    installed where it is called otherwise than its import."""
    if os.environ.get("PDL_TESTS_ALONE"):
        return None, "packages of others are not fetched over sanitizers"
    place = cached(name_of(name))
    exe, there = os.path.join(place, "bin", "python"), pathlib.Path(place, "has " + " ".join(packages))
    try:
        with alone(place):
            if not there.exists():
                if not os.path.exists(exe):
                    made(place, seconds)
                found = subprocess.run([exe, "-c", "import sys, importlib\nfor n in sys.argv[1:]: importlib.import_module(n.replace('-', '_'))", *packages],
                                       capture_output=True, timeout=seconds, check=False)
                if found.returncode != 0:
                    subprocess.run([*pip(exe, seconds), "install", "-q", "--no-compile", "--retries", "1", "--timeout", "10", *(wanted or packages)], check=True,
                                   capture_output=True, timeout=seconds)
                there.touch()
        return exe, None
    except (OSError, ImportError, subprocess.SubprocessError) as e:
        return None, "the packages %s cannot be installed (%s)" % (", ".join(packages), type(e).__name__)
