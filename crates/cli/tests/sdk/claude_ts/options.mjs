// Every option of the SDK, as the table says: served, refused by name, or warned of by name.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { ask, result, run, system } from "./kit.mjs";

const LANGUAGE = "typescript";

// Values that no table can contain.
const VALUES = {
  $allow: async () => ({ behavior: "allow" }),
  $hook: [{ hooks: [async () => ({})] }],
  $store: new InMemorySessionStore(),
};

function filled(value) {
  if (typeof value === "string") return VALUES[value] ?? value;
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filled(inner)]));
}

/** The rows of the table that concern this language. */
async function readRows() {
  const lines = (await readFile(process.env.OPTIONS, "utf8")).trim().split("\n");
  return lines.map((line) => JSON.parse(line)).filter((row) => LANGUAGE in row);
}

const valueOf = (row) => (`${LANGUAGE}_value` in row ? row[`${LANGUAGE}_value`] : row.value);

/** The names of all options, from the SDK's own types. */
async function optionNames() {
  const types = await readFile(new URL("sdk.d.ts", import.meta.resolve("@anthropic-ai/claude-agent-sdk")), "utf8");
  const [, body] = types.match(/^export declare type Options = \{$([\s\S]*?)^\};$/m);
  return [...body.matchAll(/^    (\w+)\??:/gm)].map(([, name]) => name);
}

/** The warnings that a session gives with these options, and its answer. */
async function turnOf(more) {
  try {
    const messages = await ask("which model?", more);
    return { warnings: system(messages, "informational").map(({ content }) => content), answer: result(messages).result };
  } catch (error) {
    return { warnings: [], error: error.message };
  }
}

/** Whether this is what the row promises. */
function fits(row, { warnings, answer, error }) {
  if ("refused" in row) return error !== undefined && error.includes(row.refused);
  if (answer !== "I am the first model.") return false;
  return "warned" in row ? warnings.some((text) => text.includes(row.warned)) : warnings.length === 0;
}

const isAlone = (row) => row[LANGUAGE] === "continue";

/** Works on each row, a few at a time. */
async function atOnce(rows, work) {
  const left = [...rows];
  const worker = async () => {
    for (let row = left.shift(); row !== undefined; row = left.shift()) await work(row);
  };
  await Promise.all(Array.from({ length: 4 }, worker));
}

await run({
  async serves_refuses_or_warns_of_every_option() {
    const rows = await readRows();
    assert.deepEqual([...new Set(rows.map((row) => row[LANGUAGE]))].sort(), (await optionNames()).sort());
    const wrong = [];
    const send = async (row) => {
      const seen = await turnOf({ [row[LANGUAGE]]: filled(valueOf(row)), ...row.with?.[LANGUAGE] });
      if (!fits(row, seen)) wrong.push([row, seen]);
    };
    const sent = rows.filter((row) => valueOf(row) !== undefined);
    // Which session is continued depends on the others.
    for (const row of sent.filter(isAlone)) await send(row);
    await atOnce(sent.filter((row) => !isAlone(row)), send);
    assert.deepEqual(wrong, []);
  },
});
