"""A first program with the Claude Agent SDK for Python: one question, one talk, a tool and a hook of its own.

Only `cli_path` is about Bosun.
"""

import asyncio
import os

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    query,
    tool,
)

BOSUN = os.environ["CLAUDE_ADAPTER"]


def show(message):
    if isinstance(message, AssistantMessage):
        for block in message.content:
            if isinstance(block, TextBlock):
                print("Agent:", block.text)
    elif isinstance(message, ResultMessage):
        print("Turns:", message.num_turns)


async def one_question():
    options = ClaudeAgentOptions(
        system_prompt="You answer in one sentence.",
        max_turns=3,
        cli_path=BOSUN,
    )
    async for message in query(prompt="What is two and two?", options=options):
        show(message)


async def files():
    options = ClaudeAgentOptions(
        allowed_tools=["Read", "Write", "Bash"],
        permission_mode="acceptEdits",
        cwd=os.getcwd(),
        cli_path=BOSUN,
    )
    async for message in query(prompt="Make a file hello.txt", options=options):
        show(message)


@tool("greet", "Greets somebody by name", {"name": str})
async def greet(args):
    return {"content": [{"type": "text", "text": f"Hello, {args['name']}!"}]}


async def look_at_commands(input_data, tool_use_id, context):
    if "rm -rf" not in input_data["tool_input"].get("command", ""):
        return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "that command removes too much",
        }
    }


async def one_talk():
    options = ClaudeAgentOptions(
        mcp_servers={"tools": create_sdk_mcp_server(name="tools", version="1.0.0", tools=[greet])},
        allowed_tools=["mcp__tools__greet", "Bash"],
        hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[look_at_commands])]},
        cli_path=BOSUN,
    )
    async with ClaudeSDKClient(options=options) as client:
        for prompt in ["Greet Alice", "Clean up with rm -rf"]:
            await client.query(prompt)
            async for message in client.receive_response():
                show(message)


async def main():
    await one_question()
    await files()
    await one_talk()


asyncio.run(main())
