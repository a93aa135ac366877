"""A session whose client or adapter is killed, and a program that continues it."""

import asyncio
import os
import signal
from pathlib import Path

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeSDKClient,
    ProcessError,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    get_session_messages,
)

from kit import equal, options, run, turn

SESSION = "01900000-0000-7000-8000-00000000c1a0"
COUNTER = AgentDefinition(description="Counts files", prompt="You count files.")
PROMPTS = ["remember cargo", "start an agent to count slowly behind you", "work for ever"]


def kept(**more):
    return options(agents={"counter": COUNTER}, permission_mode="bypassPermissions", **more)


async def begin(client):
    """Two turns, an agent in the background, and a turn that does not end."""
    for prompt in PROMPTS[:2]:
        await turn(client, prompt)
    await client.query(PROMPTS[2])


async def works_until_it_is_killed():
    async with ClaudeSDKClient(kept(session_id=SESSION)) as client:
        await begin(client)
        async for _message in client.receive_messages():
            pass


async def goes_on():
    async with ClaudeSDKClient(kept(resume=SESSION)) as client:
        await client.query("what was it?")
        started, ended, results = [], [], []
        async for message in client.receive_messages():
            if isinstance(message, TaskStartedMessage):
                started.append(message.task_id)
            elif isinstance(message, TaskNotificationMessage):
                ended.append((message.task_id, message.status))
            elif isinstance(message, ResultMessage):
                results.append(message)
                if message.result == "It was cargo.":
                    Path("go").touch()
            if any((message.origin or {}).get("kind") == "task-notification" for message in results):
                break
    assert "It was cargo." in [message.result for message in results], results
    equal(ended, [(task, "completed") for task in started])
    equal(len(started), 1)
    assert "counted slowly" in results[-1].result, results
    check_prompts(get_session_messages(SESSION))


def check_prompts(messages):
    """Checks that every prompt is there once, in order."""
    contents = [message.message["content"] for message in messages if message.type == "user"]
    prompts = [content for content in contents if content in [*PROMPTS, "what was it?"]]
    equal(prompts, [*PROMPTS, "what was it?"])


async def outlives_its_adapter():
    client = ClaudeSDKClient(kept(session_id=SESSION))
    await client.connect()
    adapter = (await client.get_server_info())["pid"]
    await begin(client)
    while not Path("working").exists():
        await asyncio.sleep(0.005)
    os.kill(adapter, signal.SIGKILL)
    try:
        async for _message in client.receive_messages():
            pass
    except ProcessError as error:
        equal(error.exit_code, -signal.SIGKILL)
    else:
        raise AssertionError("the adapter was killed")
    finally:
        await client.disconnect()
    await goes_on()


run(works_until_it_is_killed, goes_on, outlives_its_adapter)
