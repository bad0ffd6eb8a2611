# SPDX-License-Identifier: Apache-2.0
"""Engines: settings, and models and functions in Python. This file also has the code that steps the runs of an engine."""
from __future__ import annotations

import os
import sys
from _thread import _local, get_ident
from collections.abc import Mapping, Sequence

from . import _arguments, _environment, _errors, _pdl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._names import (Any, Approve, AsyncIterator, Awaitable, Callable, Context, Driver, Iterator, Model, Optional, Path, Program, Pump, Result,
                         Tuple, Union, asyncio)

_OWN: set[str] = set()  # files that were made for arguments that are dicts
MANY_RAISED = 64
_LIVE = frozenset(["_pid", "_cores", "_pumps", "_awaited", "_raised", "_n_open", "_fatal", "_driver", "_slots", "_running", "_not_here", "_recorded", "_more"])
MANY_RUNS = 7000  # maximum number of runs that are open at a time on one loop


class _Asked:
    """A request to a function of Python. Two requests with the same fields are equal."""

    __slots__: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join("%s=%r" % (k, getattr(self, k)) for k in self.__slots__))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, k) == getattr(other, k) for k in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


class ModelRequest(_Asked):
    """A request to a model in Python."""

    __slots__ = ("model", "messages", "parameters", "schema", "stream")
    __match_args__ = ("model", "messages", "parameters", "schema", "stream")

    def __init__(self, model: str, messages: list[dict[str, Any]], parameters: dict[str, Any], schema: Any = None, stream: bool = False) -> None:
        self.model = model
        self.messages = messages
        self.parameters = parameters
        self.schema = schema
        self.stream = stream


class ApprovalRequest(_Asked):
    """An action that a policy wants to have approved. sink and name: the action; arguments: {name, text, origins, untrusted, sources} of each
    argument; text: the question for a person."""

    __slots__ = ("sink", "name", "arguments", "text")
    __match_args__ = ("sink", "name", "arguments", "text")

    def __init__(self, sink: str, name: str, arguments: list[dict[str, Any]], text: str) -> None:
        self.sink = sink
        self.name = name
        self.arguments = arguments
        self.text = text


def _text_of(raised: BaseException) -> str:
    try:
        return "%s: %s" % (type(raised).__name__, raised)
    except Exception as e:  # the __str__ of the exception has failed
        return "%s, whose text raised %s" % (type(raised).__name__, type(e).__name__)


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None)
    if not callable(function) or not isinstance(name, str):
        raise _arguments.fail("tools", "a list of functions", function)
    if not name.isidentifier():
        raise _errors.UsageError("tools: no program can call a function whose name is %s; def gives it another name" % name)
    return name


def _tools(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    if isinstance(functions, str) or not isinstance(functions, Sequence):
        raise _arguments.fail("tools", "a list of functions", functions)
    tools: dict[str, Callable[..., Any]] = {}
    for f in functions:
        name = _name_of(f)
        if name in tools and tools[name] is not f:
            raise _errors.UsageError("tools has two functions with the name %s" % name)
        tools[name] = f
    return tools


def _models(models: object) -> dict[str, Model]:
    if models is None:
        return {}
    if not isinstance(models, Mapping):
        raise _arguments.fail("models", "a dict of names and functions", models)
    for name, f in models.items():
        _arguments.text("models", name)
        if "*" in name[:-1]:
            raise _errors.UsageError("models: %r has a star that is not at the end" % name)
        if not callable(f):
            raise _arguments.fail("models[%r]" % name, "a function", f)
    return dict(models)


def _paths(paths: object) -> list[str]:
    if isinstance(paths, (str, os.PathLike)) or not isinstance(paths, Sequence):
        raise _arguments.fail("paths", "a list of paths", paths)
    return [_arguments.path("paths", p) for p in paths]


def _no_answer(value: object) -> TypeError:
    return TypeError("a model returned a value of type %s, not text, a dict or pieces" % type(value).__name__)


def _no_verdict(value: object) -> TypeError:
    return TypeError("approve returned a value of type %s, not True or False" % type(value).__name__)


async def _awaited_verdict(awaitable: Awaitable[bool]) -> bool:
    verdict = await awaitable
    if not isinstance(verdict, bool):
        raise _no_verdict(verdict)
    return verdict


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _of_environment() -> Union[None, bool, str]:
    """Reads PDL_SANDBOX as if it were the parameter `sandbox`. The library reads the variable itself, too (src/api/session/profiles.c). This
    function reads it as well, because confined code cannot run in this process, and the process for code is chosen before the library has an
    engine."""
    named = os.environ.get("PDL_SANDBOX") or "0"
    return None if named == "0" else True if named == "1" else named


def _file(given: Tuple[Optional[str], Optional[str]]) -> Optional[str]:
    """Returns the path, or the path of a new file with the text, which exists as long as this process."""
    path, text = given
    if text is None:
        return path
    import atexit
    import tempfile
    fd, path = tempfile.mkstemp(suffix=".json", prefix="pdl_options_")
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        f.write(text)
    atexit.register(_remove, path)
    _OWN.add(path)
    return path


class Engine:
    """Settings, models and functions that programs share. An engine belongs to one thread at a time."""

    def __init__(self, *, models: Optional[Mapping[str, Model]] = None, tools: Sequence[Callable[..., Any]] = (), jobs: int = 64,
                 cache: Optional[Path] = None, record: Optional[Path] = None, replay: Optional[Path] = None,
                 budget: Union[None, str, Mapping[str, float]] = None, timeout: Union[None, str, float] = None,
                 prices: Union[None, Path, Mapping[str, Any]] = None, sandbox: Union[None, bool, Path, Mapping[str, Any]] = None,
                 policy: Union[None, Path, Mapping[str, Any], Sequence[Union[Path, Mapping[str, Any]]]] = None,
                 approve: Optional[Approve] = None, paths: Sequence[Path] = (), code: Optional[str] = None) -> None:
        if code not in (None, "here", "process"):
            raise _errors.UsageError("code must be 'here' or 'process', not %r" % (code,))
        if record is not None and replay is not None:
            raise _errors.UsageError("record and replay exclude each other")
        if approve is not None and not callable(approve):
            raise _arguments.fail("approve", "a function", approve)
        self._models = _models(models)
        self._approve = approve
        self.tools = _tools(tools)
        self.jobs = _arguments.count("jobs", jobs)
        self._paths = _paths(paths)
        self._options: dict[str, Any] = {
            "cache": _arguments.optional_path("cache", cache), "record": _arguments.optional_path("record", record),
            "replay": _arguments.optional_path("replay", replay),
            "budget": _arguments.budget(_plain(budget))}
        self._timeout = _arguments.timeout(timeout)
        self._price_file = _file(_arguments.prices(_plain(prices)))
        self._no_sandbox = sandbox is False
        self._sandbox = _file(_arguments.sandbox(_plain(_of_environment() if sandbox is None else sandbox)))
        given = policy if isinstance(policy, (list, tuple)) else [] if policy is None else [policy]
        self._policies = [str(_file(p)) for p in _arguments.policies([_plain(p) for p in given])]
        self._recorded = False
        own = {str(p): "policy" for p in self._policies}
        own.update({str(self._price_file): "prices", str(self._sandbox): "sandbox"})
        self._named = {**own, **{"'%s'" % self._timeout: "timeout"}, **{str(path): name for name, path in self._options.items()}}
        self._more: dict[str, Callable[[_pdl.Request], None]] = {}
        self._forget()
        self.code = "process"
        if self._sandbox is None and not ((self._policies or os.environ.get("PDL_POLICY")) and self._has_rule("code")):
            self.code = code or "here"
        elif code == "here":
            raise _errors.UsageError("code='here' is not confined: leave it out with sandbox= or PDL_SANDBOX, and with a policy that has a rule for code")
        if self.code == "here":
            self._forget()  # the next run makes the engine again, with the handlers for code

    # --- the engine of the library

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._cores: list[_pdl.Engine] = []  # one engine of the library, or none yet
        self._pumps: list[Pump] = []
        self._awaited: list[tuple[_pdl.Request, Awaitable[Any], Context]] = []
        self._raised: dict[str, BaseException] = {}
        self._n_open = 0  # runs whose results were not taken yet
        self._fatal: Optional[BaseException] = None
        self._driver: Optional["Driver"] = None
        self._slots: Optional[tuple[asyncio.AbstractEventLoop, asyncio.Semaphore]] = None
        self._running = 0  # the thread in which run() is in progress
        self._not_here = False  # code of the run that is being stepped has to run in another process

    def __getstate__(self) -> dict[str, Any]:
        """Returns the settings, for copies and other processes. A copy makes another engine of the library."""
        return {k: v for k, v in vars(self).items() if k not in _LIVE}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._recorded, self._more, self._running = False, {}, 0
        self._forget()

    def _core(self) -> _pdl.Engine:
        """Returns the engine of the library."""
        if self._pid != os.getpid():
            _LOST.append(self._cores)  # its threads and descriptors belong to the parent process
            self._forget()
        if self._running and self._running != get_ident():
            raise _errors.UsageError("the engine is in use in another thread")
        if not self._cores:
            _environment.fill()
            try:
                core = _pdl.Engine(self._paths, self.jobs, self._timeout, self._price_file, self._sandbox, self._no_sandbox, self._policies, self._owner)
            except _errors.Error as e:
                raise self._blame(e) from None
            self._register(core)
            if self._policies or os.environ.get("PDL_POLICY"):
                core.track()
            self._cores.append(core)
        return self._cores[0]

    def _has_rule(self, sink: str) -> bool:
        try:
            return self._core().has_rule(sink)
        except _errors.Error as e:
            raise self._blame(e) from None

    def _blame(self, error: _errors.Error) -> _errors.Error:
        """Makes an error about the value of an option name that option. When the value was a dict, it was written to a
        file, whose name the user does not know."""
        import re
        for text, name in self._named.items():
            if text in ("None", "code") or error.message.startswith(name) or not re.search(r"(?<![\w./-])%s(?![\w/-])" % re.escape(text), error.message):
                continue
            if text in _OWN:
                return _errors.UsageError(re.sub(r"(?m)^.*%s(:\d+)?(:| -)? " % re.escape(text), name + ": ", error.message))
            error.message = "%s: %s" % (name, error.message)
            error.args = ("%s: %s" % (name, error),)
            break
        return error

    def _slot(self) -> asyncio.Semaphore:
        """Returns the queue in which runs wait until they may be open on the running loop."""
        import asyncio
        loop = asyncio.get_running_loop()
        if self._slots is None or self._slots[0] is not loop:
            self._slots = (loop, asyncio.Semaphore(MANY_RUNS))
        return self._slots[1]

    def _register(self, core: _pdl.Engine) -> None:
        for pattern, f in self._models.items():
            core.handle("model", pattern.rstrip("*"), self._model_handler(pattern, f))
        if self._approve is not None:
            core.handle("approval", "", self._ask_approval)
        if self.code == "here":
            core.handle("code", "python", self._run_code)
            core.handle("code", "ipython", self._run_code)
        for kind, answer in self._more.items():
            core.handle(kind, "", answer)

    def _also(self, kind: str, f: Callable[[_pdl.Request], None]) -> None:
        """Makes f answer all requests of this kind, in runs that are started from now on."""
        self._more[kind] = f
        for core in self._cores:
            core.handle(kind, "", f)

    # --- requests of programs

    def _model_handler(self, pattern: str, f: Model) -> Callable[[_pdl.Request], None]:
        def handle(request: _pdl.Request) -> None:
            data = request.data()
            if not pattern.endswith("*") and data["model"] != pattern:
                request.decline()  # the name of the model is longer than the pattern
                return
            given = {k: data[k] for k in ModelRequest.__slots__ if k in data}
            self._give(request, f(ModelRequest(**given)))
        return handle

    def _give(self, request: _pdl.Request, result: Any) -> None:
        """Handles the result that a model in Python returned."""
        from ._pieces import Pump, plain  # imported late, because most programs do not need it
        if not isinstance(result, (str, dict)):
            result = plain(result)
        if isinstance(result, (str, dict)):
            request.answer(result)
        elif hasattr(result, "__await__"):
            self._later(request, self._awaited_answer(request, result))
        elif hasattr(result, "__aiter__"):
            self._later(request, self._collect(request, result))
        elif hasattr(result, "__iter__"):
            pump = Pump(request, iter(result))
            if self._driver:
                from contextvars import copy_context
                pump.context = copy_context()
            self._pumps.append(pump)
        else:
            raise _no_answer(result)

    async def _awaited_answer(self, request: _pdl.Request, awaitable: Awaitable[Any]) -> Any:
        """Handles a coroutine, which may return everything that a function may: `await client.create(stream=True)` gives pieces."""
        from ._pieces import plain, slowly
        answer = await awaitable
        if not isinstance(answer, (str, dict)):
            answer = plain(answer)
        if isinstance(answer, (str, dict)):
            return answer
        if not hasattr(answer, "__aiter__") and not hasattr(answer, "__iter__"):
            raise _no_answer(answer)
        return await self._collect(request, answer if hasattr(answer, "__aiter__") else slowly(answer))

    async def _collect(self, request: _pdl.Request, pieces: AsyncIterator[Any]) -> Union[str, dict[str, Any]]:
        from ._pieces import Pump
        pump = Pump(request, iter(()))
        async for piece in pieces:
            pump.take(piece)
            if self._driver:
                self._driver.soon()
        return pump.answer()

    def _ask_approval(self, request: _pdl.Request) -> None:
        assert self._approve is not None
        data = request.data()
        verdict = self._approve(ApprovalRequest(**{k: data[k] for k in ApprovalRequest.__slots__}))
        if isinstance(verdict, bool):
            request.answer(verdict)
        elif hasattr(verdict, "__await__"):
            self._later(request, _awaited_verdict(verdict))
        else:
            raise _no_verdict(verdict)

    def _run_code(self, request: _pdl.Request) -> None:
        if self._not_here:
            request.decline()
            return
        from . import _code
        _code.run(self, request)

    def _later(self, request: _pdl.Request, awaitable: Awaitable[Any]) -> None:
        from contextvars import copy_context  # the context variables of the run that made the request
        self._awaited.append((request, awaitable, copy_context()))

    def _owner(self, request: Optional[_pdl.Request], what: Any) -> Optional[str]:
        """Called by the extension with the exception that a handler or function raised, or with the awaitable that it
        returned. There is no request when an object was being examined."""
        if request is None:
            return self._remember(what)
        if isinstance(what, BaseException):
            self._fail(request, what)
        elif what is None:
            request.refuse("runtime", "the function is gone")
        else:
            self._later(request, what)
        return None

    def _remember(self, raised: BaseException, message: Optional[str] = None) -> str:
        """Stores an exception as the cause of the error that it becomes. Returns its text."""
        if not isinstance(raised, Exception):  # Ctrl-C and exit() are not errors that a program may handle
            self._fatal = self._fatal or raised
            return "interrupted"
        if message is None:
            message = raised.message if isinstance(raised, _errors.Error) else _text_of(raised)
        message = message.encode("utf-8", "replace").decode().replace("\0", " ")
        self._raised.pop(message, None)
        self._raised[message] = raised
        while len(self._raised) > MANY_RAISED:
            del self._raised[next(iter(self._raised))]
        return message

    def _fail(self, request: _pdl.Request, raised: BaseException, message: Optional[str] = None) -> None:
        message = self._remember(raised, message)
        if request.is_answered():  # Ctrl-C came after the answer and before the function returned
            return
        if not isinstance(raised, Exception):
            request.refuse("interrupt", message)
            return
        known = isinstance(raised, _errors.Error) and raised.kind
        classes = [k.__name__ for k in type(raised).__mro__[:-1]]
        request.refuse(known or "code", message, ",".join(classes))

    def _ended(self) -> None:
        """Called when the result of a run was taken: drops exceptions that no other run can need."""
        self._n_open -= 1
        if self._n_open <= 0:
            self._raised.clear()

    def _explain(self, error: BaseException) -> BaseException:
        """Sets the __cause__ of an error of a run to the Python exception that caused it."""
        if isinstance(error, _errors.Error):
            for message in reversed(list(self._raised)):
                if message and message in error.message and error is not self._raised[message]:
                    error.__cause__ = self._raised[message]
                    break
        return error

    def _close_unneeded(self) -> None:
        """Ends the models in Python that produce pieces for runs that were cancelled, so that no step continues with
        them."""
        pumps, self._pumps = self._pumps, []
        for p in pumps:
            if not p.request.is_cancelled():
                self._pumps.append(p)
                continue
            try:
                p.close()
                p.request.refuse("interrupt", "cancelled")
            except BaseException as e:
                self._fail(p.request, e)

    def _pump(self) -> None:
        pumps, self._pumps = self._pumps, []
        for p in pumps:
            try:
                if p.request.is_cancelled():
                    p.close()
                    p.request.refuse("interrupt", "cancelled")
                    continue
                p.take(p.next())
                self._pumps.append(p)
            except StopIteration:
                p.request.answer(p.answer())
            except BaseException as e:
                self._fail(p.request, e)

    # --- programs

    def load(self, path: Union[str, "os.PathLike[str]"], *, returns: Any = None) -> "Program[Any]":
        """Reads the program in a file."""
        from ._program import Program
        return Program._made(self, _arguments.path("path", path), None, None, returns)

    def loads(self, text: str, *, name: Optional[str] = None, returns: Any = None) -> "Program[Any]":
        """Reads a program from its text. name: the name of the program in errors; relative paths begin in the folder of this name."""
        from ._program import Program
        return Program._made(self, None, _arguments.text("text", text), _arguments.optional_path("name", name), returns)

    def from_dict(self, program: Any, *, name: Optional[str] = None, returns: Any = None) -> "Program[Any]":
        """Makes a program of a tree of dicts, lists and texts."""
        if not isinstance(program, (dict, list, str)):
            raise _arguments.fail("program", "a dict, list or text", program)
        from ._program import Program
        return Program._of_tree(self, program, _arguments.optional_path("name", name), returns)

    def run(self, text: str, scope: Optional[Mapping[str, Any]] = None, /, **variables: Any) -> "Result[Any]":
        """Runs the program with this text."""
        return self.loads(text).run(scope, **variables)

    def schema(self) -> dict[str, Any]:
        """Returns the JSON Schema of the language."""
        return self._core().schema()


_LOST: list[Any] = []  # engines of a parent process; releasing an engine would end threads and files of the parent
_HERE = _local()


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


def default() -> Engine:
    """Returns the engine of the module's functions; each thread has one."""
    engine: Optional[Engine] = getattr(_HERE, "engine", None)
    if engine is None:
        engine = _HERE.engine = Engine()
    return engine
