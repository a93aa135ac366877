// MCP servers that are programs or are reached by URL. `MCP_SERVER` and `MCP_URL` name a server that adds numbers.

import assert from "node:assert/strict";
import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { answers, result, run, system, talk } from "./kit.mjs";

const PROGRAM = JSON.parse(process.env.MCP_SERVER);
const URL = { type: "http", url: process.env.MCP_URL, headers: { Authorization: "Bearer t1" } };
const allowedTools = ["mcp__calc__add"];
const states = (servers) => Object.fromEntries(servers.map(({ name, status }) => [name, status]));

await run({
  async uses_servers_outside_the_program() {
    for (const server of [PROGRAM, URL]) {
      await talk({ mcpServers: { calc: server }, allowedTools }, async (open) => {
        const messages = await open.turn("add two and three");
        const [status] = await open.query.mcpServerStatus();
        const init = system(messages, "init")[0];
        assert.deepEqual(states(init.mcp_servers), { calc: "connected" });
        assert.ok(init.tools.includes("mcp__calc__add"));
        assert.equal(result(messages).result, "The sum: the sum is 5");
        assert.deepEqual([status.status, status.serverInfo.name], ["connected", "scripted"]);
        assert.ok(status.tools.some(({ name }) => name === "add"));
      });
    }
  },

  async reports_servers_that_do_not_work() {
    const mcpServers = {
      missing: { command: "no-such-program" },
      old: { type: "sse", url: "http://127.0.0.1:9/sse" },
      locked: { type: "http", url: process.env.MCP_URL },
    };
    await talk({ mcpServers }, async (open) => {
      const messages = await open.turn("remember this");
      const status = await open.query.mcpServerStatus();
      const wanted = { missing: "failed", old: "failed", locked: "needs-auth" };
      assert.deepEqual(states(system(messages, "init")[0].mcp_servers), wanted);
      const errors = Object.fromEntries(status.map(({ name, error }) => [name, error]));
      assert.match(errors.missing, /no-such-program/);
      assert.match(errors.old, /sse/);
      assert.equal(result(messages).result, "I will remember this.");
    });
  },

  async switches_a_server_off_and_on() {
    await talk({ mcpServers: { calc: PROGRAM }, allowedTools }, async (open) => {
      await open.query.toggleMcpServer("calc", false);
      const off = await open.turn("add two and three");
      assert.deepEqual(states(await open.query.mcpServerStatus()), { calc: "disabled" });
      await open.query.toggleMcpServer("calc", true);
      await open.query.reconnectMcpServer("calc");
      assert.deepEqual(states(await open.query.mcpServerStatus()), { calc: "connected" });
      const on = await open.turn("add two and three");
      assert.doesNotMatch(answers(off)[0], /sum is/);
      assert.equal(result(on).result, "The sum: the sum is 5");
    });
  },

  async gives_an_agent_a_server_of_its_own() {
    const adder = { description: "Adds", prompt: "You add.", mcpServers: [{ calc: PROGRAM }] };
    const more = { agents: { adder }, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    await talk(more, async (open) => {
      const own = await open.turn("add two and three");
      const messages = await open.turn("start an agent to add");
      assert.match(answers(own)[0], /There is no tool/);
      assert.match(answers(messages).at(-1), /the sum is 5/);
    });
  },

  async sets_servers_while_the_session_runs() {
    await talk({ allowedTools }, async (open) => {
      await open.turn("remember this");
      const set = await open.query.setMcpServers({ calc: PROGRAM, missing: { command: "no-such-program" } });
      assert.deepEqual([set.added, set.removed], [["calc", "missing"], []]);
      assert.match(set.errors.missing, /no-such-program/);
      const messages = await open.turn("add two and three");
      assert.equal(states(system(messages, "init")[0].mcp_servers).calc, "connected");
      assert.equal(result(messages).result, "The sum: the sum is 5");
      assert.deepEqual((await open.query.setMcpServers({})).removed, ["calc", "missing"]);
      assert.match(answers(await open.turn("add two and three"))[0], /There is no tool/);
      const add = tool("add", "Adds.", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
        content: [{ type: "text", text: `inside, the sum is ${a + b}` }],
      }));
      const inside = createSdkMcpServer({ name: "calc", tools: [add] });
      assert.deepEqual(await open.query.setMcpServers({ calc: inside }), { added: ["calc"], removed: [], errors: {} });
      assert.equal(result(await open.turn("add two and three")).result, "The sum: inside, the sum is 5");
      assert.deepEqual((await open.query.setMcpServers({})).removed, ["calc"]);
      assert.match(answers(await open.turn("add two and three"))[0], /There is no tool/);
    });
  },
});
