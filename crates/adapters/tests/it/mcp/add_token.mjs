// Loaded before the conformance suite, which knows no tokens: adds one to each of its requests, whichever way it sends
// them.

import http from "node:http";
import { createRequire } from "node:module";

const authorization = `Bearer ${process.env.MCP_TOKEN}`;

const plainFetch = globalThis.fetch;
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers);
  headers.set("authorization", authorization);
  return plainFetch(url, { ...options, headers });
};

const plainRequest = http.request;
http.request = (options, ...rest) => plainRequest({ ...options, headers: { ...options.headers, authorization } }, ...rest);

const undici = createRequire(process.argv[1])("undici");
const undiciRequest = undici.request;
undici.request = (url, options) => undiciRequest(url, { ...options, headers: { ...options.headers, authorization } });
