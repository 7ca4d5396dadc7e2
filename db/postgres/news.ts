import { randomUUID } from "node:crypto";
import { escapeLiteral } from "pg";
import { isId, isOneOf, isRecord } from "../../schemas/plain/shapes.js";
import type { Caches } from "./cache.js";
import type { Noted, Staleness } from "./notes.js";
import { Throttle } from "../throttle.js";

/** The channel of notifications. */
export const CHANNEL = "foyer";

/** What a notification says. */
interface Payload extends Staleness {
  /** The {@link News} of the process that wrote. */
  from: string;
  world: string;
  /** Who else learns of the write by an event; empty for nobody. */
  told: string;
}

const isStated = isOneOf(true);
const isPayload = isRecord(
  { from: isId, world: isId, told: isId },
  { isStale: isStated, areRoomsStale: isStated, isIndexStale: isStated },
);

/** @returns undefined for a payload that no Foyer sent: every role of a database may notify. */
function payloadOf(text: string): Payload | undefined {
  try {
    const payload: unknown = JSON.parse(text);
    return isPayload(payload) ? (payload as Payload) : undefined;
  } catch {
    return undefined;
  }
}

/** How a process tells others of its writes, beside notifications. */
export interface Telling {
  /** Names those who learn of a write by an event; empty while nobody does. */
  told: () => string;
  /** Gets a world in which somebody wrote of whom an event tells, if it arrives. */
  onTold: (world: string) => void;
  /** Gets a world in which somebody wrote of whom no event tells. */
  onTouched: (world: string) => void;
  /** Some notifications may have been missed, so nobody knows who wrote where. */
  onMissed: () => void;
}

/** What a process tells others of its writes by notifications, and learns of theirs. */
export class News {
  /** How this process tells others beside notifications. */
  telling: Telling = {
    told: () => "",
    onTold: () => {},
    onTouched: () => {},
    onMissed: () => {},
  };
  readonly #name = randomUUID();
  readonly #caches: Caches;
  /** Any role may notify without end, so bad payloads cause one check a second at most. */
  readonly #unreadable = new Throttle(() => this.telling.onMissed(), 1000);
  /** Worlds with a commit whose answer was lost. A notification will tell if it happened. */
  readonly #doubtful = new Set<string>();

  /** @param caches forget what is stale. */
  constructor(caches: Caches) {
    this.#caches = caches;
  }

  /** The statement that notifies others of a write; undefined if nobody has to know. */
  statementFor(
    world: string,
    { isStale, areRoomsStale, isIndexStale, areRightsChanged }: Noted,
    quiet: boolean,
  ): string | undefined {
    const told = this.telling.told();
    const isAnyStale = isStale || areRoomsStale || isIndexStale;
    const isUrgent = isAnyStale || areRightsChanged;
    if (!isUrgent && (quiet || told !== "")) return undefined;
    const payload: Payload = {
      from: this.#name,
      world,
      ...(isStale && { isStale }),
      ...(areRoomsStale && { areRoomsStale }),
      ...(isIndexStale && { isIndexStale }),
      told,
    };
    return `SELECT pg_notify('${CHANNEL}', ${escapeLiteral(JSON.stringify(payload))})`;
  }

  /** Gets the payload of a notification. One that cannot be read may have been of any write. */
  heard(text: string): void {
    const payload = payloadOf(text);
    if (!payload) {
      this.#caches.forgetAll();
      return this.#unreadable.ask();
    }
    const { from, world, told, ...stale } = payload;
    const isOwn = from === this.#name;
    if (isOwn && !this.#doubtful.delete(world)) return;
    this.#caches.forget(world, stale);
    const own = this.telling.told();
    if (isOwn || told === "" || told !== own) this.telling.onTouched(world);
    else this.telling.onTold(world);
  }

  /** Notifications may have been missed. */
  missed(): void {
    this.#caches.forgetAll();
    this.telling.onMissed();
  }

  /** Stops reporting. */
  close(): void {
    this.#unreadable.close();
  }

  /** Nobody knows whether this process has just written in a world. */
  doubts(world: string): void {
    this.#doubtful.add(world);
    // It may have told of itself already.
    this.#caches.forget(world, { isStale: true, isIndexStale: true });
    this.telling.onTouched(world);
  }
}
