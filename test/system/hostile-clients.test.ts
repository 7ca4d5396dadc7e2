import { readFileSync } from "node:fs";
import { connect } from "node:net";
import fc from "fast-check";
import t, { type Test } from "tap";
import { fileForm, PDF } from "../support/files.js";
import { admin, dial, rawRequest, type Wire } from "../support/helper.js";
import { conversation } from "../support/hostile-requests.js";
import { converse } from "../support/hostile.js";
import { demo, type Server, startServer } from "../support/server.js";

// Sends hostile bytes over sockets. SEED=… repeats a generated run, and RUNS=… generates more.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 100);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

/** Time limit of the generated runs if RUNS is not set, in milliseconds. */
const TIME = process.env.RUNS === undefined ? 12_000 : 2 ** 31 - 1;

/** Number of concurrent conversations. */
const LANES = 4;

/** Maximum memory of the server, in MiB. Its heap is limited to less than half of that. */
const MAX_RSS = 512;

/** Starts a server with little memory, a world to attack, and one that is left alone. */
async function start(t: Test, env: Record<string, string> = {}) {
  const server = await startServer(t, {
    processes: 1,
    worlds: [demo({ domain: "demo.example.org" }), demo({ id: "good" })],
    env: {
      LOG_LEVEL: "error",
      NODE_OPTIONS: "--max-old-space-size=200",
      UPLOADS_PER_MINUTE: "1000000",
      ...env,
    },
  });
  await server.rest("POST", "good/rooms/", { name: "Good" });
  return server;
}

const rssOf = ({ processes: [main] }: Server) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${main!.pid}/status`, "utf8"))?.[1]) / 1024;

/** Reads the same list repeatedly. @returns a function that stops it and returns the number of reads. */
function goodClient({ baseUrl }: Server): () => Promise<number> {
  let stopped = false;
  const read = (async () => {
    let count = 0;
    let first: string | undefined;
    for (; !stopped; count++) {
      const answer = await fetch(`${baseUrl}/api/v1/worlds/good/rooms/`, {
        headers: { authorization: admin("good") },
      });
      const text = await answer.text();
      first ??= text;
      if (answer.status !== 200 || text !== first) {
        throw new Error(`a good client got ${answer.status} ${text}`);
      }
    }
    return count;
  })();
  return () => {
    stopped = true;
    return read;
  };
}

void t.test("whatever comes over a socket", async (t) => {
  const server = await start(t);
  const stop = goodClient(server);
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(
      fc.asyncProperty(conversation, (said) => converse(server.port, said)),
      { seed: seed + lane, numRuns, interruptAfterTimeLimit: TIME },
    ),
  );
  // Not `t.resolves`, whose failures contain less detail.
  await Promise.all(lanes);
  const served = await stop();
  t.ok(served > 0, `a good client was served all the while, ${served} times`);
  const rss = rssOf(server);
  t.ok(rss < MAX_RSS, `it holds ${Math.round(rss)} MiB`);
  const [main] = server.processes;
  const failed = main!.said.stdout.split("\n").filter((line) => line.startsWith('{"level"'));
  t.strictSame(failed, [], "nothing failed in it");
  main!.signal("SIGTERM");
  t.match(await main!.finished, { code: 0, stderr: "" });
});

void t.test("hundreds of slow clients, and fast ones", async (t) => {
  const server = await start(t, { REQUEST_TIMEOUT: "3" });
  const authorization = admin("demo");
  // A large file for the slow readers.
  const { headers, body } = fileForm("a.pdf", `${PDF}${"x".repeat(8e6)}`);
  const large = dial(t, server.port);
  large.send(
    rawRequest(
      "POST /storage/upload/",
      {
        ...headers,
        Authorization: "Client a",
        Host: "demo.example.org",
        "Content-Length": String(body.length),
      },
      body.toString("latin1"),
    ),
  );
  const { url } = JSON.parse((await large.answer()).text) as { url: string };

  const stop = goodClient(server);
  const many = (count: number, text: string): Wire[] =>
    Array.from({ length: count }, () => {
      const wire = dial(t, server.port);
      wire.send(text);
      return wire;
    });
  const unread = rawRequest(`GET ${new URL(url).pathname}`, {});
  const readers = Array.from({ length: 100 }, () => {
    const socket = connect(server.port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    // It sends a request, but never reads the answer.
    socket.pause();
    socket.write(unread);
    return socket;
  });
  const slow = [
    ...many(300, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: "),
    ...many(
      300,
      rawRequest(
        "POST /api/v1/worlds/demo/rooms/",
        {
          Authorization: authorization,
          "Content-Type": "application/json",
          "Content-Length": "100",
        },
        '{"name":',
      ),
    ),
    ...many(
      90,
      rawRequest(
        "POST /storage/upload/",
        {
          Authorization: "Client b",
          Host: "demo.example.org",
          "Content-Type": "multipart/form-data; boundary=b",
          "Content-Length": "9999",
        },
        "--b\r\n",
      ),
    ),
  ];
  // Trickling bytes does not extend the timeout.
  const drip = setInterval(() => slow.forEach((wire) => wire.send("1")), 400);
  t.teardown(() => clearInterval(drip));
  const answers = await Promise.all(slow.map((wire) => wire.answer()));
  const statuses = new Set(answers.map(({ status }) => status));
  t.strictSame([...statuses], [408], "each gets the answer that it was too slow");
  clearInterval(drip);
  const served = await stop();
  t.ok(served > 10, `a good client was served meanwhile, ${served} times`);
  const rss = rssOf(server);
  t.ok(rss < MAX_RSS, `${readers.length} who do not read: ${Math.round(rss)} MiB`);
  const good = await fetch(`${server.baseUrl}/healthz`);
  t.equal(good.status, 200);
});
