# SPDX-License-Identifier: Apache-2.0
"""Installs packages of the JavaScript registry for tests, in the folder of caches (venv_of.py). When several items need a package at the same time,
one of them installs it."""
import os
import pathlib
import shutil
import subprocess
import time

from .venv_of import alone, cached

AGAIN = 600  # seconds after which the registry is asked again when it could not be reached, and for a package that it did not have


def modules(build, *packages, seconds=180):
    """packages: NAME@VERSION. -> (folder node_modules that has them, None), or (None, why there is none). Made once and kept."""
    if os.environ.get("PDL_TESTS_ALONE"):
        return None, "packages of others are not fetched over sanitizers"
    place = cached("node")
    folder = os.path.join(place, "node_modules")
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "there is no node and npm"
    with alone(place):
        missing = [p for p in packages if not os.path.isdir(os.path.join(folder, p.rsplit("@", 1)[0]))]
        why = missing and install(place, missing, seconds)
    return (None, why) if why else (folder, None)


def install(place, packages, seconds):
    """-> why they cannot be had, or None"""
    os.makedirs(place, exist_ok=True)
    absent = pathlib.Path(place, "absent " + " ".join(packages).replace("/", "_"))
    unreachable = pathlib.Path(place, "absent registry")  # items that wait for this one do not wait as long again
    why = "the packages %s cannot be installed" % ", ".join(packages)
    if any(p.exists() and time.time() - p.stat().st_mtime < AGAIN for p in (absent, unreachable)):
        return why
    try:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries", "1", "--fetch-timeout", "20000", "--prefix", place, *packages],
                       check=True, capture_output=True, timeout=seconds, cwd=place)
        return None
    except (OSError, subprocess.SubprocessError) as e:
        (unreachable if isinstance(e, subprocess.TimeoutExpired) else absent).touch()
        return "%s (%s)" % (why, type(e).__name__)
