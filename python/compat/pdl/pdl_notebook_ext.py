# SPDX-License-Identifier: Apache-2.0
"""`%load_ext pdl.pdl_notebook_ext` adds the cells of libpdl.notebook. When a program fails, its message is printed, and
the cell succeeds."""
from __future__ import annotations

from typing import Any

import libpdl
from libpdl import notebook

from . import _run


class PDLMagics(notebook.Magics):
    """The magics, which convert variables of the notebook to the classes of this package."""

    def __init__(self, shell: Any, keep_going: bool = True) -> None:
        super().__init__(shell, keep_going)
        self.use(_run.Engine())

    def _scope(self, text: str) -> dict[str, Any]:
        scope = {k: _run.to_run(v) for k, v in super()._scope(text).items()}
        scope["pdl_context"] = libpdl.Context(scope["pdl_context"]) if type(scope["pdl_context"]) is list else scope["pdl_context"]
        return scope

    def _keep(self, scope: dict[str, Any], result: Any) -> None:
        names = self.shell.user_ns
        super()._keep(scope, result)
        names.update([(k, _run.from_run(names[k], False)) for k in result.variables if k in names])
        context = libpdl.Context([scope["pdl_context"], result.messages])
        names["pdl_context"] = _run.from_run(context)
        handle = self.engine._core().derive(context, [])
        if handle is not None:
            self.known["pdl_context"] = (names["pdl_context"], handle)


def load_ipython_extension(ipython: Any) -> None:
    notebook.load(ipython, True, PDLMagics)


unload_ipython_extension = notebook.unload_ipython_extension
