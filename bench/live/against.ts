import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { callersOf } from "../event.js";
import { rounds } from "../rounds.js";
import { newFolder, startFoyer } from "../servers.js";
import { Crowd } from "./crowd.js";
import { messageIn } from "./chat-scene.js";
import { Director } from "./director.js";
import { type Delivery, deliver, rateOf } from "./works.js";

/** How many people listen to each server. */
const PEOPLE = Number(process.env.PEOPLE ?? 1000);

/** How many messages are sent, one after the other or at once. */
const MESSAGES = 20;

const PATH = "/ws/world/bench/";

/** A server of one build, with a crowd in a chat. */
async function open(dist: string) {
  const dataDir = newFolder();
  // Each build makes its own tables.
  const event = pathToFileURL(join(resolve(dist), "bench/event.js")).href;
  const { fill } = (await import(event)) as typeof import("../event.js");
  await fill(dataDir, { bench: { rooms: 2 } });
  const server = await startFoyer(
    dataDir,
    { LIVE_MESSAGES_PER_SECOND: "1000000" },
    join(resolve(dist), "bundle/foyer.js"),
  );
  const [authorization] = callersOf("bench", { count: 1 });
  const answer = await fetch(
    `http://127.0.0.1:${server.port}/api/v1/worlds/bench/rooms/`,
    { headers: { authorization: authorization! } },
  );
  const { results } = (await answer.json()) as { results: { id: string }[] };
  // The first room has a stream, the second one chat.
  const room = results[1]!.id;
  const says = callersOf("bench", { count: PEOPLE, roles: ["attendee"] }).map(
    (header) => [
      JSON.stringify(["authenticate", { token: header.split(" ")[1] }]),
      JSON.stringify(["room.enter", 1, { room }]),
      JSON.stringify(["chat.subscribe", 2, { channel: room }]),
    ],
  );
  const { crowd, joined } = await Crowd.join(server.port, PATH, says, 200);
  const director = await Director.join(server.port, PATH, authorization!);
  await director.ask("user.update", { profile: { display_name: "Director" } });
  await director.ask("chat.join", { channel: room });
  const hall = { server, crowd, joined, cost: 0, director };
  const send = () => director.ask("chat.send", messageIn(room));
  return {
    burst: () => deliver(hall, "chat.event", MESSAGES, send),
    async single() {
      const all: Delivery[] = [];
      for (let i = 0; i < MESSAGES; i++) {
        all.push(await deliver(hall, "chat.event", 1, send));
      }
      return all;
    },
    async stop() {
      director.leave();
      await crowd.leave();
      await server.stop();
    },
  };
}

type Side = Awaited<ReturnType<typeof open>>;

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

/** Figures of one side. @returns seconds of processor time, and deliveries a second. */
async function figuresOf(side: Side): Promise<Record<string, number>> {
  const single = await side.single();
  const burst = await side.burst();
  return {
    "one by one: processor time of a delivery":
      sum(single.map(({ cost }) => cost)) / (MESSAGES * PEOPLE),
    "at once: processor time of a delivery": burst.cost / burst.arrived,
    "at once: deliveries a second": 1000 * rateOf(burst),
  };
}

const own = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Compares deliveries with another build, alternately: prints the median of the ratios, and the
 * median of this build.
 * @param other its folder `dist`.
 */
export async function compareWith(other: string): Promise<void> {
  const sides = [await open(other), await open(own)] as const;
  const ratios = new Map<string, number[]>();
  const values = new Map<string, number[]>();
  try {
    // The first round compiles.
    for (let round = 0; round <= rounds; round++) {
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      const found: Record<string, number>[] = [];
      for (const at of order) found[at] = await figuresOf(sides[at]!);
      if (round === 0) continue;
      for (const [name, value] of Object.entries(found[1]!)) {
        const ratio = value / found[0]![name]!;
        ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
        values.set(name, [...(values.get(name) ?? []), value]);
      }
    }
  } finally {
    for (const side of sides) await side.stop();
  }
  const median = (list: number[]) =>
    list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
  for (const [name, list] of ratios) {
    const [low, high] = [Math.min(...list), Math.max(...list)];
    const value = median(values.get(name)!);
    const shown =
      value < 1 ? `${(value * 1e6).toFixed(2)} µs` : value.toFixed(0);
    process.stdout.write(
      `${name.padEnd(42)} ${median(list).toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)}) of the other build; ${shown}\n`,
    );
  }
}
