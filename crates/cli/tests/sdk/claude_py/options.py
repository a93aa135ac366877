"""Every option of the SDK: served, refused by name, or warned of by name."""

import asyncio
import dataclasses

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, InMemorySessionStore, PermissionResultAllow, query

from kit import equal, options, result, run, system


async def allow(_tool, _input, _context):
    return PermissionResultAllow()


async def no_opinion(_input, _call, _context):
    return {}


# Options that other checks use, and those that the SDK keeps to itself.
ELSEWHERE = {
    "cli_path", "client_app", "cwd", "debug_stderr", "env", "fork_session", "load_timeout_ms", "max_buffer_size",
    "mcp_servers", "output_format", "resume", "resume_drops_turn", "resume_session_at", "session_id",
    "session_store_flush", "stderr", "user",
}

SERVED = [
    {"add_dirs": ["/tmp"]},
    {"agents": {}},
    {"allowed_tools": ["Read"]},
    {"can_use_tool": allow},
    {"disallowed_tools": ["WebFetch"]},
    {"effort": "high"},
    {"forward_subagent_text": True},
    {"hooks": {"Stop": [HookMatcher(hooks=[no_opinion])]}},
    {"include_partial_messages": True},
    {"enable_file_checkpointing": True},
    {"include_hook_events": True},
    {"max_budget_usd": 1.0},
    {"max_thinking_tokens": 2000},
    {"max_turns": 3},
    {"model": "default"},
    {"permission_mode": "acceptEdits"},
    {"plugins": []},
    {"session_store": InMemorySessionStore()},
    {"setting_sources": ["project"]},
    {"settings": '{"permissions": {"deny": ["Bash(rm *)"], "defaultMode": "acceptEdits"}, "outputStyle": "Learning"}'},
    {"settings": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}'},
    {"strict_mcp_config": True},
    {"system_prompt": "Be brief."},
    {"system_prompt": {"type": "preset", "preset": "claude_code", "append": "Be brief."}},
    {"task_budget": {"total": 1_000_000}},
    {"thinking": {"type": "adaptive"}},
    {"thinking": {"type": "disabled"}},
    {"tools": ["Read"]},
    {"verbatim_prompts": True},
]

WARNED = [
    ({"betas": ["context-1m-2025-08-07"]}, "--betas"),
    ({"extra_args": {"hologram": None}}, "--hologram"),
    ({"fallback_model": "haiku"}, "--fallback-model"),
    ({"hooks": {"FileChanged": [HookMatcher(hooks=[no_opinion])]}}, "FileChanged"),
    ({"model": "made-up"}, "`made-up`"),
    ({"sandbox": {"enabled": True}}, "sandbox"),
    ({"settings": '{"env": {"A": "b"}}'}, "the setting `env`"),
    ({"skills": ["pdf"]}, "Skill(pdf)"),
    ({"system_prompt": {"type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True}}, "`excludeDynamicSections`"),
    ({"thinking": {"type": "adaptive", "display": "summarized"}}, "--thinking-display"),
]

REFUSED = [
    ({"permission_prompt_tool_name": "mcp__a__decide"}, "mcp__a__decide"),
    ({"extra_args": {"safe-mode": None}}, "--safe-mode"),
    ({"sandbox": {"enabled": True, "failIfUnavailable": True}}, "sandbox"),
    ({"settings": '{"hooks": {"PreToolUse": [{"hooks": [{"type": "telepathy"}]}]}}'}, "--settings"),
    ({"permission_mode": "free"}, "`free`"),
]


async def turn_of(more):
    """The warnings that a session gives with these options, and its result."""
    messages = []
    try:
        async for message in query(prompt="which model?", options=options(**more)):
            messages.append(message)
    except Exception as error:
        return [], str(error)
    return [data["content"] for data in system(messages, "informational")], result(messages).result


async def serves_refuses_or_warns_of_every_option():
    sent = {"continue_conversation"} | {name for case in SERVED for name in case} | {name for case, _ in WARNED + REFUSED for name in case}
    equal({field.name for field in dataclasses.fields(ClaudeAgentOptions)} - sent, ELSEWHERE)
    # Which session is continued depends on the others.
    equal(await turn_of({"continue_conversation": True}), ([], "I am the first model."))
    await at_once([served(more) for more in SERVED])
    await at_once([warned(more, name) for more, name in WARNED])
    await at_once([refused(more, name) for more, name in REFUSED])


async def served(more):
    equal(await turn_of(more), ([], "I am the first model."), more)


async def warned(more, name):
    warnings, answer = await turn_of(more)
    equal(answer, "I am the first model.", more)
    assert any(name in warning for warning in warnings), (more, warnings)


async def refused(more, name):
    warnings, error = await turn_of(more)
    assert not warnings and name in error, (more, error)


async def at_once(checks):
    """Runs a few checks at a time."""
    places = asyncio.Semaphore(4)

    async def within(check):
        async with places:
            await check

    await asyncio.gather(*map(within, checks))


run(serves_refuses_or_warns_of_every_option)
