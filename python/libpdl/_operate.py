# SPDX-License-Identifier: Apache-2.0
"""Operators and filters of expressions on objects of Python."""
from __future__ import annotations

import operator
from typing import Any, Callable

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "in": lambda x, y: x in y, "not in": lambda x, y: x not in y,
    "~": lambda x, y: str(x) + str(y)}
UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "not": operator.not_}


def _path(attribute: Any) -> list[Any]:
    if not isinstance(attribute, str):
        return [attribute]
    return [int(p) if p.isdigit() else p for p in attribute.split(".")]


def _get(o: Any, path: list[Any]) -> Any:
    for name in path:
        try:
            o = o[name]
        except (AttributeError, TypeError, LookupError):
            if not isinstance(name, str) or not hasattr(o, name):
                raise AttributeError("'%s object' has no attribute %r" % (type(o).__name__, name)) from None
            o = getattr(o, name)
    return o


def _getter(attribute: Any, is_folded: bool) -> Callable[[Any], Any]:
    """Returns a function that gives what a filter compares of an item: the item itself, an attribute that a path names, or a list of such
    attributes."""
    texts = attribute.split(",") if isinstance(attribute, str) else [attribute]
    paths = [[] if t is None else _path(t) for t in texts]

    def fold(o: Any) -> Any:
        return o.lower() if is_folded and isinstance(o, str) else o

    if len(paths) == 1:
        return lambda o: fold(_get(o, paths[0]))
    return lambda o: [fold(_get(o, path)) for path in paths]


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda value, case_sensitive=False, attribute=None: choose(value, key=_getter(attribute, not case_sensitive))


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    import math
    if method not in ("common", "ceil", "floor"):
        raise ValueError("method must be common, ceil or floor")
    if method == "common":
        return round(value, precision)
    return (math.ceil if method == "ceil" else math.floor)(value * 10 ** precision) / 10 ** precision


def _number(kind: Callable[[Any], Any], default: Any) -> Callable[..., Any]:
    def convert(value: Any, default: Any = default, base: int = 10) -> Any:
        try:
            return kind(value)
        except (TypeError, ValueError):
            return default
    return convert


def _pick(by_attribute: bool, is_kept: bool) -> Callable[..., Any]:
    def pick(value: Any, *args: Any, operator: str) -> list[Any]:
        get = _getter(args[0] if by_attribute else None, False)
        return [x for x in value if bool(BINARY[operator](get(x), args[-1])) is is_kept]
    return pick


FILTERS: dict[str, Callable[..., Any]] = {
    "abs": abs, "int": _number(int, 0), "float": _number(float, 0.0), "round": _round, "max": _extreme(max), "min": _extreme(min),
    "sum": lambda value, attribute=None, start=0: sum(map(_getter(attribute, False), value), start),
    "sort": lambda value, reverse=False, case_sensitive=False, attribute=None:
        sorted(value, key=_getter(attribute, not case_sensitive), reverse=reverse),
    "map": lambda value, name, *args: [FILTERS[name](x, *args) for x in value],
    "select": _pick(False, True), "reject": _pick(False, False), "selectattr": _pick(True, True), "rejectattr": _pick(True, False),
    "format": lambda text, *args, **kwargs: str(text) % (kwargs or args), "str.format": str.format}


def operate(what: dict[str, Any]) -> Any:
    op = what["op"]
    if op == "binary":
        value = BINARY[what["operator"]](what["left"], what["right"])
        return not value if what.get("negated") else value
    if op == "unary":
        return UNARY[what["operator"]](what["object"])
    if op == "slice":
        return what["object"][slice(*what["args"])]
    if op == "filter":
        given = {"operator": what["operator"]} if what.get("operator") else {}
        return FILTERS[what["name"]](*what["args"], **what["kwargs"], **given)
    if op == "len":
        return len(what["object"])
    return str(what["object"]) if op == "str" else repr(what["object"])
