"""From a program's first call of the SDK to the first words of the answer, in milliseconds."""

import asyncio
import time

from copilot import CopilotClient
from copilot.session import PermissionHandler
from copilot.session_events import AssistantMessageData, SessionIdleData


async def main():
    began = time.perf_counter()
    async with CopilotClient() as client:
        approve = PermissionHandler.approve_all
        async with await client.create_session(on_permission_request=approve) as session:
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
