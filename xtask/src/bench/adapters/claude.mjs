// From a program's first call of the SDK to the first words of the answer, in milliseconds.
import { query } from "@anthropic-ai/claude-agent-sdk";

const began = performance.now();
const options = { pathToClaudeCodeExecutable: process.env.ADAPTER };
for await (const message of query({ prompt: "hello", options })) {
  if (message.type === "assistant") console.log(performance.now() - began);
}
