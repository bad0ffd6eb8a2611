# SPDX-License-Identifier: Apache-2.0
"""calls.py URL N: N chat completions at once with the asyncio client of the openai package."""
import asyncio
import sys

import httpx
from openai import AsyncOpenAI


async def main(url, n):
    limits = httpx.Limits(max_connections=n, max_keepalive_connections=n)
    async with httpx.AsyncClient(limits=limits, timeout=300) as http:
        client = AsyncOpenAI(base_url=url, api_key="none", http_client=http, max_retries=0)
        calls = [client.chat.completions.create(model="m", temperature=0, messages=[{"role": "user", "content": "item %d" % i}]) for i in range(n)]
        replies = await asyncio.gather(*calls)
    print(sum(len(r.choices[0].message.content) for r in replies))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
