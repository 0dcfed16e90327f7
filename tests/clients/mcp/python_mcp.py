"""The Python package `mcp`, from 1.30 to 2.x: lists the tools, reads a page, loses an answer and repeats it under its key."""

import asyncio
import os
import sys

URL, HEADERS = os.environ["PETSTORE_MCP"], {"Authorization": "Bearer " + os.environ["PETSTORE_KEY"]}


async def work(client):
    tools = (await client.list_tools()).tools
    assert len(tools) == 34 and tools[0].name == "listPets", tools
    page = content(await client.call_tool("listPets", {"limit": 5}))
    assert len(page["items"]) == 5 and page["nextCursor"], page
    more = content(await client.call_tool("listPets", {"limit": 5, "cursor": page["nextCursor"]}))
    assert more["items"][0]["id"] > page["items"][-1]["id"], more
    wrong = await client.call_tool("getOrder", {"orderId": 99_999})
    assert is_error(wrong) and content(wrong)["code"] == "not_found", wrong
    order = content(await client.call_tool("placeOrder", {"petId": 1, "idempotencyKey": "one"}))
    again = content(await client.call_tool("placeOrder", {"petId": 1, "idempotencyKey": "one"}))
    assert (order["replayed"], again["replayed"]) == (False, True) and order["result"] == again["result"], again
    resources = (await client.list_resources()).resources
    assert len(resources) == 2, resources
    await client.read_resource(resources[1].uri)
    print("ok")


def content(result):
    return getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)


def is_error(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", None)


async def first_generation():
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(URL, headers=HEADERS) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            await work(session)


async def second_generation(mode):
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=HEADERS) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            await work(client)


asyncio.run(first_generation() if sys.argv[1] == "1" else second_generation(sys.argv[2]))
