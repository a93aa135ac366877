"""Plan mode, autopilot, plans and todos."""

from pathlib import Path

from copilot.rpc import ModeSetRequest, PlanUpdateRequest
from copilot.session import PermissionHandler
from copilot.session_events import SessionMode
from kit import EventRecorder, ask, in_order, run

USUAL = {"on_permission_request": PermissionHandler.approve_all}


def planning(client, decision, requests):
    def decide(request, invocation):
        requests.append(request)
        return decision

    return client.create_session(on_exit_plan_mode_request=decide, **USUAL)


async def a_mode_is_read_set_and_told(client):
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        assert await session.rpc.mode.get() == SessionMode.INTERACTIVE
        await session.rpc.mode.set(ModeSetRequest(mode=SessionMode.PLAN))
        assert await session.rpc.mode.get() == SessionMode.PLAN
        changed = (await recorder.first("session.mode_changed")).data
        assert (changed.previous_mode.value, changed.new_mode.value) == ("interactive", "plan")


async def a_plan_that_is_approved_is_carried_out(client):
    requests = []
    approved = {"approved": True, "selectedAction": "interactive"}
    async with await planning(client, approved, requests) as session:
        recorder = EventRecorder(session)
        await session.rpc.mode.set(ModeSetRequest(mode=SessionMode.PLAN))
        assert await ask(session, "plan it") == "It is carried out."
        assert Path("planned.txt").exists()
        request = requests[0]
        assert (request["summary"], request["planContent"]) == ("Write one file", "1. Write planned.txt\n")
        assert request["recommendedAction"] == "autopilot" and "exit_only" in request["actions"]
        assert await session.rpc.mode.get() == SessionMode.INTERACTIVE
        in_order(recorder.types, ["session.plan_changed", "session.mode_changed", "session.idle"])


async def a_plan_that_is_not_approved_comes_back_with_what_is_wrong(client):
    async with await planning(client, {"approved": False, "feedback": "too short"}, []) as session:
        await session.rpc.mode.set(ModeSetRequest(mode=SessionMode.PLAN))
        answer = await ask(session, "plan it")
        assert answer.startswith("I plan anew: ") and "too short" in answer, answer
        assert await session.rpc.mode.get() == SessionMode.PLAN


async def a_plan_is_written_and_removed_by_the_client(client):
    async with await client.create_session(**USUAL) as session:
        plan = session.rpc.plan
        assert not (await plan.read()).exists
        await plan.update(PlanUpdateRequest(content="# Mine\n"))
        assert (await plan.read()).content == "# Mine\n"
        await plan.delete()
        assert not (await plan.read()).exists


async def todos_of_the_model_are_read_with_what_they_wait_for(client):
    async with await client.create_session(**USUAL) as session:
        await ask(session, "keep todos")
        read = await session.rpc.plan.read_sql_todos_with_dependencies()
        assert [(row.id, row.title, row.status) for row in read.rows] == [
            ("a", "First", "pending"),
            ("b", "Second", "pending"),
        ]
        assert [(edge.todo_id, edge.depends_on) for edge in read.dependencies] == [("b", "a")]


async def autopilot_goes_on_until_it_is_done_and_the_wait_for_it_ends(client):
    async with await client.create_session(**USUAL) as session:
        recorder = EventRecorder(session)
        await session.rpc.mode.set(ModeSetRequest(mode=SessionMode.AUTOPILOT))
        await session.send_and_wait("do it all", timeout=30)
        assert recorder.all("session.task_complete")[0].data.summary == "Everything is done"
        assert await session.rpc.mode.get() == SessionMode.AUTOPILOT


run([
    a_mode_is_read_set_and_told,
    a_plan_that_is_approved_is_carried_out,
    a_plan_that_is_not_approved_comes_back_with_what_is_wrong,
    a_plan_is_written_and_removed_by_the_client,
    todos_of_the_model_are_read_with_what_they_wait_for,
    autopilot_goes_on_until_it_is_done_and_the_wait_for_it_ends,
])
