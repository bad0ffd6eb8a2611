# SPDX-License-Identifier: Apache-2.0
"""Values that the reference computes when they are read. Here all values exist already, so these classes only wait for
futures."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Callable, Generic, Iterator, TypeVar

T = TypeVar("T")


def _now(value: Any) -> Any:
    while isinstance(value, (Future, PdlLazy)):
        value = value.result()
    return value


class PdlLazy(Generic[T]):
    _data: Any

    @property
    def data(self) -> Any:
        return self._data

    def result(self) -> T:
        value: T = _now(self.data)
        return value

    def __repr__(self) -> str:
        return repr(self.result())


class PdlConst(PdlLazy[T]):
    def __init__(self, data: Any) -> None:
        self._data = data


class _Held(PdlConst[T]):
    """A list or a dict, or a lazy value whose result is one."""

    _form: type

    @property
    def data(self) -> Any:
        while not isinstance(self._data, self._form):
            self._data = self._data.data if isinstance(self._data, PdlLazy) else _now(self._data)
        return self._data


class PdlList(Sequence, _Held[list]):  # type: ignore[type-arg]
    _form = list

    def __getitem__(self, index: Any) -> Any:
        return PdlList(self.data[index]) if isinstance(index, slice) else _now(self.data[index])

    def __len__(self) -> int:
        return len(self.data)

    def __add__(self, other: Any) -> "PdlList":
        return PdlList(self.data + (other.data if isinstance(other, PdlList) else other))

    def result(self) -> list:  # type: ignore[type-arg]
        return list(self)


class PdlDict(Mapping, _Held[dict]):  # type: ignore[type-arg]
    _form = Mapping

    def __getitem__(self, key: Any) -> Any:
        return _now(self.data[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __or__(self, other: Any) -> "PdlDict":
        while isinstance(other, PdlLazy):
            other = other.data
        return PdlDict(dict(self.data) | dict(other))

    def result(self) -> dict:  # type: ignore[type-arg]
        return dict(self)


class PdlApply(PdlLazy[T]):
    def __init__(self, f: Callable[..., T], *x: Any) -> None:
        self._data = f(*map(_now, x))


def lazy_apply(f: Callable[[Any], T], x: PdlLazy[Any]) -> PdlLazy[T]:
    return PdlApply(f, x)
