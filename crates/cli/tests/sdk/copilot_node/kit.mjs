// Shared helpers: one client for all checks of a program, and one output line for each check that passed.
import assert from "node:assert/strict";
import { CopilotClient } from "@github/copilot-sdk";

export { assert };

/** How long one check may take. */
const PATIENCE = 30_000;

/** Runs checks with one client. A failed check ends the program with its error. */
export async function checks(table, options = {}) {
    const client = new CopilotClient({ logLevel: "error", ...options });
    for (const [name, check] of Object.entries(table)) {
        await within(check(client), name);
        console.log(JSON.stringify({ held: name }));
    }
    assert.deepEqual(await client.stop(), []);
}

/** A promise that fails when it takes too long. */
export function within(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`too late: ${what}`)), PATIENCE);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** All events of a session from now on. */
export class EventRecorder {
    events = [];
    #waiting = new Set();

    constructor(session) {
        session.on((event) => {
            this.events.push(event);
            this.#waiting.forEach((look) => look());
        });
    }

    /** The types of the events, in order. */
    get types() {
        return this.events.map((event) => event.type);
    }

    /** The events of one type. */
    all(type) {
        return this.events.filter((event) => event.type === type);
    }

    /** The first event of a type that matches; waits for it if necessary. */
    first(type, fits = () => true) {
        const found = () => this.events.find((event) => event.type === type && fits(event));
        const coming = new Promise((resolve) => {
            const look = () => {
                if (found()) {
                    this.#waiting.delete(look);
                    resolve(found());
                }
            };
            this.#waiting.add(look);
            look();
        });
        return within(coming, `an event ${type} after ${this.types}`);
    }
}

/** Fails unless these occur in this order; other items may be between them. */
export function inOrder(found, wanted) {
    let from = 0;
    for (const item of wanted) {
        const at = found.indexOf(item, from);
        assert.ok(at >= 0, `no ${item} from ${from} on in ${found}`);
        from = at + 1;
    }
}
