# SPDX-License-Identifier: Apache-2.0
"""Starts a file of a release as its user would, and lets it run a program. A file that cannot be run on this machine is reported, and does
not count as a fault."""
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import namedtuple

Outcome = namedtuple("Outcome", "said is_fault")
# uses a module of the language, and numbers of GMP
PROGRAM = "defs: {m: {import: lib/answer}}\ntext: \"${ 2 ** 70 }!\"\n"
WANTED = "1180591620717411303424!"
CELL = "import libpdl\nassert libpdl.run(open('p.pdl').read()).value == %r\nprint(%r)" % (WANTED, WANTED)
SECONDS = 300


class Unable(Exception):
    """This machine lacks something that the trial needs."""


def done(argv, **more):
    """Runs a command and returns its output. An OSError or a CalledProcessError is a fault of the tried file."""
    return subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=True, **more).stdout.strip()


def emulator(name):
    """Returns the emulator that runs the file on this machine, or None when the machine can run the file itself."""
    processor = "aarch64" if re.search("aarch64|arm64", name) else "x86_64"
    if processor == os.uname().machine:
        return None
    found = shutil.which("qemu-%s-static" % processor)
    if not found:
        raise Unable("not run: there is no qemu-%s-static" % processor)
    return found


def rooted(root, name, command, folder="/"):
    """Runs the command in a root folder that has only the content of the file."""
    if not shutil.which("bwrap"):
        raise Unable("not run: there is no bwrap")
    qemu = emulator(name)
    return done(["bwrap", "--bind", root, "/", *(["--ro-bind", qemu, "/qemu"] if qemu else []), "--chdir", folder, "--clearenv", "--die-with-parent",
                 *(["/qemu"] if qemu else []), command, "p.pdl"])


def command(path, scratch):
    shutil.copy(path, scratch / "pdl")
    return rooted(scratch, path.name, "/pdl")


def image(path, scratch):
    with tarfile.open(path) as tar:
        read = lambda blob: tar.extractfile("blobs/" + blob["digest"].replace(":", "/")).read()
        manifest = json.loads(read(json.load(tar.extractfile("index.json"))["manifests"][0]))
        about = json.loads(read(manifest["config"]))["config"]
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(read(manifest["layers"][0])))) as layer:
            layer.extractall(scratch)
    (scratch / "work" / "p.pdl").write_text(PROGRAM, "utf-8")
    return rooted(scratch, path.name, about["Entrypoint"][0], about["WorkingDir"])


def wheel(path, scratch):
    if "macosx" in path.name:
        raise Unable("linked and checked, not run: that takes a Mac")
    if "musllinux" in path.name:  # there is no Python for musl here, but the command in the wheel needs none
        with zipfile.ZipFile(path) as z:
            (scratch / "pdl").write_bytes(z.read("libpdl/bin/pdl"))
        (scratch / "pdl").chmod(0o755)
        return rooted(scratch, path.name, "/pdl")
    if emulator(path.name):
        raise Unable("not run: that takes a Python for this processor (tests/wheel has one)")
    done([sys.executable, "-m", "venv", scratch / "venv"])
    done([scratch / "venv/bin/pip", "install", "-q", "--no-index", "--no-deps", path])
    done([scratch / "venv/bin/python", "-c", CELL], cwd=scratch)
    return done([scratch / "venv/bin/pdl", "p.pdl"], cwd=scratch)


def drop_in(path, scratch):
    beside = next(p for p in path.parent.glob("libpdl-*-manylinux_*_%s.whl" % os.uname().machine))
    done([sys.executable, "-m", "venv", scratch / "venv"])
    done([scratch / "venv/bin/pip", "install", "-q", "--no-index", beside, path])
    return done([scratch / "venv/bin/python", "-c", "from pdl.pdl import exec_str\nprint(exec_str(open('p.pdl').read()))"], cwd=scratch)


def debian(path, scratch):
    if not shutil.which("dpkg-deb"):
        raise Unable("not run: there is no dpkg-deb")
    for name in ("pdl", "libpdl0", "python3-libpdl", "libpdl-dev", "pdl-doc"):
        done(["dpkg-deb", "-x", next(path.parent.glob(name + "_*.deb")), scratch])
    library = next(scratch.glob("usr/lib/*/libpdl.so.0")).parent
    env = {**os.environ, "LD_LIBRARY_PATH": str(library), "PYTHONPATH": str(scratch / "usr/lib/python3/dist-packages")}
    if path.name.startswith("python3-"):
        return done(["/usr/bin/python3", "-c", CELL.replace("open('p.pdl').read()", "'text: \"${ 2 ** 70 }!\"'")], cwd=scratch, env=env)
    if path.name.startswith("libpdl-dev_"):
        (scratch / "c.c").write_text("#include <pdl.h>\nint main(void) { return pdl_version() == 0; }\n", "utf-8")
        done(["cc", "-I", scratch / "usr/include", scratch / "c.c", "-L", library, "-lpdl", "-o", scratch / "c"])
        done([scratch / "c"], env=env)
        return WANTED
    if path.name.startswith("pdl-doc_"):
        examples = scratch / "usr/share/doc/libpdl/examples"
        return WANTED if done([scratch / "usr/bin/pdl", "--replay", examples / "hello.journal", examples / "hello.pdl"], env=env) else ""
    (scratch / "q.pdl").write_text("text: \"${ 2 ** 70 }!\"\n", "utf-8")
    return done([scratch / "usr/bin/pdl", "q.pdl"], cwd=scratch, env=env)


def sources(path, scratch):
    """Builds the sources, with the compiler's cache."""
    with tarfile.open(path) as tar:
        tar.extractall(scratch)
    tree = next(p for p in scratch.iterdir() if p.is_dir())
    subprocess.run(["make", "-s", "all"], cwd=tree, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return done([tree / "build/pdl", scratch / "p.pdl"])


KINDS = [(r"libpdl-.*\.whl", wheel), (r"libpdl_compat-.*\.whl", drop_in), (r"pdl-linux-.*", command), (r".*\.oci\.tar", image), (r".*\.deb", debian),
         (r"libpdl-.*\.tar\.gz", sources)]


def of(path):
    """Tries one file of a release. Returns an Outcome."""
    trial = next((trial for pattern, trial in KINDS if re.fullmatch(pattern, path.name)), None)
    if not trial:
        return Outcome("nothing to run", False)
    with tempfile.TemporaryDirectory(prefix="pdl-tried-") as scratch:
        place = pathlib.Path(scratch)
        (place / "p.pdl").write_text(PROGRAM, "utf-8")
        try:
            said = trial(path, place)
        except Unable as why:
            return Outcome(str(why), False)
        except subprocess.CalledProcessError as e:
            return Outcome("exit status %d: %s" % (e.returncode, (e.stderr or e.stdout or "").strip()[-2000:]), True)
        except (OSError, subprocess.TimeoutExpired, StopIteration, KeyError, tarfile.TarError, zipfile.BadZipFile) as e:
            return Outcome("%s: %s" % (type(e).__name__, e), True)
    return Outcome("runs", False) if said == WANTED else Outcome("it printed %r" % said, True)
