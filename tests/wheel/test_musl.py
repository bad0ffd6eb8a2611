# SPDX-License-Identifier: Apache-2.0
"""The wheel for musl on this machine's processor. Debian has no Python for musl. So the loader of musl (Debian: musl-tools) loads the extension with
a library that has the names of Python's functions, but no code for them. Each function that the extension needs from the C library is found. The
command in the wheel needs neither. Skipped, with a line that says so, when there is no such wheel or loader."""
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest

from ..checks import check, skip
from ..harness.choice import ROOT

DIST = pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist"))
LOADER = """#include <dlfcn.h>
#include <stdio.h>
int main(int n, char **files) {
    void *found = n == 3 && dlopen(files[1], RTLD_NOW | RTLD_GLOBAL) ? dlopen(files[2], RTLD_NOW) : NULL;
    if (found && dlsym(found, "PyInit__pdl") && !dlsym(found, "SSL_new")) return 0;
    return puts(found ? "it shows too little, or too much" : dlerror()), 1;
}
"""


def names_of_python(extension):
    said = subprocess.run(["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True).stdout
    return re.findall(r" U (_?Py\w+)", said)


@pytest.mark.builds
@pytest.mark.seconds(300)
def test_wheel(folder):
    wheel = next(iter(DIST.glob("libpdl-*-musllinux_*_%s.whl" % os.uname().machine)), None)
    if not wheel:
        skip("the wheel for musl", "there is none: make wheel ARGS='--target musllinux_%s'" % os.uname().machine)
        return
    with zipfile.ZipFile(wheel) as z:
        check("its tag is in the file", "Tag: cp310-abi3-" + wheel.stem.split("-")[-1] in z.read(next(n for n in z.namelist() if n.endswith("/WHEEL"))).decode())
        z.extractall(folder)
    command, extension = folder / "libpdl/bin/pdl", folder / "libpdl/_pdl.abi3.so"
    command.chmod(0o755)
    p = subprocess.run([command, "-e", "defs: {m: {import: lib/answer}}\ntext: ${ 2 ** 70 }"], capture_output=True, text=True, check=False)
    check("its command", (p.returncode, p.stdout.strip()) == (0, "1180591620717411303424"), p)
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", subprocess.run(["readelf", "-d", extension], capture_output=True, text=True, check=True).stdout))
    check("it needs the C library alone", needed == {"libc.so"}, needed)
    if not shutil.which("musl-gcc"):
        skip("the extension in musl", "there is no musl-gcc")
        return
    names = names_of_python(extension)
    check("it takes the names of Python from the process", "PyLong_FromLongLong" in names and len(names) > 50, names)
    (folder / "python.c").write_text("".join("char %s[64];\n" % name for name in names), "utf-8")
    (folder / "load.c").write_text(LOADER, "utf-8")
    for argv in (["-shared", "-fPIC", "-o", "python.so", "python.c"], ["-o", "load", "load.c"]):
        subprocess.run(["musl-gcc", *argv], cwd=folder, check=True, capture_output=True)
    p = subprocess.run([folder / "load", folder / "python.so", extension], capture_output=True, text=True, check=False)
    check("the loader of musl takes it", p.returncode == 0, p.stdout)
