// Plan mode, autopilot, plans and todos.
import { existsSync } from "node:fs";
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, inOrder } from "./kit.mjs";

const planning = async (client, decide) => {
    const requests = [];
    const session = await client.createSession({
        onPermissionRequest: approveAll,
        onExitPlanModeRequest: (request) => {
            requests.push(request);
            return decide;
        },
    });
    const recorder = new EventRecorder(session);
    await session.rpc.mode.set({ mode: "plan" });
    return { session, recorder, requests };
};

await checks({
    async "a mode is read, set and told"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        assert.equal(await session.rpc.mode.get(), "interactive");
        await session.rpc.mode.set({ mode: "plan" });
        assert.equal(await session.rpc.mode.get(), "plan");
        const changed = await recorder.first("session.mode_changed");
        assert.deepEqual([changed.data.previousMode, changed.data.newMode], ["interactive", "plan"]);
        await session.disconnect();
    },

    async "a plan that is approved is carried out"(client) {
        const approved = { approved: true, selectedAction: "interactive" };
        const { session, recorder, requests } = await planning(client, approved);
        const answer = await session.sendAndWait({ prompt: "plan it" });
        assert.equal(answer.data.content, "It is carried out.");
        assert.equal(existsSync("planned.txt"), true);
        assert.deepEqual([requests.length, requests[0].summary], [1, "Write one file"]);
        assert.equal(requests[0].planContent, "1. Write planned.txt\n");
        assert.equal(requests[0].recommendedAction, "autopilot");
        assert.ok(requests[0].actions.includes("autopilot_fleet") && requests[0].actions.includes("exit_only"));
        assert.equal(await session.rpc.mode.get(), "interactive");
        assert.equal((await session.rpc.plan.read()).content, "1. Write planned.txt\n");
        inOrder(recorder.types, ["session.plan_changed", "session.mode_changed", "session.idle"]);
        await session.disconnect();
    },

    async "a plan that is not approved comes back with what is wrong"(client) {
        const { session } = await planning(client, { approved: false, feedback: "too short" });
        const answer = await session.sendAndWait({ prompt: "plan it" });
        assert.match(answer.data.content, /^I plan anew: .*too short/s);
        assert.equal(await session.rpc.mode.get(), "plan");
        await session.disconnect();
    },

    async "a plan is written and removed by the client"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        assert.equal((await session.rpc.plan.read()).exists, false);
        await session.rpc.plan.update({ content: "# Mine\n" });
        const read = await session.rpc.plan.read();
        assert.deepEqual([read.exists, read.content], [true, "# Mine\n"]);
        await session.rpc.plan.delete();
        assert.equal((await session.rpc.plan.read()).exists, false);
        await session.disconnect();
    },

    async "todos of the model are read with what they wait for"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await session.sendAndWait({ prompt: "keep todos" });
        const { rows, dependencies } = await session.rpc.plan.readSqlTodosWithDependencies();
        assert.deepEqual(rows.map((row) => [row.id, row.title, row.status]), [
            ["a", "First", "pending"],
            ["b", "Second", "pending"],
        ]);
        assert.deepEqual(dependencies, [{ todoId: "b", dependsOn: "a" }]);
        assert.equal((await session.rpc.plan.readSqlTodos()).rows.length, 2);
        assert.ok(recorder.all("session.todos_changed").length > 0);
        await session.disconnect();
    },

    async "autopilot goes on until it is done, and the wait for it ends"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        await session.rpc.mode.set({ mode: "autopilot" });
        await session.sendAndWait({ prompt: "do it all" }, 30_000);
        const complete = recorder.all("session.task_complete")[0].data;
        assert.equal(complete.summary, "Everything is done");
        assert.equal(recorder.all("session.idle").length, 1);
        assert.equal(await session.rpc.mode.get(), "autopilot");
        await session.disconnect();
    },
});
