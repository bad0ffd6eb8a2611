# SPDX-License-Identifier: Apache-2.0
"""The bridge to libpdl: programs, runs, and values in both directions."""
from __future__ import annotations

import operator
import os
import re
import sys
import threading
from typing import Any, Mapping, NoReturn, Optional

import libpdl
from libpdl._painter import Painter
from libpdl._program import NONE, RESULT, Job

from . import pdl_ast as ast
from .pdl_context import DependentContext, IndependentContext, PDLContext, SerializeMode, SingletonContext
from .pdl_dumper import plain
from .pdl_lazy import PdlLazy

CONTEXT = 2
PLACE = "<program>"  # name of a program that has a folder but no file
OLD_TYPES = re.compile(r"\b(str|bool|int|float|list|obj)\b")
HEAD = r"(?m)^(?:line |%s:)(\d+) - "
BY_KIND = {"expression": ast.PDLRuntimeExpressionError, "parser": ast.PDLRuntimeParserError}
NOT_IN = ("stdlib", "pdl_usage", "pdl_particle_id")  # variables that the interpreter itself sets


class CodeRequest:
    """A code block whose variables have the classes of this package."""

    def __init__(self, request: Any) -> None:
        self.request = request

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)

    def data(self) -> Any:
        data = self.request.data()
        return {**data, "vars": {k: from_run(v, False) for k, v in data["vars"].items()}}

    def answer_code(self, result: Any, variables: dict[str, Any]) -> None:
        self.request.answer_code(to_run(result), {k: to_run(v) for k, v in variables.items()})


class Engine(libpdl.Engine):
    """An engine whose code blocks may call functions of programs. Such a function sees the context of the code block."""

    def _run_code(self, request: Any) -> None:
        before, _HERE.context = _HERE.context, request.data()["vars"].get("pdl_context")
        try:
            super()._run_code(CodeRequest(request))  # type: ignore[arg-type]
        finally:
            _HERE.context = before


class _Here(threading.local):
    """An engine for one thread. context: the context of the code block that is running; a function of a program sees this context when the code calls
    it."""

    engine: Optional[Engine] = None
    context: Any = None


_HERE = _Here()


def engine() -> Engine:
    if _HERE.engine is None:
        _HERE.engine = Engine()
    return _HERE.engine


class Source:
    """The text from which a program was read. The text is used as long as the blocks are unchanged, and ignored after
    that."""

    def __init__(self, text: str, file: str, prog: Any) -> None:
        self.text, self.file, self.tree = text, file, plain(prog)
        self.loaded: dict[Any, libpdl.Program[Any]] = {}  # (engine, name) -> program


def problems_of(error: libpdl.Error) -> list[tuple[int, str]]:
    """Returns [(line, message)] of the problems of a program that cannot be loaded, without carets and hints."""
    found = [(int(line), message) for line, message in re.findall(HEAD % re.escape(error.file) + "(.*)$", str(error))]
    return found or [(error.line, error.message)]


def read(data: Any) -> tuple[Any, list[str]]:
    """Returns (the normal form of a program that is given as data, its problems)."""
    try:
        return tree_of(engine().from_dict(data)), []
    except libpdl.ProgramError as e:
        return None, [message for _, message in problems_of(e)]
    except TypeError:
        return None, ["%r is not a program" % (data,)]


def value_of(tree: Any) -> Any:
    return engine().from_dict(tree).run().value


def yaml(text: str) -> Any:
    return value_of({"data": text, "raw": True, "parser": "yaml"})


# --- programs


def tree_of(program: libpdl.Program[Any]) -> Any:
    return program._for(program._engine._core()).tree()


def loaded(prog: Any, name: Optional[str], role: Optional[str]) -> libpdl.Program[Any]:
    """Returns the program for libpdl. When the blocks are unchanged, the program is made from its text."""
    tree = plain(prog)
    source = getattr(prog, "_source", None)
    if role not in (None, "user"):
        tree = {"role": role, **(tree if isinstance(tree, dict) else {"data": tree})}
    elif source is not None and source.tree == tree:
        if (engine(), name) not in source.loaded:
            source.loaded[engine(), name] = engine().loads(source.text, name=name)
        return source.loaded[engine(), name]
    return engine().from_dict(tree, name=name)


def name_of(file: str, cwd: Any) -> Optional[str]:
    """Returns the name of the program for libpdl, so that relative paths begin in cwd."""
    folder = os.path.abspath(cwd)
    if file and os.path.dirname(os.path.abspath(file)) == folder:
        return file
    return None if folder == os.getcwd() else os.path.join(folder, PLACE)


def location(file: str, line: int) -> ast.PdlLocationType:
    return ast.PdlLocationType(file=file, path=["root"], table={"['root']": line})


def failed(error: libpdl.Error, file: str, has_lines: bool) -> NoReturn:
    """Raises the exception that the reference raises."""
    line = error.line if has_lines else 0
    own = file or error.file if os.path.basename(error.file) != PLACE else file
    head = (own + ":" if own else "line ")
    message = re.sub(HEAD % re.escape(error.file), lambda m: "%s%s - " % (head, m[1] if has_lines else 0), error.message)
    trace = ast._block(error.trace) if error.trace is not None else None
    exception = BY_KIND.get(error.kind, ast.PDLRuntimeError)(message, loc=location(own, line), trace=trace)
    exception.source_exception = error.__cause__
    raise exception from (error.__cause__ or error)


# --- values


class ClosureBlock(ast.FunctionBlock):  # type: ignore[name-defined, misc]
    """A function of a program. Calling it with its arguments runs it. `signature` is its declaration as a tool; its
    body stays in libpdl."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _HERE.context is not None:
            kwargs.setdefault("pdl_context", _HERE.context)
        try:
            return from_run(self.pdl__function(*map(to_run, args), **{k: to_run(v) for k, v in kwargs.items()}))
        except libpdl.UsageError:
            raise
        except libpdl.Error as e:
            failed(e, "", True)

    def __repr__(self) -> str:
        return "<function %s>" % ((self.signature or {}).get("function", {}).get("name", ""))


def closure(function: libpdl.Function) -> Any:
    signature = function._handle.signature()
    if signature is None:
        return function
    declared = signature["function"]
    block = ClosureBlock(function=declared["parameters"].get("properties"), signature=signature, description=declared.get("description"),
                         **{"return": "", "def": declared.get("name")})
    block.pdl__function = function
    return block


def to_run(value: Any) -> Any:
    """Returns the value as libpdl takes it: the same object when nothing in it has to be converted, because libpdl finds the origins of a value by
    the object."""
    if isinstance(value, ClosureBlock):
        return value.pdl__function
    if isinstance(value, PdlLazy):
        return to_run(value.result())
    if isinstance(value, SingletonContext):
        return libpdl.Context([to_run(value.message)], "message")
    if isinstance(value, (DependentContext, IndependentContext)):
        parts = [to_run(part.message if isinstance(part, SingletonContext) else part) for part in value.context.result()]
        return libpdl.Context(parts, "independent" if isinstance(value, IndependentContext) else "dependent")
    if isinstance(value, PDLContext):
        return value.serialize(SerializeMode.LITELLM)
    if type(value) in (list, tuple):
        items = [to_run(v) for v in value]
        return value if all(map(operator.is_, items, value)) else type(value)(items)
    if type(value) is not dict:
        return value
    entries = {k: to_run(v) for k, v in value.items()}
    return value if all(map(operator.is_, entries.values(), value.values())) else entries


def from_run(value: Any, deep: bool = True) -> Any:
    if isinstance(value, libpdl.Function):
        return closure(value)
    if isinstance(value, libpdl.Context):
        parts = [from_run(part) for part in value.parts]
        return SingletonContext(parts[0]) if value.form == "message" else \
            IndependentContext(parts) if value.form == "independent" else DependentContext(parts)
    if deep and type(value) in (list, tuple):
        return type(value)(from_run(v) for v in value)
    return {k: from_run(v) for k, v in value.items()} if deep and type(value) is dict else value


def inputs_of(scope: Mapping[str, Any]) -> dict[str, Any]:
    return {k: to_run(scope[k]) for k in scope if k not in NOT_IN}


class Outcome:
    """The results of a run."""

    def __init__(self, result: libpdl.Result[Any]) -> None:
        self.result = from_run(result.value)
        self.background = from_run(result.messages)
        self.variables = result._variables
        self.trace = ast._block(result.trace) if result.trace is not None else None
        self.usage = ast.PdlUsage(**result.usage)
        self.score = result.score
        self.replay: dict[str, Any] = {}

    @property
    def scope(self) -> dict[str, Any]:
        return {**{k: from_run(v) for k, v in self.variables.python().items()}, "pdl_context": self.background}


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def report_old_types(program: libpdl.Program[Any]) -> None:
    text = program._text
    if text is None or OLD_TYPES.search(text):
        for message in dict.fromkeys(d.message for d in program.check() if d.code == "type-deprecated"):
            print(message, file=sys.stderr)


def execute(prog: Any, scope: Mapping[str, Any], file: str, state: Any, trace: bool) -> Outcome:
    has_lines = getattr(prog, "_source", None) is not None
    try:
        program = loaded(prog, name_of(file, state.cwd), state.role)
        report_old_types(program)
        output = CONTEXT if state.yield_background else RESULT if state.yield_result else NONE
        shown = Painter(sys.stdout).show if output != NONE else None
        job = Job(program, program._inputs(inputs_of(scope), {}), output, 2 if trace else 0, show, shown)
        job.has_handles = True
        return Outcome(job.finish())
    except libpdl.UsageError:
        raise
    except libpdl.Error as e:
        failed(e, file, has_lines)
