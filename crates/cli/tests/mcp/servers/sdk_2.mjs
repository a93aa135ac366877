// A server with the TypeScript SDK 2.x: `node sdk_2.mjs stdio`, or `node sdk_2.mjs http`, which prints its URL. It
// speaks both revisions, or only that with a handshake: `node sdk_2.mjs stdio session`.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const NAME = z.object({ name: z.string() });

const text = (value) => ({ content: [{ type: "text", text: value }] });

function build({ era }) {
  const server = new McpServer({ name: "sdk-2", version: "1.0.0" });
  const inputSchema = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { description: "Adds two numbers.", inputSchema }, ({ a, b }) =>
    text(`the sum is ${a + b}`),
  );
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("out of paper");
  });
  server.registerTool("revision", { description: "Names the revision." }, () =>
    text(era === "modern" ? "2026-07-28" : "2025-11-25"),
  );
  server.registerTool("ask", { description: "Asks the user." }, (context) => {
    const { inputResponses } = context.mcpReq;
    const asks = () => ({ who: inputRequired.elicit({ message: "Who are you?", requestedSchema: NAME }) });
    if (!inputResponses) return inputRequired({ inputRequests: asks() });
    return text(acceptedContent(inputResponses, "who", NAME)?.name ?? inputResponses.who.action);
  });
  server.registerTool("count", { description: "Reports progress." }, async (context) => {
    const { progressToken } = context.mcpReq._meta;
    for (const progress of [1, 2, 3]) {
      await context.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 3 } });
    }
    return text("counted to 3");
  });
  server.registerTool("grow", { description: "Adds a tool." }, () => {
    server.registerTool("grown", { description: "Grew meanwhile." }, () => text("new"));
    return text("grew");
  });
  return server;
}

// One server and transport per session.
function sessions() {
  const sessions = new Map();
  return async (request, response) => {
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      const onsessioninitialized = (session) => sessions.set(session, transport);
      transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
      await build({ era: "legacy" }).connect(transport);
    }
    await transport.handleRequest(request, response);
  };
}

const [transport, revision] = process.argv.slice(2);
const hasSessions = revision === "session";
if (transport === "http") {
  const http = createServer(hasSessions ? sessions() : toNodeHandler(createMcpHandler(build)));
  http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
} else if (hasSessions) {
  await build({ era: "legacy" }).connect(new StdioServerTransport());
} else {
  serveStdio(build);
}
