# SPDX-License-Identifier: Apache-2.0
"""Variables and settings of a run."""
from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ._model import Field, Model
from .pdl_ast import PdlUsage
from .pdl_lazy import PdlDict
from .pdl_utils import Ref


class ScopeType(PdlDict):
    """Variables by name."""

    def __getitem__(self, key: Any) -> Any:
        return self.data if key == "pdl_scope" else super().__getitem__(key)

    def __or__(self, value: Any) -> "ScopeType":
        return ScopeType(super().__or__(value))


def _loop(loop: Any) -> Any:
    from .pdl_scheduler import LOOPS
    if loop is not None and loop not in LOOPS:
        raise NotImplementedError("event_loop: only loops of pdl.pdl_scheduler.create_event_loop_thread; runs have a separate loop")
    return loop


def _off(name: str, value: Any) -> Any:
    if value:
        raise NotImplementedError("%s=%r is part of inference, which libpdl-compat does not have yet" % (name, value))
    return value


class InterpreterState(Model):
    """The settings of runs: the keys of InterpreterConfig."""

    FIELDS = (Field("yield_result", False), Field("yield_background", False), Field("batch", 1), Field("role", "user"),
              Field("cwd", None, make=Path), Field("id_stack", []), Field("event_loop", None, make=_loop), Field("replay", {}),
              Field("current_pdl_context", None), Field("llm_usage", None), Field("with_resample", False, make=partial(_off, "with_resample")),
              Field("ignore_factor", False, make=partial(_off, "ignore_factor")), Field("score", 0.0))

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.cwd = Path.cwd() if self.cwd is None else self.cwd
        if self.llm_usage is None:
            self.llm_usage = PdlUsage()

    def add_usage(self, usage: PdlUsage) -> None:
        for name in PdlUsage.model_fields:
            setattr(self.llm_usage, name, getattr(self.llm_usage, name) + getattr(usage, name))

    def add_score(self, score: float) -> None:
        if isinstance(self.score, Ref):
            self.score.ref += score
        else:
            self.score += score
