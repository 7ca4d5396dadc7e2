import t from "tap";
import type { WorldKey } from "../../../schemas/worlds.js";
import {
  foyerProcess,
  spawnFoyer,
  startFoyer,
  until,
  type ServerProcess,
} from "../../helper.js";
import { ask, Client, DOMAIN, ROTATED, WORLD } from "./load.js";
import { Model, type State } from "./model.js";
import { Random } from "../../simulation/random.js";
import { plan } from "./plan.js";
import { allRooms, Verifier } from "./verify.js";
import { testdir } from "../../testdir.js";

// Kills servers while they write, and asks them afterwards for all that they
// had answered. A few rounds in the suite, a hundred by `npm run test:crash`.

const { rounds, seed } = plan(4);

/** Who dies in a round. */
const VICTIMS = [
  "the only server",
  "the first of two servers",
  "one of two workers",
  "the first process of two workers",
  "the only server, and again while it starts",
] as const;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The writers: most write rooms and files, as in practice. */
const KINDS = [
  "rooms",
  "uploads",
  "rooms",
  "uploads",
  "rooms",
  "uploads",
  "world",
  "keys",
] as const;

/** The workers that were said to serve. */
const workersOf = ({ said }: ServerProcess): number[] =>
  said.stdout
    .split("\n")
    .filter((line) => line.includes('"msg":"Server listening'))
    .map((line) => (JSON.parse(line) as { pid: number }).pid);

void t.test(`${rounds} rounds, SEED=${seed}`, async (t) => {
  t.setTimeout(Number(process.env.TAP_TIMEOUT ?? 180) * 1000);
  const random = new Random(seed);
  const dataDir = testdir(t);
  const model = new Model();
  let server = await startFoyer(t, dataDir, ["--demo"]);
  const show = async (world: string) => {
    const { stdout } = await foyerProcess(t, dataDir, [
      ...["world", "show", world, "--json"],
    ]);
    return JSON.parse(stdout) as { config: { JWT_secrets: [WorldKey] } };
  };
  await foyerProcess(t, dataDir, [
    ...["world", "create", ROTATED, "--title", "Keys", "--domain", "k.test"],
  ]);
  const [key] = (await show(WORLD)).config.JWT_secrets;
  model.key = { sure: (await show(ROTATED)).config.JWT_secrets[0] };
  const placed = await ask(server.address, key, `${WORLD}/`, {
    method: "PATCH",
    body: { domain: DOMAIN },
  });
  model.world.sure = placed.body as State;
  for (const room of await allRooms(server.address, key)) {
    model.rooms.set(room.id, { sure: room });
  }
  server.signal("SIGTERM");
  await server.finished;
  const { stdout } = await foyerProcess(t, dataDir, ["check", "--json"]);
  const { files } = JSON.parse(stdout) as { files: number };
  const verifier = new Verifier(t, model, dataDir, key, files);

  const offset = random.below(VICTIMS.length);
  for (let round = 1; round <= rounds; round++) {
    const victim = VICTIMS[(offset + round) % VICTIMS.length]!;
    const survives = victim === "one of two workers";
    server = await startFoyer(t, dataDir, [], {
      UPLOADS_PER_MINUTE: "1000000",
      ...(victim.includes("workers") && { WORKERS: "2", LOG_LEVEL: "info" }),
    });
    const second =
      victim === "the first of two servers"
        ? await startFoyer(t, dataDir)
        : undefined;
    if (victim.includes("workers"))
      await until(() => workersOf(server).length === 2);

    const clients = KINDS.map((kind, i) => {
      const { address } = i % 2 === 1 && second ? second : server;
      const choices = new Random(seed + 1000 * round + i);
      return new Client(model, address, key, choices, round, kind);
    });
    const over = Promise.all(clients.map((client) => client.run()));
    const before = model.answered;
    await Promise.race([over, until(() => model.answered > before + 5)]);
    await pause(random.below(500));
    const pid = survives ? random.pick(workersOf(server)) : server.pid;
    process.kill(pid, "SIGKILL");
    // Who still gets answers goes on for a while.
    if (second || survives) await pause(100);
    for (const client of clients) client.stop();
    await over;

    if (victim.endsWith("while it starts")) {
      const starting = spawnFoyer(t, ["serve"], {
        DATA_DIR: dataDir,
        PORT: "0",
      });
      await pause(random.below(600));
      starting.signal("SIGKILL");
      await starting.finished;
    }
    if (survives) await until(() => workersOf(server).length === 3);
    else {
      await server.finished;
      server = await startFoyer(t, dataDir);
    }
    const name = `${round}: ${victim}`;
    // What the dead one had answered is known to the one that lives, too.
    const { address } = second ?? server;
    await verifier.verify(address, round - 1, name);
    for (const one of [server, second]) {
      one?.signal("SIGTERM");
      if (one) t.equal((await one.finished).code, 0, `${name}: it stops`);
    }
  }
  t.comment(
    `${model.answered} writes were answered, ${model.doubtful} were not; ` +
      `${model.uploads.length} files`,
  );
});
