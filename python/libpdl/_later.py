# SPDX-License-Identifier: Apache-2.0
"""Streams under asyncio, and many runs at a time."""
from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any, AsyncIterator, Iterator, Optional, Union

from . import _arguments, _errors
from ._program import NONE, RESULT, Job, Of, Program, Result, T, _print


class AsyncStream(Of[T]):
    """The pieces of text of a run under asyncio, as they arrive."""

    def __init__(self, program: "Program[T]", inputs: dict[str, Any]) -> None:
        if not isinstance(program, Program):
            raise TypeError("streams come from the methods of programs")
        self._program, self._inputs = program, inputs
        self._job: Optional[Job] = None
        self._event: Optional[asyncio.Event] = None
        self._result: Optional[Result[T]] = None
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    def _begin(self) -> Job:
        from ._driver import driver_of
        if self._job is None:
            self._job = Job(self._program, self._inputs, RESULT, False, context=copy_context())
            self._event = driver_of(self._program._engine, asyncio.get_running_loop()).add(self._job)
        return self._job

    async def _more(self, job: Job) -> bool:
        """Waits for text or for the end. Returns False at the end."""
        if job.is_over() or self._event is None:
            return False
        try:
            await self._event.wait()
        except BaseException:
            await self.aclose()
            raise
        self._event.clear()
        return True

    async def __anext__(self) -> str:
        if self._is_closed:
            raise StopAsyncIteration
        job = self._begin()
        while not job.pieces:
            if not await self._more(job) and not job.pieces:
                self._result = self._result or job.result()
                raise StopAsyncIteration
        return job.pieces.popleft()

    async def result(self) -> Result[T]:
        """Waits for the end of the run. Pieces that were not read yet can still be read."""
        job = self._begin()
        while await self._more(job):
            pass
        self._result = self._result or job.result()
        return self._result

    async def aclose(self) -> None:
        """Ends the run."""
        self._is_closed = True
        if self._job is not None:
            self._job.cancel()
            if self._program._engine._driver:
                self._program._engine._driver.soon()

    async def __aenter__(self) -> "AsyncStream[T]":
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.aclose()


class Map(Of[T]):
    """The results of rows, for map() and map_unordered()."""

    def __init__(self, program: "Program[Any]", rows: Iterator[Any], jobs: int, is_ordered: bool) -> None:
        from ._driver import Driver
        if not isinstance(program, Program):
            raise TypeError("maps come from the methods of programs")
        self._program, self._rows, self._jobs, self._is_ordered = program, enumerate(rows), jobs, is_ordered
        self._driver = Driver(program._engine, asyncio.new_event_loop())
        self._open: dict[int, Union[Job, _errors.Error]] = {}
        self._is_closed = False

    def __iter__(self) -> Iterator[T]:
        return self

    def _fill(self) -> None:
        while len(self._open) < self._jobs:
            i, row = next(self._rows, (-1, None))
            if i < 0:
                return
            if not isinstance(row, Mapping):
                raise _arguments.fail("rows[%d]" % i, "a dict", row)
            _arguments.dictionary("rows[%d]" % i, dict(row))
            try:
                job = Job(self._program, self._program._inputs(row, {}), NONE, False, _print)
                self._driver.add(job)
                self._open[i] = job
            except _errors.RunError as e:
                self._open[i] = e

    def _ready(self) -> int:
        """Returns the number of the next row that has ended and can be returned. Returns -1 when there is no such row."""
        for i, job in self._open.items():
            if not isinstance(job, Job) or job not in self._driver.open:
                return i
            if self._is_ordered:
                return -1
        return -1

    async def _wait(self) -> None:
        while self._ready() < 0:
            await self._driver.turned()

    def _turn(self) -> None:
        """Waits on a separate loop until a row is ready."""
        from ._driver import apart
        engine = self._program._engine
        before, engine._driver = engine._driver, self._driver
        self._driver.soon()
        try:
            with apart():
                self._driver.loop.run_until_complete(self._wait())
        finally:
            engine._driver = before

    def __next__(self) -> T:
        if self._is_closed:
            raise StopIteration
        try:
            self._fill()
            if not self._open:
                self.close()
                raise StopIteration
            if self._ready() < 0:
                self._turn()
        except BaseException:
            self.close()
            raise
        i = self._ready()
        row = self._open.pop(i)
        result: Any = row
        if isinstance(row, Job):
            try:
                result = row.result()
            except _errors.Error as e:
                result = e
        return result if self._is_ordered else (i, result)  # type: ignore[return-value]

    def close(self) -> None:
        """Ends the runs that are open."""
        from ._driver import apart, finish
        if self._is_closed:
            return
        self._is_closed = True
        for job in self._open.values():
            if isinstance(job, Job):
                job.cancel()
        self._open.clear()
        with apart():
            finish(self._driver)

    def __del__(self) -> None:
        if hasattr(self, "_is_closed") and not self._driver.loop.is_closed():
            self.close()
