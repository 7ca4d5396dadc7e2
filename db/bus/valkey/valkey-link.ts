import { setTimeout as delay } from "node:timers/promises";
import { detach } from "../../runtime.js";

/** How long a connection may take until it is used. */
const CONNECT_TIMEOUT_MS = 3000;

/** How long the link waits before it connects again: at first, and at most. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

export const SILENT = "No answer.";

/** How many commands may wait for their answers. */
const MAX_COMMANDS = 20_000;

type CreateClient = (typeof import("@redis/client"))["createClient"];

const connectTo = (createClient: CreateClient, url: string) =>
  createClient({
    // Valkey has schemes of its own for the same protocol.
    url: url.replace(/^valkey/, "redis"),
    // This protocol lets one connection listen and send commands.
    RESP: 3,
    // The link reconnects itself: the client would resend lost messages.
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_COMMANDS,
    // A timer for each command costs more than the command.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
  });

export type Client = ReturnType<typeof connectTo>;

interface LinkParts {
  url: string;
  /** Runs on each new connection before it is used. If it fails, so does the connection. */
  prepare: (client: Client) => Promise<void>;
  onUp: () => void;
}

/** Keeps one connection to Valkey, and connects again when it is lost. */
export class Link {
  readonly #parts: LinkParts;
  #client: Client | undefined;
  /** Gives up the present connection, or the attempt to make one. */
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

  /** Gives up the present connection. A new one follows. */
  cut(fault: Error): void {
    this.#cut(fault);
  }

  close(): void {
    this.#closed = true;
    this.#cut(new Error("It was closed."));
  }

  async #keep(): Promise<void> {
    // It is installed only where VALKEY_URL is set.
    const { createClient } = await import("@redis/client");
    let pause = FIRST_PAUSE_MS;
    while (!this.#closed) {
      const wasUp = await this.#connection(createClient);
      pause = wasUp ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS);
      if (this.#closed) return;
      // Many nodes lose their connections at the same time.
      const wait = pause * (0.5 + Math.random() / 2);
      await delay(wait, undefined, { ref: false });
    }
  }

  /** Connects, and waits for the end of the connection. @returns whether it was used. */
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
    // A client that is destroyed while it connects continues to connect.
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
