import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { foyer, startFoyer } from "../helper.js";
import { listed, Person, shortFolder, socketOf } from "./person.js";

// foyer connections, where servers are killed, stopped, or out of reach.

void t.test("no server", async (t) => {
  const dataDir = shortFolder(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const path = socketOf(dataDir);
  const nobody = {
    code: 1,
    stdout: "",
    stderr: `foyer: no server runs on ${dataDir}\n`,
  };
  const run = (...args: string[]) => foyer(dataDir, ["connections", ...args]);

  server.signal("SIGKILL");
  await server.finished;
  t.equal(socketOf(dataDir), path, "it left its socket");
  for (const args of [["list"], ["drop"], ["reload", "--json"]]) {
    t.same(await run(...args), nobody, args.join(" "));
  }

  const next = await startFoyer(t, dataDir);
  t.not(socketOf(dataDir), path, "the next one removes it");
  t.match(await run("list"), { code: 0 });
  next.signal("SIGTERM");
  t.equal((await next.finished).code, 0);
  t.same(readdirSync(join(dataDir, "control")), [], "nothing is left");
  t.same(await run("list"), nobody);
});

void t.test("several servers, and one that does not answer", async (t) => {
  const dataDir = shortFolder(t);
  const env = { LIVE_AUTH_TIMEOUT: "60" };
  const one = await startFoyer(t, dataDir, ["--demo"], env);
  const two = await startFoyer(t, dataDir, [], env);
  const people = [
    await Person.connect(t, one.port),
    await Person.connect(t, two.port),
  ];
  const pids = (await listed(dataDir)).map(({ pid }) => pid).sort();
  t.same(pids, [one.pid, two.pid].sort(), "each server is asked");

  one.signal("SIGSTOP");
  t.teardown(() => one.signal("SIGCONT"));
  const got = await foyer(dataDir, ["connections", "drop"]);
  t.match(got, { code: 1, stdout: "1 connection dropped.\n" });
  t.match(got.stderr, new RegExp(`^foyer: process ${one.pid}-\\w+ did not`));
  t.equal(await people[1]!.ended(), 1006);
  one.signal("SIGCONT");
  t.match(await foyer(dataDir, ["connections", "drop"]), {
    code: 0,
    stdout: "1 connection dropped.\n",
  });
});

void t.test("where no socket can be", async (t) => {
  const long = join(shortFolder(t), "x".repeat(120));
  const env = { LOG_LEVEL: "warn" };
  const server = await startFoyer(t, long, ["--demo"], env);
  const warning =
    /foyer connections cannot reach this process: \S+ is too long/g;
  t.equal(server.said.stdout.match(warning)?.length, 1, "it says so, once");
  t.equal((await fetch(`${server.address}/healthz`)).status, 200);
  t.match(await foyer(long, ["connections", "list"]), {
    code: 1,
    stderr: `foyer: no server runs on ${long}\n`,
  });

  const taken = shortFolder(t);
  writeFileSync(join(taken, "control"), "");
  const other = await startFoyer(t, taken, ["--demo"], env);
  t.match(other.said.stdout, /cannot reach this process: .*EEXIST/);
});
