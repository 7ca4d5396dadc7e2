import fc from "fast-check";
import { analyse } from "scslre";
import t from "tap";
import { callFaults } from "../../schemas/plain/calls.js";
import type { Test } from "tap";
import { readWorldDocument } from "../../schemas/documents/world-document.js";
import { commands } from "../../schemas/live/index.js";
import { compileValidator, findLosses, InvalidData } from "../../schemas/validate.js";
import { worldOf } from "../support/helper.js";
import { startServer } from "../support/server.js";

const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const timestamp = "2027-01-31T09:30:00.000Z";
const [ada, bob] = [id(1), id(2)];

/** Returns the document of a new world with two users and these rooms, as parsed from JSON. */
const documentOf = (rooms: string[], parts: object): unknown =>
  JSON.parse(
    JSON.stringify({
      format: "foyer.world",
      version: 1,
      world: worldOf("new"),
      rooms: rooms.map((id) => ({ id, name: "x" })),
      users: [ada, bob].map((id) => ({
        id,
        token_id: id,
        client_id: null,
        profile: null,
        traits: [],
        last_seen: timestamp,
      })),
      ...parts,
    }),
  );

/** Returns the faults in a world's document; empty if it is valid. */
function faultsOf(document: unknown): object {
  try {
    readWorldDocument(document);
    return {};
  } catch (error) {
    if (error instanceof InvalidData) return error.faults;
    throw error;
  }
}

/** A document that must be refused, and its faults. */
type Refusal = [name: string, document: unknown, faults: object];

function refuses(t: Test, cases: readonly Refusal[]): void {
  for (const [name, document, faults] of cases) {
    t.strictSame(faultsOf(document), faults, name);
  }
}

const first = "00000000-0000-4000-8000-000000000000";
const second = "00000000-0000-4000-8000-000000000001";
const good = {
  format: "foyer.world",
  version: 1,
  world: worldOf("new"),
  rooms: [{ id: first, name: "x" }] as unknown[],
};

const withWorld = (changes: object) => ({ ...good, world: { ...good.world, ...changes } });
const withRoom = (changes: object) => ({
  ...good,
  rooms: [...good.rooms, { id: first, name: "y", ...changes }],
});

const user = {
  id: first,
  token_id: "ada",
  client_id: null as string | null,
  profile: null,
  traits: [] as string[],
  last_seen: "2027-01-31T09:30:00.000Z",
};
const withUser = (changes: object) => ({
  ...good,
  users: [user, { ...user, id: second, ...changes }],
});
const announcement = { id: first, text: "x", show_until: null, state: "draft" };
const withAnnouncement = (changes: object) => ({
  ...good,
  announcements: [{ ...announcement, ...changes }],
});

/** Returns nested objects of the given depth. */
const deep = (levels: number): object => (levels === 0 ? {} : { x: deep(levels - 1) });

void t.test("what is read is what was written", async (t) => {
  const copy = readWorldDocument(good);
  t.same(copy, { world: good.world, rooms: good.rooms });
  const { JWT_secrets } = good.world.config;
  for (const document of [
    withWorld({ revision: 7 }),
    withRoom({ revision: 7, domain: "own.org" }),
    { ...good, rooms: [] },
    withWorld({ config: { JWT_secrets, x: deep(97) } }),
    withRoom({ module_config: [{ type: "x", x: deep(96) }] }),
    withRoom({ picture: null, import_id: "i", pretalx_id: 0, force_join: true }),
    withRoom({ schedule_data: { title: "T" }, picture: "/p.png" }),
    withUser({}),
    withUser({ token_id: null, client_id: "c", profile: { x: [1] } }),
    withUser({ moderation_state: "banned", client_state: { x: {} } }),
    withUser({ pretalx_id: "P", last_login: "2027-01-31T09:30:00Z" }),
    withUser({ pretalx_id: null, last_login: null, blocked: [first] }),
    withAnnouncement({}),
    withAnnouncement({ state: "active", show_until: user.last_seen }),
  ]) {
    t.doesNotThrow(() => readWorldDocument(document));
  }
});

void t.test("what is wrong is said in the words of the API", async (t) => {
  const required = ["This field is required."];
  const time = ["Must be a time like 2027-01-31T09:30:00.000Z."];
  const uuid = ["Must be a UUID in lower case."];
  const [text, object, textOrNull] = ["a string", "an object", "a string or null"].map((type) => [
    `Must be ${type}.`,
  ]);
  const named = (place: string, faults: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(faults).map(([name, fault]) => [place + name, fault]));
  const badExtras = { picture: 1, import_id: 1, pretalx_id: "1", force_join: 1, schedule_data: [] };
  const extraFaults = named("rooms.1.", {
    picture: textOrNull,
    import_id: textOrNull,
    pretalx_id: ["Must be a whole number."],
    force_join: ["Must be true or false."],
    schedule_data: ["Must be an object or null."],
  });
  const badUser = {
    id: "x",
    token_id: "",
    profile: [],
    traits: [1],
    last_seen: "2027-13-31T09:30:00Z",
    moderation_state: "gone",
    client_state: null,
    pretalx_id: 7,
    last_login: 0,
    blocked: ["x"],
    more: 1,
  };
  const userFaults = named("users.1.", {
    id: uuid,
    token_id: ["May not be empty."],
    profile: ["Must be an object or null."],
    "traits.0": text,
    last_seen: time,
    moderation_state: ["Must be one of silenced, banned."],
    client_state: object,
    pretalx_id: textOrNull,
    last_login: textOrNull,
    "blocked.0": uuid,
    more: ["Unknown field."],
  });
  const states = ["Must be one of draft, active, archived."];
  const announcementFaults = named("announcements.0.", {
    id: text,
    text,
    show_until: time,
    state: states,
  });
  const cases: Refusal[] = [
    ["a list", [good], { non_field_errors: ["Must be an object."] }],
    ["null", null, { non_field_errors: ["Must be an object."] }],
    [
      "an empty object",
      {},
      {
        format: required,
        version: required,
        world: ["Must be an object."],
        rooms: ["Must be a list."],
      },
    ],
    ["another format", { ...good, format: "x" }, { format: ["Must be one of foyer.world."] }],
    ["a version that is none", { ...good, version: "1" }, { version: ["Must be a whole number."] }],
    ["version 0", { ...good, version: 0 }, { version: ["Must be at least 1."] }],
    [
      "a newer version, whatever is in it",
      { format: "foyer.world", version: 2, more: 1 },
      { version: ["Must be at most 1: use a newer Foyer."] },
    ],
    ["an unknown field", { ...good, more: 1 }, { more: ["Unknown field."] }],
    ["an unknown field of the world", withWorld({ more: 1 }), { "world.more": ["Unknown field."] }],
    [
      "a bad domain",
      withWorld({ domain: "No" }),
      { "world.domain": ["Must be a host name in lower case, with an optional :port."] },
    ],
    [
      "a world without keys",
      withWorld({ config: { JWT_secrets: [] } }),
      { "world.config.JWT_secrets": ["May not be empty."] },
    ],
    [
      "a revision that is none",
      withWorld({ revision: 0 }),
      { "world.revision": ["Must be at least 1."] },
    ],
    ["a NUL", withRoom({ name: "\0" }), { "rooms.1.name": ["Must be free of NUL characters."] }],
    [
      "a bad module",
      withRoom({ module_config: [{}] }),
      { "rooms.1.module_config.0.type": required },
    ],
    [
      "a bad module for calls",
      withRoom({ module_config: [{ type: "call.native", config: { limit: 1 } }] }),
      {
        "rooms.1.module_config.0.config.limit": ["Must be a whole number from 2 to 3000."],
      },
    ],
    [
      "a room id that is none",
      withRoom({ id: "../x" }),
      { "rooms.1.id": ["Must be a UUID in lower case."] },
    ],
    ["a room that is none", { ...good, rooms: [1] }, { "rooms.0": ["Must be an object."] }],
    ["extras that are none", withRoom(badExtras), extraFaults],
    [
      "users that are no list",
      { ...good, users: null, announcements: {} },
      { users: ["Must be a list."], announcements: ["Must be a list."] },
    ],
    ["a user that is none", { ...good, users: [null] }, { "users.0": ["Must be an object."] }],
    [
      "a user without fields",
      { ...good, users: [{}] },
      Object.fromEntries(Object.keys(user).map((name) => [`users.0.${name}`, required])),
    ],
    ["a user of another kind", withUser(badUser), userFaults],
    ...[
      { token_id: null, client_id: null },
      { token_id: "a", client_id: "a" },
    ].map((names): [string, unknown, object] => [
      "a user with no name or two",
      withUser(names),
      { "users.1.token_id": ["Either this or client_id must be null."] },
    ]),
    [
      "a blocked user who is missing",
      withUser({ blocked: [first, "00000000-0000-4000-8000-000000000002"] }),
      { "users.1.blocked.1": ["Must be the id of a user of this document."] },
    ],
    [
      "an announcement that is none",
      withAnnouncement({ id: 1, text: null, show_until: "now", state: "x" }),
      announcementFaults,
    ],
    [
      "faults without end",
      { ...good, rooms: Array.from({ length: 1000 }, () => ({ name: "x" })) },
      Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`rooms.${i}.id`, required])),
    ],
    [
      "faults in several",
      { ...withRoom({ name: "" }), world: [], version: 0.5 },
      {
        version: ["Must be a whole number."],
        world: ["Must be an object."],
        "rooms.1.name": ["May not be empty."],
      },
    ],
  ];
  refuses(t, cases);
});

const [former, hall, direct, nobody] = [id(3), id(4), id(5), id(6)];

const main = {
  id: hall,
  members: [{ user: bob }, { user: ada }],
  readers: [{ user: ada, pointer: 0, listed: 99 }, { user: bob }],
  notifications: [{ user: ada, event: 2 }],
};
const pair = {
  id: direct,
  direct: [ada, former],
  members: [{ user: ada }, { user: former, hidden: true }],
};
const message = { type: "channel.message", timestamp, sender: ada };
const text = { ...message, channel: hall, content: { type: "text" } };
const events: object[] = [
  { ...text, id: 1, type: "channel.member", content: { membership: "join" } },
  { ...text, id: 2, content: undefined, reactions: { "👏": [bob, former] } },
  { ...text, id: 5, replaces: 2 },
  { ...text, id: 7, deleted: true, content: undefined },
  { ...message, id: 8, channel: direct, sender: former, content: {} },
];
const chat = { erased: [former], channels: [main, pair], events };

const withChat = (chat: unknown) => documentOf([hall], { chat });

const channels = (...channels: object[]) => ({
  ...chat,
  events: [],
  channels: channels.map((changes, i) => ({ ...[{ id: hall }, pair][i], ...changes })),
});
const event = (changes: object) => ({
  ...chat,
  events: [...events, { ...text, id: 9, ...changes }],
});

void t.test("chat that is consistent is read", async (t) => {
  const { chat: read } = readWorldDocument(withChat(chat));
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
    t.doesNotThrow(() => readWorldDocument(withChat(good)));
  }
});

void t.test("modules for calls", (t) => {
  const bbb = "call.bigbluebutton";
  const cases: [type: string, config: unknown, faults: string[]][] = [
    ["call.native", undefined, []],
    ["call.native", null, []],
    ["call.native", {}, []],
    ["call.native", { mode: "call", limit: 3000, video: true, other: [] }, []],
    ["call.native", { limit: 2 }, []],
    ...[1, 3001, 2.5, "5", null, Infinity, -0].map((limit): (typeof cases)[number] => [
      "call.native",
      { limit },
      ["config.limit"],
    ]),
    ["call.native", { mode: null }, ["config.mode"]],
    ["call.native", { screen: 1, video: "true" }, ["config.video", "config.screen"]],
    ["call.native", [], ["config"]],
    ["call.native", "x", ["config"]],
    [bbb, { record: true, voice_bridge: "12345", presentation: "https://x.example/1.pdf" }, []],
    [bbb, { voice_bridge: null, presentation: "", prefer_server: 5 }, []],
    [
      bbb,
      { voice_bridge: 12345, presentation: "javascript:1" },
      ["config.voice_bridge", "config.presentation"],
    ],
    [bbb, { presentation: "https://x.example/ y" }, ["config.presentation"]],
    [bbb, { bbb_disable_chat: null }, ["config.bbb_disable_chat"]],
    ["call.jitsi", { mode: 5 }, []],
    ["call.zoom", { limit: 1 }, []],
    ["constructor", { limit: 1 }, []],
  ];
  for (const [type, config, faults] of cases) {
    const found = Object.keys(callFaults([{ type: "chat.native" }, { type, config }]));
    const expected = faults.map((field) => `module_config.1.${field}`);
    t.same(found, expected, `${type} ${JSON.stringify(config)}`);
  }
  const both = [{ type: "call.native" }, { type: bbb }, { type: "call.jitsi" }];
  t.same(callFaults(both, "modules"), { modules: "May hold only one module for calls." });
  t.end();
});

void t.test("chat that contradicts itself is refused", async (t) => {
  const user = ["Must be the id of a user of this document."];
  const required = ["This field is required."];
  const replaced = ["Must be an earlier message of the channel."];
  const cases: [name: string, chat: unknown, faults: object][] = [
    ["a list", [], { chat: ["Must be an object."] }],
    ["an empty object", {}, { "chat.channels": required, "chat.events": required }],
    [
      "an erased user who is not",
      { ...chat, erased: [former, ada] },
      { "chat.erased.1": ["Must be no user."] },
    ],
    [
      "one who is erased twice",
      { ...chat, erased: [former, former] },
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
      { "chat.channels.0.id": ["Must be the id of a room unless it is direct."] },
    ],
    [
      "a direct channel with the id of a room",
      channels({ direct: [ada, bob] }),
      { "chat.channels.0.id": ["Must be the id of a room unless it is direct."] },
    ],
    [
      "a channel twice",
      channels({}, { id: hall, direct: undefined, members: [] }),
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
      { "chat.channels.1.direct": ["Must be 2 to 100 ids in ascending order."] },
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
      { ...chat, channels: [{ ...main, notifications: [{ user: ada, event: 8 }] }, pair] },
      { "chat.channels.0.notifications.0.event": ["Must be an event of the channel."] },
    ],
    [
      "a notification twice",
      channels({ notifications: [1, 1].map((event) => ({ user: ada, event })) }),
      { "chat.channels.0.notifications": ["May name each user and event only once."] },
    ],
    [
      "an id that comes too late",
      event({ id: 8 }),
      { "chat.events.5.id": ["Must be greater than the one before."] },
    ],
    [
      "an event of no channel",
      event({ channel: nobody }),
      { "chat.events.5.channel": ["Must be the id of a channel of this document."] },
    ],
    ["an event of an unknown user", event({ sender: nobody }), { "chat.events.5.sender": user }],
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
    cases.map(([name, bad, faults]) => [name, withChat(bad), faults]),
  );
});

const [stage, lounge, stranger] = [id(3), id(4), id(9)];
const [red, blue, noOption] = [id(21), id(22), id(23)];

const question = { id: id(11), room: stage, content: "Why?", state: "visible", timestamp };
const asked = {
  ...question,
  id: id(12),
  sender: ada,
  moderator: bob,
  answered: true,
  is_pinned: true,
  votes: [ada, bob, null, null],
};
const poll = {
  id: id(15),
  room: stage,
  content: "Which?",
  state: "closed",
  timestamp,
  poll_type: "choice",
  options: [
    { id: red, content: "red", order: -1 },
    { id: blue, content: "blue", order: 2 ** 31 - 1 },
  ],
  ballots: [
    { user: ada, options: [red] },
    // From before the poll's type changed.
    { user: bob, options: [blue, red] },
    { options: [red] },
    { options: [red] },
  ],
};
const frozen = { [red]: 4, [noOption]: 7 };

const withVotes = (parts: object) => documentOf([stage, lounge], parts);

void t.test("questions and polls are read", async (t) => {
  const parts = {
    questions: [question, asked],
    polls: [
      { ...poll, is_pinned: true, results: frozen },
      { ...poll, id: id(16), room: lounge, options: [], ballots: undefined },
    ],
  };
  const { questions, polls } = readWorldDocument(withVotes(parts));
  t.strictSame(
    { questions, polls: JSON.parse(JSON.stringify(polls)) as unknown },
    JSON.parse(JSON.stringify(parts)),
  );
  const pinned = { ...question, is_pinned: true };
  for (const good of [
    { questions: [], polls: [] },
    { questions: [pinned, { ...pinned, id: id(12), room: lounge }] },
    { questions: [{ ...question, content: "👏".repeat(2 ** 20) }] },
    { questions: [question], users: undefined },
    { polls: [{ ...poll, state: "archived", results: {} }] },
  ]) {
    t.doesNotThrow(() => readWorldDocument(withVotes(good)));
  }
});

const unknownUser = ["Must be the id of a user of this document."];
const unknownRoom = ["Must be the id of a room of this document."];
const unknownOption = ["Must be the id of an option of the poll."];
const onlyOnce = ["May occur only once."];
const pinnedTwice = ["May be true of only one in a room."];
const notFrozen = ["Only a closed or archived poll may have it."];
const noIds = ["The names in it must be ids of options."];

type Case = [name: string, entries: unknown, faults: object];

const questionCases: Case[] = [
  ["no list", {}, { questions: ["Must be a list."] }],
  ["null", [null], { "questions.0": ["Must be an object."] }],
  [
    "no question",
    [{ ...question, content: undefined, state: "open", score: 1 }],
    {
      "questions.0.content": ["This field is required."],
      "questions.0.state": ["Must be one of mod_queue, visible, archived."],
      "questions.0.score": ["Unknown field."],
    },
  ],
  [
    "an empty text",
    [{ ...question, content: "" }],
    { "questions.0.content": ["May not be empty."] },
  ],
  [
    "a text that is too long",
    [{ ...question, content: "x".repeat(2 ** 20 + 1) }],
    { "questions.0.content": ["Must be at most 1048576 characters."] },
  ],
  ["an unknown room", [{ ...question, room: stranger }], { "questions.0.room": unknownRoom }],
  ["an id twice", [question, question], { "questions.1.id": onlyOnce }],
  [
    "two that are pinned",
    [asked, { ...question, is_pinned: true }],
    { "questions.1.is_pinned": pinnedTwice },
  ],
  ...["sender", "moderator"].map((field): Case => [
    `an unknown ${field}`,
    [{ ...question, [field]: stranger }],
    { [`questions.0.${field}`]: unknownUser },
  ]),
  [
    "a vote of an unknown user",
    [{ ...question, votes: [null, stranger] }],
    { "questions.0.votes.1": unknownUser },
  ],
  [
    "a vote that is no id",
    [{ ...question, votes: [1] }],
    { "questions.0.votes.0": ["Must be a string or null."] },
  ],
  [
    "a user who votes twice",
    [{ ...question, votes: [ada, null, bob, ada] }],
    { "questions.0.votes.3": onlyOnce },
  ],
];

const many = Array.from({ length: 101 }, (_, i) => id(100 + i));
const ballots = (...ballots: object[]) => [{ ...poll, ballots }];

const pollCases: Case[] = [
  ["no list", "", { polls: ["Must be a list."] }],
  [
    "no poll",
    [{ ...poll, poll_type: undefined, state: "visible", changed: 1 }],
    {
      "polls.0.poll_type": ["This field is required."],
      "polls.0.state": ["Must be one of draft, open, closed, archived."],
      "polls.0.changed": ["Unknown field."],
    },
  ],
  [
    "an order that clients cannot send",
    [{ ...poll, options: [{ id: id(20), content: "x", order: 2 ** 31 }] }],
    { "polls.0.options.0.order": ["Must be at most 2147483647."] },
  ],
  ["an unknown room", [{ ...poll, room: stranger }], { "polls.0.room": unknownRoom }],
  ["an id twice", [poll, { ...poll, options: [], ballots: [] }], { "polls.1.id": onlyOnce }],
  [
    "two that are pinned",
    [14, 15].map((n) => ({ ...poll, id: id(n), is_pinned: true, options: [], ballots: [] })),
    { "polls.1.is_pinned": pinnedTwice },
  ],
  [
    "an option twice",
    [{ ...poll, options: [...poll.options, poll.options[0]] }],
    { "polls.0.options.2.id": onlyOnce },
  ],
  ["an option of two polls", [poll, { ...poll, id: id(16) }], { "polls.1.options.0.id": onlyOnce }],
  [
    "too many options",
    [{ ...poll, options: many.map((id, order) => ({ id, content: "x", order })) }],
    { "polls.0.options": ["May hold at most 100 entries."] },
  ],
  [
    "results of an open poll",
    [{ ...poll, state: "open", results: frozen }],
    { "polls.0.results": notFrozen },
  ],
  [
    "results of a draft",
    [{ ...poll, state: "draft", results: {} }],
    { "polls.0.results": notFrozen },
  ],
  ["a list as results", [{ ...poll, results: [] }], { "polls.0.results": ["Must be an object."] }],
  [
    "negative and broken results",
    [{ ...poll, results: { [red]: -1, [blue]: 0.5 } }],
    {
      [`polls.0.results.${red}`]: ["Must be at least 0."],
      [`polls.0.results.${blue}`]: ["Must be a whole number."],
    },
  ],
  ["results of no options", [{ ...poll, results: { red: 1 } }], { "polls.0.results": noIds }],
  [
    "too many results",
    [{ ...poll, results: Object.fromEntries(many.map((id) => [id, 1])) }],
    { "polls.0.results": ["May hold at most 100 entries."] },
  ],
  [
    "a ballot of an unknown user",
    ballots({ options: [red] }, { user: stranger, options: [red] }),
    { "polls.0.ballots.1.user": unknownUser },
  ],
  [
    "two ballots of a user",
    ballots({ user: ada, options: [red] }, { user: ada, options: [blue] }),
    { "polls.0.ballots.1.user": onlyOnce },
  ],
  [
    "an empty ballot",
    ballots({ user: ada, options: [] }),
    { "polls.0.ballots.0.options": ["May not be empty."] },
  ],
  [
    "a ballot for another option",
    ballots({ options: [red, noOption] }),
    { "polls.0.ballots.0.options.1": unknownOption },
  ],
  [
    "a ballot with an option twice",
    ballots({ options: [red, red] }),
    { "polls.0.ballots.0.options": ["May name each option only once."] },
  ],
];

for (const [part, cases] of Object.entries({ questions: questionCases, polls: pollCases })) {
  void t.test(`${part} that contradict themselves are refused`, async (t) => {
    refuses(
      t,
      cases.map(([name, entries, faults]) => [name, withVotes({ [part]: entries }), faults]),
    );
  });
}

void t.test("of many faults, the first are named", async (t) => {
  const questions = Array.from({ length: 1000 }, () => ({}));
  const polls = ballots(...questions.map(() => ({ user: stranger, options: [red] })));
  const faults = faultsOf(withVotes({ questions, polls }));
  t.equal(Object.keys(faults).length, 20);
});

/** Yields every `pattern` and every key of `patternProperties` in a document, with its location. */
function* patternsIn(value: unknown, path = ""): Generator<[string, string]> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const place = `${path}/${key}`;
    if (key === "pattern" && typeof inner === "string") yield [place, inner];
    if (key === "patternProperties") {
      for (const source of Object.keys(inner as object)) yield [place, source];
    }
    yield* patternsIn(inner, place);
  }
}

// The linter checks the patterns in code (.oxlintrc.jsonc).
void t.test("no pattern takes longer than linearly", async (t) => {
  const { app } = await startServer(t);
  // Validators are compiled from the components, whose keys can also be patterns.
  const { components } = await import("../../schemas/openapi/components.js");
  const found = [...patternsIn(app.openapi()), ...patternsIn(components, "/code")];
  t.ok(found.length > 10, `there are ${found.length}`);
  for (const [place, source] of found) {
    const { reports } = analyse(new RegExp(source, "u"), { reportTypes: { Move: false } });
    t.equal(reports.length, 0, `${place}: ${source}`);
  }
  const { reports } = analyse(/^(a+)+$/u);
  t.ok(reports.length > 0, "and one that can is found out");
});

// Otherwise, a faulty schema would only show on first use.
void t.test("the schema of every command can be compiled", async (t) => {
  for (const [name, { payload }] of Object.entries(commands)) {
    t.doesNotThrow(() => compileValidator(payload)({}), name);
  }
});

void t.test("whatever a program writes is accepted as it is", async (t) => {
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), number, (value, number) => {
      for (const text of [JSON.stringify(value), String(number), number.toExponential()]) {
        t.equal(findLosses(text), undefined);
      }
    }),
  );
});
