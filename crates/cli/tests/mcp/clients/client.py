"""The client of the Python SDK, and that of fastmcp, which speak both revisions. Prints what it saw as JSON."""

import asyncio
import json
import sys

TARGET, LIBRARY, MODE = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
HEADERS = {"Authorization": f"Bearer {TARGET.get('token')}"}


def sdk_client():
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    if "url" not in TARGET:
        return Client(StdioServerParameters(**TARGET), mode=MODE)
    http = create_mcp_http_client(headers=HEADERS)
    return Client(streamable_http_client(TARGET["url"], http_client=http), mode=MODE)


def fast_client():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if "url" not in TARGET:
        return Client(StdioTransport(**TARGET), mode=MODE)
    return Client(StreamableHttpTransport(TARGET["url"], headers=HEADERS), mode=MODE)


async def main():
    is_sdk = LIBRARY == "sdk"
    async with (sdk_client() if is_sdk else fast_client()) as client:

        async def call(name, arguments, **options):
            result = await client.call_tool(name, arguments, **options)
            return result.structured_content, result.is_error

        tools = await client.list_tools()
        names = [tool.name for tool in (tools.tools if is_sdk else tools)]
        assert "start_agent" in names and "answer_ask" not in names, names
        started, _ = await call("start_agent", {"prompt": "say hello", "wait_seconds": 60})
        assert started["status"] == "completed", started
        read, _ = await call("read_agent", {"session": started["session"], "turns_after": 0})
        assert len(read["turns"]) == 1, read
        unknown = {"session": "ses-01900000-0000-7000-8000-000000000001"}
        _, failed = await call("read_agent", unknown, **({} if is_sdk else {"raise_on_error": False}))
        assert failed
        print(json.dumps({"session": started["session"], "text": started["text"]}))


asyncio.run(main())
