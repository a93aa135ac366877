// Shared helpers: options that select Bosun, a session of many turns, and one check chosen by name.

import assert from "node:assert/strict";
import { query } from "@anthropic-ai/claude-agent-sdk";

export const options = (more = {}) => ({ pathToClaudeCodeExecutable: process.env.CLAUDE_ADAPTER, ...more });

/** All messages that follow one prompt. */
export async function ask(prompt, more) {
  const messages = [];
  for await (const message of query({ prompt, options: options(more) })) messages.push(message);
  return messages;
}

/** A session that receives prompts one after the other. */
export class Talk {
  #prompts = [];
  #wake = () => {};
  #open = true;

  constructor(more) {
    this.query = query({ prompt: this.#stream(), options: options(more) });
  }

  async *#stream() {
    for (;;) {
      if (this.#prompts.length) yield this.#prompts.shift();
      else if (!this.#open) return;
      else await new Promise((wake) => (this.#wake = wake));
    }
  }

  say(content) {
    this.#prompts.push({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "" });
    this.#wake();
  }

  /** The messages up to the first one for which `last` is true. */
  async until(last) {
    const messages = [];
    for (;;) {
      const { value, done } = await this.query.next();
      assert.ok(!done, `the session ended after ${JSON.stringify(messages)}`);
      messages.push(value);
      if (last(value)) return messages;
    }
  }

  /** All messages from a prompt to its result. */
  turn(content) {
    this.say(content);
    return this.until((message) => message.type === "result");
  }

  /** Ends the session and waits until it has ended. */
  async end() {
    this.#open = false;
    this.#wake();
    for await (const _message of this.query);
  }
}

/** Runs a session and ends it. */
export async function talk(more, body) {
  const open = new Talk(more);
  const value = await body(open);
  await open.end();
  return value;
}

export const ofType = (messages, type) => messages.filter((message) => message.type === type);

export function result(messages) {
  const results = ofType(messages, "result");
  assert.ok(results.length, JSON.stringify(messages));
  return results.at(-1);
}

export const system = (messages, subtype) => ofType(messages, "system").filter((message) => message.subtype === subtype);

/** Every content block of a type, in order. */
export function blocks(messages, type) {
  const talk = messages.filter((message) => message.type === "assistant" || message.type === "user");
  const contents = talk.map((message) => message.message.content).filter(Array.isArray);
  return contents.flat().filter((block) => block.type === type);
}

export const assistantTexts = (messages) => blocks(ofType(messages, "assistant"), "text").map((block) => block.text);
export const calls = (messages) => blocks(messages, "tool_use").map(({ name, input }) => [name, input]);

/** The results of tools as plain text. */
export const answers = (messages) =>
  blocks(messages, "tool_result").map(({ content }) =>
    typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""),
  );

/** Runs the check that the command line names, within a minute. */
export async function run(checks) {
  const name = process.argv[2];
  const late = setTimeout(() => {
    console.error(`${name} takes too long`);
    process.exit(1);
  }, 60_000);
  await checks[name]();
  clearTimeout(late);
  console.log(JSON.stringify({ passed: name }));
}
