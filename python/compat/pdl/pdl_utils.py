# SPDX-License-Identifier: Apache-2.0
"""Small functions that programs of the reference import."""
from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, Optional, TypeVar, Union

from .pdl_ast import FunctionBlock, LocalizedExpression, get_sampling_defaults  # type: ignore[attr-defined]
from .pdl_lazy import PdlLazy

T = TypeVar("T")


class Ref(Generic[T]):
    """A reference through which several holders share one value."""

    def __init__(self, ref: T) -> None:
        self.ref = ref


def stringify(result: Any) -> str:
    """Returns the text that the command prints for a value."""
    if isinstance(result, PdlLazy):
        result = result.result()
    if isinstance(result, str):
        return result
    if isinstance(result, FunctionBlock):
        return ""
    try:
        return json.dumps(result)
    except TypeError:
        return str(result)


def value_of_expr(expr: Any) -> Any:
    """Returns the value of a recorded expression. Without a recorded value, returns the expression itself."""
    if not isinstance(expr, LocalizedExpression):
        return expr
    return expr.pdl__result if "pdl__result" in expr.model_fields_set else expr.pdl__expr


def apply_defaults(model_id: str, params: dict[str, Any], all_model_defaults: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    """Returns the parameters of a call of the model: the given ones, and the defaults for the rest."""
    if "granite-20b-code-instruct-r1.1" in model_id:
        return params
    parameters = apply_raw_defaults(model_id, params, all_model_defaults)
    if parameters.get("decoding_method") == "sample":
        return apply_raw_defaults(model_id, parameters, get_sampling_defaults())
    return parameters


def apply_raw_defaults(model_id: str, params: Optional[dict[str, Any]], model_defaults: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    validate_pdl_model_defaults(model_defaults)
    found: dict[str, Any] = {}
    for entry in model_defaults:
        for pattern, values in entry.items():
            if fnmatch.fnmatchcase(model_id, pattern):
                found.update(values)
    given = {k: v for k, v in (params or {}).items() if v is not None or k not in found}
    return {**given, **{k: v for k, v in found.items() if k not in given}}


def validate_scope(scope: dict[str, Any]) -> None:
    """Raises when pdl_model_default_parameters has another form than [{glob: {parameter: value}}]."""
    validate_pdl_model_defaults(scope["pdl_model_default_parameters"])


def validate_pdl_model_defaults(model_defaults: list[dict[str, dict[str, Any]]]) -> None:
    for entry in model_defaults:
        for pattern, values in entry.items():
            if not isinstance(values, dict):
                raise ValueError("invalid defaults %r for model matcher %s" % (values, pattern))


def redact_secrets(data: Any, secrets: Sequence[str]) -> Any:
    """Returns the data with [REDACTED] in place of each of the texts, even in keys."""
    if isinstance(data, str):
        # the longest secret is first, because one secret may be a part of another
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            data = data.replace(secret, "[REDACTED]")
    elif isinstance(data, dict):
        return {redact_secrets(k, secrets): redact_secrets(v, secrets) for k, v in data.items()}
    return [redact_secrets(v, secrets) for v in data] if isinstance(data, list) else data


def write_trace(trace_file: Union[str, Path], trace: Any, secrets: Optional[Sequence[str]] = None) -> None:
    """Writes a trace as JSON, without the secrets; a failure is reported on standard error."""
    from .pdl_dumper import as_json, block_to_dict
    try:
        text = json.dumps(redact_secrets(as_json(block_to_dict(trace, json_compatible=True)), secrets or ()))
        with open(trace_file, "w", encoding="utf-8") as f:
            f.write(text)
    except Exception as e:
        print("Failure generating the trace: %s" % e, file=sys.stderr)
