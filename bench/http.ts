import { Agent, request } from "node:http";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { callersOf } from "./event.js";
import { processorTimeOf } from "./figures.js";
import { medianOf } from "./rounds.js";
import { newFolder, startFoyer } from "./servers.js";

// `npm run bench http <dist of another build> [rounds]` compares the processor time of a
// request with the other build. Both servers run, and get the requests of a round in random order.

const [, , , other, rounds = "20"] = process.argv;
if (!other) {
  process.stderr.write("Name the folder dist of another build.\n");
  process.exit(2);
}

/** How many requests are under way at the same time. */
const CONNECTIONS = 50;

/** How many requests of a kind a round has. */
const REQUESTS = 500;

/** How many come first, so that all code is compiled. */
const WARM_UP = 4000;

const ROOMS = "/api/v1/worlds/bench/rooms/";

/** Sends one request after the other over some connections. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  readonly #port;
  readonly #authorization;

  /** @param named whether its token has a `uid`. */
  constructor(port: number, named: boolean) {
    this.#port = port;
    const [authorization] = callersOf("bench", { count: 1, named });
    this.#authorization = authorization!;
  }

  /** @returns the text of the answer. @throws if it is an error. */
  ask(method: string, path: string, body?: object): Promise<string> {
    const sent = body && JSON.stringify(body);
    const headers = {
      authorization: this.#authorization,
      ...(sent && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(sent),
      }),
    };
    const options = { port: this.#port, agent: this.#agent, method, path };
    return new Promise((resolve, reject) => {
      const asked = request({ ...options, headers }, (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.on("error", reject).on("end", () => {
          if (answer.statusCode! < 300) resolve(text);
          else reject(new Error(`${method}: ${answer.statusCode} ${text}`));
        });
      });
      asked.on("error", reject).end(sent);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

type Work = (client: Client, room: string, n: number) => Promise<unknown>;

const works: Record<string, Work> = {
  "GET of a room": (client, room) => client.ask("GET", room),
  "PATCH of a room": (client, room, n) =>
    client.ask("PATCH", room, { sorting_priority: n }),
  "POST of a room": (client, _, n) =>
    client.ask("POST", ROOMS, {
      name: `Room ${n}`,
      description: "Where people meet.",
      module_config: [{ type: "chat.native", config: { volatile: true } }],
    }),
};

/** A server of a build, and its clients: one whose token has a `uid`, and one without. */
async function open(dist: string) {
  const dataDir = newFolder();
  // Each build makes its own tables.
  const event = pathToFileURL(join(dist, "bench/event.js")).href;
  const { fill } = (await import(event)) as typeof import("./event.js");
  await fill(dataDir, { bench: { rooms: 100 } });
  // A build from before there were bundles has only its modules.
  const server = await startFoyer(dataDir, {}, join(dist, "cli/main.js"));
  const clients = [true, false].map((named) => new Client(server.port, named));
  const list = await clients[0]!.ask("GET", ROOMS);
  const [first] = (JSON.parse(list) as { results: { id: string }[] }).results;
  return { server, clients, room: `${ROOMS}${first!.id}/`, sent: 0 };
}

type Side = Awaited<ReturnType<typeof open>>;

/** The processor time that some requests to a server take, in seconds. */
async function spend(side: Side, client: Client, work: Work, count: number) {
  const before = processorTimeOf(side.server.pid);
  const last = side.sent + count;
  const one = async () => {
    while (side.sent < last) await work(client, side.room, side.sent++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
  return processorTimeOf(side.server.pid) - before;
}

const own = fileURLToPath(new URL("../", import.meta.url));
const sides = [await open(resolve(other)), await open(own)];
try {
  for (const [name, work] of Object.entries(works)) {
    for (const [at, whose] of ["with", "without"].entries()) {
      const ratios: number[] = [];
      // The first round only warms up.
      for (let round = 0; round <= Number(rounds); round++) {
        const times: number[] = [];
        for (const n of Math.random() < 0.5 ? [0, 1] : [1, 0]) {
          const side = sides[n]!;
          const count = round === 0 ? WARM_UP : REQUESTS;
          times[n] = await spend(side, side.clients[at]!, work, count);
        }
        if (round > 0) ratios.push(times[1]! / times[0]!);
      }
      const low = Math.min(...ratios).toFixed(2);
      const high = Math.max(...ratios).toFixed(2);
      process.stdout.write(
        `${name}, token ${whose} uid: ${medianOf(ratios).toFixed(2)} (${low} to ${high}) of the other build\n`,
      );
    }
  }
} finally {
  for (const { clients, server } of sides) {
    for (const client of clients) client.close();
    await server.stop();
  }
}
