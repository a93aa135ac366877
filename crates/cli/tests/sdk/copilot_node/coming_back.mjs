// A client that finds a session which another one left in the middle of something, and goes on with it.
import { approveAll, RuntimeConnection } from "@github/copilot-sdk";
import { assert, checks, Heard, inOrder } from "./kit.mjs";

const { SERVER, TOKEN, SESSION, LEFT } = process.env;
const connection = SERVER ? RuntimeConnection.forUri(SERVER, { connectionToken: TOKEN }) : undefined;
const words = (events) => events.filter((event) => event.type === "assistant.message" && !event.agentId)
    .map((event) => event.data.content);

await checks(
    {
        async "everything is there, in order"(client) {
            const session = await client.resumeSession(SESSION, { onPermissionRequest: approveAll, continuePendingWork: true });
            const heard = new Heard(session);
            const { tasks } = await session.rpc.tasks.list();
            assert.deepEqual(tasks.map((task) => [task.type, task.description]), [["agent", "Looks around"]]);
            const before = await session.getEvents();
            inOrder(before.map((event) => event.type), ["session.start", "user.message", "subagent.started"]);
            assert.equal(new Set(before.map((event) => event.id)).size, before.length);
            const times = before.map((event) => Date.parse(event.timestamp));
            assert.deepEqual(times, times.toSorted((a, b) => a - b));
            if (LEFT === "running") {
                await heard.first("session.idle");
                assert.equal(words(await session.getEvents()).at(-1), "All of it is done.");
            }
            assert.equal((await session.sendAndWait({ prompt: "are you there?" })).data.content, "I am here.");
            const after = await session.getEvents();
            assert.deepEqual(after.slice(0, before.length), before);
            await session.disconnect();
        },
    },
    { connection },
);
