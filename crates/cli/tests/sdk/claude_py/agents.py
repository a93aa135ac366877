"""Agents of the program's own: in the foreground, in the background, and stopped."""

from pathlib import Path

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeSDKClient,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    query,
)

from kit import answers, assistant_texts, calls, equal, options, result, run, system, turn

COUNTER = AgentDefinition(description="Counts files", prompt="You count files.", tools=["Bash", "Read"])


def with_counter(**more):
    return options(agents={"counter": COUNTER}, permission_mode="bypassPermissions", **more)


def kind(messages, wanted):
    return [message for message in messages if isinstance(message, wanted)]


async def starts_an_agent_of_the_program():
    async with ClaudeSDKClient(with_counter(forward_subagent_text=True)) as client:
        messages = await turn(client, "start an agent to count them")
    assert "counter" in system(messages, "init")[0]["agents"], system(messages, "init")
    (call,) = calls(messages)
    equal((call[0], call[1]["subagent_type"], call[1]["prompt"]), ("Agent", "counter", "count them"))
    (started,) = kind(messages, TaskStartedMessage)
    equal((started.description, started.task_type), ("Counts files", "local_agent"))
    (ended,) = kind(messages, TaskNotificationMessage)
    equal((ended.task_id, ended.status), (started.task_id, "completed"))
    of_agent = [message for message in kind(messages, AssistantMessage) if message.parent_tool_use_id]
    equal(assistant_texts(of_agent), ["There are 12 files."])
    equal({message.parent_tool_use_id for message in of_agent}, {started.tool_use_id})
    assert "There are 12 files." in answers(messages)[0], answers(messages)


async def wakes_for_an_agent_in_the_background():
    messages = []
    async for message in query(prompt="start an agent to count slowly behind you", options=with_counter()):
        messages.append(message)
        if isinstance(message, ResultMessage):
            Path("go").touch()
    first, second = kind(messages, ResultMessage)
    equal((first.origin, (second.origin or {}).get("kind")), (None, "task-notification"))
    assert "counted slowly" in second.result, second
    (ended,) = kind(messages, TaskNotificationMessage)
    equal(ended.status, "completed")
    at = [messages.index(message) for message in (first, ended, second)]
    equal(at, sorted(at))


async def stops_an_agent():
    async with ClaudeSDKClient(with_counter()) as client:
        messages = await turn(client, "start an agent to count for ever behind you")
        (started,) = kind(messages, TaskStartedMessage)
        await client.stop_task(started.task_id)
        async for message in client.receive_messages():
            messages.append(message)
            if isinstance(message, TaskNotificationMessage):
                break
    statuses = [message.status for message in kind(messages, TaskUpdatedMessage) if message.status]
    equal(statuses[-1], "killed")
    (ended,) = kind(messages, TaskNotificationMessage)
    equal((ended.task_id, ended.status), (started.task_id, "stopped"))


run(starts_an_agent_of_the_program, wakes_for_an_agent_in_the_background, stops_an_agent)
