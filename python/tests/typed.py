# SPDX-License-Identifier: Apache-2.0
"""Uses every public name of libpdl, in code as a user with a type checker writes it. This file is checked and not run."""
from __future__ import annotations

import asyncio
import dataclasses
import pathlib
from typing import Any, AsyncIterator, Iterator, Optional

import libpdl


@dataclasses.dataclass
class Person:
    name: str
    age: int


def shout(request: libpdl.ModelRequest) -> Iterator[str]:
    for word in str(request.messages[-1]["content"]).split():
        yield word.upper()


async def later(request: libpdl.ModelRequest) -> str:
    await asyncio.sleep(0)
    return request.model


def small(request: libpdl.ApprovalRequest) -> bool:
    return request.sink == "command" and len(request.arguments) < 3 and "rm" not in request.text + request.name


async def asked(request: libpdl.ApprovalRequest) -> bool:
    await asyncio.sleep(0)
    return small(request)


@libpdl.tool
def search(query: str, limit: int = 3) -> list[str]:
    """Searches."""
    return [query] * limit


def run() -> None:
    engine = libpdl.Engine(models={"mine/*": shout, "later": later}, tools=[search], jobs=8, cache=pathlib.Path("cache.db"),
                           budget={"calls": 10, "cost": 0.5}, timeout=30, prices={"mine/a": {"input": 1.0}}, paths=["lib"], code="here", policy="careful", approve=small)
    libpdl.Engine(policy=[{"policy": 1, "otherwise": "approve"}], approve=asked)
    program: libpdl.Program[Any] = engine.load(pathlib.Path("a.pdl"))
    typed: libpdl.Program[Person] = libpdl.loads("data: {name: Ada, age: 36}", returns=Person)
    result: libpdl.Result[Any] = program.run({"a": 1}, b="two")
    text: str = result.text
    variables: dict[str, Any] = result.variables
    messages: list[dict[str, Any]] = result.messages
    usage: dict[str, int] = result.usage
    score: float = result.score
    trace: Optional[dict[str, Any]] = engine.from_dict({"text": "a"}).traced().trace
    age: int = typed.run().value.age
    with program.stream(topic="bees") as pieces:
        for piece in pieces:
            print(piece.upper())
    end: libpdl.Result[Any] = pieces.result()
    for row in program.map([{"a": 1}], jobs=4):
        if isinstance(row, libpdl.Error):
            print(row.kind, row.line, row.hint, row.exit_code, row.status, row.trace)
        else:
            print(row.text)
    for number, one in program.map_unordered([{"a": 1}]):
        print(number + 1, one)
    found: list[libpdl.Diagnostic] = program.check()
    calls = program.explain(a=1)
    first: libpdl.Call = calls[0]
    schema: dict[str, Any] = libpdl.schema()
    tool: libpdl.Tool = program.as_tool()
    declared: dict[str, Any] = tool.schema
    print(text, variables, messages, usage, score, trace, age, end, found, calls.not_done, first.model, schema, declared, tool("x"))
    function = variables["f"]
    if isinstance(function, libpdl.Function):
        print(function(1, b=2), function.__name__)


async def arun() -> libpdl.Result[Any]:
    program = libpdl.loads("text: hi", name="hi.pdl")
    stream: AsyncIterator[str] = program.astream()
    async for piece in stream:
        print(piece)
    try:
        return await program.arun(a=1)
    except (libpdl.ProgramError, libpdl.ModelError, libpdl.BudgetError, libpdl.PolicyError, libpdl.UsageError) as error:
        print(error.message, error.__cause__)
        raise
