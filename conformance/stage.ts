import type { PermissionConfig } from "../schemas/plain/permissions.js";
import { otherNames, partOf, type Person, type Role, traitsOf } from "./cast.js";
import type { Client, Json } from "./client.js";
import { ADMINISTRATOR, type RowWorld, type Server, sign } from "./server.js";

/** Marks a profile, a text or a name that others may not see. */
export const SECRET = "conformance-secret";

/** Begins the names of rooms and the titles of worlds that rows make, so that people recognize them. */
export const NAME = "Conformance";

/** The modules of the room. */
export const MODULES = [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native", config: {} },
  {
    type: "question",
    config: { active: true, requires_moderation: true, anonymous: true, show_authors: true },
  },
  { type: "poll", config: { active: true } },
];

/** The rules of the room. */
export const ROOM_RULES = { "room.view": ["inside"], "chat.moderate": [["moderator", "admin"]] };

/** The fields of a question that differ from a visible one. */
export interface QuestionChanges {
  state?: "mod_queue" | "visible";
  content?: string;
  is_pinned?: boolean;
}

/** The fields of a poll that differ from an open one with two options. */
export interface PollChanges {
  state?: "draft" | "open";
  content?: string;
}

/** The fields of an announcement that differ from one that is shown. */
export interface AnnouncementChanges {
  state?: "draft" | "active";
  /** When it is hidden, in milliseconds since 1970. */
  show_until?: number;
}

/** The fields of a world that rows change. */
export interface WorldChanges {
  title?: string;
  permission_config?: PermissionConfig;
}

/** How long something is visible that ends by itself, in milliseconds. */
const VISIBLE = 4000;

/** All users of the world who are audiences. */
const people = ["me", ...otherNames].filter(
  (name) => name !== "foreigner" && name !== "stranger",
) as Person[];

/** A user of the world. The administrator prepares it, and is no audience. */
type User = Person | "administrator";

/**
 * The world of one row, with its contents and its users. Rows prepare it and change it by these
 * methods, each of which sends requests, or commands as the user that it names.
 */
export class Stage {
  /** The answer of `announcement.list` before the row adds any. */
  former: readonly Json[] = [];
  /** The room that everything happens in. The outsider cannot see it. */
  room = "";
  /** A room without modules that all can see. */
  lobby = "";
  readonly ids = {} as Record<User, string>;
  /** The payload of the row. */
  payload: Json;
  /** The connections of users who prepare the row. */
  readonly #backstage = new Map<User, Promise<Client>>();
  /** The sessions that the row made. */
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

  /** The display name of a user. */
  nameOf(name: User | "foreigner"): string {
    return `${SECRET} ${this.place.tag} ${name}`;
  }

  uidOf(name: User | "foreigner"): string {
    return `${this.place.tag}-${name}`;
  }

  /** The uids of the users of the world. */
  get uids(): readonly string[] {
    return [...people, "administrator" as const].map((name) => this.uidOf(name));
  }

  /** A token that logs a user in. */
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

  /** Makes the rooms and the users. */
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

  /** The connection of a user before any audience connects. */
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

  /** Sends a command. @returns its answer. */
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

  /** Ends the preparations, before any audience connects. */
  async ready(): Promise<void> {
    await Promise.all(Array.from(this.#backstage.keys(), (name) => this.#leave(name)));
  }

  /** Makes a user a member of the room's channel, even one who cannot see the room. */
  async join(name: Person): Promise<void> {
    const isOutside = name === "outsider";
    // The traits of the last login count.
    if (isOutside) {
      await this.#leave(name);
      await this.#as(name, ADMINISTRATOR);
    }
    await this.#do(name, "chat.join", { channel: this.room });
    if (!isOutside) return;
    await this.#leave(name);
    await this.#as(name);
  }

  /** Sends a message to the room. @returns its id. */
  async message(from: Person, body = `${SECRET} message`): Promise<number> {
    const content = { type: "text", body };
    const message = { channel: this.room, event_type: "channel.message", content };
    return (await this.#do(from, "chat.send", message)).event.event_id;
  }

  /** Opens a direct channel. @param users the first one creates it. @returns its id. */
  async direct(...[first, ...others]: [Person, ...Person[]]): Promise<string> {
    const users = others.map((name) => this.ids[name]);
    return (await this.#do(first, "chat.direct.create", { users, hide: false })).id;
  }

  /** Someone hides a direct channel until its next message. */
  async hide(channel: string, from: Person): Promise<void> {
    await this.#do(from, "chat.leave", { channel });
  }

  /** A member has read the room's channel up to an event. */
  async read(from: Person, id: number): Promise<void> {
    await this.#do(from, "chat.mark_read", { channel: this.room, id });
  }

  /** Makes a question, visible unless `changes` say otherwise. @returns its id. */
  async question(changes: QuestionChanges = {}, from: Person = "neighbor"): Promise<string> {
    const { room } = this;
    const content = `${SECRET} question`;
    const { id } = (await this.#do(from, "question.ask", { room, content })).question;
    const changed = { room, id, state: "visible", ...changes };
    await this.#do("moderator", "question.update", changed);
    return id;
  }

  /** Makes a poll, open by default. @returns its id and the ids of its two options. */
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

  async vote(id: string, from: Person, ...options: string[]): Promise<void> {
    await this.#do(from, "poll.vote", { room: this.room, id, options });
  }

  async pinPoll(id: string): Promise<void> {
    await this.#do("moderator", "poll.pin", { room: this.room, id });
  }

  /** All announcements, which the row finds in `former` later. */
  async announcements(): Promise<void> {
    this.former = await this.#do("administrator", "announcement.list");
  }

  /** Makes an announcement, shown unless `changes` say otherwise. @returns its id. */
  async announcement({ show_until, ...changes }: AnnouncementChanges = {}): Promise<string> {
    const { announcement } = await this.#do("administrator", "announcement.create", {
      text: `${SECRET} announcement`,
      state: "active",
      ...changes,
      ...(show_until !== undefined && { show_until: new Date(show_until).toISOString() }),
    });
    return announcement.id;
  }

  /** Makes a session without a room. @returns its id. */
  async session(state: "public" | "draft" = "public"): Promise<string> {
    const { id } = await this.#send("POST", "sessions/", { title: `${SECRET} session`, state });
    this.#sessions.push(id);
    return id;
  }

  /** Makes a screen. @returns its id. */
  async kiosk(): Promise<string> {
    const profile = { display_name: `${SECRET} screen` };
    return (await this.#do("administrator", "user.kiosk.create", { profile })).user.id;
  }

  /** The end of something that ends by itself, in milliseconds since 1970. */
  soon(): number {
    return this.server.now + VISIBLE;
  }

  /** One user blocks another. */
  async block(user: Person, other: Person): Promise<void> {
    await this.#do(user, "user.block", { id: this.ids[other] });
  }

  /** Makes a room without modules. @returns its id. */
  addRoom(name: string, permission_config: PermissionConfig): Promise<string> {
    return this.#create({ name, permission_config });
  }

  changeWorld(changes: WorldChanges): Promise<void> {
    return this.#send("PATCH", "", changes);
  }

  /** Replaces the rules of the room. */
  changeRoom(permission_config: PermissionConfig): Promise<void> {
    return this.#send("PATCH", `rooms/${this.room}/`, { permission_config });
  }

  deleteRoom(): Promise<void> {
    return this.#send("DELETE", `rooms/${this.room}/`);
  }

  /** Removes the key that signed the tokens of the users. */
  removeKey(): Promise<void> {
    const config = { JWT_secrets: this.place.otherKeys };
    return this.#send("PATCH", "", { config });
  }

  /** Deletes the world. Only rows that need `deleteWorld` may. */
  deleteWorld(): Promise<void> {
    return this.server.deleteWorld!(this.world);
  }

  /** Erases a user. */
  erase(name: Person): Promise<void> {
    return this.#send("POST", "delete_user", { user_id: this.ids[name] });
  }

  /** Deletes the sessions, and archives the announcements, which no request deletes. */
  async clear(): Promise<void> {
    for (const id of this.#sessions) await this.#send("DELETE", `sessions/${id}/`);
    for (const { id, state } of await this.#do("administrator", "announcement.list")) {
      if (state !== "active") continue;
      await this.#do("administrator", "announcement.update", { id, state: "archived" });
    }
    await this.ready();
  }
}
