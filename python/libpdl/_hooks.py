# SPDX-License-Identifier: Apache-2.0
"""What the extension asks Python for: exceptions, integers of any size, types that C does not look at."""
from __future__ import annotations

import dataclasses
import datetime
import pathlib
import re
import sys
from typing import Any, Callable, Tuple

from . import _errors, _pdl

MANY_DIGITS = 4000  # more than Python turns into an integer at once
DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{3}(\d{3})?)?([+-]\d\d:\d\d)?)?")


def exception(fields: Tuple[str, str, str, int, int, str, str, int, int]) -> _errors.Error:
    kind, message, file, line, column, hint, text, exit_code, status = fields
    return _errors.class_of(kind)(message, kind=kind, file=file, line=line, column=column, hint=hint, text=text,
                                  exit_code=exit_code, status=status)


def digits(n: int) -> str:
    """str(n) without Python's limit on the number of digits."""
    if n.bit_length() < 3 * MANY_DIGITS:
        return str(n)
    if n < 0:
        return "-" + digits(-n)
    half = n.bit_length() * 3 // 20
    high, low = divmod(n, 10 ** half)
    return digits(high) + digits(low).zfill(half)


def number(text: str) -> int:
    """int(text) without Python's limit on the number of digits."""
    if len(text) < MANY_DIGITS:
        return int(text)
    if text[0] == "-":
        return -number(text[1:])
    half = len(text) // 2
    power: int = 10 ** (len(text) - half)
    return number(text[:half]) * power + number(text[half:])


def _numpy(value: Any) -> Any:
    """A NumPy scalar as a number, an array as a list."""
    np = sys.modules["numpy"]
    if isinstance(value, np.generic):
        return value.item()
    if value.ndim != 1:
        raise NotImplementedError("arrays of NumPy with %d dimensions cannot be given to a program yet" % value.ndim)
    return value.tolist()


def _pydantic(value: Any) -> Any:
    return {name: getattr(value, name) for name in type(value).model_fields}


def plain(value: Any) -> Any:
    """The value as one of the types that go over; a function as itself."""
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Function):
        return value._handle
    kind = type(value)
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return _numpy(value)
    if isinstance(getattr(kind, "model_fields", None), dict):
        return _pydantic(value)
    if isinstance(value, (datetime.date, datetime.time)):
        raise NotImplementedError("dates and times cannot be given to a program yet; give their text, as %r.isoformat()" % value)
    if callable(value):
        return value
    raise NotImplementedError("objects of type %s cannot be given to a program yet" % kind.__name__)


class Function:
    """A function or an object of a program. It can be given to another run of the same engine."""

    def __init__(self, handle: _pdl.Handle) -> None:
        self._handle = handle

    def __repr__(self) -> str:
        return "<libpdl.Function %s>" % self._handle.text()

    def __str__(self) -> str:
        return self._handle.text()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and bool(self._handle == other._handle)

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("functions of programs cannot be called from Python yet")


def _date(text: str) -> Any:
    if not DATE.fullmatch(text):
        return None
    make: Callable[[str], Any] = datetime.date.fromisoformat if len(text) == 10 else datetime.datetime.fromisoformat
    try:
        return make(text)
    except ValueError:
        return None


def other(handle: _pdl.Handle) -> Any:
    """What a value is in Python for which the library has no kind."""
    date = _date(handle.text())
    return Function(handle) if date is None else date
