"""MCP servers of a client. `MCP_SERVER` and `MCP_URL` name a server that adds numbers."""

import asyncio
import json
import os

from copilot.rpc import MCPDisableRequest, MCPEnableRequest, MCPListToolsRequest
from copilot.session import PermissionHandler
from kit import PATIENCE, EventRecorder, ask, run

SERVER = json.loads(os.environ["MCP_SERVER"])
PROGRAM = {"type": "local", "command": SERVER["command"], "args": SERVER["args"], "tools": ["*"]}
HEADERS = {"Authorization": "Bearer t1"}
REMOTE = {"type": "http", "url": os.environ["MCP_URL"], "headers": HEADERS, "tools": ["*"]}
USUAL = {"on_permission_request": PermissionHandler.approve_all}


async def settles(session, name, wanted):
    """A server, once it has this state."""
    async with asyncio.timeout(PATIENCE):
        while True:
            servers = (await session.rpc.mcp.list()).servers
            found = next((server for server in servers if server.name == name), None)
            if found is not None and found.status.value == wanted:
                return found
            await asyncio.sleep(0.02)


async def programs_and_addresses_are_servers_of_the_session(client):
    for server in (PROGRAM, REMOTE):
        async with await client.create_session(mcp_servers={"calc": server}, **USUAL) as session:
            await settles(session, "calc", "connected")
            tools = (await session.rpc.mcp.list_tools(MCPListToolsRequest(server_name="calc"))).tools
            assert "add" in [tool.name for tool in tools], tools
            assert await ask(session, "add two and three") == "The sum: the sum is 5"


async def a_server_that_does_not_work_says_why(client):
    broken = {"type": "local", "command": "no-such-program", "args": [], "tools": ["*"]}
    async with await client.create_session(mcp_servers={"broken": broken}, **USUAL) as session:
        failed = await settles(session, "broken", "failed")
        assert "no-such-program" in failed.error, failed
        assert await ask(session, "hello") == "You said: hello"


async def a_server_is_disabled_and_enabled(client):
    async with await client.create_session(mcp_servers={"calc": PROGRAM}, **USUAL) as session:
        recorder = EventRecorder(session)
        await settles(session, "calc", "connected")
        await session.rpc.mcp.disable(MCPDisableRequest(server_name="calc"))
        await settles(session, "calc", "disabled")
        assert (await ask(session, "add two and three")).startswith("It failed: ")
        await session.rpc.mcp.enable(MCPEnableRequest(server_name="calc"))
        await settles(session, "calc", "connected")
        await recorder.first("session.mcp_server_status_changed", lambda event: event.data.status.value == "connected")
        assert await ask(session, "add two and three") == "The sum: the sum is 5"


async def an_agent_has_a_server_of_its_own(client):
    adder = {"name": "adder", "description": "Adds", "prompt": "You add.", "mcp_servers": {"calc": PROGRAM}}
    async with await client.create_session(custom_agents=[adder], **USUAL) as session:
        assert (await ask(session, "add two and three")).startswith("It failed: ")
        assert "the sum is 5" in await ask(session, "have it added")


run([
    programs_and_addresses_are_servers_of_the_session,
    a_server_that_does_not_work_says_why,
    a_server_is_disabled_and_enabled,
    an_agent_has_a_server_of_its_own,
])
