// MCP servers of a client. `MCP_SERVER` and `MCP_URL` name a server that adds numbers.
import { approveAll } from "@github/copilot-sdk";
import { assert, checks, EventRecorder, within } from "./kit.mjs";

const { command, args } = JSON.parse(process.env.MCP_SERVER);
const PROGRAM = { type: "local", command, args, tools: ["*"] };
const REMOTE = { type: "http", url: process.env.MCP_URL, headers: { Authorization: "Bearer t1" }, tools: ["*"] };
const usual = { onPermissionRequest: approveAll };

/** A server's state, once it is one of these. */
async function settled(session, name, states) {
    for (;;) {
        const { servers } = await session.rpc.mcp.list();
        const found = servers.find((server) => server.name === name);
        if (found && states.includes(found.status)) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

const settles = (session, name, ...states) => within(settled(session, name, states), `${name} is ${states}`);

await checks({
    async "programs and addresses are servers of the session"(client) {
        for (const server of [PROGRAM, REMOTE]) {
            const session = await client.createSession({ mcpServers: { calc: server }, ...usual });
            await settles(session, "calc", "connected");
            const { tools } = await session.rpc.mcp.listTools({ serverName: "calc" });
            assert.ok(tools.some((tool) => tool.name === "add"));
            const answer = await session.sendAndWait({ prompt: "add two and three" });
            assert.equal(answer.data.content, "The sum: the sum is 5");
            await session.disconnect();
        }
    },

    async "a server that does not work says why, and the session goes on"(client) {
        const broken = { type: "local", command: "no-such-program", args: [], tools: ["*"] };
        const session = await client.createSession({ mcpServers: { broken }, ...usual });
        const { error } = await settles(session, "broken", "failed");
        assert.match(error, /no-such-program/);
        assert.equal((await session.sendAndWait({ prompt: "hello" })).data.content, "You said: hello");
        await session.disconnect();
    },

    async "only the listed tools of a server can be called"(client) {
        const limited = { ...PROGRAM, tools: ["slow"] };
        const session = await client.createSession({ mcpServers: { calc: limited }, ...usual });
        await settles(session, "calc", "connected");
        const { tools } = await session.rpc.mcp.listTools({ serverName: "calc" });
        assert.deepEqual(tools.map((tool) => tool.name), ["slow"]);
        const answer = await session.sendAndWait({ prompt: "add two and three" });
        assert.match(answer.data.content, /^It failed: /);
        await session.disconnect();
    },

    async "a server is disabled, enabled, started and stopped"(client) {
        const session = await client.createSession({ mcpServers: { calc: PROGRAM }, ...usual });
        const recorder = new EventRecorder(session);
        await settles(session, "calc", "connected");
        await session.rpc.mcp.disable({ serverName: "calc" });
        await settles(session, "calc", "disabled");
        assert.match((await session.sendAndWait({ prompt: "add two and three" })).data.content, /^It failed: /);
        await session.rpc.mcp.enable({ serverName: "calc" });
        await settles(session, "calc", "connected");
        await recorder.first("session.mcp_server_status_changed", (event) => event.data.status === "connected");
        await session.rpc.mcp.stopServer({ serverName: "calc" });
        assert.equal((await session.rpc.mcp.isServerRunning({ serverName: "calc" })).running, false);
        await session.rpc.mcp.startServer({ serverName: "more", config: PROGRAM });
        assert.equal((await session.rpc.mcp.isServerRunning({ serverName: "more" })).running, true);
        await session.rpc.mcp.reload();
        await settles(session, "more", "connected");
        await assert.rejects(session.rpc.mcp.enable({ serverName: "nothing" }), /no MCP server `nothing`/);
        await session.disconnect();
    },

    async "an agent has a server of its own"(client) {
        const adder = { name: "adder", description: "Adds", prompt: "You add.", mcpServers: { calc: PROGRAM } };
        const session = await client.createSession({ customAgents: [adder], ...usual });
        assert.match((await session.sendAndWait({ prompt: "add two and three" })).data.content, /^It failed: /);
        const answer = await session.sendAndWait({ prompt: "have it added" });
        assert.match(answer.data.content, /the sum is 5/);
        await session.disconnect();
    },
});
