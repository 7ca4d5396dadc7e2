import { setTimeout as delay } from "node:timers/promises";
import { detach } from "../../runtime.js";

/** Timeout for a new connection to become ready. */
const CONNECT_TIMEOUT_MS = 3000;

/** Minimum and maximum delay between reconnection attempts. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

export const SILENT = "No answer.";

/** Maximum number of commands awaiting a reply. */
const MAX_COMMANDS = 20_000;

type CreateClient = (typeof import("@redis/client"))["createClient"];

const connectTo = (createClient: CreateClient, url: string) =>
  createClient({
    // Valkey has separate URL schemes for the same protocol.
    url: url.replace(/^valkey/, "redis"),
    // RESP3 allows a connection to both subscribe and send commands.
    RESP: 3,
    // The link itself reconnects, because a client that reconnects also resends lost messages.
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_COMMANDS,
    // A timer per command costs more than the command itself.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
  });

export type Client = ReturnType<typeof connectTo>;

interface LinkParts {
  url: string;
  /** Runs on each new connection before the connection is used. If this fails, the connection is dropped. */
  prepare: (client: Client) => Promise<void>;
  onUp: () => void;
}

/** Maintains one connection to Valkey, and reconnects when it is lost. */
export class ValkeyLink {
  readonly #parts: LinkParts;
  #client: Client | undefined;
  /** Drops the current connection, or the attempt to open one. */
  #cut: (fault: Error) => void = () => {};
  #closed = false;
  #fault: unknown;

  constructor(parts: LinkParts) {
    this.#parts = parts;
    detach(this.#keep());
  }

  get client(): Client | undefined {
    return this.#client?.isReady ? this.#client : undefined;
  }

  get fault(): unknown {
    return this.#fault;
  }

  /** Drops the current connection or attempt. The link then reconnects. */
  cut(fault: Error): void {
    this.#cut(fault);
  }

  close(): void {
    this.#closed = true;
    this.#cut(new Error("It was closed."));
  }

  async #keep(): Promise<void> {
    // Imported lazily: the package is installed only where VALKEY_URL is set.
    const { createClient } = await import("@redis/client");
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      const wasUp = await this.#connection(createClient);
      pause = wasUp ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
      if (this.#closed) return;
      // Jitter, because many nodes may lose their connections simultaneously.
      const wait = pause * (0.5 + Math.random() / 2);
      await delay(wait, undefined, { ref: false });
    }
  }

  /** Connects, and waits until the connection ends. @returns whether the connection was ever ready for use. */
  async #connection(createClient: CreateClient): Promise<boolean> {
    const { url } = this.#parts;
    let client: Client | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      const opened = (client = connectTo(createClient, url));
      await new Promise<never>((_, reject) => {
        this.#cut = reject;
        const late = () => reject(new Error(SILENT));
        timer = setTimeout(late, CONNECT_TIMEOUT_MS);
        opened.on("error", reject);
        this.#begin(opened).then(() => clearTimeout(timer), reject);
      });
    } catch (error) {
      this.#fault = error;
    }
    clearTimeout(timer);
    this.#cut = () => {};
    const wasUp = this.#client !== undefined;
    this.#client = undefined;
    client?.destroy();
    return wasUp;
  }

  async #begin(client: Client): Promise<void> {
    let isOver = false;
    client.once("end", () => (isOver = true));
    await client.connect();
    // Destroying a client that is still connecting does not prevent the connection.
    if (isOver) return client.destroy();
    await this.#parts.prepare(client);
    if (isOver) return;
    this.#client = client;
    this.#parts.onUp();
  }
}

export function reasonOf(fault: unknown): string {
  const { message, code } = (fault ?? {}) as Partial<NodeJS.ErrnoException>;
  return (message || code || "no answer").replace(/\s+/g, " ");
}
