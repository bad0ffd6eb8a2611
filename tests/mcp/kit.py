# SPDX-License-Identifier: Apache-2.0
"""The helpers of the tests of tool servers: the command in a folder with a configuration, and the scripted server as a command."""
import json
import os
import pathlib
import subprocess
import sys
import time

from ..harness.choice import Choice

SERVER = str(pathlib.Path(__file__).with_name("server.py"))


def scripted(mode, log=None):
    """How a configuration starts server.py."""
    return {"command": sys.executable, "args": ["-I", "-S", SERVER, mode] + ([str(log)] if log else [])}


def start(folder, program, config, flags=(), **env):
    (folder / "main.pdl").write_text(program, encoding="utf-8")
    full = {**os.environ, "TOKEN": "t0psecret-token", "SECRET_OF_OURS": "do-not-pass-on", **env}
    if config is not None:
        (folder / "servers.json").write_text(config, encoding="utf-8")
        full["PDL_MCP_CONFIG"] = str(folder / "servers.json")
    return subprocess.Popen([str(Choice.build / "pdl"), "--stream", "none", *flags, "main.pdl"], cwd=folder, env=full, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(folder, program, config, flags=(), timeout=60, **env):
    """-> exit status, standard output, standard error, seconds"""
    begin = time.monotonic()
    p = start(folder, program, config, flags, **env)
    out, err = p.communicate(timeout=timeout)
    return p.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), time.monotonic() - begin


def log_of(folder):
    """What server.py wrote down, where its log is folder/log."""
    path = folder / "log"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
