// `npm run bench live` measures the websockets, `npm run bench start` the start and an idle
// server, `npm run bench nodes` several nodes on shared servers, `npm run bench actions` the
// statements and messages of single actions, `npm run bench bytes` the bytes to nodes of
// several worlds, `npm run bench store` the writes beside another build, `npm run bench feed` the
// followers of the change feed and webhooks, `npm run bench http` requests beside another build;
// other arguments are for the rest. Servers end with the benchmark.
process.once("SIGTERM", () => process.exit(1));
const [, , part] = process.argv;
if (part === "live") await import("./live/run.js");
else if (part === "start") await import("./start/run.js");
else if (part === "nodes") await import("./nodes/run.js");
else if (part === "actions") await import("./nodes/actions.js");
else if (part === "bytes") await import("./nodes/bytes.js");
else if (part === "store") await import("./store.js");
else if (part === "feed") await import("./feed.js");
else if (part === "http") await import("./http.js");
else await import("./run.js");
