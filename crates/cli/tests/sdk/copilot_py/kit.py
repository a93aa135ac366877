"""Shared helpers: one client for all checks of a program, and one output line for each check that passed."""

import asyncio
import json

from copilot import CopilotClient

# How long one check may take, in seconds.
PATIENCE = 30


def run(checks, **options):
    """Runs checks with one client. A failed check ends the program with its error."""

    async def all_of_them():
        # The SDK reports an event that it cannot parse only here.
        unread = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unread.append(context))
        async with CopilotClient(log_level="error", **options) as client:
            for check in checks:
                async with asyncio.timeout(PATIENCE):
                    await check(client)
                assert not unread, unread
                print(json.dumps({"held": check.__name__}), flush=True)

    asyncio.run(all_of_them())


async def ask(session, prompt, **more):
    """The text of a session's answer."""
    return (await session.send_and_wait(prompt, **more)).data.content


class EventRecorder:
    """All events of a session from now on."""

    def __init__(self, session):
        self.events = []
        self._news = asyncio.Event()
        session.on(self._hear)

    def _hear(self, event):
        self.events.append(event)
        self._news.set()

    @property
    def types(self):
        return [event.type.value for event in self.events]

    def all(self, kind):
        return [event for event in self.events if event.type.value == kind]

    async def first(self, kind, fits=lambda event: True):
        """The first event of a type that matches; waits for it if necessary."""
        while True:
            self._news.clear()
            found = next((event for event in self.all(kind) if fits(event)), None)
            if found is not None:
                return found
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._news.wait()
            except TimeoutError:
                raise AssertionError(f"no {kind} after {self.types}") from None


def in_order(found, wanted):
    """Fails unless these occur in this order; other items may be between them."""
    left = iter(found)
    for item in wanted:
        assert any(item == other for other in left), f"no {item} in its place in {found}"
