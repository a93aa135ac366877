// Sessions that are resumed, forked, and read from disk.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  listSubagents,
} from "@anthropic-ai/claude-agent-sdk";
import { ask, result, run } from "./kit.mjs";

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
});
