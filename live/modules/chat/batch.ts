import type { ChatEvent } from "../../../db/contract/chat.js";
import type { UserRecord } from "../../../db/contract/store.js";
import type { PublicUser, SentEvent } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import type { Piece as Given } from "../../delivery/push.js";
import { Json, jsonOf, type Sendable } from "../../rules/encoding.js";
import { textFrame } from "../../socket/frame.js";
import { absentUser, sharedUser } from "./users.js";

/** How many bytes one batch has at most, unless its only event has more. */
const MAX_SIZE = 256 * 1024;

/** How many pieces are made of the same events. A subscriber that needs another one gets the longest. */
const MAX_PIECES = 64;

/** An event that is pushed. */
export interface Pushed {
  readonly name: "chat.event" | "chat.event.reaction";
  readonly event: ChatEvent;
  /** The users that it carries, by id. */
  readonly users: ReadonlyMap<string, UserRecord>;
}

/** The frame of an event. */
export interface Framed {
  /** The id of the event; Infinity for a push outside their order. */
  readonly id: number;
  readonly frame: Buffer;
}

/** The frames of some events, as some people get them. */
export class Piece {
  readonly #joined = new Map<number, Given>();

  constructor(readonly frames: readonly Framed[]) {}

  /** The frames but for the first, as one that all share. */
  after(skipped: number): Given {
    let joined = this.#joined.get(skipped);
    if (!joined) {
      const own = this.frames.slice(skipped).map(({ frame }) => frame);
      const bytes = own.length === 1 ? own[0]! : Buffer.concat(own);
      joined = { bytes, frames: own.length };
      this.#joined.set(skipped, joined);
    }
    return joined;
  }
}

/** An event, and its frame without the users. */
interface Text {
  readonly pushed: Pushed;
  readonly text: string;
}

function textOf(pushed: Pushed, world: World, now: number): string {
  const sent = sentEvent(pushed.event, (id) => {
    const user = pushed.users.get(id);
    return user && sharedUser(user, world, now, false);
  });
  return `["${pushed.name}",${jsonOf(sent).slice(0, -1)},"users":{`;
}

/**
 * Events in batches.
 * @param now in milliseconds since 1970.
 * @param most how many bytes one has at most, unless its only event has more.
 */
export function batchesOf(
  events: readonly Pushed[],
  world: World,
  now: number,
  most: number,
): Batch[] {
  const batches: Text[][] = [];
  let left = 0;
  for (const pushed of events) {
    const text = textOf(pushed, world, now);
    left -= text.length;
    if (left < 0) {
      batches.push([]);
      left = Math.min(MAX_SIZE, most) - text.length;
    }
    batches.at(-1)!.push({ pushed, text });
  }
  return batches.map((texts) => new Batch(texts, world, now));
}

/** Events that are pushed together: a piece for each set of users that a subscriber lacks. */
export class Batch {
  /** The ids of the events. */
  readonly ids: readonly number[];
  /** The ids of the users of all events. */
  readonly involved: readonly string[];
  /** The places of all users. */
  readonly #all: string;
  readonly #made = { others: new Map<string, Piece>(), admins: new Map<string, Piece>() };
  readonly #whole: { others?: Piece; admins?: Piece } = {};

  constructor(
    readonly texts: readonly Text[],
    readonly world: World,
    readonly now: number,
  ) {
    this.ids = texts.map(({ pushed: { name, event } }) =>
      name === "chat.event" ? event.id : Infinity,
    );
    const users = new Set(texts.flatMap(({ pushed }) => [...pushed.users.keys()]));
    this.involved = [...users];
    this.#all = String.fromCharCode(...this.involved.keys());
  }

  /**
   * The frames of all events, with each user in the first of them that involves it.
   * @param unknown a text with the place of each user that it carries, as a character.
   */
  pieceFor(admin: boolean, unknown: string): Piece {
    const made = admin ? this.#made.admins : this.#made.others;
    let piece = made.get(unknown);
    if (piece) return piece;
    if (made.size >= MAX_PIECES && unknown !== this.#all) {
      return this.pieceFor(admin, this.#all);
    }
    const places = [...unknown].map((place) => place.charCodeAt(0));
    const left = new Set(places.map((place) => this.involved[place]!));
    piece = this.#pieceOf(admin, () => left);
    made.set(unknown, piece);
    return piece;
  }

  /** The frames of all events, each with all its users: a receiver may not get the frames before. */
  wholePiece(admin: boolean): Piece {
    return (this.#whole[admin ? "admins" : "others"] ??= this.#pieceOf(
      admin,
      ({ users }) => new Set(users.keys()),
    ));
  }

  #pieceOf(admin: boolean, left: (pushed: Pushed) => Set<string>): Piece {
    return new Piece(
      this.texts.map(({ pushed, text }, i) => ({
        id: this.ids[i]!,
        frame: textFrame(`${text}${this.#usersOf(pushed, left(pushed), admin)}}}]`),
      })),
    );
  }

  /**
   * The users of an event as JSON.
   * @param left the users to send; the ones in the result are removed.
   */
  #usersOf(pushed: Pushed, left: Set<string>, admin: boolean): string {
    const users: string[] = [];
    for (const [id, user] of pushed.users) {
      if (!left.delete(id)) continue;
      users.push(`"${id}":${sharedUser(user, this.world, this.now, admin).text}`);
    }
    return users.join();
  }
}

type Content = SentEvent["content"];

/**
 * An event as clients get it. A member event shows the user as they are now.
 * @param userOf finds the public form of a user, without what only administrators see.
 */
export function sentEvent(
  event: ChatEvent,
  userOf: (id: string) => Sendable<PublicUser> | undefined,
): { readonly [K in keyof SentEvent]: Sendable<SentEvent[K]> } {
  const { id, channel, sender, timestamp, type, content, edited } = event;
  return {
    event_id: id,
    channel,
    sender,
    timestamp: new Date(timestamp).toISOString(),
    event_type: type,
    content:
      type === "channel.member" && sender !== null
        ? { ...(JSON.parse(content) as Content), user: userOf(sender) ?? absentUser(sender) }
        : new Json<Content>(content),
    edited: edited === null ? null : new Date(edited).toISOString(),
    replaces: event.replaces,
    // There may be a thousand.
    reactions: new Json<SentEvent["reactions"]>(JSON.stringify(event.reactions)),
  };
}
