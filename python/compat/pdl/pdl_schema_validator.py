# SPDX-License-Identifier: Apache-2.0
"""Whether values fit types."""
from __future__ import annotations

from typing import Any, Optional

from .pdl_schema_error_analyzer import analyze_errors
from .pdl_schema_utils import get_json_schema, pdltype_to_jsonschema


def type_check_args(args: Optional[dict[str, Any]], params: Optional[dict[str, Any]], loc: Any) -> list[str]:
    """What is wrong with the arguments of a call."""
    if not args and not params:
        return []
    types = {**(params or {}), **({"pdl_context": ["object"]} if "pdl_context" in (args or {}) else {})}
    schema = get_json_schema(types, False)
    return ["Error obtaining a valid schema from function parameters definition"] if schema is None else type_check(args or {}, schema, loc)


def type_check_spec(result: Any, spec: Any, loc: Any) -> list[str]:
    return type_check(result, pdltype_to_jsonschema(spec, False), loc)


def type_check(result: Any, schema: dict[str, Any], loc: Any) -> list[str]:
    return analyze_errors({}, schema, result, loc)
