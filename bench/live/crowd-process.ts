import { Client, type ClientListener } from "./client.js";
import type { Arrivals, Joined, Request } from "./crowd.js";

// A process with a part of the crowd. It executes the orders of its parent, one at a time.

/** How often clients are opened, in milliseconds. */
const STEP = 5;

/** How long the last answers may take, in milliseconds. */
const LAST_ANSWER = 10_000;

const now = () => performance.timeOrigin + performance.now();

const clients: Client[] = [];
let port = 0;
let path = "";
/** The frames of each client, one after the answer to the other. */
let says: string[][] = [];
let said: Uint8Array = new Uint8Array();
let joinTimes: number[] = [];
let problem: string | undefined;

/** The awaited frames: how often a frame of a kind arrived at each client, and when. */
let kind = "";
let counts: Uint32Array = new Uint32Array();
let times: number[][] = [];
let arrived = 0;
let lastBytes = 0;
/** The frame that a client sends when a frame of this kind arrives. */
let next: string | undefined;

const listener: ClientListener = {
  frame({ index, begun }, name, bytes) {
    const hello = says[index]!;
    const at = said[index]!;
    if (at <= hello.length && isAnswer(name)) {
      said[index]!++;
      if (at < hello.length) clients[index]!.send(hello[at]!);
      else joinTimes.push(performance.now() - begun);
    }
    if (name === kind) {
      const nth = counts[index]!++;
      (times[nth] ??= []).push(now());
      arrived++;
      lastBytes = bytes;
      if (next !== undefined) clients[index]!.send(next);
    } else if (name.startsWith("error") || name.startsWith("close")) {
      problem ??= name;
    }
  },
  end(_, why) {
    problem ??= why;
  },
};

const isAnswer = (name: string): boolean =>
  name === "upgraded" || name === "authenticated" || name === "success";

/** Waits until something holds, or until the time is over. @returns whether it holds. */
async function until(
  holds: () => boolean,
  milliseconds: number,
): Promise<boolean> {
  const end = performance.now() + milliseconds;
  while (!holds() && !problem) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return !problem;
}

async function join(
  request: Extract<Request, { do: "join" }>,
): Promise<Joined> {
  ({ port, path, says } = request);
  said = new Uint8Array(says.length);
  joinTimes = [];
  const begun = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(
        says.length,
        Math.ceil(((performance.now() - begun) / 1000) * request.perSecond),
      );
      while (clients.length < due) {
        clients.push(new Client(clients.length, port, path, listener));
      }
      if (due < says.length) return;
      clearInterval(timer);
      resolve();
    }, STEP);
  });
  const opened = performance.now() - begun;
  const all = await until(() => joinTimes.length === says.length, 60_000);
  if (!all) {
    throw new Error(
      `${joinTimes.length} of ${says.length} have joined. ${problem ?? ""}`,
    );
  }
  return { times: joinTimes, opened };
}

function expect(name: string): void {
  kind = name;
  counts = new Uint32Array(clients.length);
  times = [];
  arrived = 0;
}

function say(text: string): void {
  for (const client of clients) client.send(text);
}

/** @returns answers a second. */
async function repeat(text: string, seconds: number): Promise<number> {
  expect(kind);
  next = text;
  const begun = performance.now();
  say(text);
  await until(() => false, seconds * 1000);
  next = undefined;
  const rate = (1000 * arrived) / (performance.now() - begun);
  // The last answers are still to come.
  const due = arrived + clients.length;
  await until(() => arrived >= due, LAST_ANSWER);
  if (problem) throw new Error(problem);
  return rate;
}

async function arrivals(count: number, wait: number): Promise<Arrivals> {
  await until(() => arrived >= count, wait);
  if (problem) throw new Error(problem);
  return { times, arrived, bytes: lastBytes, most: Math.max(...counts) };
}

async function carryOut(request: Request): Promise<unknown> {
  switch (request.do) {
    case "join":
      return join(request);
    case "expect":
      return expect(request.kind);
    case "say":
      return say(request.text);
    case "repeat":
      return repeat(request.text, request.seconds);
    case "arrivals":
      return arrivals(request.count, request.wait);
  }
}

process.on("message", (request: Request) => {
  carryOut(request).then(
    (result) => process.send!({ result }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.once("disconnect", () => process.exit());
