import type { Store } from "../../db/store.js";
import type { PollDraft } from "../../db/polls.js";
import type { QuestionChanges } from "../../db/questions.js";
import type { AnnouncementDraft } from "../../db/store.js";
import { keyOf, rules, worldOf } from "../helper.js";
import type { Json } from "../live/client.js";
import {
  type Other,
  otherNames,
  partOf,
  type Person,
  type Role,
  traitsOf,
} from "./cast.js";

/** Marks a profile, a text or a name that others may not see. */
export const SECRET = "secret";

const MODULES = [
  { type: "livestream.native", config: { hls_url: "https://example.org/s" } },
  { type: "chat.native", config: {} },
  { type: "question", config: { active: true, requires_moderation: true } },
  { type: "poll", config: { active: true } },
];

/** The world of one row, and its contents. */
export class Stage {
  readonly foreignWorld: string;
  /** The room that everything happens in. The outsider cannot see it. */
  room = "";
  /** A room without modules that all can see. */
  lobby = "";
  /** The users. */
  readonly ids = {} as Record<Person, string>;
  /** The payload of the row. */
  payload: Json;

  constructor(
    readonly store: Store,
    readonly world: string,
    readonly role: Role,
  ) {
    this.foreignWorld = `${world}-abroad`;
  }

  /** Makes the worlds with their rooms and users. */
  async furnish(): Promise<void> {
    const { store, world } = this;
    const permission_config = rules({ "chat.moderate": ["admin"] });
    const make = (id: string) =>
      store.worlds.create(worldOf(id, { permission_config }));
    await Promise.all([make(world), make(this.foreignWorld)]);
    const room = await store.rooms.create(world, {
      name: `${SECRET} room`,
      module_config: MODULES,
      permission_config: {
        "room.view": ["inside"],
        "chat.moderate": [["moderator", "admin"]],
      },
    });
    const lobby = await store.rooms.create(world, { name: "Lobby" });
    this.room = room.value.id;
    this.lobby = lobby.value.id;
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
        traits: new Set(part?.traits ?? traitsOf(this.role)),
        profile: { display_name: `${SECRET} ${name}` },
        login: true,
      },
    );
    if (isForeign) return;
    this.ids[name] = user.id;
    if (name !== "me" && part?.joined)
      await store.chat.join(world, room, user.id);
    if (part?.state) await store.users.moderate(world, user.id, part.state);
  };

  /** The claims of a person's token. */
  claimsOf(name: Person | "foreigner"): Record<string, unknown> {
    const traits = name === "me" ? traitsOf(this.role) : partOf(name).traits;
    return { uid: name, traits };
  }

  /** The key of the world that a person logs in to. */
  keyFor(name: Person | "foreigner") {
    return keyOf(name === "foreigner" ? this.foreignWorld : this.world);
  }

  join(name: Person) {
    return this.store.chat.join(this.world, this.room, this.ids[name]);
  }

  /** A message in the room. */
  async message(from: Person, body = `${SECRET} message`): Promise<number> {
    return this.say(this.room, from, { type: "text", body });
  }

  async say(
    channel: string,
    from: Person,
    content: Record<string, unknown>,
  ): Promise<number> {
    const sender = this.ids[from];
    const draft = { sender, content };
    const sent = await this.store.chat.send(this.world, channel, draft);
    return sent.event.id;
  }

  /** A direct channel. @param users the first one creates it. */
  async direct(...users: [Person, ...Person[]]): Promise<string> {
    const ids = users.map((name) => this.ids[name]);
    const made = await this.store.chat.direct(this.world, ids[0]!, ids, false);
    return made.channel.id;
  }

  /** A question, visible unless `changes` say otherwise. */
  async question(
    changes: QuestionChanges = {},
    from: Person = "neighbor",
  ): Promise<string> {
    const { world, room, ids } = this;
    const { questions } = this.store;
    const asked = await questions.ask(world, room, {
      sender: ids[from],
      content: `${SECRET} question`,
      state: "mod_queue",
    });
    const all = { state: "visible" as const, ...changes };
    await questions.update(world, room, asked.id, all, ids.moderator);
    return asked.id;
  }

  /** A poll with two options, open unless something else is said. */
  async poll(
    changes: Partial<PollDraft> = {},
  ): Promise<[string, string, string]> {
    const poll = await this.store.polls.create(this.world, this.room, {
      content: `${SECRET} poll`,
      options: [{ content: `${SECRET} yes` }, { content: `${SECRET} no` }],
      state: "open",
      ...changes,
    });
    return [poll.id, poll.options[0]!.id, poll.options[1]!.id];
  }

  async vote(poll: string, from: Person, ...options: string[]): Promise<void> {
    const { world, room, ids } = this;
    await this.store.polls.vote(world, room, poll, ids[from], options);
  }

  /** An announcement, shown unless something else is said. */
  async announcement(draft: Partial<AnnouncementDraft> = {}): Promise<string> {
    const { announcements } = this.store;
    const text = `${SECRET} announcement`;
    const made = await announcements.create(this.world, {
      text,
      state: "active",
      ...draft,
    });
    return made.id;
  }
}
