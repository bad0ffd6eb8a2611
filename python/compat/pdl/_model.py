# SPDX-License-Identifier: Apache-2.0
"""Classes with named fields, as far as users of the reference's models rely on them: constructors by keyword, model_dump,
model_copy, model_validate, ==, repr. The values of fields are checked when a program is loaded, not here."""
from __future__ import annotations

import copy
import enum
import json
import sys
from typing import Any, Callable, Iterator, Optional

REQUIRED = object()


def wrong(title: str, *problems: str) -> ValueError:
    """Returns the error for data that do not fit. Programs that use pydantic catch its ValidationError, so the error is a ValidationError when
    pydantic is imported."""
    core = sys.modules.get("pydantic_core")
    if core is None:
        return ValueError("%s: %s" % (title, "; ".join(problems)))
    rows = [{"type": core.PydanticCustomError("value_error", "{text}", {"text": p}), "loc": (), "input": None} for p in problems]
    return core.ValidationError.from_exception_data(title, rows)


class Field:
    """One field: its name in Python, its key in programs, its default, and the function that makes its value from
    data."""

    def __init__(self, name: str, default: Any = REQUIRED, key: str = "", make: Optional[Callable[[Any], Any]] = None,
                 doc: str = "") -> None:
        self.name, self.default, self.key, self.make, self.doc = name, default, key or name, make, doc

    def is_required(self) -> bool:
        return self.default is REQUIRED

    def fresh(self) -> Any:
        return copy.copy(self.default) if isinstance(self.default, (list, dict, Model)) else self.default


class ModelType(type):
    """Gathers the fields of the bases and of the class itself (FIELDS)."""

    model_fields: dict[str, Field]

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> "ModelType":
        cls = super().__new__(mcs, name, bases, body)
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__):
            fields.update((f.name, f) for f in base.__dict__.get("FIELDS", ()))
        cls.model_fields = fields
        cls.by_key = {f.key: f for f in fields.values()}  # type: ignore[attr-defined]
        return cls


class Model(metaclass=ModelType):
    """The base of classes with fields."""

    FIELDS: tuple[Field, ...] = ()
    EXTRA = False  # true when other fields are allowed
    by_key: dict[str, Field]

    def __init__(self, **given: Any) -> None:
        fields, extra, names = type(self).model_fields, {}, set()
        for key, value in given.items():
            field = self.by_key.get(key) or fields.get(key)
            if field is None:
                extra[key] = value
                continue
            names.add(field.name)
            self.__dict__[field.name] = field.make(value) if field.make is not None else value
        problems = [] if self.EXTRA else ["Field not allowed: %s" % key for key in extra]
        for field in fields.values():
            if field.name not in names:
                if field.default is REQUIRED:
                    problems.append("Missing required field: %s" % field.key)
                self.__dict__[field.name] = field.fresh()
        if problems:
            raise wrong(type(self).__name__, *problems)
        self.__dict__["model_fields_set"] = names | set(extra)
        self.__dict__["__pydantic_extra__"] = extra if self.EXTRA else None

    def __getattr__(self, name: str) -> Any:
        extra = self.__dict__.get("__pydantic_extra__")
        if extra and name in extra:
            return extra[name]
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            self.model_fields_set.add(name)
        self.__dict__[name] = value

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name in type(self).model_fields:
            yield name, self.__dict__[name]
        yield from (self.__dict__["__pydantic_extra__"] or {}).items()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and dict(self) == dict(other)  # type: ignore[call-overload]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % pair for pair in self))

    def __str__(self) -> str:
        return " ".join("%s=%r" % pair for pair in self)

    @property
    def model_extra(self) -> Optional[dict[str, Any]]:
        extra: Optional[dict[str, Any]] = self.__dict__["__pydantic_extra__"]
        return extra

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        refuse(options)
        if isinstance(obj, cls):
            return obj
        if not isinstance(obj, dict) or not all(isinstance(k, str) for k in obj):
            raise wrong(cls.__name__, "%r should be an object" % (obj,))
        return cls(**obj)

    @classmethod
    def model_validate_json(cls, text: str) -> Any:
        return cls.model_validate(json.loads(text))

    def model_copy(self, *, update: Optional[dict[str, Any]] = None, deep: bool = False) -> Any:
        other = copy.deepcopy(self) if deep else copy.copy(self)
        other.__dict__["model_fields_set"] = set(self.model_fields_set)
        for name, value in (update or {}).items():
            setattr(other, name, value)
        return other

    def model_dump(self, *, mode: str = "python", include: Any = None, exclude: Any = None, by_alias: bool = False,
                   exclude_unset: bool = False, exclude_defaults: bool = False, exclude_none: bool = False, **options: Any) -> Any:
        refuse(options)
        skip = Skip(mode == "json", by_alias, exclude_unset, exclude_defaults, exclude_none)
        return skip.value(self, include, exclude)

    def model_dump_json(self, *, indent: Optional[int] = None, **options: Any) -> str:
        separators = (",", ":") if indent is None else None
        return json.dumps(self.model_dump(mode="json", **options), indent=indent, separators=separators, ensure_ascii=False)


def model(name: str, *fields: Any, base: Any = Model, extra: bool = False, doc: str = "") -> Any:
    """Makes a class of models. A text in the list of fields is the name of a field without a default."""
    body = {"FIELDS": tuple(Field(f) if isinstance(f, str) else f for f in fields), "EXTRA": extra, "__doc__": doc or base.__doc__,
            "__module__": sys._getframe(1).f_globals["__name__"]}
    return ModelType(name, (base,), body)


def refuse(options: dict[str, Any]) -> None:
    """Refuses arguments that have no effect here."""
    for name, value in options.items():
        if value is not None:
            raise NotImplementedError("%s=%r is not honoured by libpdl-compat" % (name, value))


def part(rules: Any, key: Any) -> Any:
    """Returns the part of include= or exclude= that is about one key: True, False, or the rules inside of it."""
    if rules is None:
        return None
    if isinstance(rules, dict):
        return rules.get(key, rules.get("__all__", False))
    return key in rules


class Skip:
    """The options of one call of model_dump."""

    def __init__(self, json_mode: bool, by_alias: bool, unset: bool, defaults: bool, none: bool) -> None:
        self.json, self.by_alias, self.unset, self.defaults, self.none = json_mode, by_alias, unset, defaults, none

    def pairs(self, model: Model) -> Iterator[tuple[str, str, Any]]:
        for name, field in type(model).model_fields.items():
            value = model.__dict__[name]
            if (self.unset and name not in model.model_fields_set) or (self.none and value is None) or \
                    (self.defaults and field.default is not REQUIRED and value == field.default):
                continue
            yield name, field.key if self.by_alias else name, value
        for name, value in (model.model_extra or {}).items():
            yield name, name, value

    def chosen(self, items: Any, include: Any, exclude: Any) -> Iterator[tuple[Any, Any]]:
        for key, shown, value in items:
            wanted, excluded = part(include, key), part(exclude, key)
            if wanted is False or excluded is True:
                continue
            yield shown, self.value(value, wanted if isinstance(wanted, (dict, set)) else None,
                                    excluded if isinstance(excluded, (dict, set)) else None)

    def value(self, value: Any, include: Any = None, exclude: Any = None) -> Any:
        if isinstance(value, RootModel):
            return self.value(value.root, include, exclude)
        if isinstance(value, Model):
            return dict(self.chosen(self.pairs(value), include, exclude))
        if isinstance(value, dict):
            return dict(self.chosen(((k, self.value(k), v) for k, v in value.items()), include, exclude))
        if isinstance(value, (list, tuple)):
            items = [v for _, v in self.chosen(((i, i, v) for i, v in enumerate(value)), include, exclude)]
            return items if self.json or isinstance(value, list) else tuple(items)
        if self.json:
            return value.value if isinstance(value, enum.Enum) else as_json(value)
        return value


def as_json(value: Any) -> Any:
    """Returns the JSON form of a value, or the text of a value that has no JSON form."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)


class RootModel(Model):
    """A model whose only field is `root`. The value of this field is the value of the model."""

    FIELDS = (Field("root"),)

    def __init__(self, root: Any = REQUIRED, **given: Any) -> None:
        if root is not REQUIRED:
            given["root"] = root
        super().__init__(**given)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Any:
        refuse(options)
        return obj if isinstance(obj, cls) else cls(obj)
