# SPDX-License-Identifier: Apache-2.0
"""Values as types of Python: dataclasses, TypedDict, pydantic models, types of typing.

Converts results to types of Python. The values of a program have the types of JSON, and mostly come from a model. So a value of another type is made
from its usual JSON form: a date from its ISO text, a member of an enumeration from its value, a path from its text, a set from a list, and a key that
is a number from its digits.
"""
from __future__ import annotations

import dataclasses
import datetime
import enum
import pathlib
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union

from ._errors import RunError

_UNIONS = (Union, getattr(types, "UnionType", Union))
# names of qualifiers in typing and typing_extensions
_QUALIFIERS = ("Annotated", "Required", "NotRequired", "ReadOnly", "ClassVar", "Final")
_BY_TEXT = (("uuid", "UUID"), ("decimal", "Decimal"), ("fractions", "Fraction"))
_DATES = (datetime.datetime, datetime.date, datetime.time)


def is_typeddict(kind: Any) -> bool:
    """Returns true for a TypedDict, also for one of typing_extensions, which typing does not recognise."""
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__required_keys__")


def meant(kind: Any) -> Any:
    """Returns the type that a name or a qualifier means."""
    while True:
        if hasattr(kind, "__supertype__"):  # a NewType
            kind = kind.__supertype__
        elif type(kind).__name__ == "TypeAliasType":
            kind = kind.__value__
        elif getattr(kind, "__metadata__", None) or getattr(typing.get_origin(kind), "_name", None) in _QUALIFIERS:
            kind = typing.get_args(kind)[0]
        elif getattr(kind, "_name", None) == "LiteralString":
            kind = str
        else:
            return kind


def check(kind: Any) -> None:
    """Raises TypeError when no value can be of this type."""
    meaning = meant(kind)
    if not (isinstance(meaning, type) or typing.get_origin(meaning) is not None or meaning is Any):
        raise TypeError("returns must be a type, not %s" % type(kind).__name__)


def _misfit(kind: Any, value: Any, where: str) -> RunError:
    wanted = "one of %s" % ", ".join(map(repr, typing.get_args(kind))) if typing.get_origin(kind) is Literal else \
        "of type " + getattr(kind, "__name__", str(kind))
    return RunError("%s should be %s, but is %.60r" % (where, wanted, value), kind="type")


def _hints(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except NameError as e:
        raise TypeError("returns: the annotations of %s: %s" % (kind.__name__, e)) from None


def _record(kind: Any, names: "typing.Iterable[str]", value: Any, where: str) -> dict[str, Any]:
    """Returns the members of a dict that are fields of a dataclass or TypedDict, each converted to its type."""
    if not isinstance(value, dict):
        raise _misfit(kind, value, where)
    hints = {name: hint for name, hint in _hints(kind).items() if name in names}
    for key in value:
        if key not in hints:
            raise RunError("%s has a field %r that %s lacks" % (where, key, kind.__name__), kind="type")
    return {k: fit(hints[k], v, "%s.%s" % (where, k)) for k, v in value.items()}


def _missing(kind: Any, names: "typing.Iterable[str]", where: str) -> None:
    for name in sorted(names):
        raise RunError("%s lacks the field %r of %s" % (where, name, kind.__name__), kind="type")


def _made(kind: Any, make: Any, value: Any, where: str) -> Any:
    """Returns the result of `make`, which may refuse the value."""
    try:
        return make()
    except ValueError as e:
        raise _misfit(kind, value, where) from e


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    given = {f.name: f for f in dataclasses.fields(kind) if f.init}
    fields = _record(kind, given, value, where)
    needed = {name for name, f in given.items() if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING}
    _missing(kind, needed - set(fields), where)
    return _made(kind, lambda: kind(**fields), value, where)


def _named_tuple(kind: Any, value: Any, where: str) -> Any:
    """Makes a NamedTuple from a dict of its fields, or from a list of them in their order."""
    if isinstance(value, (list, tuple)) and len(value) <= len(kind._fields):
        value = dict(zip(kind._fields, value))
    hints = _hints(kind)
    if not isinstance(value, dict):
        raise _misfit(kind, value, where)
    for key in value:
        if key not in kind._fields:
            raise RunError("%s has a field %r that %s lacks" % (where, key, kind.__name__), kind="type")
    _missing(kind, set(kind._fields) - set(kind._field_defaults) - set(value), where)
    return kind(**{k: fit(hints.get(k, Any), v, "%s.%s" % (where, k)) for k, v in value.items()})


def _of_text(kind: Any, value: str, where: str) -> Any:
    """Makes a value whose JSON form is a text."""
    if kind in _DATES:
        iso = value[:-1] + "+00:00" if value.endswith("Z") else value  # Python 3.10 does not know Z
        return _made(kind, lambda: kind.fromisoformat(iso), value, where)
    if issubclass(kind, pathlib.PurePath):
        return kind(value)
    if (kind.__module__, kind.__name__) in _BY_TEXT:
        try:
            return kind(value)
        except (ValueError, ArithmeticError) as e:
            raise _misfit(kind, value, where) from e
    raise _misfit(kind, value, where)


def _class(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return value if type(value) is kind else _dataclass(kind, value, where)
    if is_typeddict(kind):
        fields = _record(kind, kind.__annotations__, value, where)
        _missing(kind, kind.__required_keys__ - set(fields), where)
        return fields
    if hasattr(kind, "model_validate"):
        return _made(kind, lambda: kind.model_validate(value), value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if _is_instance(value, kind) and not (isinstance(value, bool) and kind in (int, float)) and not (
            kind is datetime.date and isinstance(value, datetime.datetime)):
        return value
    if issubclass(kind, enum.Enum):
        return _made(kind, lambda: kind(value), value, where)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _named_tuple(kind, value, where)
    if kind in (tuple, set, frozenset) and isinstance(value, list):
        return kind(value)
    if isinstance(value, str):
        return _of_text(kind, value, where)
    raise _misfit(kind, value, where)


def _is_instance(value: Any, kind: Any) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError as e:  # the type is a protocol that cannot be checked
        raise TypeError("returns: %s" % e) from None


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
    if not isinstance(value, (list, tuple)):
        raise _misfit(kind, value, where)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if kinds == ((),):  # the type is tuple[()] in Python 3.10
        kinds = ()
    if len(kinds) != len(value):
        raise _misfit(kind, value, where)
    return tuple(fit(k, v, "%s[%d]" % (where, i)) for i, (k, v) in enumerate(zip(kinds, value)))


def _key(kind: Any, key: Any, where: str) -> Any:
    """Makes a key of a dict, which is a text in JSON."""
    if meant(kind) in (int, float) and isinstance(key, str):
        return _made(kind, lambda: meant(kind)(key), key, where)
    return fit(kind, key, where)


def _container(kind: Any, value: Any, where: str) -> Any:
    """Converts to a type that has parameters, and that is not a special form."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(origin) or is_typeddict(origin):
        return fit(origin, value, where)  # any value fits a TypeVar
    if not args or not isinstance(origin, type):
        return fit(origin, value, where) if isinstance(origin, type) else _fail(kind, value, where)
    if issubclass(origin, tuple):
        return _tuple(kind, value, where)
    if issubclass(origin, Mapping) and isinstance(value, dict):
        return {_key(args[0], k, where): fit(args[-1], v, "%s[%r]" % (where, k)) for k, v in value.items()}
    if isinstance(value, list) and (origin in (set, frozenset) or issubclass(list, origin)):
        make = origin if origin in (set, frozenset) else list
        return make(fit(args[0], v, "%s[%d]" % (where, i)) for i, v in enumerate(value))
    if isinstance(value, list) and origin.__module__ == "collections.abc" and issubclass(set, origin):
        return {fit(args[0], v, "%s[%d]" % (where, i)) for i, v in enumerate(value)}
    if _is_instance(value, origin) and not isinstance(value, (str, bytes)):
        return value
    raise _misfit(kind, value, where)


def _fail(kind: Any, value: Any, where: str) -> Any:
    raise _misfit(kind, value, where)


def fit(kind: Any, value: Any, where: str = "the result") -> Any:
    """Returns the value as a value of this type."""
    kind = meant(kind)
    origin = typing.get_origin(kind)
    if kind is Any or isinstance(kind, typing.TypeVar):
        return value
    if kind is None or kind is type(None):
        return None if value is None else _fail(kind, value, where)
    if origin in _UNIONS:
        return _union(kind, value, where)
    if origin is Literal:
        if any(value == a and type(value) is type(a) for a in typing.get_args(kind)):
            return value
        raise _misfit(kind, value, where)
    if origin is not None:
        return _container(kind, value, where)
    return _class(kind, value, where)
