# SPDX-License-Identifier: Apache-2.0
"""The bridge to libpdl: programs, runs, and values in both directions."""
from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Mapping, NoReturn, Optional

import libpdl
from libpdl import _engine as _libpdl_engine
from libpdl._program import NONE, RESULT, Job

from . import pdl_ast as ast
from .pdl_context import DependentContext, IndependentContext, PDLContext, SerializeMode, SingletonContext
from .pdl_dumper import plain
from .pdl_lazy import PdlLazy

CONTEXT = 2
PLACE = "<program>"  # a program without a file, in a folder
OLD_TYPES = re.compile(r"\b(str|bool|int|float|list|obj)\b")
HEAD = r"(?m)^(?:line |%s:)(\d+) - "
BY_KIND = {"expression": ast.PDLRuntimeExpressionError, "parser": ast.PDLRuntimeParserError}
NOT_IN = ("stdlib", "pdl_usage", "pdl_particle_id")  # variables that the interpreter sets itself


class Source:
    """The text of a program, which counts as long as its blocks are still those that were read from it."""

    def __init__(self, text: str, file: str, prog: Any) -> None:
        self.text, self.file, self.tree = text, file, plain(prog)


class Problem:
    def __init__(self, line: int, message: str) -> None:
        self.line, self.message = line, message


def problems_of(error: libpdl.Error) -> list[Problem]:
    """The problems of a program that cannot be loaded, without carets and hints."""
    found = [Problem(int(line), message) for line, message in re.findall(HEAD % re.escape(error.file) + "(.*)$", str(error))]
    return found or [Problem(error.line, error.message)]


def problems(data: Any) -> list[str]:
    """What is wrong with a program that is data."""
    try:
        libpdl.from_dict(data)
    except libpdl.ProgramError as e:
        return [p.message for p in problems_of(e)]
    except TypeError:
        return ["%r is not a program" % (data,)]
    return []


def value_of(tree: Any) -> Any:
    return libpdl.from_dict(tree).run().value


def yaml(text: str) -> Any:
    return value_of({"data": text, "raw": True, "parser": "yaml"})


# --- programs


def tree_of(program: libpdl.Program[Any]) -> Any:
    engine = program._engine
    return program._for(engine._core()).tree()


def loaded(prog: Any, name: Optional[str], role: Optional[str]) -> libpdl.Program[Any]:
    """The program for libpdl: from its text, where it still says the same."""
    tree = plain(prog)
    source = getattr(prog, "_source", None)
    if role not in (None, "user"):
        tree = {"role": role, **(tree if isinstance(tree, dict) else {"data": tree})}
    elif source is not None and source.tree == tree:
        return libpdl.loads(source.text, name=name)
    return libpdl.from_dict(tree, name=name)


def name_of(file: str, cwd: Any) -> Optional[str]:
    """What libpdl is to call the program, so that relative paths begin in cwd."""
    folder = os.path.abspath(cwd)
    if file and os.path.dirname(os.path.abspath(file)) == folder:
        return file
    return None if folder == os.getcwd() else os.path.join(folder, PLACE)


def location(file: str, line: int) -> ast.PdlLocationType:
    return ast.PdlLocationType(file=file, path=["root"], table={"['root']": line})


def failed(error: libpdl.Error, file: str, has_lines: bool) -> NoReturn:
    """Raises the exception that the reference has for this."""
    line = error.line if has_lines else 0
    own = file or error.file if os.path.basename(error.file) != PLACE else file
    head = (own + ":" if own else "line ")
    message = re.sub(HEAD % re.escape(error.file), lambda m: "%s%s - " % (head, m[1] if has_lines else 0), error.message)
    trace = ast._block(error.trace) if error.trace is not None else None
    exception = BY_KIND.get(error.kind, ast.PDLRuntimeError)(message, loc=location(own, line), trace=trace)
    exception.source_exception = error.__cause__
    raise exception from (error.__cause__ or error)


# --- values


def to_run(value: Any) -> Any:
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
        return type(value)(to_run(v) for v in value)
    return {k: to_run(v) for k, v in value.items()} if type(value) is dict else value


def from_run(value: Any) -> Any:
    if isinstance(value, libpdl.Context):
        parts = [from_run(part) for part in value.parts]
        return SingletonContext(parts[0]) if value.form == "message" else \
            IndependentContext(parts) if value.form == "independent" else DependentContext(parts)
    if type(value) in (list, tuple):
        return type(value)(from_run(v) for v in value)
    return {k: from_run(v) for k, v in value.items()} if type(value) is dict else value


def inputs_of(scope: Mapping[str, Any]) -> dict[str, Any]:
    return {k: to_run(scope[k]) for k in scope if k not in NOT_IN}


class Outcome:
    """What a run leaves."""

    def __init__(self, result: libpdl.Result[Any]) -> None:
        self.result = from_run(result.value)
        self.text = result.text
        self.background = from_run(result.messages)
        self.scope = {k: from_run(v) for k, v in result._variables.python().items()}
        self.scope["pdl_context"] = self.background
        self.trace = ast._block(result.trace) if result.trace is not None else None
        self.usage = ast.PdlUsage(**result.usage)
        self.score = result.score
        self.replay: dict[str, Any] = {}


class ContextJob(Job):
    """A run that prints its messages."""


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def tell_old_types(program: libpdl.Program[Any]) -> None:
    text = program._text
    if text is None or OLD_TYPES.search(text):
        for message in dict.fromkeys(d.message for d in program.check() if d.code == "type-deprecated"):
            print(message, file=sys.stderr)


def execute(prog: Any, scope: Mapping[str, Any], file: str, state: Any, trace: bool) -> Outcome:
    has_lines = getattr(prog, "_source", None) is not None
    try:
        program = loaded(prog, name_of(file, state.cwd), state.role)
        tell_old_types(program)
        output = CONTEXT if state.yield_background else RESULT if state.yield_result else NONE
        job = Job(program, program._inputs(inputs_of(scope), {}), output, trace, show)
        while not job.advance(50):
            pass
        return Outcome(job.result())
    except libpdl.UsageError:
        raise
    except libpdl.Error as e:
        failed(e, file, has_lines)
