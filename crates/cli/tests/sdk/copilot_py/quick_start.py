"""The first steps with the SDK: a client, a session, a question, its answer."""

import asyncio

from copilot import CopilotClient
from copilot.session import PermissionHandler
from copilot.session_events import AssistantMessageData, SessionIdleData


async def main():
    async with CopilotClient() as client:
        approve = PermissionHandler.approve_all
        async with await client.create_session(model="gpt-5", on_permission_request=approve) as session:
            finished = asyncio.Event()

            def listen(event):
                match event.data:
                    case AssistantMessageData() as message:
                        print(message.content)
                    case SessionIdleData():
                        finished.set()

            session.on(listen)
            await session.send("What is 2+2?")
            await finished.wait()


asyncio.run(main())
