import { setTimeout } from "node:timers/promises";
import { messageIn, transactionsOf } from "./chat-scene.js";
import { quietWorks } from "./quiet-works.js";
import type { Stage } from "./stage.js";
import type { Hall } from "./hall.js";
import {
  besideEvents,
  both,
  type Kind,
  now,
  p95Of,
  ratio,
  since,
  type Work,
} from "./works.js";

/** Marks are written about a second after they were made. */
const WRITTEN = 3000;

/** A message to all subscribers. */
const message: Kind = {
  name: "chat.event",
  collects: 0,
  cause: async (stage) =>
    stage.foyer.director.ask(
      "chat.send",
      messageIn((await stage.chat()).channel),
    ),
};

/** The push about a message to each user who had read all earlier ones. */
const unread: Kind = { ...message, name: "chat.unread_pointers" };

/** Opens the scene of chat before the first measurement. */
const withChat = (work: Work): Work => ({
  ...work,
  async measure(stage, seconds, turned) {
    await stage.chat();
    return work.measure(stage, seconds, turned);
  },
});

/** Answers a second when all clients send a command at once, after an event. */
async function answersOf(
  { crowd }: Hall,
  kind: string,
  text: string,
): Promise<number> {
  await crowd.expect(kind);
  const begun = now();
  await crowd.say(text);
  const { times } = await crowd.arrivals(1);
  const last = times[0]!.reduce((a, b) => Math.max(a, b));
  return (1000 * crowd.size) / (last - begun);
}

/** Sends a message to all clients. @returns its id, when it has arrived. */
async function announce(stage: Stage): Promise<number> {
  const { crowd } = stage.foyer;
  await crowd.expect(message.name);
  const { event } = (await message.cause(stage)) as {
    event: { event_id: number };
  };
  await crowd.arrivals(1);
  return event.event_id;
}

/** All clients mark a message as read. */
async function markAll(stage: Stage): Promise<number> {
  const { channel } = await stage.chat();
  const id = await announce(stage);
  const text = JSON.stringify(["chat.mark_read", 1, { channel, id }]);
  return answersOf(stage.foyer, "success", text);
}

const all: Work[] = [
  besideEvents(message, 250),
  {
    name: "chat.unread_pointers, p95",
    of: `time from the command, after chat.event, ${since}`,
    goal: { atMost: 2.5 },
    async measure(stage, _, turned) {
      await markAll(stage);
      const [foyer, bare] = await both(stage, unread, 1, turned);
      return p95Of(foyer, foyer.sent) / p95Of(bare, bare.sent);
    },
  },
  {
    name: "1 chat message, unread by all, writes",
    of: "transactions, to messages",
    goal: { atMost: 2 },
    async measure(stage) {
      const { dataDir } = await stage.chat();
      await markAll(stage);
      await setTimeout(WRITTEN);
      const before = transactionsOf(dataDir);
      await announce(stage);
      await setTimeout(WRITTEN);
      return transactionsOf(dataDir) - before;
    },
  },
  {
    name: "chat.mark_read by everybody",
    of: "commands a second after a message to all, compared with ping",
    goal: { atLeast: 0.25 },
    async measure(stage, _, turned) {
      const ping = () => answersOf(stage.foyer, "pong", '["ping",1]');
      return ratio([() => markAll(stage), ping], turned);
    },
  },
  {
    name: "chat.mark_read by everybody, writes",
    of: "transactions until all marks are kept, to commands",
    goal: { atMost: 0.01 },
    async measure(stage) {
      const { dataDir } = await stage.chat();
      const before = transactionsOf(dataDir);
      await markAll(stage);
      await setTimeout(WRITTEN);
      return (transactionsOf(dataDir) - before) / stage.foyer.crowd.size;
    },
  },
];

/** All measurements of chat, in the order of the table. */
export const chatWorks: Work[] = [...all, ...quietWorks].map(withChat);
