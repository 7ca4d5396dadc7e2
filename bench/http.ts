import { writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import {
  type Foyer,
  inTurns,
  isWanted,
  makeRooms,
  newFolder,
  OWN_BUILD,
  processorTimeOf,
  readOptions,
  report,
  residentOf,
  type Server,
  startFoyer,
  startReference,
  WORLD,
} from "./support.js";

// `npm run bench:http -- [part of a name …] [--rounds N] [--against <dist>]` measures the processor
// time of a request, of a start and of an idle server, compared with bare Fastify that sends the
// same bytes, and with another build.

const options = readOptions({ rounds: 20 });
const { rounds, against } = options;

/** Number of concurrent requests, and number of requests per round. */
const CONNECTIONS = 50;
const REQUESTS = 500;

/** Requests before the first round, so that the code is compiled. */
const WARM_UP = 4000;

const ROOMS = `/api/v1/worlds/${WORLD}/rooms/`;

/** A server, with the paths and the token for it. */
interface Side {
  name: string;
  server: Server;
  room: string;
  authorization: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });

/**
 * Sends a request.
 * @returns the headers and the text of the response.
 * @throws {Error} if the response is an error.
 */
function ask(
  { server, authorization }: Side,
  method: string,
  path: string,
  body?: object,
): Promise<{ headers: object; text: string }> {
  const sent = body && JSON.stringify(body);
  const headers = {
    authorization,
    ...(sent && { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
  };
  return new Promise((resolve, reject) => {
    const asked = request({ port: server.port, agent, method, path, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => (text += part));
      answer.on("error", reject).on("end", () => {
        if (answer.statusCode! < 300) {
          resolve({ headers: answer.headers, text });
        } else reject(new Error(`${method}: ${answer.statusCode} ${text}`));
      });
    });
    asked.on("error", reject).end(sent);
  });
}

/** Starts a build of Foyer with 100 rooms. */
async function open(name: string, build: string): Promise<Side> {
  const foyer: Foyer = await startFoyer(build);
  const [room] = await makeRooms(foyer, 100);
  return {
    name,
    server: foyer,
    room: `${ROOMS}${room!}/`,
    authorization: `Bearer ${foyer.token("person", ["admin", "api"])}`,
  };
}

const sides = [await open("foyer", OWN_BUILD)];
if (against) sides.push(await open("the other build", against));

/** Headers that Node.js itself adds to each response. */
const BY_NODE = new Set(["connection", "content-length", "date", "keep-alive"]);

/** Starts bare Fastify with Foyer's responses for these paths. */
async function openBare(paths: string[]): Promise<Side> {
  const texts: Record<string, { headers: object; text: string }> = {};
  for (const path of paths) {
    const { headers, text } = await ask(sides[0]!, "GET", path);
    const own = Object.entries(headers).filter(([name]) => !BY_NODE.has(name));
    texts[path] = { headers: Object.fromEntries(own), text };
  }
  const file = join(newFolder(), "answers.json");
  writeFileSync(file, JSON.stringify(texts));
  const server = await startReference("fastify", [file]);
  return { ...sides[0]!, name: "bare Fastify", server };
}

let patches = 0;

const works: Record<string, (side: Side) => Promise<unknown>> = {
  "GET of a room": (side) => ask(side, "GET", side.room),
  "GET of a world": (side) => ask(side, "GET", `/api/v1/worlds/${WORLD}/`),
  "GET of a list of rooms": (side) => ask(side, "GET", ROOMS),
  "PATCH of a room": (side) =>
    ask(side, "PATCH", side.room, { sorting_priority: ++patches % 1000 }),
  "POST of a room": (side) => ask(side, "POST", ROOMS, { name: "A room" }),
};

/** Returns the processor time per request, in microseconds. */
async function spend(
  side: Side,
  work: (side: Side) => Promise<unknown>,
  count = REQUESTS,
): Promise<number> {
  const before = processorTimeOf(side.server.pid);
  let left = count;
  const sendAll = async () => {
    while (left-- > 0) await work(side);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, sendAll));
  return ((processorTimeOf(side.server.pid) - before) / count) * 1e6;
}

/** Measures one kind of request on all sides that support it. */
async function compare(
  name: string,
  work: (side: Side) => Promise<unknown>,
  all: Side[],
): Promise<void> {
  for (const side of all) await spend(side, work, WARM_UP);
  const values = await inTurns(all, rounds, (side) => spend(side, work));
  for (const [at, { name: to }] of all.entries()) {
    const other = at > 0 && { name: to, values: values[at]! };
    report(name, values[0]!, "µs", other || undefined);
  }
}

/** Returns the processor time that a build takes until its first response, and its memory at that moment. */
async function start(build: string): Promise<[number, number]> {
  const foyer = await startFoyer(build);
  const answer = await fetch(`http://127.0.0.1:${foyer.port}/healthz`);
  await answer.arrayBuffer();
  const taken = processorTimeOf(foyer.pid) * 1000;
  const memory = residentOf(foyer.pid) / 1024;
  await foyer.stop();
  return [taken, memory];
}

const isRead = (name: string) => name.startsWith("GET");

try {
  const paths = [sides[0]!.room, `/api/v1/worlds/${WORLD}/`, ROOMS];
  const bare = await openBare(paths);
  for (const [name, work] of Object.entries(works)) {
    if (!isWanted(options, name)) continue;
    await compare(name, work, isRead(name) ? [...sides, bare] : sides);
  }
  await bare.server.stop();
  if (isWanted(options, "start")) {
    const builds = [OWN_BUILD, ...(against ? [against] : [])];
    const memory: number[] = [];
    const values = await inTurns(builds, Math.min(rounds, 8), async (build) => {
      const [taken, resident] = await start(build);
      if (build === OWN_BUILD) memory.push(resident);
      return taken;
    });
    const other = values[1];
    report(
      "start, to the first answer",
      values[0]!,
      "ms",
      other && { name: "the other build", values: other },
    );
    report("memory after the start", memory, "MiB");
  }
} finally {
  agent.destroy();
  for (const { server } of sides) await server.stop();
}
