// Sessions that are resumed, forked, continued with another model, or asked for structured output.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder } from "./kit.mjs";

const usual = { onPermissionRequest: approveAll };
const ask = async (session, prompt) => (await session.sendAndWait({ prompt })).data.content;
const prompts = async (session) =>
    (await session.getEvents()).filter((event) => event.type === "user.message").map((event) => event.data.content);
// A session name that the program chose; other sessions have UUIDs.
const named = { id: "what-we-said" };

await checks({
    async "a session that was left is resumed with what it knows"(client) {
        const before = await client.createSession({ ...usual, sessionId: named.id });
        await ask(before, "remember tulip");
        await before.disconnect();
        const after = await client.resumeSession(named.id, usual);
        assert.equal(await ask(after, "what was it?"), "It was tulip.");
        assert.deepEqual(await prompts(after), ["remember tulip", "what was it?"]);
        await after.disconnect();
    },

    async "a copy goes its own way"(client) {
        const { sessionId } = await client.rpc.sessions.fork({ sessionId: named.id });
        assert.notEqual(sessionId, named.id);
        const copy = await client.resumeSession(sessionId, usual);
        assert.equal(await ask(copy, "what was it?"), "It was tulip.");
        await copy.disconnect();
        const first = await client.resumeSession(named.id, usual);
        assert.deepEqual(await prompts(first), ["remember tulip", "what was it?"]);
        await first.disconnect();
    },

    async "another model answers from the next message on"(client) {
        const session = await client.createSession(usual);
        const recorder = new EventRecorder(session);
        assert.equal(await ask(session, "who are you?"), "I am the first.");
        await session.setModel(process.env.OTHER_MODEL);
        assert.equal((await session.rpc.model.getCurrent()).modelId, process.env.OTHER_MODEL);
        assert.equal(await ask(session, "who are you?"), "I am the second.");
        assert.equal(recorder.all("session.model_change")[0].data.newModel, process.env.OTHER_MODEL);
        await session.disconnect();
    },

    async "an answer has the form that was asked for"(client) {
        const session = await client.createSession(usual);
        const recorder = new EventRecorder(session);
        const schema = {
            type: "object",
            properties: { total: { type: "integer" } },
            required: ["total"],
            additionalProperties: false,
        };
        const jsonSchema = { name: "sum", strict: true, schema };
        await session.rpc.send({ prompt: "add up", responseFormat: { type: "json_schema", jsonSchema } });
        await recorder.first("session.idle");
        assert.deepEqual(JSON.parse(recorder.all("assistant.message").at(-1).data.content), { total: 42 });
        await session.disconnect();
    },

    async "words of the client join what the model is told"(client) {
        const systemMessage = { mode: "append", content: "The word of the day is heron." };
        const session = await client.createSession({ ...usual, systemMessage });
        assert.equal(await ask(session, "which word?"), "It is heron.");
        await session.disconnect();
        const replaced = { mode: "replace", content: "You are a parrot." };
        const other = await client.createSession({ ...usual, systemMessage: replaced });
        assert.equal(await ask(other, "which word?"), "Parrots know no words.");
        await other.disconnect();
    },

    async "a session has a name and a log of the client's own"(client) {
        const session = await client.createSession(usual);
        const recorder = new EventRecorder(session);
        await session.rpc.name.set({ name: "The heron" });
        assert.equal((await session.rpc.name.get()).name, "The heron");
        await session.log("a word from outside", { level: "warning" });
        await recorder.first("session.warning", (event) => event.data.message === "a word from outside");
        await session.disconnect();
    },
});
