import {
  otherNames,
  partOf,
  type Other,
  type Person,
  type Role,
} from "../../conformance/cast.js";
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
} from "../../conformance/stage.js";
import type { Store } from "../../db/contract/store.js";
import { kioskId } from "../../db/rules/user-kinds.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import { keyOf, rules, tokenOf, worldOf } from "../helper.js";

/** How long something is visible that ends by itself, in milliseconds. */
const VISIBLE = 2000;

/** A world of its own for a row, made and changed by the store. */
export class StoreStage extends Stage {
  readonly foreignWorld: string;

  constructor(
    readonly store: Store,
    readonly world: string,
    role: Role,
  ) {
    super(role);
    this.foreignWorld = `${world}-abroad`;
  }

  override nameOf(name: Person | "foreigner"): string {
    return `${SECRET} ${name}`;
  }

  override tokenOf(name: Person | "foreigner"): string {
    const isForeign = name === "foreigner";
    const key = keyOf(isForeign ? this.foreignWorld : this.world);
    return tokenOf(key, { uid: name, traits: this.traitsOf(name) });
  }

  override async furnish(): Promise<void> {
    const { store, world } = this;
    const permission_config = rules({ "chat.moderate": ["admin"] });
    const make = (id: string) =>
      store.worlds.create(worldOf(id, { permission_config }));
    await Promise.all([make(world), make(this.foreignWorld)]);
    const room = await store.rooms.create(world, {
      name: `${SECRET} room`,
      module_config: MODULES,
      permission_config: ROOM_RULES,
    });
    this.room = room.value.id;
    this.lobby = await this.addRoom(`${NAME} lobby`, {});
    await Promise.all([this.#enter("me"), ...otherNames.map(this.#enter)]);
  }

  readonly #enter = async (name: Other | "me"): Promise<void> => {
    if (name === "stranger") return;
    const { store, world, room } = this;
    const isForeign = name === "foreigner";
    const part = name === "me" ? undefined : partOf(name);
    const user = await store.users.enter(
      isForeign ? this.foreignWorld : world,
      {
        tokenId: name,
        traits: new Set(this.traitsOf(name)),
        profile: { display_name: this.nameOf(name) },
        login: true,
      },
    );
    if (isForeign) return;
    this.ids[name] = user.id;
    if (name !== "me" && part?.joined)
      await store.chat.join(world, room, user.id);
    if (part?.state) await store.users.moderate(world, user.id, part.state);
  };

  override async join(name: Person): Promise<void> {
    await this.store.chat.join(this.world, this.room, this.ids[name]);
  }

  override async say(
    channel: string,
    from: Person,
    content: Record<string, unknown>,
  ): Promise<number> {
    const sender = this.ids[from];
    const draft = { sender, content };
    const sent = await this.store.chat.send(this.world, channel, draft);
    return sent.event.id;
  }

  override async direct(...users: [Person, ...Person[]]): Promise<string> {
    const ids = users.map((name) => this.ids[name]);
    const made = await this.store.chat.direct(this.world, ids[0]!, ids, false);
    return made.channel.id;
  }

  override async hide(channel: string, from: Person): Promise<void> {
    await this.store.chat.leave(this.world, channel, this.ids[from], false);
  }

  override async read(from: Person, event: number): Promise<void> {
    const { world, room: channel, ids } = this;
    const mark = { world, user: ids[from], channel };
    await this.store.chat.mark([{ ...mark, pointer: event, listed: event }]);
  }

  override async question(
    changes: QuestionChanges = {},
    from: Person = "neighbor",
  ): Promise<string> {
    const { world, room, ids } = this;
    const { questions } = this.store;
    const asked = await questions.create(world, room, {
      sender: ids[from],
      content: `${SECRET} question`,
      state: "mod_queue",
    });
    const all = { state: "visible" as const, ...changes };
    await questions.update(world, room, asked.id, all, ids.moderator);
    return asked.id;
  }

  override async poll(
    changes: PollChanges = {},
  ): Promise<[string, string, string]> {
    const poll = await this.store.polls.create(this.world, this.room, {
      content: `${SECRET} poll`,
      options: [{ content: `${SECRET} yes` }, { content: `${SECRET} no` }],
      state: "open",
      ...changes,
    });
    return [poll.id, poll.options[0]!.id, poll.options[1]!.id];
  }

  override async vote(
    poll: string,
    from: Person,
    ...options: string[]
  ): Promise<void> {
    const { world, room, ids } = this;
    await this.store.polls.vote(world, room, poll, ids[from], options);
  }

  override async pinPoll(poll: string): Promise<void> {
    const { world, room, ids } = this;
    await this.store.polls.pin(world, room, poll, ids.moderator);
  }

  override async announcement(
    changes: AnnouncementChanges = {},
  ): Promise<string> {
    const { announcements } = this.store;
    const made = await announcements.create(this.world, {
      text: `${SECRET} announcement`,
      state: "active",
      ...changes,
    });
    return made.id;
  }

  override async session(
    state: "public" | "draft" = "public",
  ): Promise<string> {
    const draft = { title: `${SECRET} session`, state };
    const made = await this.store.program.createSession(this.world, draft);
    if ("faults" in made) throw new Error(JSON.stringify(made.faults));
    return made.session.value.id;
  }

  override async kiosk(): Promise<string> {
    const clientId = kioskId("screen");
    const profile = { display_name: this.nameOf("me") };
    const visitor = { clientId, profile, traits: new Set<string>() };
    return (await this.store.users.enter(this.world, visitor)).id;
  }

  override soon(): number {
    return Date.now() + VISIBLE;
  }

  override async block(user: Person, other: Person): Promise<void> {
    const { store, world, ids } = this;
    await store.users.block(world, ids[user], ids[other]);
  }

  override async addRoom(
    name: string,
    permission_config: PermissionConfig,
  ): Promise<string> {
    const draft = { name, permission_config };
    return (await this.store.rooms.create(this.world, draft)).value.id;
  }

  override async changeWorld(changes: WorldChanges): Promise<void> {
    await this.store.worlds.update(this.world, changes);
  }

  override async changeRoom(permission_config: PermissionConfig) {
    const { store, world, room } = this;
    await store.rooms.update(world, room, { permission_config });
  }

  override async deleteRoom(): Promise<void> {
    await this.store.rooms.delete(this.world, this.room);
  }

  override async removeKey(): Promise<void> {
    const config = { JWT_secrets: [keyOf("other")] };
    await this.store.worlds.update(this.world, { config });
  }

  override async deleteWorld(): Promise<void> {
    await this.store.worlds.delete(this.world);
  }

  override async erase(name: Person): Promise<void> {
    await this.store.users.erase(this.world, { user_id: this.ids[name] });
  }
}
