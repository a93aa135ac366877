"""A server with the Python SDK 1.x: `sdk_py_1.py stdio`, or `sdk_py_1.py http`, which prints its URL."""

import socket
import sys

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

server = FastMCP("sdk-py-1", log_level="WARNING")


class Name(BaseModel):
    name: str


@server.tool(description="Adds two numbers.")
def add(a: int, b: int) -> str:
    return f"the sum is {a + b}"


@server.tool(description="Fails.")
def fail() -> str:
    raise ValueError("out of paper")


@server.tool(description="Names the revision.")
def revision() -> str:
    return "2025-11-25"


@server.tool(description="Asks the user.")
async def ask(context: Context) -> str:
    return (await context.elicit("Who are you?", Name)).action


@server.tool(description="Reports progress.")
async def count(context: Context) -> str:
    for step in range(3):
        await context.report_progress(step + 1, 3)
    return "counted to 3"


if sys.argv[1] == "http":
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    print(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run(sockets=[sock])
else:
    server.run()
