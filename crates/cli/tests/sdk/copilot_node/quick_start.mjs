// The first steps with the SDK: a client, a session, a question, its answer.
import { approveAll, CopilotClient } from "@github/copilot-sdk";

const client = new CopilotClient();
await client.start();

const session = await client.createSession({ model: "gpt-5", onPermissionRequest: approveAll });

const finished = new Promise((resolve) => {
    session.on("assistant.message", ({ data }) => console.log(data.content));
    session.on("session.idle", () => resolve());
});

await session.send({ prompt: "What is 2+2?" });
await finished;

await session.disconnect();
await client.stop();
