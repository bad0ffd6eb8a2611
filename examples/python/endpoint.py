# SPDX-License-Identifier: Apache-2.0
"""An endpoint that streams: GET /ask?question=... answers with the pieces of the program's text as the model gives them.

    uvicorn endpoint:app          needs fastapi and uvicorn
    python3 endpoint.py           asks itself once (fastapi, httpx)

The model is a function here, so that it runs without network; take `models=` away and name one of a provider to ask that.
All requests share one engine: its connections, rates and limits. A client that goes away ends its run.
"""
import asyncio
import contextlib
from collections.abc import AsyncIterator

import fastapi
import fastapi.responses
import libpdl


async def parrot(request: libpdl.ModelRequest) -> AsyncIterator[str]:
    for word in str(request.messages[-1]["content"]).split():
        await asyncio.sleep(0.01)
        yield word + " "


engine = libpdl.Engine(models={"parrot": parrot}, jobs=32)
program = engine.loads("""
text:
- "You asked: "
- model: parrot
  input: ${ question }
""")
app = fastapi.FastAPI()


async def pieces_of(question: str) -> AsyncIterator[str]:
    stream = program.astream(question=question)
    async with contextlib.aclosing(stream):
        async for piece in stream:
            yield piece


@app.get("/ask")
async def ask(question: str) -> fastapi.responses.StreamingResponse:
    return fastapi.responses.StreamingResponse(pieces_of(question), media_type="text/plain")


async def demonstrate() -> None:
    import httpx
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        answers = await asyncio.gather(*(client.get("/ask", params={"question": "what is %d" % i}) for i in range(3)))
    for answer in answers:
        print(answer.status_code, answer.text)


if __name__ == "__main__":
    asyncio.run(demonstrate())
