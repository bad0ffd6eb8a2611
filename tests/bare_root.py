# SPDX-License-Identifier: Apache-2.0
"""A Debian of its own in a folder, with a few packages and nothing else: made by mmdebstrap, entered by bubblewrap without network."""
import os
import pathlib
import shutil
import subprocess

SECONDS = 1200


def make(place, packages, release=None):
    """Makes the root once, of this machine's release or another one. -> None, or why there is none."""
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
            subprocess.run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--include=" + ",".join(packages),
                            release or own.get("VERSION_CODENAME", "stable").strip('"'), str(new)], check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as e:
            shutil.rmtree(new, ignore_errors=True)
            return "mmdebstrap makes none (%s)" % type(e).__name__
        new.rename(place)
    if subprocess.run(enter(place, "true"), capture_output=True, check=False).returncode != 0:
        return "bwrap cannot enter it"
    return None


def enter(place, line):
    """The command that runs a shell line in the root. What lines leave in /tmp is there for those after them."""
    argv = ["bwrap", "--bind", str(place), "/", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--die-with-parent", "--clearenv",
            "--setenv", "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "--setenv", "HOME", "/root"]
    return argv + ["--bind", str(place / "var" / "tmp"), "/tmp", "sh", "-c", line]
