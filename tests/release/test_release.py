# SPDX-License-Identifier: Apache-2.0
"""The statements of `make release` about its files: which files belong to the release, their hashes, the bill of materials, the page, and the
differences between two releases. The packages have separate tests (tests/wheel, static, container, deb)."""
import hashlib
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess

from ..checks import check, skip
from ..harness.choice import ROOT

NAMES = ["libpdl-0.1.0-cp310-abi3-manylinux_2_28_x86_64.whl", "libpdl-0.1.0-cp310-abi3-macosx_11_0_arm64.whl", "libpdl_compat-0.1.0-py3-none-any.whl", "pdl-linux-x86_64", "pdl-0.1.0-x86_64.oci.tar",
         "pdl_0.1.0-1_amd64.deb", "libpdl0_0.1.0-1_amd64.deb", "libpdl_0.1.0-1.dsc", "libpdl-0.1.0.tar.gz"]


def tool(path="packaging/release/make-release"):
    loader = importlib.machinery.SourceFileLoader(path.rpartition("/")[2].replace("-", "_"), str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def filled(folder):
    folder.mkdir()
    for name in [*NAMES, "notes.txt"]:
        (folder / name).write_text(name, "utf-8")
    return folder


def test_version(folder):
    """A page that names a file of another version is found, wherever in it."""
    shutil.copy(ROOT / "meson.build", folder)
    (folder / "README.md").write_text((ROOT / "README.md").read_text("utf-8"), "utf-8")
    known = tool("tools/check-version")
    check("all the same", known.problems(folder) == (1, []), known.problems(folder))
    with open(folder / "README.md", "a", encoding="utf-8") as page:
        page.write("\n    docker load -i pdl-9.8.7-x86_64.oci.tar\n")
    seen, bad = known.problems(folder)
    check("another one", seen == 1 and len(bad) == 1 and "README.md names 9.8.7;" in bad[0], bad)


def test_files(folder):
    made = tool()
    out = filled(folder / "dist")
    found = made.files(out)
    check("each file is there once, and nothing else", sorted(p.name for p, _ in found) == sorted(NAMES), [p.name for p, _ in found])
    said = made.page(found, ["the image"])
    check("the page has a row for each", all("`%s` |" % name in said for name in NAMES) and "Not made here: the image." in said, said)
    names = {name: digest for digest, name in (line.split("  ") for line in made.sums(out).splitlines())}
    check("hashes of all that lies there", names == {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir()}, names)


def test_packages_leave_the_others(folder, capsys):
    """Each kind of package lies in the one folder and removes only what it made before."""
    out, work = filled(folder / "dist"), folder / "work"
    work.mkdir()
    (work / "pdl_0.2.0-1_amd64.deb").write_text("new", "utf-8")
    tool("packaging/deb/make-deb").hand_out(work, out)
    debian = {name for name in NAMES if name.endswith((".deb", ".dsc"))}
    left = {p.name for p in out.iterdir()}
    check("the packages of Debian are new, and all else is there", left == {*NAMES, "notes.txt", "pdl_0.2.0-1_amd64.deb"} - debian, left)


def test_bill(folder):
    made = tool()
    found = made.files(filled(folder / "dist"))
    bill = made.bill(found)
    parts = made.kit.sources()
    check("each library that comes inside has a licence", set(parts) == set(made.LICENCES), set(parts) ^ set(made.LICENCES))
    by_id = {p["SPDXID"]: p for p in bill["packages"]}
    check("ids are not used twice", len(by_id) == len(bill["packages"]) == len(found) + len(parts))
    check("relations name what is there", all(r["relatedSpdxElement"] in by_id and r["spdxElementId"] in {*by_id, "SPDXRef-DOCUMENT"} for r in bill["relationships"]))
    holders = {by_id[r["spdxElementId"]]["name"] for r in bill["relationships"] if r["relationshipType"] == "CONTAINS"}
    check("what has libraries inside", holders == {NAMES[0], NAMES[1], "pdl-linux-x86_64", "pdl-0.1.0-x86_64.oci.tar"}, holders)
    mac = {by_id[r["relatedSpdxElement"]]["name"] for r in bill["relationships"]
           if r["relationshipType"] == "CONTAINS" and by_id[r["spdxElementId"]]["name"] == NAMES[1]}
    check("a Mac has libcurl and SQLite", mac == {"libuv1", "pcre2", "utf8proc", "gmp"}, mac)


def test_two_releases(folder):
    made = tool()
    one, other = filled(folder / "one"), filled(folder / "other")
    check("the same", made.differing(one, other) == [])
    (other / "pdl-linux-x86_64").write_text("another", "utf-8")
    (one / "libpdl_0.1.0-1.dsc").unlink()
    check("another, and one that is missing", made.differing(one, other) == ["libpdl_0.1.0-1.dsc", "pdl-linux-x86_64"], made.differing(one, other))


def test_missing(folder):
    made = tool()
    out = filled(folder / "dist")
    kinds = [k for k in made.KINDS if k[0] in ("the package for Python, macosx_arm64", "the image, x86-64", "the image, arm64", "the sources")]
    check("what was not made is named", made.missing(out, kinds, []) == [r"pdl-.*-aarch64\.oci\.tar"], made.missing(out, kinds, []))
    check("what cannot be made here is not missed", made.missing(out, kinds, ["the image, arm64"]) == [])
    check("each target of the wheels has its kind", set(made.WHEELS) == set(made.kit.TARGETS), set(made.WHEELS) ^ set(made.kit.TARGETS))


def test_tried(folder):
    tried = tool().tried
    out = filled(folder / "dist")
    check("a page runs nothing", tried.of(out / "notes.txt") == ("nothing to run", False))
    mac = tried.of(out / NAMES[1])
    check("what cannot be run here is said, and is no fault", "Mac" in mac.said and not mac.is_fault, mac)
    broken = tried.of(out / "libpdl-0.1.0.tar.gz")
    check("what is no archive is a fault", broken.is_fault and "ReadError" in broken.said, broken)
    if not shutil.which("bwrap"):
        skip("a command that does not start", "there is no bwrap")
        return
    broken = tried.of(out / "pdl-linux-x86_64")
    check("what does not start is a fault", broken.is_fault and "exit status" in broken.said, broken)


def test_packages_are_waited_for(folder):
    """Another apt-get that is at work for a moment, as that of the night's upgrades, is no error: each of ours waits for the lock. The programs
    here only write down their words."""
    for name, line in [("apt-get", 'echo "$@" >> %s/said' % folder), ("dpkg-query", "echo not-installed"), ("sudo", 'exec "$@"')]:
        (folder / name).write_text("#!/bin/sh\n%s\n" % line, "utf-8")
        (folder / name).chmod(0o755)
    for what in ("deb", "release"):
        subprocess.run(["sh", ROOT / "tools/install-deps", what], env={**os.environ, "PATH": "%s:%s" % (folder, os.environ["PATH"])}, check=True, capture_output=True)
    said = [line for line in (folder / "said").read_text("utf-8").splitlines() if " install " in line]
    check("packages are asked for", len(said) > 3, said)
    check("each time with time to wait", all("DPkg::Lock::Timeout=" in line for line in said), said)
