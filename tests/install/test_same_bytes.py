# SPDX-License-Identifier: Apache-2.0
"""Two builds in two folders give the same bytes: the command, the shared library and the static library. The source folders have names of different
lengths, and so have the build folders, one of which is outside of its sources. Nothing that was compiled elsewhere is used."""
import hashlib
import os
import subprocess

import pytest

from ..checks import check
from ..recipes.test_recipes import copy_tree

MADE = ("pdl", "libpdl.so.0.1.0", "libpdl.a")


def built(sources, out):
    """-> {file: its hash}, what was said."""
    sources.mkdir(parents=True)
    copy_tree(sources)
    env = {**os.environ, "CC": "cc", "CCACHE_DISABLE": "1"}
    for line in (["meson", "setup", str(out), "-Doptimization=0", "-Dtests=false"], ["ninja", "-C", str(out), *MADE]):
        r = subprocess.run(line, cwd=sources, env=env, capture_output=True, text=True, timeout=1200, check=False)
        if r.returncode:
            return {}, (r.stdout + r.stderr)[-3000:]
    return {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in MADE}, ""


@pytest.mark.tier("soak")  # two whole builds without a cache: two minutes of the processor
@pytest.mark.builds
@pytest.mark.seconds(2400)
def test_two_builds_are_the_same_bytes(folder):
    one, why = built(folder / "a", folder / "a" / "build")
    other, why_not = built(folder / "another place" / "with a longer name", folder / "beside it" / "out")
    check("both are built", one and other, why, why_not)
    for name in MADE:
        check("%s is the same" % name, one and one.get(name) == other.get(name), one.get(name), other.get(name))
    for name in MADE if one else ():
        check("%s names no folder" % name, str(folder).encode() not in (folder / "a" / "build" / name).read_bytes())
