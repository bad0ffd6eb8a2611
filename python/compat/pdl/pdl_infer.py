# SPDX-License-Identifier: Apache-2.0
"""Inference: here exec_program and the other functions return a distribution."""
from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal, Optional, TypedDict, Union

from libpdl._infer import _command, infer

from .pdl import InterpreterConfig
from .pdl_ast import PDLRuntimeError, PdlLocationType, PdlUsage, Program
from .pdl_distributions import Categorical
from .pdl_dumper import dump_program_exclude_internals
from .pdl_parser import parse_dict

Algorithm = Literal["is", "parallel-is", "smc", "parallel-smc", "rejection", "parallel-rejection", "maj", "parallel-maj"]
PpdlConfig = TypedDict("PpdlConfig", {"algo": Algorithm, "num_particles": int, "max_workers": Optional[int]}, total=False)


def _run(config: Optional[InterpreterConfig], ppdl_config: Optional[PpdlConfig], scope: Any, output: str, **program: Any) -> Any:
    import libpdl
    assert output in ("result", "all"), 'The `output` variable should be "result" or "all"'
    settings, how = dict(config or {}), dict(ppdl_config or {})
    for name, value in settings.items():
        if name not in ("cwd", "batch", "yield_result", "yield_background") and value:
            raise NotImplementedError("%s: an inference has no such setting" % name)
    for name in how:
        if name not in ("algo", "num_particles", "max_workers"):
            raise ValueError("ppdl_config has no member %s: algo, num_particles, max_workers" % name)
    algo = str(how.get("algo", "parallel-smc"))
    workers = how.get("max_workers") if algo.startswith("parallel-") else None
    variables = {k: v for k, v in dict(scope or {}).items() if k not in ("pdl_model_default_parameters", "pdl_context")}
    try:
        d = infer(scope=variables, algo=algo, n=how.get("num_particles", 5), workers=workers, cwd=settings.get("cwd"), **program)
    except libpdl.RunError as e:
        raise PDLRuntimeError(str(e)) from None
    found = Categorical((value, logit, None) for value, logit in d.particles)
    if output == "result":
        return found
    usage = PdlUsage(**{k: d.usage[k] for k in ("model_calls", "completion_tokens", "prompt_tokens")})
    return {"result": found, "usage": usage}


def exec_program(prog: Program, config: Optional[InterpreterConfig] = None, ppdl_config: Optional[PpdlConfig] = None, scope: Any = None,
                 loc: Optional[PdlLocationType] = None, output: str = "result") -> Any:
    """Runs a program many times and weighs the results."""
    return _run(config, ppdl_config, scope, output, text=dump_program_exclude_internals(prog))


def exec_dict(prog: dict[str, Any], config: Optional[InterpreterConfig] = None, ppdl_config: Optional[PpdlConfig] = None, scope: Any = None,
              loc: Optional[PdlLocationType] = None, output: str = "result") -> Any:
    """Runs a program that is a dict many times and weighs the results."""
    return exec_program(parse_dict(prog, loc), config, ppdl_config, scope, loc, output)


def exec_str(prog: str, config: Optional[InterpreterConfig] = None, ppdl_config: Optional[PpdlConfig] = None, scope: Any = None,
             output: str = "result") -> Any:
    """Runs a program that is given as text many times and weighs the results."""
    return _run(config, ppdl_config, scope, output, text=prog)


def exec_file(prog: Union[str, Path], config: Optional[InterpreterConfig] = None, ppdl_config: Optional[PpdlConfig] = None, scope: Any = None,
              output: str = "result") -> Any:
    """Runs the program in a file many times and weighs the results."""
    return _run(config, ppdl_config, scope, output, program=os.path.abspath(prog))


def main() -> None:
    """Replaces this process by the command `pdl infer`."""
    os.execv(_command(), ["pdl", "infer", *sys.argv[1:]])


if __name__ == "__main__":
    main()
