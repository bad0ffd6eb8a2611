# SPDX-License-Identifier: Apache-2.0
"""Answers of models in Python, whole or in pieces.

A model is a function of the user's, often one line over a library with another interface: OpenAI's client, LiteLLM,
llama.cpp. The result of such a library is accepted unchanged: a chat completion (a dict, or an object with
`model_dump`), or a stream of texts or of chunks of a chat completion. The pieces of a stream are joined to the answer
that the library would have given at once.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextvars import Context
    from typing import Any, AsyncIterator, Iterable, Iterator, Optional, Union

    from . import _pdl


def plain(answer: Any) -> Any:
    """Returns an object of another library as a dict, by pydantic's `model_dump`; any other value is unchanged."""
    dump = getattr(answer, "model_dump", None)
    return dump() if callable(dump) and not isinstance(answer, type) else answer


async def slowly(pieces: Iterable[Any]) -> AsyncIterator[Any]:
    """Yields pieces that exist already. Between them, the loop may run other tasks."""
    import asyncio
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


class Pump:
    """A model that answers in pieces. One piece is read between two steps of the runs."""

    def __init__(self, request: _pdl.Request, pieces: Iterator[Any]) -> None:
        self.request, self.pieces = request, pieces
        self.context: Optional[Context] = None  # context variables of the asyncio task that began the run
        self.received: list[str] = []
        self.calls: dict[int, dict[str, Any]] = {}  # tool calls by their number in the answer
        self.fields: dict[str, Any] = {}  # finish_reason, usage and similar members; the last value of each member counts

    def take(self, piece: Any) -> None:
        if not isinstance(piece, (str, dict)):
            piece = plain(piece)
        if isinstance(piece, str):
            self._text(piece)
        elif isinstance(piece, dict) and isinstance(piece.get("choices"), list):
            self._chunk(piece)
        elif isinstance(piece, dict):
            self._delta(piece)
            self._keep(piece, "finish_reason", "usage")
        else:
            raise TypeError("a model gave a piece of type %s, not text or a chunk of a chat completion" % type(piece).__name__)

    def answer(self) -> Union[str, dict[str, Any]]:
        """Returns the answer that the pieces form together."""
        text = "".join(self.received)
        if not self.calls and not self.fields:
            return text
        answer: dict[str, Any] = {"content": text, **self.fields}
        if self.calls:
            answer["tool_calls"] = [self.calls[i] for i in sorted(self.calls)]
        return answer

    def next(self) -> Any:
        return next(self.pieces) if self.context is None else self.context.run(next, self.pieces)

    def close(self) -> None:
        close = getattr(self.pieces, "close", None)
        if close:
            close()

    def _text(self, text: str) -> None:
        if text:
            self.request.piece(text)
            self.received.append(text)

    def _keep(self, source: dict[str, Any], *names: str) -> None:
        for name in names:
            if source.get(name) is not None:
                self.fields[name] = source[name]

    def _chunk(self, chunk: dict[str, Any]) -> None:
        self._keep(chunk, "usage")
        for choice in chunk["choices"][:1]:
            if not isinstance(choice, dict):
                raise TypeError("a chunk of a model has a choice of type %s, not a dict" % type(choice).__name__)
            self._keep(choice, "finish_reason")
            delta = choice.get("delta") or choice.get("message") or choice
            if isinstance(delta, dict):
                self._delta(delta)

    def _delta(self, delta: dict[str, Any]) -> None:
        text = delta.get("content")
        if text is None:
            text = delta.get("text")
        if isinstance(text, str):
            self._text(text)
        for name in ("reasoning_content", "refusal"):
            if isinstance(delta.get(name), str):
                self.fields[name] = self.fields.get(name, "") + delta[name]
        for place, part in enumerate(delta.get("tool_calls") or []):
            self._call(part, place)

    def _call(self, part: Any, place: int) -> None:
        """Adds a part of a tool call to the earlier parts: its name and its arguments arrive in pieces."""
        if not isinstance(part, dict):
            raise TypeError("a chunk of a model has a tool call of type %s, not a dict" % type(part).__name__)
        index: Optional[int] = part.get("index")
        call = self.calls.setdefault(place if index is None else index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
        if part.get("id"):
            call["id"] = part["id"]
        for name, value in (part.get("function") or {}).items():
            if isinstance(value, str):
                call["function"][name] = call["function"].get(name, "") + value
            elif value is not None:
                call["function"][name] = value
