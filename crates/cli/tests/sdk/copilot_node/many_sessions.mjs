// As many sessions as the environment says, one after another and at once; all are closed, and every second is deleted.
import { CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { assert } from "./kit.mjs";

const { SERVER, SESSIONS, TOKEN } = process.env;
const connection = RuntimeConnection.forUri(SERVER, { connectionToken: TOKEN });
const client = new CopilotClient({ connection, logLevel: "error" });

async function answered(session) {
    assert.equal((await session.sendAndWait({ prompt: "hello" })).data.content, "Hello.");
}

async function close(session, number) {
    await session.disconnect();
    if (number % 2) await client.deleteSession(session.sessionId);
}

const numbers = [...Array(Number(SESSIONS)).keys()];
for (const number of numbers) {
    const session = await client.createSession({});
    await answered(session);
    await close(session, number);
}
console.log(JSON.stringify({ held: "one after another" }));

const sessions = await Promise.all(numbers.map(() => client.createSession({})));
await Promise.all(sessions.map(answered));
await Promise.all(sessions.map(close));
console.log(JSON.stringify({ held: "at once" }));
assert.deepEqual(await client.stop(), []);
