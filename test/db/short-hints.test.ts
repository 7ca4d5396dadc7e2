import { randomUUID } from "node:crypto";
import t from "tap";
import { messagesOf } from "../../db/bus/valkey/messages.js";
import { shortened } from "../../db/bus/valkey/short-hints.js";
import type { HintMessage } from "../../db/bus/bus.js";
import type { Delivery } from "../../db/contract/chat.js";
import { chatEntry, type Entry } from "../../db/log/entries.js";
import type { Author } from "../../db/contract/author.js";
import { hostileMessages } from "./hostile-messages.js";
import { SAMPLE_WORLD, sampleEntries } from "./sample-entries.js";

// The hints of chat events as they travel through Valkey.

const WORLD = randomUUID();

const bodyOf = (message: HintMessage) =>
  `[${JSON.stringify(shortened(message))}]`;

const messageOf = (world: string, entry: Entry): HintMessage => ({
  ...{ type: "hints", world },
  hints: [{ entry, previous: 2 ** 46 }],
});

/** What arrives of an entry. */
const arrived = (world: string, entry: Entry) =>
  messagesOf(
    { process: "p", kind: "messages", body: bodyOf(messageOf(world, entry)) },
    world,
  );

const delivery = (more: Partial<Delivery["event"]> = {}): Delivery => ({
  event: {
    ...{ id: 12_345, channel: randomUUID(), sender: randomUUID() },
    ...{ timestamp: 1_795_472_876_293, type: "channel.message" as const },
    content: JSON.stringify({ type: "text", body: "Hello, how are you?" }),
    ...{ edited: null, replaces: null, reactions: {}, ...more },
  },
  ...{ previous: 12_344, previousMessage: 12_340, notified: [], appeared: [] },
});

void t.test("each entry arrives as it was sent", (t) => {
  for (const entry of sampleEntries) {
    t.strictSame(
      arrived(SAMPLE_WORLD, entry),
      [messageOf(SAMPLE_WORLD, entry)],
      entry.type,
    );
  }
  t.end();
});

void t.test("so does each author and each field of an event", (t) => {
  const plain = delivery();
  const user = plain.event.sender!;
  const authors: Author[] = [
    { kind: "user", user },
    { kind: "user", user, connection: "c1" },
    { kind: "user", user: "u2", connection: "c1" },
    { kind: "user", user: "u2" },
    { kind: "api", user },
    { kind: "api", token: "0123" },
    { kind: "server" },
  ];
  const deliveries = [
    plain,
    delivery({ edited: 5, replaces: 7, reactions: { x: ["u1", "u2"] } }),
    { ...plain, notified: ["u1"], appeared: ["u2", "u3"] },
  ];
  for (const by of authors) {
    for (const one of deliveries) {
      const event = { ...one.event, sender: user };
      const entry = chatEntry(WORLD, 3, { ...one, event }, by);
      t.strictSame(arrived(WORLD, entry), [messageOf(WORLD, entry)]);
    }
  }
  const own = delivery({ sender: null });
  for (const by of authors) {
    const entry = chatEntry(WORLD, 3, own, by);
    t.strictSame(arrived(WORLD, entry), [messageOf(WORLD, entry)]);
  }
  t.end();
});

void t.test("a message takes fewer bytes than its entry", (t) => {
  const one = delivery();
  const by: Author = {
    ...{ kind: "user", user: one.event.sender!, connection: randomUUID() },
  };
  const message = messageOf(WORLD, chatEntry(WORLD, 2 ** 45, one, by));
  const { length } = bodyOf(message);
  t.comment(`${length} bytes instead of ${JSON.stringify(message).length}`);
  t.ok(length < 514, `${length} bytes`);
  t.end();
});

void t.test("what no process sends is left out", (t) => {
  const { event } = delivery();
  const good = { previous: 1, tag: 2, after: [0, 0], event };
  const faults: object[] = [
    ...[{ previous: null }, { previous: "1" }, { tag: {} }, { tag: -1 }],
    ...[{ by: null }, { by: "user" }, { by: [] }, { by: { kind: "god" } }],
    ...[{ by: { kind: "user", user: 1 } }, { by: { kind: "api", token: {} } }],
    ...[{ event: null }, { event: "x" }, { event: [] }, { event: 1 }],
    ...[{ event: { ...event, id: "1" } }, { event: { ...event, id: 0 } }],
    ...[
      { event: { ...event, channel: 1 } },
      { event: { ...event, type: "x" } },
    ],
    ...[
      { event: { ...event, content: "x" } },
      { event: { ...event, edited: "x" } },
    ],
    ...[
      { event: { ...event, reactions: [1] } },
      { after: null },
      { after: {} },
    ],
    ...[{ after: [1] }, { after: ["a", "b"] }, { notified: null }],
    ...[
      { notified: {} },
      { notified: [1] },
      { appeared: "x" },
      { appeared: [null] },
    ],
  ];
  const hints = (value: unknown) => ({
    type: "hints",
    world: WORLD,
    hints: value,
  });
  const received = (message: unknown) =>
    messagesOf(
      { process: "p", kind: "messages", body: JSON.stringify([message]) },
      WORLD,
    );
  t.equal(received(hints([good])).length, 1, "without a fault, it comes");
  const odd = [null, 1, "x", {}, [[]], { kind: "user" }];
  const messages = [
    ...faults.map((fault) => hints([{ ...good, ...fault }])),
    ...odd.map((value) => hints([value])),
    ...odd.map(hints),
    ...Object.values(hostileMessages),
    ...odd,
  ];
  for (const message of messages) {
    t.strictSame(received(message), [], JSON.stringify(message).slice(0, 200));
  }
  t.end();
});
