# SPDX-License-Identifier: Apache-2.0
"""Packages of the JavaScript registry that tests talk to, in a folder under the build directory."""
import os
import shutil
import subprocess


def modules(build, *packages, seconds=180):
    """packages: NAME@VERSION. -> (folder node_modules that has them, None), or (None, why there is none). Made once and kept."""
    place = os.path.join(str(build).removesuffix("-asan"), "test-node")
    folder = os.path.join(place, "node_modules")
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "there is no node and npm"
    missing = [p for p in packages if not os.path.isdir(os.path.join(folder, p.rsplit("@", 1)[0]))]
    try:
        if missing:
            os.makedirs(place, exist_ok=True)
            subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries", "1", "--prefix", place, *missing],
                           check=True, capture_output=True, timeout=seconds, cwd=place)
        return folder, None
    except (OSError, subprocess.SubprocessError) as e:
        return None, "the packages %s cannot be installed (%s)" % (", ".join(missing), type(e).__name__)
