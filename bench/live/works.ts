import { setTimeout } from "node:timers/promises";
import { processorTimeOf } from "../figures.js";
import { load } from "../load.js";
import { reactions } from "../../schemas/live/index.js";
import type { Work as WorkOn } from "../rounds.js";
import type { Running } from "../servers.js";
import type { Arrivals } from "./crowd.js";
import { probe } from "./probe.js";
import type { Stage } from "./stage.js";
import type { Hall } from "./hall.js";

/** A measurement of the live layer. */
export type Work = WorkOn<Stage>;

/** How many events are sent at once in a burst. */
const BURST = 20;

/** How many requests are in flight while their rate is measured. */
export const CALLERS = 32;

export const now = () => performance.timeOrigin + performance.now();

/** The value below which a part of the sorted values is. */
export const percentile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;

/** A kind of event. Each call of `cause` makes Foyer send one to all clients in the room. */
export interface Kind {
  name: string;
  /** How long Foyer collects such events, in milliseconds. The reference waits as long. */
  collects: number;
  cause(stage: Stage): Promise<unknown>;
}

let caused = 0;

const announcement: Kind = {
  name: "announcement.created_or_updated",
  collects: 0,
  cause: ({ foyer, announcement: id }) =>
    foyer.director.ask("announcement.update", {
      id,
      text: `Lunch is served in hall ${++caused}.`,
    }),
};

const reaction: Kind = {
  name: "room.reaction",
  collects: 1000,
  cause: ({ foyer, room }) =>
    foyer.director.ask("room.react", {
      room,
      reaction: reactions[++caused % reactions.length],
    }),
};

const world: Kind = {
  name: "world.updated",
  collects: 300,
  cause: ({ foyer, rooms, authorization }) =>
    changeRoom(foyer.server.port, rooms.foyer[1]!, authorization),
};

async function changeRoom(port: number, path: string, authorization: string) {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: "PATCH",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ description: `Change ${++caused}.` }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}

/** How large the frames of each kind are, as Foyer sent them last. */
const sizes = new Map<string, number>();

/** Makes the reference send a frame of this kind, as large as Foyer's. */
async function imitate({ bare }: Stage, { name, collects }: Kind) {
  if (collects > 0) await setTimeout(collects);
  // Minus the frame around the text of the reference.
  const bytes = Math.max(1, (sizes.get(name) ?? 200) - name.length - 20);
  await bare.director.ask("broadcast", { name, bytes });
}

/** How some events arrived. */
export interface Delivery extends Arrivals {
  /** When the first event was asked for, in milliseconds since 1970. */
  sent: number;
  /** The server's processor time, in seconds. */
  cost: number;
}

/** Makes one side send events to all clients, and waits until all have arrived. */
export async function deliver(
  hall: Hall,
  kind: string,
  times: number,
  cause: () => Promise<unknown>,
): Promise<Delivery> {
  const { pid } = hall.server;
  await hall.crowd.expect(kind);
  const before = processorTimeOf(pid);
  const sent = now();
  const [arrivals] = await Promise.all([
    hall.crowd.arrivals(times),
    ...Array.from({ length: times }, cause),
  ]);
  if (arrivals.arrived < times * hall.crowd.size) {
    throw new Error(
      `${kind}: ${arrivals.arrived} of ${times * hall.crowd.size} arrived.`,
    );
  }
  return { ...arrivals, sent, cost: processorTimeOf(pid) - before };
}

/** Delivers the same events on both sides. */
export async function both(
  stage: Stage,
  kind: Kind,
  times: number,
  turned: boolean,
): Promise<[foyer: Delivery, bare: Delivery]> {
  const ours = async () => {
    const { name } = kind;
    const cause = () => kind.cause(stage);
    const delivery = await deliver(stage.foyer, name, times, cause);
    sizes.set(name, delivery.bytes);
    return delivery;
  };
  const theirs = () =>
    deliver(stage.bare, kind.name, times, () => imitate(stage, kind));
  if (!turned) return [await ours(), await theirs()];
  const reference = await theirs();
  return [await ours(), reference];
}

/** Until 95 of 100 clients have got an event, from a moment on. */
export const p95Of = ({ times: [times] }: Delivery, from?: number): number => {
  const sorted = times!.toSorted((a, b) => a - b);
  return percentile(sorted, 0.95) - (from ?? sorted[0]!);
};

/** Deliveries a second, from when the first event was asked for. */
export const rateOf = ({ times, sent, arrived }: Delivery): number =>
  arrived / (times.flat().reduce((a, b) => Math.max(a, b)) - sent);

/** The time to deliver one event to all clients, repeated for as long as a measurement takes. */
const oneEvent = (
  kind: Kind,
  from: (delivery: Delivery) => number | undefined,
  of: string,
): Work => ({
  name: `${kind.name}, p95`,
  of,
  goal: { atMost: 1.25 },
  async measure(stage, seconds, turned) {
    const ratios: number[] = [];
    const end = performance.now() + 2 * seconds * 1000;
    do {
      const [foyer, bare] = await both(stage, kind, 1, turned);
      ratios.push(p95Of(foyer, from(foyer)) / p95Of(bare, from(bare)));
    } while (performance.now() < end);
    return percentile(
      ratios.sort((a, b) => a - b),
      0.5,
    );
  },
});

export const since = "of bare ws, which sends in a loop";

/** The 99th percentile of the latency of GET while events go to all clients. */
async function latencyBeside(
  port: number,
  { rooms, authorization }: Stage,
  seconds: number,
  every: number,
  cause: () => Promise<unknown>,
): Promise<number> {
  const timer = setInterval(() => void cause(), every);
  try {
    const path = rooms.foyer[2]!;
    const asked = await probe(port, path, { authorization }, seconds);
    return percentile(asked, 0.99);
  } finally {
    clearInterval(timer);
  }
}

/** @param every the time between two events to all clients, in milliseconds. */
export const besideEvents = (kind: Kind, every: number): Work => ({
  name: `GET room beside ${kind.name}, p99`,
  of: `latency with ${1000 / every} a second to everybody, ${since}`,
  goal: { atMost: 1 },
  async measure(stage, seconds, turned) {
    const { foyer, bare } = stage;
    const sides = [
      [foyer, () => kind.cause(stage)],
      [bare, () => imitate(stage, kind)],
    ] as const;
    const latencies: number[] = [];
    for (const at of turned ? [1, 0] : [0, 1]) {
      const [{ server }, cause] = sides[at]!;
      latencies[at] = await latencyBeside(
        server.port,
        stage,
        2 * seconds,
        every,
        cause,
      );
    }
    return latencies[0]! / latencies[1]!;
  },
});

/** The rate of GET, and its processor time, with the crowd. */
async function readsOf(
  { port, pid }: Running,
  path: string,
  authorization: string,
  seconds: number,
) {
  const requests = [{ path, headers: { authorization } }];
  const before = processorTimeOf(pid);
  const { rate } = await load(port, {
    requests,
    connections: CALLERS,
    seconds,
  });
  const cost = (processorTimeOf(pid) - before) / (rate * seconds);
  return { rate, cost };
}

/** Measures GET in Foyer with the crowd, and in Foyer without. */
const reads = (
  name: string,
  goal: Work["goal"],
  of: string,
  figure: "rate" | "cost",
): Work => ({
  name,
  of,
  goal,
  async measure({ foyer, empty, rooms, authorization }, seconds, turned) {
    const full = () =>
      readsOf(foyer.server, rooms.foyer[1]!, authorization, seconds);
    const alone = () => readsOf(empty, rooms.empty[1]!, authorization, seconds);
    if (!turned) return (await full())[figure] / (await alone())[figure];
    const reference = await alone();
    return (await full())[figure] / reference[figure];
  },
});

/** Measures two sides, the second first if `turned`. @returns the ratio. */
export async function ratio(
  sides: [() => Promise<number>, () => Promise<number>],
  turned: boolean,
): Promise<number> {
  const values: number[] = [];
  for (const at of turned ? [1, 0] : [0, 1]) values[at] = await sides[at]!();
  return values[0]! / values[1]!;
}

/** All measurements, in the order of the table. */
export const works: Work[] = [
  reads(
    "GET room with the crowd connected",
    { atLeast: 0.9 },
    "requests a second, to those without a crowd",
    "rate",
  ),
  reads(
    "GET room with the crowd connected, cost",
    { atMost: 1.1 },
    "processor time, to that without a crowd",
    "cost",
  ),
  oneEvent(announcement, ({ sent }) => sent, `time from the command, ${since}`),
  oneEvent(reaction, () => undefined, `time from the first client, ${since}`),
  oneEvent(world, () => undefined, `time from the first client, ${since}`),
  {
    name: `${BURST} announcements at once`,
    of: `deliveries a second, ${since}`,
    goal: { atLeast: 1 },
    async measure(stage, _, turned) {
      const [foyer, bare] = await both(stage, announcement, BURST, turned);
      return rateOf(foyer) / rateOf(bare);
    },
  },
  ...[1, BURST].map((times): Work => ({
    name: `${times === 1 ? "1 announcement" : `${times} announcements at once`}, cost`,
    of: `processor time, ${since}`,
    goal: { atMost: 1 },
    async measure(stage, _, turned) {
      const [foyer, bare] = await both(stage, announcement, times, turned);
      return foyer.cost / bare.cost;
    },
  })),
  besideEvents(announcement, 250),
  besideEvents(world, 1000),
];
