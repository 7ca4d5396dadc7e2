import type { Authenticated, PublicUser, Pushes, SentEvent } from "../../schemas/live/index.js";
import { Channel, type ChannelParts } from "./channel.js";
import type { Client } from "./client.js";
import { Delivery } from "./delivery.js";
import { LiveError } from "./error.js";
import { Membership } from "./membership.js";
import { Sender } from "./outbox.js";
import { Pace } from "./pace.js";
import { ReadMark } from "./read-mark.js";
import { isOfWorld, type LiveState } from "./state.js";
import { Subscription } from "./subscription.js";
import { KnownUsers } from "./users.js";

const MAX_USERS = 10_000;

/** The fields of answers and pushes of chat. */
interface Heard {
  users?: Record<string, PublicUser>;
  members?: PublicUser[];
  sender?: PublicUser | string | null;
  next_event_id?: number;
  event?: SentEvent;
  results?: SentEvent[];
  events?: SentEvent[];
}

interface Entry extends ChannelParts {
  readonly channel: Channel;
  /** Whether the user could read it, when last seen; undefined if it was not known yet. */
  isReadable: boolean | undefined;
}

/** The channels in use, and the client's state of all chats. */
export class Channels {
  readonly #client: Client;
  readonly #report: (error: unknown) => void;
  readonly #byId = new Map<string, Entry>();
  readonly #users = new KnownUsers(MAX_USERS);
  readonly #pace = new Pace();
  #lastId = 0;
  #ended: LiveError | undefined;

  /** @param report takes errors without a caller. */
  constructor(client: Client, report: (error: unknown) => void) {
    this.#client = client;
    this.#report = report;
  }

  /** @returns the same object for the same id. */
  get(id: string): Channel {
    const known = this.#byId.get(id);
    if (known) return known.channel;
    const client = this.#client;
    const report = (error: unknown) => {
      if (!this.#ended) this.#report(error);
    };
    const membership = new Membership(client, id, report);
    const lastId = () => this.#lastId;
    const delivery = new Delivery(client, id, lastId, this.#pace, membership);
    const parts = {
      subscription: new Subscription(client, id, () => membership.isVolatile),
      membership,
      outbox: new Sender(client, delivery, this.#report),
      readMark: new ReadMark(client, id, report),
      users: this.#users,
    };
    const entry: Entry = {
      ...parts,
      channel: new Channel(client, id, parts),
      isReadable: isReadable(client.state, id) || undefined,
    };
    this.#byId.set(id, entry);
    if (this.#ended) end(entry, this.#ended);
    return entry.channel;
  }

  loggedIn({ limits }: Authenticated): void {
    this.#pace.loggedIn(limits);
    for (const [id, entry] of this.#byId) {
      entry.isReadable = isReadable(this.#client.state, id) || undefined;
      void entry.membership.renew();
      entry.subscription.renew();
    }
  }

  disconnected(): void {
    for (const { membership, subscription } of this.#byId.values()) {
      membership.disconnected();
      subscription.disconnected();
    }
  }

  /** Applies the server's answer to a command. */
  answered(name: string, result: unknown): void {
    if (name.startsWith("chat.")) this.#heard(result as Heard);
  }

  pushed(name: string, data: unknown): void {
    if (name.startsWith("chat.")) this.#heard(data as Heard);
    if (name === "chat.event") {
      const event = data as Pushes["chat.event"];
      this.#byId.get(event.channel)?.subscription.pushed(event);
    } else if (name === "room.delete") {
      const { id } = data as Pushes["room.delete"];
      const error = new LiveError("room.unknown", "The room was deleted.");
      this.#byId.get(id)?.subscription.end(error);
    } else if (isOfWorld(name)) this.#worldUpdated();
  }

  /** @param error why the client ended. */
  end(error: LiveError): void {
    this.#ended = error;
    for (const entry of this.#byId.values()) end(entry, error);
  }

  /**
   * A right was lost or came back: the server decides again. The user may also have
   * subscribed to a room, and lost the right, before the client got the room.
   */
  #worldUpdated(): void {
    for (const [id, entry] of this.#byId) {
      const before = entry.isReadable;
      entry.isReadable = isReadable(this.#client.state, id);
      if (entry.isReadable !== before) entry.subscription.renew();
    }
  }

  #heard(heard: Heard): void {
    const { users = {}, members = [], sender, next_event_id = 1 } = heard;
    this.#users.add([...members, ...Object.values(users)]);
    if (typeof sender === "object" && sender) this.#users.add([sender]);
    this.#lastId = Math.max(this.#lastId, next_event_id - 1);
    const { results = [], events = [], event = heard as SentEvent } = heard;
    for (const each of [...results, ...events, event]) {
      const { event_id, channel } = each;
      if (event_id === undefined) continue;
      this.#lastId = Math.max(this.#lastId, event_id);
      const entry = this.#byId.get(channel);
      entry?.readMark.saw(event_id);
      entry?.outbox.saw(each);
    }
  }
}

/** Ends the work of a channel, without an error if the program closed the client. */
function end(entry: Entry, error: LiveError): void {
  const { subscription, membership, outbox, readMark } = entry;
  subscription.close(error.code === "client.closed" ? undefined : error);
  membership.disconnected();
  outbox.end(error);
  readMark.end();
}

/** Whether a room shows its chat to the user; false for direct channels. */
function isReadable(state: LiveState | undefined, id: string): boolean {
  const room = state?.rooms.find((room) => room.id === id);
  return (
    room !== undefined &&
    room.permissions.includes("room:chat.read") &&
    room.modules.some(({ type }) => type === "chat.native")
  );
}
