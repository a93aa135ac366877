"""Hooks of a client: they observe calls, add context, change input and block."""

import os
from datetime import datetime
from pathlib import Path

from copilot.session import PermissionHandler
from kit import ask, run

SECRET = {"additionalContext": "the password is tulip"}


async def with_hooks(client, hooks, prompt):
    usual = {"on_permission_request": PermissionHandler.approve_all}
    async with await client.create_session(hooks=hooks, **usual) as session:
        return await ask(session, prompt)


async def a_call_is_blocked_with_a_reason(client):
    inputs = []

    def block(given, invocation):
        inputs.append(given)
        return {"permissionDecision": "deny", "permissionDecisionReason": "no files on Sundays"}

    answer = await with_hooks(client, {"on_pre_tool_use": block}, "write blocked.txt")
    assert answer.startswith("Denied: ") and "no files on Sundays" in answer, answer
    assert not Path("blocked.txt").exists()
    assert (inputs[0]["toolName"], inputs[0]["toolArgs"]["path"]) == ("create", "blocked.txt")
    assert isinstance(inputs[0]["timestamp"], datetime)
    assert inputs[0]["workingDirectory"] == os.getcwd()


async def the_arguments_of_a_call_are_changed(client):
    def change(given, invocation):
        return {"permissionDecision": "allow", "modifiedArgs": {**given["toolArgs"], "path": "other.txt"}}

    assert await with_hooks(client, {"on_pre_tool_use": change}, "write asked.txt") == "It is written."
    assert not Path("asked.txt").exists() and Path("other.txt").exists()


async def context_is_added_to_a_prompt_to_a_beginning_and_to_a_result(client):
    for name in ["on_user_prompt_submitted", "on_session_start"]:
        answer = await with_hooks(client, {name: lambda given, invocation: SECRET}, "do you know it?")
        assert answer == "I know: tulip.", (name, answer)
    hooks = {"on_post_tool_use": lambda given, invocation: SECRET}
    assert await with_hooks(client, hooks, "write known.txt") == "I know: tulip."
    assert await with_hooks(client, {}, "do you know it?") == "I know nothing."


async def an_agent_that_stops_is_sent_on_once(client):
    stops = []

    def send_on(given, invocation):
        stops.append(given["stopHookActive"])
        return None if given["stopHookActive"] else {"decision": "block", "reason": "write more.txt"}

    assert await with_hooks(client, {"on_agent_stop": send_on}, "do you know it?") == "It is written."
    assert stops == [False, True]
    assert Path("more.txt").exists()


async def the_agents_of_a_session_are_told_as_they_come_and_go(client):
    hook_calls = []
    hooks = {
        "on_subagent_start": lambda given, invocation: hook_calls.append(("start", given["agentType"])),
        "on_subagent_stop": lambda given, invocation: hook_calls.append(("stop", given["agentType"])),
    }
    assert await with_hooks(client, hooks, "send somebody") == "Somebody came back."
    assert hook_calls == [("start", "general-purpose"), ("stop", "general-purpose")], hook_calls


run([
    a_call_is_blocked_with_a_reason,
    the_arguments_of_a_call_are_changed,
    context_is_added_to_a_prompt_to_a_beginning_and_to_a_result,
    an_agent_that_stops_is_sent_on_once,
    the_agents_of_a_session_are_told_as_they_come_and_go,
])
