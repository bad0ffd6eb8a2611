# SPDX-License-Identifier: Apache-2.0
"""`%load_ext pdl.pdl_notebook_ext`: the cells of libpdl.notebook; a program that fails prints its message, and the cell succeeds."""
from __future__ import annotations

from typing import Any

from libpdl import notebook

from . import _run
from .pdl_context import PDLContext


class PDLMagics(notebook.Magics):
    """The variables of the notebook are those of this package."""

    def __init__(self, shell: Any, keep_going: bool = True) -> None:
        super().__init__(shell, keep_going)
        self.use(_run.Engine())

    def _scope(self, text: str) -> dict[str, Any]:
        return {k: _run.to_run(v) for k, v in super()._scope(text).items()}

    def _keep(self, scope: dict[str, Any], result: Any) -> None:
        names, before = self.shell.user_ns, self.shell.user_ns.get("pdl_context")
        super()._keep(scope, result)
        names.update((k, _run.from_run(v, False)) for k, v in list(names.items()) if k in result.variables)
        if isinstance(before, PDLContext):
            names["pdl_context"] = before * _run.from_run(result.messages)
        else:
            names["pdl_context"] = _run.ensure_context(names["pdl_context"])


def load_ipython_extension(ipython: Any) -> None:
    notebook.load(ipython, magics=PDLMagics)


unload_ipython_extension = notebook.unload_ipython_extension
