# SPDX-License-Identifier: Apache-2.0
"""Programs, their runs and results."""
from __future__ import annotations

import sys
from _thread import get_ident
from collections import deque
from collections.abc import Mapping, Sequence

from . import _arguments, _errors, _pdl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Generic, TypeVar

    from ._names import Any, AsyncStream, Callable, Context, Driver, Engine, Iterable, Iterator, Map, Optional, Scope, Tool, Tuple, Union
    T = TypeVar("T")

    class Of(Generic[T]):
        """The base of classes with a type parameter, such as Result[T]."""
else:
    class Of:
        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    T = None

WAITING, DONE, FAILED = 0, 1, 2
MAX_JOBS = 100000
SLICE_MS = 50  # time between two checks for Ctrl-C
NONE, RESULT = 0, 1
NO_TRACE, SHORT_TRACE, WHOLE_TRACE = 0, 1, 2


class Diagnostic:
    """A problem of a program."""

    __slots__ = ("message", "severity", "code", "file", "line", "column", "end_line", "end_column", "hint", "path")

    def __init__(self, message: str, severity: str, code: str, file: str, line: int, column: int, end_line: int, end_column: int,
                 hint: str, path: str = "") -> None:
        self.message, self.severity, self.code, self.file, self.hint = message, severity, code, file, hint
        self.path = path
        self.line, self.column, self.end_line, self.end_column = line, column, end_line, end_column

    def __repr__(self) -> str:
        return "Diagnostic(%s)" % ", ".join("%s=%r" % (k, getattr(self, k)) for k in self.__slots__)

    def __str__(self) -> str:
        if self.path:
            return "%s: %s: %s" % (self.path, self.severity, self.message)
        return "%s:%d:%d: %s: %s" % (self.file or "line", self.line, self.column, self.severity, self.message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Diagnostic) and all(getattr(self, k) == getattr(other, k) for k in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


class Result(Of[T]):
    """The result of a run, with its variables, context, trace and usage."""

    def __init__(self, value: T, text: str, run: _pdl.Run, trace: Optional[dict[str, Any]], has_handles: bool = False) -> None:
        """has_handles: variables and messages stay values of the library until they are used, even if they have objects of Python."""
        if not isinstance(run, _pdl.Run):
            raise TypeError("results come from the methods of programs")
        self.value = value
        self.text = text
        self.usage = run.usage()
        self.score = run.score()
        self.trace = trace
        self._variables: Union[_pdl.Handle, dict[str, Any]] = run.variables()
        self._messages: Union[_pdl.Handle, list[dict[str, Any]]] = run.messages()
        if run.has_objects() and not has_handles:
            # a result that is kept in an object that the run has got, as in `self.last = program.run(search=self.search)`, must not keep that object
            self.variables, self.messages  # noqa: B018

    @property
    def variables(self) -> dict[str, Any]:
        """The variables that the program defined or was given. They are converted when they are first used."""
        if isinstance(self._variables, _pdl.Handle):
            variables: dict[str, Any] = self._variables.python("stdlib")
            self._variables = variables
        return self._variables

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The context at the end."""
        if isinstance(self._messages, _pdl.Handle):
            messages: list[dict[str, Any]] = self._messages.python()
            self._messages = messages
        return self._messages

    def __getstate__(self) -> dict[str, Any]:
        """Called for copies and for other processes. Functions of a program cannot leave their process."""
        return {**vars(self), "_variables": self.variables, "_messages": self.messages}

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> Optional[str]:
        """Called by notebooks: returns the page of the run, if the run has a trace."""
        if self.trace is None:
            return None
        from . import _page
        return _page.frame(self.trace)

    def __repr__(self) -> str:
        return "<libpdl.Result %r>" % (self.value,)


def _print(text: str) -> None:
    sys.stdout.write(text)


def _print_error(text: str) -> None:
    sys.stderr.write(text)


def _about_variable(core: _pdl.Engine, inputs: Any, error: _errors.Error) -> _errors.Error:
    """Adds the name of the variable to the error of a value that cannot be converted."""
    for name, value in inputs.items() if isinstance(inputs, dict) and not error.line else ():
        try:
            core.to_yaml(value)
        except _errors.Error as e:
            if e.message == error.message:
                error.message = "%s: %s" % (name, e.message)
                error.args = (error.message,)
                break
    return error


class Job:
    """A run in progress, of a program or of one of its functions."""

    is_open = False  # counted by the engine: the result was not taken yet

    def __init__(self, program: "Union[Program[Any], Function]", inputs: Any, output: int, trace: int,
                 write: Optional[Callable[[str], object]] = None,
                 shown: Optional[Callable[[Tuple[str, str, bytes, int]], object]] = None, context: "Optional[Context]" = None,
                 **more: Any) -> None:
        """more: options of this run in addition to those of the engine (policies, sandbox)."""
        engine = self.engine = program._engine
        self.core = core = engine._core()
        options = engine._options
        if options["record"] is not None:
            if engine._recorded:
                raise _errors.UsageError("record: %s has the first run of this engine; one engine records one run" % options["record"])
            engine._recorded = True
        self.program, self.trace = program, trace
        self.inputs = inputs if trace else None  # for the origins of the trace
        # a run that is started inside of a callback of this package has a separate loop
        self.is_shared = not core.is_inside()
        self.outcome: Union[None, Result[Any], BaseException] = None
        self.fatal: Optional[BaseException] = None  # Ctrl-C or a similar exception of a callback
        self.has_handles = False  # see Result
        self.pieces: "deque[str]" = deque()
        self.driver: Optional["Driver"] = None
        text = None if shown else write or self._piece
        what = program._for(core)
        try:
            self.run = core.start(what, inputs, output, text, _print_error, None, self._done, trace=trace, shown=shown,
                                  alone=not self.is_shared, context=context, **options, **more)
        except _errors.Error as e:
            raise engine._blame(_about_variable(core, inputs, e))
        engine._n_open += 1
        self.is_open = True

    def __del__(self) -> None:
        if self.is_open:
            self.engine._ended()

    def _piece(self, text: str) -> None:
        self.pieces.append(text)
        self._done(None)

    def _done(self, _: None) -> None:
        """Notifies the driver of this run."""
        if self.driver is not None:
            self.driver.moved.append(self)

    def cancel(self) -> None:
        if self.outcome is None and self.run.state() == WAITING:
            self.run.cancel()

    def advance(self, timeout_ms: int) -> bool:
        """Steps the run for a while. Returns true when it has ended."""
        engine, run = self.engine, self.run
        try:
            if engine._awaited:
                from ._driver import drive
                drive(engine, self)
            state = run.wait(0 if engine._pumps else timeout_ms)
            if engine._fatal:
                fatal, engine._fatal = engine._fatal, None
                raise fatal
            if engine._pumps:
                engine._pump()
        except BaseException:
            self.cancel()
            raise
        return state != WAITING or run.state() != WAITING

    def finish(self) -> Result[Any]:
        """Continues to the end, in this thread."""
        engine = self.engine
        before, engine._running = engine._running, get_ident()
        try:
            while not self.advance(SLICE_MS):
                pass
            return self.result()
        finally:
            engine._running = before

    def is_over(self) -> bool:
        return self.outcome is not None or self.run.state() != WAITING

    def result(self) -> Result[Any]:
        """Returns the result after the end of the run; may be called several times."""
        if self.outcome is None:
            try:
                self.outcome = self._take()
            except BaseException as e:
                self.outcome = e
            self.run.release()
            self.is_open = False
            self.engine._ended()
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    def _take(self) -> Result[Any]:
        run = self.run
        if self.fatal is not None:
            raise self.fatal
        error = run.error()
        trace = None
        if self.trace:
            import json
            written = run.trace()
            trace = json.loads(written)
            self.core.derive(trace, [written, self.inputs])
        if error is not None:
            if isinstance(error, _errors.Error):
                error.trace = trace
            raise self.engine._explain(error)
        value = run.result()
        if self.program._returns is not None:
            from . import _returns
            value = _returns.fit(self.program._returns, value)
        try:
            text = run.result_text()
        except _errors.Error as e:  # an object of Python has no text
            raise self.engine._explain(e)
        return Result(value, text, run, trace, self.has_handles or isinstance(self.program, Function))


class Stream(Of[T]):
    """The pieces of text of a run, as they arrive."""

    def __init__(self, job: Job) -> None:
        if not isinstance(job, Job):
            raise TypeError("streams come from the methods of programs")
        self._job = job
        self._result: Optional[Result[T]] = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._job.pieces:
            if self._result is not None:
                raise StopIteration
            if self._job.is_over() or self._job.advance(SLICE_MS):
                if not self._job.pieces:
                    self._result = self._job.result()
        return self._job.pieces.popleft()

    def result(self) -> Result[T]:
        """Waits for the end of the run. Pieces that were not read yet can still be read."""
        while not self._job.is_over():
            self._job.advance(SLICE_MS)
        if self._result is None:
            self._result = self._job.result()
        return self._result

    def close(self) -> None:
        """Ends the run."""
        self._job.cancel()
        self._job.engine._close_unneeded()

    def __enter__(self) -> "Stream[T]":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()


class Program(Of[T]):
    """A loaded program, which may be run many times."""

    _engine: "Engine"
    _path: Optional[str]
    _text: Optional[str]
    _name: Optional[str]
    _loaded: list[tuple[_pdl.Engine, _pdl.Program]]
    _returns: Any

    def __init__(self) -> None:
        raise TypeError("programs come from libpdl.load, loads and from_dict")

    @classmethod
    def _made(cls, engine: "Engine", path: Optional[str], text: Optional[str], name: Optional[str], returns: Any,
              loaded: Sequence[tuple[_pdl.Engine, _pdl.Program]] = ()) -> "Program[Any]":
        self = cls.__new__(cls)
        self._engine, self._path, self._text, self._name = engine, path, text, name
        self._loaded = list(loaded)
        self._returns = returns
        if returns is not None:
            from . import _returns
            _returns.check(returns)
        try:
            self._for(engine._core())
        except _errors.Error as e:
            raise _errors.as_program_error(e) from None
        return self

    @classmethod
    def _of_tree(cls, engine: "Engine", tree: Any, name: Optional[str], returns: Any) -> "Program[Any]":
        core = engine._core()
        try:
            loaded = core.load_value(tree, name)
        except _errors.Error as e:
            if isinstance(e, _errors.UsageError):
                raise TypeError("program: " + e.message.replace("pdl_load_value: ", "")) from None
            raise _errors.as_program_error(e) from None
        self = cls._made(engine, None, loaded.text(), name, returns, [(core, loaded)])
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Called for copies and for other processes, which read the program again."""
        return {**vars(self), "_loaded": []}

    def _for(self, core: _pdl.Engine) -> _pdl.Program:
        for known, program in self._loaded:
            if known is core:
                return program
        if self._path is not None:
            program = core.load_file(self._path)
        else:
            program = core.load_text(self._text or "", self._name)
        if "policy" in program.text():
            core.track()
        self._loaded = [(k, p) for k, p in self._loaded if k in self._engine._cores] + [(core, program)]
        return program

    def _inputs(self, scope: Scope, variables: dict[str, Any]) -> dict[str, Any]:
        if scope is not None and not isinstance(scope, Mapping):
            raise _arguments.fail("scope", "a dict", scope)
        return {**self._engine.tools, **_arguments.dictionary("scope", dict(scope or {})), **variables}

    def run(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """Runs the program with these variables. The output of the program goes to sys.stdout."""
        return self._run(scope, variables, NO_TRACE)

    def traced(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """Runs the program with these variables. The result has a trace."""
        return self._run(scope, variables, SHORT_TRACE)

    def traced_whole(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """Runs the program with a trace. The trace has whole lists of messages, and only those members that the reference interpreter writes."""
        return self._run(scope, variables, WHOLE_TRACE)

    def _run(self, scope: Scope, variables: dict[str, Any], trace: int) -> Result[T]:
        return Job(self, self._inputs(scope, variables), NONE, trace, _print).finish()

    def stream(self, scope: Scope = None, /, **variables: Any) -> Stream[T]:
        """Runs the program and yields the pieces of its text as they arrive."""
        return Stream(Job(self, self._inputs(scope, variables), RESULT, NO_TRACE))

    async def arun(self, scope: Scope = None, /, **variables: Any) -> Result[T]:
        """Does the same as run() under asyncio. When the waiting task is cancelled, the run ends."""
        from ._driver import wait_for
        inputs = self._inputs(scope, variables)
        result: Result[T] = await wait_for(self._engine, lambda context: Job(self, inputs, NONE, NO_TRACE, _print, None, context))
        return result

    def astream(self, scope: Scope = None, /, **variables: Any) -> "AsyncStream[T]":
        """Does the same as stream() under asyncio."""
        from ._later import AsyncStream
        return AsyncStream(self, self._inputs(scope, variables))

    def map(self, rows: Iterable[Mapping[str, Any]], *, jobs: int = 64) -> "Map[Union[Result[T], _errors.Error]]":
        """Runs the program for each row of variables, several at a time. Results are in the order of the rows; the result of a row
        that failed is its error."""
        from ._later import Map
        return Map(self, _arguments.rows(rows), _arguments.count("jobs", jobs, MAX_JOBS), True)

    def map_unordered(self, rows: Iterable[Mapping[str, Any]], *,
                      jobs: int = 64) -> "Map[tuple[int, Union[Result[T], _errors.Error]]]":
        """Runs the program for each row and yields results as they arrive: (number of the row, result or error)."""
        from ._later import Map
        return Map(self, _arguments.rows(rows), _arguments.count("jobs", jobs, MAX_JOBS), False)

    def check(self) -> list[Diagnostic]:
        """Returns the problems of the program, found without running it."""
        core = self._engine._core()
        found = core.check_file(self._path) if self._path is not None else core.check_program(self._for(core))
        return [Diagnostic(**{k: d[k] for k in Diagnostic.__slots__ if k in d}) for d in found]

    def explain(self, scope: Scope = None, /, **variables: Any) -> "Calls":
        """Returns the calls that the program would send to models, without sending them. Code and commands do not run
        either."""
        core, inputs = self._engine._core(), self._inputs(scope, variables)
        try:
            return Calls(core.explain(self._for(core), inputs))
        except _errors.Error as e:
            raise self._engine._explain(_about_variable(core, inputs, e))

    def as_tool(self) -> "Tool":
        """Returns the program as a tool of models. The parameters of the tool are the variables that the program uses
        and does not define."""
        from ._tool import of_program
        return of_program(self)


class Call:
    """A call of a model that a program would make."""

    __slots__ = ("call", "kind", "file", "line", "place", "model", "platform", "messages", "input", "parameters", "schema", "tokens", "cost",
                 "request", "problem")

    call: int
    kind: str
    file: Optional[str]
    line: Optional[int]
    place: str
    model: Optional[str]
    platform: Optional[str]
    messages: Optional[list[dict[str, Any]]]
    input: Any
    parameters: Optional[dict[str, Any]]
    schema: Optional[dict[str, Any]]
    tokens: dict[str, Optional[int]]
    cost: Optional[float]
    request: Optional[dict[str, Any]]
    problem: Optional[str]

    def __init__(self, fields: dict[str, Any]) -> None:
        if not isinstance(fields, dict):
            raise _arguments.fail("fields", "a dict", fields)
        for name in self.__slots__:
            setattr(self, name, fields.get(name))

    def __repr__(self) -> str:
        return "Call(%s)" % ", ".join("%s=%r" % (k, getattr(self, k)) for k in ("call", "model", "messages", "problem"))


class Calls(list):  # type: ignore[type-arg]
    """The calls, the actions that were not executed, and everything that is therefore unknown or was not reached."""

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__(Call(c) for c in found["calls"])
        self.not_done: list[dict[str, Any]] = found["not_done"]
        self.not_known: list[dict[str, Any]] = found["not_known"]
        self.not_reached: list[dict[str, Any]] = found["not_reached"]


class _OfObject(property):
    """A property that only objects have. On the class, it returns of_class or is missing, so that inspect and help
    examine the class itself."""

    of_class: Optional[str] = None

    def __get__(self, of: Any, kind: Optional[type] = None) -> Any:
        if of is not None:
            return super().__get__(of, kind)
        if self.of_class is None:
            raise AttributeError("the class has none")
        return self.of_class


class Function:
    _returns = None

    def __init__(self, handle: _pdl.Handle) -> None:
        if not isinstance(handle, _pdl.Handle):
            raise TypeError("functions come from programs")
        self._handle = handle
        self._engine: "Engine" = handle.owner().__self__

    def _for(self, core: _pdl.Engine) -> _pdl.Handle:
        return self._handle

    def _declared(self) -> dict[str, Any]:
        declared = self._handle.signature()
        return declared["function"] if declared else {}

    @property
    def __name__(self) -> str:
        name: str = self._declared().get("name", "function")
        return name

    @_OfObject
    def __doc__(self) -> Optional[str]:
        return self._declared().get("description")

    __doc__.of_class = "A function of a program. Calls wait for its result; `await f.acall(...)` does under asyncio."

    @_OfObject
    def __signature__(self) -> Any:
        from ._tool import signature_of
        return signature_of(self._declared().get("parameters") or {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Job(self, (list(args), kwargs), NONE, NO_TRACE, _print).finish().value

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function under asyncio."""
        from ._driver import wait_for
        return (await wait_for(self._engine, lambda context: Job(self, (list(args), kwargs), NONE, False, _print, None, context))).value

    def __copy__(self) -> "Function":
        return self

    def __deepcopy__(self, memo: object) -> "Function":
        return self  # copying a function returns the function itself, as in Python

    def __reduce__(self) -> str:
        raise TypeError("cannot pickle a function of a program: %s" % self.__name__)

    def __repr__(self) -> str:
        return "<libpdl.Function %s>" % self.__name__

    def __str__(self) -> str:
        return self._handle.text()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Function) and bool(self._handle == other._handle)

    def __hash__(self) -> int:
        return hash(self.__name__)
