"""An MCP server of the official Python SDK: on standard streams, or with a port over HTTP."""
import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("python")


@server.tool()
async def echo(text: str, n: int) -> str:
    return f"{text} {n}"


@server.tool()
async def work(n: int, ctx: Context) -> str:
    for i in range(n):
        await ctx.report_progress(i + 1, n, "step")
    return "worked"


@server.tool()
async def fail() -> str:
    raise ValueError("it failed")


@server.tool()
async def forbidden() -> str:
    return "REACHED"


@server.resource("note://open")
async def note() -> str:
    return "content"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run()
