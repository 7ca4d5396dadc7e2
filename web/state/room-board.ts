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
  /** The types of its modules. */
  readonly types: readonly string[];
  /** Its own rules; undefined if the reader may not know them. */
  readonly rules: PermissionConfig | undefined;
  /** Its place in the order; undefined if the reader may not know it. */
  readonly priority: number | undefined;
  /** The room as people see it; undefined if the reader may not see it. */
  readonly sent: SentRoom | undefined;
}

export interface Rooms {
  /** In their order; undefined while they are loaded. */
  readonly rows: readonly RoomRow[] | undefined;
  /** The rules of the world; undefined if the reader may not know them. */
  readonly rules: PermissionConfig | undefined;
  readonly mayReorder: boolean;
  readonly mayCreate: boolean;
  /** Why the rooms cannot be read; undefined if they can. */
  readonly problem: string | undefined;
}

/** The fields to read of all rooms, beyond those that the server sends to every viewer. */
type Settings = Pick<RoomRow, "id" | "name" | "description" | "types"> & {
  rules: PermissionConfig;
  priority: number;
};

/** Whether everybody can see a room, or only users that a rule admits; unknown without the rules. */
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

/** An id moved to another place in a list. */
export function moved(ids: readonly string[], id: string, to: number): readonly string[] {
  const others = ids.filter((it) => it !== id);
  if (others.length === ids.length) return ids;
  const at = Math.min(Math.max(to, 0), others.length);
  return [...others.slice(0, at), id, ...others.slice(at)];
}

/** The rooms of a world, for hosts. */
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
  /** The order that was asked for and is not confirmed yet. */
  #wanted: readonly string[] | undefined;
  #isSending = false;
  #isReading = false;
  #readAgain = false;

  /** @param onProblem takes why an order could not be kept. */
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

  /** Reads everything again. */
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
   * Moves a room. It is shown there at once, and again where it was if the server
   * refuses.
   * @param to its new place, from 0.
   */
  move(id: string, to: number): void {
    const ids = this.#inOrder().map((row) => row.id);
    this.#wanted = moved(ids, id, to);
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
    // Not before it is known whether more can be read than people see.
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

  /** The rows in the order that was asked for, if there is one. */
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
      rules: undefined,
      priority: undefined,
      sent: room,
    }));
  }
}

const typesOf = (modules: readonly { type: string }[]): string[] => modules.map(({ type }) => type);

type Listed = Commands["room.config.list"]["result"][number];

const settingsOf = (room: Listed): Settings => ({
  id: room.id,
  name: room.name,
  description: room.description,
  types: typesOf(room.module_config),
  rules: room.trait_grants,
  priority: room.sorting_priority,
});
