import type { ChannelState } from "../../schemas/live/index.js";
import { persist, type Client } from "./client.js";

/** Options for joining a channel. */
export interface JoinOptions {
  /** Whether it ends with the connections; the settings of the room say by default. Only moderators may choose. */
  volatile?: boolean;
}

/** The membership of the user in a channel. One that does not last is renewed on each connection. */
export class Membership {
  readonly #client: Client;
  readonly #channel: string;
  readonly #report: (error: unknown) => void;
  /** How to join again; undefined if there is no need. */
  #renewal: JoinOptions | undefined;
  /** Counts up whenever the attempt to join again that is under way no longer counts. */
  #attempt = 0;
  #ensuring: Promise<void> | undefined;

  /** @param report takes why the user could not join again. */
  constructor(client: Client, channel: string, report: (error: unknown) => void) {
    this.#client = client;
    this.#channel = channel;
    this.#report = report;
  }

  /** Whether it ends when the last connection unsubscribes. */
  get isVolatile(): boolean {
    return this.#renewal !== undefined;
  }

  get kind(): "lasting" | "volatile" | "none" {
    if (this.#lasts()) return "lasting";
    if (this.isVolatile) return "volatile";
    // There are no others in a direct channel.
    return this.#client.state && !this.#isOfRoom ? "lasting" : "none";
  }

  get #isOfRoom(): boolean {
    const { rooms = [] } = this.#client.state ?? {};
    return rooms.some(({ id }) => id === this.#channel);
  }

  /** Joins unless the user is a member. It waits for connections. */
  ensure(): Promise<void> {
    const join = async () => {
      await this.#client.connected();
      if (this.kind === "none") await this.join({});
    };
    this.#ensuring ??= persist(join).finally(() => (this.#ensuring = undefined));
    return this.#ensuring;
  }

  /** The server reported that the user is no member. @returns whether joining may help. */
  lost(): boolean {
    this.#forget();
    return this.#isOfRoom;
  }

  async join(options: JoinOptions): Promise<ChannelState> {
    const payload = { channel: this.#channel, ...options };
    const answer = await this.#client.call("chat.join", payload);
    this.#renewal = this.#lasts() ? undefined : options;
    return answer;
  }

  async leave(): Promise<void> {
    // A connection that begins meanwhile must not join again.
    this.#forget();
    await this.#client.call("chat.leave", { channel: this.#channel });
    this.#forget();
  }

  /** Joins again on a new connection, if the server forgot the membership with the old one. */
  async renew(): Promise<void> {
    const attempt = ++this.#attempt;
    if (this.#lasts()) this.#renewal = undefined;
    const renewal = this.#renewal;
    if (!renewal) return;
    const isOver = () => attempt !== this.#attempt;
    try {
      await persist(() => this.join(renewal), isOver);
    } catch (error) {
      if (isOver()) return;
      this.#forget();
      this.#report(error);
    }
  }

  disconnected(): void {
    this.#attempt++;
  }

  #forget(): void {
    this.#attempt++;
    this.#renewal = undefined;
  }

  #lasts(): boolean {
    const { channels = [] } = this.#client.state ?? {};
    return channels.some(({ id }) => id === this.#channel);
  }
}
