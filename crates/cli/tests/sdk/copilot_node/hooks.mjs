// Hooks of a client: they observe calls, add context, change input and block.
import { existsSync } from "node:fs";
import { approveAll } from "@github/copilot-sdk";
import { assert, checks } from "./kit.mjs";

const ask = async (client, hooks, prompt) => {
    const session = await client.createSession({ onPermissionRequest: approveAll, hooks });
    const answer = await session.sendAndWait({ prompt });
    await session.disconnect();
    return answer.data.content;
};

await checks({
    async "a call is blocked with a reason"(client) {
        const inputs = [];
        const onPreToolUse = (input) => {
            inputs.push(input);
            return { permissionDecision: "deny", permissionDecisionReason: "no files on Sundays" };
        };
        assert.match(await ask(client, { onPreToolUse }, "write blocked.txt"), /^Denied: .*no files on Sundays/s);
        assert.equal(existsSync("blocked.txt"), false);
        assert.equal(inputs[0].toolName, "create");
        assert.equal(inputs[0].toolArgs.path, "blocked.txt");
        assert.ok(inputs[0].timestamp instanceof Date);
        assert.equal(inputs[0].workingDirectory, process.cwd());
    },

    async "the arguments of a call are changed"(client) {
        const onPreToolUse = ({ toolArgs }) => ({
            permissionDecision: "allow",
            modifiedArgs: { ...toolArgs, path: "other.txt" },
        });
        assert.equal(await ask(client, { onPreToolUse }, "write asked.txt"), "It is written.");
        assert.deepEqual([existsSync("asked.txt"), existsSync("other.txt")], [false, true]);
    },

    async "context is added to a prompt, to a beginning and to a result"(client) {
        const secret = { additionalContext: "the password is tulip" };
        for (const name of ["onUserPromptSubmitted", "onSessionStart"]) {
            assert.equal(await ask(client, { [name]: () => secret }, "do you know it?"), "I know: tulip.", name);
        }
        const results = [];
        const onPostToolUse = (input) => {
            results.push(input);
            return secret;
        };
        assert.equal(await ask(client, { onPostToolUse }, "write known.txt"), "I know: tulip.");
        assert.equal(results[0].toolResult.resultType, "success");
        assert.equal(await ask(client, {}, "do you know it?"), "I know nothing.");
    },

    async "a prompt is changed before the model reads it"(client) {
        const onUserPromptSubmitted = () => ({ modifiedPrompt: "write changed.txt" });
        assert.equal(await ask(client, { onUserPromptSubmitted }, "do you know it?"), "It is written.");
    },

    async "a call that fails is told to its own hook"(client) {
        const failures = [];
        const onPostToolUseFailure = (input) => {
            failures.push(input);
            return { additionalContext: "the password is tulip" };
        };
        const onPostToolUse = () => assert.fail("it did not succeed");
        assert.equal(await ask(client, { onPostToolUse, onPostToolUseFailure }, "view nowhere.txt"), "I know: tulip.");
        assert.equal(typeof failures[0].error, "string");
    },

    async "an agent that stops is sent on once"(client) {
        const stops = [];
        const onAgentStop = (input) => {
            stops.push(input.stopHookActive);
            return input.stopHookActive ? undefined : { decision: "block", reason: "write more.txt" };
        };
        assert.equal(await ask(client, { onAgentStop }, "do you know it?"), "It is written.");
        assert.deepEqual(stops, [false, true]);
        assert.equal(existsSync("more.txt"), true);
    },
});
