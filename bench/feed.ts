import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { callersOf } from "./event.js";
import { processorTimeOf } from "./figures.js";
import { Crowd } from "./live/crowd.js";
import { Director } from "./live/director.js";
import { medianOf } from "./rounds.js";
import { newEvent, type Running, startFoyer } from "./servers.js";

// `npm run bench feed [people] [rounds]`: what followers of the change feed cost the server, beside as
// many websockets in the room, and what webhooks cost a write. Processor time, alternately.

const PEOPLE = Number(process.argv[3] ?? 1000);
const ROUNDS = Number(process.argv[4] ?? 3);

/** How many messages come in a round, and how long after each other, in milliseconds. */
const MESSAGES = 40;
const STEP = 50;

/** How many rooms are changed in a round, this many at a time. */
const WRITES = 600;
const TOGETHER = 10;
const HOOKS = 20;

/** It ends after this time in any case, in milliseconds. */
const LONGEST = Number(process.env.LONGEST ?? 60_000);

const say = (text: string) => void process.stdout.write(`${text}\n`);
setTimeout(() => {
  say(`It was not over after ${LONGEST / 1000} s.`);
  process.exit(1);
}, LONGEST).unref();

const API = "/api/v1/worlds/bench/";
const [host = ""] = callersOf("bench", { count: 1 });
const server = await startFoyer(await newEvent({ bench: { rooms: 3 } }), {
  LIVE_MESSAGES_PER_SECOND: "1000000",
  ...{ LIVE_COMMANDS_PER_SECOND: "1000000", WEBHOOK_ALLOW: "127.0.0.1" },
});

async function api<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${API}${path}`, {
    method,
    headers: { authorization: host, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** The processor time of the server for some work, in microseconds. */
async function costOf(
  { pid }: Running,
  work: () => Promise<unknown>,
): Promise<number> {
  const before = processorTimeOf(pid);
  await work();
  return (processorTimeOf(pid) - before) * 1e6;
}

const { results: rooms } = await api<{
  results: { id: string; module_config: { type: string }[] }[];
}>("GET", "rooms/");
const room = rooms.find(({ module_config: [module] }) =>
  module!.type.startsWith("chat"),
)!.id;
const speaker = await Director.join(server.port, "/ws/world/bench/", host);
await speaker.ask("user.update", { profile: { display_name: "Speaker" } });
await speaker.ask("chat.join", { channel: room });
let said = 0;
const talk = async () => {
  for (let i = 0; i < MESSAGES; i++) {
    await speaker.ask("chat.send", {
      ...{ channel: room, event_type: "channel.message" },
      content: { type: "text", body: `Message ${said++} to all who listen.` },
    });
    await sleep(STEP);
  }
};

/** Opens event streams. @returns how many entries they got, and their end. */
async function follow() {
  let got = 0;
  const opened: Promise<unknown>[] = [];
  const sockets = Array.from({ length: PEOPLE }, () => {
    const socket = connect(server.port, "127.0.0.1");
    socket.write(
      `GET ${API}changes/?types=chat.* HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: ${host}\r\n\r\n`,
    );
    opened.push(
      new Promise((resolve, reject) => {
        socket.once("data", resolve);
        socket.once("close", () => reject(new Error("A stream ended.")));
      }),
    );
    socket.on("data", (bytes) => {
      for (
        let at = -1;
        (at = bytes.indexOf("event: chat.message", at + 1)) >= 0;
      )
        got++;
    });
    return socket;
  });
  await Promise.all(opened);
  return {
    async all(each: number) {
      while (got < each * PEOPLE) await sleep(5);
    },
    end: () => sockets.forEach((socket) => socket.destroy()),
  };
}

async function byStreams(): Promise<number> {
  const followers = await follow();
  await sleep(500);
  const cost = await costOf(server, async () => {
    await talk();
    await followers.all(MESSAGES);
  });
  followers.end();
  return cost / (MESSAGES * PEOPLE);
}

async function bySockets(): Promise<number> {
  const says = callersOf("bench", { count: PEOPLE, roles: [] }).map(
    (header) => [
      JSON.stringify(["authenticate", { token: header.split(" ")[1] }]),
      JSON.stringify(["room.enter", 1, { room }]),
      JSON.stringify(["chat.subscribe", 2, { channel: room }]),
    ],
  );
  const path = "/ws/world/bench/";
  const { crowd } = await Crowd.join(server.port, path, says, 500);
  await sleep(500);
  await crowd.expect("chat.event");
  const cost = await costOf(server, async () => {
    await talk();
    await crowd.arrivals(MESSAGES);
  });
  await crowd.leave();
  await sleep(500);
  return cost / (MESSAGES * PEOPLE);
}

/** Measures two things alternately, and says the median of the ratio of their costs. */
async function compare(
  name: string,
  one: () => Promise<number>,
  other: () => Promise<number>,
): Promise<void> {
  const costs: [number, number][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    if (round % 2 === 0) costs.push([await one(), await other()]);
    else costs.push([await other(), await one()].reverse() as [number, number]);
  }
  const ratios = costs.map(([a, b]) => a / b);
  const micro = (at: 0 | 1) => medianOf(costs.map((it) => it[at])).toFixed(1);
  say(
    `${name}: ${medianOf(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}); ${micro(0)} µs and ${micro(1)} µs`,
  );
}

let taken = 0;
const receiver = createServer((request, response) => {
  request.resume().on("end", () => {
    taken++;
    response.writeHead(204).end();
  });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const { port } = receiver.address() as AddressInfo;

let written = 0;
async function write(): Promise<void> {
  for (let i = 0; i < WRITES; i += TOGETHER) {
    const patches = Array.from({ length: TOGETHER }, () =>
      api("PATCH", `rooms/${room}/`, { sorting_priority: written++ }),
    );
    await Promise.all(patches);
  }
}

/** The cost of a write with hooks that want some types; none if there are no types. */
async function writing(types?: string[]): Promise<number> {
  const ids: string[] = [];
  for (let i = 0; types && i < HOOKS; i++) {
    const url = `http://127.0.0.1:${port}/${i}`;
    ids.push(
      (await api<{ id: string }>("POST", "webhooks/", { url, types })).id,
    );
  }
  // They are taken over, and fresh code is compiled.
  await sleep(1000);
  const cost = await costOf(server, write);
  for (const id of ids) await api("DELETE", `webhooks/${id}/`);
  return cost / WRITES;
}

await writing();
await compare(
  `a message to each of ${PEOPLE} followers, to that of as many websockets`,
  byStreams,
  bySockets,
);
await compare(
  `a PATCH with ${HOOKS} webhooks of other types, to that without`,
  () => writing(["file.added"]),
  () => writing(),
);

/** The whole cost of deliveries, until the last one is taken. */
const url = `http://127.0.0.1:${port}/all`;
await api("POST", "webhooks/", { url, types: ["room.*"] });
await sleep(1000);
taken = 0;
const alone = await costOf(server, write);
const whole = await costOf(server, async () => {
  while (taken < WRITES) await sleep(20);
});
say(
  `${WRITES} PATCHes with a webhook that takes them: ${(alone / WRITES).toFixed(0)} µs each while they come; the rest of the deliveries ${(whole / WRITES).toFixed(0)} µs each`,
);
speaker.leave();
receiver.close();
await server.stop();
process.exit(0);
