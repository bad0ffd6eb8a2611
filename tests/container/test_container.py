# SPDX-License-Identifier: Apache-2.0
"""The image of `make container` has the layout of the specification, which skopeo and umoci confirm where they are installed. Its content runs in its
own root (bubblewrap) as its own user, with nothing else there. Skipped, with a line that says so, when no image was made."""
import hashlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tarfile
import time

import pytest

from ..checks import check, skip
from ..harness.choice import ROOT

MAX_BYTES = 15 << 20


class Image:
    def __init__(self, path):
        self.path = path
        with tarfile.open(path) as tar:
            self.files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        self.index = json.loads(self.files["index.json"])
        self.manifest = json.loads(self.blob(self.index["manifests"][0]))
        self.config = json.loads(self.blob(self.manifest["config"]))

    def blob(self, descriptor):
        """The bytes that a descriptor names, which must have its size and its hash."""
        data = self.files["blobs/" + descriptor["digest"].replace(":", "/")]
        check("a blob is what its descriptor says", len(data) == descriptor["size"] and hashlib.sha256(data).hexdigest() == descriptor["digest"][7:],
              descriptor)
        return data

    def unpack(self, place):
        import gzip
        plain = gzip.decompress(self.blob(self.manifest["layers"][0]))
        check("the layer is the one of the configuration", "sha256:" + hashlib.sha256(plain).hexdigest() == self.config["rootfs"]["diff_ids"][0])
        with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
            tar.extractall(place)
        return place


def image():
    found = sorted(pathlib.Path(os.environ.get("PDL_DIST", ROOT / "dist")).glob("pdl-*-%s.oci.tar" % os.uname().machine))
    return Image(found[-1]) if found else None


def entered(root, work, config, *words):
    """The command line of a container: the root is read-only, the working folder is that of the test, and nothing else is there."""
    uid, gid = config["config"]["User"].split(":")
    return ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--uid", uid, "--gid", gid, "--ro-bind", str(root), "/", "--proc", "/proc", "--dev", "/dev",
            "--tmpfs", "/tmp", "--bind", str(work), "/work", "--chdir", config["config"]["WorkingDir"], "--die-with-parent", "--clearenv",
            *(w for e in config["config"]["Env"] for w in ("--setenv", *e.split("=", 1))), *config["config"]["Entrypoint"], *words]


def check_layout(made):
    check("at most 15 MB", made.path.stat().st_size <= MAX_BYTES, made.path.stat().st_size)
    check("the layout has its version", json.loads(made.files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"})
    check("it runs without rights", re.fullmatch(r"[1-9]\d+:[1-9]\d+", made.config["config"]["User"]), made.config)
    named = {"blobs/" + d["digest"].replace(":", "/") for d in (made.index["manifests"][0], made.manifest["config"], *made.manifest["layers"])}
    check("no blob without a use", named == {n for n in made.files if n.startswith("blobs/")})
    for tool, words in (("skopeo", ["inspect", "oci-archive:%s" % made.path]), ("skopeo", ["inspect", "--config", "docker-archive:%s" % made.path])):
        if not shutil.which(tool):
            skip("what %s says" % tool, "there is no " + tool)
            continue
        p = subprocess.run([tool, *words], capture_output=True, text=True, check=False)
        check("%s reads it: %s" % (tool, words[-1].split(":")[0]), p.returncode == 0, p.stderr)


def ended(root, work, config, *words, **more):
    return subprocess.run(entered(root, work, config, *words), capture_output=True, text=True, timeout=60, check=False, **more)


def check_runs(root, work, config):
    (work / "hello.pdl").write_text("defs: {m: {import: lib/answer}}\ntext: Hello!\n", "utf-8")
    p = ended(root, work, config, "hello.pdl")
    check("a program with a module of the language", (p.returncode, p.stdout.strip()) == (0, "Hello!"), p)
    p = ended(root, work, config)
    check("without words: the help", p.returncode == 0 or "usage: pdl" in p.stdout + p.stderr, p)
    (work / "sh.pdl").write_text("lang: command\ncode: sh -c 'echo there is a shell'\n", "utf-8")
    p = ended(root, work, config, "sh.pdl")
    check("there is no shell", p.returncode == 1 and "there is a shell" not in p.stdout, p)


def check_serves(root, work, config):
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = str(s.getsockname()[1])
    (work / "token").write_text("secret\n", "utf-8")
    server = subprocess.Popen(entered(root, work, config, "serve", "--host", "0.0.0.0", "--port", port, "--token-file", "/work/token", "hello.pdl"),
                              stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 20
        while (p := ended(root, work, config, "serve", "--ping", "--port", port)).returncode and time.monotonic() < until:
            time.sleep(0.1)
        check("the health check of a server", p.returncode == 0, p)
    finally:
        server.kill()
        server.wait()
    p = ended(root, work, config, "serve", "--ping", "--port", port)
    check("the health check when it is gone", p.returncode == 1, p)


def test_names(folder):
    """The image is found under the name that the pages say, by daemons of both kinds; no static command is needed to see that."""
    loader = importlib.machinery.SourceFileLoader("make_container", str(ROOT / "packaging/container/make-container"))
    maker = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(maker)
    (folder / "pdl").write_bytes(b"no command")
    (folder / "certificates.pem").write_bytes(b"no certificates")
    path, name = folder / "pdl.oci.tar", "pdl:" + maker.kit.version()
    maker.image(maker.contents(folder / "pdl", folder / "certificates.pem"), "x86_64").write(path)
    made = Image(path)
    check_layout(made)
    named = made.index["manifests"][0]["annotations"]["io.containerd.image.name"]
    check("the whole name, for daemons that keep images as containerd does", named == "docker.io/library/" + name, named)
    check("the short one, for those that read the older form", json.loads(made.files["manifest.json"])[0]["RepoTags"] == [name], made.files["manifest.json"])
    made.unpack(folder / "root")
    check("the command is in it", (folder / "root/usr/bin/pdl").read_bytes() == b"no command")
    page = (ROOT / "docs/manual/production.md").read_text("utf-8")
    check("the page runs it by this name", "FROM %s\n" % name in page and " %s agent.pdl" % name in page)


@pytest.mark.tier("all")
@pytest.mark.builds
@pytest.mark.seconds(600)
def test_image(folder):
    made = image()
    if not made:
        skip("the image", "there is none: make container")
        return
    check_layout(made)
    if not shutil.which("bwrap"):
        skip("the image in its root", "there is no bwrap")
        return
    root, work = made.unpack(folder / "root"), folder / "work"
    work.mkdir()
    work.chmod(0o777)
    check_runs(root, work, made.config)
    check_serves(root, work, made.config)
