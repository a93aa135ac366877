"""Shared helpers: options that select Bosun, one turn of a session, and one check chosen by name."""

import asyncio
import json
import os
import sys

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)


def options(**more):
    return ClaudeAgentOptions(cli_path=os.environ["CLAUDE_ADAPTER"], **more)


async def turn(client, prompt):
    """All messages from a prompt to its result."""
    await client.query(prompt)
    return [message async for message in client.receive_response()]


def result(messages):
    """The last result of a turn."""
    results = [message for message in messages if isinstance(message, ResultMessage)]
    assert results, messages
    return results[-1]


def blocks(messages, kind):
    """Every content block of a kind, in order."""
    talk = [message for message in messages if isinstance(message, AssistantMessage | UserMessage)]
    contents = [message.content for message in talk if isinstance(message.content, list)]
    return [block for content in contents for block in content if isinstance(block, kind)]


def assistant_texts(messages):
    return [block.text for block in blocks([m for m in messages if isinstance(m, AssistantMessage)], TextBlock)]


def calls(messages):
    return [(block.name, block.input) for block in blocks(messages, ToolUseBlock)]


def answers(messages):
    """The results of tools as plain text."""
    return [text(block.content) for block in blocks(messages, ToolResultBlock)]


def text(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def system(messages, subtype):
    """The payloads of the system messages of a subtype."""
    return [message.data for message in messages if isinstance(message, SystemMessage) and message.subtype == subtype]


def equal(seen, wanted, *context):
    assert seen == wanted, f"saw {seen!r}, wanted {wanted!r} {context!r}"


def run(*checks):
    """Runs the check that the command line names, within a minute."""
    named = {check.__name__: check for check in checks}
    check = named[sys.argv[1]]
    asyncio.run(asyncio.wait_for(check(), 60))
    print(json.dumps({"passed": check.__name__}))
