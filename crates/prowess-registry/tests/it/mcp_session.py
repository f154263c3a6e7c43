"""A session with a registry through the official SDK for Python: search, list, read, and what is refused."""

import sys

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


async def refusal(call):
    try:
        await call
    except MCPError as error:
        return str(error)
    return "nothing"


async def main(url):
    async with streamable_http_client(url) as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            started = await session.initialize()
            print("server", started.server_info.name)
            print("tools", *[tool.name for tool in (await session.list_tools()).tools])
            found = await session.call_tool("search_skills", {"query": "wether"})
            results = found.structured_content["results"]
            print("found", *[f"{it['name']} {it['version']} {it['uri']}" for it in results])
            listed = await session.list_resources()
            print("listed", *[str(it.uri) for it in listed.resources])
            text = (await session.read_resource("skill://acme/weather/SKILL.md")).contents[0].text
            print("read", text.splitlines()[1])
            notes = (await session.read_resource("skill://acme/weather/notes/a.md")).contents[0]
            print("file", notes.mime_type, notes.text.strip())
            for uri in ["skill://acme/secret/SKILL.md", "skill://acme/missing/SKILL.md", "skill://acme/weather/../x"]:
                print("refused", await refusal(session.read_resource(uri)))
            wrong = await session.call_tool("search_skills", {"query": "x", "limit": 1000})
            print("wrong", wrong.is_error, wrong.content[0].text)
            print("unknown", await refusal(session.call_tool("publish", {})))


anyio.run(main, sys.argv[1])
