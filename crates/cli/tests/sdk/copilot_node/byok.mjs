// A provider that the client supplies, with each wire format.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks } from "./kit.mjs";

const provider = { baseUrl: process.env.PROVIDER_URL, apiKey: process.env.PROVIDER_KEY };
const answer = async (client, provider) => {
    const session = await client.createSession({ onPermissionRequest: approveAll, model: "test-model", provider });
    const { data } = await session.sendAndWait({ prompt: "hello" });
    await session.disconnect();
    return data.content;
};

await checks({
    async "chat completions"(client) {
        assert.equal(await answer(client, { type: "openai", ...provider }), "Served: hello");
    },
    async "responses"(client) {
        assert.equal(await answer(client, { type: "openai", wireApi: "responses", ...provider }), "Served: hello");
    },
    async "messages"(client) {
        const messages = { type: "anthropic", ...provider, baseUrl: process.env.MESSAGES_URL };
        assert.equal(await answer(client, messages), "Served: hello");
    },
    async "a key that is wrong is told"(client) {
        const wrong = { type: "openai", ...provider, apiKey: "wrong" };
        await assert.rejects(answer(client, wrong), /401|key/i);
    },
});
