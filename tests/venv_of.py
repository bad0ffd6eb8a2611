# SPDX-License-Identifier: Apache-2.0
"""Packages of the Python and npm registries that tests talk to, in a folder under the build directory."""
import os
import subprocess
import sys


def python(build, *packages, seconds=180, name="test-venv", wanted=()):
    """-> (path of an interpreter that has the packages, None), or (None, why there is none). Made once and kept.

    packages: names to import. name: of the folder, for packages that do not get along with those of others. wanted: what is to be
    installed where it is called otherwise than its import."""
    place = os.path.join(str(build).removesuffix("-asan"), name)
    exe = os.path.join(place, "bin", "python")
    try:
        if not os.path.exists(exe):
            subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True, timeout=seconds)
        found = subprocess.run([exe, "-c", "import sys, importlib\nfor n in sys.argv[1:]: importlib.import_module(n.replace('-', '_'))", *packages],
                               capture_output=True, timeout=seconds, check=False)
        if found.returncode != 0:
            subprocess.run([exe, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "10", *(wanted or packages)], check=True,
                           capture_output=True, timeout=seconds)
        return exe, None
    except (OSError, subprocess.SubprocessError) as e:
        return None, "the packages %s cannot be installed (%s)" % (", ".join(packages), type(e).__name__)


def node(build, *packages, seconds=180):
    """-> (a folder with the packages of the npm registry, None), or (None, why there is none). Made once and kept."""
    place = os.path.join(str(build).removesuffix("-asan"), "test-npm")
    try:
        if not all(os.path.isdir(os.path.join(place, "node_modules", n)) for n in packages):
            os.makedirs(place, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", place, *packages], check=True,
                           capture_output=True, timeout=seconds)
        return place, None
    except (OSError, subprocess.SubprocessError) as e:
        return None, "the npm packages %s cannot be installed (%s)" % (", ".join(packages), type(e).__name__)
