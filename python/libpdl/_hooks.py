# SPDX-License-Identifier: Apache-2.0
"""Functions that the extension calls: they make exceptions, and convert types that C does not know."""
from __future__ import annotations

import sys
from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional, Tuple

from . import _arguments, _errors, _pdl, _program

FORMS = ("message", "dependent", "independent")


def exception(fields: Tuple[str, str, str, int, int, str, str, int, int, str]) -> _errors.Error:
    kind, message, file, line, column, hint, text, exit_code, status, path = fields
    return _errors.class_of(kind)(message, kind=kind, file=file, line=line, column=column, hint=hint, text=text,
                                  exit_code=exit_code, status=status, path=path)


def _numpy(value: Any) -> Any:
    """Returns a NumPy scalar as a number, and an array with one dimension as a list."""
    np = sys.modules["numpy"]
    if isinstance(value, np.generic):
        # item() of a long double returns the long double itself
        return float(value) if isinstance(value, np.longdouble) else value.item()
    return value.tolist() if value.ndim == 1 else value


def _pydantic(value: Any) -> Any:
    """Returns a model of pydantic as a dict of its fields, whose values may be objects. For a root model, returns the root."""
    kind = type(value)
    if getattr(kind, "__pydantic_root_model__", False):
        return value.root
    names = [*kind.model_fields, *(getattr(value, "__pydantic_extra__", None) or ()), *getattr(kind, "model_computed_fields", ())]
    return _fields(value, names)


def _fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """Returns the fields that have a value: a field with init=False may have none."""
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def plain(value: Any) -> Any:
    """Returns the value in a type that the C code converts. A date becomes (its text,). Functions of programs, dataclasses, paths, NumPy values and
    models of pydantic are converted, too. Any other value is unchanged."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if kind is _program.Function:
        return value._handle
    # The type is asked and not the value: a proxy of another object may fail on any attribute.
    if module == "datetime" and hasattr(kind, "year"):
        return (value.isoformat(),)
    if hasattr(kind, "__dataclass_fields__"):
        return _fields(value, (name for name, f in kind.__dataclass_fields__.items() if f._field_type is _field()))
    if module == "pathlib" or hasattr(kind, "__fspath__"):
        return _path(value)
    if module == "numpy" and hasattr(kind, "tolist"):
        return _numpy(value)
    if hasattr(kind, "__pydantic_validator__") and isinstance(getattr(kind, "model_fields", None), dict):
        return _pydantic(value)
    return value


def abstract(value: Any) -> Tuple[bool, bool]:
    """Returns whether the value is a mapping and whether it is a number."""
    numbers = sys.modules.get("numbers")
    return isinstance(value, Mapping), numbers is not None and isinstance(value, numbers.Number)


def _field() -> Any:
    return getattr(sys.modules["dataclasses"], "_FIELD")


def _path(value: Any) -> Any:
    import pathlib
    return str(value) if isinstance(value, pathlib.PurePath) else value


class Context(list):  # type: ignore[type-arg]
    """A context: its messages. form: "message", "dependent" or "independent"; parts: the messages and the groups of
    messages inside of it."""

    def __init__(self, parts: Iterable[Any] = (), form: str = "dependent") -> None:
        if form not in FORMS:
            raise _errors.UsageError("form must be %s, not %r" % (" or ".join(map(repr, FORMS)), form))
        if isinstance(parts, (str, bytes, Mapping)) or not hasattr(parts, "__iter__"):
            raise _arguments.fail("parts", "a list of messages and contexts", parts)
        self._fill(list(parts), form)
        for i, part in enumerate(self.parts):
            if not isinstance(part, (Mapping, Context)):
                raise _arguments.fail("parts[%d]" % i, "a message (a dict) or a Context", part)
        if form == "message" and len(self.parts) != 1:
            raise _errors.UsageError("parts must be one message where form is 'message', not %d" % len(self.parts))

    def _fill(self, parts: list[Any], form: str) -> "Context":
        self.form, self.parts = form, parts
        super().__init__(self._messages())
        return self

    def _messages(self) -> list[Any]:
        return [m for part in self.parts for m in (part if isinstance(part, Context) else [part])]


def context(what: Tuple[Optional[bool], list[Any]]) -> Any:
    """Makes a context from (independent, parts) of the extension. Without `independent` it is a single message."""
    independent, parts = what
    made = Context.__new__(Context)
    if independent is None:
        return made._fill(parts, "message")
    return made._fill([p.parts[0] if isinstance(p, Context) and p.form == "message" else p for p in parts],
                      "independent" if independent else "dependent")


def parts(value: Any) -> Any:
    """Returns (independent, parts) of a context. Returns None for any other value, and for a context that was changed as a list."""
    if not isinstance(value, Context) or value != value._messages():
        return None
    return value.form == "independent", value.parts


def operate(what: Any) -> Any:
    from ._operate import operate as run
    return run(what)


def date(text: str) -> Any:
    import datetime
    return datetime.date.fromisoformat(text) if len(text) == 10 else datetime.datetime.fromisoformat(text)


def function(handle: _pdl.Handle) -> Any:
    return _program.Function(handle)


def other(handle: _pdl.Handle) -> Any:
    """Makes an object of Python from a value whose kind has no name in the library's interface."""
    return _program.Function(handle)
