import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { foyerProcess, startFoyer, type ServerProcess } from "../../helper.js";
import { testdir } from "../../testdir.js";
import { request, upload } from "../requests.js";

// The clock of the machine is set, under a server that runs.

const library = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
  .map((name) => `/usr/lib/${name}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

const ask = async (
  server: Pick<ServerProcess, "address" | "token">,
  method = "GET",
): Promise<number> => {
  const body = method === "POST" ? { name: "x" } : undefined;
  return (await request(server, "sample/rooms/", method, body)).status;
};

void t.test(
  "a clock that is set",
  { skip: library === undefined && "there is no libfaketime" },
  async (t) => {
    const dir = testdir(t);
    const clock = join(dir, "clock");
    const set = (offset: string) => writeFileSync(clock, offset);
    set("+0");
    const dataDir = join(dir, "data");
    const server = await startFoyer(t, dataDir, ["--demo"], {
      LD_PRELOAD: library!,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      UPLOADS_PER_MINUTE: "4",
    });
    t.equal(await ask(server), 200);
    t.equal((await upload(server)).status, 201);

    set("+31d");
    t.equal(await ask(server), 401, "a token of 30 days is over");
    t.equal((await upload(server)).status, 201, "an upload, in the future");

    set("-2d");
    t.equal(await ask(server), 200, "and holds again, as it says no start");
    t.equal(await ask(server, "POST"), 201);
    t.equal((await upload(server)).status, 201, "an upload, in the past");
    t.equal((await upload(server)).status, 201);
    const refused = await upload(server);
    t.equal(refused.status, 429);
    t.ok(
      Number(refused.retryAfter) <= 60,
      "no user is locked out until the clock is back",
    );
    server.signal("SIGTERM");
    t.equal((await server.finished).code, 0);

    const next = await startFoyer(t, dataDir);
    t.equal(await ask({ ...next, token: server.token }, "POST"), 201);
    t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
  },
);
