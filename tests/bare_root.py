# SPDX-License-Identifier: Apache-2.0
"""Makes a separate Debian in a folder, with a few packages and nothing else. mmdebstrap makes it, and bubblewrap enters it without network."""
import os
import pathlib
import shutil
import subprocess
import time

SECONDS = 1200


def make(place, packages, release=None, processor=None):
    """Makes the root once, of this machine's release or another one. -> None, or why there is none. The packages of another processor are
    unpacked, since their scripts do not run here, and nothing is entered."""
    if os.geteuid() != 0 or not pathlib.Path("/etc/debian_version").is_file():
        return "that takes Debian and root"
    missing = [name for name in ("mmdebstrap", "bwrap") if not shutil.which(name)]
    if missing:
        return "there is no " + " and no ".join(missing)
    if not place.exists():
        own = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text("utf-8").splitlines() if "=" in line)
        new = place.with_name(place.name + ".new")
        shutil.rmtree(new, ignore_errors=True)
        try:
            kind = ["--variant=extract", "--arch=" + processor] if processor else ["--variant=minbase"]
            subprocess.run(["mmdebstrap", "--quiet", "--mode=root", *kind, "--include=" + ",".join(packages),
                            release or own.get("VERSION_CODENAME", "stable").strip('"'), str(new)], check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as e:
            shutil.rmtree(new, ignore_errors=True)
            return "mmdebstrap makes none (%s)" % type(e).__name__
        new.rename(place)
    if not processor and subprocess.run(enter(place, "true"), capture_output=True, check=False).returncode != 0:
        return "bwrap cannot enter it"
    return None


def wait_for(path, seconds=60):
    """-> does a file get text in that time?"""
    until = time.monotonic() + seconds
    while not (path.is_file() and path.stat().st_size) and time.monotonic() < until:
        time.sleep(0.1)
    return path.is_file() and path.stat().st_size > 0


def cache(place):
    """Options for `enter`, with which a build in the root finds what this machine's compiler cache holds, and writes nothing there; [] where there is
    no cache, or the compiler of the root is another one."""
    compilers = [root / "usr/bin/cc" for root in (pathlib.Path("/"), place)]
    if not shutil.which("ccache") or not (place / "usr/bin/ccache").exists() or not all(c.exists() for c in compilers):
        return []
    ours, theirs = (resolved(c, root).stat() for c, root in zip(compilers, ("/", str(place))))
    if (ours.st_size, int(ours.st_mtime)) != (theirs.st_size, int(theirs.st_mtime)):
        return []
    folder, hashes = (subprocess.run(["ccache", "--get-config", name], capture_output=True, text=True, check=False).stdout.strip() for name in ("cache_dir", "hash_dir"))
    if not os.path.isdir(folder):
        return []
    env = {"CCACHE_DIR": "/mnt", "CCACHE_READONLY": "1", "CCACHE_TEMPDIR": "/tmp/ccache", "CCACHE_CONFIGPATH": "/dev/null", "CCACHE_HASHDIR" if hashes == "true" else "CCACHE_NOHASHDIR": "1"}
    # A cache tells compilers by their names, too, and by the language of their messages.
    env.update((name, os.environ[name]) for name in ("CC", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES") if os.environ.get(name))
    return ["--ro-bind", folder, "/mnt", *(x for name, value in env.items() for x in ("--setenv", name, value))]


def resolved(path, root):
    """A file below a root, whose links are those of the root."""
    while path.is_symlink():
        to = os.readlink(path)
        path = pathlib.Path(root + to) if to.startswith("/") else path.parent / to
    return path


def enter(place, line, options=()):
    """The command that runs a shell line in the root. What lines leave in /tmp is there for those after them. options: of bwrap."""
    argv = ["bwrap", "--bind", str(place), "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--die-with-parent", "--clearenv",
            "--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--setenv", "HOME", "/root", *options]
    return argv + ["--bind", str(place / "var" / "tmp"), "/tmp", "sh", "-c", line]
