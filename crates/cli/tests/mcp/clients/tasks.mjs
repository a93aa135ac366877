// The package for tasks of both generations, on the client of the TypeScript SDK 2.x.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
  toolDeclarationFromMcpTool,
} from "@modelcontextprotocol/ext-tasks/client";
import { finish, headers, mode, target } from "./target.mjs";

const VERSION = "2026-07-28";
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const clientInfo = { name: "tasks", version: "1" };
const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode } });
await client.connect(new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } }));

/** Sends a request of 2026-07-28 as it is: the SDK's own codecs refuse tasks. */
async function rawDispatch(request, options) {
  const name = request.params.name ?? request.params.taskId;
  const response = await fetch(target.url, {
    method: "POST",
    signal: options?.signal,
    headers: {
      ...headers,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": VERSION,
      "Mcp-Method": request.method,
      ...(name === undefined ? {} : { "Mcp-Name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...request }),
  });
  const { result, error } = await response.json();
  return error === undefined ? { kind: "result", result } : { kind: "error", error };
}

const framing = { protocolVersion: VERSION, clientInfo, clientCapabilities: capabilities };
const session = createTaskSessionFromClient(client, {
  endpointId: "bosun",
  ...(mode === "legacy" ? {} : { rawDispatch, v2RequestFraming: framing }),
});
const { tools } = await client.listTools();
const declaration = toolDeclarationFromMcpTool(tools.find((tool) => tool.name === "start_agent"));
const options = { declaration, task: { preference: "prefer" } };
const execution = await session.callTool("start_agent", { prompt: "say hello", wait_seconds: 60 }, options);
assert.equal(execution.kind, "task", "the call became a task");
const { outcome } = await execution.settle();
const result = resultFromTaskOutcome(outcome);
assert.equal(result.structuredContent.status, "completed", JSON.stringify(result));
const held = await session.callTool("start_agent", { prompt: "held", wait_seconds: 60 }, options);
assert.equal(held.kind, "task");
await held.cancel();
const cancelled = await held.result();
assert.equal(cancelled.status ?? cancelled.kind, "cancelled", JSON.stringify(cancelled));
await session.close();
await client.close();
finish({ session: execution.handle.taskId, text: result.structuredContent.text });
