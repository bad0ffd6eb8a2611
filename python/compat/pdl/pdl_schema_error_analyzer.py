# SPDX-License-Identifier: Apache-2.0
"""Reports the problems of data as lines."""
from __future__ import annotations

from typing import Any

from . import _run
from .pdl_ast import PdlLocationType, PDLRuntimeError
from .pdl_location_utils import get_loc_string
from .pdl_parser import analyze


def analyze_errors(defs: dict[str, Any], schema: dict[str, Any], data: Any, loc: PdlLocationType) -> list[str]:
    """Returns the problems of data that do not fit a schema: the schema of programs, or one without references."""
    head = get_loc_string(loc)
    if defs and (schema == defs.get("PdlBlock") or schema == defs.get("Program")):
        _, found = _run.read(data)
        return analyze(found, data, loc) if found else []
    if defs:
        raise NotImplementedError("defs: only those of the schema of programs")
    try:
        _run.value_of({"data": data, "raw": True, "spec": schema})
    except _run.libpdl.RunError as e:
        return [head + message for _, message in _run.problems_of(e)[1:]]
    except PDLRuntimeError as e:
        return [head + e.message]
    return []
