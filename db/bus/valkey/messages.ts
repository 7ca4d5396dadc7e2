import { received, type BusPayload } from "../shapes.js";
import { whole } from "./outbox.js";
import type { Client } from "./valkey-link.js";

type Kind = "messages" | "alive" | "bye";

/** The unit of data that a process sends through a Valkey channel. */
export interface Envelope {
  process: string;
  kind: Kind;
  /** A JSON array for the kind `messages`; empty for all other kinds. */
  body: string;
}

const KINDS: ReadonlySet<string> = new Set<Kind>(["messages", "alive", "bye"]);

/**
 * Serializes an envelope. The process comes first, so that a process can skip its own messages
 * without parsing them.
 */
export const textOf = ({ process, kind, body }: Envelope): string => `${process} ${kind} ${body}`;

const HEAD = /^([\w-]{1,100}) (\w{1,10}) /;

/** Maximum length of a serialized envelope, in characters. Foyer itself sends at most half this length. */
const MAX_TEXT = 16 * 1024 * 1024;

/**
 * Parses a serialized envelope.
 * @returns the envelope, or undefined if Foyer did not send the text.
 */
export function envelopeOf(text: string): Envelope | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const [head, process, kind] = HEAD.exec(text) ?? [];
  if (!head || !process || !kind || !KINDS.has(kind)) return undefined;
  return { process, kind: kind as Kind, body: text.slice(head.length) };
}

/**
 * Returns the messages in an envelope. Omits messages that no process of this installation could
 * have sent through this channel.
 * @param world the channel's world; undefined for the channel of all processes.
 */
export function messagesOf({ body }: Envelope, world: string | undefined): BusPayload[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    return [];
  }
  if (!Array.isArray(parsed)) return [];
  return parsed
    .flatMap((each) => received(whole(each)))
    .filter((message) => message.world === world);
}

interface ChannelsParts {
  prefix: string;
  /** Receives messages from a world's channel, or from the channel of all processes. Must not throw. */
  onMessage: (text: string, world: string | undefined) => void;
  /** Called when Valkey refuses a subscription to a world. */
  onRefused: (error: Error) => void;
}

/** A world whose channel this process is subscribed to. */
interface Joined {
  /** Joins minus leaves. */
  holders: number;
  isConfirmed: boolean;
}

/**
 * The channels to which a process is subscribed: one for all processes, and one for each world that
 * the process has joined.
 */
export class ValkeyChannels {
  readonly #parts: ChannelsParts;
  readonly #worlds = new Map<string, Joined>();
  #client: Client | undefined;

  constructor(parts: ChannelsParts) {
    this.#parts = parts;
  }

  /** Returns the name of a world's channel, or of the channel for all processes if `world` is undefined. */
  nameOf(world: string | undefined): string {
    const { prefix } = this.#parts;
    return world === undefined ? `${prefix}all` : `${prefix}world:${world}`;
  }

  /** Subscribes to a world's channel. The subscription is still in flight when this method returns. */
  join(world: string): void {
    const joined = this.#worlds.get(world);
    if (joined) {
      joined.holders++;
      return;
    }
    this.#worlds.set(world, { holders: 1, isConfirmed: false });
    const client = this.#client;
    if (!client?.isReady) return;
    this.#subscribe(client, [world]).catch((error: unknown) => {
      if (client.isReady) this.#parts.onRefused(error as Error);
    });
  }

  /**
   * Undoes one {@link join}. Once all joins are undone, the next {@link sweep} unsubscribes from
   * the world's channel.
   */
  leave(world: string): void {
    const joined = this.#worlds.get(world);
    if (joined && joined.holders > 0) joined.holders--;
  }

  /**
   * Unsubscribes from the worlds that this process has left; must be called regularly.
   * Unsubscribing in a sweep avoids a new subscription each time someone enters a world that had
   * just been left.
   */
  sweep(): void {
    const client = this.#client;
    if (!client?.isReady) return;
    const names: string[] = [];
    for (const [world, { holders, isConfirmed }] of this.#worlds) {
      // The client loses a subscription that is made while it cancels an unconfirmed subscription.
      if (holders > 0 || !isConfirmed) continue;
      this.#worlds.delete(world);
      names.push(this.nameOf(world));
    }
    if (names.length === 0) return;
    client.unsubscribe(names, this.#receive).catch(() => {});
  }

  /** Subscribes to all channels over a new connection. Rejects if Valkey refuses a subscription. */
  async begin(client: Client): Promise<void> {
    for (const [world, joined] of this.#worlds) {
      if (joined.holders === 0) this.#worlds.delete(world);
      else joined.isConfirmed = false;
    }
    this.#client = client;
    await this.#subscribe(client, [undefined, ...this.#worlds.keys()]);
  }

  async #subscribe(client: Client, worlds: (string | undefined)[]): Promise<void> {
    const names = worlds.map((world) => this.nameOf(world));
    await client.subscribe(names, this.#receive);
    if (this.#client !== client) return;
    for (const world of worlds) {
      const joined = world !== undefined && this.#worlds.get(world);
      if (joined) joined.isConfirmed = true;
    }
  }

  readonly #receive = (text: string, channel: string): void => {
    const { onMessage } = this.#parts;
    const all = this.nameOf(undefined);
    if (channel === all) return onMessage(text, undefined);
    const world = channel.slice(this.nameOf("").length);
    if (this.#worlds.get(world)?.holders) onMessage(text, world);
  };
}
