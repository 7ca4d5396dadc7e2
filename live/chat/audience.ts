import type { ChatEvent } from "../../db/chat.js";
import type { UserRecord } from "../../db/store.js";
import type { World } from "../../schemas/worlds.js";
import type { Connection } from "../connection.js";
import { textFrame } from "../frame.js";
import type { Live } from "../live.js";
import { inSlices } from "../slices.js";
import type { WorldState } from "../world-state.js";
import { sentEvent } from "./events.js";
import { jsonOfUser, sharedUser } from "./users.js";

/** How many users of a channel are remembered as told of. */
const MAX_INVOLVED = 5000;

/** How many users of pages are remembered for one connection. */
const MAX_TOLD = 2000;

/** How many frames are made of one event. Whoever needs another one gets the longest. */
const MAX_FRAMES = 64;

/** Counts up with all that people are told of users. */
let moment = 0;

/** A connection with its subscriptions. */
export class Listener {
  /** The ids of the channels. */
  readonly channels = new Set<string>();
  /** The moment before which it was told of nobody. */
  #since = 0;
  /** Whom it was told of since in answers. */
  readonly #told = new Set<string>();

  constructor(readonly connection: Connection) {}

  /** From now on, nobody counts as told of. */
  forget(): void {
    this.#since = ++moment;
    this.#told.clear();
  }

  /** An answer tells of these users. */
  tell(users: Iterable<string>): void {
    if (this.#told.size > MAX_TOLD) this.#told.clear();
    for (const id of users) this.#told.add(id);
  }

  /** @param pushed the moment at which all subscribers of a channel were told last. */
  knows(user: string, pushed = -1): boolean {
    return pushed > this.#since || this.#told.has(user);
  }
}

/** A connection that listens to a channel. */
export class Subscription {
  /** What came while the answer to the subscription was made. */
  #waiting: { id: number; frame: Buffer }[] | undefined = [];
  /** The id of the last event that is not pushed. */
  #since = 0;

  constructor(readonly listener: Listener) {}

  /** Begins again: pushes wait until {@link start}. */
  hold(): void {
    this.#waiting ??= [];
  }

  /** Pushes what came after an event, and whatever comes from now on. */
  start(since = this.#since): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    this.#since = since;
    waiting.sort((a, b) => a.id - b.id);
    for (const { id, frame } of waiting) this.push(id, frame);
  }

  wants(id: number): boolean {
    const { ended } = this.listener.connection;
    return !ended && (this.#waiting !== undefined || id > this.#since);
  }

  /** @param id the id of an event; Infinity for what has no place in their order. */
  push(id: number, frame: Buffer): void {
    if (this.#waiting) this.#waiting.push({ id, frame });
    else if (id > this.#since) this.listener.connection.push(frame);
  }
}

/** An event that is pushed. */
export interface Pushed {
  readonly name: "chat.event" | "chat.event.reaction";
  readonly event: ChatEvent;
  /** The users of whom it tells, by id. */
  readonly users: ReadonlyMap<string, UserRecord>;
}

/** Those who listen to a channel in this process. */
export class Audience {
  readonly subscriptions = new Map<Connection, Subscription>();
  /** When all subscribers were told last of each user; who was last is last. */
  readonly #told = new Map<string, number>();

  constructor(
    readonly channel: string,
    readonly isDirect: boolean,
  ) {}

  /**
   * Pushes an event to those who may read it now, with the users whom each was not
   * told of.
   * @returns how many bytes that were.
   */
  async push(
    live: Live,
    state: WorldState,
    pushed: Pushed,
    to: Iterable<Subscription> = [...this.subscriptions.values()],
  ): Promise<number> {
    const { name, event } = pushed;
    const involved = [...pushed.users.keys()];
    const id = name === "chat.event" ? event.id : Infinity;
    const began = ++moment;
    const before = involved.map((user) => this.#told.get(user));
    const frames = new Frames(pushed, state.world.value);
    let bytes = 0;
    await inSlices(to, (subscription) => {
      const { listener } = subscription;
      if (!subscription.wants(id)) {
        // It is not told of the users of this event, as others are.
        listener.forget();
        return;
      }
      const view = live.viewOf(listener.connection, state);
      if (!this.isDirect && !view.reads(this.channel)) {
        listener.forget();
        return;
      }
      let unknown = "";
      for (let i = 0; i < involved.length; i++) {
        if (!listener.knows(involved[i]!, before[i]))
          unknown += String.fromCharCode(i);
      }
      const frame = frames.of(view.managesUsers, unknown);
      bytes += frame.length;
      subscription.push(id, frame);
    });
    this.#note(involved, began);
    return bytes;
  }

  /** When a subscriber was told of a user, as {@link Listener.knows} takes it. */
  toldOf(user: string, by: Connection): number | undefined {
    return this.subscriptions.has(by) ? this.#told.get(user) : undefined;
  }

  #note(users: readonly string[], at: number): void {
    for (const user of users) {
      this.#told.delete(user);
      this.#told.set(user, at);
    }
    for (const user of this.#told.keys()) {
      if (this.#told.size <= MAX_INVOLVED) break;
      this.#told.delete(user);
    }
  }
}

/** The frames of one event: one for each set of users that somebody does not know. */
class Frames {
  /** The frame without its users. */
  readonly #text: string;
  readonly #users: readonly UserRecord[];
  /** The places of all users. */
  readonly #all: string;
  readonly #made = {
    others: new Map<string, Buffer>(),
    admins: new Map<string, Buffer>(),
  };

  constructor(
    pushed: Pushed,
    readonly world: World,
  ) {
    const { name, event, users } = pushed;
    this.#users = [...users.values()];
    const sent = sentEvent(event, (id) => {
      const user = users.get(id);
      return user && sharedUser(user, world, false);
    });
    this.#text = `["${name}",${JSON.stringify(sent).slice(0, -1)},"users":{`;
    this.#all = String.fromCharCode(...this.#users.keys());
  }

  /** @param unknown a text with the place of each unknown user as a character. */
  of(admin: boolean, unknown: string): Buffer {
    const made = admin ? this.#made.admins : this.#made.others;
    let frame = made.get(unknown);
    if (frame) return frame;
    if (made.size >= MAX_FRAMES && unknown !== this.#all) {
      return this.of(admin, this.#all);
    }
    const told = [...unknown].map((place) => {
      const user = this.#users[place.charCodeAt(0)]!;
      return `"${user.id}":${jsonOfUser(user, this.world, admin)}`;
    });
    frame = textFrame(`${this.#text}${told.join()}}}]`);
    made.set(unknown, frame);
    return frame;
  }
}
