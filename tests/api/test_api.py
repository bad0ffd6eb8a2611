# SPDX-License-Identifier: Apache-2.0
"""The library as other programs use it: installed into a folder, found by pkg-config, used from C11 and C++17."""
import concurrent.futures
import json
import os
import re
import shutil
import sys

import pytest

from .kit import C, HERE, Installed, Library, compiler, counted, run
from ..checks import check
from ..harness.choice import ROOT

MESON_IS_MISSING = "setup: there is no meson (Debian: the package meson); `make deps` installs all that is needed\n"
PROGRAMS = ["values.c", "objects.c", "calls.c", "programs.c", "shared.c", "policies.c", "durable.c", "use.cpp"]


def script(path, text):
    path.write_text("#!/bin/sh\n" + text, "utf-8")
    path.chmod(0o755)


@pytest.mark.tier("all")
@pytest.mark.builds
def test_defaults(folder):
    """What a fresh build directory gets where Debian's dpkg-dev is not installed, and what is said where meson is not."""
    work = folder
    (work / "bin").mkdir()
    script(work / "bin" / "dpkg-architecture", "exit 1\n")
    status, text = run(["meson", "setup", work / "fresh", ROOT], {"PATH": "%s:%s" % (work / "bin", os.environ["PATH"])})
    if check("a fresh build directory is set up", status == 0, text):
        options = json.loads(run(["meson", "introspect", "--buildoptions", work / "fresh"])[1])
        check("the library goes to lib", [o["value"] for o in options if o["name"] == "libdir"] == ["lib"], "%s" % options)
    (work / "bare").mkdir()
    for name in ("sh", "ls", "cat", "cksum", "rm"):
        (work / "bare" / name).symlink_to(shutil.which(name))
    status, text = run([shutil.which("sh"), "tools/setup", work / "none"], {"PATH": str(work / "bare")}, cwd=ROOT)
    check("a missing meson is told with its package and the verb", status == 1 and text == MESON_IS_MISSING, text)


def first_program():
    """The program that stands first on the page about embedding, and what it prints."""
    page = (ROOT / "docs" / "manual" / "embedding.md").read_text("utf-8")
    return re.search(r"```c file=hello\.c\n(.*?)```\n```stdout\n(.*?)```", page, re.S).groups()


def exported(so):
    """Names that the library exports; names that the header declares."""
    _, text = run(["nm", "-D", "--defined-only", so])
    names = {line.split()[-1].split("@")[0] for line in text.splitlines() if re.match(r"[0-9a-f]+ [TDBVR] ", line)}
    header = re.sub(r"/\*.*?\*/", "", (ROOT / "include" / "pdl.h").read_text("utf-8"), flags=re.S)
    declared = set(re.findall(r"^PDL_API [^;]*?\b(pdl_\w+)\(", header, re.M))
    return {n for n in names if not n.startswith(("__asan", "__odr_asan", "__ubsan", "_")) and n != "mangle_path"}, declared  # that is gcov's


def test_what_is_installed(build, folder):
    there = Installed(build, folder)
    for name, path in there.files.items():
        check("%s is installed" % name, path is not None)
    check("pkg-config knows libpdl", "-lpdl" in there.flags, there.flags)
    names, declared = exported(there.so)
    check("what is exported is what the header declares", names == declared, "%s" % sorted(names ^ declared))
    soname = re.search(r"SONAME.*\[(.*)\]", run(["readelf", "-d", there.so])[1])
    check("the library has a SONAME", soname and soname.group(1) == "libpdl.so.0")
    documents(there.root)
    libraries(there.work, there.root, there.sanitized or there.counted)


def documents(dest):
    """The manual is installed, and what its pages, README and the pages of examples and modules link to is beside them."""
    manual = next(iter(sorted(dest.rglob("doc/libpdl/manual"))), None)
    if not check("the manual is installed", manual is not None):
        return
    status, text = run([sys.executable, ROOT / "tools" / "check-links", manual.parent.parent.parent])
    check("no link of an installed page is dead", status == 0, text)
    check("README and the list of changes are installed", all((manual.parent / n).is_file() for n in ("README.md", "CHANGELOG.md", "LICENSE")))
    check("the examples are installed", (manual.parent / "examples" / "hello.pdl").is_file())


def libraries(work, dest, larger):
    """The installed command finds the installed library of PDL programs; both stay small."""
    pdl = next(iter(sorted(dest.rglob("bin/pdl"))))
    (work / "imports.pdl").write_text("defs:\n  cot: {import: lib/cot}\ndata: ${ cot.keys() | list | length > 0 }\n", "utf-8")
    status, text = run([pdl, "--stream", "none", "imports.pdl"], cwd=work)
    check("the installed command imports lib/cot", status == 0 and text.strip() == "true", text)
    if larger:
        return
    manual = next(iter(sorted(dest.rglob("llms-full.txt")))).stat().st_size  # `pdl docs` and `pdl help` read it
    for path in [pdl, next(iter(sorted(dest.rglob("libpdl.so"))))]:
        run(["strip", "-o", work / "stripped", path])
        size = (work / "stripped").stat().st_size
        # 2 MB until policies, sandbox, Live Document, durable runs, batches and telemetry were in; 3 MB until traces kept the calls of expressions
        size -= manual if path == pdl else 0
        check("%s, stripped, is under 4 MB without the manual in it: %d bytes" % (path.name, size), size < 4 << 20)


def test_programs_with_the_installed_library(build, folder):
    """Those of the manual, and one that counts."""
    there = Installed(build, folder)
    (folder / "hello.c").write_text(first_program()[0], "utf-8")
    hello = there.compiled("hello", folder / "hello.c")
    if hello:
        status, text = run([hello], cwd=folder)
        check("the first program of the page prints what it should", (status, text) == (0, first_program()[1]), text)
    embed = there.compiled("embed", ROOT / "examples" / "embed" / "embed.c")
    if embed:
        status, text = run([embed], cwd=folder)
        check("the example prints what it should", status == 0 and text == (HERE / "embed.txt").read_text("utf-8"), text)
    use = there.compiled("use", HERE / "use.c")
    if use:
        counted("use.c", *run([use], cwd=folder))


@pytest.mark.parametrize("source", PROGRAMS)
def test_program(source, build, folder):
    program = Library(build, folder).compiled(source.replace(".", "_"), HERE / source, source.endswith("cpp"))
    if program:
        counted(source, *run([program], cwd=folder))


def test_many_threads(build, folder):
    many = Library(build, folder).compiled("many", HERE / "many.c")
    if not many:
        return
    counted("many", *run([many], cwd=folder))
    counted("many --allocator", *run([many, "--allocator"], cwd=folder))
    counted("many --limited", *run([many, "--limited"], cwd=folder))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # so many that threads have to wait for a processor
        for status, text in pool.map(lambda i: run([many, "--end"], cwd=folder), range(16)):
            counted("many --end", status, text)


def link_static(there, source, program, *options):
    """Compiles a program and links it with the archive; returns the compiler's status and its messages."""
    below = [x for x in run(["pkg-config", "--static", "--libs", "libpdl"], there.config)[1].split() if x.startswith("-l") and x != "-lpdl"]
    return run([*compiler(), *C, *there.options(), "-I%s" % (ROOT / "include"), source, there.files["libpdl.a"], "-o", program, *below, "-ldl", "-lm", "-lpthread", *options])


def test_own_names(build, folder):
    """A program whose own functions have short names links against the archive."""
    status, text = link_static(Installed(build, folder), HERE / "own_names.c", folder / "own_names")
    if check("own names link against libpdl.a", status == 0, text):
        counted("own_names", *run([folder / "own_names"], cwd=folder))


def test_static_program_has_no_apps(build, folder):
    """A program that runs programs and shows no page has nothing of the editor, the servers and the viewer inside."""
    there, program, linked = Installed(build, folder), folder / "embed", folder / "embed.map"
    status, text = link_static(there, ROOT / "examples" / "embed" / "embed.c", program, "-Wl,-Map=%s" % linked)
    if not check("the example links against libpdl.a", status == 0, text):
        return
    wings = [m.group(1) for m in re.finditer(r"libpdl\.a\(src_([a-z]+)_", linked.read_text("utf-8"))]
    check("the map names the objects that were linked", {"api", "core", "language", "machine", "world"} <= set(wings), "%s" % sorted(set(wings)))
    check("none of them is of apps", "apps" not in wings, "%s" % sorted(set(wings)))
    status, text = run([program], cwd=folder)
    check("the program prints what it should", status == 0 and text == (HERE / "embed.txt").read_text("utf-8"), text)
