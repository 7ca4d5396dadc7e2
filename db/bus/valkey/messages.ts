import { received, type Sent } from "../shapes.js";
import { whole } from "./outbox.js";
import type { Client } from "./valkey-link.js";

type Kind = "messages" | "alive" | "bye";

/** The unit that one process sends through one channel of Valkey. */
export interface Envelope {
  process: string;
  kind: Kind;
  /** The messages as a JSON array; empty for other kinds. */
  body: string;
}

const KINDS: ReadonlySet<string> = new Set<Kind>(["messages", "alive", "bye"]);

/** An envelope as text. The process comes first, so that no process parses its own messages. */
export const textOf = ({ process, kind, body }: Envelope): string => `${process} ${kind} ${body}`;

const HEAD = /^([\w-]{1,100}) (\w{1,10}) /;

/** The longest text, in characters. Foyer's own texts have at most half as many. */
const MAX_TEXT = 16 * 1024 * 1024;

/** @returns undefined for a text that no process of Foyer has sent. */
export function envelopeOf(text: string): Envelope | undefined {
  if (text.length > MAX_TEXT) return undefined;
  const [head, process, kind] = HEAD.exec(text) ?? [];
  if (!head || !process || !kind || !KINDS.has(kind)) return undefined;
  return { process, kind: kind as Kind, body: text.slice(head.length) };
}

/**
 * The messages in an envelope, without any that no process of this Foyer sends there.
 * @param world of the channel; undefined for the channel of all processes.
 */
export function messagesOf({ body }: Envelope, world: string | undefined): Sent[] {
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
  /** Takes messages of the channel of a world, or of all processes. It must not throw. */
  onMessage: (text: string, world: string | undefined) => void;
  /** Valkey has refused to subscribe to a world. */
  onRefused: (error: Error) => void;
}

/** A world whose channel this process listens to. */
interface Joined {
  /** How often it was joined, less how often it was left. */
  holders: number;
  isConfirmed: boolean;
}

/** The channels to which a process listens: one of all processes, and one of each world that it has joined. */
export class Channels {
  readonly #parts: ChannelsParts;
  readonly #worlds = new Map<string, Joined>();
  #client: Client | undefined;

  constructor(parts: ChannelsParts) {
    this.#parts = parts;
  }

  /** The name of the channel of a world, or of all processes. */
  nameOf(world: string | undefined): string {
    const { prefix } = this.#parts;
    return world === undefined ? `${prefix}all` : `${prefix}world:${world}`;
  }

  /** Listens to a world. The subscription is on its way to Valkey when this returns. */
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

  /** Takes back one {@link join}. With the last one, nothing comes from that world any more. */
  leave(world: string): void {
    const joined = this.#worlds.get(world);
    if (joined && joined.holders > 0) joined.holders--;
  }

  /**
   * Ends the subscriptions to worlds that were left. It has to be called often. A world that
   * many people enter and leave in turn is not subscribed to again each time.
   */
  sweep(): void {
    const client = this.#client;
    if (!client?.isReady) return;
    const names: string[] = [];
    for (const [world, { holders, isConfirmed }] of this.#worlds) {
      // The client loses a subscription that begins while an unconfirmed one ends.
      if (holders > 0 || !isConfirmed) continue;
      this.#worlds.delete(world);
      names.push(this.nameOf(world));
    }
    if (names.length === 0) return;
    client.unsubscribe(names, this.#receive).catch(() => {});
  }

  /** Listens by a new connection. It rejects if Valkey refuses a channel. */
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
