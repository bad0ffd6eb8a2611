# SPDX-License-Identifier: Apache-2.0
"""Runs programs under asyncio: the running loop watches one descriptor and one deadline of each engine."""
from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Iterator, Optional, Protocol

from . import _pdl
from ._pieces import plain

if TYPE_CHECKING:
    from ._engine import Engine
    from ._program import Job, Result


class Source(Protocol):
    def fd(self) -> int: ...
    def deadline_ms(self) -> int: ...


class Watch:
    """Watches a descriptor and a deadline on the loop."""

    def __init__(self, driver: "Driver", source: Source) -> None:
        self.driver, self.source = driver, source
        self.fd = -1
        self.timer: Optional[asyncio.TimerHandle] = None

    def arm(self) -> None:
        loop, fd = self.driver.loop, self.source.fd()
        if fd != self.fd:
            self.close()
            self.fd = fd
            if fd >= 0:
                loop.add_reader(fd, self.driver.step)
        if self.timer:
            self.timer.cancel()
        ms = self.source.deadline_ms()
        self.timer = loop.call_later(ms / 1000, self.driver.step) if ms >= 0 else None

    def close(self) -> None:
        if self.fd >= 0 and not self.driver.loop.is_closed():
            self.driver.loop.remove_reader(self.fd)
        self.fd = -1
        if self.timer:
            self.timer.cancel()
        self.timer = None


class Driver:
    """Steps the runs of an engine on a loop of asyncio, as long as a run is open."""

    def __init__(self, engine: "Engine", loop: asyncio.AbstractEventLoop) -> None:
        self.engine, self.loop = engine, loop
        self.open: dict["Job", asyncio.Event] = {}
        self.alone: set["Job"] = set()  # jobs with a separate loop
        self.moved: list["Job"] = []  # jobs that have ended or printed text since the last turn
        self.watches: dict[Any, Watch] = {}
        self.tasks: dict["asyncio.Task[None]", _pdl.Request] = {}
        self.is_soon = False
        self.turn: Optional["asyncio.Future[None]"] = None

    async def turned(self) -> None:
        """Waits until something may have changed."""
        self.turn = self.loop.create_future()
        await self.turn

    def add(self, job: "Job") -> asyncio.Event:
        """Steps this run from now on. Returns an event that is set when the run has ended, or has printed text."""
        event = self.open[job] = asyncio.Event()
        job.driver = self
        self.moved.append(job)  # the run may have ended already
        if not job.is_shared:
            self.alone.add(job)
        source: Source = job.core if job.is_shared else job.run
        if source not in self.watches:
            self.watches[source] = Watch(self, source)
        self.soon()
        return event

    def soon(self) -> None:
        if not self.is_soon:
            self.is_soon = True
            self.loop.call_soon(self.step)

    def step(self) -> None:
        self.is_soon = False
        core = self.engine._core()
        is_shared = len(self.alone) < len(self.open)
        if is_shared and core.is_inside():
            self.soon()  # a callback of this package is running another loop
            return
        for job in list(self.alone):
            job.run.wait(0)
        if is_shared:
            core.step(0)
        self.engine._pump()
        self._begin_awaited()
        self._settle()

    def _settle(self) -> None:
        fatal, self.engine._fatal = self.engine._fatal, None
        before = len(self.open)
        moved, self.moved = self.moved, []
        if fatal is not None:
            moved = list(self.open)
        for job in moved:
            event = self.open.get(job)
            if event is None:
                continue
            if fatal is not None and not job.is_over():
                job.fatal = fatal
                job.run.cancel()
            if job.is_over():
                del self.open[job]
                job.driver = None
                if not job.is_shared:
                    self.alone.discard(job)
                    self.watches.pop(job.run).close()
                event.set()
            elif job.pieces:
                event.set()
        if self.turn is not None and not self.turn.done():
            self.turn.set_result(None)
        if self.tasks and len(self.open) < before:
            self._cancel_unneeded()
        if self.engine._pumps:
            self.soon()
        if self.open:
            for watch in self.watches.values():
                watch.arm()
        else:
            self.close()

    def _begin_awaited(self) -> None:
        awaited, self.engine._awaited = self.engine._awaited, []
        for request, awaitable, context in awaited:
            task = context.run(self.loop.create_task, self._answer(request, awaitable))
            self.tasks[task] = request
            task.add_done_callback(self._forget)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self.tasks.pop(task, None)

    def _cancel_unneeded(self) -> None:
        """Cancels the coroutines that answer requests of cancelled runs."""
        for task, request in list(self.tasks.items()):
            if request.is_cancelled():
                task.cancel()

    async def _answer(self, request: _pdl.Request, awaitable: Awaitable[Any]) -> None:
        try:
            result = plain(await awaitable)
            if not request.is_answered():
                request.answer(result)
        except asyncio.CancelledError:
            request.refuse("interrupt", "cancelled")
        except BaseException as e:
            self.engine._fail(request, e)
        self.soon()

    def close(self) -> None:
        for watch in self.watches.values():
            watch.close()
        self.watches.clear()
        for task in list(self.tasks):
            task.cancel()
        if self.engine._driver is self:
            self.engine._driver = None


def driver_of(engine: "Engine", loop: asyncio.AbstractEventLoop) -> Driver:
    driver = engine._driver
    if driver is None or driver.loop is not loop:
        driver = engine._driver = Driver(engine, loop)
    return driver


async def wait_for(engine: "Engine", begin: Callable[[Context], "Job"]) -> "Result[Any]":
    """Waits until the run may begin, runs it, and returns its result."""
    async with engine._slot():
        job = begin(copy_context())
        await ended(driver_of(engine, asyncio.get_running_loop()), job)
    return job.result()


async def ended(driver: Driver, job: "Job") -> None:
    """Waits for the end of the run. When the waiting task is cancelled, the run is cancelled, too."""
    event = driver.add(job)
    try:
        while not job.is_over() or job in driver.open:
            await event.wait()
            event.clear()
    except BaseException:
        job.cancel()
        driver.soon()
        raise


def finish(driver: Driver) -> None:
    """Ends a loop of this package, and everything that is open on it."""
    driver.close()
    if driver.tasks:
        driver.loop.run_until_complete(asyncio.gather(*driver.tasks, return_exceptions=True))
    driver.loop.run_until_complete(driver.loop.shutdown_asyncgens())
    driver.loop.close()


@contextmanager
def apart() -> Iterator[None]:
    """Pauses the caller's loop and its current task, so that a loop of this package can run in this thread. From Python 3.14 on, a thread must leave
    one task before it can run another task."""
    outer = asyncio._get_running_loop()
    task = asyncio.current_task(outer) if outer else None
    if outer and task:
        asyncio.tasks._leave_task(outer, task)
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(outer)
        if outer and task:
            asyncio.tasks._enter_task(outer, task)


def drive(engine: "Engine", job: "Job") -> None:
    """Steps a run that waits for coroutines, for a caller that has no loop."""
    before = engine._driver
    loop = asyncio.new_event_loop()
    with apart():
        try:
            driver = engine._driver = Driver(engine, loop)
            loop.run_until_complete(ended(driver, job))
            driver.close()
        finally:
            engine._driver = before
            finish(driver)
