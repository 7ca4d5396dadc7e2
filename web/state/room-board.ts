import { writable, type Readable } from "svelte/store";
import type { Commands, Live, SentRoom } from "../../client/index.js";
import { allows, type PermissionConfig } from "../../schemas/plain/permissions.js";
import { may } from "../lib/rights.js";
import { messageOf } from "./session.js";

/** A room in the list for hosts. */
export interface RoomRow {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** The types of the room's modules. */
  readonly types: readonly string[];
  /** Whether a stream or a frame of the room has no address yet. */
  readonly lacksAddress: boolean;
  /** The room's own rules, or undefined if the reader may not see them. */
  readonly rules: PermissionConfig | undefined;
  /** Sort position, or undefined if the reader may not see the position. */
  readonly priority: number | undefined;
  /** The room as attendees see it, or undefined if the reader may not see the room. */
  readonly sent: SentRoom | undefined;
}

export interface Rooms {
  /** The rooms in order, or undefined while they are loading. */
  readonly rows: readonly RoomRow[] | undefined;
  /** The world's rules, or undefined if the reader may not see them. */
  readonly rules: PermissionConfig | undefined;
  readonly mayReorder: boolean;
  readonly mayCreate: boolean;
  /** Why the rooms could not be read, or undefined if they could be read. */
  readonly problem: string | undefined;
}

/** The fields to read in addition to the fields that the server sends to every viewer. */
type Settings = Pick<RoomRow, "id" | "name" | "description" | "types" | "lacksAddress"> & {
  rules: PermissionConfig;
  priority: number;
};

/**
 * Returns `all` if everyone can see a room, `some` if a rule restricts who can see it, or undefined
 * if the rules are unknown.
 */
export function audienceOf(
  row: RoomRow,
  world: PermissionConfig | undefined,
): "all" | "some" | undefined {
  if (!world || !row.rules) return undefined;
  const noTraits = new Set<string>();
  return allows("world.view", noTraits, world) && allows("room.view", noTraits, world, row.rules)
    ? "all"
    : "some";
}

/** Moves an id to another position in a list. */
export function moved(ids: readonly string[], id: string, to: number): readonly string[] {
  const others = ids.filter((it) => it !== id);
  if (others.length === ids.length) return ids;
  const at = Math.min(Math.max(to, 0), others.length);
  return [...others.slice(0, at), id, ...others.slice(at)];
}

/** A world's rooms, for hosts. */
export class RoomBoard implements Readable<Rooms> {
  readonly #live: Live;
  readonly #store = writable<Rooms>({
    rows: undefined,
    rules: undefined,
    mayReorder: false,
    mayCreate: false,
    problem: undefined,
  });
  readonly subscribe = this.#store.subscribe;
  readonly #ends: (() => void)[];
  readonly #onProblem: (message: string) => void;
  #settings: Settings[] | undefined;
  #rules: PermissionConfig | undefined;
  #problem: string | undefined;
  /** The requested order, until the server has confirmed it. */
  #wanted: readonly string[] | undefined;
  #isSending = false;
  #isReading = false;
  #readAgain = false;

  /** @param onProblem receives the reason why an order could not be saved. */
  constructor(live: Live, onProblem: (message: string) => void) {
    this.#live = live;
    this.#onProblem = onProblem;
    const read = () => this.refresh();
    this.#ends = [
      live.on("client.state", () => this.#show()),
      live.on("world.changed", read),
      live.on("room.create", read),
      live.on("room.delete", read),
      live.on("authenticated", read),
    ];
    void this.refresh();
  }

  close(): void {
    this.#ends.forEach((end) => end());
  }

  /** Reloads the rooms' settings and the world's rules, if the user may read them. */
  async refresh(): Promise<void> {
    if (this.#isReading) {
      this.#readAgain = true;
      return;
    }
    this.#isReading = true;
    try {
      const state = await this.#live.connected();
      this.#settings = may(state, "room:update")
        ? (await this.#live.call("room.config.list")).map(settingsOf)
        : undefined;
      this.#rules = may(state, "world:update")
        ? (await this.#live.call("world.config.get")).trait_grants
        : undefined;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = messageOf(error);
    }
    this.#isReading = false;
    this.#show();
    if (!this.#readAgain) return;
    this.#readAgain = false;
    void this.refresh();
  }

  /**
   * Moves a room. The move is shown immediately, and reverted if the server refuses it.
   * @param to the new position, from 0.
   */
  move(id: string, to: number): void {
    const ids = this.#inOrder().map((row) => row.id);
    this.#reorder(moved(ids, id, to));
  }

  /** Moves rooms to the beginning or the end, in their current order. */
  moveToEdge(chosen: ReadonlySet<string>, edge: "first" | "last"): void {
    const ids = this.#inOrder().map((row) => row.id);
    const some = ids.filter((id) => chosen.has(id));
    const others = ids.filter((id) => !chosen.has(id));
    this.#reorder(edge === "first" ? [...some, ...others] : [...others, ...some]);
  }

  #reorder(ids: readonly string[]): void {
    this.#wanted = ids;
    this.#show();
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#wanted) {
      const order = this.#wanted;
      try {
        const payload = [...order];
        const all = await this.#live.call("room.config.reorder", payload);
        this.#settings = all.map(settingsOf);
        if (this.#wanted === order) this.#wanted = undefined;
      } catch (error) {
        this.#wanted = undefined;
        this.#onProblem(messageOf(error));
        void this.refresh();
      }
    }
    this.#isSending = false;
    this.#show();
  }

  #show(): void {
    const { state } = this.#live;
    // Show no rows before it is known whether the user can read more than attendees see.
    const isKnown = this.#settings || !may(state, "room:update");
    this.#store.set({
      rows: state && isKnown ? this.#inOrder() : undefined,
      rules: this.#rules,
      mayReorder: may(state, "room:update"),
      // Rooms are created and edited over the HTTP API.
      mayCreate: may(state, "world:rooms.create.stage") && may(state, "world:api"),
      problem: this.#problem,
    });
  }

  /** The rows, in the requested order if there is one. */
  #inOrder(): RoomRow[] {
    const rows = this.#rows();
    if (!this.#wanted) return rows;
    const places = new Map(this.#wanted.map((id, at) => [id, at]));
    const place = ({ id }: RoomRow) => places.get(id) ?? rows.length;
    return rows.sort((a, b) => place(a) - place(b));
  }

  #rows(): RoomRow[] {
    const rooms = this.#live.state?.rooms ?? [];
    if (this.#settings) {
      const sent = new Map(rooms.map((room) => [room.id, room]));
      return this.#settings.map((it) => ({ ...it, sent: sent.get(it.id) }));
    }
    return rooms.map((room) => ({
      id: room.id,
      name: room.name,
      description: room.description ?? "",
      types: typesOf(room.modules),
      lacksAddress: lackAddress(room.modules),
      rules: undefined,
      priority: undefined,
      sent: room,
    }));
  }
}

const typesOf = (modules: readonly { type: string }[]): string[] => modules.map(({ type }) => type);

/** For each module type, the setting without which the module shows nothing. */
const ADDRESSES: Readonly<Record<string, string>> = {
  "livestream.native": "hls_url",
  "livestream.youtube": "ytid",
  "livestream.iframe": "url",
  "page.iframe": "url",
};

const lackAddress = (modules: readonly { type: string; config?: unknown }[]): boolean =>
  modules.some(({ type, config }) => {
    const name = ADDRESSES[type];
    if (name === undefined) return false;
    const value = (config as Record<string, unknown> | undefined)?.[name];
    return typeof value !== "string" || value.trim() === "";
  });

type Listed = Commands["room.config.list"]["result"][number];

const settingsOf = (room: Listed): Settings => ({
  id: room.id,
  name: room.name,
  description: room.description,
  types: typesOf(room.module_config),
  lacksAddress: lackAddress(room.module_config),
  rules: room.trait_grants,
  priority: room.sorting_priority,
});
