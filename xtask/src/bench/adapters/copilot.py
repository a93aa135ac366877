"""From a program's first call of the SDK to the first words of the answer, in milliseconds."""

import asyncio
import os
import time

from copilot import CopilotClient
from copilot.session import PermissionHandler
from copilot.session_events import AssistantMessageData, SessionIdleData


async def main():
    began = time.perf_counter()
    async with CopilotClient() as client:
        config = {"on_permission_request": PermissionHandler.approve_all}
        if url := os.environ.get("PROVIDER_URL"):
            key = os.environ["PROVIDER_KEY"]
            config["provider"] = {"type": "anthropic", "base_url": url, "api_key": key}
            config["model"] = os.environ["PROVIDER_MODEL"]
        async with await client.create_session(**config) as session:
            idle = asyncio.Event()

            def listen(event):
                match event.data:
                    case AssistantMessageData():
                        print((time.perf_counter() - began) * 1000, flush=True)
                    case SessionIdleData():
                        idle.set()

            session.on(listen)
            await session.send("hello")
            await idle.wait()


asyncio.run(main())
