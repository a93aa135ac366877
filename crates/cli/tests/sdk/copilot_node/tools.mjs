// Tools of a client, and its decisions on calls and questions.
import { z } from "zod";
import { approveAll, defineTool } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, inOrder } from "./kit.mjs";

const lookUp = (seen, more = {}) =>
    defineTool("lookup_issue", {
        description: "Finds an issue by its number",
        parameters: z.object({ id: z.string() }),
        handler: async ({ id }, invocation) => {
            seen.push({ id, call: invocation.toolCallId });
            if (id === "0") throw new Error("there is no issue 0");
            return `issue ${id} is open`;
        },
        ...more,
    });

await checks({
    async "a tool of the client is called and answers"(client) {
        const seen = [];
        const asked = [];
        const session = await client.createSession({
            tools: [lookUp(seen)],
            onPermissionRequest: (request) => {
                asked.push(request);
                return { kind: "approve-once" };
            },
        });
        const recorder = new EventRecorder(session);
        const answer = await session.sendAndWait({ prompt: "look up 7" });
        assert.equal(answer.data.content, "The tracker says: issue 7 is open");
        assert.deepEqual(seen.map((call) => call.id), ["7"]);
        assert.deepEqual(asked.map((request) => [request.kind, request.toolName]), [["custom-tool", "lookup_issue"]]);
        const requested = recorder.all("external_tool.requested")[0].data;
        assert.deepEqual([requested.toolName, requested.arguments, requested.toolCallId], ["lookup_issue", { id: "7" }, seen[0].call]);
        inOrder(recorder.types, ["tool.execution_start", "external_tool.requested", "tool.execution_complete", "session.idle"]);
        const ended = recorder.all("tool.execution_complete")[0].data;
        assert.deepEqual([ended.success, ended.toolCallId], [true, seen[0].call]);
        await session.disconnect();
    },

    async "a tool that fails says so to the model"(client) {
        const session = await client.createSession({ tools: [lookUp([])], onPermissionRequest: approveAll });
        const answer = await session.sendAndWait({ prompt: "look up 0" });
        assert.doesNotMatch(answer.data.content, /there is no issue 0/);
        assert.match(answer.data.content, /the tool failed/);
        await session.disconnect();
    },

    async "a tool that needs no permission asks for none"(client) {
        const session = await client.createSession({
            tools: [lookUp([], { skipPermission: true })],
            onPermissionRequest: () => assert.fail("nobody is to be asked"),
        });
        const answer = await session.sendAndWait({ prompt: "look up 8" });
        assert.equal(answer.data.content, "The tracker says: issue 8 is open");
        await session.disconnect();
    },

    async "a call is allowed and denied"(client) {
        const asked = [];
        const session = await client.createSession({
            onPermissionRequest: (request) => {
                asked.push(request);
                return request.fileName?.endsWith("good.txt") ?
                    { kind: "approve-once" } :
                    { kind: "reject", feedback: "not this file" };
            },
        });
        const recorder = new EventRecorder(session);
        assert.equal((await session.sendAndWait({ prompt: "write good.txt" })).data.content, "It is written.");
        assert.match((await session.sendAndWait({ prompt: "write bad.txt" })).data.content, /^Denied: .*not this file/s);
        assert.deepEqual(asked.map((request) => request.kind), ["write", "write"]);
        const [allowed, denied] = recorder.all("permission.completed").map((event) => event.data.result.kind);
        assert.match(allowed, /^approved/);
        assert.match(denied, /^denied/);
        assert.deepEqual(recorder.all("tool.execution_complete").map((event) => event.data.success), [true, false]);
        await session.disconnect();
    },

    async "a command is asked about by its text, and allowed for the session"(client) {
        const asked = [];
        const session = await client.createSession({
            onPermissionRequest: (request) => {
                asked.push(request);
                return { kind: "approve-for-session" };
            },
        });
        assert.match((await session.sendAndWait({ prompt: "run touch one" })).data.content, /^It ran/);
        assert.equal(asked[0].kind, "shell");
        assert.equal(asked[0].fullCommandText, "touch one");
        await session.sendAndWait({ prompt: "run touch one" });
        assert.equal(asked.length, 1, "the same command is not asked about again");
        await session.disconnect();
    },

    async "without a handler a request waits for somebody to decide"(client) {
        const session = await client.createSession({});
        const recorder = new EventRecorder(session);
        await session.send({ prompt: "write later.txt" });
        const { requestId } = (await recorder.first("permission.requested")).data;
        const { success } = await session.rpc.permissions.handlePendingPermissionRequest({
            requestId,
            result: { kind: "approve-once" },
        });
        assert.equal(success, true);
        await recorder.first("session.idle");
        assert.equal(recorder.all("assistant.message").at(-1).data.content, "It is written.");
        await session.disconnect();
    },

    async "a question of the model is answered"(client) {
        const questions = [];
        const session = await client.createSession({
            onPermissionRequest: approveAll,
            onUserInputRequest: (request) => {
                questions.push(request);
                return { answer: "green", wasFreeform: false };
            },
        });
        assert.match((await session.sendAndWait({ prompt: "ask me" })).data.content, /^You chose .*green/s);
        assert.equal(questions[0].question, "Which colour?");
        assert.deepEqual(questions[0].choices, ["red", "green"]);
        await session.disconnect();
    },
});
