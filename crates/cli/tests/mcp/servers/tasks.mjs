// A server of 2026-07-28 whose tool runs as a task. The schemas of ext-tasks check every request and every answer.

import { createInterface } from "node:readline";

import {
  hasTaskClientCapabilityV2,
  hasTaskServerCapabilityV2,
  isCancelTaskRequestV2,
  isCreateTaskResultV2,
  isDetailedTaskV2,
  isGetTaskRequestV2,
  isUpdateTaskRequestV2,
} from "@modelcontextprotocol/ext-tasks/core/v2";

const CAPABILITIES = { tools: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const QUESTION = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Which one?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  },
};

let polls = 0;
let answer;
const updates = [];

function require(holds, what) {
  if (!holds) throw new Error(`invalid: ${what}`);
}

function task(status, more = {}) {
  const time = "2026-08-01T10:00:00Z";
  return { taskId: "t1", status, createdAt: time, lastUpdatedAt: time, ttlMs: 60000, pollIntervalMs: 100, ...more };
}

// Works, asks a question, works again, and completes.
function state() {
  polls += 1;
  if (!answer && polls > 1) return task("input_required", { inputRequests: { which: QUESTION } });
  if (!answer || polls < 4) return task("working", { statusMessage: "half of it" });
  const content = [{ type: "text", text: `the answer was: ${answer}, ${updates.length} update` }];
  return task("completed", { result: { resultType: "complete", content } });
}

function reply(message) {
  const { method, params } = message;
  switch (method) {
    case "server/discover":
      require(hasTaskServerCapabilityV2(CAPABILITIES), "the server's capabilities");
      return { supportedVersions: ["2026-07-28"], capabilities: CAPABILITIES, ttlMs: 0, cacheScope: "private" };
    case "tools/list":
      return { tools: [{ name: "work", description: "Works.", inputSchema: { type: "object" } }] };
    case "tools/call": {
      require(hasTaskClientCapabilityV2(params), "the client's capabilities");
      const created = { ...task("working"), resultType: "task" };
      require(isCreateTaskResultV2(created), "the created task");
      return created;
    }
    case "tasks/get": {
      require(isGetTaskRequestV2(message), JSON.stringify(message));
      const current = state();
      require(isDetailedTaskV2(current), "the task");
      return current;
    }
    case "tasks/update":
      require(isUpdateTaskRequestV2(message), JSON.stringify(message));
      updates.push(params);
      answer = params.inputResponses.which.action;
      return {};
    case "tasks/cancel":
      require(isCancelTaskRequestV2(message), JSON.stringify(message));
      return {};
    default:
      throw new Error(`unknown method ${method}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue;
  let outcome;
  try {
    outcome = { result: { resultType: "complete", ...reply(message) } };
  } catch (error) {
    outcome = { error: { code: -32602, message: error.message } };
  }
  console.log(JSON.stringify({ jsonrpc: "2.0", id: message.id, ...outcome }));
}
