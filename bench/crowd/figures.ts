import { setTimeout } from "node:timers/promises";
import { startFoyer } from "../servers.js";
import { type Crowd, frame } from "./crowd.js";
import {
  during,
  type Kind,
  memoryEach,
  openHall,
  PEOPLE,
  SPEAKERS,
  talk,
  UNLIMITED,
} from "./halls.js";
import { joins } from "./joins.js";
import { losses } from "./losses.js";
import { type Measured, note } from "./notes.js";

const text = (people: number) => people.toLocaleString("en");

/** As many people as the descriptors of so many processes allow. */
const full = (workers: number): Measured => {
  const people = 1.8 * PEOPLE * workers;
  const name = `${text(people)} people × 5 a second, WORKERS=${workers}`;
  return {
    name,
    async measure(seconds) {
      const env = { WORKERS: String(workers) };
      const hall = await openHall("foyer", {
        ...{ people, speakers: SPEAKERS, processes: workers, env },
      });
      try {
        note(`${name}: p95 of joining`, hall.joined.join.p95, "ms");
        await talk(hall, `${name}, before`, 5, seconds);
        const { delay } = await talk(hall, name, 5, 2 * seconds);
        note(`${name}: p95`, delay.p95, "ms", 1000);
        const each = await memoryEach(hall, env);
        note(`${name}: memory for each`, each, "KiB", 20);
      } finally {
        await hall.stop();
      }
    },
  };
};

/** How many are there when the others arrive. */
const EARLY = 100;

/** How many arrive in a second. */
const ARRIVING = 1000;

/** By when all shall be in, in seconds; they take most of it to come. */
const WITHIN = PEOPLE / ARRIVING + 1;

const arrivals: Measured = {
  name: `${text(PEOPLE)} people arrive, ${ARRIVING} a second`,
  async measure() {
    for (const kind of ["foyer", "bare"] satisfies Kind[]) {
      const hall = await openHall(kind, { people: EARLY, speakers: EARLY });
      try {
        const name = `${arrivals.name}, ${kind}`;
        const messages = 5 * Math.ceil(PEOPLE / ARRIVING + 1);
        let opened = 0;
        const open = async () => {
          const begun = performance.now();
          await hall.crowd.order(`open ${PEOPLE} ${ARRIVING}`);
          opened = (performance.now() - begun) / 1000;
        };
        const outcome = await during(
          hall,
          name,
          () => Promise.all([hall.crowd.say(messages, 5), open()]),
          messages,
        );
        const { join, delay, clients } = outcome;
        const goal = (atMost: number) =>
          kind === "foyer" ? atMost : undefined;
        note(`${name}: p95 of joining`, join.p95, "ms", goal(2000));
        note(`${name}: all are in`, opened, "s", goal(WITHIN));
        note(`${name}: p95 of messages`, delay.p95, "ms");
        if (clients < PEOPLE + EARLY)
          throw new Error(`${name}: ${clients} got in.`);
      } finally {
        await hall.stop();
      }
    }
  },
};

const room = "{room}";

/** The extra frames of a client that reconnects. */
const lists = [
  frame("question.list", 5, { room }),
  frame("poll.list", 6, { room }),
];

/** After how many milliseconds clients come back. */
const AWAY = 1000;

/** @throws {Error} unless all have lost their connection, and are back. */
async function isBack(crowd: Crowd, people: number): Promise<number> {
  await crowd.order("await");
  const report = await crowd.report("restart");
  if (process.env.VERBOSE) console.error("restart", report);
  const { clients, closed, away, refused, join } = report;
  note("restart: connections refused meanwhile", refused);
  note("restart: p95 of joining again", join.p95, "ms");
  if (clients < people || closed < people)
    throw new Error(`restart: of ${closed} who left, ${clients} are back.`);
  return away / 1000;
}

const restart: Measured = {
  name: `restart with ${text(PEOPLE)} people`,
  async measure(seconds) {
    const { name } = restart;
    const hall = await openHall("foyer", {
      ...{ people: PEOPLE, speakers: SPEAKERS, also: lists },
    });
    try {
      await talk(hall, name, 5, seconds);
      await hall.crowd.order(`again ${AWAY}`);
      await hall.crowd.order("measure");
      const begun = performance.now();
      await hall.server.stop();
      note(`${name}: stop`, performance.now() - begun, "ms");
      hall.server = await startFoyer(hall.dataDir, {
        ...UNLIMITED,
        PORT: String(hall.server.port),
      });
      note(`${name}: start`, hall.server.started, "ms");
      const away = await isBack(hall.crowd, PEOPLE);
      note(`${name}: all are back`, away, "s", 5);
      await setTimeout(AWAY);
      // All of them read.
      const { delay } = await talk(hall, `${name}, after`, 5, seconds);
      note(`${name}: p95 afterwards`, delay.p95, "ms");
    } finally {
      await hall.stop();
    }
  },
};

/** How long messages take to a small and to a full room. */
const latencies: Measured = {
  name: "latency of messages",
  async measure(seconds) {
    for (const people of [PEOPLE / 10, PEOPLE]) {
      const hall = await openHall("foyer", { people, speakers: SPEAKERS });
      try {
        await talk(hall, "before", 5, seconds);
        for (const rate of [1, 5]) {
          const name = `latency, ${text(people)} people × ${rate} a second`;
          const { delay } = await talk(hall, name, rate, 5 * seconds);
          for (const part of ["p50", "p95", "p99"] as const)
            note(`${name}: ${part}`, delay[part], "ms");
        }
      } finally {
        await hall.stop();
      }
    }
  },
};

/** In the order of measurement. */
export const figures: Measured[] = [
  full(1),
  full(2),
  latencies,
  joins,
  arrivals,
  restart,
  losses,
];
