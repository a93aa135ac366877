"""Turns: the messages during a turn and at its end, and what ends a turn early."""

from pathlib import Path

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultError,
    StreamEvent,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
    query,
)

from kit import answers, assistant_texts, calls, equal, options, result, run, system, turn


async def streams():
    messages = [m async for m in query(prompt="stream a sentence", options=options(include_partial_messages=True))]
    sentence = "A sentence that arrives in several pieces."
    events = [message.event for message in messages if isinstance(message, StreamEvent)]
    kinds = [event["type"] for event in events]
    equal(kinds[0], "message_start")
    equal(kinds[-1], "message_stop")
    deltas = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    equal("".join(deltas), sentence)
    assert len(deltas) > 1, deltas
    equal(assistant_texts(messages), [sentence])
    (init,) = system(messages, "init")
    assert {"Bash", "Read", "Edit", "Write", "Task"} <= set(init["tools"]), init["tools"]
    equal(init["cwd"], str(Path.cwd()))
    end = result(messages)
    equal((end.subtype, end.is_error, end.result, end.num_turns), ("success", False, sentence, 1))
    equal(end.session_id, init["session_id"])
    equal((end.usage["input_tokens"], end.usage["output_tokens"]), (100, 20))
    assert end.total_cost_usd > 0, end
    assert end.duration_ms >= 0 and end.model_usage, end


async def converses():
    async with ClaudeSDKClient(options()) as client:
        first = await turn(client, "remember anchors")
        second = await turn(client, "what was it?")
    equal((result(first).result, result(second).result), ("I will remember anchors.", "It was anchors."))
    equal(result(first).session_id, result(second).session_id)
    assert system(first, "init") and system(second, "init"), "every turn begins with what holds for it"


async def takes_a_stream_of_prompts():
    async def prompts():
        for text in ["remember ropes", "what was it?"]:
            content = [{"type": "text", "text": text}]
            yield {"type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": None}

    messages = [message async for message in query(prompt=prompts(), options=options())]
    equal(assistant_texts(messages), ["I will remember ropes.", "It was ropes."])


async def sends_one_frame_per_block():
    async with ClaudeSDKClient(options(permission_mode="bypassPermissions")) as client:
        messages = await turn(client, "two at once")
    assistant_messages = [message for message in messages if isinstance(message, AssistantMessage)]
    kinds = [[type(block) for block in message.content] for message in assistant_messages]
    equal(kinds, [[ThinkingBlock], [TextBlock], [ToolUseBlock], [ToolUseBlock], [TextBlock]])
    equal(len({message.message_id for message in assistant_messages[:4]}), 1)
    equal(calls(messages), [("Bash", {"command": "echo one"}), ("Bash", {"command": "echo two"})])
    equal(["one" in answers(messages)[0], "two" in answers(messages)[1]], [True, True], answers(messages))
    equal((result(messages).result, result(messages).num_turns), ("Both are done.", 2))


async def switches_the_model():
    Path("second.yaml").write_text("version: 1\nrules:\n  - answer:\n      - say: I am the second model.\n")
    async with ClaudeSDKClient(options()) as client:
        first = await turn(client, "which model?")
        await client.set_model("script/second.yaml")
        second = await turn(client, "which model?")
    equal((result(first).result, result(second).result), ("I am the first model.", "I am the second model."))
    assert "second.yaml" in system(second, "init")[0]["model"], system(second, "init")


async def interrupts():
    async with ClaudeSDKClient(options(permission_mode="bypassPermissions")) as client:
        await client.query("work for ever")
        async for message in client.receive_messages():
            if isinstance(message, AssistantMessage) and calls([message]):
                break
        await client.interrupt()
        stopped = [message async for message in client.receive_response()]
        equal(result(stopped).subtype, "error_during_execution")
        equal(result(await turn(client, "remember that")).result, "I will remember that.")


async def limits_turns():
    limited = options(max_turns=2, permission_mode="bypassPermissions")
    messages = []
    try:
        async for message in query(prompt="go on and on", options=limited):
            messages.append(message)
    except ResultError as error:
        equal(error.exit_code, 1)
    else:
        raise AssertionError("the error of a result is raised")
    end = result(messages)
    equal((end.subtype, end.is_error, end.num_turns), ("error_max_turns", True, 3))


async def limits_money():
    limited = options(max_budget_usd=4.0, permission_mode="bypassPermissions")
    messages = []
    try:
        async for message in query(prompt="spend a fortune", options=limited):
            messages.append(message)
    except ResultError:
        pass
    end = result(messages)
    equal((end.subtype, end.is_error), ("error_max_budget_usd", True))


run(
    streams,
    converses,
    takes_a_stream_of_prompts,
    sends_one_frame_per_block,
    switches_the_model,
    interrupts,
    limits_turns,
    limits_money,
)
