// A client that is in the middle of something until somebody ends it.
import { existsSync } from "node:fs";
import { approveAll, CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { Heard } from "./kit.mjs";

const { SERVER, TOKEN, SESSION } = process.env;
const connection = SERVER ? RuntimeConnection.forUri(SERVER, { connectionToken: TOKEN }) : undefined;
const client = new CopilotClient({ connection, logLevel: "error" });
const session = await client.createSession({ sessionId: SESSION, onPermissionRequest: approveAll });
const heard = new Heard(session);
await session.send({ prompt: "work on it" });
await heard.first("subagent.started");
await heard.first("tool.execution_start", ({ data }) => data.toolCallId === "held");
// A call that has started may not have done anything yet.
while (!existsSync("witness")) await new Promise((look) => setTimeout(look, 10));
console.log("in the middle");
if (process.argv.includes("and kill the adapter")) {
    process.kill(client.cliProcess.pid, "SIGKILL");
    process.exit();
}
await new Promise(() => setInterval(() => {}, 60_000));
