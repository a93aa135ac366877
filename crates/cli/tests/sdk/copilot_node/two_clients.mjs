// One server on a port, and two clients that watch one session.
import { approveAll, CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, within } from "./kit.mjs";

const TOKEN = "a-token-of-both";
const kept = (recorder) => recorder.events.filter((event) => !event.ephemeral).map((event) => event.id);

await checks(
    {
        async "who has no token is not let in"(client) {
            await client.start();
            const uri = `127.0.0.1:${client.runtimePort}`;
            const stranger = new CopilotClient({ connection: RuntimeConnection.forUri(uri, { connectionToken: "wrong" }) });
            await assert.rejects(within(stranger.start(), "a refusal"), /AUTHENTICATION_FAILED/);
            await stranger.forceStop();
        },

        async "both see the same in the same order, and either may decide"(client) {
            const uri = `127.0.0.1:${client.runtimePort}`;
            const other = new CopilotClient({ connection: RuntimeConnection.forUri(uri, { connectionToken: TOKEN }) });
            const mine = await client.createSession({});
            const here = new EventRecorder(mine);
            const theirs = await other.resumeSession(mine.sessionId, { onPermissionRequest: approveAll });
            const there = new EventRecorder(theirs);
            await mine.send({ prompt: "write shared.txt" });
            await Promise.all([here.first("session.idle"), there.first("session.idle")]);
            const from = kept(there)[0];
            assert.deepEqual(kept(there), kept(here).slice(kept(here).indexOf(from)));
            assert.equal(there.all("assistant.message").at(-1).data.content, "It is written.");
            await theirs.sendAndWait({ prompt: "say so" });
            await here.first("assistant.message", (event) => event.data.content === "You said: say so");

            await other.stop();
            assert.equal((await mine.sendAndWait({ prompt: "alone" })).data.content, "You said: alone");
            await mine.disconnect();
        },
    },
    { connection: RuntimeConnection.forTcp({ connectionToken: TOKEN }) },
);
