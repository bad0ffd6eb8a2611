# SPDX-License-Identifier: Apache-2.0
"""Programs and traces as dicts, JSON and YAML."""
from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from . import pdl_ast as ast
from ._model import REQUIRED, Model
from .pdl_lazy import PdlLazy

_SPELLED = {"kind", "pdl__id", "defs", "context", "platform", "lang", "input", "args", "expectations", "pdl__is_leaf", "join", "while",
            "until", "multiline", "message"}


def dump_yaml(data: Any, **kwargs: Any) -> str:
    from ._model import refuse
    refuse(kwargs)
    from ._run import engine
    return engine()._core().to_yaml(as_json(data))


def dumps_json(data: Any, **kwargs: Any) -> str:
    return json.dumps(data, **kwargs)


def program_to_dict(prog: ast.Program, json_compatible: bool = False) -> Any:
    return block_to_dict(prog.root, json_compatible)


def block_to_dict(block: Any, json_compatible: bool) -> Any:
    """Returns the block under the keys of programs, with its defaults and with the fields of traces."""
    return _Dump(True, json_compatible).value(block)


def plain(value: Any) -> Any:
    """Returns the block as a person would write it: no defaults, no fields of traces."""
    return _Dump(False, False).value(value)


class _Dump:
    def __init__(self, full: bool, json_mode: bool) -> None:
        self.full, self.json = full, json_mode

    def fields(self, model: Model) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, field in type(model).model_fields.items():
            value = getattr(model, name)
            is_default = field.default is not REQUIRED and value == field.default
            if is_default and not (self.full and isinstance(model, ast.Block) and field.key in _SPELLED):
                if not (self.full and isinstance(model, ast.MatchCase)) and not _selects(model, field.key):
                    continue
            if self.full or not field.key.startswith("pdl__"):
                out[field.key] = self.value(value)
        out.update({k: self.value(v) for k, v in (model.model_extra or {}).items()})
        return out

    def value(self, value: Any) -> Any:
        if isinstance(value, PdlLazy):
            return self.value(value.result())
        if isinstance(value, ast.LocalizedExpression) and not self.full:
            return self.value(value.pdl__expr)
        if isinstance(value, ast.RootModel):
            return self.value(value.root)
        if isinstance(value, Model):
            return self.fields(value)
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, Mapping):
            return {str(k) if isinstance(k, Enum) else k: self.value(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(v) for v in value]
        return as_json(value) if self.json else value


def _selects(model: Model, key: str) -> bool:
    """Returns true for a field that is needed to read the result again, although its value is the default."""
    usual = {"lang": "python", "as": "text", "platform": "litellm", "kind": model.__dict__.get("kind")}
    if isinstance(model, ast.EmptyBlock):  # type: ignore[attr-defined]
        return key == "kind"
    return key in usual and usual[key] != str(model.__dict__.get(key, getattr(model, key + "_", None))) and not hasattr(model, "reduce")


def as_json(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Model):
        return as_json(block_to_dict(value, json_compatible=True))
    if isinstance(value, Mapping):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, Iterable):
        return [as_json(v) for v in value]
    return str(value)


def dump_program_exclude_internals(program: ast.Program) -> str:
    """Returns YAML as a person would write it."""
    return dump_yaml(plain(program))


def dump_program(program: ast.Program, exclude: Any = None) -> str:
    return dump_yaml(program.model_dump(mode="json", exclude_defaults=True, exclude_none=True, exclude_unset=True, by_alias=True,
                                        exclude=exclude))
