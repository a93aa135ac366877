"""A server with FastMCP: `fast.py stdio`, or `fast.py http`, which prints its URL. Its tool `work` runs as a task."""

import asyncio
import socket
import sys
from datetime import timedelta

import uvicorn
from fastmcp import FastMCP
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension

server = FastMCP("fast")
server.add_extension(TasksExtension())


@server.tool(description="Adds two numbers.")
def add(a: int, b: int) -> str:
    return f"the sum is {a + b}"


@server.tool(description="Fails.")
def fail() -> str:
    raise ValueError("out of paper")


@server.tool(description="Works.", task=TaskConfig(mode="required", poll_interval=timedelta(milliseconds=100)))
async def work(steps: int) -> str:
    for _step in range(steps):
        await asyncio.sleep(0.05)
    return f"worked {steps} steps"


def listening() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen()
    print(f"http://127.0.0.1:{sock.getsockname()[1]}/mcp", flush=True)
    return sock


if sys.argv[1] == "http":
    uvicorn.Server(uvicorn.Config(server.http_app(), log_level="warning")).run(sockets=[listening()])
else:
    server.run("stdio", show_banner=False)
