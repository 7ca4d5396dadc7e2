import { createServer, type AddressInfo } from "node:net";
import t from "tap";
import {
  foyerProcess,
  startFoyer,
  until,
  type ServerProcess,
} from "../helper.js";
import { shared } from "../shared.js";
import { testdir } from "../testdir.js";
import { request } from "./requests.js";

interface Key {
  issuer: string;
  audience: string;
  secret: string;
}

const send = (
  server: Pick<ServerProcess, "address" | "token">,
  path: string,
  method?: string,
  body?: unknown,
) => request(server, `sample/${path}`, method, body);

const linesOf = ({ said }: ServerProcess) =>
  said.stdout
    .split("\n")
    .filter((line) => line.startsWith('{"level"'))
    .map((line) => JSON.parse(line) as { pid: number; msg: string });

/** The workers that were said to serve. */
const workersOf = (server: ServerProcess) =>
  linesOf(server)
    .filter(({ msg }) => msg.startsWith("Server listening"))
    .map(({ pid }) => pid);

void t.test("several processes on one port", async (t) => {
  const server = await startFoyer(t, testdir(t), ["--demo"], {
    WORKERS: "2",
    LOG_LEVEL: "debug",
    METRICS_PORT: "0",
  });
  await until(() => workersOf(server).length === 2);
  const served = () =>
    linesOf(server)
      .filter(({ msg }) => msg === "request")
      .map(({ pid }) => pid);
  let sent = 0;
  await until(async () => {
    t.equal((await send(server, "rooms/")).status, 200);
    sent++;
    return new Set(served()).size === 2;
  });
  t.strictSame(
    new Set(served()),
    new Set(workersOf(server)),
    "both answer, and no other process",
  );
  t.equal(
    server.said.stdout.match(/"token":"/g)?.length,
    1,
    "the demo is printed once",
  );
  // A request is counted before it is logged.
  await until(() => served().length === sent);

  const url = /metrics at (http:[^"]+)/.exec(server.said.stdout)![1]!;
  for (let i = 0; i < 3; i++) {
    const text = await (
      await fetch(url, { headers: { connection: "close" } })
    ).text();
    const count =
      /request_duration_seconds_count\{method="GET",route="\S+rooms\/",status="200"\} (\d+)/;
    t.equal(
      Number(count.exec(text)?.[1]),
      sent,
      "whichever is asked counts for all",
    );
    t.match(text, /^foyer_worlds 1$/m, "and one world is not two");
  }

  const [first, second] = workersOf(server);
  process.kill(first!, "SIGKILL");
  await until(() => workersOf(server).length === 3);
  t.match(
    linesOf(server).find(({ msg }) => msg.includes("SIGKILL"))?.msg,
    `worker ${first} ended (SIGKILL); another starts in 100 ms`,
  );
  for (let i = 0; i < 6; i++) {
    t.equal((await send(server, "rooms/")).status, 200, "none is refused");
  }
  const ended = /^foyer_events_total\{type="process.ended"\} 1$/m;
  // The process that stayed got it, and the new one was not there yet.
  await until(async () => ended.test(await (await fetch(url)).text()));

  server.signal("SIGTERM");
  const { code, stderr } = await server.finished;
  t.equal(code, 0);
  t.equal(stderr, "");
  const [, , third] = workersOf(server);
  const stopped = linesOf(server).filter(({ msg }) => msg === "stopped");
  t.strictSame(
    new Set(stopped.map(({ pid }) => pid)),
    new Set([second, third]),
    "in good order",
  );
});

void t.test("a port that is taken", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const got = await foyerProcess(t, testdir(t), ["serve", "--demo"], {
    WORKERS: "2",
    PORT: String(port),
    LOG_LEVEL: "silent",
  });
  t.equal(got.code, 1);
  t.match(got.stderr, /^foyer: .*EADDRINUSE.*\n$/, "is printed once");
  t.equal(got.stdout, "");
});

void t.test("servers on one folder", async (t) => {
  /** Embedded engines show a write everywhere at once. A node that caches learns of it soon. */
  const reads = async (
    server: Pick<ServerProcess, "address" | "token">,
    path: string,
    { status, name }: { status: number; name?: string },
  ) => {
    const isSo = async () => {
      const found = await send(server, path);
      const body = found.body as { name?: string };
      return found.status === status && (!name || body.name === name);
    };
    if (shared) await until(isSo);
    else t.ok(await isSo(), `${path} is ${status} ${name ?? ""}`);
  };
  const dataDir = testdir(t);
  const one = await startFoyer(t, dataDir, ["--demo"]);
  const two = await startFoyer(t, dataDir, [], { WORKERS: "2" });
  const there = { address: two.address, token: one.token };

  const created = await send(one, "rooms/", "POST", { name: "new" });
  t.equal(created.status, 201);
  const room = `rooms/${(created.body as { id: string }).id}/`;
  t.strictSame(
    (await send(there, room)).body,
    created.body,
    "made here, read there",
  );
  for (let i = 0; i < 6; i++) {
    const name = `name ${i}`;
    const [from, to] = i % 2 ? [one, there] : [there, one];
    t.equal((await send(from, room, "PATCH", { name })).status, 200);
    await reads(to, room, { status: 200, name });
  }
  t.equal((await send(there, room, "DELETE")).status, 204);
  await reads(one, room, { status: 403 });

  const { config } = (await send(one, "")).body as {
    config: { JWT_secrets: Key[] };
  };
  const key = { ...config.JWT_secrets[0]!, secret: "another-".repeat(5) };
  for (let i = 0; i < 4; i++) t.equal((await send(there, "")).status, 200);
  const changed = { config: { JWT_secrets: [key] } };
  t.equal((await send(there, "", "PATCH", changed)).status, 200);
  // The old key is gone here, and in each worker there.
  for (let i = 0; i < 4; i++) {
    await reads(one, "", { status: 401 });
    await reads(there, "", { status: 401 });
  }
  const { stdout } = await foyerProcess(t, dataDir, ["token", "sample"]);
  const renewed = stdout.trim();
  for (const { address } of [one, two]) {
    t.equal((await send({ address, token: renewed }, "")).status, 200);
  }
});
