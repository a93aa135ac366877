// Every option of the SDK, as the table says: served, refused by name, or warned of by name.
import { readFile } from "node:fs/promises";
import { approveAll, CopilotClient, defineTool } from "@github/copilot-sdk";
import { assert, checks, EventRecorder } from "./kit.mjs";

const LANGUAGE = "node";

const tools = (more) => [defineTool("mine", { description: "Mine", handler: async () => "", ...more })];

// Values that no table can contain.
const VALUES = {
    $handler: async () => undefined,
    $trace: () => ({ traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }),
    $folders: [process.cwd()],
    $tools: tools({}),
    $terminal_tools: tools({ isTerminal: true }),
    $deferred_tools: tools({ defer: "auto" }),
};

/** The rows of the table that concern this language. */
const lines = (await readFile(process.env.OPTIONS, "utf8")).trim().split("\n");
const rows = lines.map((line) => JSON.parse(line)).filter((row) => LANGUAGE in row);

function valueOf(row) {
    const value = `${LANGUAGE}_value` in row ? row[`${LANGUAGE}_value`] : row.value;
    return typeof value === "string" ? (VALUES[value] ?? value) : value;
}

/** The names of the members of these types. */
async function members(...types) {
    const text = await readFile(new URL("types.d.ts", import.meta.resolve("@github/copilot-sdk")), "utf8");
    return types.flatMap((type) => {
        const [, body] = text.match(new RegExp(`^export interface ${type}( extends \\w+)? \\{$([\\s\\S]*?)^\\}`, "m")).slice(1);
        return [...body.matchAll(/^    (?:readonly )?(\w+)\??:/gm)].map(([, name]) => name);
    });
}

/** Sends a message to a session and returns the warnings that it gives. */
async function warningsOf(session, message = {}) {
    const recorder = new EventRecorder(session);
    await session.send({ prompt: "hello", ...message });
    await recorder.first("session.idle");
    const warnings = recorder.all("session.warning").map((event) => event.data.message);
    await session.disconnect();
    return warnings;
}

/** Opens a session, or joins a new one, and returns its warnings. */
const open = {
    async client(_client, argument) {
        const client = new CopilotClient({ logLevel: "error", ...argument });
        try {
            return await warningsOf(await client.createSession({}));
        } finally {
            await client.stop();
        }
    },
    session: async (client, argument) => warningsOf(await client.createSession(argument)),
    async resume(client, argument) {
        const session = await client.createSession({ onPermissionRequest: approveAll });
        await warningsOf(session);
        return warningsOf(await client.resumeSession(session.sessionId, argument));
    },
    message: async (client, argument) => warningsOf(await client.createSession({}), argument),
};

/** The outcome that a row promises. */
async function fits(client, row) {
    const argument = { [row[LANGUAGE]]: valueOf(row), ...row.with?.[LANGUAGE] };
    const opening = open[row.of](client, argument);
    const context = JSON.stringify(row);
    if ("refused" in row) {
        await assert.rejects(opening, (error) => error.message.includes(row.refused), context);
        return;
    }
    const warnings = await opening.catch((error) => assert.fail(`${context} ${error.message}`));
    if ("warned" in row) assert.ok(warnings.some((text) => text.includes(row.warned)), `${context} ${warnings}`);
    else assert.deepEqual(warnings, [], context);
}

/** Checks every row of a kind, and names all that do not fit. */
const inOneCheck = (of) => async (client) => {
    const wrong = [];
    for (const row of rows.filter((row) => row.of === of && valueOf(row) !== undefined)) {
        await fits(client, row).catch((error) => wrong.push(error.actual?.message ?? error.message, JSON.stringify(row)));
    }
    assert.deepEqual(wrong, []);
};

await checks({
    async "the table has every option"() {
        const named = (...places) => [...new Set(rows.filter((row) => places.includes(row.of)).map((row) => row[LANGUAGE]))];
        const same = (seen, wanted) => assert.deepEqual(seen.sort(), [...new Set(wanted)].sort());
        same(named("client"), await members("CopilotClientOptions"));
        same(named("session", "resume"), await members("SessionConfigBase", "SessionConfig", "ResumeSessionConfig"));
        same(named("message"), await members("MessageOptions"));
    },
    "options of a client": inOneCheck("client"),
    "options of a session": inOneCheck("session"),
    "options of a resumed session": inOneCheck("resume"),
    "options of a message": inOneCheck("message"),
});
