import { callersOf } from "./event.js";
import { newEvent, type Running, startBare, startFoyer } from "./servers.js";

/** The servers of a benchmark, all started before the first round. */
export interface Scene {
  /** Foyer with one world `bench` of 100 rooms. */
  foyer: Running;
  /** Fastify that answers the same bytes as constants. */
  bare: Running;
  /** A room of `bench` in `foyer`. */
  room: { id: string };
  stop(): Promise<void>;
}

/** Headers that Node.js adds to every answer. */
const BY_NODE = ["connection", "content-length", "date", "keep-alive"];

export const rooms = "/api/v1/worlds/bench/rooms/";

/** Starts the servers that every benchmark needs. */
export async function openScene(): Promise<Scene> {
  const foyer = await startFoyer(
    await newEvent({ bench: { rooms: 100, halfHidden: true } }),
  );
  const [authorization] = callersOf("bench", { traits: ["backstage"] });
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${foyer.port}${path}`, {
      headers: { authorization: authorization! },
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    const headers = Object.fromEntries(answer.headers);
    for (const name of BY_NODE) delete headers[name];
    return { headers, text: await answer.text() };
  };
  const world = await ask("/api/v1/worlds/bench/");
  const { text } = await ask(rooms);
  const { results } = JSON.parse(text) as { results: { id: string }[] };
  const [first] = results;
  const room = await ask(`${rooms}${first!.id}/`);
  const bare = await startBare({ world, room });
  return {
    ...{ foyer, bare },
    room: first!,
    async stop() {
      await Promise.all([foyer.stop(), bare.stop()]);
    },
  };
}
