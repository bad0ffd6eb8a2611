# SPDX-License-Identifier: Apache-2.0
"""Programs, their runs and results."""
from __future__ import annotations

import asyncio
import codecs
import collections
import dataclasses
import json
import sys
import threading
from typing import (TYPE_CHECKING, Any, AsyncIterator, Callable, Generic, Iterable, Iterator, Mapping, Optional, Tuple, TypeVar, Union)

from . import _arguments, _errors, _pdl, _returns

if TYPE_CHECKING:
    from ._engine import Engine

T = TypeVar("T")
WAITING, DONE, FAILED = 0, 1, 2
MOST_JOBS = 1000
SLICE_MS = 50  # Ctrl-C is looked for this often
NONE, RESULT = 0, 1
EMPTY: dict[str, Any] = {"str": "", "int": 0}
Scope = Optional[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """Something that is wrong with a program."""

    message: str
    severity: str
    code: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    hint: str


class Result(Generic[T]):
    """What a run leaves."""

    def __init__(self, value: T, text: str, run: _pdl.Run, trace: Optional[dict[str, Any]]) -> None:
        self.value = value
        self.text = text
        self.usage = run.usage()
        self.score = run.score()
        self.trace = trace
        self._variables: Union[_pdl.Handle, dict[str, Any]] = run.variables()
        self._messages: Union[_pdl.Handle, list[dict[str, Any]]] = run.messages()

    @property
    def variables(self) -> dict[str, Any]:
        """What the program has defined, and what it was given; converted when it is first asked for."""
        if isinstance(self._variables, _pdl.Handle):
            variables: dict[str, Any] = self._variables.python()
            variables.pop("stdlib", None)
            self._variables = variables
        return self._variables

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The context at the end."""
        if isinstance(self._messages, _pdl.Handle):
            messages: list[dict[str, Any]] = self._messages.python()
            self._messages = messages
        return self._messages

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> Optional[str]:
        """For notebooks: the blocks of the run, if it has a trace."""
        if self.trace is None:
            return None
        from . import _html
        return _html.page(self.trace)

    def __repr__(self) -> str:
        return "<libpdl.Result %r>" % (self.value,)


class Job:
    """A run that is under way."""

    def __init__(self, program: "Program[Any]", inputs: dict[str, Any], output: int, trace: bool,
                 write: Optional[Callable[[str], object]] = None,
                 shown: Optional[Callable[[Tuple[str, str, bytes, int]], None]] = None) -> None:
        engine = program._engine
        self.core = engine._core()
        options = dict(engine._options)
        if options["record"] is not None:
            if engine._recorded:
                raise _errors.UsageError("record: %s has the first run of this engine; one engine records one run" % options["record"])
            engine._recorded = True
        self.program, self.trace = program, trace
        self.is_shared = engine._is_shared() and self.core is engine._cores[0]
        self.outcome: Union[None, Result[Any], BaseException] = None
        self.fatal: Optional[BaseException] = None  # Ctrl-C and the like, from a callback
        self.pieces: "collections.deque[str]" = collections.deque()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.error_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.write = write or self.pieces.append
        self.ended = False
        self.run = self.core.start(program._for(self.core), inputs, output, None if shown else self._text, self._error_text, None,
                                   self._done, trace=trace, shown=shown, **options)

    def _text(self, data: bytes) -> None:
        text = self.decoder.decode(data)
        if text:
            self.write(text)

    def _error_text(self, data: bytes) -> None:
        sys.stderr.write(self.error_decoder.decode(data))

    def _done(self, _: None) -> None:
        self.ended = True

    def cancel(self) -> None:
        if self.run.state() == WAITING:
            self.run.cancel()

    def advance(self, timeout_ms: int) -> bool:
        """Goes on for a while; has it ended?"""
        engine = self.program._engine
        try:
            if engine._awaited:
                from ._driver import drive
                drive(engine, self)
            self.run.wait(0 if engine._pumps else timeout_ms)
            if engine._fatal:
                fatal, engine._fatal = engine._fatal, None
                raise fatal
            engine._pump()
        except BaseException:
            self.cancel()
            raise
        return self.run.state() != WAITING

    def result(self) -> Result[Any]:
        """After the end, as often as one likes."""
        if self.outcome is None:
            try:
                self.outcome = self._take()
            except BaseException as e:
                self.outcome = e
            self.run.release()
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def _take(self) -> Result[Any]:
        run, program = self.run, self.program
        if self.fatal is not None:
            raise self.fatal
        error = run.error()
        trace = json.loads(run.trace()) if self.trace else None
        if error is not None:
            if isinstance(error, _errors.Error):
                error.trace = trace
            raise program._engine._explain(error)
        value = run.result()
        if program._returns is not None:
            value = _returns.fit(program._returns, value)
        return Result(value, run.result_text(), run, trace)


class Stream(Generic[T]):
    """Pieces of text of a run, as they come."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._result: Optional[Result[T]] = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._job.pieces:
            if self._result is not None:
                raise StopIteration
            if self._job.run.state() != WAITING or self._job.advance(SLICE_MS):
                if not self._job.pieces:
                    self._result = self._job.result()
        return self._job.pieces.popleft()

    def result(self) -> Result[T]:
        """Waits for the end. Pieces that nobody has taken can still be taken."""
        while self._job.run.state() == WAITING:
            self._job.advance(SLICE_MS)
        if self._result is None:
            self._result = self._job.result()
        return self._result

    def close(self) -> None:
        """Ends the run."""
        self._job.cancel()

    def __enter__(self) -> "Stream[T]":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class AsyncStream(Generic[T]):
    """Pieces of text of a run under asyncio, as they come."""

    def __init__(self, program: "Program[T]", inputs: dict[str, Any]) -> None:
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
            self._job = Job(self._program, self._inputs, RESULT, False)
            self._event = driver_of(self._program._engine, asyncio.get_running_loop()).add(self._job)
        return self._job

    async def _more(self, job: Job) -> bool:
        """Waits for text or the end; False at the end."""
        if job.run.state() != WAITING or self._event is None:
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
        """Waits for the end. Pieces that nobody has taken can still be taken."""
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


class Map(Generic[T]):
    """Results of the rows of map() and map_unordered()."""

    def __init__(self, program: "Program[Any]", rows: Iterator[Any], jobs: int, is_ordered: bool) -> None:
        from ._driver import Driver
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
            try:
                job = Job(self._program, self._program._inputs(row, {}), NONE, False, sys.stdout.write)
                self._driver.add(job)
                self._open[i] = job
            except _errors.RunError as e:
                self._open[i] = e

    def _ready(self) -> int:
        """The number of a row that has ended and is to be given; -1: none."""
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
        """Until a row is ready, on a loop of its own."""
        engine, outer = self._program._engine, asyncio._get_running_loop()
        before, engine._driver = engine._driver, self._driver
        asyncio._set_running_loop(None)
        try:
            self._driver.loop.run_until_complete(self._wait())
        finally:
            asyncio._set_running_loop(outer)
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
        from ._driver import finish
        if self._is_closed:
            return
        self._is_closed = True
        for job in self._open.values():
            if isinstance(job, Job):
                job.cancel()
        self._open.clear()
        outer = asyncio._get_running_loop()
        asyncio._set_running_loop(None)
        try:
            finish(self._driver)
        finally:
            asyncio._set_running_loop(outer)

    def __del__(self) -> None:
        if not self._driver.loop.is_closed():
            self.close()


class Program(Generic[T]):
    """A program that is loaded. It may be run many times."""

    _engine: "Engine"
    _path: Optional[str]
    _text: Optional[str]
    _name: Optional[str]
    _loaded: list[Tuple[_pdl.Engine, _pdl.Program]]
    _returns: Any

    def __init__(self) -> None:
        raise TypeError("programs come from libpdl.load, loads and from_dict")

    @classmethod
    def _made(cls, engine: "Engine", path: Optional[str], text: Optional[str], name: Optional[str], returns: Any) -> "Program[Any]":
        self = cls.__new__(cls)
        self._engine, self._path, self._text, self._name = engine, path, text, name
        self._loaded = []
        self._returns = returns
        if returns is not None:
            _returns.check(returns)
        try:
            self._for(engine._core())
        except _errors.Error as e:
            raise _errors.as_program_error(e) from None
        return self

    def _for(self, core: _pdl.Engine) -> _pdl.Program:
        for known, program in self._loaded:
            if known is core:
                return program
        if self._path is not None:
            program = core.load_file(self._path)
        else:
            program = core.load_text(self._text or "", self._name)
        self._loaded = [(k, p) for k, p in self._loaded if k in self._engine._cores] + [(core, program)]
        return program

    def _inputs(self, scope: Scope, variables: dict[str, Any]) -> dict[str, Any]:
        if scope is not None and not isinstance(scope, Mapping):
            raise _arguments.fail("scope", "a dict", scope)
        return {**self._engine.tools, **_arguments.dictionary("scope", dict(scope or {})), **variables}

    def run(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """Runs the program with these variables; what it prints goes to sys.stdout."""
        return self._run(scope, variables, False)

    def traced(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """The same, and the result has a trace."""
        return self._run(scope, variables, True)

    def _run(self, scope: Scope, variables: dict[str, Any], trace: bool) -> Result[T]:
        job = Job(self, self._inputs(scope, variables), NONE, trace, lambda text: sys.stdout.write(text))
        before, self._engine._running = self._engine._running, threading.get_ident()
        try:
            while not job.advance(SLICE_MS):
                pass
            return job.result()
        finally:
            self._engine._running = before

    def stream(self, scope: Scope = None, /, **variables: Any) -> Stream[T]:
        """Runs the program; gives the pieces of its text as they come."""
        return Stream(Job(self, self._inputs(scope, variables), RESULT, False))

    async def arun(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """run() under asyncio; cancelling the task that waits ends the run."""
        from ._driver import driver_of, ended
        inputs = self._inputs(scope, variables)
        async with self._engine._slot():
            job = Job(self, inputs, NONE, False, lambda text: sys.stdout.write(text))
            await ended(driver_of(self._engine, asyncio.get_running_loop()), job)
        return job.result()

    def astream(self, scope: Scope = None, /, **variables: Any) -> "AsyncStream[T]":
        """stream() under asyncio."""
        return AsyncStream(self, self._inputs(scope, variables))

    def map(self, rows: Iterable[Mapping[str, Any]], *, jobs: int = 64) -> "Map[Union[Result[T], _errors.Error]]":
        """Runs the program for each row of variables, several at a time. Results come in the order of the rows; that of a row
        that failed is its error."""
        return Map(self, _arguments.rows(rows), _arguments.count("jobs", jobs, MOST_JOBS), True)

    def map_unordered(self, rows: Iterable[Mapping[str, Any]], *,
                      jobs: int = 64) -> "Map[Tuple[int, Union[Result[T], _errors.Error]]]":
        """The same as they come: (number of the row, result or error)."""
        return Map(self, _arguments.rows(rows), _arguments.count("jobs", jobs, MOST_JOBS), False)

    def check(self) -> list[Diagnostic]:
        """What is wrong with the program, found without running it."""
        core = self._engine._core()
        found = core.check_file(self._path) if self._path is not None else core.check_text(self._text or "", self._name)
        return [Diagnostic(**{f.name: d.get(f.name, None) or EMPTY[str(f.type)] for f in dataclasses.fields(Diagnostic)}) for d in found]

    def explain(self, scope: Scope = None, /, **variables: Any) -> Any:
        raise NotImplementedError("explain() cannot be used yet; the command `pdl explain` tells the calls of a program")

    def as_tool(self) -> Any:
        raise NotImplementedError("as_tool() cannot be used yet")
