"""A provider that the client supplies."""

import os

from copilot.session import PermissionHandler
from kit import ask, run


async def the_clients_provider_answers(client):
    given = {
        "type": "openai",
        "base_url": os.environ["PROVIDER_URL"],
        "api_key": os.environ["PROVIDER_KEY"],
    }
    usual = {"on_permission_request": PermissionHandler.approve_all}
    for wire in ["completions", "responses"]:
        provider = {**given, "wire_api": wire}
        async with await client.create_session(model="test-model", provider=provider, **usual) as session:
            assert await ask(session, "hello") == "Served: hello", wire


run([the_clients_provider_answers])
