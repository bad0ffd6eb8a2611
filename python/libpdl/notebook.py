# SPDX-License-Identifier: Apache-2.0
"""PDL in notebooks: `%load_ext libpdl.notebook`, then cells that begin with `%%pdl`."""
from __future__ import annotations

import re
import shlex
import sys
import types
from typing import Any

from . import _engine, _errors, _program

NOT_BACK = ("stdlib", "pdl_usage", "pdl_context")


class CellError(Exception):
    """Shown as its message alone."""

    def _render_traceback_(self) -> list[str]:
        return str(self).splitlines()


class Options:
    """The words behind %%pdl."""

    def __init__(self, line: str) -> None:
        self.reset, self.is_run, self.stream, self.trace = False, True, "result", ""
        words = iter(shlex.split(line))
        for word in words:
            if word in ("-r", "--reset-context"):
                self.reset = True
            elif word == "--no-run":
                self.is_run = False
            elif word == "--stream":
                self.stream = next(words, "")
            elif word == "-t":
                self.trace = next(words, "")
            elif word == "--viewer":
                raise CellError("%%pdl: --viewer cannot be used yet")
            else:
                raise CellError("%%%%pdl: unknown option %s; there are -r, --reset-context, --stream result|none, -t NAME, --no-run" % word)
        if self.stream not in ("result", "none"):
            raise CellError("%%%%pdl: --stream is result or none, not %r" % self.stream)


class Magics:
    """The magics of a notebook, with the context that goes from cell to cell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.engine = _engine.Engine()
        self.context: Any = None
        self.usage: dict[str, int] = {}

    def _scope(self, text: str) -> dict[str, Any]:
        """Variables of the notebook that the cell names."""
        words = set(re.findall(r"[A-Za-z]\w*", text))
        found = {k: v for k, v in self.shell.user_ns.items()
                 if k in words and not isinstance(v, (types.ModuleType, type)) and k not in self.shell.user_ns_hidden}
        if self.context is not None:
            found["pdl_context"] = self.context
        return found

    def _keep(self, result: "_program.Result[Any]") -> None:
        self.context = [*(self.context or ()), *result.messages]
        for key, value in result.variables.items():
            if not key.startswith("_") and key not in NOT_BACK:
                self.shell.user_ns[key] = value
        for key, n in result.usage.items():
            self.usage[key] = self.usage.get(key, 0) + n

    def _run(self, program: "_program.Program[Any]", text: str, options: Options) -> Any:
        scope = self._scope(text)
        if options.trace:
            result = program.traced(scope)
            self.shell.user_ns[options.trace] = result.trace
        elif options.stream == "none":
            result = program.run(scope)
        else:
            with program.stream(scope) as pieces:
                for piece in pieces:
                    sys.stdout.write(piece)
                    sys.stdout.flush()
            result = pieces.result()
            sys.stdout.write("\n" if result.text and not result.text.endswith("\n") else "")
        self._keep(result)
        return result.value if options.stream == "none" or options.trace else None

    def cell(self, line: str, cell: str) -> Any:
        options = Options(line)
        if options.reset:
            self.context = None
        try:
            program = self.engine.loads(cell, name="<cell %d>" % self.shell.execution_count)
            return self._run(program, cell, options) if options.is_run else None
        except _errors.Error as e:
            raise CellError(str(e)) from None

    def file(self, line: str) -> Any:
        try:
            with open(line.strip(), encoding="utf-8") as f:
                text = f.read()
            return self._run(self.engine.load(line.strip()), text, Options(""))
        except (OSError, ValueError, _errors.Error) as e:
            raise CellError(str(e)) from None

    def reset(self, line: str) -> None:
        self.context = None

    def show_usage(self, line: str) -> dict[str, int]:
        return dict(self.usage)


def load_ipython_extension(shell: Any) -> None:
    magics = Magics(shell)
    shell.register_magic_function(magics.cell, "cell", "pdl")
    shell.register_magic_function(magics.file, "line", "pdl")
    shell.register_magic_function(magics.reset, "line", "pdl_reset")
    shell.register_magic_function(magics.show_usage, "line", "pdl_usage")
