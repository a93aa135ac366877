// Every option of the SDK: served, refused by name, or warned of by name.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { ask, result, run, system } from "./kit.mjs";

const noOpinion = async () => ({});

// Options that other checks use, and those that the SDK keeps to itself.
const ELSEWHERE = [
  "abortController", "cwd", "env", "executable", "executableArgs", "loadTimeoutMs", "onElicitation", "onUserDialog",
  "outputFormat", "pathToClaudeCodeExecutable", "pluginDelivery", "resume", "resumeDropsTurn", "resumeSessionAt",
  "sessionId", "sessionStoreFlush", "spawnClaudeCodeProcess", "stderr", "supportedDialogKinds", "toolConfig",
];

const ALONE = [{ continue: true }, { forkSession: true }];

const SERVED = [
  { additionalDirectories: ["/tmp"] },
  { agent: "explore" },
  { agents: {} },
  { allowDangerouslySkipPermissions: true },
  { allowedTools: ["Read"] },
  { canUseTool: async () => ({ behavior: "allow" }) },
  { debug: true },
  { disallowedTools: ["WebFetch"] },
  { effort: "low" },
  { enableFileCheckpointing: true },
  { forwardSubagentText: true },
  { hooks: { Stop: [{ hooks: [noOpinion] }] } },
  { includeHookEvents: true },
  { includePartialMessages: true },
  { managedSettings: { permissions: { deny: ["Bash(touch *)"] } } },
  { maxBudgetUsd: 1 },
  { maxThinkingTokens: 2000 },
  { maxTurns: 3 },
  { mcpServers: {} },
  { model: "default" },
  { permissionMode: "acceptEdits" },
  { permissionPrompts: "none" },
  { persistSession: false },
  { plugins: [] },
  { promptSuggestions: true },
  { sessionStore: new InMemorySessionStore() },
  { settings: { permissions: { deny: ["Bash(rm *)"], defaultMode: "acceptEdits" }, outputStyle: "Learning" } },
  { settingSources: ["project"] },
  { strictMcpConfig: true },
  { systemPrompt: "Be brief." },
  { settings: { hooks: { Stop: [{ hooks: [{ type: "command", command: "true" }] }] } } },
  { taskBudget: { total: 1_000_000 } },
  { thinking: { type: "adaptive" } },
  { thinking: { type: "disabled" } },
  { title: "A title" },
  { tools: ["Read"] },
  { verbatimPrompts: true },
];

const WARNED = [
  [{ agentProgressSummaries: true }, "`agentProgressSummaries`"],
  [{ betas: ["context-1m-2025-08-07"] }, "--betas"],
  [{ debugFile: "debug.txt" }, "--debug-file"],
  [{ extraArgs: { hologram: null } }, "--hologram"],
  [{ fallbackModel: "haiku" }, "--fallback-model"],
  [{ hooks: { FileChanged: [{ hooks: [noOpinion] }] } }, "FileChanged"],
  [{ model: "made-up" }, "`made-up`"],
  [{ perTaskStopAffordance: true }, "`perTaskStopAffordance`"],
  [{ planModeInstructions: "Think." }, "`planModeInstructions`"],
  [{ sandbox: { enabled: true, failIfUnavailable: false } }, "sandbox"],
  [{ settings: { env: { A: "b" } } }, "the setting `env`"],
  [{ skills: ["pdf"] }, "Skill(pdf)"],
  [{ toolAliases: { Read: "mcp__a__read" } }, "`toolAliases`"],
];

const REFUSED = [
  [{ extraArgs: { "safe-mode": null } }, "--safe-mode"],
  [{ managedSettings: { allowManagedHooksOnly: true } }, "allowManagedHooksOnly"],
  [{ permissionPromptToolName: "mcp__a__decide" }, "mcp__a__decide"],
  [{ projectConfigRoot: "/tmp" }, "--project-config-root"],
  // The SDK adds `failIfUnavailable`.
  [{ sandbox: { enabled: true } }, "sandbox"],
  [{ settings: { hooks: { PreToolUse: [{ hooks: [{ type: "telepathy" }] }] } } }, "--settings"],
];

/** The names of all options, from the SDK's own types. */
async function optionNames() {
  const types = await readFile(new URL("sdk.d.ts", import.meta.resolve("@anthropic-ai/claude-agent-sdk")), "utf8");
  const [, body] = types.match(/^export declare type Options = \{$([\s\S]*?)^\};$/m);
  return [...body.matchAll(/^    (\w+)\??:/gm)].map(([, name]) => name);
}

/** Runs a check for each case, a few at a time. */
async function atOnce(cases, check) {
  const left = [...cases];
  const work = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await check(next);
  };
  await Promise.all(Array.from({ length: 4 }, work));
}

const warnings = (messages) => system(messages, "informational").map(({ content }) => content);

await run({
  async serves_refuses_or_warns_of_every_option() {
    const sent = new Set([...ALONE, ...SERVED, ...[...WARNED, ...REFUSED].map(([more]) => more)].flatMap(Object.keys));
    assert.deepEqual((await optionNames()).filter((name) => !sent.has(name)).sort(), ELSEWHERE);
    const served = async (more) => {
      const messages = await ask("which model?", more);
      assert.deepEqual([warnings(messages), result(messages).result], [[], "I am the first model."], JSON.stringify(more));
    };
    // Which session is continued depends on the others.
    for (const more of ALONE) await served(more);
    await atOnce(SERVED, served);
    await atOnce(WARNED, async ([more, name]) => {
      const messages = await ask("which model?", more);
      assert.equal(result(messages).result, "I am the first model.", JSON.stringify(more));
      assert.ok(warnings(messages).some((text) => text.includes(name)), JSON.stringify([more, warnings(messages)]));
    });
    await atOnce(REFUSED, async ([more, name]) => {
      await assert.rejects(ask("which model?", more), (error) => error.message.includes(name), JSON.stringify(more));
    });
  },
});
