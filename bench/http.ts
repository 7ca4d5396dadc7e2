import { Agent, request } from "node:http";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { callersOf } from "./event.js";
import { processorTimeOf } from "./figures.js";
import { medianOf } from "./rounds.js";
import { newFolder, startFoyer } from "./servers.js";

// `npm run bench http <dist of another build> [rounds]` compares the processor time of a
// request with the other build. Each round starts a new server of either, in random order.

const [, , , other, rounds = "5"] = process.argv;
if (!other) {
  process.stderr.write("Name the folder dist of another build.\n");
  process.exit(2);
}

/** How many requests are under way at the same time. */
const CONNECTIONS = 50;

/** How many requests of a kind are measured, after as many that are not. */
const REQUESTS = 4000;

const ROOMS = "/api/v1/worlds/bench/rooms/";

/** Sends one request after the other over some connections. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  /** Whether its token has a `uid`. */
  readonly named: boolean;
  readonly #port;
  readonly #authorization;

  constructor(port: number, named: boolean) {
    this.named = named;
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

/** Sends requests whose numbers begin with one. */
async function send(work: (n: number) => Promise<unknown>, first: number) {
  let next = first;
  const one = async () => {
    while (next < first + REQUESTS) await work(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

/** The processor time of each kind of request to a new server of a build, in microseconds. */
async function figuresOf(dist: string): Promise<Record<string, number>> {
  const dataDir = newFolder();
  // Each build makes its own tables.
  const event = pathToFileURL(join(dist, "bench/event.js")).href;
  const { fill } = (await import(event)) as typeof import("./event.js");
  await fill(dataDir, { bench: { rooms: 100 } });
  // A build from before there were bundles has only its modules.
  const program = join(dist, "cli/main.js");
  const server = await startFoyer(dataDir, {}, program);
  const clients = [true, false].map((named) => new Client(server.port, named));
  try {
    const list = await clients[0]!.ask("GET", ROOMS);
    const [first] = (JSON.parse(list) as { results: { id: string }[] }).results;
    const figures: Record<string, number> = {};
    for (const [name, work] of Object.entries(works)) {
      for (const client of clients) {
        const ask = (n: number) => work(client, `${ROOMS}${first!.id}/`, n);
        await send(ask, 0);
        const before = processorTimeOf(server.pid);
        await send(ask, REQUESTS);
        const spent = processorTimeOf(server.pid) - before;
        const whose = client.named ? "a user's token" : "a token without uid";
        figures[`${name}, ${whose}`] = (spent * 1e6) / REQUESTS;
      }
    }
    return figures;
  } finally {
    for (const client of clients) client.close();
    await server.stop();
  }
}

const own = fileURLToPath(new URL("../", import.meta.url));
const sides = [resolve(other), own];
const ratios = new Map<string, number[]>();
for (let round = 0; round < Number(rounds); round++) {
  const times: Record<string, number>[] = [];
  for (const at of Math.random() < 0.5 ? [0, 1] : [1, 0]) {
    times[at] = await figuresOf(sides[at]!);
  }
  for (const [name, time] of Object.entries(times[1]!)) {
    const ratio = time / times[0]![name]!;
    ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
  }
}
for (const [name, values] of ratios) {
  const low = Math.min(...values).toFixed(2);
  const high = Math.max(...values).toFixed(2);
  process.stdout.write(
    `${name.padEnd(40)} ${medianOf(values).toFixed(2)} (${low} to ${high}) of the other build\n`,
  );
}
