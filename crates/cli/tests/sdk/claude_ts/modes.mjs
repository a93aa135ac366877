// Permission modes, plans, and questions of the model.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { calls, result, run, system, talk } from "./kit.mjs";

await run({
  async changes_the_permission_mode() {
    const canUseTool = async () => ({ behavior: "deny", message: "nobody may" });
    const more = { permissionMode: "default", allowDangerouslySkipPermissions: true, canUseTool };
    await talk(more, async (open) => {
      const asked = await open.turn("write asked.txt");
      await open.query.setPermissionMode("acceptEdits");
      const edited = await open.turn("write edited.txt");
      await open.query.setPermissionMode("bypassPermissions");
      await open.turn("run `touch bypassed`");
      await open.query.setPermissionMode("default");
      await open.turn("run `touch default`");
      const files = ["asked.txt", "edited.txt", "bypassed", "default"];
      assert.deepEqual(files.map(existsSync), [false, true, true, false]);
      const modes = [asked, edited].map((messages) => system(messages, "init")[0].permissionMode);
      assert.deepEqual(modes, ["default", "acceptEdits"]);
    });
  },

  async denies_unpermitted_calls() {
    await talk({ permissionMode: "dontAsk", allowedTools: ["Bash(touch a*)"] }, async (open) => {
      const allowed = await open.turn("run `touch allowed`");
      const denied = await open.turn("run `touch forbidden`");
      assert.deepEqual([existsSync("allowed"), existsSync("forbidden")], [true, false]);
      assert.equal(result(denied).permission_denials.length, 1);
      assert.equal(result(allowed).permission_denials.length, 0);
    });
  },

  async leaves_plan_mode_when_a_plan_is_approved() {
    const asked = [];
    const canUseTool = async (name, input) => {
      asked.push([name, input]);
      return { behavior: "allow", updatedInput: input };
    };
    await talk({ permissionMode: "plan", canUseTool }, async (open) => {
      const planned = await open.turn("plan it");
      assert.equal(system(planned, "init")[0].permissionMode, "plan");
      assert.equal(asked[0][0], "ExitPlanMode");
      assert.match(asked[0][1].plan, /Write planned\.txt\./);
      assert.ok(calls(planned).some(([name]) => name === "ExitPlanMode"));
      assert.equal(result(planned).result, "The plan is carried out.");
      assert.equal(readFileSync("planned.txt", "utf8"), "as planned\n");
    });
  },

  async stays_in_plan_mode_when_a_plan_is_refused() {
    const canUseTool = async (name) => {
      assert.equal(name, "ExitPlanMode");
      return { behavior: "deny", message: "think again" };
    };
    await talk({ permissionMode: "plan", canUseTool }, async (open) => {
      const planned = await open.turn("plan it");
      assert.match(result(planned).result, /think again/);
      assert.ok(!existsSync("planned.txt"));
    });
  },

  async answers_questions_of_the_model() {
    const canUseTool = async (name, input) => {
      assert.equal(name, "AskUserQuestion");
      const [{ question, options }] = input.questions;
      assert.deepEqual(options.map((option) => option.label), ["Tabs", "Spaces"]);
      return { behavior: "allow", updatedInput: { ...input, answers: { [question]: "Spaces" } } };
    };
    await talk({ permissionMode: "default", canUseTool }, async (open) => {
      assert.match(result(await open.turn("ask me")).result, /Spaces/);
    });
  },
});
