"""What a program supplies: tools, permission decisions, hooks and an output schema."""

from pathlib import Path

from claude_agent_sdk import (
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    query,
    tool,
)

from kit import answers, calls, equal, options, result, run, system, turn


async def calls_a_tool_of_the_program():
    seen = []

    @tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(args):
        seen.append(args)
        return {"content": [{"type": "text", "text": str(args["a"] + args["b"])}]}

    @tool("divide", "Divides two numbers", {"a": float, "b": float})
    async def divide(_args):
        return {"content": [{"type": "text", "text": "not by zero"}], "is_error": True}

    server = create_sdk_mcp_server("calc", tools=[add, divide])
    allowed = ["mcp__calc__add", "mcp__calc__divide"]
    async with ClaudeSDKClient(options(mcp_servers={"calc": server}, allowed_tools=allowed)) as client:
        sum_ = await turn(client, "add two and three")
        failure = await turn(client, "divide by zero")
    equal(seen, [{"a": 2, "b": 3}])
    equal(calls(sum_), [("mcp__calc__add", {"a": 2, "b": 3})])
    assert result(sum_).result.startswith("The sum: 5"), result(sum_)
    assert "not by zero" in result(failure).result, result(failure)
    equal([(s["name"], s["status"]) for s in system(sum_, "init")[0]["mcp_servers"]], [("calc", "connected")])


async def asks_before_a_tool_of_the_program():
    asked = []

    @tool("add", "Adds two numbers", {"a": float, "b": float})
    async def add(_args):
        raise AssertionError("it was denied")

    async def deny(name, _input, _context):
        asked.append(name)
        return PermissionResultDeny(message="no sums today")

    server = create_sdk_mcp_server("calc", tools=[add])
    async with ClaudeSDKClient(options(mcp_servers={"calc": server}, can_use_tool=deny)) as client:
        messages = await turn(client, "add two and three")
    equal(asked, ["mcp__calc__add"])
    assert "no sums today" in result(messages).result, result(messages)


async def asks_for_permission():
    asked = []

    async def judge(name, input, context):
        asked.append((name, input["command"]))
        assert context.tool_use_id, context
        if "forbidden" in input["command"]:
            return PermissionResultDeny(message="not that file")
        if "renamed" in input["command"]:
            return PermissionResultAllow(updated_input={**input, "command": "touch another"})
        return PermissionResultAllow()

    async with ClaudeSDKClient(options(can_use_tool=judge)) as client:
        allowed = await turn(client, "run `touch allowed`")
        denied = await turn(client, "run `touch forbidden`")
        changed = await turn(client, "run `touch renamed`")
    commands = ["touch allowed", "touch forbidden", "touch renamed"]
    equal(asked, [("Bash", command) for command in commands])
    files = ["allowed", "forbidden", "renamed", "another"]
    equal([Path(name).exists() for name in files], [True, False, False, True])
    assert "not that file" in answers(denied)[0], answers(denied)
    equal([denial["tool_name"] for denial in result(denied).permission_denials], ["Bash"])
    equal((result(allowed).permission_denials or [], result(changed).permission_denials or []), ([], []))


async def stops_at_a_denial_that_interrupts():
    async def judge(_name, _input, _context):
        return PermissionResultDeny(message="stop everything", interrupt=True)

    async with ClaudeSDKClient(options(can_use_tool=judge)) as client:
        stopped = await turn(client, "run `touch forbidden`")
        again = await turn(client, "remember this")
    equal(result(stopped).subtype, "error_during_execution")
    equal(result(again).result, "I will remember this.")


async def asks_hooks_before_and_after():
    hook_calls = []

    async def before(input, tool_use_id, _context):
        hook_calls.append((input["hook_event_name"], input["tool_name"], input["tool_input"]["command"]))
        assert tool_use_id, input
        if "blocked" not in input["tool_input"]["command"]:
            return {}
        verdict = {"permissionDecision": "deny", "permissionDecisionReason": "a hook says no"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **verdict}}

    async def after(input, _tool_use_id, _context):
        hook_calls.append((input["hook_event_name"], input["tool_name"], input["tool_input"]["command"]))
        return {}

    async def context(input, _tool_use_id, _context):
        if "secret" not in input["prompt"]:
            return {}
        output = {"hookEventName": "UserPromptSubmit", "additionalContext": "the secret word is rosebud"}
        return {"hookSpecificOutput": output}

    async def stop(input, _tool_use_id, _context):
        hook_calls.append((input["hook_event_name"],))
        return {}

    hooks = {
        "PreToolUse": [HookMatcher(matcher="Bash", hooks=[before])],
        "PostToolUse": [HookMatcher(matcher="Bash", hooks=[after])],
        "UserPromptSubmit": [HookMatcher(hooks=[context])],
        "Stop": [HookMatcher(hooks=[stop])],
    }
    async with ClaudeSDKClient(options(hooks=hooks, permission_mode="bypassPermissions")) as client:
        ran = await turn(client, "run `echo loud`")
        blocked = await turn(client, "run `touch blocked`")
        informed = await turn(client, "tell me the secret word")
    equal(
        hook_calls,
        [
            ("PreToolUse", "Bash", "echo loud"),
            ("PostToolUse", "Bash", "echo loud"),
            ("Stop",),
            ("PreToolUse", "Bash", "touch blocked"),
            ("Stop",),
            ("Stop",),
        ],
    )
    assert "loud" in result(ran).result, result(ran)
    assert "a hook says no" in answers(blocked)[0], answers(blocked)
    assert not Path("blocked").exists()
    equal(result(informed).result, "The word is rosebud.")


async def gives_structured_output():
    properties = {"name": {"type": "string"}, "crew": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["name", "crew"]}
    shaped = options(output_format={"type": "json_schema", "schema": schema})
    messages = [message async for message in query(prompt="describe yourself", options=shaped)]
    equal(result(messages).structured_output, {"name": "Bosun", "crew": 3})
    late = [message async for message in query(prompt="describe yourself late", options=shaped)]
    equal(result(late).structured_output, {"name": "Bosun", "crew": 4})
    equal(result(late).subtype, "success")


run(
    calls_a_tool_of_the_program,
    asks_before_a_tool_of_the_program,
    asks_for_permission,
    stops_at_a_denial_that_interrupts,
    asks_hooks_before_and_after,
    gives_structured_output,
)
