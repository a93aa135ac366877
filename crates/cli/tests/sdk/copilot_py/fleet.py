"""A fleet: the session is idle when it has ended."""

from copilot.rpc import FleetStartRequest
from copilot.session import PermissionHandler
from kit import EventRecorder, run


async def a_fleet_is_started_and_done_when_its_agents_are(client):
    async with await client.create_session(on_permission_request=PermissionHandler.approve_all) as session:
        recorder = EventRecorder(session)
        assert (await session.rpc.fleet.start(FleetStartRequest(prompt="bake a pizza"))).started
        await recorder.first("session.idle")
        assert len(recorder.all("subagent.started")) == len(recorder.all("subagent.completed")) == 3
        answers = [event for event in recorder.all("assistant.message") if event.agent_id is None]
        assert answers[-1].data.content == "It is baked."


run([a_fleet_is_started_and_done_when_its_agents_are])
