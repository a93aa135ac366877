"""One server on a port, and two clients that watch one session."""

from copilot import CopilotClient, RuntimeConnection
from copilot.session import PermissionHandler
from kit import EventRecorder, ask, run

TOKEN = "a-token-of-both"


def kept(recorder):
    return [event.id for event in recorder.events if not event.ephemeral]


async def both_see_the_same_in_the_same_order_and_either_may_decide(client):
    uri = RuntimeConnection.for_uri(f"127.0.0.1:{client.runtime_port}", connection_token=TOKEN)
    async with await client.create_session() as mine:
        here = EventRecorder(mine)
        async with CopilotClient(connection=uri) as other:
            approve = {"on_permission_request": PermissionHandler.approve_all}
            theirs = await other.resume_session(mine.session_id, **approve)
            there = EventRecorder(theirs)
            await mine.send("write shared.txt")
            await here.first("session.idle")
            await there.first("session.idle")
            assert kept(there) == kept(here)[kept(here).index(kept(there)[0]):]
            assert there.all("assistant.message")[-1].data.content == "It is written."
        assert await ask(mine, "alone") == "You said: alone"


run(
    [both_see_the_same_in_the_same_order_and_either_may_decide],
    connection=RuntimeConnection.for_tcp(connection_token=TOKEN),
)
