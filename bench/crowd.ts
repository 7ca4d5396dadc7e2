import { setTimeout as sleep } from "node:timers/promises";
import { type Arrivals, Crowd } from "./clients.js";
import {
  inTurns,
  isWanted,
  makeRooms,
  OWN_BUILD,
  percentileOf,
  processorTimeOf,
  readOptions,
  report,
  residentOf,
  type Server,
  startFoyer,
  startReference,
} from "./support.js";

// `npm run bench:crowd -- [part of a name …] [--people N] [--rounds N] [--seconds N] [--against
// <dist>]` measures websockets, with all people in this one process. The references are in
// references.ts. Costs are the server's processor time. A lost, duplicated or out-of-order message
// aborts the benchmark.

const options = readOptions({ people: 5000, rounds: 3, least: 500 });
const { people, rounds, seconds, against } = options;

/** Number of people who send. */
const SPEAKERS = 50;

/** Number of rooms in an event whose people are all in one of them. */
const ROOMS = 20;

/** Default number of joins per second. */
const JOIN_RATE = 500;

/** Time for a server to settle after people have joined or left, in milliseconds. */
const SETTLE_MS = 1000;

/** A server and its people. */
interface Side {
  name: string;
  server: Server;
  crowd: Crowd;
  rooms: string[];
  token: (person: number) => string;
  restart?(): Promise<void>;
}

/**
 * Starts a server without people.
 * @param rooms the number of rooms that people enter.
 */
async function open(name: string, rooms: number): Promise<Side> {
  const build = name === "foyer" ? OWN_BUILD : name === "other" ? against : undefined;
  if (build === undefined) {
    const server = await startReference(name);
    return {
      name,
      server,
      crowd: new Crowd(server.port),
      rooms: Array.from({ length: rooms }, (_, n) => `room-${n}`),
      token: () => "none",
    };
  }
  const foyer = await startFoyer(build);
  const ids = await makeRooms(foyer, Math.max(rooms, ROOMS));
  return {
    name,
    server: foyer,
    crowd: new Crowd(foyer.port),
    rooms: ids.slice(0, rooms),
    token: (person) => foyer.token(`person-${person}`, ["attendee"]),
    restart: () => foyer.restart(),
  };
}

const guestsOf = (side: Side, count: number, rate = JOIN_RATE) => ({
  people: count,
  rate,
  rooms: side.rooms,
  token: side.token,
});

/** Sends messages before the first round, so that the code is compiled. */
async function warmUp(side: Side, speakers: number): Promise<void> {
  await side.crowd.letSpeak(speakers);
  await side.crowd.talk(speakers, 4, { speakers });
  await sleep(SETTLE_MS);
}

/** Returns the processor time that a server spends during an action, in seconds. */
async function spend({ server }: Side, happen: () => Promise<unknown>) {
  const before = processorTimeOf(server.pid);
  await happen();
  return processorTimeOf(server.pid) - before;
}

/** Returns the processor time per delivery, in microseconds. */
async function costOf(side: Side, talk: () => Promise<Arrivals>) {
  let deliveries = 1;
  const taken = await spend(side, async () => {
    ({ deliveries } = await talk());
  });
  return (taken / deliveries) * 1e6;
}

/** Prints Foyer's costs, compared with each other side in the same rounds. */
function reportAll(name: string, sides: Side[], values: number[][]): void {
  for (const [at, side] of sides.entries()) {
    if (at === 0) continue;
    const to = { name: side.name, values: values[at]! };
    report(name, values[0]!, "µs", to);
  }
}

/** The names of the sides: Foyer, the references, and the other build if there is one. */
const sidesWith = (...references: string[]): string[] => [
  "foyer",
  ...references,
  ...(against ? ["other"] : []),
];

/** Opens the sides, lets people join, measures, and stops all servers. */
async function withSides(
  names: string[],
  plan: { people: number; rooms: number; speakers: number },
  measure: (sides: Side[]) => Promise<void>,
): Promise<void> {
  const sides: Side[] = [];
  try {
    for (const name of names) {
      const side = await open(name, plan.rooms);
      sides.push(side);
      if (plan.people > 0) {
        await side.crowd.open(guestsOf(side, plan.people));
        await warmUp(side, plan.speakers);
      }
    }
    await measure(sides);
  } finally {
    for (const side of sides) {
      side.crowd.leave();
      await side.server.stop();
    }
  }
}

/** Opens sides without people, one at a time, so that none competes for the machine. */
async function oneByOne(names: string[], measure: (side: Side) => Promise<void>): Promise<void> {
  for (const name of names) {
    const none = { people: 0, rooms: 1, speakers: 0 };
    await withSides([name], none, ([side]) => measure(side!));
  }
}

const works: Record<string, () => Promise<void>> = {
  "deliveries in one room": () =>
    withSides(
      sidesWith("bare", "collecting"),
      { people, rooms: 1, speakers: SPEAKERS },
      async (sides) => {
        for (const rate of [5, 50]) {
          const name = `a delivery, ${people} people, ${rate} a second`;
          const slowest = new Map<string, number[]>();
          const values = await inTurns(sides, rounds, (side) =>
            costOf(side, async () => {
              const arrivals = await side.crowd.talk(rate, seconds, { speakers: SPEAKERS });
              const p95 = percentileOf(arrivals.delays, 0.95);
              slowest.set(side.name, [...(slowest.get(side.name) ?? []), p95]);
              return arrivals;
            }),
          );
          reportAll(name, sides, values);
          for (const side of sides) {
            report(`${name}: p95, ${side.name}`, slowest.get(side.name)!, "ms");
          }
        }
      },
    ),

  "small rooms": () => {
    const rooms = Math.ceil(people / 10);
    return withSides(
      sidesWith("bare", "committing"),
      { people, rooms, speakers: rooms },
      async (sides) => {
        const values = await inTurns(sides, rounds, (side) =>
          costOf(side, () => side.crowd.talk(rooms, seconds, { speakers: rooms })),
        );
        reportAll(`a delivery, ${rooms} rooms × 10 people`, sides, values);
      },
    );
  },

  marks: () => {
    const count = Math.ceil(people / 10);
    return withSides(
      sidesWith("bare"),
      { people: count, rooms: 1, speakers: SPEAKERS },
      async (sides) => {
        const cost = (side: Side, marks: boolean) =>
          costOf(side, () => side.crowd.talk(5, seconds, { speakers: SPEAKERS, marks }));
        const name = `a delivery, ${count} people, all mark all`;
        reportAll(name, sides, await inTurns(sides, rounds, (side) => cost(side, true)));
        const [marked, unmarked] = await inTurns([true, false], rounds, (marks) =>
          cost(sides[0]!, marks),
        );
        report(name, marked!, "µs", { name: "the same without marks", values: unmarked! });
      },
    );
  },

  joins: () =>
    withSides(
      sidesWith("bare"),
      { people: Math.ceil(people / 5), rooms: 1, speakers: SPEAKERS },
      async (sides) => {
        const joining = Math.ceil(people / 5);
        const values = await inTurns(sides, rounds, async (side) => {
          const count = side.crowd.size + joining;
          const taken = await spend(side, async () => {
            await side.crowd.open(guestsOf(side, count));
            await sleep(SETTLE_MS);
          });
          return (taken / joining) * 1e6;
        });
        reportAll("a join", sides, values);
      },
    ),

  "arrivals and a restart": () =>
    oneByOne(sidesWith("collecting"), async (side) => {
      const { crowd, name } = side;
      await crowd.open(guestsOf(side, SPEAKERS));
      await crowd.letSpeak(SPEAKERS);
      crowd.joins.length = 0;
      await crowd.open(guestsOf(side, people, 1000));
      const p95 = percentileOf(crowd.joins, 0.95);
      report(`${people} arrive, 1,000 a second: p95, ${name}`, [p95], "ms");
      report(`… refused or reset, ${name}`, [crowd.refused], "");
      if (!side.restart) return;
      const begun = performance.now();
      await side.restart();
      await crowd.until(
        () => crowd.size >= people,
        () => `${crowd.size} of ${people} are back`,
      );
      const back = performance.now() - begun;
      report(`${people} are back after a restart, ${name}`, [back], "ms");
    }),

  "memory of an idle person": () =>
    oneByOne(sidesWith("bare"), async (side) => {
      // The first people compile the code and fill caches.
      await side.crowd.open(guestsOf(side, Math.ceil(people / 5)));
      await sleep(5 * SETTLE_MS);
      const before = residentOf(side.server.pid);
      const there = side.crowd.size;
      await side.crowd.open(guestsOf(side, people));
      await sleep(10 * SETTLE_MS);
      const each = (residentOf(side.server.pid) - before) / (people - there);
      report(`an idle person, ${side.name}`, [each], "KiB");
    }),
};

for (const [name, measure] of Object.entries(works)) {
  if (isWanted(options, name)) await measure();
}
