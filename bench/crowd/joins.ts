import { setTimeout } from "node:timers/promises";
import { medianOf, rounds, say, short } from "../rounds.js";
import { type Hall, type Kind, openHall, talk, timeOf } from "./halls.js";
import { type Measured, note } from "./notes.js";

/** How many people are there before anybody is measured, and how many join in a round. */
const BEFORE = Number(process.env.PEOPLE ?? 2000);
const JOINING = Number(process.env.JOINING ?? 1000);

/** How many join in a second. */
const RATE = 500;

const SPEAKERS = 20;
const ROOMS = 20;

/** The servers that are compared: with `OTHER`, the folder `dist` of another build, too. */
const kinds: Kind[] = [
  ...(["foyer", "bare"] as const),
  ...(process.env.OTHER ? (["other"] as const) : []),
];

/** The processor time of each of some people who join, in microseconds. */
async function costIn(hall: Hall): Promise<number> {
  const before = timeOf(hall.server);
  await hall.crowd.order(`open ${JOINING} ${RATE}`);
  // The last logins are written, and presence is published.
  await setTimeout(300);
  return ((timeOf(hall.server) - before) / JOINING) * 1e6;
}

/** What a person costs who arrives in a room in which many are, beside bare `ws`. */
export const joins: Measured = {
  name: "joins, processor time",
  async measure() {
    const halls = new Map<Kind, Hall>();
    const costs = new Map<Kind, number[]>();
    try {
      for (const kind of kinds) {
        const plan = { people: BEFORE, speakers: SPEAKERS, rooms: ROOMS };
        const hall = await openHall(kind, { ...plan, rate: RATE });
        halls.set(kind, hall);
        await talk(hall, `${kind}, before`, 50, 5);
      }
      for (let round = 0; round < rounds; round++) {
        const order = round % 2 === 0 ? kinds : kinds.toReversed();
        for (const kind of order) {
          const cost = await costIn(halls.get(kind)!);
          costs.set(kind, [...(costs.get(kind) ?? []), cost]);
          say(`${joins.name}, round ${round + 1}: ${kind} ${short(cost)}`);
        }
      }
    } finally {
      for (const hall of halls.values()) await hall.stop();
    }
    const bare = costs.get("bare")!;
    const ratioOf = (one: number[], other: number[]) =>
      medianOf(one.map((cost, round) => cost / other[round]!));
    for (const [kind, each] of costs) {
      const name = `${joins.name}, ${kind}`;
      note(`${name}: median`, medianOf(each), "µs");
      note(`${name}: least`, Math.min(...each), "µs");
      if (kind === "bare") continue;
      const goal = kind === "foyer" ? 2 : undefined;
      note(`${name}: to bare`, ratioOf(each, bare), "", goal);
      if (kind === "other") {
        const own = costs.get("foyer")!;
        note(`${joins.name}, foyer: to other`, ratioOf(own, each));
      }
    }
  },
};
