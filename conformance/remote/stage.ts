import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import { otherNames, partOf, type Person, type Role } from "../cast.js";
import type { Client } from "../client.js";
import {
  type AnnouncementChanges,
  MODULES,
  NAME,
  type PollChanges,
  type QuestionChanges,
  ROOM_RULES,
  SECRET,
  Stage,
  type WorldChanges,
} from "../stage.js";
import { type Access, ADMINISTRATOR, sign } from "./access.js";
import { roomIn } from "./answers.js";
import type { BorrowedWorld } from "./borrowed-world.js";
import type { Rest } from "./rest.js";

/** The part of a site that a stage uses. */
interface StagePorts {
  readonly world: BorrowedWorld;
  readonly rest: Rest;
  /** Reaches the other world, if there is one. */
  readonly foreignRest: Rest | undefined;
  /** @param turn selects one of several addresses of the server. */
  connect(world: string, turn: number): Promise<Client>;
  administrator(): Promise<Client>;
}

/** How long something is visible that ends by itself, in milliseconds. */
const VISIBLE = 4000;

/** All users of the world. */
const people = ["me", ...otherNames].filter(
  (name) => name !== "foreigner" && name !== "stranger",
) as Person[];

/** The rooms and users of a row in a world that all rows share, made by requests. */
export class RemoteStage extends Stage {
  readonly #site: StagePorts;
  readonly #foreign: Access | undefined;
  /** The connections of users who prepare the row. */
  readonly #backstage = new Map<Person, Promise<Client>>();
  /** The sessions that the row made. */
  readonly #sessions: string[] = [];

  /** @param tag names the users of this row. */
  constructor(
    site: StagePorts,
    readonly world: string,
    foreign: Access | undefined,
    readonly tag: string,
    role: Role,
  ) {
    super(role);
    this.#site = site;
    this.#foreign = foreign;
  }

  override get foreignWorld(): string | undefined {
    return this.#foreign?.world;
  }

  override nameOf(name: Person | "foreigner"): string {
    return `${SECRET} ${this.tag} ${name}`;
  }

  override tokenOf(
    name: Person | "foreigner",
    traits = this.traitsOf(name),
  ): string {
    const key =
      name === "foreigner" ? this.#foreign!.key : this.#site.world.key;
    const profile = { display_name: this.nameOf(name) };
    const claims = { uid: this.#uid(name), traits, profile };
    return sign(key, claims, this.#site.rest.now);
  }

  #uid(name: Person | "foreigner"): string {
    return `${this.tag}-${name}`;
  }

  override async furnish(): Promise<void> {
    const { world } = this.#site;
    await world.reset();
    const admin = await this.#site.administrator();
    this.former = await admin.do("announcement.list");
    this.room = await this.#create({
      name: `${SECRET} room`,
      module_config: MODULES,
      permission_config: ROOM_RULES,
    });
    this.lobby = await this.addRoom(`${NAME} lobby`, {});
    await Promise.all(people.map((name) => this.#enter(name)));
  }

  async #enter(name: Person): Promise<void> {
    const { id } = await this.#as(name);
    this.ids[name] = id;
    if (name === "me") return;
    const { joined, state } = partOf(name);
    if (joined) await this.join(name);
    if (!state) return;
    const admin = await this.#site.administrator();
    await admin.do(state === "banned" ? "user.ban" : "user.silence", { id });
    await this.#leave(name);
  }

  async #create(draft: object): Promise<string> {
    return roomIn(await this.#site.rest.send("POST", "rooms/", draft)).id;
  }

  /** The connection of a user. It is closed before the row begins. */
  #as(name: Person, traits?: readonly string[]): Promise<Client> {
    const known = this.#backstage.get(name);
    if (known) return known;
    const connected = this.#logIn(name, traits);
    this.#backstage.set(name, connected);
    return connected;
  }

  async #logIn(name: Person, traits?: readonly string[]): Promise<Client> {
    const client = await this.#site.connect(this.world, 0);
    const token = this.tokenOf(name, traits);
    const [answer, data] = await client.login({ token });
    if (answer === "authenticated") return client;
    throw new Error(`${name} may not log in: ${JSON.stringify(data)}`);
  }

  async #leave(name: Person): Promise<void> {
    const client = await this.#backstage.get(name)?.catch(() => undefined);
    this.#backstage.delete(name);
    if (!client) return;
    client.close();
    await client.closed;
  }

  override async ready(): Promise<void> {
    await Promise.all(people.map((name) => this.#leave(name)));
  }

  override async join(name: Person): Promise<void> {
    const isOutside = name === "outsider";
    // The traits of the last login count.
    if (isOutside) await this.#leave(name);
    const client = await this.#as(name, isOutside ? ADMINISTRATOR : undefined);
    await client.do("chat.join", { channel: this.room });
    if (!isOutside) return;
    await this.#leave(name);
    await this.#as(name);
  }

  override async say(
    channel: string,
    from: Person,
    content: Record<string, unknown>,
  ): Promise<number> {
    const client = await this.#as(from);
    const message = { channel, event_type: "channel.message", content };
    const { event } = await client.do("chat.send", message);
    return event.event_id;
  }

  override async direct(...users: [Person, ...Person[]]): Promise<string> {
    const client = await this.#as(users[0]);
    const ids = users.slice(1).map((name) => this.ids[name]);
    const draft = { users: ids, hide: false };
    return (await client.do("chat.direct.create", draft)).id;
  }

  override async hide(channel: string, from: Person): Promise<void> {
    const client = await this.#as(from);
    await client.do("chat.leave", { channel });
  }

  override async read(from: Person, event: number): Promise<void> {
    const client = await this.#as(from);
    await client.do("chat.mark_read", { channel: this.room, id: event });
  }

  override async question(
    changes: QuestionChanges = {},
    from: Person = "neighbor",
  ): Promise<string> {
    const { room } = this;
    const asking = await this.#as(from);
    const content = `${SECRET} question`;
    const { question } = await asking.do("question.ask", { room, content });
    const { id } = question;
    const moderator = await this.#as("moderator");
    const all = { state: "visible", ...changes };
    await moderator.do("question.update", { room, id, ...all });
    return id;
  }

  override async poll(
    changes: PollChanges = {},
  ): Promise<[string, string, string]> {
    const moderator = await this.#as("moderator");
    const { poll } = await moderator.do("poll.create", {
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

  override async vote(
    id: string,
    from: Person,
    ...options: string[]
  ): Promise<void> {
    const client = await this.#as(from);
    await client.do("poll.vote", { room: this.room, id, options });
  }

  override async pinPoll(id: string): Promise<void> {
    const moderator = await this.#as("moderator");
    await moderator.do("poll.pin", { room: this.room, id });
  }

  override async announcement({
    show_until,
    ...changes
  }: AnnouncementChanges = {}): Promise<string> {
    const admin = await this.#site.administrator();
    const { announcement } = await admin.do("announcement.create", {
      text: `${SECRET} announcement`,
      state: "active",
      ...changes,
      ...(show_until !== undefined && {
        show_until: new Date(show_until).toISOString(),
      }),
    });
    return announcement.id;
  }

  override async session(
    state: "public" | "draft" = "public",
  ): Promise<string> {
    const draft = { title: `${SECRET} session`, state };
    const made = await this.#site.rest.send("POST", "sessions/", draft);
    const { id } = made as { id: string };
    this.#sessions.push(id);
    return id;
  }

  override async kiosk(): Promise<string> {
    const admin = await this.#site.administrator();
    const profile = { display_name: `${SECRET} screen` };
    const { user } = await admin.do("user.kiosk.create", { profile });
    return user.id;
  }

  override soon(): number {
    return this.#site.rest.now + VISIBLE;
  }

  override async block(user: Person, other: Person): Promise<void> {
    const client = await this.#as(user);
    await client.do("user.block", { id: this.ids[other] });
  }

  override addRoom(
    name: string,
    permission_config: PermissionConfig,
  ): Promise<string> {
    return this.#create({ name, permission_config });
  }

  override changeWorld(changes: WorldChanges): Promise<void> {
    return this.#site.world.change(changes);
  }

  override async changeRoom(
    permission_config: PermissionConfig,
  ): Promise<void> {
    const path = `rooms/${this.room}/`;
    roomIn(await this.#site.rest.send("PATCH", path, { permission_config }));
  }

  override async deleteRoom(): Promise<void> {
    await this.#site.rest.send("DELETE", `rooms/${this.room}/`);
  }

  override removeKey(): Promise<void> {
    return this.#site.world.removeKey();
  }

  override async deleteWorld(): Promise<void> {
    throw new Error("No request deletes a world.");
  }

  override async erase(name: Person): Promise<void> {
    const user = { user_id: this.ids[name] };
    await this.#site.rest.send("POST", "delete_user", user);
  }

  /** Deletes the objects of the row, as far as requests can. */
  async clear(): Promise<void> {
    const { foreignRest, world } = this.#site;
    await this.ready();
    for (const id of this.#sessions) {
      await this.#site.rest.send("DELETE", `sessions/${id}/`);
    }
    await world.clear();
    await Promise.all(people.map((name) => world.erase(this.#uid(name))));
    const foreigner = { token_id: this.#uid("foreigner") };
    await foreignRest?.send("POST", "delete_user", foreigner, 403);
    await this.#hideAnnouncements();
  }

  /** Announcements cannot be deleted. */
  async #hideAnnouncements(): Promise<void> {
    const admin = await this.#site.administrator();
    for (const { id, state } of await admin.do("announcement.list")) {
      if (state === "active") {
        await admin.do("announcement.update", { id, state: "archived" });
      }
    }
    admin.rest();
  }
}
