"""A session through the official SDK for Python: list, read, a refused call, an approved call."""

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

ANSWERS = [
    ElicitResult(action="decline"),
    ElicitResult(action="accept", content={"answer": "once"}),
]


async def answer(context, params):
    assert "say/say wants to run" in params.message, params.message
    return ANSWERS.pop(0)


async def main():
    server = StdioServerParameters(
        command=sys.argv[1], args=["mcp", "skills"], env=dict(os.environ)
    )
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write, elicitation_callback=answer) as session:
            await session.initialize()
            tools = await session.list_tools()
            print("tools", *[tool.name for tool in tools.tools])
            found = await session.read_resource("skill://notes/references/how.md")
            print("read", found.contents[0].text.strip())
            refused = await session.call_tool("say__say", {"text": "hi"})
            print("declined", getattr(refused, "isError", None) or getattr(refused, "is_error", None))
            done = await session.call_tool("say__say", {"text": "hi"})
            print("answered", done.content[0].text.strip())


asyncio.run(main())
