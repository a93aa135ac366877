"""Sessions that are resumed, forked, continued with another model, or asked for structured output."""

import os

from copilot.rpc import SessionsForkRequest
from copilot.session import PermissionHandler
from kit import EventRecorder, ask, run
from pydantic import BaseModel, ConfigDict

USUAL = {"on_permission_request": PermissionHandler.approve_all}
# A session name that the program chose; other sessions have UUIDs.
SESSION = "what-we-said"


async def prompts(session):
    events = await session.get_events()
    return [event.data.content for event in events if event.type.value == "user.message"]


async def a_session_that_was_left_is_resumed_with_what_it_knows(client):
    async with await client.create_session(session_id=SESSION, **USUAL) as session:
        await ask(session, "remember tulip")
    async with await client.resume_session(SESSION, **USUAL) as session:
        assert await ask(session, "what was it?") == "It was tulip."
        assert await prompts(session) == ["remember tulip", "what was it?"]


async def a_copy_goes_its_own_way(client):
    copied = (await client.rpc.sessions.fork(SessionsForkRequest(session_id=SESSION))).session_id
    assert copied != SESSION
    async with await client.resume_session(copied, **USUAL) as session:
        assert await ask(session, "what was it?") == "It was tulip."
    async with await client.resume_session(SESSION, **USUAL) as session:
        assert await prompts(session) == ["remember tulip", "what was it?"]


async def another_model_answers_from_the_next_message_on(client):
    other = os.environ["OTHER_MODEL"]
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        assert await ask(session, "who are you?") == "I am the first."
        await session.set_model(other)
        assert (await session.rpc.model.get_current()).model_id == other
        assert await ask(session, "who are you?") == "I am the second."
        assert recorder.all("session.model_change")[0].data.new_model == other


class Total(BaseModel):
    model_config = ConfigDict(extra="forbid")
    total: int


async def an_answer_has_the_form_that_was_asked_for(client):
    async with await client.create_session(**USUAL) as session:
        assert (await session.send_and_wait_typed("add up", Total)).total == 42


async def words_of_the_client_join_what_the_model_is_told(client):
    appended = {"mode": "append", "content": "The word of the day is heron."}
    async with await client.create_session(system_message=appended, **USUAL) as session:
        assert await ask(session, "which word?") == "It is heron."


run([
    a_session_that_was_left_is_resumed_with_what_it_knows,
    a_copy_goes_its_own_way,
    another_model_answers_from_the_next_message_on,
    an_answer_has_the_form_that_was_asked_for,
    words_of_the_client_join_what_the_model_is_told,
])
