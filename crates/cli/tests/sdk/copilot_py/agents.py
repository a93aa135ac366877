"""Agents: the client's own, background agents, and how a client controls them."""

from copilot.rpc import (
    TasksCancelRequest,
    TasksRemoveRequest,
    TasksSendMessageRequest,
    TasksStartAgentRequest,
)
from copilot.session import PermissionHandler
from kit import EventRecorder, ask, in_order, run

USUAL = {"on_permission_request": PermissionHandler.approve_all}
POET = {
    "name": "poet",
    "display_name": "The poet",
    "description": "Writes verses",
    "prompt": "You are a poet.",
    "tools": ["view"],
}


async def an_agent_of_the_clients_own_does_a_task(client):
    async with await client.create_session(custom_agents=[POET], **USUAL) as session:
        recorder = EventRecorder(session)
        answer = await session.send_and_wait("ask the poet")
        assert answer.data.content == "The poet says: Roses are red."
        assert answer.agent_id is None
        started = recorder.all("subagent.started")[0]
        assert started.data.agent_name == "poet"
        agent_messages = [event for event in recorder.all("assistant.message") if event.agent_id == started.agent_id]
        assert [event.data.content for event in agent_messages] == ["Roses are red."]
        in_order(recorder.types, ["subagent.started", "subagent.completed", "session.idle"])


async def a_session_is_idle_when_its_agents_in_the_background_are(client):
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        assert await ask(session, "start slow work") == "All is in."
        assert len(recorder.all("session.idle")) == 1
        in_order(recorder.types, ["subagent.started", "subagent.completed", "session.idle"])
        kind = recorder.all("system.notification")[0].data.kind
        assert kind.agent_id == recorder.all("subagent.started")[0].agent_id


async def tasks_are_started_listed_written_to_and_cancelled(client):
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        tasks = session.rpc.tasks

        async def start(name):
            order = TasksStartAgentRequest(agent_type="general-purpose", name=name, prompt=f"be {name}")
            return (await tasks.start_agent(order)).agent_id

        async def find(id):
            return next((task for task in (await tasks.list()).tasks if task.id == id), None)

        ear = await start("ear")
        await recorder.first("assistant.message", lambda event: event.data.content == "I listen.")
        await recorder.first("session.idle")
        assert (await find(ear)).agent_type == "general-purpose"
        assert (await tasks.send_message(TasksSendMessageRequest(id=ear, message="hello ear"))).sent
        message = await recorder.first("assistant.message", lambda event: event.data.content == "I heard hello ear.")
        assert message.agent_id == ear

        stuck = await start("stuck")
        await recorder.first("subagent.started", lambda event: event.agent_id == stuck)
        assert (await find(stuck)).status.value == "running"
        assert (await tasks.cancel(TasksCancelRequest(id=stuck))).cancelled
        await recorder.first("subagent.completed", lambda event: event.agent_id == stuck)
        assert (await find(stuck)).status.value == "cancelled"
        assert (await tasks.remove(TasksRemoveRequest(id=stuck))).removed
        assert await find(stuck) is None


run([
    an_agent_of_the_clients_own_does_a_task,
    a_session_is_idle_when_its_agents_in_the_background_are,
    tasks_are_started_listed_written_to_and_cancelled,
])
