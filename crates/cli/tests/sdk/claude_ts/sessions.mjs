// Sessions that are resumed, forked, and read from disk.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  InMemorySessionStore,
  listSessions,
  listSubagents,
} from "@anthropic-ai/claude-agent-sdk";
import { ask, ofType, result, run, talk } from "./kit.mjs";

await run({
  async resumes() {
    const sessionId = randomUUID();
    const first = await ask("remember harbours", { sessionId });
    const second = await ask("what was it?", { resume: sessionId });
    const third = await ask("what was it?", { continue: true });
    const ids = [first, second, third].map((messages) => result(messages).session_id);
    assert.deepEqual(ids, [sessionId, sessionId, sessionId]);
    assert.deepEqual([result(second).result, result(third).result], ["It was harbours.", "It was harbours."]);
  },

  async refuses_to_resume_what_is_not_there() {
    const missing = randomUUID();
    await assert.rejects(ask("what was it?", { resume: missing }), new RegExp(missing));
  },

  async forks() {
    const first = result(await ask("remember lanterns"));
    const copy = result(await ask("what was it?", { resume: first.session_id, forkSession: true }));
    assert.equal(copy.result, "It was lanterns.");
    assert.notEqual(copy.session_id, first.session_id);
    assert.equal((await getSessionMessages(first.session_id)).length, 2);
    assert.equal((await getSessionMessages(copy.session_id)).length, 4);
  },

  async reads_sessions_again() {
    const counter = { description: "Counts files", prompt: "You count files." };
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    const name = result(await ask("start an agent to count them", { agents: { counter }, ...bypass })).session_id;
    const [listed, ...others] = await listSessions({ dir: process.cwd() });
    assert.deepEqual([listed.sessionId, others], [name, []]);
    assert.equal(listed.firstPrompt, "start an agent to count them");
    assert.equal((await getSessionInfo(name)).sessionId, name);
    const kept = await getSessionMessages(name);
    assert.deepEqual(kept.map((message) => message.type), ["user", "assistant", "user", "assistant"]);
    assert.equal(kept[0].message.content, "start an agent to count them");
    const [agent] = await listSubagents(name);
    const agentMessages = await getSubagentMessages(name, agent);
    assert.deepEqual(agentMessages.map((message) => message.type), ["user", "assistant"]);
    assert.match(JSON.stringify(agentMessages[1].message.content), /There are 12 files\./);
    assert.equal(agentMessages[0].parent_tool_use_id, kept[1].message.content[0].id);
  },

  async starts_another_conversation() {
    const [first, cleared, second] = await talk({}, async (open) => [
      await open.turn("remember anchors"),
      await open.turn("/clear"),
      await open.turn("what was it?"),
    ]);
    const [reset] = ofType(cleared, "conversation_reset");
    assert.equal(reset.session_id, result(first).session_id);
    const ids = [cleared, second].map((messages) => result(messages).session_id);
    assert.deepEqual(ids, [reset.new_conversation_id, reset.new_conversation_id]);
    assert.equal(result(second).result, "I was told nothing.");
  },

  async resumes_at_a_message() {
    const [first, second] = await talk({}, async (open) => [
      await open.turn("remember tides"),
      await open.turn("which model?"),
    ]);
    const resume = result(second).session_id;
    const resumeSessionAt = ofType(first, "assistant").at(-1).uuid;
    const resumeDropsTurn = (await getSessionMessages(resume))[2].uuid;
    const at = { resume, resumeSessionAt, forkSession: true };
    const forked = result(await ask("what was it?", { ...at, resumeDropsTurn }));
    assert.equal(forked.result, "It was tides.");
    const messages = await getSessionMessages(forked.session_id);
    const prompts = messages.filter(({ type }) => type === "user").map(({ message }) => message.content);
    assert.deepEqual(prompts, ["remember tides", "what was it?"]);
    const other = ask("what was it?", { ...at, resumeDropsTurn: randomUUID() });
    await assert.rejects(other, /Resume rejected by --resume-drops-turn:/);
  },

  async keeps_sessions_in_a_store() {
    const sessionStore = new InMemorySessionStore();
    const first = result(await ask("remember anchors", { sessionStore }));
    const second = result(await ask("what was it?", { sessionStore, resume: first.session_id }));
    assert.deepEqual([second.session_id, second.result], [first.session_id, "It was anchors."]);
    const kept = await getSessionMessages(first.session_id, { sessionStore });
    assert.deepEqual(kept.map(({ type }) => type), ["user", "assistant", "user", "assistant"]);
  },

  async rewinds_files() {
    const more = { permissionMode: "acceptEdits", enableFileCheckpointing: true, extraArgs: { "replay-user-messages": null } };
    await talk(more, async (open) => {
      const turns = [await open.turn("write first.txt"), await open.turn("write second.txt")];
      writeFileSync("second.txt", "mine");
      const [first, second] = turns.map((messages) => ofType(messages, "user").find(({ isReplay }) => isReplay).uuid);
      const nothing = await open.query.rewindFiles(second, { dryRun: true });
      assert.equal(nothing.canRewind, false);
      assert.match(nothing.error, /second\.txt \(it has changed since\)/);
      const preview = await open.query.rewindFiles(first, { dryRun: true });
      assert.ok(preview.canRewind && existsSync("first.txt"), JSON.stringify(preview));
      const done = await open.query.rewindFiles(first);
      assert.deepEqual([done.filesChanged, done.deletions], [[resolve("first.txt")], 1]);
      assert.deepEqual([existsSync("first.txt"), readFileSync("second.txt", "utf8")], [false, "mine"]);
      assert.equal(result(await open.turn("which model?")).result, "I am the first model.");
    });
  },

  async reports_its_context() {
    await talk({}, async (open) => {
      await open.turn("which model?");
      const usage = await open.query.getContextUsage();
      const used = usage.categories.filter(({ kind }) => kind === "used");
      assert.equal(usage.totalTokens, used.reduce((sum, { tokens }) => sum + tokens, 0));
      assert.ok(usage.totalTokens > 0 && usage.systemTools.length > 0, JSON.stringify(usage));
      await open.query.setMaxThinkingTokens(1000);
      await open.query.applyFlagSettings({ permissions: { deny: ["Write"] } });
      await assert.rejects(open.query.applyFlagSettings({ env: {} }), /`env`/);
      assert.ok((await open.query.supportedModels()).some(({ value }) => value === "default"));
    });
  },
});
