// From a program's first call of the SDK to the first words of the answer, in milliseconds.
import { approveAll, CopilotClient } from "@github/copilot-sdk";

const began = performance.now();
const client = new CopilotClient();
const session = await client.createSession({ onPermissionRequest: approveAll });
const idle = new Promise((resolve) => session.on("session.idle", resolve));
session.on("assistant.message", () => console.log(performance.now() - began));
await session.send({ prompt: "hello" });
await idle;
await session.disconnect();
await client.stop();
