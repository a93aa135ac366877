"""Tools of a client, and its decisions on calls and questions."""

from copilot import define_tool
from copilot.rpc import (
    PermissionDecisionApproveForSession,
    PermissionDecisionApproveOnce,
    PermissionDecisionReject,
)
from copilot.session import PermissionHandler
from kit import EventRecorder, ask, in_order, run
from pydantic import BaseModel


class Issue(BaseModel):
    id: str


def look_up(seen, **more):
    def handler(params, invocation):
        seen.append((params.id, invocation.tool_call_id))
        if params.id == "0":
            raise ValueError("there is no issue 0")
        return f"issue {params.id} is open"

    about = "Finds an issue by its number"
    return define_tool("lookup_issue", description=about, handler=handler, params_type=Issue, **more)


def deciding(asked, decide):
    def handler(request, invocation):
        asked.append(request)
        return decide(request)

    return handler


async def a_tool_of_the_client_is_called_and_answers(client):
    seen, asked = [], []
    handler = deciding(asked, lambda request: PermissionDecisionApproveOnce())
    async with await client.create_session(tools=[look_up(seen)], on_permission_request=handler) as session:
        recorder = EventRecorder(session)
        assert await ask(session, "look up 7") == "The tracker says: issue 7 is open"
        assert [number for number, call in seen] == ["7"]
        assert [(request.kind, request.tool_name) for request in asked] == [("custom-tool", "lookup_issue")]
        in_order(
            recorder.types,
            ["tool.execution_start", "external_tool.requested", "tool.execution_complete", "session.idle"],
        )
        ended = recorder.all("tool.execution_complete")[0].data
        assert (ended.success, ended.tool_call_id) == (True, seen[0][1])


async def a_tool_that_fails_fails_for_the_model_too(client):
    usual = {"on_permission_request": PermissionHandler.approve_all}
    async with await client.create_session(tools=[look_up([])], **usual) as session:
        recorder = EventRecorder(session)
        assert (await ask(session, "look up 0")).startswith("It failed: ")
        assert recorder.all("tool.execution_complete")[0].data.success is False


async def a_tool_that_needs_no_permission_asks_for_none(client):
    asked = []
    handler = deciding(asked, lambda request: PermissionDecisionReject())
    tool = look_up([], skip_permission=True)
    async with await client.create_session(tools=[tool], on_permission_request=handler) as session:
        assert await ask(session, "look up 8") == "The tracker says: issue 8 is open"
        assert asked == []


async def a_call_is_allowed_and_denied(client):
    asked = []

    def decide(request):
        good = request.file_name.endswith("good.txt")
        return PermissionDecisionApproveOnce() if good else PermissionDecisionReject(feedback="not this file")

    async with await client.create_session(on_permission_request=deciding(asked, decide)) as session:
        recorder = EventRecorder(session)
        assert await ask(session, "write good.txt") == "It is written."
        denied = await ask(session, "write bad.txt")
        assert denied.startswith("Denied: ") and "not this file" in denied, denied
        assert [request.kind for request in asked] == ["write", "write"]
        assert [event.data.success for event in recorder.all("tool.execution_complete")] == [True, False]


async def a_command_is_asked_about_by_its_text_and_allowed_for_the_session(client):
    asked = []
    handler = deciding(asked, lambda request: PermissionDecisionApproveForSession())
    async with await client.create_session(on_permission_request=handler) as session:
        assert (await ask(session, "run touch one")).startswith("It ran")
        assert (asked[0].kind, asked[0].full_command_text) == ("shell", "touch one")
        await ask(session, "run touch one")
        assert len(asked) == 1


async def a_question_of_the_model_is_answered(client):
    questions = []

    def answer(request, invocation):
        questions.append(request)
        return {"answer": "green", "wasFreeform": False}

    usual = {"on_permission_request": PermissionHandler.approve_all}
    async with await client.create_session(on_user_input_request=answer, **usual) as session:
        chosen = await ask(session, "ask me")
        assert chosen.startswith("You chose ") and "green" in chosen, chosen
        assert (questions[0]["question"], questions[0]["choices"]) == ("Which colour?", ["red", "green"])


run([
    a_tool_of_the_client_is_called_and_answers,
    a_tool_that_fails_fails_for_the_model_too,
    a_tool_that_needs_no_permission_asks_for_none,
    a_call_is_allowed_and_denied,
    a_command_is_asked_about_by_its_text_and_allowed_for_the_session,
    a_question_of_the_model_is_answered,
])
