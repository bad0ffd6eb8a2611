# SPDX-License-Identifier: Apache-2.0
"""Functions of Python as tools of models: the schema comes from annotations and the docstring."""
from __future__ import annotations

import dataclasses
import datetime
import enum
import inspect
import pathlib
import re
import types
import typing
from typing import TYPE_CHECKING, Any, Callable, Literal, Union

from . import _returns

if TYPE_CHECKING:
    from ._program import Program

SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", dict: "object", list: "array"}
FORMATS = {datetime.datetime: "date-time", datetime.date: "date", datetime.time: "time"}
_UNIONS = (Union, getattr(types, "UnionType", Union))


def _record(kind: Any, needed: "list[str]") -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {"type": "object", "properties": {k: schema_of(v) for k, v in hints.items()}, "required": needed}


def schema_of(kind: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a type of Python; {} means any value."""
    says = [m for m in getattr(kind, "__metadata__", ()) if isinstance(m, str)]
    if says:
        return {**schema_of(_returns.meant(kind)), "description": says[0]}
    kind = _returns.meant(kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is None:
        return {"type": "null"}
    if isinstance(kind, type) and kind in SIMPLE:
        return {"type": SIMPLE[kind]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin in _UNIONS:
        return {"anyOf": [schema_of(a) for a in args]}
    if origin in (list, set, frozenset) or (origin is tuple and args[1:] == (Ellipsis,)):
        return {"type": "array", "items": schema_of(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(args[1])}
    if dataclasses.is_dataclass(kind):
        return _record(kind, [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING
                              and f.default_factory is dataclasses.MISSING])
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"enum": [m.value for m in kind]}
    if kind in FORMATS:
        return {"type": "string", "format": FORMATS[kind]}
    if _returns.is_typeddict(kind):
        return _record(kind, sorted(kind.__required_keys__))
    if hasattr(kind, "model_json_schema"):
        found: dict[str, Any] = kind.model_json_schema()
        return found
    return {}


class Tool:
    """A function with its schema in the form that services accept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function) or not isinstance(getattr(function, "__name__", None), str):
            raise TypeError("function must be a function with a name, not %s" % type(function).__name__)
        if not function.__name__.isidentifier():
            raise TypeError("function must be a function with a name, not %s" % function.__name__)
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        properties, needed = {}, []
        try:
            signature = inspect.signature(function)
        except ValueError:  # some functions of C have none
            raise TypeError("function must be a function whose parameters Python knows, not %s" % self.__name__) from None
        hints = typing.get_type_hints(function, include_extras=True)
        for name, p in signature.parameters.items():
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                continue
            properties[name] = schema_of(hints.get(name, Any))
            if p.default is p.empty:
                needed.append(name)
        self.schema: dict[str, Any] = {"type": "function", "function": {
            "name": self.__name__, "description": inspect.getdoc(function) or "",
            "parameters": {"type": "object", "properties": properties, "required": needed}}}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def tool(function: Callable[..., Any]) -> Tool:
    """Makes a tool of a function. A model sees its `.schema`."""
    return Tool(function)


def _annotation(schema: Any) -> Any:
    kinds = {v: k for k, v in SIMPLE.items()}
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kinds.get(kind, inspect.Parameter.empty) if isinstance(kind, str) else inspect.Parameter.empty


def signature_of(schema: dict[str, Any]) -> inspect.Signature:
    """Returns the parameters of a function of a program. Optional parameters have the default None."""
    needed = schema.get("required", ())
    empty = inspect.Parameter.empty
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=_annotation(s),
                                    default=empty if name in needed else None)
                  for name, s in schema.get("properties", {}).items() if name.isidentifier()]
    parameters.sort(key=lambda p: p.default is not empty)
    return inspect.Signature(parameters)


def _name_of(program: "Program[Any]") -> str:
    stem = re.sub(r"\W", "_", pathlib.PurePath(program._path or program._name or "program").stem)
    return stem if stem[:1].isalpha() else "program"


def of_program(program: "Program[Any]") -> Tool:
    """Returns a tool that runs the program."""
    found = re.finditer(r"'(\w+)' is undefined", "\n".join(d.message for d in program.check() if d.code == "name-undefined"))
    names = list(dict.fromkeys(m[1] for m in found if m[1] not in program._engine.tools))
    tree = program._for(program._engine._core()).tree()
    description = tree.get("description") if isinstance(tree, dict) else None

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError("%s() takes at most %d arguments, not %d" % (tool.__name__, len(names), len(args)))
        given = dict(zip(names, args))
        for name in kwargs:
            if name in given:
                raise TypeError("%s() got several values for %r" % (tool.__name__, name))
        return program.run({**given, **kwargs}).value

    call.__name__ = _name_of(program)
    call.__doc__ = description if isinstance(description, str) else ""
    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    tool = Tool(call)
    return tool
