"""The life of a session: creation, turns, abort, deletion."""

import pathlib
from uuid import uuid4

from copilot.session import PermissionHandler
from kit import EventRecorder, ask, in_order, run

USUAL = {"on_permission_request": PermissionHandler.approve_all}
KEPT = str(uuid4())


async def the_server_answers_about_itself(client):
    assert "hello" in (await client.ping("hello")).message
    assert (await client.get_status()).protocol_version == 3
    assert (await client.get_auth_status()).isAuthenticated in (True, False)
    assert isinstance(await client.list_models(), list)


async def an_answer_is_streamed_in_pieces_then_told_whole(client):
    async with await client.create_session(streaming=True, **USUAL) as session:
        recorder = EventRecorder(session)
        answer = await session.send_and_wait("stream it")
        assert answer.data.content == "These words come in pieces."
        pieces = recorder.all("assistant.message_delta")
        assert len(pieces) > 1
        assert "".join(event.data.delta_content for event in pieces) == answer.data.content
        assert all(event.data.message_id == answer.data.message_id for event in pieces)
        in_order(recorder.types, ["user.message", "assistant.message_delta", "assistant.message", "session.idle"])


async def without_streaming_there_are_no_pieces(client):
    async with await client.create_session(session_id=KEPT, **USUAL) as session:
        assert session.session_id == KEPT
        recorder = EventRecorder(session)
        assert isinstance(await session.send("stream it"), str)
        await recorder.first("session.idle")
        assert recorder.all("assistant.message_delta") == []
        assert recorder.all("assistant.message")[0].data.content == "These words come in pieces."


async def an_abort_ends_the_turn_and_not_the_session(client):
    async with await client.create_session(streaming=True, **USUAL) as session:
        recorder = EventRecorder(session)
        await session.send("never end")
        await recorder.first("assistant.message_delta")
        await session.abort()
        assert (await recorder.first("session.idle")).data.aborted is True
        in_order(recorder.types, ["abort", "session.idle"])
        assert await ask(session, "still there?") == "You said: still there?"


async def what_fails_is_an_error_and_the_session_goes_on(client):
    async with await client.create_session(**USUAL) as session:
        try:
            await session.send_and_wait("fail")
            raise AssertionError("it did not fail")
        except AssertionError:
            raise
        except Exception as error:
            assert "the model is out of order" in str(error), error
        assert await ask(session, "again") == "You said: again"


async def a_message_for_a_busy_session_steers_it(client):
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        await session.send("count slowly")
        await recorder.first("tool.execution_start")
        await session.send("faster", mode="immediate")
        pathlib.Path("faster").touch()
        await recorder.first("assistant.message", lambda event: event.data.content == "You said: faster")
        await recorder.first("session.idle")


async def sessions_are_listed_read_and_deleted(client):
    listed = await client.list_sessions()
    assert len(listed) == 5, listed
    assert KEPT in [session.session_id for session in listed]
    assert (await client.get_session_metadata(KEPT)).session_id == KEPT
    assert await client.get_last_session_id() in [session.session_id for session in listed]
    async with await client.resume_session(KEPT, **USUAL) as session:
        history = await session.get_events()
        in_order([event.type.value for event in history], ["session.start", "user.message", "assistant.message"])
        assert len({event.id for event in history}) == len(history)
    await client.delete_session(KEPT)
    assert await client.get_session_metadata(KEPT) is None
    assert len(await client.list_sessions()) == 4


run([
    the_server_answers_about_itself,
    an_answer_is_streamed_in_pieces_then_told_whole,
    without_streaming_there_are_no_pieces,
    an_abort_ends_the_turn_and_not_the_session,
    what_fails_is_an_error_and_the_session_goes_on,
    a_message_for_a_busy_session_steers_it,
    sessions_are_listed_read_and_deleted,
])
