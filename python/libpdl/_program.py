# SPDX-License-Identifier: Apache-2.0
"""Programs, their runs and results."""
from __future__ import annotations

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
SLICE_MS = 50  # Ctrl-C is looked for this often
NONE, RESULT = 0, 1
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
        self._run = run
        self._variables: Optional[dict[str, Any]] = None
        self._messages: Optional[list[dict[str, Any]]] = None

    @property
    def variables(self) -> dict[str, Any]:
        """What the program has defined, and what it was given; converted when it is first asked for."""
        if self._variables is None:
            self._variables = self._run.variables()
            self._variables.pop("stdlib", None)
        return self._variables

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The context at the end."""
        if self._messages is None:
            self._messages = self._run.messages()
        return self._messages

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "<libpdl.Result %r>" % (self.value,)


class Job:
    """A run that is under way."""

    def __init__(self, program: "Program[Any]", inputs: dict[str, Any], output: int, trace: bool,
                 write: Optional[Callable[[str], object]] = None) -> None:
        engine = program._engine
        self.core = engine._core()
        options = dict(engine._options)
        if options["record"] is not None:
            if engine._recorded:
                raise _errors.UsageError("record: %s has the first run of this engine; one engine records one run" % options["record"])
            engine._recorded = True
        self.program, self.trace = program, trace
        self.pieces: "collections.deque[str]" = collections.deque()
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.error_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.write = write or self.pieces.append
        self.ended = False
        self.run = self.core.start(program._for(self.core), inputs, output, self._text, self._error_text, None, self._done,
                                   trace=trace, **options)

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
        run, program = self.run, self.program
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


class Program(Generic[T]):
    """A program that is loaded. It may be run many times."""

    _engine: "Engine"

    def __init__(self) -> None:
        raise TypeError("programs come from libpdl.load, loads and from_dict")

    @classmethod
    def _made(cls, engine: "Engine", path: Optional[str], text: Optional[str], name: Optional[str], returns: Any) -> "Program[Any]":
        self = cls.__new__(cls)
        self._engine, self._path, self._text, self._name = engine, path, text, name
        self._loaded: list[Tuple[_pdl.Engine, _pdl.Program]] = []
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

    def check(self) -> list[Diagnostic]:
        """What is wrong with the program, found without running it."""
        core = self._engine._core()
        found = core.check_file(self._path) if self._path is not None else core.check_text(self._text or "", self._name)
        return [Diagnostic(**{f.name: d.get(f.name) or ("" if f.type == "str" else 0) for f in dataclasses.fields(Diagnostic)})
                for d in found]

    def explain(self, scope: Scope = None, /, **variables: Any) -> Any:
        raise NotImplementedError("explain() cannot be used yet; the command `pdl explain` tells the calls of a program")

    def as_tool(self) -> Any:
        raise NotImplementedError("as_tool() cannot be used yet")
