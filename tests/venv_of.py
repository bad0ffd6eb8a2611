# SPDX-License-Identifier: Apache-2.0
"""Packages of the Python registry that tests talk to, in a folder under the build directory. Items ask side by side, and one installs."""
import contextlib
import fcntl
import os
import pathlib
import subprocess
import sys


@contextlib.contextmanager
def alone(place):
    """Nobody else installs into this folder meanwhile."""
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def python(build, *packages, seconds=180, name="test-venv", wanted=()):
    """-> (path of an interpreter that has the packages, None), or (None, why there is none). Made once and kept.

    packages: names to import. name: of the folder, for packages that do not get along with those of others. wanted: what is to be
    installed where it is called otherwise than its import."""
    if os.environ.get("PDL_TESTS_ALONE"):
        return None, "packages of others are not fetched over sanitizers"
    place = os.path.join(str(build).removesuffix("-asan"), name)
    exe, there = os.path.join(place, "bin", "python"), pathlib.Path(place, "has " + " ".join(packages))
    try:
        with alone(place):
            if not there.exists():
                if not os.path.exists(exe):
                    subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True, timeout=seconds)
                found = subprocess.run([exe, "-c", "import sys, importlib\nfor n in sys.argv[1:]: importlib.import_module(n.replace('-', '_'))", *packages],
                                       capture_output=True, timeout=seconds, check=False)
                if found.returncode != 0:
                    subprocess.run([exe, "-m", "pip", "install", "-q", "--no-compile", "--retries", "1", "--timeout", "10", *(wanted or packages)], check=True,
                                   capture_output=True, timeout=seconds)
                there.touch()
        return exe, None
    except (OSError, subprocess.SubprocessError) as e:
        return None, "the packages %s cannot be installed (%s)" % (", ".join(packages), type(e).__name__)
