import { Crowd } from "../crowd/crowd.js";
import { newVenue, SPEAKERS, timeOf, UNLIMITED } from "../crowd/halls.js";
import { note } from "../crowd/notes.js";
import type { Work as WorkOn } from "../rounds.js";
import { type Running, startFoyer } from "../servers.js";
import type { SharedEngines } from "./engines.js";

/** How many people are in the room, on all nodes together. */
const PEOPLE = Number(process.env.PEOPLE ?? 6000);

/** How many messages they send in a second. */
const RATE = 20;

/** One room on some nodes. */
interface Room {
  nodes: Running[];
  crowd: Crowd;
}

/** The same event on one node, on two, and on three. */
export interface Rooms {
  engines: SharedEngines;
  byNodes: Map<number, Room>;
  stop(): Promise<void>;
}

type Work = WorkOn<Rooms>;

/** Starts the nodes and lets people in. */
export async function openRooms(engines: SharedEngines): Promise<Rooms> {
  const byNodes = new Map<number, Room>();
  for (const count of [1, 2, 3]) {
    byNodes.set(count, await openRoom(engines, count));
  }
  return {
    engines,
    byNodes,
    async stop() {
      for (const { nodes, crowd } of byNodes.values()) {
        await crowd.leave();
        for (const node of nodes) await node.stop();
      }
    },
  };
}

async function openRoom(engines: SharedEngines, count: number): Promise<Room> {
  const url = await engines.newDatabase();
  const database = { url, pool: 10 };
  const { dataDir, rooms } = await newVenue(1, { database });
  const nodes: Running[] = [];
  for (let n = 0; n < count; n++) {
    const env = { ...UNLIMITED, ...engines.variables(url) };
    nodes.push(await startFoyer(dataDir, env));
  }
  const crowd = await Crowd.open(
    nodes.map(({ port }) => port),
    { people: PEOPLE, speakers: SPEAKERS, rooms, processes: count },
  );
  return { nodes, crowd };
}

const total = (nodes: Running[]) =>
  nodes.map(timeOf).reduce((sum, time) => sum + time, 0);

/** The processor time of all nodes for a delivery, in microseconds. */
async function costOf(
  { engines, byNodes }: Rooms,
  count: number,
  seconds: number,
): Promise<number> {
  const { nodes, crowd } = byNodes.get(count)!;
  const messages = RATE * 2 * seconds;
  const name = `${PEOPLE} people on ${count} nodes`;
  const before = { nodes: total(nodes), ...engines.times() };
  // It throws if a client misses a message, or gets one twice.
  const { delivered, delay } = await crowd.measure(
    name,
    () => crowd.say(messages, RATE),
    messages,
  );
  const after = { nodes: total(nodes), ...engines.times() };
  const spent = (what: keyof typeof after) =>
    (after[what] - before[what]) * 1e6;
  note(`${name}: PostgreSQL for a message`, spent("database") / messages, "µs");
  note(`${name}: Valkey for a message`, spent("events") / messages, "µs");
  note(`${name}: a node for a delivery`, spent("nodes") / delivered, "µs");
  note(`${name}: p95`, delay.p95, "ms");
  return spent("nodes") / delivered;
}

const onNodes = (count: number): Work => ({
  name: `one room on ${count} nodes`,
  of: "processor time of all nodes for a delivery, compared with one node",
  goal: { atMost: 1.2 },
  async measure(rooms, seconds, turned) {
    const first = await costOf(rooms, turned ? 1 : count, seconds);
    const second = await costOf(rooms, turned ? count : 1, seconds);
    return turned ? second / first : first / second;
  },
});

/** The cost of one room with clients on several nodes. */
export const roomWorks: Work[] = [onNodes(2), onNodes(3)];
