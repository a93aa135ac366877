// A server with the TypeScript SDK 1.x: `node sdk_1.mjs stdio`, or `node sdk_1.mjs http`, which prints its URL.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ElicitResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const QUESTION = {
  message: "Who are you?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};

const text = (value) => ({ content: [{ type: "text", text: value }] });

function build() {
  const server = new McpServer({ name: "sdk-1", version: "1.0.0" });
  const numbers = { a: z.number(), b: z.number() };
  const add = { description: "Adds two numbers.", inputSchema: numbers, outputSchema: { sum: z.number() } };
  server.registerTool("add", add, ({ a, b }) => ({
    ...text(`the sum is ${a + b}`),
    structuredContent: { sum: a + b },
  }));
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("out of paper");
  });
  server.registerTool("revision", { description: "Names the revision." }, () => text("2025-11-25"));
  server.registerTool("ask", { description: "Asks the user." }, async (extra) => {
    const answer = await extra.sendRequest({ method: "elicitation/create", params: QUESTION }, ElicitResultSchema);
    return text(answer.action);
  });
  server.registerTool("count", { description: "Reports progress." }, async (extra) => {
    const progressToken = extra._meta.progressToken;
    for (const progress of [1, 2, 3]) {
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    return text("counted to 3");
  });
  server.registerTool("grow", { description: "Adds a tool." }, () => {
    server.registerTool("grown", { description: "Grew meanwhile." }, () => text("new"));
    return text("grew");
  });
  return server;
}

async function serveHttp() {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      const onsessioninitialized = (session) => sessions.set(session, transport);
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
      await build().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
}

process.argv[2] === "http" ? await serveHttp() : await build().connect(new StdioServerTransport());
