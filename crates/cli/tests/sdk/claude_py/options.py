"""Every option of the SDK, as the table says: served, refused by name, or warned of by name."""

import asyncio
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
    sent = list(filter(is_sent, rows()))
    # Which session is continued depends on the others.
    alone = [row for row in sent if row[LANGUAGE] == "continue_conversation"]
    seen = [(row, *await turn_of(argument(row))) for row in alone]
    seen += await at_once([row for row in sent if row not in alone])
    wrong = [(row, *turn) for row, *turn in seen if not fits(row, *turn)]
    assert not wrong, wrong


async def at_once(sent):
    """Sends a few rows at a time."""
    places = asyncio.Semaphore(4)

    async def send(row):
        async with places:
            return (row, *await turn_of(argument(row)))

    return await asyncio.gather(*map(send, sent))


run(serves_refuses_or_warns_of_every_option)
