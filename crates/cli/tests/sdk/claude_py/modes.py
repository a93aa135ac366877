"""Permission modes, plans, and questions of the model."""

from pathlib import Path

from claude_agent_sdk import ClaudeSDKClient, PermissionResultAllow, PermissionResultDeny

from kit import calls, equal, options, result, run, system, turn


async def changes_the_permission_mode():
    async def deny(_name, _input, _context):
        return PermissionResultDeny(message="nobody may")

    async with ClaudeSDKClient(options(can_use_tool=deny)) as client:
        asked = await turn(client, "write asked.txt")
        await client.set_permission_mode("acceptEdits")
        edited = await turn(client, "write edited.txt")
        await client.set_permission_mode("bypassPermissions")
        await turn(client, "run `touch bypassed`")
        await client.set_permission_mode("default")
        await turn(client, "run `touch default`")
    files = ["asked.txt", "edited.txt", "bypassed", "default"]
    equal([Path(name).exists() for name in files], [False, True, True, False])
    modes = [system(messages, "init")[0]["permissionMode"] for messages in (asked, edited)]
    equal(modes, ["default", "acceptEdits"])


async def denies_unpermitted_calls():
    async with ClaudeSDKClient(options(permission_mode="dontAsk", allowed_tools=["Bash(touch a*)"])) as client:
        allowed = await turn(client, "run `touch allowed`")
        denied = await turn(client, "run `touch forbidden`")
    equal([Path("allowed").exists(), Path("forbidden").exists()], [True, False])
    equal(len(result(denied).permission_denials), 1)
    equal(len(result(allowed).permission_denials or []), 0)


async def leaves_plan_mode_when_a_plan_is_approved():
    asked = []

    async def approve(name, input, _context):
        asked.append((name, input))
        return PermissionResultAllow()

    async with ClaudeSDKClient(options(permission_mode="plan", can_use_tool=approve)) as client:
        planned = await turn(client, "plan it")
    equal(system(planned, "init")[0]["permissionMode"], "plan")
    equal(asked[0][0], "ExitPlanMode")
    assert "Write planned.txt." in asked[0][1]["plan"], asked
    assert "ExitPlanMode" in [name for name, _input in calls(planned)], calls(planned)
    equal(result(planned).result, "The plan is carried out.")
    equal(Path("planned.txt").read_text(), "as planned\n")


async def stays_in_plan_mode_when_a_plan_is_refused():
    async def refuse(name, _input, _context):
        equal(name, "ExitPlanMode")
        return PermissionResultDeny(message="think again")

    async with ClaudeSDKClient(options(permission_mode="plan", can_use_tool=refuse)) as client:
        planned = await turn(client, "plan it")
    assert "think again" in result(planned).result, result(planned)
    assert not Path("planned.txt").exists()


async def answers_questions_of_the_model():
    async def answer(name, input, _context):
        equal(name, "AskUserQuestion")
        (question,) = input["questions"]
        equal([option["label"] for option in question["options"]], ["Tabs", "Spaces"])
        return PermissionResultAllow(updated_input={**input, "answers": {question["question"]: "Spaces"}})

    async with ClaudeSDKClient(options(can_use_tool=answer)) as client:
        asked = await turn(client, "ask me")
    assert "Spaces" in result(asked).result, result(asked)


run(
    changes_the_permission_mode,
    denies_unpermitted_calls,
    leaves_plan_mode_when_a_plan_is_approved,
    stays_in_plan_mode_when_a_plan_is_refused,
    answers_questions_of_the_model,
)
