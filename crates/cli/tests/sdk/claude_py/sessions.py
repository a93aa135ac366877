"""Sessions that are resumed, forked, and read from disk."""

import os
import uuid

from claude_agent_sdk import (
    AgentDefinition,
    ResultError,
    get_session_info,
    get_session_messages,
    get_subagent_messages,
    list_sessions,
    list_subagents,
    query,
)

from kit import equal, options, result, run, system


async def ask(prompt, **more):
    return [message async for message in query(prompt=prompt, options=options(**more))]


async def resumes():
    name = str(uuid.uuid4())
    first = await ask("remember harbours", session_id=name)
    second = await ask("what was it?", resume=name)
    third = await ask("what was it?", continue_conversation=True)
    equal([result(turn).session_id for turn in (first, second, third)], [name, name, name])
    equal((result(second).result, result(third).result), ("It was harbours.", "It was harbours."))


async def refuses_to_resume_what_is_not_there():
    missing = str(uuid.uuid4())
    try:
        await ask("what was it?", resume=missing)
    except ResultError as error:
        assert missing in str(error), error
    else:
        raise AssertionError("there is no such session")


async def forks():
    first = result(await ask("remember lanterns"))
    copy = await ask("what was it?", resume=first.session_id, fork_session=True)
    equal(result(copy).result, "It was lanterns.")
    assert result(copy).session_id != first.session_id
    equal(len(get_session_messages(first.session_id)), 2)
    equal(len(get_session_messages(result(copy).session_id)), 4)


async def reads_sessions_again():
    counter = AgentDefinition(description="Counts files", prompt="You count files.")
    messages = await ask("start an agent to count them", agents={"counter": counter}, permission_mode="bypassPermissions")
    name = result(messages).session_id
    (listed,) = list_sessions(directory=os.getcwd())
    equal(listed.session_id, name)
    equal((listed.first_prompt, get_session_info(name).session_id), ("start an agent to count them", name))
    kept = get_session_messages(name)
    equal([message.type for message in kept], ["user", "assistant", "user", "assistant"])
    equal(kept[0].message["content"], "start an agent to count them")
    (agent,) = list_subagents(name)
    agent_messages = get_subagent_messages(name, agent)
    equal([message.type for message in agent_messages], ["user", "assistant"])
    assert "There are 12 files." in str(agent_messages[1].message["content"]), agent_messages
    equal(agent_messages[0].parent_tool_use_id, kept[1].message["content"][0]["id"])


run(resumes, refuses_to_resume_what_is_not_there, forks, reads_sessions_again)
