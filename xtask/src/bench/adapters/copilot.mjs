// From a program's first call of the SDK to the first words of the answer, in milliseconds.
import { approveAll, CopilotClient } from "@github/copilot-sdk";

const began = performance.now();
const client = new CopilotClient();
const { PROVIDER_URL: baseUrl, PROVIDER_KEY: apiKey, PROVIDER_MODEL: model } = process.env;
const provider = baseUrl && { type: "anthropic", baseUrl, apiKey };
const session = await client.createSession({ onPermissionRequest: approveAll, ...(baseUrl && { provider, model }) });
const idle = new Promise((resolve) => session.on("session.idle", resolve));
session.on("assistant.message", () => console.log(performance.now() - began));
await session.send({ prompt: "hello" });
await idle;
await session.disconnect();
await client.stop();
