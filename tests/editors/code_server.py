# SPDX-License-Identifier: Apache-2.0
"""code-server, a VS Code in the browser, in a folder under the build directory. Its package builds a few native modules during the installation,
which takes minutes. So it is fetched once and kept."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

VERSION = "4.139.1"
SETTINGS = {
    "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off", "chat.disableAIFeatures": True, "window.commandCenter": False,
    "extensions.autoUpdate": False, "extensions.autoCheckUpdates": False, "editor.minimap.enabled": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden", "terminal.integrated.gpuAcceleration": "off", "files.autoSave": "off",
}


def folder_of(build):
    return pathlib.Path(build).resolve() / "test-code-server"


def entry(build):
    return folder_of(build) / "node_modules" / "code-server" / "out" / "node" / "entry.js"


def node_of(build):
    """It wants Node 24, which many machines do not have; the registry has it as a package."""
    return folder_of(build) / "node_modules" / "node" / "bin" / "node"


def environment(build):
    return {**os.environ, "PATH": "%s:%s" % (node_of(build).parent, os.environ["PATH"])}


def npm(folder, env, *words):
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *words], cwd=folder, env=env, check=True, capture_output=True, timeout=900)


def fetch(build):
    """-> why there is none, or None. The mark is written last: a fetch that was cut is made again."""
    folder = folder_of(build)
    mark = folder / "ready"
    if mark.exists():
        return None
    if not shutil.which("npm") or not shutil.which("node"):
        return "there is no node and npm"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "allowScripts": {"node": True}}))
        npm(folder, os.environ, "node@24")
        npm(folder, environment(build), "--ignore-scripts", "code-server@" + VERSION)
        subprocess.run(["sh", "postinstall.sh"], cwd=folder / "node_modules" / "code-server", check=True, capture_output=True, timeout=900,
                       env={**environment(build), "npm_config_user_agent": "npm/11 node/v24.0.0 linux x64"})
        mark.write_text(VERSION)
    except (OSError, subprocess.SubprocessError) as e:
        return "code-server cannot be installed (%s; Debian libkrb5-dev is needed to build it)" % type(e).__name__
    return None


class Server:
    """code-server with one extension, on a free port of this machine, for the folder `work`/programs."""

    def __init__(self, build, work, extension):
        self.programs = work / "programs"
        user = work / "data" / "User"
        for d in (self.programs, user):
            d.mkdir(parents=True)
        (user / "settings.json").write_text(json.dumps(SETTINGS))
        (work / "config.yaml").write_text("auth: none\n")
        words = [str(node_of(build)), str(entry(build)), "--config", str(work / "config.yaml"), "--user-data-dir", str(work / "data"),
                 "--extensions-dir", str(work / "extensions")]
        env = {**environment(build), "HOME": str(work), "SHELL": "/bin/sh"}
        subprocess.run([*words, "--install-extension", str(extension)], env=env, check=True, capture_output=True, timeout=300)
        self.log = (work / "server.log").open("w+")
        self.p = subprocess.Popen([*words, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check",
                                   "--disable-workspace-trust"], env=env, cwd=self.programs, stdin=subprocess.DEVNULL, stdout=self.log,
                                  stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self, seconds=120):
        for _ in range(seconds * 5):
            self.log.seek(0)
            found = re.search(r"HTTP server listening on (http://127\.0\.0\.1:\d+)/", self.log.read())
            if found:
                return "%s/?folder=%s" % (found.group(1), self.programs)
            time.sleep(0.2)
        raise RuntimeError("code-server does not start")

    def end(self):
        os.killpg(self.p.pid, signal.SIGTERM)
        self.p.wait(30)
