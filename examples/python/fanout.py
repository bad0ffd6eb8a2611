# SPDX-License-Identifier: Apache-2.0
"""Many calls at a time under asyncio: every question goes to three models, all at the same time, and a model that does not
answer in two seconds is given up.

    python3 fanout.py

The models are functions here, so that it runs without network.
"""
import asyncio
import time

import libpdl

WAITS = {"quick": 0.02, "steady": 0.05, "asleep": 60}
QUESTIONS = ["one", "two", "three"]


async def model(request: libpdl.ModelRequest) -> str:
    await asyncio.sleep(WAITS[request.model])
    return "%s says %s" % (request.model, str(request.messages[-1]["content"]).upper())


engine = libpdl.Engine(models={name: model for name in WAITS}, jobs=64)
program = engine.loads("model: ${ name }\ninput: ${ question }")


async def ask(name: str, question: str) -> str:
    try:
        return (await asyncio.wait_for(program.arun(name=name, question=question), 2)).text
    except asyncio.TimeoutError:
        return "%s gave no answer to %s" % (name, question)


async def main() -> None:
    start = time.monotonic()
    for answer in sorted(await asyncio.gather(*(ask(name, question) for name in WAITS for question in QUESTIONS))):
        print(answer)
    print("in less than a minute: %s" % (time.monotonic() - start < 60))


asyncio.run(main())
