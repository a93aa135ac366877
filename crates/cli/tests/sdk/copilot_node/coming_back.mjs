// A client that finds a session that another client left unfinished, and continues it.
import { approveAll, RuntimeConnection } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, inOrder } from "./kit.mjs";

const { SERVER, TOKEN, SESSION, LEFT } = process.env;
const connection = SERVER ? RuntimeConnection.forUri(SERVER, { connectionToken: TOKEN }) : undefined;
const resuming = { onPermissionRequest: approveAll, continuePendingWork: true };
let session, recorder, before;

await checks(
    {
        async "everything is there, in order"(client) {
            session = await client.resumeSession(SESSION, resuming);
            recorder = new EventRecorder(session);
            const { tasks } = await session.rpc.tasks.list();
            const agents = tasks.filter((task) => task.type === "agent");
            assert.deepEqual(agents.map((task) => task.description), ["Looks around"]);
            before = await session.getEvents();
            inOrder(before.map((event) => event.type), ["session.start", "user.message", "subagent.started"]);
            assert.equal(new Set(before.map((event) => event.id)).size, before.length);
            const times = before.map((event) => Date.parse(event.timestamp));
            assert.deepEqual(times, times.toSorted((a, b) => a - b));
        },

        async "it goes on"() {
            if (LEFT === "running") {
                await recorder.first("session.idle");
                const messages = (await session.getEvents()).filter((event) => event.type === "assistant.message");
                assert.ok(messages.some((event) => event.data.content === "All of it is done."));
            }
            await session.send({ prompt: "are you there?" });
            await recorder.first("assistant.message", (event) => event.data.content === "I am here.");
            const after = await session.getEvents();
            assert.deepEqual(after.slice(0, before.length).map((event) => event.id), before.map((event) => event.id));
            await session.disconnect();
        },
    },
    { connection },
);
