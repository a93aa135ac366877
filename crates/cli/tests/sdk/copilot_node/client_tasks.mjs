// Tasks that the client runs itself and reports to the session.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder } from "./kit.mjs";

const order = (clientTaskId) => ({
    type: "client",
    clientTaskId,
    description: "Builds the site",
    cancellable: true,
});

await checks({
    async "a task is registered, told about and completed"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        const { tasks } = session.rpc;
        const { task, created } = await tasks.register(order("build"));
        assert.deepEqual([created, task.status, task.clientTaskId], [true, "running", "build"]);
        assert.equal((await tasks.register(order("build"))).created, false);
        const progress = { kind: "progress", percentage: 50, message: "half of it" };
        const updated = await tasks.update({ id: task.id, sequence: task.sequence + 1, update: progress });
        assert.equal(updated.applied, true);
        const again = await tasks.update({ id: task.id, sequence: task.sequence + 1, update: progress });
        assert.deepEqual([again.applied, again.duplicate], [false, true]);
        assert.equal((await tasks.getProgress({ id: task.id })).progress.percentage, 50);
        const listed = (await tasks.list()).tasks;
        assert.deepEqual(listed.map((task) => [task.type, task.id, task.status]), [["client", task.id, "running"]]);
        const ended = { id: task.id, sequence: task.sequence + 2, update: { kind: "completed", result: { pages: 3 } } };
        assert.equal((await tasks.update(ended)).task.status, "completed");
        assert.ok(recorder.all("session.background_tasks_changed").length > 0);
        await session.disconnect();
    },

    async "a task is cancelled by asking the client"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const { tasks } = session.rpc;
        const cancelled = [];
        session.clientSessionApis.tasks = {
            cancel: async (params) => {
                cancelled.push(params.clientTaskId);
                return { cancelled: true };
            },
        };
        const { task } = await tasks.register(order("serve"));
        assert.deepEqual(await tasks.cancel({ id: task.id }), { cancelled: true });
        assert.deepEqual(cancelled, ["serve"]);
        await session.disconnect();
    },
});
