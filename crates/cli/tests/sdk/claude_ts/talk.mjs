// Turns: the messages during a turn and at its end, and what ends a turn early.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { answers, ask, assistantTexts, blocks, calls, ofType, result, run, system, talk } from "./kit.mjs";

/** The messages of a query before it failed. */
async function failing(prompt, more) {
  const messages = [];
  await talk(more, async (open) => {
    open.say(prompt);
    messages.push(...(await open.until((message) => message.type === "result")));
  }).catch((error) => messages.push(error));
  return messages;
}

await run({
  async streams() {
    const messages = await ask("stream a sentence", { includePartialMessages: true });
    const sentence = "A sentence that arrives in several pieces.";
    const events = ofType(messages, "stream_event").map((message) => message.event);
    assert.equal(events[0].type, "message_start");
    assert.equal(events.at(-1).type, "message_stop");
    const deltas = events.filter((event) => event.type === "content_block_delta").map((event) => event.delta.text);
    assert.equal(deltas.join(""), sentence);
    assert.ok(deltas.length > 1, deltas);
    assert.deepEqual(assistantTexts(messages), [sentence]);
    const [init] = system(messages, "init");
    for (const name of ["Bash", "Read", "Edit", "Write", "Task"]) assert.ok(init.tools.includes(name), init.tools);
    assert.equal(init.cwd, process.cwd());
    const end = result(messages);
    assert.deepEqual([end.subtype, end.is_error, end.result, end.num_turns], ["success", false, sentence, 1]);
    assert.equal(end.session_id, init.session_id);
    assert.deepEqual([end.usage.input_tokens, end.usage.output_tokens], [100, 20]);
    assert.ok(end.total_cost_usd > 0 && end.duration_ms >= 0 && Object.keys(end.modelUsage).length === 1, end);
  },

  async converses() {
    await talk({}, async (open) => {
      const first = await open.turn("remember anchors");
      const second = await open.turn("what was it?");
      assert.deepEqual([result(first).result, result(second).result], ["I will remember anchors.", "It was anchors."]);
      assert.equal(result(first).session_id, result(second).session_id);
      assert.ok(system(first, "init").length && system(second, "init").length);
    });
  },

  async takes_a_stream_of_prompts() {
    await talk({}, async (open) => {
      open.say([{ type: "text", text: "remember ropes" }]);
      open.say([{ type: "text", text: "what was it?" }]);
      const messages = await open.until((message) => message.type === "result" && message.result.startsWith("It was"));
      assert.deepEqual(assistantTexts(messages), ["I will remember ropes.", "It was ropes."]);
    });
  },

  async sends_one_frame_per_block() {
    const messages = await ask("two at once", { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true });
    const assistantMessages = ofType(messages, "assistant");
    const kinds = assistantMessages.map((message) => message.message.content.map((block) => block.type).join());
    assert.deepEqual(kinds, ["thinking", "text", "tool_use", "tool_use", "text"]);
    assert.equal(new Set(assistantMessages.slice(0, 4).map((message) => message.message.id)).size, 1);
    assert.deepEqual(calls(messages), [["Bash", { command: "echo one" }], ["Bash", { command: "echo two" }]]);
    assert.match(answers(messages)[0], /one/);
    assert.match(answers(messages)[1], /two/);
    assert.deepEqual([result(messages).result, result(messages).num_turns], ["Both are done.", 2]);
  },

  async switches_the_model() {
    writeFileSync("second.yaml", "version: 1\nrules:\n  - answer:\n      - say: I am the second model.\n");
    await talk({}, async (open) => {
      const first = await open.turn("which model?");
      await open.query.setModel("script/second.yaml");
      const second = await open.turn("which model?");
      assert.deepEqual([result(first).result, result(second).result], ["I am the first model.", "I am the second model."]);
      assert.match(system(second, "init")[0].model, /second\.yaml/);
    });
  },

  async interrupts() {
    await talk({ permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true }, async (open) => {
      open.say("work for ever");
      await open.until((message) => blocks([message], "tool_use").length > 0);
      await open.query.interrupt();
      const stopped = await open.until((message) => message.type === "result");
      assert.equal(result(stopped).subtype, "error_during_execution");
      assert.equal(result(await open.turn("remember that")).result, "I will remember that.");
    });
  },

  async limits_turns() {
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    const end = result(await failing("go on and on", { maxTurns: 2, ...bypass }));
    assert.deepEqual([end.subtype, end.is_error, end.num_turns], ["error_max_turns", true, 3]);
  },

  async limits_money() {
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    const end = result(await failing("spend a fortune", { maxBudgetUsd: 4, ...bypass }));
    assert.deepEqual([end.subtype, end.is_error], ["error_max_budget_usd", true]);
  },
});
