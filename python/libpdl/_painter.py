# SPDX-License-Identifier: Apache-2.0
"""Prints the output of a run in a notebook, with the colours of the command."""
from __future__ import annotations

import codecs
import os
import time
from typing import Any

FLUSH_SECONDS = 0.1  # maximum time that a flush waits for the thread that sends the text
LOOKS = {"model": "\033[32m", "code": "\033[35m", "": ""}
ROLES = {"assistant": "\033[32m", "system": "\033[36m", "available_tools": "\033[35m"}
ROLE, OFF = "\033[34m", "\033[0m"
# Untrusted text must not control the terminal: control characters become visible signs.
HARMLESS = {c: 0x2400 + c for c in range(32) if chr(c) not in "\n\t"} | {127: 0x2421} | {c: 0xFFFD for c in range(128, 160)}


class Painter:
    """Writes what a run shows to a stream."""

    def __init__(self, out: Any) -> None:
        self.out = out
        # this stream shows colours although it reports that it is not a terminal
        in_notebook = type(out).__module__.startswith("ipykernel.")
        self.has_color = "NO_COLOR" not in os.environ and (in_notebook or bool(getattr(out, "isatty", lambda: False)()))
        self.is_line_open = False
        self.flushed = 0.0
        self.decoders = {kind: codecs.getincrementaldecoder("utf-8")("replace") for kind in ("text", "out", "message")}

    def _put(self, text: str, color: str = "") -> None:
        if text:
            self.out.write(color + text + OFF if color and self.has_color else text)
            self.is_line_open = not text.endswith("\n")

    def show(self, what: tuple[str, str, bytes, int]) -> None:
        """Writes a piece. what: (text, out or message; the role of a message, or else the source: model, code or ""; the bytes; whether they are
        untrusted)"""
        kind, who, data, is_untrusted = what
        text = self.decoders[kind].decode(data)
        if is_untrusted:
            text = text.translate(HARMLESS)
        if kind == "message":
            role = who or "assistant"
            self.end_line()
            self._put(role.translate(HARMLESS), ROLE)
            self._put(": ")
            self._put(text, ROLES.get(role, ""))
        else:
            self._put(text, LOOKS.get(who, ""))
        self.flush()

    def flush(self) -> None:
        now = time.monotonic()
        if now - self.flushed >= FLUSH_SECONDS:
            self.flushed = now
            self.out.flush()

    def end_line(self) -> None:
        if self.is_line_open:
            self._put("\n")

    def end(self) -> None:
        self.end_line()
        self.out.flush()
