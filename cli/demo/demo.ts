import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { InvitationRecord } from "../../db/contract/invitation-store.js";
import type { Store } from "../../db/contract/store.js";
import { draftWorld } from "../../db/world-management.js";
import type { ChatCopy, EventCopy } from "../../schemas/documents/chat-history.js";
import type { PollCopy, QuestionCopy } from "../../schemas/documents/votes-copy.js";
import type { RoomRecord, UserCopy, WorldCopy } from "../../schemas/documents/world-document.js";
import { HOST_ROLE } from "../../schemas/plain/invitations.js";
import type { World } from "../../schemas/worlds.js";

// The demo world, which shows an event in progress to people who try Foyer.

/** The id of the demo world. */
export const DEMO = "sample";

/** The person that the link to the demo's console signs in, which `foyer serve --demo` prints. */
const DEMO_HOST = { uid: "demo-host", name: "Host", role: HOST_ROLE };

/** Returns the invitation of the demo's host, which the first start makes. */
export async function demoHost({ invitations }: Store): Promise<InvitationRecord> {
  const known = await invitations.byUser(DEMO, DEMO_HOST.uid);
  return known ?? (await invitations.create(DEMO, [DEMO_HOST]))[0]!;
}

/**
 * Creates the demo world in an empty store, in one write.
 * @param hasCalls whether the server has LiveKit. If so, the Hallway gets a call, and the Workshop
 * gets a stage.
 * @returns the demo world, or undefined if the store has only other worlds.
 */
export async function ensureDemo(store: Store, hasCalls = false): Promise<World | undefined> {
  const [any] = await store.worlds.list({ limit: 1 });
  if (any) return (await store.worlds.get(DEMO))?.value;
  return (await store.worlds.import(demoWorld(Date.now(), hasCalls))).world.value;
}

/** The names of the demo's fictional people. */
const NAMES = ["Mira", "Jonas", "Adaeze", "Tomás", "Yuki", "Leila", "Priya", "Sven"] as const;
type Name = (typeof NAMES)[number];

/**
 * Returns a simulated person's data for a token. Simulated people are not guests, because a guest
 * could take another guest's name.
 */
export const personOf = (name: string) => ({
  uid: `demo-${name.toLowerCase()}`,
  profile: { display_name: name },
  traits: name === "Mira" ? ["speaker"] : [],
});

/** The path of the main stage's stream. */
const STREAM = "/demo/stream.m3u8";

/**
 * Replaces the demo's stream path with a URL on this server, because pages on other origins cannot
 * use a path. An organizer's own stream is kept.
 * @param address the URL at which clients reach the server.
 */
export async function pointDemo(store: Store, address: string): Promise<void> {
  const url = address + STREAM;
  const rooms = await store.rooms.all(DEMO, { page: 1, pageSize: 100 });
  for (const { value: room, version } of rooms) {
    const module_config = room.module_config.map((module) => {
      const { hls_url, ...config } = (module["config"] ?? {}) as {
        hls_url?: unknown;
      };
      const isOurs = typeof hls_url === "string" && hls_url.endsWith(STREAM);
      return isOurs ? { ...module, config: { ...config, hls_url: url } } : module;
    });
    if (isDeepStrictEqual(module_config, room.module_config)) continue;
    await store.rooms.update(DEMO, room.id, { module_config }, [version]);
  }
}

type RoomDraft = Omit<RoomRecord, "id">;

const mainStage: RoomDraft = {
  name: "Main stage",
  description: "Where the *keynotes* are.",
  module_config: [
    { type: "livestream.native", config: { hls_url: STREAM } },
    { type: "chat.native", config: { volatile: true } },
    { type: "question", config: { active: true, requires_moderation: true } },
    { type: "poll", config: { active: true } },
  ],
  sorting_priority: 1,
};

const sideStage: RoomDraft = {
  name: "Side stage",
  description: "Shorter talks, and more of them.",
  module_config: [
    { type: "livestream.native", config: { hls_url: STREAM } },
    { type: "chat.native", config: { volatile: true } },
    { type: "question", config: { active: true, show_authors: true } },
  ],
  sorting_priority: 2,
};

const workshop: RoomDraft = {
  name: "Workshop",
  description: "Bring something to write with.",
  module_config: [
    { type: "chat.native", config: { volatile: false } },
    { type: "poll", config: { active: true } },
  ],
  sorting_priority: 3,
};

const helpDesk: RoomDraft = {
  name: "Help desk",
  description: "No picture, no sound? Ask here.",
  module_config: [{ type: "chat.native", config: { volatile: false } }],
  sorting_priority: 5,
};

const hallway: RoomDraft = {
  name: "Hallway",
  description: "Meet the others.",
  module_config: [{ type: "chat.native", config: { volatile: false } }],
  sorting_priority: 4,
};

const backstage: RoomDraft = {
  name: "Backstage",
  description: "For speakers and admins.",
  module_config: [{ type: "chat.native", config: { volatile: false } }],
  permission_config: { "room.view": [["speaker", "admin"]] },
  sorting_priority: 6,
};

/** Returns the call module of one of the demo's rooms, or an empty list if the room has no call. */
const callIn = (room: RoomDraft) =>
  room === hallway || room === workshop
    ? [{ type: "call.native", config: { mode: room === workshop ? "stage" : "call" } }]
    : [];

/** A message: its author, its age in minutes, and its reactions. */
type Said = [by: Name, minutes: number, text: string, reactions?: Record<string, Name[]>];

const inTheHallway: Said[] = [
  [
    "Mira",
    41,
    "Good morning! First time here. Is this where people meet between the talks?",
    { "👋": ["Jonas", "Adaeze", "Yuki"] },
  ],
  ["Jonas", 40, "It is. You have to bring your own coffee, though. ☕"],
  [
    "Adaeze",
    38,
    "I came for the talk about waiting lines. Mira, did you not ask about exactly that last week?",
  ],
  [
    "Mira",
    37,
    "I did! Our sign-up page gave up at 300 people, so I have a few questions.",
    { "😅": ["Jonas"] },
  ],
  [
    "Jonas",
    35,
    "Ask them at the **Main stage**. The speakers begin with what most people vote for.",
    { "👍": ["Mira", "Adaeze"] },
  ],
  ["Adaeze", 12, "Done. Vote for mine, please! 😄", { "❤️": ["Mira"] }],
];

const atTheStage: Said[] = [
  ["Yuki", 9, "Picture and sound are fine from here."],
  ["Leila", 8, "Here too. Hello from the back row!", { "👋": ["Yuki"] }],
];

const atTheSide: Said[] = [
  ["Priya", 6, "Is the boat talk recorded? I have to leave early."],
  ["Sven", 5, "Yes. The recording is in the program afterwards."],
];

const inTheWorkshop: Said[] = [
  ["Tomás", 15, "I have a date and about 80 guests. Is that too small?"],
  ["Mira", 14, "Not at all. We begin with 40.", { "🙏": ["Tomás"] }],
];

const atTheDesk: Said[] = [
  ["Sven", 22, "No sound at the Main stage?"],
  ["Leila", 21, "Browsers begin without it. Click on the picture once."],
  ["Sven", 20, "That was it, thank you!", { "👍": ["Leila"] }],
];

const behindTheStage: Said[] = [
  [
    "Mira",
    55,
    "Sound check is a quarter of an hour before each talk. Only speakers and admins see this room.",
  ],
];

/** A question: its author, its age in minutes, and its voters. */
type Asked = [by: Name, minutes: number, text: string, votes: Name[], more?: Partial<QuestionCopy>];

const questions: Asked[] = [
  ["Leila", 30, "Will the slides be online afterwards?", ["Sven", "Priya"], { answered: true }],
  [
    "Adaeze",
    14,
    "How do you keep a chat readable when a few hundred people write at once?",
    ["Mira", "Jonas", "Yuki", "Tomás", "Leila"],
  ],
  [
    "Mira",
    11,
    "What do you do first when far more people come than you planned for?",
    ["Adaeze", "Priya", "Sven"],
  ],
  ["Tomás", 4, "Could you show how you set up a poll?", [], { state: "mod_queue" }],
];

const poll: [option: string, voters: Name[]][] = [
  ["I organize events", ["Mira", "Adaeze", "Leila", "Priya"]],
  ["I build software", ["Jonas", "Tomás"]],
  ["I am only looking around", ["Yuki"]],
];

/**
 * Returns the demo world.
 * @param now in milliseconds since 1970.
 */
export function demoWorld(now: number, hasCalls = false): WorldCopy {
  const { config, ...world } = draftWorld({
    id: DEMO,
    title: "Foyer Open House",
    domain: "localhost",
  });
  const ids = new Map(NAMES.map((name) => [name, randomUUID()]));
  const idOf = (name: Name) => ids.get(name)!;
  const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
  const rooms = [mainStage, sideStage, workshop, hallway, helpDesk, backstage].map((room) => ({
    id: randomUUID(),
    ...room,
    module_config: [...(hasCalls ? callIn(room) : []), ...room.module_config!],
  }));
  const [stage, side, work, hall, desk, back] = rooms.map(({ id }) => id);

  const users = NAMES.map((name): UserCopy => {
    const { uid, profile, traits } = personOf(name);
    return { id: idOf(name), token_id: uid, client_id: null, profile, traits, last_seen: ago(2) };
  });

  const said: [room: string, said: Said[]][] = [
    [stage!, atTheStage],
    [side!, atTheSide],
    [work!, inTheWorkshop],
    [hall!, inTheHallway],
    [desk!, atTheDesk],
    [back!, behindTheStage],
  ];
  const events = said.flatMap(([channel, list]) =>
    list.map(([by, minutes, body, reactions = {}]): Omit<EventCopy, "id"> => {
      const reacted = Object.entries(reactions);
      return {
        channel,
        type: "channel.message",
        timestamp: ago(minutes),
        sender: idOf(by),
        content: { type: "text", body },
        reactions: Object.fromEntries(reacted.map(([emoji, names]) => [emoji, names.map(idOf)])),
      };
    }),
  );
  const chat: ChatCopy = {
    channels: said.map(([id, list]) => ({
      id,
      // Members of a volatile channel leave it when they disconnect.
      members:
        id === stage || id === side
          ? []
          : [...new Set(list.map(([by]) => by))].map((name) => ({ user: idOf(name) })),
    })),
    events: events.map((event, i) => ({ id: i + 1, ...event })),
  };

  const options = poll.map(([content], i) => ({ id: randomUUID(), content, order: i + 1 }));
  const openPoll: PollCopy = {
    id: randomUUID(),
    room: stage!,
    content: "What brings you here today?",
    state: "open",
    poll_type: "choice",
    timestamp: ago(20),
    options,
    ballots: poll.flatMap(([, voters], i) =>
      voters.map((name) => ({ options: [options[i]!.id], user: idOf(name) })),
    ),
  };

  return {
    world: {
      ...world,
      config: { ...config, timezone: timezoneAt(now), theme: { colors: { primary: "#0f766e" } } },
    },
    rooms,
    users,
    announcements: [
      {
        id: randomUUID(),
        text: "Welcome to the demo. Say hello in the Hallway, and vote at the Main stage.",
        show_until: null,
        state: "active",
      },
    ],
    questions: questions.map(([by, minutes, content, votes, more]): QuestionCopy => ({
      id: randomUUID(),
      room: stage!,
      content,
      state: "visible",
      timestamp: ago(minutes),
      sender: idOf(by),
      votes: votes.map(idOf),
      ...more,
    })),
    polls: [openPoll],
    chat,
  };
}

/**
 * Returns this machine's current time zone. The shortcut for UTC avoids loading the data of all
 * zones, which takes 6 MiB.
 */
const timezoneAt = (now: number): string =>
  new Date(now).getTimezoneOffset() === 0
    ? "UTC"
    : Intl.DateTimeFormat().resolvedOptions().timeZone;
