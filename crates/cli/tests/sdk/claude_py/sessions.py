"""Sessions that are resumed, forked, and read from disk."""

import os
import uuid
from pathlib import Path

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeSDKClient,
    ConversationResetMessage,
    InMemorySessionStore,
    ProcessError,
    ResultError,
    UserMessage,
    get_session_info,
    get_session_messages,
    get_session_messages_from_store,
    get_subagent_messages,
    get_subagent_messages_from_store,
    list_sessions,
    list_subagents,
    list_subagents_from_store,
    query,
)

from kit import equal, options, result, run, turn


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


async def starts_another_conversation():
    async with ClaudeSDKClient(options()) as client:
        first = await turn(client, "remember anchors")
        cleared = await turn(client, "/clear")
        second = await turn(client, "what was it?")
    (reset,) = [message for message in cleared if isinstance(message, ConversationResetMessage)]
    equal(reset.session_id, result(first).session_id)
    equal([result(cleared).session_id, result(second).session_id], [reset.new_conversation_id] * 2)
    equal(result(second).result, "I was told nothing.")


async def resumes_at_a_message():
    async with ClaudeSDKClient(options()) as client:
        first = await turn(client, "remember tides")
        second = await turn(client, "which model?")
    name = result(second).session_id
    kept = [message.uuid for message in first if isinstance(message, AssistantMessage)][-1]
    dropped = get_session_messages(name)[2].uuid
    at = {"resume": name, "fork_session": True, "resume_session_at": kept}
    forked = await ask("what was it?", resume_drops_turn=dropped, **at)
    equal(result(forked).result, "It was tides.")
    prompts = [m.message["content"] for m in get_session_messages(result(forked).session_id) if m.type == "user"]
    equal(prompts, ["remember tides", "what was it?"])
    try:
        await ask("what was it?", resume_drops_turn=str(uuid.uuid4()), **at)
    except ProcessError as error:
        assert "Resume rejected by --resume-drops-turn:" in str(error), error
    else:
        raise AssertionError("another turn was dropped")


async def keeps_sessions_in_a_store():
    store = InMemorySessionStore()
    counter = AgentDefinition(description="Counts files", prompt="You count files.")
    bypass = {"agents": {"counter": counter}, "permission_mode": "bypassPermissions", "session_store": store}
    first = result(await ask("start an agent to count them", **bypass))
    (agent,) = await list_subagents_from_store(store, first.session_id)
    stored = await get_subagent_messages_from_store(store, first.session_id, agent)
    equal([message.type for message in stored], ["user", "assistant"])
    assert stored[0].parent_tool_use_id, stored
    second = result(await ask("which model?", resume=first.session_id, session_store=store))
    equal((second.session_id, second.result), (first.session_id, "I am the first model."))
    kept = await get_session_messages_from_store(store, first.session_id)
    equal([message.type for message in kept], ["user", "assistant", "user", "assistant", "user", "assistant"])


async def rewinds_files():
    more = {"permission_mode": "acceptEdits", "extra_args": {"replay-user-messages": None}}
    async with ClaudeSDKClient(options(enable_file_checkpointing=True, **more)) as client:
        first = await turn(client, "write first.txt")
        second = await turn(client, "write second.txt")
        Path("second.txt").write_text("mine")
        uuids = [next(m.uuid for m in messages if isinstance(m, UserMessage)) for messages in (first, second)]
        # Nothing can be restored: the file is the user's by now.
        try:
            await client.rewind_files(uuids[1])
            raise AssertionError("it is not restored")
        except AssertionError:
            raise
        except Exception as error:
            assert "second.txt (it has changed since)" in str(error), error
        await client.rewind_files(uuids[0])
        equal([Path("first.txt").exists(), Path("second.txt").read_text()], [False, "mine"])
        equal(result(await turn(client, "which model?")).result, "I am the first model.")


async def reports_its_context():
    async with ClaudeSDKClient(options()) as client:
        await turn(client, "which model?")
        usage = await client.get_context_usage()
    equal(usage["totalTokens"], sum(row["tokens"] for row in usage["categories"] if row["name"] != "Free space"))
    assert usage["totalTokens"] > 0 and usage["systemTools"], usage


run(
    resumes,
    refuses_to_resume_what_is_not_there,
    forks,
    reads_sessions_again,
    starts_another_conversation,
    resumes_at_a_message,
    keeps_sessions_in_a_store,
    rewinds_files,
    reports_its_context,
)
