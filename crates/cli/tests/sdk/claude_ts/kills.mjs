// A session whose client or adapter is killed, and a program that continues it.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { getSessionMessages } from "@anthropic-ai/claude-agent-sdk";
import { run, system, Talk, talk } from "./kit.mjs";

const session = "01900000-0000-7000-8000-00000000c1a0";
const counter = { description: "Counts files", prompt: "You count files." };
const kept = { agents: { counter }, permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
const prompts = ["remember cargo", "start an agent to count slowly behind you", "work for ever"];
const never = () => false;

/** Two turns, an agent in the background, and a turn that does not end. */
async function begin(open) {
  for (const prompt of prompts.slice(0, 2)) await open.turn(prompt);
  open.say(prompts[2]);
}

const checks = {
  async works_until_it_is_killed() {
    const open = new Talk({ ...kept, sessionId: session });
    await begin(open);
    await open.until(never);
  },

  async goes_on() {
    await talk({ ...kept, resume: session }, async (open) => {
      open.say("what was it?");
      const results = [];
      const messages = await open.until((message) => {
        if (message.type === "result") {
          results.push(message);
          if (message.result === "It was cargo.") writeFileSync("go", "");
        }
        return message.type === "result" && message.origin?.kind === "task-notification";
      });
      assert.ok(results.some((message) => message.result === "It was cargo."), JSON.stringify(results));
      const started = system(messages, "task_started").map((message) => message.task_id);
      const ended = system(messages, "task_notification").map(({ task_id, status }) => [task_id, status]);
      assert.deepEqual(ended, started.map((task) => [task, "completed"]));
      assert.equal(started.length, 1);
      assert.match(results.at(-1).result, /counted slowly/);
    });
    const userMessages = (await getSessionMessages(session)).filter(({ type }) => type === "user");
    const wanted = [...prompts, "what was it?"];
    const foundPrompts = userMessages.map(({ message }) => message.content).filter((content) => wanted.includes(content));
    assert.deepEqual(foundPrompts, wanted);
  },

  async outlives_its_adapter() {
    const open = new Talk({ ...kept, sessionId: session });
    const { pid } = await open.query.initializationResult();
    await begin(open);
    const end = open.until(never);
    while (!existsSync("working")) await pause(5);
    process.kill(pid, "SIGKILL");
    await assert.rejects(end, /SIGKILL|exited|terminated/);
    await checks.goes_on();
  },
};

await run(checks);
