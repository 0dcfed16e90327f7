"""The Python package `fastmcp`."""

import asyncio
import os

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport


async def main():
    headers = {"Authorization": "Bearer " + os.environ["PETSTORE_KEY"]}
    async with Client(StreamableHttpTransport(os.environ["PETSTORE_MCP"], headers=headers)) as client:
        assert len(await client.list_tools()) == 34
        page = await client.call_tool("listPets", {"limit": 5})
        assert len(page.structured_content["items"]) == 5 and page.structured_content["nextCursor"], page
        wrong = await client.call_tool("getOrder", {"orderId": 99_999}, raise_on_error=False)
        assert wrong.is_error and wrong.structured_content["code"] == "not_found", wrong
    print("ok")


asyncio.run(main())
