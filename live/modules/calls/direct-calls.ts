import type { FastifyBaseLogger } from "fastify";
import { type Author, SERVER } from "../../../db/contract/author.js";
import type { CallStore, EndedCall } from "../../../db/contract/call-store.js";
import type { ChatEvent, ChatStore } from "../../../db/contract/chat-store.js";
import { StoreError } from "../../../db/contract/store.js";
import { ANSWERED, secondsOf } from "../../../db/rules/call-rows.js";
import { type Clock, sleep } from "../../../db/runtime.js";
import type { CallEngines, ChannelContext } from "../../module.js";
import { LiveError } from "../../rules/problems.js";
import type { CallKeeper } from "./keeper.js";

/** Attempts to write how a call ended, and the delay between them, in milliseconds. */
const MAX_TRIES = 5;
const RETRY_DELAY_MS = 500;

/** Ports of direct calls. */
export interface DirectCallPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly calls: CallStore; readonly chat: ChatStore };
  readonly callEngines: CallEngines;
  readonly keeper: () => CallKeeper | undefined;
}

/** Returns how a direct call ended, as its message and the push `call.over` show it. */
export const outcomeOf = (seconds: number | undefined) =>
  seconds === undefined ? ({ missed: true } as const) : { seconds };

/**
 * Manages calls in direct channels. Each call begins with a message, which is later edited to show
 * how the call ended.
 */
export class DirectCalls {
  readonly #ports: DirectCallPorts;

  constructor(ports: DirectCallPorts) {
    this.#ports = ports;
  }

  /**
   * Returns the body of the message that starts a call, or undefined on a server without an engine,
   * where clients announce calls that are held elsewhere.
   */
  bodyFor(channel: string): Record<string, unknown> | undefined {
    const { livekit, bigbluebutton } = this.#ports.callEngines;
    if (livekit) return { type: "livekit" };
    return bigbluebutton && { type: "bbb", id: channel };
  }

  /** Returns the message of the call that is currently held in a channel. */
  async running(world: string, channel: string): Promise<ChatEvent | undefined> {
    const { store, callEngines } = this.#ports;
    if (!callEngines.livekit) return undefined;
    const { call } = await store.calls.get(world, channel);
    return call?.event == null ? undefined : store.chat.event(world, channel, call.event);
  }

  /** Starts the call that a message announces, so that the call rings. */
  async begin(world: string, { channel, sender, id: event }: ChatEvent, by: Author): Promise<void> {
    const { store, clock, callEngines } = this.#ports;
    if (!callEngines.livekit || sender === null) return;
    await this.#ports.keeper()?.watch(world, channel);
    const now = clock.date();
    const { isNew } = await store.calls.ring(world, channel, { caller: sender, event, now }, by);
    // Another member has started a call at the same time.
    if (!isNew)
      await this.#close(world, channel, { sender, replaces: event }, outcomeOf(undefined), by);
  }

  /** Edits a call's message to show how the call ended. */
  async ended(world: string, call: EndedCall, by: Author = SERVER): Promise<void> {
    const { caller, event, channel } = call;
    if (caller === null || event === null) return;
    await this.#close(
      world,
      channel,
      { sender: caller, replaces: event },
      outcomeOf(secondsOf(call)),
      by,
    );
  }

  async #close(
    world: string,
    channel: string,
    message: { readonly sender: string; readonly replaces: number },
    outcome: object,
    by: Author,
  ): Promise<void> {
    const content = { type: "call", body: { type: "livekit", ...outcome } };
    const { store, clock, log } = this.#ports;
    for (let tries = 1; ; tries++) {
      try {
        await store.chat.send(world, channel, { ...message, content }, by);
        return;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        // The caller may have been banned, or may have deleted the message.
        const isFinal = error.problem === "denied" || error.problem === "absent";
        if (isFinal || tries === MAX_TRIES) {
          log.debug({ err: error, world }, "a call ended without a line");
          return;
        }
      }
      await sleep(clock, RETRY_DELAY_MS);
    }
  }

  /**
   * Declines a call. A call that nobody has answered ends if its caller declines it, or if the
   * channel has only two members.
   * @throws {LiveError} `call.unknown` if there is no call, or if the user is already in the call.
   */
  async decline({ connection, channel, direct, me }: ChannelContext): Promise<void> {
    const { calls } = this.#ports.store;
    const { world, author } = connection;
    const { call, devices } = direct
      ? await calls.get(world, channel)
      : { call: undefined, devices: [] };
    const isThere = devices.some(({ user, joined }) => user === me.id && joined !== null);
    if (!direct || !call || isThere) throw new LiveError("call.unknown");
    const isCaller = call.caller === me.id;
    if (!isCaller) await calls.decline(world, channel, call.id, me.id, author);
    if (call.mostPeople >= ANSWERED || (!isCaller && direct.length > 2)) return;
    await this.#ports.keeper()?.end(world, channel, { id: call.id, by: author });
  }
}
