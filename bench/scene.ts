import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CALLERS, callersOf } from "./event.js";
import type { Sent } from "./load.js";
import {
  newEvent,
  newFolder,
  type Running,
  startBare,
  startFoyer,
} from "./servers.js";

/** The number of rooms in a large world. */
export const LARGE = 100_000;

/** The servers of a benchmark, all started before the first round. */
export interface Scene {
  /** Foyer with one world `bench` of 100 rooms. */
  foyer: Running;
  /** Foyer with a world `bench` of 100,000 rooms. */
  large: Running;
  /** Foyer with 10,000 worlds, `bench` and `world-1` and so on. */
  many: Running;
  /** Fastify that answers the same bytes as constants. */
  bare: Running;
  /** A room of `bench` in `foyer`. */
  room: { id: string };
  /** The rooms that 32 callers write to. */
  desks: string[];
  /** The path of an uploaded file, and of the same bytes in `bare`. */
  media: { foyer: string; bare: string };
  /** Adds a server that `stop` ends too. */
  alsoStop(server: Running): void;
  stop(): Promise<void>;
}

/** Headers that Node.js adds to every answer. */
const BY_NODE = ["connection", "content-length", "date", "keep-alive"];

export const rooms = "/api/v1/worlds/bench/rooms/";

/** A PDF with a size in bytes. */
export const pdf = (size: number): Buffer =>
  Buffer.concat([Buffer.from("%PDF-1.7\n"), randomBytes(size - 9)]);

/** A form with one PDF, as a browser sends it. */
export function form(bytes: Buffer): Pick<Sent, "headers" | "body"> {
  const boundary = "----foyer-bench";
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([
      Buffer.from(
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="talk.pdf"\r\nContent-Type: application/pdf\r\n\r\n`,
      ),
      bytes,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  };
}

/** Starts the servers that every benchmark needs. */
export async function openScene(): Promise<Scene> {
  const foyer = await startFoyer(
    await newEvent({ bench: { rooms: 100, halfHidden: true } }),
  );
  const large = await startFoyer(
    await newEvent({ bench: { rooms: LARGE, halfHidden: true } }),
  );
  const worlds = Array.from({ length: 9999 }, (_, n) => `world-${n}`);
  const many = await startFoyer(
    await newEvent(
      Object.fromEntries(
        ["bench", ...worlds].map((id) => [
          id,
          { rooms: id === "bench" ? 100 : 1 },
        ]),
      ),
    ),
  );

  const [authorization] = callersOf("bench", { traits: ["backstage"] });
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`http://127.0.0.1:${foyer.port}${path}`, {
      ...init,
      headers: { ...init.headers, authorization: authorization! },
    });
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
    const headers = Object.fromEntries(answer.headers);
    for (const name of BY_NODE) delete headers[name];
    return { headers, text: await answer.text() };
  };
  const world = await ask("/api/v1/worlds/bench/");
  const page = await ask(rooms);
  const { results } = JSON.parse(page.text) as { results: { id: string }[] };
  const [first] = results;
  const room = await ask(`${rooms}${first!.id}/`);
  const file = pdf(64 * 1024);
  const uploaded = await ask("/storage/upload/", {
    method: "POST",
    ...(form(file) as RequestInit),
  });
  const { url } = JSON.parse(uploaded.text) as { url: string };
  const media = newFolder();
  const path = new URL(url).pathname;
  mkdirSync(media, { recursive: true });
  writeFileSync(join(media, "talk.pdf"), file);
  const bare = await startBare({ world, page, room, media });

  const all = [foyer, large, many, bare];
  return {
    foyer,
    large,
    many,
    bare,
    alsoStop: (server) => void all.push(server),
    room: first!,
    desks: results.slice(0, CALLERS / 2).map(({ id }) => id),
    media: { foyer: path, bare: "/media/talk.pdf" },
    async stop() {
      await Promise.all(all.map((server) => server.stop()));
    },
  };
}
