import type { Moderation, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import { quietUntil } from "../../../schemas/plain/guests.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { PushPipeline } from "../../delivery/push.js";
import type { CommandContext, CommandTable, EntryHandlers } from "../../module.js";
import { Json } from "../../rules/encoding.js";
import { unknownUser } from "../../rules/problems.js";
import { pushFrame } from "../../socket/frame.js";

// The guests who wait for approval. Their pages ask again every few seconds.

/** A guest who has not asked for this time is no longer in the queue, in milliseconds. */
const GONE_AFTER_MS = 2 * 60_000;

/** Maximum number of guests in a list of those who wait. */
const MAX_LISTED = 200;

/** Minimum interval between pushes of the queue's length, in milliseconds. */
const PUSH_INTERVAL_MS = 300;

/** Ports of the commands for guests. */
export interface GuestPorts {
  readonly clock: Clock;
  readonly store: { readonly users: UserStore };
}

/** Commands that answer guests who wait for approval. */
export const guests: CommandTable<"guest.list" | "guest.approve" | "guest.reject", GuestPorts> = {
  "guest.list": { requires: "user.manage", handler: list },
  "guest.approve": { requires: "user.manage", handler: answer(true) },
  "guest.reject": { requires: "user.manage", handler: answer(false) },
};

async function list({ ports, connection }: CommandContext<GuestPorts>) {
  const since = ports.clock.date() - GONE_AFTER_MS;
  const { count, guests } = await ports.store.users.waiting(connection.world, since, MAX_LISTED);
  return {
    count,
    guests: guests.map(({ id, stored, created }) => ({
      id,
      profile: new Json<Record<string, unknown>>(stored.profile ?? "{}"),
      since: new Date(created).toISOString(),
    })),
  };
}

function answer(admits: boolean) {
  return async (
    { ports, connection, world }: CommandContext<GuestPorts>,
    { id }: Commands["guest.approve"]["payload"],
  ) => {
    const { users } = ports.store;
    const user = typeof id === "string" ? await users.get(connection.world, id) : undefined;
    if (!user || user.deleted) throw unknownUser();
    const quiet = admits ? quietUntil(world.value.config, ports.clock.date()) : undefined;
    const { author } = connection;
    const after = await users.answer(connection.world, user.id, admits, quiet, author);
    // A guest about whom a moderator has already decided is no longer waiting.
    return { state: after.moderation_state as Moderation["state"] };
  };
}

/** Ports of the pushes about guests. */
export interface GuestPushPorts extends GuestPorts {
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
}

/** Pushes the number of guests who wait for approval to managers of users. */
export class GuestPushes {
  readonly #ports: GuestPushPorts;
  readonly handlers: EntryHandlers;

  constructor(ports: GuestPushPorts) {
    this.#ports = ports;
    this.handlers = {
      "user.entered": ({ world, waits }) => waits && this.#changed(world),
      "user.updated": ({ world, waits }) => waits && this.#changed(world),
      "user.moderated": ({ world, waited }) => waited && this.#changed(world),
    };
  }

  #changed(world: string): void {
    const { clock, outboxes, pushes, store } = this.#ports;
    const push = () =>
      pushes.push({ world }, async (send) => {
        const since = clock.date() - GONE_AFTER_MS;
        const { count } = await store.users.waiting(world, since, 0);
        const frame = pushFrame("guest.waiting", { count });
        await send((connection, view) =>
          view.managesUsers && connection.login!.changes ? frame : undefined,
        );
      });
    outboxes.at(world).later("guests", push, { interval: PUSH_INTERVAL_MS, collects: true });
  }
}
