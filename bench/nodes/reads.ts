import { timeOf } from "../crowd/halls.js";
import { note } from "../crowd/notes.js";
import { CALLERS, callersOf, fill } from "../event.js";
import { load, type Sent } from "../load.js";
import type { Work as WorkOn } from "../rounds.js";
import { rooms } from "../scene.js";
import { newFolder, type Running, startFoyer } from "../servers.js";
import type { SharedEngines } from "./engines.js";

/** One server on PostgreSQL and one on SQLite, both with a world of 100,000 rooms. */
export interface Desks {
  postgres: Running;
  sqlite: Running;
  /** The ids of some rooms: on PostgreSQL, and on SQLite. */
  ids: { postgres: string[]; sqlite: string[] };
  stop(): Promise<void>;
}

type Work = WorkOn<Desks>;
type Side = keyof Desks["ids"];

const SIDES = ["postgres", "sqlite"] as const;
const NAMES: Record<Side, string> = {
  postgres: "PostgreSQL",
  sqlite: "SQLite",
};

/** More rooms than any cache holds. */
const MANY = 40_000;
const PAGE = 1000;

// They see every room.
const callers = callersOf("bench", { traits: ["backstage"] });

/** Starts both servers. */
export async function openDesks(engines: SharedEngines): Promise<Desks> {
  const worlds = { bench: { rooms: 100_000, halfHidden: true } };
  const url = await engines.newDatabase();
  const folders = { postgres: newFolder(), sqlite: newFolder() };
  const database = { url, pool: 10 };
  await fill(folders.postgres, worlds, { database });
  await fill(folders.sqlite, worlds);
  // Otherwise it begins a minute later, while nodes are measured.
  await engines.settle(url);
  const postgres = await startFoyer(folders.postgres, engines.variables(url));
  const sqlite = await startFoyer(folders.sqlite);
  return {
    ...{ postgres, sqlite },
    ids: { postgres: await idsOf(postgres), sqlite: await idsOf(sqlite) },
    async stop() {
      await Promise.all([postgres.stop(), sqlite.stop()]);
    },
  };
}

/** The ids of the first rooms of a server. */
async function idsOf({ port }: Running): Promise<string[]> {
  const ids: string[] = [];
  const [authorization] = callersOf("bench", { traits: ["backstage"] });
  for (let page = 1; ids.length < MANY; page++) {
    const answer = await fetch(
      `http://127.0.0.1:${port}${rooms}?page_size=${PAGE}&page=${page}`,
      { headers: { authorization: authorization! } },
    );
    if (!answer.ok) throw new Error(await answer.text());
    const { results } = (await answer.json()) as { results: { id: string }[] };
    ids.push(...results.map(({ id }) => id));
  }
  return ids;
}

const OF = "requests a second, compared with SQLite";

/** The same requests to both. */
const compared = (
  name: string,
  goal: Work["goal"],
  pathsOf: (ids: string[]) => string[],
): Work => ({
  ...{ name, goal, of: OF },
  async measure(desks, seconds, turned) {
    const rates = {} as Record<Side, number>;
    for (const side of turned ? SIDES.toReversed() : SIDES) {
      const requests: Sent[] = pathsOf(desks.ids[side]).map((path, n) => ({
        path,
        headers: { authorization: callers[n % CALLERS]! },
      }));
      const asked = { requests, connections: CALLERS, seconds };
      const before = timeOf(desks[side]);
      const { rate } = await load(desks[side].port, asked);
      // Unlike the rate, it hardly depends on other work of the machine.
      const each = (timeOf(desks[side]) - before) / (rate * seconds);
      note(`${name}: a node on ${NAMES[side]}`, each * 1e6, "µs");
      rates[side] = rate;
    }
    return rates.postgres / rates.sqlite;
  },
});

const CACHED = { atLeast: 0.8 };
const READ = { atLeast: 0.3 };

/** Many more pages than are read in a round, or than a cache holds: about fifty rooms each. */
const PAGES = Array.from({ length: 20 }, (_, size) =>
  Array.from(
    { length: 900 },
    (_, n) => `${rooms}?page_size=${41 + size}&page=${1 + n}`,
  ),
).flat();

/** The cost of a read on PostgreSQL. */
export const reads: Work[] = [
  compared("GET world", CACHED, () =>
    callers.map(() => "/api/v1/worlds/bench/"),
  ),
  compared("GET room", CACHED, ([id]) => callers.map(() => `${rooms}${id}/`)),
  compared("GET list of rooms", CACHED, () => callers.map(() => rooms)),
  compared("GET room, 40,000 in turn", READ, (ids) =>
    ids.slice(0, MANY).map((id) => `${rooms}${id}/`),
  ),
  compared("GET list of rooms, each page in turn", READ, () => PAGES),
];
