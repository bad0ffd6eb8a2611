# SPDX-License-Identifier: Apache-2.0
"""The event loop that programs of the reference pass to runs. Runs of libpdl do not need it; it exists because a
program may use it for other work."""
from __future__ import annotations

import asyncio
import threading
import weakref

LOOPS: "weakref.WeakSet[asyncio.AbstractEventLoop]" = weakref.WeakSet()


def create_event_loop_thread() -> asyncio.AbstractEventLoop:
    """Returns a loop that runs in a separate thread until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    LOOPS.add(loop)
    return loop
