"""From a program's first call of the SDK to the first words of the answer, in milliseconds."""

import asyncio
import os
import time

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, query


async def main():
    began = time.perf_counter()
    options = ClaudeAgentOptions(cli_path=os.environ["ADAPTER"])
    async for message in query(prompt="hello", options=options):
        if isinstance(message, AssistantMessage):
            print((time.perf_counter() - began) * 1000, flush=True)


asyncio.run(main())
