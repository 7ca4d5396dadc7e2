import { callersOf } from "../event.js";
import { processorTimeOf } from "../figures.js";
import { load } from "../load.js";
import {
  type ChatScene,
  FEW,
  LIVE_PATH,
  MANY,
  MEMBERS,
  messageIn,
  PAGE,
  SENDERS,
  transactionsOf,
} from "./chat-scene.js";
import { Crowd } from "./crowd.js";
import { JOINING } from "./stage.js";
import { ratio, type Work } from "./works.js";

// Measurements without subscribers: sending, pages, logins and subscriptions.

/** How many people join for the measurement of a join. */
const NEWCOMERS = 1000;

const draft = {
  name: "A new room",
  module_config: [{ type: "chat.native", config: { volatile: true } }],
};

/** The rate of an action, and its cost to the server. */
interface Pace {
  /** How often in a second. */
  rate: number;
  /** The processor time of each, in seconds. */
  cost: number;
}

/** Measures something that is done on the quiet server again and again. */
async function paceOf(
  { quiet }: ChatScene,
  seconds: number,
  repeat: () => Promise<number>,
): Promise<Pace> {
  const { pid } = quiet.server;
  const before = processorTimeOf(pid);
  const rate = await repeat();
  return { rate, cost: (processorTimeOf(pid) - before) / (rate * seconds) };
}

/** Messages that are acknowledged. */
async function sending(scene: ChatScene, seconds: number): Promise<Pace> {
  const { senders, desk } = scene;
  await senders.expect("success");
  const text = JSON.stringify(["chat.send", 1, messageIn(desk)]);
  return paceOf(scene, seconds, () => senders.repeat(text, seconds));
}

/** Rooms that as many clients create in an empty world. */
async function creating(scene: ChatScene, seconds: number): Promise<Pace> {
  const requests = callersOf("other").map((authorization) => ({
    method: "POST",
    path: "/api/v1/worlds/other/rooms/",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(draft),
  }));
  const asked = { requests, connections: SENDERS, seconds };
  return paceOf(scene, seconds, async () => {
    return (await load(scene.quiet.server.port, asked)).rate;
  });
}

const sends = (
  name: string,
  figure: keyof Pace,
  of: string,
  goal: Work["goal"],
): Work => ({
  name: `chat.send, ${SENDERS} people${name}`,
  of: `${of}, compared with as many clients that create rooms by POST`,
  goal,
  async measure(stage, seconds, turned) {
    const scene = await stage.chat();
    const sides = [sending, creating].map(
      (act) => async () => (await act(scene, seconds))[figure],
    ) as [() => Promise<number>, () => Promise<number>];
    return ratio(sides, turned);
  },
});

/** The cost of a page to the server: the last one, or the first one. */
async function fetchCost(
  scene: ChatScene,
  size: "few" | "many",
  isEarly: boolean,
  seconds: number,
): Promise<number> {
  const { senders, few, many } = scene;
  const { channel, early } = size === "few" ? few : many;
  const before_id = isEarly ? early : Number.MAX_SAFE_INTEGER;
  await senders.expect("success");
  const payload = { channel, count: PAGE, before_id };
  const text = JSON.stringify(["chat.fetch", 1, payload]);
  const repeat = () => senders.repeat(text, seconds);
  return (await paceOf(scene, seconds, repeat)).cost;
}

const fetches = (name: string, isEarly: boolean): Work => ({
  name: `chat.fetch, ${name}`,
  of: `processor time with ${MANY.toLocaleString("en")} events, to that with ${FEW}`,
  goal: { atMost: 1.25 },
  async measure(stage, seconds, turned) {
    const scene = await stage.chat();
    const cost = (size: "few" | "many") => () =>
      fetchCost(scene, size, isEarly, seconds);
    return ratio([cost("many"), cost("few")], turned);
  },
});

/** The steps of a newcomer. Newcomers come one after the other. */
type Step = "login" | "room.enter" | "chat.subscribe" | "chat.subscribe club";

/** The server's processor time for each step, in seconds. */
async function costsOf(
  { quiet, hall, club }: ChatScene,
  steps: Step[],
): Promise<Map<Step, number>> {
  const { server } = quiet;
  const logins = callersOf("bench", {
    count: NEWCOMERS,
    roles: ["attendee"],
  }).map((header) => [
    JSON.stringify(["authenticate", { token: header.split(" ")[1] }]),
  ]);
  const commands: Record<Step, string> = {
    login: "",
    "room.enter": JSON.stringify(["room.enter", 1, { room: hall }]),
    "chat.subscribe": JSON.stringify(["chat.subscribe", 1, { channel: hall }]),
    "chat.subscribe club": JSON.stringify([
      ...["chat.subscribe", 1],
      { channel: club },
    ]),
  };
  const costs = new Map<Step, number>();
  const used = () => processorTimeOf(server.pid);
  let before = used();
  const { crowd } = await Crowd.join(server.port, LIVE_PATH, logins, JOINING);
  costs.set("login", used() - before);
  for (const step of steps.filter((step) => step !== "login")) {
    before = used();
    await crowd.expect("success");
    await crowd.say(commands[step]);
    const { arrived } = await crowd.arrivals(1);
    if (arrived < NEWCOMERS) throw new Error(`${step}: ${arrived} answers`);
    costs.set(step, used() - before);
  }
  await crowd.leave();
  return costs;
}

const joins = (name: string, step: Step, goal: Work["goal"]): Work => ({
  name: `${name}, cost`,
  of: "processor time, compared with room.enter",
  goal,
  async measure(stage, _, turned) {
    const steps: Step[] = ["room.enter", step];
    const ordered = turned ? steps.toReversed() : steps;
    const costs = await costsOf(await stage.chat(), ordered);
    return costs.get(step)! / costs.get("room.enter")!;
  },
});

/** All measurements without a crowd, in the order of the table. */
export const quietWorks: Work[] = [
  sends("", "rate", "messages a second", { atLeast: 1 }),
  sends(", cost", "cost", "processor time of one", { atMost: 1 }),
  {
    name: `chat.send, ${SENDERS} people, together`,
    of: "messages, to the transactions that they took",
    goal: { atLeast: 4 },
    async measure(stage, seconds) {
      const scene = await stage.chat();
      const { dataDir } = scene.quiet;
      const before = transactionsOf(dataDir);
      const { rate } = await sending(scene, seconds);
      return (rate * seconds) / (transactionsOf(dataDir) - before);
    },
  },
  fetches("the last page", false),
  fetches("the first page", true),
  joins("login", "login", { atMost: 30 }),
  joins("chat.subscribe", "chat.subscribe", { atMost: 1.25 }),
  joins(`chat.subscribe, ${MEMBERS} members`, "chat.subscribe club", {
    atMost: 10,
  }),
];
