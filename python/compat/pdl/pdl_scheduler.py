# SPDX-License-Identifier: Apache-2.0
"""The loop that programs of the reference hand to runs. Runs of libpdl need none: it exists for other uses by a program."""
from __future__ import annotations

import asyncio
import threading
import weakref

LOOPS: "weakref.WeakSet[asyncio.AbstractEventLoop]" = weakref.WeakSet()


def create_event_loop_thread() -> asyncio.AbstractEventLoop:
    """A loop that runs in its own thread until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    LOOPS.add(loop)
    return loop
