"""aiohttp with aiohttp-retry and its `ExponentialRetry`, which does not read Retry-After."""

import asyncio

import errand
from aiohttp_retry import ExponentialRetry, RetryClient


async def request(client, method, url, headers, body):
    async with client.request(method, url, headers=headers, data=body) as answer:
        answer.raise_for_status()
        return answer.status, answer.headers, await answer.json()


with asyncio.Runner() as runner:

    async def opened():
        return RetryClient(retry_options=ExponentialRetry(attempts=5, start_timeout=0.5, statuses={429, 500, 502, 503, 504}))

    client = runner.run(opened())
    try:
        errand.run(lambda *sent: runner.run(request(client, *sent)))
    finally:
        runner.run(client.close())
