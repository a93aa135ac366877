// The life of a session: creation, turns, abort, deletion.
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, inOrder } from "./kit.mjs";

const kept = { id: randomUUID() };

await checks({
    async "the server answers about itself"(client) {
        await client.start();
        assert.match((await client.ping("hello")).message, /hello/);
        assert.equal((await client.getStatus()).protocolVersion, 3);
        assert.equal(typeof (await client.getAuthStatus()).isAuthenticated, "boolean");
        assert.ok(Array.isArray(await client.listModels()));
    },

    async "an answer is streamed in pieces, then told whole"(client) {
        const session = await client.createSession({ streaming: true, onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        const answer = await session.sendAndWait({ prompt: "stream it" });
        assert.equal(answer.data.content, "These words come in pieces.");
        const pieces = recorder.all("assistant.message_delta");
        assert.ok(pieces.length > 1, "more than one piece");
        assert.equal(pieces.map((event) => event.data.deltaContent).join(""), answer.data.content);
        assert.ok(pieces.every((event) => event.data.messageId === answer.data.messageId));
        inOrder(recorder.types, ["user.message", "assistant.message_delta", "assistant.message", "session.idle"]);
        assert.equal(recorder.all("session.idle").length, 1);
        await session.disconnect();
    },

    async "without streaming there are no pieces"(client) {
        const session = await client.createSession({ sessionId: kept.id, onPermissionRequest: approveAll });
        assert.equal(session.sessionId, kept.id);
        const recorder = new EventRecorder(session);
        const messageId = await session.send({ prompt: "stream it" });
        assert.equal(typeof messageId, "string");
        await recorder.first("session.idle");
        assert.equal(recorder.all("assistant.message_delta").length, 0);
        assert.equal(recorder.all("assistant.message")[0].data.content, "These words come in pieces.");
        await session.disconnect();
    },

    async "an abort ends the turn and not the session"(client) {
        const session = await client.createSession({ streaming: true, onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await session.send({ prompt: "never end" });
        await recorder.first("assistant.message_delta");
        await session.abort();
        const idle = await recorder.first("session.idle");
        assert.equal(idle.data.aborted, true);
        inOrder(recorder.types, ["abort", "session.idle"]);
        assert.equal((await session.sendAndWait({ prompt: "still there?" })).data.content, "You said: still there?");
        await session.disconnect();
    },

    async "what fails is an error, and the session goes on"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await assert.rejects(session.sendAndWait({ prompt: "fail" }), /the model is out of order/);
        await recorder.first("session.idle");
        assert.equal((await session.sendAndWait({ prompt: "again" })).data.content, "You said: again");
        await session.disconnect();
    },

    async "a message for a busy session steers it or waits for its turn"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await session.send({ prompt: "count slowly" });
        await recorder.first("tool.execution_start");
        await session.send({ prompt: "faster", mode: "immediate" });
        writeFileSync("faster", "");
        await recorder.first("assistant.message", (event) => event.data.content === "You said: faster");
        assert.equal(recorder.all("user.message").at(-1).data.content, "faster");
        await recorder.first("session.idle");
        await session.disconnect();
    },

    async "sessions are listed, read and deleted"(client) {
        const listed = await client.listSessions();
        assert.equal(listed.length, 5);
        const metadata = listed.find((session) => session.sessionId === kept.id);
        assert.ok(metadata.startTime instanceof Date && metadata.modifiedTime >= metadata.startTime);
        assert.equal(metadata.isRemote, false);
        assert.equal((await client.getSessionMetadata(kept.id)).sessionId, kept.id);
        const session = await client.resumeSession(kept.id, { onPermissionRequest: approveAll });
        const history = await session.getEvents();
        inOrder(history.map((event) => event.type), ["session.start", "user.message", "assistant.message"]);
        assert.ok(history.every((event) => event.type !== "session.idle"), "what passes is not kept");
        assert.equal(new Set(history.map((event) => event.id)).size, history.length);
        await session.disconnect();
        await client.deleteSession(kept.id);
        assert.equal(await client.getSessionMetadata(kept.id), undefined);
        assert.equal((await client.listSessions()).length, 4);
        await assert.rejects(client.resumeSession(kept.id, { onPermissionRequest: approveAll }));
    },
});
