// Agents: the client's own, background agents, and how a client controls them.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, inOrder } from "./kit.mjs";

const POET = {
    name: "poet",
    displayName: "The poet",
    description: "Writes verses",
    prompt: "You are a poet.",
    tools: ["view"],
};

await checks({
    async "an agent of the client's own does a task"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll, customAgents: [POET] });
        const recorder = new EventRecorder(session);
        const { agents } = await session.rpc.agent.list();
        assert.equal(agents.find((agent) => agent.name === "poet").description, "Writes verses");
        const answer = await session.sendAndWait({ prompt: "ask the poet" });
        assert.equal(answer.data.content, "The poet says: Roses are red.");
        const started = recorder.all("subagent.started")[0];
        assert.equal(started.data.agentName, "poet");
        const verse = recorder.all("assistant.message").find((event) => event.data.content === "Roses are red.");
        assert.equal(verse.agentId, started.agentId);
        assert.equal(answer.agentId, undefined);
        inOrder(recorder.types, ["subagent.started", "subagent.completed", "session.idle"]);
        await session.disconnect();
    },

    async "a session is idle when its agents in the background are"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        const answer = await session.sendAndWait({ prompt: "start slow work" });
        assert.equal(answer.data.content, "All is in.");
        assert.equal(recorder.all("session.idle").length, 1);
        const contents = recorder.all("assistant.message").filter((event) => !event.agentId).map((event) => event.data.content);
        inOrder(contents, ["It is under way.", "All is in."]);
        assert.equal(recorder.all("assistant.message").find((event) => event.agentId).data.content, "slow result");
        inOrder(recorder.types, ["subagent.started", "subagent.completed", "session.idle"]);
        const note = recorder.all("system.notification")[0].data;
        assert.deepEqual([note.kind.type, note.kind.agentId], ["agent_completed", recorder.all("subagent.started")[0].agentId]);
        await session.disconnect();
    },

    async "tasks are started, listed, written to and cancelled"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        const { tasks } = session.rpc;
        const start = (name) =>
            tasks.startAgent({ agentType: "general-purpose", name, prompt: `be ${name}`, description: `Is ${name}` });
        const { agentId: ear } = await start("ear");
        await recorder.first("assistant.message", (event) => event.data.content === "I listen.");
        await recorder.first("session.idle");
        const find = async (id) => (await tasks.list()).tasks.find((task) => task.id === id);
        const listed = await find(ear);
        assert.deepEqual([listed.type, listed.agentType, listed.description], ["agent", "general-purpose", "Is ear"]);
        assert.equal(listed.result ?? listed.latestResponse, "I listen.");
        assert.equal((await tasks.sendMessage({ id: ear, message: "hello ear" })).sent, true);
        const message = await recorder.first("assistant.message", (event) => event.data.content === "I heard hello ear.");
        assert.equal(message.agentId, ear);

        const { agentId: stuck } = await start("stuck");
        await recorder.first("subagent.started", (event) => event.agentId === stuck);
        assert.equal((await find(stuck)).status, "running");
        assert.equal((await tasks.getProgress({ id: stuck })).progress.type, "agent");
        assert.deepEqual(await tasks.cancel({ id: stuck }), { cancelled: true });
        await recorder.first("subagent.completed", (event) => event.agentId === stuck && event.data.cancelled === true);
        assert.equal((await find(stuck)).status, "cancelled");
        assert.deepEqual(await tasks.remove({ id: stuck }), { removed: true });
        assert.equal(await find(stuck), undefined);
        assert.deepEqual(await tasks.cancel({ id: "task-nowhere" }), { cancelled: false });
        await session.disconnect();
    },

    async "an abort ends the agents in the background too"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await session.send({ prompt: "start stuck work" });
        await recorder.first("assistant.message", (event) => event.data.content === "It is under way.");
        await session.abort();
        await recorder.first("session.idle");
        const { tasks } = await session.rpc.tasks.list();
        assert.deepEqual(tasks.map((task) => task.status), ["cancelled"]);
        await session.disconnect();
    },

    async "an agent is chosen to speak for the session"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll, customAgents: [POET] });
        assert.equal((await session.rpc.agent.select({ name: "poet" })).agent.name, "poet");
        assert.equal((await session.rpc.agent.getCurrent()).agent.name, "poet");
        assert.equal((await session.sendAndWait({ prompt: "a verse" })).data.content, "Roses are red.");
        await session.rpc.agent.deselect();
        await session.disconnect();
    },
});
