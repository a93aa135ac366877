"""Every option of the SDK, as the table says: served, refused by name, or warned of by name."""

import inspect
import json
import os
import pathlib

from copilot import CopilotClient, CopilotSession, Tool
from copilot.canvas import CanvasProviderIdentity, ExtensionInfo
from copilot.client import CloudSessionOptions, CloudSessionRepository, CopilotExpAssignmentResponse
from copilot.client import ManagedSettings, ManagedSettingsPermissions
from copilot.session import ModelCapabilitiesOverride, ModelSupportsOverride, PermissionHandler
from copilot.generated import rpc as wire
from kit import EventRecorder, run

LANGUAGE = "python"


async def handler(*_arguments, **_named):
    return None


def tools(**more):
    return [Tool(name="mine", description="Mine", handler=handler, **more)]


class Skills:
    """A provider of skills, of which nothing is asked."""

    async def load(self, *_arguments):
        return None

    async def list(self, *_arguments):
        return []


# Values that no table can contain.
VALUES = {
    "$handler": handler,
    "$folders": [os.getcwd()],
    "$tools": tools(),
    "$terminal_tools": tools(is_terminal=True),
    "$deferred_tools": tools(defer="auto"),
    "$canvas_provider": CanvasProviderIdentity(id="p"),
    "$extension_info": ExtensionInfo(source="s", name="n"),
    "$cloud": CloudSessionOptions(repository=CloudSessionRepository(owner="o", name="n")),
    "$experiments": CopilotExpAssignmentResponse(features=["a"]),
    "$managed": ManagedSettings(permissions=ManagedSettingsPermissions(deny=["shell(touch *)"])),
    "$capabilities": ModelCapabilitiesOverride(supports=ModelSupportsOverride(vision=True)),
    "$entra": wire.EntraAuthConfig(client_id="c"),
    "$diagnostics": wire.DiagnosticsConfiguration.from_dict({"sources": {}}),
    "$open_canvases": [
        wire.OpenCanvasInstance.from_dict({"canvasId": "c", "extensionId": "e", "instanceId": "i", "status": "open"})
    ],
    "$sandbox": wire.SandboxConfig(enabled=True),
    "$skill_provider": Skills(),
}

ROWS = [
    row
    for row in map(json.loads, pathlib.Path(os.environ["OPTIONS"]).read_text().splitlines())
    if LANGUAGE in row
]


def value_of(row):
    value = row.get(f"{LANGUAGE}_value", row.get("value"))
    return VALUES.get(value, value) if isinstance(value, str) else value


async def warnings_of(session, **message):
    """Sends a message to a session and returns the warnings that it gives."""
    recorder = EventRecorder(session)
    await session.send("hello", **message)
    await recorder.first("session.idle")
    warnings = [event.data.message for event in recorder.all("session.warning")]
    await session.disconnect()
    return warnings


async def of_client(_client, argument):
    async with CopilotClient(**{"log_level": "error", **argument}) as client:
        return await warnings_of(await client.create_session())


async def of_session(client, argument):
    return await warnings_of(await client.create_session(**argument))


async def of_resume(client, argument):
    session = await client.create_session(on_permission_request=PermissionHandler.approve_all)
    await warnings_of(session)
    return await warnings_of(await client.resume_session(session.session_id, **argument))


async def of_message(client, argument):
    return await warnings_of(await client.create_session(), **argument)


OPEN = {"client": of_client, "session": of_session, "resume": of_resume, "message": of_message}


async def fits(client, row):
    """Fails unless the outcome is what the row promises."""
    argument = {row[LANGUAGE]: value_of(row), **row.get("with", {}).get(LANGUAGE, {})}
    try:
        warnings = await OPEN[row["of"]](client, argument)
    except Exception as error:
        assert "refused" in row and row["refused"] in str(error), (row, error)
        return
    assert "refused" not in row, row
    if "warned" in row:
        assert any(row["warned"] in warning for warning in warnings), (row, warnings)
    else:
        assert warnings == [], (row, warnings)


async def all_of(client, of):
    """Checks every row of a kind, and names all that do not fit."""
    wrong = []
    for row in ROWS:
        if row["of"] == of and ("value" in row or f"{LANGUAGE}_value" in row):
            try:
                await fits(client, row)
            except AssertionError as error:
                wrong.append(str(error))
    assert not wrong, "\n".join(wrong)


def named(*places):
    return {row[LANGUAGE] for row in ROWS if row["of"] in places}


def parameters(*functions):
    return {name for function in functions for name in inspect.signature(function).parameters} - {"self"}


async def the_table_has_every_option(_client):
    sessions = parameters(CopilotClient.create_session, CopilotClient.resume_session)
    for seen, wanted in [
        (named("client"), parameters(CopilotClient.__init__)),
        (named("session", "resume"), sessions),
        (named("message"), parameters(CopilotSession.send)),
    ]:
        assert seen == wanted, (seen - wanted, wanted - seen)


async def options_of_a_client(client):
    await all_of(client, "client")


async def options_of_a_session(client):
    await all_of(client, "session")


async def options_of_a_resumed_session(client):
    await all_of(client, "resume")


async def options_of_a_message(client):
    await all_of(client, "message")


run(
    [
        the_table_has_every_option,
        options_of_a_client,
        options_of_a_session,
        options_of_a_resumed_session,
        options_of_a_message,
    ]
)
