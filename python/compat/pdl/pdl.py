# SPDX-License-Identifier: Apache-2.0
"""Runs programs from Python: exec_program, exec_dict, exec_str, exec_file."""
from __future__ import annotations

from collections.abc import Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Callable, Literal, Optional, TypedDict, Union

from . import pdl_interpreter
from .pdl_ast import PdlLocationType, PdlUsage, Program, RoleType, empty_block_location, get_default_model_parameters  # noqa: F401
from .pdl_interpreter import InterpreterState
from .pdl_interpreter_state import ScopeType
from .pdl_parser import parse_dict, parse_file, parse_str
from .pdl_utils import Ref, validate_scope, write_trace  # noqa: F401


# The settings of a run, and the result when output is "all".
InterpreterConfig = TypedDict("InterpreterConfig", {
    "yield_result": bool, "yield_background": bool, "batch": int, "role": RoleType, "cwd": Path, "replay": dict[str, Any], "with_resample": bool,
    "ignore_factor": bool, "score": Any, "event_loop": Any, "llm_usage": PdlUsage}, total=False)
Result = TypedDict("Result", {"result": Any, "scope": Mapping[str, Any], "trace": Any, "replay": dict[str, Any], "score": float,
                              "usage": PdlUsage})
Scope = Union[ScopeType, Mapping[str, Any], None]
Output = Literal["result", "all"]


def exec_program(prog: Program, config: Optional[InterpreterConfig] = None, scope: Scope = None, loc: Optional[PdlLocationType] = None,
                 output: Output = "result") -> Any:
    """Runs a program. When output is "all", returns a dict {result, scope, trace, replay, score, usage}."""
    assert output in ("result", "all"), 'The `output` variable should be "result" or "all"'
    state = InterpreterState(**(config or {}))
    variables = {k: v for k, v in (scope or {}).items() if k != "pdl_model_default_parameters"}
    outcome = pdl_interpreter.run(state, variables, prog, loc, output == "all")
    if output == "result":
        return outcome.result
    return Result(result=outcome.result, scope=outcome.scope, trace=outcome.trace, replay=outcome.replay, score=outcome.score,
                  usage=state.llm_usage)


def exec_dict(prog: dict[str, Any], config: Optional[InterpreterConfig] = None, scope: Scope = None,
              loc: Optional[PdlLocationType] = None, output: Output = "result") -> Any:
    """Runs a program that is a dict."""
    return exec_program(parse_dict(prog, loc), config, scope, loc, output)


def exec_str(prog: str, config: Optional[InterpreterConfig] = None, scope: Scope = None, output: Output = "result") -> Any:
    """Runs a program that is given as text."""
    program, loc = parse_str(prog)
    return exec_program(program, config, scope, loc, output)


def exec_file(prog: Union[str, Path], config: Optional[InterpreterConfig] = None, scope: Scope = None, output: Output = "result") -> Any:
    """Runs the program in a file; relative paths begin in its folder."""
    program, loc = parse_file(prog)
    settings = InterpreterConfig(**(config or {}))
    if settings.get("cwd") is None:
        settings["cwd"] = Path(prog).parent
    return exec_program(program, settings, scope, loc, output)


def pdl(func: Callable[..., Any]) -> Callable[[Any], Any]:
    """Returns a function that runs the program in the docstring of `func`, with the variables `scope`."""
    @wraps(func)
    def pdl_wrapper(scope: Any) -> Any:
        return exec_str(prog=func.__doc__ or "", scope=scope)
    return pdl_wrapper


def main() -> int:
    """Runs the command."""
    from libpdl.__main__ import main as command
    return int(command() or 0)


if __name__ == "__main__":
    raise SystemExit(main())
