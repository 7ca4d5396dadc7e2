import {
  type CallEngine,
  type CallGrant,
  type CallParticipant,
  type CallSource,
  type CallTicket,
  type EngineEvent,
  EngineUnavailable,
  ForgedEvent,
} from "../../plugins/calls/engine.js";
import type { Server } from "./server.js";

/** The `Authorization` header of a {@link TestEngine}'s webhooks. */
const SIGNED = "signed by the engine";

/** An in-memory engine for tests. It reports nothing by itself: the test sends its events. */
export class TestEngine implements CallEngine {
  readonly origins = [];
  /** The devices by room and identity. */
  readonly calls = new Map<string, Map<string, CallParticipant>>();
  /** The tickets by identity. */
  readonly grants = new Map<string, CallGrant>();
  /** All requests that change something, as text. */
  readonly requests: string[] = [];
  /** Whether it leaves requests unanswered. */
  isSilent = false;
  #sessions = 0;
  #events = 0;

  async join(grant: CallGrant): Promise<CallTicket> {
    this.grants.set(grant.identity, grant);
    return { url: "wss://calls.example.org", token: grant.identity, expires: grant.expires };
  }

  async update(
    room: string,
    identity: string,
    change: Parameters<CallEngine["update"]>[2],
  ): Promise<void> {
    this.#ask(`update ${identity} ${JSON.stringify(change)}`);
    const device = this.calls.get(room)?.get(identity);
    if (!device) return;
    if ("mute" in change) {
      device.tracks = device.tracks.map((track) => ({
        ...track,
        muted: track.muted || track.source === change.mute,
      }));
    } else device.sources = [...change.sources];
  }

  async remove(room: string, identity: string): Promise<void> {
    this.#ask(`remove ${identity}`);
    this.calls.get(room)?.delete(identity);
  }

  async end(room: string): Promise<void> {
    this.#ask(`end ${room}`);
    this.calls.delete(room);
  }

  async participants(room: string): Promise<CallParticipant[]> {
    this.#ask();
    return [...(this.calls.get(room)?.values() ?? [])];
  }

  async rooms(): Promise<string[]> {
    this.#ask();
    return [...this.calls.keys()];
  }

  async check(): Promise<string | undefined> {
    return undefined;
  }

  async hear(body: string, authorization: string | undefined): Promise<EngineEvent | undefined> {
    if (authorization !== SIGNED) throw new ForgedEvent("forged");
    return JSON.parse(body) as EngineEvent;
  }

  #ask(request?: string): void {
    if (this.isSilent) throw new EngineUnavailable("livekit", "does not answer");
    if (request !== undefined) this.requests.push(request);
  }

  /** Puts a device with a ticket into its call, without an event. */
  enter(identity: string, session = `PA_${++this.#sessions}`): CallParticipant {
    const { room, hidden, sources } = this.grants.get(identity)!;
    const device = {
      identity,
      session,
      hidden,
      joined: Date.now(),
      sources: [...sources],
      tracks: [],
    };
    const call = this.calls.get(room) ?? new Map<string, CallParticipant>();
    this.calls.set(room, call.set(identity, device));
    return device;
  }

  /** Returns a device in a call; undefined if it is not there. */
  device(identity: string): CallParticipant | undefined {
    return this.calls.get(this.grants.get(identity)!.room)?.get(identity);
  }

  /** Returns an event about a device. */
  event(
    type: "joined" | "left" | "published" | "unpublished",
    device: CallParticipant,
    source: CallSource = "microphone",
    at = Date.now(),
  ): EngineEvent {
    const { identity, session, hidden, sources } = device;
    const { room } = this.grants.get(identity)!;
    const base = { id: `EV_${++this.#events}`, room, at, identity, session, hidden };
    if (type === "joined") return { ...base, type, sources };
    if (type === "left") return { ...base, type };
    return { ...base, type, source };
  }
}

/**
 * Sends an event to a server, as the engine does.
 * @returns the status of the answer.
 */
export async function sendEvent(
  server: Server,
  event: EngineEvent | string,
  authorization = SIGNED,
): Promise<number> {
  const { statusCode } = await server.app.inject({
    method: "POST",
    url: "/api/v1/calls/livekit/",
    headers: { "content-type": "application/webhook+json", authorization },
    payload: typeof event === "string" ? event : JSON.stringify(event),
  });
  return statusCode;
}
