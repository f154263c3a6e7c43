"""A server on the official SDK for Python, with one tool: over standard streams, or over HTTP on a port."""

import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("sdk")

@server.tool()
def say(text: str) -> dict[str, str]:
    """Says a text."""
    return {"said": text}

if sys.argv[1] == "stdio":
    server.run(transport="stdio")
else:
    server.run(transport="streamable-http", port=int(sys.argv[2]))
