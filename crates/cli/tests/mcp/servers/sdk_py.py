"""A server with the Python SDK: `sdk_py.py stdio`, or `sdk_py.py http`, which prints its URL. It speaks both revisions,
or only that with a handshake: `sdk_py.py stdio session`."""

import socket
import sys
from typing import Annotated

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

server = MCPServer("sdk-py", log_level="WARNING")


class Name(BaseModel):
    name: str


async def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


@server.tool(description="Adds two numbers.")
def add(a: int, b: int) -> str:
    return f"the sum is {a + b}"


@server.tool(description="Fails.")
def fail() -> str:
    raise ToolError("out of paper")


@server.tool(description="Names the revision.")
def revision(context: Context) -> str:
    return context.protocol_version or "none"


@server.tool(description="Asks the user.")
async def ask(name: Annotated[ElicitationResult[Name], Resolve(who)]) -> str:
    return name.action


@server.tool(description="Reports progress.")
async def count(context: Context) -> str:
    for step in range(3):
        await context.report_progress(step + 1, 3)
    return "counted to 3"


def listening() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    print(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp", flush=True)
    return sock


async def serve_sessions() -> None:
    low = server._lowlevel_server
    async with stdio_server() as (read, write), low.lifespan(low) as state:
        await serve_loop(low, read, write, lifespan_state=state)


match sys.argv[1:]:
    case ["http"]:
        app = server.streamable_http_app()
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening()])
    case ["stdio", "session"]:
        anyio.run(serve_sessions)
    case _:
        server.run()
