# SPDX-License-Identifier: Apache-2.0
"""Runs programs that were parsed."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Optional, Union

from . import _run
from ._run import ClosureBlock  # noqa: F401
from .pdl_ast import (PDLException, PdlLocationType, PDLRuntimeError, PDLRuntimeExpressionError, PDLRuntimeParserError,  # noqa: F401
                      PDLRuntimeProcessBlocksError, Program, empty_block_location)
from .pdl_context import DependentContext, PDLContext
from .pdl_interpreter_state import InterpreterState, ScopeType
from .pdl_lazy import PdlConst, PdlLazy
from .pdl_location_utils import get_loc_string
from .pdl_parser import PDLParseError, parse_file
from .pdl_utils import stringify, write_trace

empty_scope = ScopeType({"pdl_context": DependentContext([])})


def generate(pdl_file: Union[str, Path], state: Optional[InterpreterState], initial_scope: ScopeType,
             trace_file: Union[str, Path, None]) -> int:
    """Runs the program in a file as the command does; returns the exit code."""
    try:
        prog, loc = parse_file(pdl_file)
        if state is None:
            state = InterpreterState(cwd=Path(pdl_file).parent)
        future_result, _, _, trace = process_prog(state, initial_scope, prog, loc)
        print() if state.yield_background or state.yield_result else print(stringify(future_result.result()))
        if trace_file:
            write_trace(trace_file, trace)
    except PDLParseError as e:
        print("\n".join(e.message), file=sys.stderr)
        return 1
    except PDLRuntimeError as e:
        print((get_loc_string(e.loc) if e.loc is not None else "") + e.message, file=sys.stderr)
        if trace_file and e.pdl__trace is not None:
            write_trace(trace_file, e.pdl__trace)
        return 1
    return 0


def run(state: InterpreterState, scope: Any, prog: Program, loc: Optional[PdlLocationType], trace: bool) -> _run.Outcome:
    """Makes one run with the settings of `state`. Adds the usage and the score of the run to `state`."""
    if state.replay:
        raise NotImplementedError("replay: recorded values cannot be given to a run yet")
    outcome = _run.execute(prog, scope, loc.file if loc is not None else "", state, trace)
    state.add_usage(outcome.usage)
    state.add_score(outcome.score)
    return outcome


def process_prog(state: InterpreterState, scope: ScopeType, prog: Program,
                 loc: PdlLocationType = empty_block_location) -> tuple[PdlLazy[Any], PDLContext, PdlLazy[Any], Any]:
    """Returns result, messages, variables and trace of a run."""
    outcome = run(state, empty_scope | scope, prog, loc, True)
    return PdlConst(outcome.result), outcome.background, ScopeType(outcome.scope), outcome.trace
