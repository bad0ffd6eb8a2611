# SPDX-License-Identifier: Apache-2.0
"""peers.py -- what the command is compared with, prepared on first use under BUILD/bench: virtual environments and programs of the system.
A peer that cannot be had (no network, no package) is left out of the table, and said so once."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

PACKAGES = {
    "reference": ["prompt-declaration-language==0.9.3"],
    "templates": ["jinja2", "minijinja"],
    "agents": ["langchain-classic", "langchain-openai", "openai"],
}
SYSTEM = {"lua": ["lua5.4", "lua"], "jq": ["jq"], "python": [sys.executable], "true": ["true"]}


class Peers:
    def __init__(self, folder, reference="", without_reference=False):
        """without_reference: none is prepared, and no row has one."""
        self.folder = pathlib.Path(folder)
        self.without_reference = without_reference
        self.given = reference.split()
        self.missing = []
        self.ready = {}

    def environment(self, name):
        """The Python of the virtual environment NAME, made when it is not there; None when that fails."""
        if name not in self.ready:
            self.ready[name] = self._make(name)
        return self.ready[name]

    def _make(self, name):
        home = self.folder / name
        stamp = home / "packages"
        wanted = "\n".join(PACKAGES[name])
        python = home / "bin" / "python"
        if not (stamp.exists() and stamp.read_text() == wanted):
            print("bench: preparing %s (%s)" % (name, " ".join(PACKAGES[name])), file=sys.stderr)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=False, **quiet).returncode == 0
            if not made or subprocess.run([str(python), "-m", "pip", "install", "-q"] + PACKAGES[name], check=False, **quiet).returncode != 0:
                self.missing.append(name)
                return None
            stamp.write_text(wanted)
        return str(python)

    def reference(self):
        """The command of the reference interpreter as a list, or None."""
        if self.without_reference:
            return None
        if self.given:
            return self.given
        python = self.environment("reference")
        return [str(pathlib.Path(python).parent / "pdl")] if python else None

    def versions(self):
        """What was measured beside the command, as words for the page."""
        out = []
        for python in filter(None, self.ready.values()):
            wanted = [re.split("[=<>]", p)[0] for ps in PACKAGES.values() for p in ps]
            code = "import importlib.metadata as m, sys\nfor p in sys.argv[1:]:\n try: print(p, m.version(p))\n except m.PackageNotFoundError: pass"
            out += subprocess.run([python, "-c", code, *wanted], capture_output=True, text=True, check=False).stdout.splitlines()
        out += ["Python %s" % sys.version.split()[0]]
        for name, flag in (("lua", "-v"), ("jq", "--version")):
            found = next(filter(None, map(shutil.which, SYSTEM[name])), None)
            if found:
                said = subprocess.run([found, flag], capture_output=True, text=True, check=False)
                out.append(" ".join((said.stdout + said.stderr).split()[:2]))
        return ", ".join(out)

    def program(self, name):
        """A program of the system, or None."""
        for candidate in SYSTEM[name]:
            found = shutil.which(candidate)
            if found:
                return found
        if name not in self.missing:
            self.missing.append(name)
        return None


def quiet_environment():
    """Environment for peers: no telemetry, no bytecode beside our sources."""
    return {"PYTHONDONTWRITEBYTECODE": "1", "LANGCHAIN_TRACING_V2": "false", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none")}
