// Serves the reference server over HTTP at a port that the system chooses, and prints the URL.

import { Server } from "node:http";

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ...rest) {
  this.once("listening", () => process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`));
  return listen.call(this, 0, "127.0.0.1", ...rest.filter((argument) => typeof argument === "function"));
};
// Its own messages.
console.log = console.error;
await import("@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js");
