# SPDX-License-Identifier: Apache-2.0
"""optimize(): runs a search of `pdl optimize`, with the command of this package or the `pdl` on the PATH."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any, Mapping, Optional, Union

from . import _arguments, _environment, _errors

Config = Union[str, "os.PathLike[str]", Mapping[str, Any]]
INTERRUPTED, MAX_JOBS = 130, 7168


def command() -> str:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pdl")
    if os.access(own, os.X_OK):
        return own
    import shutil
    found = shutil.which("pdl")
    if found is None:
        raise _errors.UsageError("optimize needs the command pdl, which this copy of the package does not have and the PATH neither")
    return found


def _written(config: Mapping[str, Any], folder: str) -> str:
    path = os.path.join(folder, "config.yaml")
    try:
        text = json.dumps(dict(config))  # JSON is YAML
    except (TypeError, ValueError) as e:
        raise _errors.UsageError("config holds what is no data: %s" % e) from None
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def _words(config: Config, folder: str, options: Mapping[str, Any]) -> list[str]:
    from collections.abc import Mapping as Dict
    path = _written(config, folder) if isinstance(config, Dict) else _arguments.path("config", config)
    words = [command(), "optimize", "-c", path, "--json"]
    for name, value in options.items():
        if value is not None:
            words += ["--" + name, value if isinstance(value, str) else str(value)]
    return words


def _message(err: str, folder: str) -> str:
    """Returns the message of the command without the parts that a caller in Python has not written: names of options, the hint about --help, and the file that was made of a configuration."""
    text = err[err.rfind("pdl: error: "):] if "pdl: error: " in err else err
    text = text.replace("pdl: error: ", "").replace("argument --config: ", "").replace("argument --", "").replace(os.path.join(folder, "config.yaml"), "config")
    return "\n".join(line for line in text.rstrip("\n").split("\n") if not line.startswith("try 'pdl "))


def _read(code: int, out: str, err: str, folder: str) -> dict[str, Any]:
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code == 0:
        for line in err.splitlines():
            print(line, file=sys.stderr)  # lines that are not the result are warnings
        result: dict[str, Any] = json.loads(out)
        return result
    raise (_errors.UsageError if code == 2 else _errors.RunError)(_message(err, folder), exit_code=code)


def _seed(value: Any) -> Optional[int]:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _arguments.fail("seed", "an int", value)
    if value is not None and not 0 <= value < 1 << 63:
        raise _errors.UsageError("seed is not from 0 to 2**63 - 1")
    return value


def _options(output: Any, experiments: Any, cache: Any, budget: Any, jobs: Any, seed: Any) -> dict[str, Any]:
    return {"output": _arguments.optional_path("output", output), "experiments-path": _arguments.optional_path("experiments", experiments),
            "cache": _arguments.optional_path("cache", cache), "budget": None if budget is None else _arguments.text("budget", budget),
            "jobs": None if jobs is None else _arguments.count("jobs", jobs, MAX_JOBS), "seed": _seed(seed)}


def optimize(config: Config, *, output: Optional[Union[str, "os.PathLike[str]"]] = None, experiments: Optional[Union[str, "os.PathLike[str]"]] = None,
             cache: Optional[Union[str, "os.PathLike[str]"]] = None, budget: Optional[str] = None, jobs: Optional[int] = None,
             seed: Optional[int] = None) -> dict[str, Any]:
    """Runs the search that a configuration describes (a file, or its content), and returns the output of `pdl optimize
    --json`. Paths are relative to the working folder."""
    options = _options(output, experiments, cache, budget, jobs, seed)
    _environment.fill()
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run(_words(config, folder, options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return _read(p.returncode, p.stdout.decode(), p.stderr.decode("utf-8", "replace"), folder)


async def aoptimize(config: Config, *, output: Optional[Union[str, "os.PathLike[str]"]] = None, experiments: Optional[Union[str, "os.PathLike[str]"]] = None,
                    cache: Optional[Union[str, "os.PathLike[str]"]] = None, budget: Optional[str] = None, jobs: Optional[int] = None,
                    seed: Optional[int] = None) -> dict[str, Any]:
    """Does the same as optimize() under asyncio. When the waiting task is cancelled, the search ends."""
    import asyncio
    options = _options(output, experiments, cache, budget, jobs, seed)
    _environment.fill()
    with tempfile.TemporaryDirectory() as folder:
        p = await asyncio.create_subprocess_exec(*_words(config, folder, options), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                                                 stderr=asyncio.subprocess.PIPE)
        try:
            out, err = await p.communicate()
        except asyncio.CancelledError:
            p.terminate()
            await p.wait()
            raise
    return _read(p.returncode or 0, out.decode(), err.decode("utf-8", "replace"), folder)
