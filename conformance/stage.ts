import type { PermissionConfig } from "../schemas/plain/permissions.js";
import { otherNames, partOf, type Person, type Role, traitsOf } from "./cast.js";
import type { Client, Json } from "./client.js";
import { ADMINISTRATOR, type RowWorld, type Server, sign } from "./server.js";

/** Marks profiles, names and other text that some audiences must not see. */
export const SECRET = "conformance-secret";

/**
 * Prefix of the room names and world titles that rows create, so that people recognize the suite's
 * rooms and worlds.
 */
export const NAME = "Conformance";

/** The test room's modules. */
export const MODULES = [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native", config: {} },
  {
    type: "question",
    config: { active: true, requires_moderation: true, anonymous: true, show_authors: true },
  },
  { type: "poll", config: { active: true } },
  { type: "call.native", config: { mode: "stage" } },
];

/** The test room's rules. */
export const ROOM_RULES = { "room.view": ["inside"], "chat.moderate": [["moderator", "admin"]] };

/** Overrides for a question, which is visible by default. */
export interface QuestionChanges {
  state?: "mod_queue" | "visible";
  content?: string;
  is_pinned?: boolean;
}

/** Overrides for a poll, which is open and has two options by default. */
export interface PollChanges {
  state?: "draft" | "open";
  content?: string;
}

/** Overrides for an announcement, which is visible by default. */
export interface AnnouncementChanges {
  state?: "draft" | "active";
  /** Time at which the announcement is hidden, in milliseconds since 1970. */
  show_until?: number;
}

/** The world fields that rows change. */
export interface WorldChanges {
  title?: string;
  permission_config?: PermissionConfig;
  config?: object;
}

/** Lifetime of objects that expire, in milliseconds. */
const VISIBLE = 4000;

/** All audiences that are users of the world. */
const people = ["me", ...otherNames].filter(
  (name) => name !== "foreigner" && name !== "stranger",
) as Person[];

/** A user of the world. The administrator prepares rows but is not an audience. */
type User = Person | "administrator";

/**
 * One row's world, with its contents and users. Rows use these methods to prepare and change the
 * world. Each method sends requests, or sends commands as the named user.
 */
export class Stage {
  /** The result of `announcement.list` before the row adds any announcements. */
  former: readonly Json[] = [];
  /** The room where everything happens. The outsider cannot see it. */
  room = "";
  /** A room without modules that everybody can see. */
  lobby = "";
  readonly ids = {} as Record<User, string>;
  /** The name of a device that a row puts into a call. */
  device = "";
  /** The payload of the row's command. */
  payload: Json;
  /** The users' connections that are used to prepare the row. */
  readonly #backstage = new Map<User, Promise<Client>>();
  /** The ids of the sessions that the row created. */
  readonly #sessions: string[] = [];

  constructor(
    readonly server: Server,
    readonly place: RowWorld,
    readonly role: Role = "member",
  ) {}

  get world(): string {
    return this.place.world;
  }

  get foreignWorld(): string | undefined {
    return this.place.foreign?.world;
  }

  nameOf(name: User | "foreigner"): string {
    return `${SECRET} ${this.place.tag} ${name}`;
  }

  uidOf(name: User | "foreigner"): string {
    return `${this.place.tag}-${name}`;
  }

  /** The uids of the world's users. */
  get uids(): readonly string[] {
    return [...people, "administrator" as const].map((name) => this.uidOf(name));
  }

  /** Returns a token for logging a user in. */
  tokenOf(name: User | "foreigner", traits = this.#traitsOf(name)): string {
    const { key, userKey, foreign } = this.place;
    const profile = { display_name: this.nameOf(name) };
    const signing = name === "foreigner" ? foreign!.key : name === "administrator" ? key : userKey;
    return sign(signing, { uid: this.uidOf(name), traits, profile }, this.server.now);
  }

  #traitsOf(name: User | "foreigner"): readonly string[] {
    if (name === "administrator") return ADMINISTRATOR;
    return name === "me" ? traitsOf(this.role) : partOf(name).traits;
  }

  /** Creates the rooms and users. */
  async furnish(): Promise<void> {
    this.room = await this.#create({
      name: `${SECRET} room`,
      module_config: MODULES,
      permission_config: ROOM_RULES,
    });
    this.lobby = await this.addRoom(`${NAME} lobby`, {});
    await Promise.all(people.map((name) => this.#enter(name)));
  }

  async #enter(name: Person): Promise<void> {
    await this.#as(name);
    if (name === "me") return;
    const { joined, state } = partOf(name);
    if (joined) await this.join(name);
    if (!state) return;
    const action = state === "banned" ? "user.ban" : "user.silence";
    await this.#do("administrator", action, { id: this.ids[name] });
    await this.#leave(name);
  }

  /** Returns a user's connection for preparations. */
  #as(name: User, traits?: readonly string[]): Promise<Client> {
    const known = this.#backstage.get(name);
    if (known) return known;
    const connected = this.#logIn(name, traits);
    this.#backstage.set(name, connected);
    return connected;
  }

  async #logIn(name: User, traits?: readonly string[]): Promise<Client> {
    const client = await this.server.connect(this.world, 0);
    const [answer, data] = await client.login({ token: this.tokenOf(name, traits) });
    if (answer !== "authenticated") {
      throw new Error(`${name} may not log in: ${JSON.stringify(data)}`);
    }
    this.ids[name] = client.id;
    return client;
  }

  async #leave(name: User): Promise<void> {
    const client = await this.#backstage.get(name)?.catch(() => undefined);
    this.#backstage.delete(name);
    if (!client) return;
    client.close();
    await client.closed;
  }

  /**
   * Sends a command as a user.
   * @returns the command's result.
   */
  async #do(name: User, action: string, payload?: object): Promise<Json> {
    const client = await this.#as(name);
    return client.do(action, payload);
  }

  #send(method: string, path: string, body?: object): Promise<Json> {
    return this.server.request(this.place, method, path, body);
  }

  async #create(draft: object): Promise<string> {
    return (await this.#send("POST", "rooms/", draft)).id;
  }

  /** Closes the connections used for preparations, before any audience connects. */
  async ready(): Promise<void> {
    await Promise.all(Array.from(this.#backstage.keys(), (name) => this.#leave(name)));
  }

  /** Sends lines of captions to the room, in English. */
  async captions(...captions: { text: string; final: boolean }[]): Promise<void> {
    const lines = captions.map((line) => ({ lang: "en", ...line }));
    await this.#do("administrator", "room.captions.send", { room: this.room, captions: lines });
  }

  /** Makes a user a member of the room's channel, even a user who cannot see the room. */
  async join(name: Person): Promise<void> {
    const isOutside = name === "outsider";
    // The traits of the latest login apply, so the outsider first logs in with traits that may
    // join.
    if (isOutside) {
      await this.#leave(name);
      await this.#as(name, ADMINISTRATOR);
    }
    await this.#do(name, "chat.join", { channel: this.room });
    if (!isOutside) return;
    await this.#leave(name);
    await this.#as(name);
  }

  /**
   * Sends a message to the room.
   * @returns the event id of the message.
   */
  async message(from: Person, body = `${SECRET} message`): Promise<number> {
    const content = { type: "text", body };
    const message = { channel: this.room, event_type: "channel.message", content };
    return (await this.#do(from, "chat.send", message)).event.event_id;
  }

  /** Makes messages to the room wait for a moderator. */
  async hold(): Promise<void> {
    const module_config = MODULES.map((module) =>
      module.type === "chat.native" ? { ...module, config: { hold: true } } : module,
    );
    await this.#send("PATCH", `rooms/${this.room}/`, { module_config });
  }

  /**
   * Sends a message to the room that waits for a moderator.
   * @returns the id under which it waits.
   */
  async waiting(from: Person): Promise<string> {
    await this.hold();
    const content = { type: "text", body: `${SECRET} waits` };
    const message = { channel: this.room, event_type: "channel.message", content };
    return (await this.#do(from, "chat.send", message)).held.id;
  }

  /**
   * Reports a new message in the room.
   * @returns the id of the report.
   */
  async report(from: Person, sender: Person): Promise<string> {
    const { room } = this;
    const event = await this.message(sender);
    await this.#do(from, "chat.report", { channel: room, event, reason: "spam" });
    return (await this.#do("moderator", "report.list", { room })).reports[0].id;
  }

  /**
   * Opens a direct channel.
   * @param users the members; the first user creates the channel.
   * @returns the channel's id.
   */
  async direct(...[first, ...others]: [Person, ...Person[]]): Promise<string> {
    const users = others.map((name) => this.ids[name]);
    return (await this.#do(first, "chat.direct.create", { users, hide: false })).id;
  }

  /** Hides a direct channel for a user until the next message in the channel. */
  async hide(channel: string, from: Person): Promise<void> {
    await this.#do(from, "chat.leave", { channel });
  }

  /** Moves a member's read mark in the room's channel to an event. */
  async read(from: Person, id: number): Promise<void> {
    await this.#do(from, "chat.mark_read", { channel: this.room, id });
  }

  /**
   * Creates a question, visible by default.
   * @returns its id.
   */
  async question(changes: QuestionChanges = {}, from: Person = "neighbor"): Promise<string> {
    const { room } = this;
    const content = `${SECRET} question`;
    const { id } = (await this.#do(from, "question.ask", { room, content })).question;
    const changed = { room, id, state: "visible", ...changes };
    await this.#do("moderator", "question.update", changed);
    return id;
  }

  /**
   * Creates a poll, open by default.
   * @returns its id and the ids of its two options.
   */
  async poll(changes: PollChanges = {}): Promise<[string, string, string]> {
    const { poll } = await this.#do("moderator", "poll.create", {
      room: this.room,
      content: `${SECRET} poll`,
      options: [
        { content: `${SECRET} yes`, order: 1 },
        { content: `${SECRET} no`, order: 2 },
      ],
      state: "open",
      ...changes,
    });
    return [poll.id, poll.options[0].id, poll.options[1].id];
  }

  /**
   * Creates an open word cloud with one vote.
   * @returns its id and the word.
   */
  async cloud(): Promise<[string, string]> {
    const { room } = this;
    const draft = { room, content: `${SECRET} word`, poll_type: "words", state: "open" };
    const { poll } = await this.#do("moderator", "poll.create", draft);
    await this.#do("neighbor", "poll.vote", { room, id: poll.id, answers: ["rude"] });
    return [poll.id, "rude"];
  }

  async vote(id: string, from: Person, ...options: string[]): Promise<void> {
    await this.#do(from, "poll.vote", { room: this.room, id, options });
  }

  async pinPoll(id: string): Promise<void> {
    await this.#do("moderator", "poll.pin", { room: this.room, id });
  }

  /** Stores all announcements in `former`. */
  async announcements(): Promise<void> {
    this.former = await this.#do("administrator", "announcement.list");
  }

  /**
   * Creates an announcement, visible by default.
   * @returns its id.
   */
  async announcement({ show_until, ...changes }: AnnouncementChanges = {}): Promise<string> {
    const { announcement } = await this.#do("administrator", "announcement.create", {
      text: `${SECRET} announcement`,
      state: "active",
      ...changes,
      ...(show_until !== undefined && { show_until: new Date(show_until).toISOString() }),
    });
    return announcement.id;
  }

  /**
   * Creates a session without a room.
   * @returns its id.
   */
  async session(state: "public" | "draft" = "public"): Promise<string> {
    const { id } = await this.#send("POST", "sessions/", { title: `${SECRET} session`, state });
    this.#sessions.push(id);
    return id;
  }

  /** Creates a public session that is over. @returns its id. */
  async pastSession(): Promise<string> {
    const [starts_at, ends_at] = [2, 1].map((hours) =>
      new Date(this.server.now - hours * 3600_000).toISOString(),
    );
    const draft = { title: `${SECRET} past session`, starts_at, ends_at };
    const { id } = await this.#send("POST", "sessions/", draft);
    this.#sessions.push(id);
    return id;
  }

  /**
   * Creates a session that is on in the room.
   * @returns its id.
   */
  async running(): Promise<string> {
    const at = (minutes: number) => new Date(this.server.now + minutes * 60_000).toISOString();
    const { id } = await this.#send("POST", "sessions/", {
      title: `${SECRET} session`,
      room_id: this.room,
      starts_at: at(-10),
      ends_at: at(20),
    });
    this.#sessions.push(id);
    return id;
  }

  /**
   * Creates a screen.
   * @returns its id.
   */
  async kiosk(): Promise<string> {
    const profile = { display_name: `${SECRET} screen` };
    return (await this.#do("administrator", "user.kiosk.create", { profile })).user.id;
  }

  /** Returns the expiry time for a short-lived object, in milliseconds since 1970. */
  soon(): number {
    return this.server.now + VISIBLE;
  }

  /** Makes one user block another. */
  async block(user: Person, other: Person): Promise<void> {
    await this.#do(user, "user.block", { id: this.ids[other] });
  }

  /**
   * Creates a room without modules.
   * @returns its id.
   */
  addRoom(name: string, permission_config: PermissionConfig): Promise<string> {
    return this.#create({ name, permission_config });
  }

  changeWorld(changes: WorldChanges): Promise<void> {
    return this.#send("PATCH", "", changes);
  }

  /** Replaces the room's rules. */
  changeRoom(permission_config: PermissionConfig): Promise<void> {
    return this.#send("PATCH", `rooms/${this.room}/`, { permission_config });
  }

  deleteRoom(): Promise<void> {
    return this.#send("DELETE", `rooms/${this.room}/`);
  }

  /** Removes the key that signed the users' tokens. */
  removeKey(): Promise<void> {
    const config = { JWT_secrets: this.place.otherKeys };
    return this.#send("PATCH", "", { config });
  }

  /**
   * Creates a room with one module, and the rules of the test room.
   * @returns its id.
   */
  roomWith(type: string): Promise<string> {
    return this.#create({
      name: `${SECRET} ${type}`,
      module_config: [{ type, config: {} }],
      permission_config: ROOM_RULES,
    });
  }

  async raiseHand(from: Person): Promise<void> {
    await this.#do(from, "hand.raise", { room: this.room });
  }

  /** Invites a user to the stage. */
  async invite(name: Person): Promise<void> {
    await this.#do("administrator", "call.stage", {
      room: this.room,
      user: this.ids[name],
      on: true,
    });
  }

  /**
   * Starts a call in a direct channel between two users.
   * @returns the id of the channel.
   */
  async ring(from: Person, to: Person): Promise<string> {
    const channel = await this.direct(from, to);
    const message = { channel, event_type: "channel.message", content: { type: "call" } };
    await this.#do(from, "chat.send", message);
    return channel;
  }

  /** Returns the name of a user's device in the room's call. */
  async ticket(from: Person): Promise<string> {
    return (await this.#do(from, "call.join", { room: this.room })).identity;
  }

  /** Puts a device into its call. Only for rows that need `enterCall`. */
  enterCall(identity: string): Promise<void> {
    return this.server.enterCall!(identity);
  }

  /** Deletes the world. Only for rows that need `deleteWorld`. */
  deleteWorld(): Promise<void> {
    return this.server.deleteWorld!(this.world);
  }

  erase(name: Person): Promise<void> {
    return this.#send("POST", "delete_user", { user_id: this.ids[name] });
  }

  /** Deletes the sessions and archives the announcements, which the API cannot delete. */
  async clear(): Promise<void> {
    for (const id of this.#sessions) await this.#send("DELETE", `sessions/${id}/`);
    for (const { id, state } of await this.#do("administrator", "announcement.list")) {
      if (state !== "active") continue;
      await this.#do("administrator", "announcement.update", { id, state: "archived" });
    }
    await this.ready();
  }
}
