# SPDX-License-Identifier: Apache-2.0
"""What the extension asks Python for: exceptions, and types that C does not look at."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Optional, Tuple

from . import _errors, _pdl, _program


def exception(fields: Tuple[str, str, str, int, int, str, str, int, int, str]) -> _errors.Error:
    kind, message, file, line, column, hint, text, exit_code, status, path = fields
    return _errors.class_of(kind)(message, kind=kind, file=file, line=line, column=column, hint=hint, text=text,
                                  exit_code=exit_code, status=status, path=path)


def _numpy(value: Any) -> Any:
    """A NumPy scalar as a number, an array with one dimension as a list."""
    np = sys.modules["numpy"]
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if value.ndim == 1 else value


def _pydantic(value: Any) -> Any:
    return {name: getattr(value, name) for name in type(value).model_fields}


def plain(value: Any) -> Any:
    """The value as one of the types that go over, a date as (its text,); what is neither as itself."""
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    if kind is _program.Function:
        return value._handle
    if module == "datetime" and hasattr(value, "year"):
        return (value.isoformat(),)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name, f in kind.__dataclass_fields__.items() if f._field_type is _field()}
    if module == "pathlib" or hasattr(value, "__fspath__"):
        return _path(value)
    if module == "numpy" and hasattr(value, "tolist"):
        return _numpy(value)
    if isinstance(getattr(kind, "model_fields", None), dict):
        return _pydantic(value)
    return value


def _field() -> Any:
    return getattr(sys.modules["dataclasses"], "_FIELD")


def _path(value: Any) -> Any:
    import pathlib
    return str(value) if isinstance(value, pathlib.PurePath) else value


class Context(list):  # type: ignore[type-arg]
    """A context: its messages. form: "message", "dependent" or "independent"; parts: its messages and the groups inside of it."""

    def __init__(self, parts: Iterable[Any] = (), form: str = "dependent") -> None:
        self.form, self.parts = form, list(parts)
        super().__init__(self._messages())

    def _messages(self) -> list[Any]:
        return [m for part in self.parts for m in (part if isinstance(part, Context) else [part])]


def context(what: Tuple[Optional[bool], list[Any]]) -> Any:
    """From the extension: (is it independent? None for one message, parts)."""
    independent, parts = what
    if independent is None:
        return Context(parts, "message")
    return Context([p.parts[0] if isinstance(p, Context) and p.form == "message" else p for p in parts],
                   "independent" if independent else "dependent")


def parts(value: Any) -> Any:
    """(is it independent?, parts) of a context that nobody has changed as a list."""
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
    """What a value is in Python for which the library has no kind."""
    return _program.Function(handle)
