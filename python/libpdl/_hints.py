# SPDX-License-Identifier: Apache-2.0
"""Annotations as types for typing.get_type_hints, inspect.signature and help.

`typing` takes longer to load than all of libpdl. So the modules import names of `typing`, and of each other, only for
type checkers, and an annotation remains the text of the source until it is examined. Then all annotations of the same function become types. From
3.14 on, Python calls a function to get them; in earlier versions, they are a dict that resolves itself.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._names import Any, Iterator

KINDS = (staticmethod, classmethod)
FUNCTION = type(lambda: None)


class Hints(dict):  # type: ignore[type-arg]
    """The annotations of one function or class. The texts of all annotations are resolved when one annotation is
    used."""

    __slots__ = ("_names",)

    def __init__(self, texts: dict[str, Any], names: dict[str, Any]) -> None:
        super().__init__(texts)
        self._names = names  # names of the module; empty when the annotations are types already

    def _types(self) -> "Hints":
        if self._names:
            import types
            import typing

            from . import _names
            texts = types.SimpleNamespace(__annotations__=dict(super().items()))
            super().update(typing.get_type_hints(texts, {**vars(_names), **self._names, "T": _names.T}, include_extras=True))
            self._names = {}
        return self

    def __getitem__(self, name: str) -> Any:
        return super(Hints, self._types()).__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        return super(Hints, self._types()).__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        return super(Hints, self._types()).get(name, default)

    def keys(self) -> Any:
        return super(Hints, self._types()).keys()

    def values(self) -> Any:
        return super(Hints, self._types()).values()

    def items(self) -> Any:
        return super(Hints, self._types()).items()

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def __reduce__(self) -> Any:
        """A copy or a pickle is a plain dict of types, without the names of the module."""
        return dict, (self.copy(),)

    def __repr__(self) -> str:
        return repr(self.copy())

    def __eq__(self, other: object) -> bool:
        return self.copy() == other

    __hash__ = None


def _asked(texts: Any, names: dict[str, Any]) -> Any:
    """Returns a function for the attribute __annotate__, which Python calls from 3.14 on. Its parameter `form` is a value of annotationlib.Format."""
    value, fake_globals, text = 1, 2, 4

    def annotate(form: int, /) -> dict[str, Any]:
        if form == fake_globals:
            raise NotImplementedError
        found: dict[str, Any] = texts(value)
        return found if form == text else Hints(found, names).copy()
    return annotate


def _function(member: Any) -> Any:
    """Returns the function of a method, class method or property; anything else unchanged."""
    return member.__func__ if isinstance(member, KINDS) else member.fget if isinstance(member, property) else member


def later(module: dict[str, Any]) -> None:
    """Gives the functions and classes of a module annotations that become types when they are used."""
    here = module["__name__"]
    for what in list(module.values()):
        if getattr(what, "__module__", None) != here:
            continue
        members = vars(what) if isinstance(what, type) else {}
        for member in (what, *map(_function, members.values())):
            if isinstance(member, (type, FUNCTION)):
                _later(member, module)


def _later(member: Any, names: dict[str, Any]) -> None:
    asked = getattr(member, "__annotate__", None)
    if asked:
        member.__annotate__ = _asked(asked, names)
        return
    texts = member.__dict__.get("__annotations__") if isinstance(member, type) else member.__annotations__
    if texts:
        member.__annotations__ = Hints(texts, names)
