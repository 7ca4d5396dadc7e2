import { type Readable, writable } from "svelte/store";
import type { Live, PublicUser } from "../../../client/index.js";
import { persist } from "../../../client/index.js";
import { moduleOf } from "../../lib/rights.js";
import type { Session } from "../session.js";
import type { Call } from "./call.js";
import { channelOf } from "./place.js";

/** A raised hand. */
export interface Hand {
  readonly user: string;
  readonly raised: string;
}

/** A room's call, as everyone who sees the room sees it. */
export interface RoomCall {
  /** Number of people, excluding screens. */
  readonly people: number;
  readonly speakers: readonly PublicUser[];
  readonly started: string | null;
  /** The raised hands in order. Without `call.moderate`, only their number. */
  readonly hands: readonly Hand[] | number;
  /** The position of the user's own hand. */
  readonly position?: number | undefined;
  /** The ids of the people who were invited to the stage; requires `call.moderate`. */
  readonly onStage: readonly string[];
}

/** A call in a direct channel that is ringing here. */
export interface Ring {
  readonly channel: string;
  readonly call: string;
  readonly from: PublicUser;
}

const NOBODY: RoomCall = { people: 0, speakers: [], started: null, hands: 0, onStage: [] };

/** Delay after a login before the calls of rooms that are not open are read, in milliseconds. */
const LIST_DELAY_MS = 2000;

/** Maximum number of rooms whose calls are read after a login; later changes are pushed. */
const MAX_LISTED = 30;

/**
 * The calls of a visit: those in all rooms, the user's current call, invitations, and ringing
 * calls.
 */
export class Calls {
  readonly #live: Live;
  readonly #rooms = writable<ReadonlyMap<string, RoomCall>>(new Map());
  /** The known calls of rooms, by room id. */
  readonly rooms: Readable<ReadonlyMap<string, RoomCall>> = this.#rooms;
  readonly #current = writable<Call | undefined>();
  /** The call that this device is in. It continues after the room's page is closed. */
  readonly current: Readable<Call | undefined> = this.#current;
  readonly #invited = writable<string | undefined>();
  /** The room to whose stage a moderator has invited the user. */
  readonly invited: Readable<string | undefined> = this.#invited;
  readonly #ring = writable<Ring | undefined>();
  readonly ring: Readable<Ring | undefined> = this.#ring;
  readonly #ends = new WeakMap<Call, () => void>();
  #call: Call | undefined;
  #ringing: Ring | undefined;

  constructor(live: Live) {
    this.#live = live;
    live.on("call.changed", ({ room, ...changes }) => this.#change(room, changes));
    live.on("hand.changed", ({ room, hands, position }) => this.#change(room, { hands, position }));
    live.on("call.stage", ({ room, on }) => {
      if (on) this.#invited.set(room);
      else this.#invited.update((now) => (now === room ? undefined : now));
    });
    live.on("call.ended", ({ room }) => {
      if (this.#call && channelOf(this.#call.place) === room) this.#call.ended();
    });
    live.on("call.ring", (ring) => this.#rings(ring));
    live.on("call.declined", ({ call, user }) => {
      if (user === live.state?.user.id) this.#silence(call);
    });
    live.on("call.over", ({ channel, call }) => {
      this.#silence(call);
      if (this.#call && channelOf(this.#call.place) === channel) this.#call.ended();
    });
    live.on("client.closed", () => this.#call?.leave());
    const listen = () => {
      // The end of a call may have been missed.
      this.#silence(this.#ringing?.call);
      setTimeout(() => void this.#list(), LIST_DELAY_MS);
    };
    live.on("authenticated", listen);
    if (live.isConnected) listen();
  }

  /** Reads a room's call, for a page that shows it. */
  async read(room: string): Promise<void> {
    const { on_stage = [], ...state } = await persist(() =>
      this.#live.call("call.state", { room }),
    );
    this.#change(room, { position: undefined, ...state, onStage: on_stage });
  }

  /** Invites a person to the stage, or sends them back to the audience. */
  async stage(room: string, user: string, on: boolean): Promise<void> {
    await this.#live.call("call.stage", { room, user, on });
    await this.read(room);
  }

  /** Makes a call the current one, and leaves the previous call. */
  hold(call: Call): void {
    this.#call?.leave();
    this.#call = call;
    this.#current.set(call);
    const channel = channelOf(call.place);
    if (this.#ringing?.channel === channel) this.#silence(this.#ringing.call);
    const end = call.subscribe(({ is, end: why }) => {
      // Any other reason for the end is shown until the person has read it.
      if (is === "over" && why === "left") queueMicrotask(() => this.forget(call));
    });
    this.#ends.set(call, end);
  }

  /** Dismisses a call that is over. */
  forget(call: Call): void {
    call.leave();
    this.#ends.get(call)?.();
    if (this.#call !== call) return;
    this.#call = undefined;
    this.#current.set(undefined);
  }

  /** Dismisses the invitation to a stage. */
  answered(): void {
    this.#invited.set(undefined);
  }

  /** Stops the ringing, here and for the caller. */
  async decline(): Promise<void> {
    const ring = this.#ringing;
    if (!ring) return;
    this.#silence(ring.call);
    await this.#live.call("call.decline", { channel: ring.channel });
  }

  #rings(ring: Ring): void {
    const isThere = this.#call && channelOf(this.#call.place) === ring.channel;
    if (isThere || ring.from.id === this.#live.state?.user.id) return;
    this.#ringing = ring;
    this.#ring.set(ring);
  }

  #silence(call: string | undefined): void {
    if (this.#ringing?.call !== call) return;
    this.#ringing = undefined;
    this.#ring.set(undefined);
  }

  #change(room: string, changes: Partial<RoomCall>): void {
    this.#rooms.update((all) =>
      new Map(all).set(room, { ...(all.get(room) ?? NOBODY), ...changes }),
    );
  }

  /** Reads the calls of all rooms, one after the other. */
  async #list(): Promise<void> {
    const rooms = (this.#live.state?.rooms ?? []).filter((it) => moduleOf(it, "call.native"));
    for (const { id } of rooms.slice(0, MAX_LISTED)) {
      if (!this.#live.isConnected) return;
      // The room may have been deleted by now.
      await this.read(id).catch(() => {});
    }
  }
}

const all = new WeakMap<Live, Calls>();

/** Returns the calls of a visit. */
export function callsOf({ live }: Pick<Session, "live">): Calls {
  const known = all.get(live) ?? new Calls(live);
  all.set(live, known);
  return known;
}
