import type { Hall } from "./hall.js";
import { join } from "node:path";
import { callersOf } from "../event.js";
import { processorTimeOf } from "../figures.js";
import {
  newEvent,
  type Running,
  startFoyer,
  startProgram,
} from "../servers.js";
import { load } from "../load.js";
import { Crowd } from "./crowd.js";
import { type ChatScene, openChatScene } from "./chat-scene.js";
import { Director } from "./director.js";

/** How many people are in the room. */
export const PEOPLE = Number(process.env.PEOPLE ?? 10_000);

/** How many of them join in a second. */
export const JOINING = Number(process.env.JOINING ?? 1000);

/** How many of them have all rights, and see the other viewers of the room. */
export const STAFF = 10;

/** How long servers are asked before anything is measured, in seconds. */
const WARM_UP = 2;

/** The number of rooms in the world. */
const ROOMS = 20;

/** The servers of the benchmark. */
export interface Stage {
  /** Foyer with a crowd in the first room. */
  foyer: Hall;
  /** Foyer without a crowd. */
  empty: Running;
  /** A server with nothing but `ws`, and a crowd as large. */
  bare: Hall;
  /** The paths of the rooms, for `foyer` and for `empty`. */
  rooms: { foyer: string[]; empty: string[] };
  /** The id of the room with the crowd. */
  room: string;
  /** The scene of chat, opened at its first use. */
  chat(): Promise<ChatScene>;
  /** The id of a visible announcement. */
  announcement: string;
  /** The header of a caller with all rights. */
  authorization: string;
  stop(): Promise<void>;
}

const roomsPath = "/api/v1/worlds/bench/rooms/";
const bareSockets = join(import.meta.dirname, "bare.js");

/** Starts the servers, and lets the crowds in. */
export async function openStage(): Promise<Stage> {
  const dataDir = await newEvent({ bench: { rooms: ROOMS } });
  const foyer = await startFoyer(dataDir, {
    LIVE_MESSAGES_PER_SECOND: "1000000",
  });
  const empty = await startFoyer(await newEvent({ bench: { rooms: ROOMS } }));
  const bare = await startProgram(bareSockets);
  const authorization = callersOf("bench", { count: 1 })[0]!;
  const roomsOf = async ({ port }: Running) => {
    const answer = await fetch(`http://127.0.0.1:${port}${roomsPath}`, {
      headers: { authorization },
    });
    const { results } = (await answer.json()) as { results: { id: string }[] };
    return results.map(({ id }) => id);
  };
  const ids = await roomsOf(foyer);
  const [room] = ids;
  const pathsOf = (rooms: string[]) => rooms.map((id) => `${roomsPath}${id}/`);

  const says = helloesOf(room!);
  // So that none is compared before its code is compiled.
  for (const [{ port }, path] of [
    [foyer, pathsOf(ids)[1]],
    [empty, pathsOf(await roomsOf(empty))[1]],
  ] as const) {
    const requests = [{ path: path!, headers: { authorization } }];
    await load(port, { requests, connections: 32, seconds: WARM_UP });
  }
  const full = await fillHall(foyer, "/ws/world/bench/", says);
  const reference = await fillHall(bare, "/", says);
  const { announcement } = await full.director.ask<{
    announcement: { id: string };
  }>("announcement.create", { text: "Welcome.", state: "active" });
  let chat: Promise<ChatScene> | undefined;
  return {
    foyer: full,
    empty,
    bare: reference,
    rooms: { foyer: pathsOf(ids), empty: pathsOf(await roomsOf(empty)) },
    room: room!,
    // The first room has a stream, the second one chat.
    chat: () => (chat ??= openChatScene(full, dataDir, ids[1]!)),
    announcement: announcement.id,
    authorization,
    async stop() {
      await (await chat)?.stop();
      for (const { crowd, director, server } of [full, reference]) {
        director.leave();
        await crowd.leave();
        await server.stop();
      }
      await empty.stop();
    },
  };
}

async function fillHall(
  server: Running,
  path: string,
  says: string[][],
): Promise<Hall> {
  const before = processorTimeOf(server.pid);
  const { crowd, joined } = await Crowd.join(server.port, path, says, JOINING);
  const cost = processorTimeOf(server.pid) - before;
  const [authorization] = callersOf("bench", { count: PEOPLE + 1 }).slice(-1);
  const director = await Director.join(server.port, path, authorization!);
  return { server, crowd, joined, cost, director };
}

/** The frames of every client: the login, and the room that it enters. */
function helloesOf(room: string): string[][] {
  const people = [
    ...callersOf("bench", { count: STAFF }),
    ...callersOf("bench", { count: PEOPLE, roles: ["attendee"] }).slice(STAFF),
  ];
  return people.map((header) => [
    JSON.stringify(["authenticate", { token: header.split(" ")[1] }]),
    JSON.stringify(["room.enter", 1, { room }]),
  ]);
}
