// `npm run bench live` measures the websockets; other arguments are for the rest.
await import(process.argv[2] === "live" ? "./live/run.js" : "./run.js");
