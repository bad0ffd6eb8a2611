# SPDX-License-Identifier: Apache-2.0
"""Values as types of Python: dataclasses, TypedDict, pydantic models, types of typing."""
from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, Literal, Union

from ._errors import RunError

_UNIONS = (Union, getattr(types, "UnionType", Union))


def check(kind: Any) -> None:
    """TypeError when no value can be of this type."""
    if not (isinstance(kind, type) or typing.get_origin(kind) is not None or kind is Any or typing.is_typeddict(kind)):
        raise TypeError("returns must be a type, not %s" % type(kind).__name__)


def _misfit(kind: Any, value: Any, where: str) -> RunError:
    name = getattr(kind, "__name__", str(kind))
    return RunError("%s should be of type %s, but is %.60r" % (where, name, value), kind="type")


def _record(kind: Any, value: Any, where: str) -> dict[str, Any]:
    """The fields of a dataclass or TypedDict."""
    if not isinstance(value, dict):
        raise _misfit(kind, value, where)
    hints = typing.get_type_hints(kind)
    for key in value:
        if key not in hints:
            raise RunError("%s has a field %r that %s lacks" % (where, key, kind.__name__), kind="type")
    return {k: fit(hints[k], v, "%s.%s" % (where, k)) for k, v in value.items()}


def _missing(kind: Any, names: "typing.Iterable[str]", where: str) -> None:
    for name in sorted(names):
        raise RunError("%s lacks the field %r of %s" % (where, name, kind.__name__), kind="type")


def _class(kind: Any, value: Any, where: str) -> Any:
    make: Any = kind
    if dataclasses.is_dataclass(kind):
        fields = _record(kind, value, where)
        needed = {f.name for f in dataclasses.fields(kind) if f.init and f.default is dataclasses.MISSING
                  and f.default_factory is dataclasses.MISSING}
        _missing(kind, needed - set(fields), where)
        return make(**fields)
    if typing.is_typeddict(kind):
        fields = _record(kind, value, where)
        _missing(kind, kind.__required_keys__ - set(fields), where)
        return fields
    if hasattr(kind, "model_validate"):
        try:
            return kind.model_validate(value)
        except ValueError as e:
            raise _misfit(kind, value, where) from e
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and not (isinstance(value, bool) and kind in (int, float)):
        return value
    raise _misfit(kind, value, where)


def _union(kind: Any, value: Any, where: str) -> Any:
    for k in typing.get_args(kind):
        if isinstance(k, type) and type(value) is k:
            return value
    for k in typing.get_args(kind):
        try:
            return fit(k, value, where)
        except RunError:
            continue
    raise _misfit(kind, value, where)


def _tuple(kind: Any, value: Any, where: str) -> Any:
    kinds = typing.get_args(kind)
    if not isinstance(value, list):
        raise _misfit(kind, value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _misfit(kind, value, where)
    return tuple(fit(k, v, "%s[%d]" % (where, i)) for i, (k, v) in enumerate(zip(kinds, value)))


def fit(kind: Any, value: Any, where: str = "the result") -> Any:
    """The value as one of this type."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value
    if kind is None or kind is type(None):
        if value is None:
            return None
        raise _misfit(kind, value, where)
    if origin in _UNIONS:
        return _union(kind, value, where)
    if origin is Literal:
        if any(value == a and type(value) is type(a) for a in args):
            return value
        raise _misfit(kind, value, where)
    if origin is tuple:
        return _tuple(kind, value, where)
    if origin is dict and isinstance(value, dict):
        return {fit(args[0], k, where): fit(args[1], v, "%s[%r]" % (where, k)) for k, v in value.items()}
    if origin in (list, set, frozenset) and isinstance(value, list):
        return origin(fit(args[0], v, "%s[%d]" % (where, i)) for i, v in enumerate(value))
    if origin is typing.Annotated:
        return fit(args[0], value, where)
    if origin is not None:
        if isinstance(origin, type) and not isinstance(value, (str, bytes)) and isinstance(value, origin) and args:
            return [fit(args[0], v, "%s[%d]" % (where, i)) for i, v in enumerate(value)] if isinstance(value, list) else value
        raise _misfit(kind, value, where)
    return _class(kind, value, where)
