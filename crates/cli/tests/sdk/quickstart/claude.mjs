// A first program with the Claude Agent SDK for TypeScript: one question, one talk, a tool and a hook of its own.
// Only `pathToClaudeCodeExecutable` is about Bosun.

import { createSdkMcpServer, query, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

const pathToClaudeCodeExecutable = process.env.CLAUDE_ADAPTER;

function show(message) {
  if (message.type === "assistant") {
    for (const block of message.message.content) if (block.type === "text") console.log("Agent:", block.text);
  } else if (message.type === "result") {
    console.log("Turns:", message.num_turns);
  }
}

async function oneQuestion() {
  const options = { systemPrompt: "You answer in one sentence.", maxTurns: 3, pathToClaudeCodeExecutable };
  for await (const message of query({ prompt: "What is two and two?", options })) show(message);
}

async function files() {
  const options = {
    allowedTools: ["Read", "Write", "Bash"],
    permissionMode: "acceptEdits",
    cwd: process.cwd(),
    pathToClaudeCodeExecutable,
  };
  for await (const message of query({ prompt: "Make a file hello.txt", options })) show(message);
}

const greet = tool("greet", "Greets somebody by name", { name: z.string() }, async ({ name }) => ({
  content: [{ type: "text", text: `Hello, ${name}!` }],
}));

async function lookAtCommands(input) {
  if (!input.tool_input.command?.includes("rm -rf")) return {};
  return {
    hookSpecificOutput: {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "that command removes too much",
    },
  };
}

async function* prompts() {
  for (const content of ["Greet Alice", "Clean up with rm -rf"]) {
    yield { type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" };
  }
}

async function oneTalk() {
  const options = {
    mcpServers: { tools: createSdkMcpServer({ name: "tools", version: "1.0.0", tools: [greet] }) },
    allowedTools: ["mcp__tools__greet", "Bash"],
    hooks: { PreToolUse: [{ matcher: "Bash", hooks: [lookAtCommands] }] },
    pathToClaudeCodeExecutable,
  };
  for await (const message of query({ prompt: prompts(), options })) show(message);
}

await oneQuestion();
await files();
await oneTalk();
