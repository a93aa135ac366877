"""Every option of the SDK, as the table says: served, refused by name, or warned of by name."""

import dataclasses
import json
import os
import pathlib

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, InMemorySessionStore, PermissionResultAllow, query

from kit import equal, options, result, run, system

LANGUAGE = "python"


async def allow(_tool, _input, _context):
    return PermissionResultAllow()


async def no_opinion(_input, _call, _context):
    return {}


# Values that no table can contain.
VALUES = {"$allow": allow, "$hook": [HookMatcher(hooks=[no_opinion])], "$store": InMemorySessionStore()}


def rows():
    """The rows of the table that concern this language."""
    text = pathlib.Path(os.environ["OPTIONS"]).read_text()
    return [row for row in map(json.loads, text.splitlines()) if LANGUAGE in row]


def value_of(row):
    return filled(row.get(f"{LANGUAGE}_value", row.get("value")))


def filled(value):
    if isinstance(value, str):
        return VALUES.get(value, value)
    if isinstance(value, dict):
        return {name: filled(inner) for name, inner in value.items()}
    return value


def is_sent(row):
    return "value" in row or f"{LANGUAGE}_value" in row


def argument(row):
    """The option as the SDK takes it: settings are text."""
    name, value = row[LANGUAGE], value_of(row)
    return {name: json.dumps(value) if name == "settings" else value}


async def turn_of(more):
    """The warnings that a session gives with these options, and its result."""
    messages = []
    try:
        async for message in query(prompt="which model?", options=options(**more)):
            messages.append(message)
    except Exception as error:
        return [], str(error)
    return [data["content"] for data in system(messages, "informational")], result(messages).result


def fits(row, warnings, answer):
    """Whether this is what the row promises."""
    if "refused" in row:
        return not warnings and row["refused"] in answer
    if answer != "I am the first model.":
        return False
    return any(row["warned"] in warning for warning in warnings) if "warned" in row else warnings == []


async def serves_refuses_or_warns_of_every_option():
    equal({row[LANGUAGE] for row in rows()}, {field.name for field in dataclasses.fields(ClaudeAgentOptions)})
    wrong = [(row, *seen) for row in filter(is_sent, rows()) if not fits(row, *(seen := await turn_of(argument(row))))]
    assert not wrong, wrong


run(serves_refuses_or_warns_of_every_option)
