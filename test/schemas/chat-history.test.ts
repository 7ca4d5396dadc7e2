import t from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { ada, bob, documentOf, id, refuses, timestamp } from "./refusals.js";

const [gone, room, direct, nobody] = [id(3), id(4), id(5), id(6)];

const main = {
  id: room,
  members: [{ user: bob }, { user: ada }],
  readers: [{ user: ada, pointer: 0, listed: 99 }, { user: bob }],
  notifications: [{ user: ada, event: 2 }],
};
const pair = {
  id: direct,
  direct: [ada, gone],
  members: [{ user: ada }, { user: gone, hidden: true }],
};
const message = { type: "channel.message", timestamp, sender: ada };
const text = { ...message, channel: room, content: { type: "text" } };
const events: object[] = [
  { ...text, id: 1, type: "channel.member", content: { membership: "join" } },
  { ...text, id: 2, content: undefined, reactions: { "👏": [bob, gone] } },
  { ...text, id: 5, replaces: 2 },
  { ...text, id: 7, deleted: true, content: undefined },
  { ...message, id: 8, channel: direct, sender: gone, content: {} },
];
const chat = { erased: [gone], channels: [main, pair], events };

const documentWith = (chat: unknown) => documentOf([room], { chat });

const channels = (...channels: object[]) => ({
  ...chat,
  events: [],
  channels: channels.map((changes, i) => ({
    ...[{ id: room }, pair][i],
    ...changes,
  })),
});
const event = (changes: object) => ({
  ...chat,
  events: [...events, { ...text, id: 9, ...changes }],
});

void t.test("chat that is consistent is read", async (t) => {
  const { chat: read } = readWorldDocument(documentWith(chat));
  t.strictSame(JSON.parse(JSON.stringify(read)), {
    ...(JSON.parse(JSON.stringify(chat)) as object),
  });
  for (const good of [
    { channels: [], events: [] },
    event({ sender: undefined, type: "channel.poll" }),
    event({ replaces: 2, content: undefined }),
    event({ replaces: 2, deleted: true }),
    event({ content: { type: "text", body: "x".repeat(65_000) } }),
  ]) {
    t.doesNotThrow(() => readWorldDocument(documentWith(good)));
  }
});

void t.test("chat that contradicts itself is refused", async (t) => {
  const user = ["Must be the id of a user of this document."];
  const required = ["This field is required."];
  const replaced = ["Must be an earlier message of the channel."];
  const cases: [name: string, chat: unknown, faults: object][] = [
    ["a list", [], { chat: ["Must be an object."] }],
    [
      "an empty object",
      {},
      { "chat.channels": required, "chat.events": required },
    ],
    [
      "an erased user who is not",
      { ...chat, erased: [gone, ada] },
      { "chat.erased.1": ["Must be no user."] },
    ],
    [
      "one who is erased twice",
      { ...chat, erased: [gone, gone] },
      { "chat.erased.1": ["Must be no user."] },
    ],
    [
      "a channel that is none",
      { ...chat, channels: [1], events: [] },
      { "chat.channels.0": ["Must be an object."] },
    ],
    [
      "a channel without a room",
      channels({ id: nobody }),
      {
        "chat.channels.0.id": ["Must be the id of a room unless it is direct."],
      },
    ],
    [
      "a direct channel with the id of a room",
      channels({ direct: [ada, bob] }),
      {
        "chat.channels.0.id": ["Must be the id of a room unless it is direct."],
      },
    ],
    [
      "a channel twice",
      channels({}, { id: room, direct: undefined, members: [] }),
      { "chat.channels.1.id": ["May occur only once."] },
    ],
    [
      "a set of users twice",
      { ...chat, events: [], channels: [pair, { ...pair, id: nobody }] },
      { "chat.channels.1.direct": ["May occur only once."] },
    ],
    ...[[ada], [bob, ada], [ada, ada]].map((users): (typeof cases)[number] => [
      `a direct channel of ${users.length} in this order`,
      channels({}, { direct: users, members: [] }),
      {
        "chat.channels.1.direct": ["Must be 2 to 100 ids in ascending order."],
      },
    ]),
    [
      "a member who is no user",
      channels({ members: [{ user: nobody }] }),
      { "chat.channels.0.members.0": user },
    ],
    [
      "a member who is not meant",
      channels({}, { members: [{ user: bob }] }),
      { "chat.channels.1.members.0": user },
    ],
    [
      "a direct channel with an unknown user",
      channels({}, { direct: [ada, nobody], members: [] }),
      { "chat.channels.1.direct.1": user },
    ],
    [
      "a reader twice",
      channels({ readers: [{ user: ada }, { user: ada }] }),
      { "chat.channels.0.readers": ["May name each user only once."] },
    ],
    [
      "a notification of an unknown user",
      channels({ notifications: [{ user: nobody, event: 1 }] }),
      { "chat.channels.0.notifications.0": user },
    ],
    [
      "a notification of another channel",
      {
        ...chat,
        channels: [{ ...main, notifications: [{ user: ada, event: 8 }] }, pair],
      },
      {
        "chat.channels.0.notifications.0.event": [
          "Must be an event of the channel.",
        ],
      },
    ],
    [
      "a notification twice",
      channels({
        notifications: [1, 1].map((event) => ({ user: ada, event })),
      }),
      {
        "chat.channels.0.notifications": [
          "May name each user and event only once.",
        ],
      },
    ],
    [
      "an id that comes too late",
      event({ id: 8 }),
      { "chat.events.5.id": ["Must be greater than the one before."] },
    ],
    [
      "an event of no channel",
      event({ channel: nobody }),
      {
        "chat.events.5.channel": [
          "Must be the id of a channel of this document.",
        ],
      },
    ],
    [
      "an event of an unknown user",
      event({ sender: nobody }),
      { "chat.events.5.sender": user },
    ],
    [
      "an event without content",
      event({ content: undefined }),
      { "chat.events.5.content": required },
    ],
    [
      "content that is too long",
      event({ content: { body: "x".repeat(65_536) } }),
      { "chat.events.5.content": ["May have at most 65536 characters."] },
    ],
    ...[3, 9, 1, 5, 8].map((replaces): (typeof cases)[number] => [
      `an edit of ${replaces}`,
      event({ replaces }),
      { "chat.events.5.replaces": replaced },
    ]),
    [
      "an edit that is no message",
      event({ replaces: 2, type: "channel.member" }),
      { "chat.events.5.replaces": replaced },
    ],
    [
      "a reaction of an unknown user",
      event({ reactions: { x: [nobody] } }),
      { "chat.events.5.reactions.x": user },
    ],
    [
      "a reaction twice",
      event({ reactions: { x: [ada, ada] } }),
      { "chat.events.5.reactions.x": user },
    ],
    [
      "an event with an unknown field",
      event({ gone: true }),
      { "chat.events.5.gone": ["Unknown field."] },
    ],
  ];
  refuses(
    t,
    cases.map(([name, bad, faults]) => [name, documentWith(bad), faults]),
  );
});
