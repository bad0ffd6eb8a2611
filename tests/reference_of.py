# SPDX-License-Identifier: Apache-2.0
"""The source of the reference interpreter, with its examples and demo traces, in a folder under the build directory."""
import subprocess
import sys
import tarfile

PACKAGE = "prompt-declaration-language==0.9.3"


def source(build):
    """Its folder; fetched once. None where it cannot be fetched."""
    folder = build / "reference-source"
    found = sorted(folder.glob("*/pyproject.toml"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "-d", folder, PACKAGE],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900, check=False)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as t:
                t.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # not in Debian's Python 3.11.2
        found = sorted(folder.glob("*/pyproject.toml"))
    return found[0].parent if found else None
