# SPDX-License-Identifier: Apache-2.0
"""The source distribution of the reference interpreter, with its tests, examples and demo traces, in the folder of caches (venv_of.py)."""
import pathlib
import shutil
import subprocess
import sys
import tarfile

from . import venv_of

NAME = "prompt-declaration-language"


def source(version="0.9.3"):
    """-> its folder, which stays as it is fetched, or None where it cannot be fetched."""
    place = pathlib.Path(venv_of.cached("reference-source"))
    folder = place / ("%s-%s" % (NAME.replace("-", "_"), version))
    try:
        with venv_of.alone(str(place)):
            if not folder.is_dir():
                fetch(place, folder.name, version)
    except (OSError, subprocess.SubprocessError, tarfile.TarError):
        return None
    return folder


def fetch(place, name, version):
    """pip asks a distribution for its metadata, with the tools that it names: these come as wheels, or they would be built, too."""
    new = place / "new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", NAME, "--retries", "1", "--timeout", "10", "-d", new,
                    "%s==%s" % (NAME, version)], capture_output=True, timeout=900, check=True)
    with tarfile.open(next(iter(new.glob("*.tar.gz")), new)) as archive:
        archive.extractall(new, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # not in Debian's Python 3.11.2
    (new / name).rename(place / name)
