// The TypeScript SDK 1.x, which speaks 2025-11-25, with its tasks.

import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { finish, headers, mode, target, useTools } from "./target.mjs";

const client = new Client({ name: "sdk1", version: "1" }, { capabilities: {} });
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
  : new StdioClientTransport(target);
await client.connect(transport);
const { tools } = await client.listTools();
const seen = await useTools(
  tools.map((tool) => tool.name),
  (name, args) => client.callTool({ name, arguments: args }),
);
// This client drops progress that it reads together with the result, so the agent works until progress has arrived.
const options = { onprogress: () => rm(mode, { force: true }) };
const held = { name: "start_agent", arguments: { prompt: "held", wait_seconds: 60 } };
const ended = await client.callTool(held, undefined, options);
assert.equal(ended.structuredContent.status, "completed", JSON.stringify(ended));
const messages = [];
const call = { name: "start_agent", arguments: { prompt: "say hello" } };
for await (const message of client.experimental.tasks.callToolStream(call, CallToolResultSchema, { task: { ttl: 60000 } })) {
  messages.push(message);
}
assert.equal(messages[0].type, "taskCreated", JSON.stringify(messages));
assert.equal(messages.at(-1).type, "result", JSON.stringify(messages));
const { tasks } = await client.experimental.tasks.listTasks();
assert.ok(tasks.some((task) => task.taskId === messages[0].task.taskId && task.status === "completed"));
await client.close();
finish({ ...seen, taskText: messages.at(-1).result.structuredContent.text });
