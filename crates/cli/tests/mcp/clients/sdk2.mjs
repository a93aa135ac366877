// The client of the TypeScript SDK 2.x, which speaks both revisions.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { finish, headers, mode, target, useTools } from "./target.mjs";

const client = new Client({ name: "sdk2", version: "1" }, { capabilities: {}, versionNegotiation: { mode } });
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } })
  : new StdioClientTransport(target);
await client.connect(transport);
assert.equal(client.getProtocolEra(), mode === "legacy" ? "legacy" : "modern");
const { tools } = await client.listTools();
const seen = await useTools(
  tools.map((tool) => tool.name),
  (name, args) => client.callTool({ name, arguments: args }),
);
await client.close();
finish(seen);
