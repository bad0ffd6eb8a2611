# SPDX-License-Identifier: Apache-2.0
"""The loop that programs of the reference hand to runs. Runs of libpdl need none: it is there for what else a program does with it."""
from __future__ import annotations

import asyncio
import threading
import weakref
from typing import Any, Optional

_LOOPS: "weakref.WeakSet[asyncio.AbstractEventLoop]" = weakref.WeakSet()
_COLORS = {"model": "green", "code": "magenta", "error": "red"}
_ROLE_COLORS = {"assistant": "green", "system": "cyan", "available_tools": "magenta"}


def create_event_loop_thread() -> asyncio.AbstractEventLoop:
    """A loop that runs in a thread of its own until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    _LOOPS.add(loop)
    return loop


def is_ours(loop: Any) -> bool:
    return loop in _LOOPS


def color_of(kind: Any) -> Optional[str]:
    return _COLORS.get(str(kind))


def color_of_role(role: str) -> Optional[str]:
    return _ROLE_COLORS.get(role)
