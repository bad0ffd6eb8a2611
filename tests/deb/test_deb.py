# SPDX-License-Identifier: Apache-2.0
"""The packages of `make deb` are installed, tried by their own tests (debian/tests), and removed, in a separate Debian (mmdebstrap) that is entered
without network (bubblewrap). Before that, an earlier version is upgraded: the same packages with a lower number, and with a file that the new version
does not have. Skipped, with a line that says so, when the packages were not made or such a root cannot be made."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from .. import bare_root
from ..checks import check, skip
from ..harness.choice import Choice, ROOT

DIST = pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist"))  # make-release says where it made them
EARLIER = "0.0.9-1"
PACKAGES = {"pdl", "libpdl0", "libpdl-dev", "python3-libpdl", "pdl-doc"}
# What the packages need, and what their tests need.
BELOW = ["ca-certificates", "gcc", "libc6-dev", "libcurl4", "libgmp-dev", "libpcre2-dev", "libsqlite3-0", "libutf8proc-dev", "libuv1-dev",
         "pkg-config", "python3"]
OURS = "find / -xdev \\( -name '*pdl*' -o -path '*jupyter*' \\) ! -path '/proc/*' ! -path '/debs*' ! -path '/earlier*' ! -path '/tests*' ! -path '/var/log/*' ! -path '/var/tmp/*' ! -path '/tmp/*' ! -path '/root/*'"


def made():
    """-> name of a package: its file"""
    return {p.name.split("_")[0]: p for p in DIST.glob("*.deb")}


def fields(path):
    text = subprocess.run(["dpkg-deb", "-f", path], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", text, re.M))


def contents(path):
    text = subprocess.run(["dpkg-deb", "-c", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[5].lstrip(".") for line in text.splitlines()}


def sizes_of_the_page():
    """-> name of a package: how many MB the page "In production" says"""
    page = (ROOT / "docs" / "manual" / "production.md").read_text("utf-8")
    rows = [(re.findall(r"`([\w-]+)_\*\.deb`", row), re.findall(r"([\d.]+) MB", row)) for row in page.splitlines() if row.startswith("| `")]
    return {name: float(n) for names, sizes in rows for name, n in zip(names, sizes)}


def check_packages(found):
    check("these packages", set(found) == PACKAGES, sorted(found))
    version = re.search(r"^\s*version: '([^']+)'", (ROOT / "meson.build").read_text("utf-8"), re.M).group(1)
    for name, path in found.items():
        check("the version of " + name, fields(path)["Version"].startswith(version + "-"), fields(path))
    said = sizes_of_the_page()
    for name, path in found.items():
        size = path.stat().st_size / 1e6
        check("the page has the size of " + name, abs(said.get(name, 0) - size) < 0.1, said.get(name), size)
    needed = fields(found["pdl"])["Depends"]
    check("pdl needs what it opens while it runs", "libcurl" in needed and "libsqlite3-0" in needed and "ca-certificates" in needed, needed)
    held = {name: contents(path) for name, path in found.items()}
    for name, path in [("pdl", "/usr/bin/pdl"), ("pdl", "/usr/share/pdl/lib/answer.pdl"), ("pdl", "/usr/share/man/man1/pdl.1.gz"),
                       ("libpdl-dev", "/usr/include/pdl.h"), ("python3-libpdl", "/usr/lib/python3/dist-packages/libpdl/__init__.py"),
                       ("pdl-doc", "/usr/share/doc/libpdl/examples/hello.pdl"), ("pdl", "/usr/share/bash-completion/completions/pdl")]:
        check("%s has %s" % (name, path), path in held[name])
    check("the library is where the loader looks", any(re.fullmatch(r"/usr/lib/[^/]+/libpdl\.so\.0", p) for p in held["libpdl0"]), held["libpdl0"])


GONE = "/usr/share/pdl/lib/gone.pdl"


def write_earlier(path, out, scratch):
    """The package as it would have been in an earlier version."""
    tree = scratch / path.name
    subprocess.run(["dpkg-deb", "-R", path, tree], check=True)
    control = tree / "DEBIAN" / "control"
    now = fields(path)["Version"]
    control.write_text(control.read_text("utf-8").replace(now, EARLIER).replace(now.split("-")[0] + ")", EARLIER + ")"), "utf-8")
    if fields(path)["Package"] == "pdl":
        (tree / GONE.lstrip("/")).write_text("text: gone\n", "utf-8")
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, out / path.name], check=True, capture_output=True)


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.seconds(3600)
def test_packages(folder):
    found = made()
    if not found:
        skip("the packages of Debian", "there are none: make deb")
        return
    check_packages(found)
    place = Choice.build / "deb-root"
    why = bare_root.make(place, BELOW)
    if why:
        skip("a Debian of its own", why)
        return
    for used in ("debs", "earlier", "tests"):
        shutil.rmtree(place / used, ignore_errors=True)
    for used in ("debs", "earlier"):
        (place / used).mkdir()
    for path in found.values():
        shutil.copy(path, place / "debs")
        write_earlier(path, place / "earlier", folder)
    shutil.copytree(ROOT / "debian" / "tests", place / "tests")
    names = " ".join(sorted(PACKAGES))
    for name, line in [("nothing of ours is there before", "test -z \"$(%s)\"" % OURS), 
                       ("an earlier version is installed", "dpkg -i /earlier/*.deb && test -f " + GONE),
                       ("they are upgraded", "dpkg -i /debs/*.deb && test -z \"$(dpkg --audit)\" && ! test -e %s && ! dpkg -l | grep -F %s" % (GONE, EARLIER)),
                       *(("test of the packages: " + t.name, "/tests/" + t.name) for t in sorted((ROOT / "debian/tests").iterdir()) if t.name != "control"),
                       ("they are removed", "dpkg --purge " + names), ("nothing of ours is left", "left=$(%s); echo \"$left\"; test -z \"$left\"" % OURS)]:
        p = subprocess.run(bare_root.enter(place, line), capture_output=True, text=True, timeout=600, check=False)
        check(name, p.returncode == 0, "exit status %s\n%s%s" % (p.returncode, p.stdout[-3000:], p.stderr[-3000:]))
