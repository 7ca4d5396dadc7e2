import type { Session } from "../../../../schemas/program/program.js";
import type { Random } from "../random.js";
import type { Answer, Client } from "./client.js";
import type { House } from "./house.js";

// Helpers that pick targets from what a client knows.

const pick = <T>(random: Random, from: readonly T[]): T | undefined =>
  from.length > 0 ? random.pick(from) : undefined;

const roomOf = ({ state }: Client, random: Random): string | undefined =>
  pick(random, state?.rooms ?? [])?.id;

/** Picks a channel that the client listens to, or any room. */
function channelOf(client: Client, random: Random): string | undefined {
  const listening = [...client.channels.listening.keys()];
  return random.chance(0.8) ? pick(random, listening) : roomOf(client, random);
}

/** Picks one of the last events that the client received. */
function eventOf(client: Client, channel: string, random: Random) {
  const { events = [] } = client.channels.listening.get(channel) ?? {};
  return pick(random, events.slice(-5));
}

/** Picks a question or poll in a room that the client has entered. */
function itemOf(
  client: Client,
  kind: "questions" | "polls",
  random: Random,
): { room: string; id: string; options: string[] } | undefined {
  const found = [...client.lists.rooms].flatMap(([room, lists]) =>
    (lists[kind].items ?? []).map((item) => ({
      room,
      id: item.id,
      options: ((item as { options?: { id: string }[] }).options ?? []).map(({ id }) => id),
    })),
  );
  return pick(random, found);
}

/** Picks the id of another user. */
function otherOf({ userId }: Client, random: Random, house: House) {
  const users = [...house.database.present.users.keys()];
  return pick(
    random,
    users.filter((id) => id !== userId),
  );
}

const text = (body: string) => ({ type: "text", body });

// The actions of people. Each action draws from its own random numbers, so that it does the same
// when others are left out.

type Act = (client: Client, random: Random, house: House) => void;

const ROOM_RULES: object[] = [
  {},
  {},
  { "room.view": ["staff"] },
  { "chat.read": ["staff"], "room.viewers": ["admin"] },
  { "chat.read": [["staff", "mod"]], "poll.read": ["staff"] },
  { "question.read": ["mod"], "room.viewers": ["admin"] },
  { "chat.send": ["mod"], "poll.results": ["staff"] },
  { "room.viewers": ["admin"] },
];

const WORLD_RULES: object[] = [
  {},
  {},
  { "room.view": [["admin", "mod"]] },
  { "question.read": ["staff"], "poll.manage": ["staff"] },
  { "world.view": [["admin", "mod", "staff"]] },
  { "room.viewers": ["admin"] },
];

export const actions = {
  send(client, random, house) {
    const channel = channelOf(client, random);
    const body = house.secret("m");
    const mentioned = random.chance(0.2) && otherOf(client, random, house);
    const content = text(mentioned ? `${body} @${mentioned}` : body);
    if (channel === undefined) return;
    const event_type = "channel.message";
    void client.call("chat.send", { channel, event_type, content });
  },
  edit(client, random, house) {
    const channel = channelOf(client, random);
    const replaces = channel && eventOf(client, channel, random);
    if (!replaces) return;
    const event_type = "channel.message";
    const content = random.chance(0.4) ? { type: "deleted" } : text(house.secret("m"));
    void client.call("chat.send", { channel, event_type, content, replaces });
  },
  react(client, random) {
    const channel = channelOf(client, random);
    const event = channel && eventOf(client, channel, random);
    if (!event) return;
    const [reaction, remove] = ["👍", random.chance(0.3)];
    void client.call("chat.react", { channel, event, reaction, delete: remove });
  },
  fetch(client, random) {
    const channel = channelOf(client, random);
    const page = { channel, count: 20, before_id: 2 ** 50 };
    if (channel) void client.call("chat.fetch", page);
  },
  join(client, random) {
    const channel = roomOf(client, random);
    const name = random.pick(["chat.join", "chat.join", "chat.leave"]);
    if (channel) void client.call(name, { channel });
  },
  subscribe(client, random) {
    const channel = channelOf(client, random);
    const event = channel && eventOf(client, channel, random);
    if (!channel) return;
    if (random.chance(0.3)) void client.call("chat.unsubscribe", { channel });
    const after = random.chance(0.5) && event ? { after: event } : {};
    void client.call("chat.subscribe", { channel, ...after });
  },
  enter(client, random) {
    const room = roomOf(client, random);
    const name = random.pick(["room.enter", "room.enter", "room.leave"]);
    if (room && !client.hasOneRoom) void client.call(name, { room });
  },
  direct(client, random, house) {
    const other = otherOf(client, random, house);
    const body = house.secret("m");
    if (!other) return;
    const payload = { users: [other], hide: random.chance(0.5) };
    void client.call("chat.direct.create", payload).then(({ result }) => {
      const { id: channel } = (result ?? {}) as { id?: string };
      if (channel === undefined) return;
      const event_type = "channel.message";
      const content = text(body);
      void client.call("chat.send", { channel, event_type, content });
    });
  },
  leaveDirect(client, random) {
    const direct = client.state?.channels.filter(({ members }) => members);
    const channel = pick(random, direct ?? [])?.id;
    if (channel) void client.call("chat.leave", { channel });
  },
  mark(client, random) {
    const channel = channelOf(client, random);
    const id = channel && eventOf(client, channel, random);
    if (id) void client.call("chat.mark_read", { channel, id });
  },
  ask(client, random, house) {
    const room = roomOf(client, random);
    const content = house.secret("q");
    if (room) void client.call("question.ask", { room, content });
  },
  vote(client, random) {
    const kind = random.pick(["questions", "polls"] as const);
    const item = itemOf(client, kind, random);
    if (!item) return;
    const { room, id } = item;
    const look = ({ error }: Answer) => {
      if (error === "server.doubtful") client.lists.ask(room);
    };
    if (kind === "questions") {
      const vote = random.chance(0.7);
      void client.call("question.vote", { room, id, vote }).then(look);
    } else {
      const options = random.chance(0.7) ? [random.pick(item.options)] : [];
      void client.call("poll.vote", { room, id, options }).then(look);
    }
  },
  moderate(client, random, house) {
    const item = itemOf(client, "questions", random);
    const content = house.secret("q");
    if (!item) return;
    const { room, id } = item;
    const state = random.pick(["visible", "visible", "archived", "mod_queue"]);
    const change = {
      ...(random.chance(0.6) && { state }),
      ...(random.chance(0.3) && { content }),
      ...(random.chance(0.3) && { is_pinned: random.chance(0.5) }),
      ...(random.chance(0.3) && { answered: random.chance(0.5) }),
    };
    const kind = random.next();
    if (kind < 0.6) void client.call("question.update", { room, id, ...change });
    else if (kind < 0.75) void client.call("question.pin", { room, id });
    else if (kind < 0.85) void client.call("question.unpin", { room });
    else void client.call("question.delete", { room, id });
  },
  poll(client, random, house) {
    const item = itemOf(client, "polls", random);
    const room = roomOf(client, random);
    const content = house.secret("p");
    const options = [1, 2].map(() => ({ content: house.secret("p") }));
    const state = random.pick(["draft", "open", "open", "closed", "archived"]);
    if (!item || random.chance(0.3)) {
      const poll = { room, content, options, state, poll_type: "choice" };
      if (room) void client.call("poll.create", poll);
      return;
    }
    const named = { room: item.room, id: item.id };
    const change = { ...(random.chance(0.7) && { state }), ...(random.chance(0.3) && { content }) };
    const kind = random.next();
    if (kind < 0.6) void client.call("poll.update", { ...named, ...change });
    else if (kind < 0.8) void client.call("poll.pin", named);
    else if (kind < 0.9) void client.call("poll.unpin", { room: item.room });
    else void client.call("poll.delete", named);
  },
  announce(client, random, house) {
    const announcements = [...house.database.present.announcements.keys()];
    const id = pick(random, announcements);
    const content = house.secret("a");
    const state = random.pick(["draft", "active", "archived"]);
    const ends = new Date(client.date + random.between(500, 9_000));
    const show_until = random.chance(0.3) ? ends.toISOString() : null;
    if (!id || random.chance(0.4)) {
      const made = { text: content, state, show_until };
      void client.call("announcement.create", made);
      return;
    }
    const change = {
      ...(random.chance(0.6) && { state }),
      ...(random.chance(0.5) && { text: content }),
      ...(random.chance(0.3) && { show_until }),
    };
    void client.call("announcement.update", { id, ...change });
  },
  rules(client, random, house) {
    const room = roomOf(client, random);
    const trait_grants = random.pick(ROOM_RULES);
    const name = house.secret("r");
    const patch = {
      room,
      ...(random.chance(0.8) && { trait_grants }),
      ...(random.chance(0.2) && { name }),
    };
    if (room) void client.call("room.config.patch", patch);
  },
  rooms(client, random, house) {
    const room = roomOf(client, random);
    const name = house.secret("r");
    const kind = random.next();
    if (kind < 0.4) {
      const modules = [{ type: "chat.native", config: {} }];
      void client.call("room.create", { name, modules });
    } else if (kind < 0.6) {
      if (room) void client.call("room.delete", { room });
    } else if (kind < 0.8) {
      const schedule_data = random.chance(0.5) ? { title: "Talk" } : null;
      if (room) void client.call("room.schedule", { room, schedule_data });
    } else if (room) void client.call("room.config.reorder", [room]);
  },
  people(client, random, house) {
    const id = otherOf(client, random, house);
    const name = random.pick([
      "user.ban",
      "user.silence",
      "user.silence",
      "user.reactivate",
      "user.reactivate",
      "user.block",
      "user.unblock",
    ]);
    if (id) void client.call(name, { id });
  },
  profile(client, random) {
    const profile = { display_name: `Name ${random.below(100)}` };
    void client.call("user.update", { profile });
  },
  /** Acts like a command running next to the servers: no process notifies the others. */
  command(_, random, house) {
    const { database, world } = house;
    const { store, present } = database;
    const { rooms, users } = present;
    const by = { kind: "command" } as const;
    const room = pick(random, [...rooms.keys()]);
    const user = pick(random, [...users.keys()]);
    const kind = random.next();
    if (kind < 0.4 && room) {
      const permission_config = random.pick(ROOM_RULES) as never;
      void store.rooms.update(world, room, { permission_config }, undefined, by);
    } else if (kind < 0.7 && user) {
      const state = random.pick(["", "", "silenced", "banned"] as const);
      void store.users.moderate(world, user, state, by);
    } else {
      const row = present.worlds.get(world)!;
      const before = JSON.parse(row.permission_config) as object;
      const others = Object.entries(before).filter(
        ([key]) => !WORLD_RULES.some((rules) => key in rules),
      );
      const permission_config = { ...Object.fromEntries(others), ...random.pick(WORLD_RULES) };
      void store.worlds.update(world, { permission_config }, undefined, by);
    }
  },
} satisfies Record<string, Act>;

export type Action = keyof typeof actions;

/** The relative frequency of each action. */
const WEIGHTS: Record<Action, number> = {
  send: 30,
  edit: 8,
  react: 4,
  fetch: 3,
  join: 6,
  subscribe: 6,
  enter: 10,
  direct: 5,
  leaveDirect: 2,
  mark: 3,
  ask: 8,
  vote: 12,
  moderate: 12,
  poll: 14,
  announce: 8,
  rules: 9,
  rooms: 4,
  people: 6,
  profile: 2,
  command: 4,
};

const CHOICES = Object.entries(WEIGHTS).flatMap(([action, weight]) =>
  Array.from({ length: weight }, () => action as Action),
);

export const actionOf = (random: Random): Action => random.pick(CHOICES);

/** Actions that require special rights. */
export const PRIVILEGED: ReadonlySet<Action> = new Set<Action>([
  "moderate",
  "poll",
  "announce",
  "rules",
  "rooms",
  "people",
]);

/** Changes the program, like a command running next to the servers. */
export async function changeProgram(house: House, random: Random): Promise<void> {
  const { database, world } = house;
  const { program } = database.store;
  const by = { kind: "command" } as const;
  const sessions = (await program.get(world)).sessions.map(({ value }) => value);
  const old = random.chance(0.6) ? pick(random, sessions) : undefined;
  if (old && random.chance(0.2)) return program.deleteSession(world, old.id, undefined, by);
  const start = Date.now() + random.between(-3_000, 4_000);
  const end = start + random.between(300, 5_000);
  const times = {
    starts_at: new Date(start).toISOString(),
    ends_at: new Date(end).toISOString(),
  };
  const room = pick(random, [...database.present.rooms.keys()]) ?? null;
  const changes: Partial<Session> = {
    ...((!old || random.chance(0.5)) && times),
    ...((!old || random.chance(0.5)) && { room_id: room }),
    state: random.pick(["public", "public", "public", "draft"] as const),
  };
  if (old) await program.updateSession(world, old.id, changes, undefined, by);
  else await program.createSession(world, { title: "Talk", ...changes }, by);
}
