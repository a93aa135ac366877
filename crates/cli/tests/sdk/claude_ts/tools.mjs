// What a program supplies: tools, permission decisions, hooks and an output schema.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { answers, ask, calls, result, run, system, talk } from "./kit.mjs";

const numbers = { a: z.number(), b: z.number() };
const text = (words) => ({ content: [{ type: "text", text: words }] });

await run({
  async calls_a_tool_of_the_program() {
    const seen = [];
    const add = tool("add", "Adds two numbers", numbers, async (args) => {
      seen.push(args);
      return text(String(args.a + args.b));
    });
    const divide = tool("divide", "Divides two numbers", numbers, async () => ({ ...text("not by zero"), isError: true }));
    const calc = createSdkMcpServer({ name: "calc", tools: [add, divide] });
    const allowedTools = ["mcp__calc__add", "mcp__calc__divide"];
    await talk({ mcpServers: { calc }, allowedTools }, async (open) => {
      const sum = await open.turn("add two and three");
      const failure = await open.turn("divide by zero");
      assert.deepEqual(seen, [{ a: 2, b: 3 }]);
      assert.deepEqual(calls(sum), [["mcp__calc__add", { a: 2, b: 3 }]]);
      assert.match(result(sum).result, /^The sum: 5/);
      assert.match(result(failure).result, /not by zero/);
      const servers = system(sum, "init")[0].mcp_servers.map(({ name, status }) => [name, status]);
      assert.deepEqual(servers, [["calc", "connected"]]);
    });
  },

  async asks_before_a_tool_of_the_program() {
    const asked = [];
    const add = tool("add", "Adds two numbers", numbers, async () => assert.fail("it was denied"));
    const calc = createSdkMcpServer({ name: "calc", tools: [add] });
    const canUseTool = async (name) => {
      asked.push(name);
      return { behavior: "deny", message: "no sums today" };
    };
    await talk({ mcpServers: { calc }, permissionMode: "default", canUseTool }, async (open) => {
      const messages = await open.turn("add two and three");
      assert.deepEqual(asked, ["mcp__calc__add"]);
      assert.match(result(messages).result, /no sums today/);
    });
  },

  async asks_for_permission() {
    const asked = [];
    const canUseTool = async (name, input, { toolUseID }) => {
      asked.push([name, input.command]);
      assert.ok(toolUseID);
      if (input.command.includes("forbidden")) return { behavior: "deny", message: "not that file" };
      const command = input.command.includes("renamed") ? "touch another" : input.command;
      return { behavior: "allow", updatedInput: { ...input, command } };
    };
    await talk({ permissionMode: "default", canUseTool }, async (open) => {
      const allowed = await open.turn("run `touch allowed`");
      const denied = await open.turn("run `touch forbidden`");
      const changed = await open.turn("run `touch renamed`");
      const commands = ["touch allowed", "touch forbidden", "touch renamed"];
      assert.deepEqual(asked, commands.map((command) => ["Bash", command]));
      const files = ["allowed", "forbidden", "renamed", "another"];
      assert.deepEqual(files.map(existsSync), [true, false, false, true]);
      assert.match(answers(denied)[0], /not that file/);
      assert.deepEqual(result(denied).permission_denials.map((denial) => denial.tool_name), ["Bash"]);
      assert.deepEqual([result(allowed), result(changed)].map((end) => end.permission_denials), [[], []]);
    });
  },

  async stops_at_a_denial_that_interrupts() {
    const canUseTool = async () => ({ behavior: "deny", message: "stop everything", interrupt: true });
    await talk({ permissionMode: "default", canUseTool }, async (open) => {
      const stopped = await open.turn("run `touch forbidden`");
      const again = await open.turn("remember this");
      assert.equal(result(stopped).subtype, "error_during_execution");
      assert.equal(result(again).result, "I will remember this.");
    });
  },

  async asks_hooks_before_and_after() {
    const hookCalls = [];
    const record = (input) => hookCalls.push([input.hook_event_name, input.tool_name, input.tool_input.command]);
    const before = async (input, toolUseID) => {
      record(input);
      assert.ok(toolUseID);
      if (!input.tool_input.command.includes("blocked")) return {};
      const verdict = { permissionDecision: "deny", permissionDecisionReason: "a hook says no" };
      return { hookSpecificOutput: { hookEventName: "PreToolUse", ...verdict } };
    };
    const after = async (input) => {
      record(input);
      return {};
    };
    const context = async ({ prompt }) => {
      if (!prompt.includes("secret")) return {};
      const additionalContext = "the secret word is rosebud";
      return { hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext } };
    };
    const stop = async (input) => {
      hookCalls.push([input.hook_event_name]);
      return {};
    };
    const hooks = {
      PreToolUse: [{ matcher: "Bash", hooks: [before] }],
      PostToolUse: [{ matcher: "Bash", hooks: [after] }],
      UserPromptSubmit: [{ hooks: [context] }],
      Stop: [{ hooks: [stop] }],
    };
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    await talk({ hooks, ...bypass }, async (open) => {
      const ran = await open.turn("run `echo loud`");
      const blocked = await open.turn("run `touch blocked`");
      const informed = await open.turn("tell me the secret word");
      assert.deepEqual(hookCalls, [
        ["PreToolUse", "Bash", "echo loud"],
        ["PostToolUse", "Bash", "echo loud"],
        ["Stop"],
        ["PreToolUse", "Bash", "touch blocked"],
        ["Stop"],
        ["Stop"],
      ]);
      assert.match(result(ran).result, /loud/);
      assert.match(answers(blocked)[0], /a hook says no/);
      assert.ok(!existsSync("blocked"));
      assert.equal(result(informed).result, "The word is rosebud.");
    });
  },

  async gives_structured_output() {
    const properties = { name: { type: "string" }, crew: { type: "integer" } };
    const schema = { type: "object", properties, required: ["name", "crew"] };
    const outputFormat = { type: "json_schema", schema };
    const messages = await ask("describe yourself", { outputFormat });
    assert.deepEqual(result(messages).structured_output, { name: "Bosun", crew: 3 });
    const late = await ask("describe yourself late", { outputFormat });
    assert.deepEqual(result(late).structured_output, { name: "Bosun", crew: 4 });
    assert.equal(result(late).subtype, "success");
  },
});
