# SPDX-License-Identifier: Apache-2.0
"""infer and ainfer compute the distribution of a program's results. Both functions run the command `pdl infer`, which
prints the distribution as JSON."""
from __future__ import annotations

import json
import math
import os
import random
import shutil
import subprocess
import tempfile

from typing import Any, Mapping, Optional, Union

from . import _arguments, _environment, _errors

_ALGORITHMS = ("maj", "is", "smc", "rejection")


class Distribution:
    """The result of `pdl infer`. values, probs: distinct results and their probabilities, most probable first;
    particles: the value and the log weight of each run."""

    def __init__(self, found: dict[str, Any]) -> None:
        self.values: list[Any] = found["values"]
        self.probs: list[float] = found["probs"]
        self.log_evidence: float = -math.inf if found["log_evidence"] is None else found["log_evidence"]
        self.ess: list[float] = found["ess"]
        self.failures: int = found["failures"]
        self.runs: int = found["runs"]
        self.usage: dict[str, Any] = found["usage"]
        self.seed: int = found["seed"]
        self.algorithm: str = found["algorithm"]
        each = found["particles"]
        self.particles = [(found["values"][i], -math.inf if logit is None else logit) for i, logit in zip(each["value"], each["logit"])]
        self._sample = found["sample"]

    def sample(self) -> Any:
        """Draws one result by its probability. For `maj`, it is the result with most votes."""
        if self.algorithm == "maj":
            return self._sample
        return random.choices(self.values, self.probs)[0]

    def prob(self, value: Any) -> float:
        """Returns the probability of a result."""
        return sum(p for v, p in zip(self.values, self.probs) if v == value)

    def __repr__(self) -> str:
        return "Distribution(%s)" % ", ".join("%r: %.4g" % pair for pair in zip(self.values, self.probs))


def _command() -> str:
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pdl")
    found = own if os.access(own, os.X_OK) else shutil.which("pdl")
    if not found:
        raise _errors.UsageError("inference needs the command pdl, which is neither in this package nor in PATH")
    return found


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Returns the options as words of the command line. An option whose value is True becomes a word without a value; None and False give no word."""
    out = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        out.append("--" + name.replace("_", "-") + ("" if value is True else "=" + str(value)))
    return out


def _data(scope: Any) -> str:
    """Returns the variables as JSON."""
    if scope is not None and not isinstance(scope, Mapping):
        raise _arguments.fail("scope", "a dict", scope)
    try:
        return json.dumps(_arguments.dictionary("scope", dict(scope or {})))
    except ValueError as e:
        raise _errors.UsageError("scope: %s" % e) from None
    except TypeError as e:
        raise _errors.UsageError("scope: the variables of an inference are data: %s" % e) from None


def _read(code: int, out: str, err: str) -> Distribution:
    if code == 0:
        return Distribution(json.loads(out))
    message = "\n".join(line for line in err.splitlines() if not line.startswith("pdl: warning:"))
    kind = _errors.UsageError if code == 2 else _errors.RunError
    raise kind(message.replace("pdl: error: ", "", 1), exit_code=code)


def infer(program: Optional[Union[str, os.PathLike[str]]] = None, scope: Optional[Mapping[str, Any]] = None, *, text: Optional[str] = None,
          algo: str = "smc", n: int = 5, cwd: Optional[Union[str, os.PathLike[str]]] = None, **options: Any) -> Distribution:
    """Runs the program in a file, or that of `text`, n times and weighs the results. options: the options of `pdl
    infer`, such as by="result.answer", seed=1, on_error="drop" or cache="replies.db". scope: variables, which must
    be data."""
    if (program is None) == (text is None):
        raise _errors.UsageError("infer takes the file of a program, or text=")
    file = "-" if program is None else _arguments.path("program", program)
    given_text = "" if text is None else _arguments.text("text", text)
    data = _data(scope)
    if _arguments.text("algo", algo).replace("parallel-", "", 1) not in _ALGORITHMS:
        raise _errors.UsageError("algo is %r: choose from %s, with or without parallel-" % (algo, ", ".join(_ALGORITHMS)))
    if not isinstance(n, int) or isinstance(n, bool):
        raise _arguments.fail("n", "a whole number", n)
    folder_of_run = _arguments.optional_path("cwd", cwd)
    _environment.fill()
    with tempfile.TemporaryDirectory() as folder:
        variables = os.path.join(folder, "variables.json")
        with open(variables, "w", encoding="utf-8") as f:
            f.write(data)
        given = ["-f", variables] if scope else []
        argv = [_command(), "infer", file, "--json", "--algo=" + algo,
                "--particles=" + str(n), *given, *_flags(options)]
        p = subprocess.run(argv, input=given_text, cwd=folder_of_run, capture_output=True, encoding="utf-8", check=False)
    return _read(p.returncode, p.stdout, p.stderr)


async def ainfer(program: Optional[Union[str, os.PathLike[str]]] = None, scope: Optional[Mapping[str, Any]] = None, *, text: Optional[str] = None,
                 algo: str = "smc", n: int = 5, cwd: Optional[Union[str, os.PathLike[str]]] = None, **options: Any) -> Distribution:
    """Does the same as infer, without blocking the event loop."""
    import asyncio
    import functools
    call = functools.partial(infer, program, scope, text=text, algo=algo, n=n, cwd=cwd, **options)
    return await asyncio.get_running_loop().run_in_executor(None, call)
