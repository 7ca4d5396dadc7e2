import { setTimeout } from "node:timers/promises";
import { callersOf } from "../event.js";
import { load } from "../load.js";
import { probe } from "../live/probe.js";
import type { Work as WorkOn } from "../rounds.js";
import {
  during,
  type Hall,
  type Kind,
  memoryOf,
  type Outcome,
  PEOPLE,
  type Plan,
  SPEAKERS,
  talk,
} from "./halls.js";
import { note } from "./notes.js";

/** The servers that a work compares. */
export type Halls = Partial<Record<Kind, Hall>>;
export type Work = WorkOn<Halls>;

/** Works that share their servers. */
export interface Group {
  kinds: Kind[];
  plan: Plan;
  works: Work[];
}

export const people = PEOPLE.toLocaleString("en");

type Outcomes<O> = Record<Kind, O>;
type Run<O> = (hall: Hall, kind: Kind, seconds: number) => Promise<O>;

/**
 * Runs the same in each hall, in turn. Works that share a run use its outcomes once
 * each.
 */
export function shared<O = Outcome>(kinds: Kind[], run: Run<O>) {
  let outcomes: Promise<Outcomes<O>>;
  const users = new Set<string>();
  return (
    name: string,
    of: string,
    goal: Work["goal"],
    ratio: (outcomes: Outcomes<O>) => number,
  ): Work => ({
    ...{ name, of, goal },
    async measure(halls, seconds, turned) {
      if (!users.size || users.has(name)) {
        users.clear();
        outcomes = inTurn(halls, seconds, turned);
      }
      users.add(name);
      return ratio(await outcomes);
    },
  });

  async function inTurn(halls: Halls, seconds: number, turned: boolean) {
    const found = {} as Outcomes<O>;
    for (const kind of turned ? kinds.toReversed() : kinds)
      found[kind] = await run(halls[kind]!, kind, seconds);
    return found;
  }
}

const five = shared(["foyer", "bare", "collecting"], (hall, kind, seconds) =>
  talk(hall, `${kind}, ${people} people × 5 a second`, 5, 2 * seconds),
);

const fifty = shared(["foyer", "collecting"], async (hall, kind, seconds) => {
  const name = `${people} people × 50 a second`;
  const before = memoryOf(hall.server);
  const outcome = await talk(hall, `${kind}, ${name}`, 50, 2 * seconds);
  const of = kind === "foyer" ? name : `${name}, ${kind}`;
  note(`${of}: deliveries a second`, outcome.delivered / outcome.seconds);
  const atMost = kind === "foyer" ? 500 : undefined;
  note(`${of}: p95`, outcome.delay.p95, "ms", atMost);
  if (kind === "foyer") {
    note(`${of}: memory before`, before, "MiB");
    note(`${of}: memory after`, memoryOf(hall.server), "MiB");
  }
  return outcome;
});

export const toBare = "of bare ws, which sends in a loop";
const toCollecting = "of ws with one write for all that waits";
export const cost = "processor time for each delivery";

/** How many messages are sent at once in a burst. */
const BURST = 200;

/** Sends a burst, and asks whether the server still answers. */
const burst = shared(["foyer", "collecting"], async (hall, kind) => {
  const name = `${kind}, ${BURST} messages at once to ${people}`;
  let slowest = 0;
  const run = async () => {
    const asked = probe(hall.server.port, "/healthz", {}, 3);
    await setTimeout(200);
    await hall.crowd.say(BURST, 1_000_000);
    slowest = (await asked).at(-1)!;
  };
  const outcome = await during(hall, name, run, BURST);
  const atMost = kind === "foyer" ? 50 : undefined;
  note(`${name}: longest wait for /healthz`, slowest, "ms", atMost);
  note(`${name}: all have all`, outcome.seconds * 1000 - 200, "ms");
  return outcome;
});

/** The rate of GET in a hall. */
function reads({ server, rooms }: Hall) {
  const [authorization] = callersOf("bench", { count: 1 });
  const path = `/api/v1/worlds/bench/rooms/${rooms[0]!}/`;
  const requests = [{ path, headers: { authorization: authorization! } }];
  return (seconds: number) =>
    load(server.port, { requests, connections: 32, seconds });
}

const toAlone = "requests a second, to those without messages";
const besideName = `GET room beside ${people} people × 5 a second`;

/** What a server keeps of its rate of GET while people talk. */
const kept = shared(["foyer", "collecting"], async (hall, kind, seconds) => {
  const ask = reads(hall);
  const alone = (await ask(seconds)).rate;
  let beside = 0;
  const messages = 5 * (seconds + 1);
  const run = async () => {
    const talking = hall.crowd.say(messages, 5);
    await setTimeout(500);
    beside = (await ask(seconds)).rate;
    await talking;
  };
  const outcome = await during(hall, `${besideName}, ${kind}`, run, messages);
  return { ...outcome, kept: beside / alone };
});

/** The works that need one room with the whole crowd in it. */
export const room: Group = {
  kinds: ["foyer", "bare", "collecting"],
  plan: { people: PEOPLE, speakers: SPEAKERS },
  works: [
    five(
      `${people} people × 5 a second, p95`,
      `time from sending to having, ${toBare}`,
      { atMost: 1.25 },
      ({ foyer, bare }) => foyer.delay.p95 / bare.delay.p95,
    ),
    five(
      `${people} people × 5 a second, cost`,
      `${cost}, ${toCollecting}`,
      { atMost: 1.3 },
      ({ foyer, collecting }) => foyer.cost / collecting.cost,
    ),
    fifty(
      `${people} people × 50 a second, cost`,
      `${cost}, ${toCollecting}`,
      { atMost: 1.5 },
      ({ foyer, collecting }) => foyer.cost / collecting.cost,
    ),
    burst(
      `${BURST} messages at once to ${people}, cost`,
      `${cost}, ${toCollecting}`,
      {},
      ({ foyer, collecting }) => foyer.cost / collecting.cost,
    ),
    kept(besideName, toAlone, {}, ({ foyer }) => foyer.kept),
    kept(
      `${besideName}, to the reference`,
      "what it keeps of its rate, to what ws with one write for all keeps",
      { atLeast: 0.85 },
      ({ foyer, collecting }) => foyer.kept / collecting.kept,
    ),
  ],
};
