// What the programs in this folder share. Each gets a server as JSON in its first argument: a program with its
// arguments and environment, or a URL with a token. It prints what it saw as JSON.

import assert from "node:assert/strict";

/** The server to use. */
export const target = JSON.parse(process.argv[2]);

/** The second argument: a revision, or the file that keeps an agent at work. */
export const mode = process.argv[3];

/** The headers of every request. */
export const headers = { Authorization: `Bearer ${target.token}` };

/** Uses the tools in the way of every client: `call` calls one and returns its result. */
export async function useTools(names, call) {
  assert.ok(names.includes("start_agent") && names.includes("fleet_status"), names.join());
  assert.ok(!names.includes("answer_ask"), "clients may not decide for the user");
  const started = await call("start_agent", { prompt: "say hello", wait_seconds: 60 });
  assert.equal(started.structuredContent.status, "completed", JSON.stringify(started));
  const { session, text } = started.structuredContent;
  const read = await call("read_agent", { session, turns_after: 0 });
  assert.equal(read.structuredContent.turns.length, 1, JSON.stringify(read));
  const listed = await call("list_agents", {});
  assert.ok(listed.structuredContent.agents.some((agent) => agent.session === session));
  const unknown = await call("read_agent", { session: "ses-01900000-0000-7000-8000-000000000001" });
  assert.equal(unknown.isError, true);
  return { session, text };
}

/** Prints what was seen, and ends. */
export function finish(seen) {
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit(0));
}
