import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { EngineChoice } from "../../db/choice.js";
import { openEngines } from "../../db/open.js";
import { processorTimeOf, residentOf, treeOf } from "../figures.js";
import { fill } from "../event.js";
import {
  newFolder,
  type Running,
  startFoyer,
  startProgram,
} from "../servers.js";
import { Crowd, type Guests } from "./crowd.js";
import type { Report } from "./generator.js";

/** How many people are in a room that is full. */
export const PEOPLE = Number(process.env.PEOPLE ?? 10_000);

/** How many of them send. */
export const SPEAKERS = 50;

/** `other` is Foyer from the folder `dist` of another build, which `OTHER` names. */
export type Kind = "foyer" | "other" | "bare" | "collecting" | "committing";

const isFoyer = (kind: Kind) => kind === "foyer" || kind === "other";

/** A server with a crowd. */
export interface Hall {
  server: Running;
  crowd: Crowd;
  rooms: string[];
  people: number;
  /** How long it took people to join. */
  joined: Report;
  /** Where Foyer keeps its data; empty for a reference. */
  dataDir: string;
  stop(): Promise<void>;
}

/** The crowd, and the options of the server. */
export interface Plan extends Omit<Guests, "rooms"> {
  /** How many rooms there are. */
  rooms?: number;
  env?: NodeJS.ProcessEnv;
}

/** The limits per user would stop the speakers. */
export const UNLIMITED = {
  LIVE_COMMANDS_PER_SECOND: "1000000",
  LIVE_MESSAGES_PER_SECOND: "1000000",
};

/** Rooms of an event: a stream with a chat, questions and polls. */
const modules = [
  { type: "livestream.native", config: {} },
  { type: "chat.native", config: { volatile: true } },
  { type: "question", config: { active: true } },
  { type: "poll", config: { active: true } },
];

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

/**
 * Creates a data folder with a world, or fills a database that is chosen instead.
 * @returns the ids of its rooms.
 */
export async function newVenue(
  rooms: number,
  choice: EngineChoice = {},
): Promise<{ dataDir: string; rooms: string[] }> {
  const dataDir = newFolder();
  await fill(dataDir, { bench: { rooms: 0 } }, choice);
  const engines = await openEngines({ dataDir, serves: false, ...choice });
  try {
    const created = await Promise.all(
      Array.from({ length: rooms }, (_, n) =>
        engines.store.rooms.create("bench", {
          name: `Hall ${n}`,
          module_config: modules,
        }),
      ),
    );
    return { dataDir, rooms: created.map(({ value }) => value.id) };
  } finally {
    await engines.close();
  }
}

/** Each build makes its own tables. @param build the folder `dist` of another one. */
function venueBy(build: string | undefined): typeof newVenue {
  if (build === undefined) return newVenue;
  const file = pathToFileURL(join(resolve(build), "bench/crowd/halls.js")).href;
  return async (rooms) => {
    const other = (await import(file)) as { newVenue: typeof newVenue };
    return other.newVenue(rooms);
  };
}

/** Starts a server and lets people in. */
export async function openHall(
  kind: Kind,
  { rooms: count = 1, env, ...guests }: Plan,
): Promise<Hall> {
  const build = kind === "other" ? process.env.OTHER : undefined;
  const venue = isFoyer(kind)
    ? await venueBy(build)(count)
    : {
        dataDir: "",
        rooms: Array.from({ length: count }, (_, n) => `room-${n}`),
      };
  const server = isFoyer(kind)
    ? await startFoyer(
        venue.dataDir,
        { ...UNLIMITED, ...env },
        build && join(build, "bundle/foyer.js"),
      )
    : await startProgram(join(import.meta.dirname, "references.js"), [kind]);
  const crowd = await Crowd.open(server.port, {
    ...guests,
    rooms: venue.rooms,
  }).catch(async (error: unknown) => {
    await server.stop();
    throw error;
  });
  if (process.env.VERBOSE) console.error(kind, crowd.joined);
  const hall: Hall = {
    ...{ server, crowd, ...venue, people: guests.people },
    joined: crowd.joined,
    async stop() {
      await crowd.leave();
      await hall.server.stop();
    },
  };
  return hall;
}

/** The processor time that a server has used, in seconds. */
export const timeOf = ({ pid }: Pick<Running, "pid">): number =>
  sum(treeOf(pid).map(processorTimeOf));

/** The resident memory of a server, in MiB. */
export const memoryOf = ({ pid }: Running): number =>
  sum(treeOf(pid).map(residentOf));

/** The memory of a server per client, beyond the memory without clients, in KiB. */
export async function memoryEach(hall: Hall, env: NodeJS.ProcessEnv) {
  const empty = await startFoyer((await newVenue(1)).dataDir, env);
  const beyond = memoryOf(hall.server) - memoryOf(empty);
  await empty.stop();
  return (beyond * 1024) / hall.people;
}

/** The counts of a run, and its cost. */
export interface Outcome extends Report {
  /** Processor time of the server for a delivery, in microseconds. */
  cost: number;
}

/** Runs work in a hall, and returns its cost per delivery. */
export async function during(
  { crowd, server }: Hall,
  name: string,
  run: () => Promise<unknown>,
  messages: number,
): Promise<Outcome> {
  const before = timeOf(server);
  const report = await crowd.measure(name, run, messages);
  const cost = ((timeOf(server) - before) / report.delivered) * 1e6;
  if (process.env.VERBOSE) console.error(name, cost, report);
  return { ...report, cost };
}

/** People send messages for some time, as many a second as `rate`. */
export const talk = (
  hall: Hall,
  name: string,
  rate: number,
  seconds: number,
): Promise<Outcome> => {
  const messages = Math.round(rate * seconds);
  return during(hall, name, () => hall.crowd.say(messages, rate), messages);
};
