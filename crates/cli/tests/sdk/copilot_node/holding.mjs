// A client that keeps a turn running until it is killed.
import { existsSync, readFileSync } from "node:fs";
import { approveAll, CopilotClient, RuntimeConnection } from "@github/copilot-sdk";
import { EventRecorder } from "./kit.mjs";

const { SERVER, TOKEN, SESSION } = process.env;
const connection = SERVER ? RuntimeConnection.forUri(SERVER, { connectionToken: TOKEN }) : undefined;
const client = new CopilotClient({ connection, logLevel: "error" });
const session = await client.createSession({ sessionId: SESSION, onPermissionRequest: approveAll });
const recorder = new EventRecorder(session);
await session.send({ prompt: "work on it" });
await recorder.first("subagent.started");
await recorder.first("tool.execution_start", ({ data }) => data.toolCallId === "held");
// A started call may not have had its effect yet, and the shell creates the file before it writes to it.
const hasRun = () => existsSync("witness") && readFileSync("witness", "utf8") === "ran\n";
while (!hasRun()) await new Promise((look) => setTimeout(look, 10));
console.log("in the middle");
if (process.argv.includes("and kill the adapter")) {
    process.kill(client.cliProcess.pid, "SIGKILL");
    process.exit();
}
await new Promise(() => setInterval(() => {}, 60_000));
