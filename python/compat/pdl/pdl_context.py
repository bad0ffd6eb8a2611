# SPDX-License-Identifier: Apache-2.0
"""Contexts: messages in order, with parts that are independent of each other."""
from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from .pdl_lazy import PdlConst, PdlLazy, PdlList


class SerializeMode(str, Enum):
    LITELLM = "litellm"
    GRANITEIO = "graniteio"

    def __str__(self) -> str:
        return self.value


class PDLContext(Sequence):  # type: ignore[type-arg]
    def serialize(self, mode: SerializeMode) -> list[dict[str, Any]]:
        """Returns the messages. With GRANITEIO, an independent part is one entry {independent: messages}."""
        raise NotImplementedError

    def __add__(self, value: "PDLContext") -> "PDLContext":
        return IndependentContext([self, value])

    def __mul__(self, value: "PDLContext") -> "PDLContext":
        return DependentContext([self, value])

    def __getitem__(self, index: Any) -> Any:
        return self.serialize(SerializeMode.LITELLM)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PDLContext) and \
            self.serialize(SerializeMode.GRANITEIO) == other.serialize(SerializeMode.GRANITEIO)

    __hash__ = None  # type: ignore[assignment]


class SingletonContext(PDLContext):
    """One message."""

    def __init__(self, message: Any) -> None:
        self.message = message if isinstance(message, PdlLazy) else PdlConst(message)

    def serialize(self, mode: SerializeMode) -> list[dict[str, Any]]:
        return [self.message.result()]

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return repr(self.message.result())


class _Several(PDLContext):
    _brackets = "[]"

    def __init__(self, context: list[Any]) -> None:
        parts: list[PDLContext] = []
        for item in context:
            if type(item) is type(self):
                parts += item.context.data
            elif isinstance(item, PDLContext):
                parts += [item] if len(item) else []
            elif isinstance(item, dict):
                parts.append(SingletonContext(item))
            else:
                raise TypeError("a context holds contexts and messages, not a %s" % type(item).__name__)
        self.context: Any = PdlList(parts)

    def serialize(self, mode: SerializeMode) -> list[dict[str, Any]]:
        return [message for part in self.context.result() for message in part.serialize(mode)]

    def __len__(self) -> int:
        return len(self.context.result())

    def __repr__(self) -> str:
        return self._brackets[0] + ",".join(map(repr, self.context.result())) + self._brackets[1]


class IndependentContext(_Several):
    """Parts that do not see each other."""

    _brackets = "{}"

    def serialize(self, mode: SerializeMode) -> list[dict[str, Any]]:
        messages = super().serialize(mode)
        return [{"independent": messages}] if mode == SerializeMode.GRANITEIO else messages


class DependentContext(_Several):
    """Parts that each see the parts before them."""


def ensure_context(context: Any) -> PDLContext:
    if isinstance(context, PDLContext):
        return context
    if isinstance(context, dict):
        return SingletonContext(context)
    if isinstance(context, list):
        return DependentContext([ensure_context(part) for part in context])
    raise TypeError("'%s' object is not a valid context" % type(context))


def deserialize(context: list[Any]) -> DependentContext:
    return DependentContext(list(context))
