# SPDX-License-Identifier: Apache-2.0
"""Checks arguments: a wrong one raises an exception that names it."""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional, Tuple, Union

from ._errors import UsageError


def fail(name: str, want: str, value: object) -> TypeError:
    return TypeError("%s must be %s, not %s" % (name, want, type(value).__name__))


def text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise fail(name, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError("%s holds a lone surrogate" % name) from None
    return value


def path(name: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise fail(name, "a path", value)
    found = os.fspath(value)
    if not isinstance(found, str):
        raise fail(name, "a path of text", found)
    if not found or "\0" in found:
        raise UsageError("%s is empty or holds a NUL" % name)
    return text(name, found)


def optional_path(name: str, value: object) -> Optional[str]:
    return None if value is None else path(name, value)


def dictionary(name: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise fail(name, "a dict", value)
    for key in value:
        if not isinstance(key, str):
            raise TypeError("%s has a key that is no text: %r" % (name, key))
    return value


def count(name: str, value: object, most: int = 100000) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise fail(name, "an integer", value)
    if not 0 < value <= most:
        raise UsageError("%s must be from 1 to %d, not %d" % (name, most, value))
    return value


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise fail(name, "True or False", value)
    return value


def _number(name: str, value: object, is_zero_right: bool = False) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail(name, "a number", value)
    if not 0 <= value < 1e15 or (value == 0 and not is_zero_right):
        raise UsageError("%s must be %s, not %r" % (name, "0 or more" if is_zero_right else "greater than 0", value))
    return repr(value) if isinstance(value, int) else "%.15g" % value


def budget(value: Union[None, str, dict[str, Any]]) -> Optional[str]:
    if value is None or isinstance(value, str):
        return None if value is None else text("budget", value)
    return ",".join("%s=%s" % (k, _number("budget[%r]" % k, v, True)) for k, v in dictionary("budget", value).items())


def timeout(value: Union[None, str, int, float]) -> Optional[str]:
    if value is None or isinstance(value, str):
        return None if value is None else text("timeout", value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail("timeout", "a number of seconds or text (\"first=5,total=60\")", value)
    return _number("timeout", value)


def prices(value: Any) -> Tuple[Optional[str], Optional[str]]:
    """Returns (path, JSON text of a dict), of which at most one is set."""
    if not isinstance(value, dict):
        return optional_path("prices", value), None
    import json
    try:
        return None, json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UsageError("prices: %s" % e) from None


def _json(name: str, value: dict[str, Any]) -> str:
    import json
    try:
        return json.dumps(dictionary(name, value), allow_nan=False)
    except (TypeError, ValueError) as e:
        raise UsageError("%s: %s" % (name, e)) from None


def sandbox(value: Any) -> Tuple[Optional[str], Optional[str]]:
    """Returns (name or file of a profile, JSON text of a profile); at most one is set."""
    if value is None or isinstance(value, bool):
        return "code" if value else None, None
    if not isinstance(value, dict):
        return path("sandbox", value), None
    # Paths in the file of a profile are relative to that file. Paths in a dict are relative to the working folder.
    whole = {k: [os.path.abspath(path("sandbox[%r]" % k, p)) for p in v] if k in ("read", "write") and isinstance(v, (list, tuple)) else v
             for k, v in dictionary("sandbox", value).items()}
    return None, _json("sandbox", whole)


def policies(value: Any) -> Iterator[Tuple[Optional[str], Optional[str]]]:
    """Yields (name or file, JSON text) for each policy; at most one is set."""
    if value is None:
        return
    for one in value if isinstance(value, (list, tuple)) else [value]:
        yield (None, _json("policy", one)) if isinstance(one, dict) else (path("policy", one), None)


# Methods by which tables of other packages are recognised, each with an expression that makes rows of such a table.
TABLES = (("iter_rows", "rows.iter_rows(named=True)"), ("to_pylist", "rows.to_pylist()"), ("to_dict", "rows.to_dict('records')"))


def _rows_of(value: Any) -> str:
    if isinstance(value, dict) and value and all(isinstance(v, (list, tuple)) for v in value.values()):
        return "[dict(zip(rows, r)) for r in zip(*rows.values())]"
    return next((way for name, way in TABLES if hasattr(value, "columns") and hasattr(value, name)), "")


def rows(value: Any) -> Iterator[Any]:
    way = _rows_of(value)
    if way or isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        wrong = fail("rows", "an iterable of dicts", value)
        raise TypeError("%s; %s is one" % (wrong, way)) if way else wrong
    return iter(value)
