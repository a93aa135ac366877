// Agents of the program's own: in the foreground, in the background, and stopped.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { answers, assistantTexts, calls, ofType, options, result, run, system, talk } from "./kit.mjs";

const counter = { description: "Counts files", prompt: "You count files.", tools: ["Bash", "Read"] };
const withCounter = {
  agents: { counter },
  permissionMode: "bypassPermissions",
  allowDangerouslySkipPermissions: true,
};

await run({
  async starts_an_agent_of_the_program() {
    await talk({ ...withCounter, forwardSubagentText: true }, async (open) => {
      const messages = await open.turn("start an agent to count them");
      assert.ok((await open.query.supportedAgents()).some((agent) => agent.name === "counter"));
      assert.ok(system(messages, "init")[0].agents.includes("counter"));
      const [[name, input]] = calls(messages);
      assert.deepEqual([name, input.subagent_type, input.prompt], ["Agent", "counter", "count them"]);
      const [started] = system(messages, "task_started");
      assert.deepEqual([started.description, started.task_type], ["Counts files", "local_agent"]);
      const [ended] = system(messages, "task_notification");
      assert.deepEqual([ended.task_id, ended.status], [started.task_id, "completed"]);
      const ofAgent = ofType(messages, "assistant").filter((message) => message.parent_tool_use_id);
      assert.deepEqual(assistantTexts(ofAgent), ["There are 12 files."]);
      assert.equal(ofAgent[0].parent_tool_use_id, started.tool_use_id);
      assert.match(answers(messages)[0], /There are 12 files\./);
    });
  },

  async wakes_for_an_agent_in_the_background() {
    const prompt = "start an agent to count slowly behind you";
    const messages = [];
    for await (const message of query({ prompt, options: options(withCounter) })) {
      messages.push(message);
      if (message.type === "result") writeFileSync("go", "");
    }
    const [first, second] = ofType(messages, "result");
    assert.deepEqual([first.origin, second.origin?.kind], [undefined, "task-notification"]);
    assert.match(second.result, /counted slowly/);
    const [ended] = system(messages, "task_notification");
    assert.equal(ended.status, "completed");
    const at = [first, ended, second].map((message) => messages.indexOf(message));
    assert.deepEqual(at, at.toSorted((one, other) => one - other));
  },

  async stops_an_agent() {
    await talk(withCounter, async (open) => {
      const messages = await open.turn("start an agent to count for ever behind you");
      const [started] = system(messages, "task_started");
      await open.query.stopTask(started.task_id);
      const stopped = await open.until((message) => message.subtype === "task_notification");
      const updates = system(stopped, "task_updated").filter((message) => message.patch.status);
      assert.equal(updates.at(-1).patch.status, "killed");
      const { task_id, status } = stopped.at(-1);
      assert.deepEqual([task_id, status], [started.task_id, "stopped"]);
    });
  },
});
