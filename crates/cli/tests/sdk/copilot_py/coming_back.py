"""A client that finds a session that another client left unfinished, and continues it."""

import os

from copilot import RuntimeConnection
from copilot.session import PermissionHandler
from kit import EventRecorder, in_order, run

FOUND = {}


async def everything_is_there_in_order(client):
    usual = {"on_permission_request": PermissionHandler.approve_all}
    session = await client.resume_session(os.environ["SESSION"], continue_pending_work=True, **usual)
    recorder = EventRecorder(session)
    tasks = (await session.rpc.tasks.list()).tasks
    assert [task.description for task in tasks if task.type == "agent"] == ["Looks around"], tasks
    before = await session.get_events()
    in_order([event.type.value for event in before], ["session.start", "user.message", "subagent.started"])
    assert sorted(event.timestamp for event in before) == [event.timestamp for event in before]
    FOUND.update(session=session, recorder=recorder, before=before)


async def it_goes_on(client):
    session, recorder, before = FOUND["session"], FOUND["recorder"], FOUND["before"]
    if os.environ.get("LEFT") == "running":
        await recorder.first("session.idle")
    await session.send("are you there?")
    await recorder.first("assistant.message", lambda event: event.data.content == "I am here.")
    after = await session.get_events()
    assert [event.id for event in after[: len(before)]] == [event.id for event in before]
    await session.disconnect()


server = os.environ.get("SERVER")
there = {"connection": RuntimeConnection.for_uri(server, connection_token=os.environ["TOKEN"])} if server else {}
run([everything_is_there_in_order, it_goes_on], **there)
