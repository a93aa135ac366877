// A fleet: the session is idle when it has ended.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder } from "./kit.mjs";

await checks({
    async "a fleet is started and done when its agents are"(client) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        const recorder = new EventRecorder(session);
        assert.deepEqual(await session.rpc.fleet.start({ prompt: "bake a pizza" }), { started: true });
        await recorder.first("session.idle");
        assert.equal(recorder.all("subagent.started").length, 3);
        assert.equal(recorder.all("subagent.completed").length, 3);
        assert.match(recorder.all("user.message")[0].data.content, /bake a pizza/);
        const answers = recorder.all("assistant.message").filter((event) => !event.agentId);
        assert.equal(answers.at(-1).data.content, "It is baked.");
        await session.disconnect();
    },
});
