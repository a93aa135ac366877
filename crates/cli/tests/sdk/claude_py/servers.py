"""MCP servers that are programs or are reached by URL. `MCP_SERVER` and `MCP_URL` name a server that adds numbers."""

import json
import os

from claude_agent_sdk import AgentDefinition, ClaudeSDKClient

from kit import answers, equal, options, result, run, system, turn

PROGRAM = json.loads(os.environ["MCP_SERVER"])
URL = {"type": "http", "url": os.environ["MCP_URL"], "headers": {"Authorization": "Bearer t1"}}


def states(servers):
    return {server["name"]: server["status"] for server in servers}


async def uses_servers_outside_the_program():
    for server in (PROGRAM, URL):
        wanted = options(mcp_servers={"calc": server}, allowed_tools=["mcp__calc__add"])
        async with ClaudeSDKClient(wanted) as client:
            messages = await turn(client, "add two and three")
            (status,) = (await client.get_mcp_status())["mcpServers"]
        init = system(messages, "init")[0]
        equal(states(init["mcp_servers"]), {"calc": "connected"})
        assert "mcp__calc__add" in init["tools"], init
        equal(result(messages).result, "The sum: the sum is 5")
        equal((status["status"], status["serverInfo"]["name"]), ("connected", "scripted"))
        assert "add" in [tool["name"] for tool in status["tools"]], status


async def reports_servers_that_do_not_work():
    servers = {
        "missing": {"command": "no-such-program"},
        "old": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
        "locked": {"type": "http", "url": os.environ["MCP_URL"]},
    }
    async with ClaudeSDKClient(options(mcp_servers=servers)) as client:
        messages = await turn(client, "remember this")
        status = (await client.get_mcp_status())["mcpServers"]
    wanted = {"missing": "failed", "old": "failed", "locked": "needs-auth"}
    equal(states(system(messages, "init")[0]["mcp_servers"]), wanted)
    errors = {server["name"]: server["error"] for server in status}
    assert "no-such-program" in errors["missing"] and "sse" in errors["old"], errors
    equal(result(messages).result, "I will remember this.")


async def switches_a_server_off_and_on():
    wanted = options(mcp_servers={"calc": PROGRAM}, allowed_tools=["mcp__calc__add"])
    async with ClaudeSDKClient(wanted) as client:
        await client.toggle_mcp_server("calc", enabled=False)
        off = await turn(client, "add two and three")
        equal(states((await client.get_mcp_status())["mcpServers"]), {"calc": "disabled"})
        await client.toggle_mcp_server("calc", enabled=True)
        await client.reconnect_mcp_server("calc")
        equal(states((await client.get_mcp_status())["mcpServers"]), {"calc": "connected"})
        on = await turn(client, "add two and three")
    assert "sum is" not in answers(off)[0], answers(off)
    equal(result(on).result, "The sum: the sum is 5")


async def gives_an_agent_a_server_of_its_own():
    adder = AgentDefinition(description="Adds", prompt="You add.", mcpServers=[{"calc": PROGRAM}])
    wanted = options(agents={"adder": adder}, permission_mode="bypassPermissions")
    async with ClaudeSDKClient(wanted) as client:
        own = await turn(client, "add two and three")
        messages = await turn(client, "start an agent to add")
    assert "There is no tool" in answers(own)[0], answers(own)
    assert "the sum is 5" in answers(messages)[-1], answers(messages)


run(
    uses_servers_outside_the_program,
    reports_servers_that_do_not_work,
    switches_a_server_off_and_on,
    gives_an_agent_a_server_of_its_own,
)
