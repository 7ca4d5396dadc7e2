import {
  AccessToken,
  ParticipantInfo,
  RoomConfiguration,
  TrackSource,
  type VideoGrant,
  type WebhookEvent,
  WebhookReceiver,
} from "livekit-server-sdk";
import type { CallSettings } from "../../config.js";
import { clockFault, EngineHttp, type ObserveRequest } from "./engine-http.js";
import {
  type ParticipantChange,
  type CallEngine,
  type CallGrant,
  type CallParticipant,
  type CallSource,
  type CallTicket,
  type EngineEvent,
  EngineUnavailable,
  ForgedEvent,
} from "./engine.js";

/**
 * LiveKit's track sources for each source. In events and participant lists, a shared screen is
 * represented by its picture alone.
 */
const SOURCES: Record<CallSource, TrackSource[]> = {
  microphone: [TrackSource.MICROPHONE],
  camera: [TrackSource.CAMERA],
  screen: [TrackSource.SCREEN_SHARE, TrackSource.SCREEN_SHARE_AUDIO],
};

/** The names of track sources in the engine's JSON. */
const NAMES: Record<number, string> = {
  [TrackSource.MICROPHONE]: "MICROPHONE",
  [TrackSource.CAMERA]: "CAMERA",
  [TrackSource.SCREEN_SHARE]: "SCREEN_SHARE",
  [TrackSource.SCREEN_SHARE_AUDIO]: "SCREEN_SHARE_AUDIO",
};

const ALL = Object.keys(SOURCES) as CallSource[];

/** Maximum lifetime of a ticket, in seconds. */
const MAX_TICKET = 600;

/** Lifetime of a token with which the server calls the engine. */
const API_TOKEN_TTL = "1m";

/**
 * Tolerated difference between the engine's clock and this machine's clock in the verification of a
 * webhook, in seconds.
 */
const CLOCK_TOLERANCE = 60;

/** A JSON object from the engine. */
type Json = Record<string, unknown>;

/**
 * Runs calls on LiveKit. The SDK signs tokens and verifies webhooks. The SDK's HTTP client is not
 * used, because it limits neither redirects nor the size of a response.
 */
export class LiveKit implements CallEngine {
  readonly origins: readonly string[];
  readonly #settings: NonNullable<CallSettings["livekit"]>;
  readonly #http: EngineHttp;
  readonly #receiver: WebhookReceiver;

  constructor(settings: NonNullable<CallSettings["livekit"]>, observe?: ObserveRequest) {
    this.#settings = settings;
    this.#http = new EngineHttp("livekit", observe);
    this.#receiver = new WebhookReceiver(settings.key, settings.secret);
    // After a refused websocket connection, the browser's SDK requests the reason over HTTP.
    this.origins = [settings.url, settings.url.replace(/^ws/, "http")];
  }

  async join(grant: CallGrant): Promise<CallTicket> {
    const { room, identity, name, metadata, sources, hidden, limit } = grant;
    const now = Math.floor(Date.now() / 1000);
    const expires = Math.min(Math.floor(grant.expires), now + MAX_TICKET);
    const token = new AccessToken(this.#settings.key, this.#settings.secret, {
      identity,
      name,
      metadata,
      // The SDK replaces a lifetime of 0 with six hours.
      ttl: Math.max(1, expires - now),
    });
    token.addGrant({ ...permissionOf(sources, hidden), roomJoin: true, room });
    if (limit !== undefined) {
      const config = new RoomConfiguration({ maxParticipants: limit });
      // Plain JSON, because the signing library clones objects without their classes.
      token.roomConfig = config.toJson() as unknown as RoomConfiguration;
    }
    return { url: this.#settings.url, token: await token.toJwt(), expires };
  }

  async update(room: string, identity: string, change: ParticipantChange): Promise<void> {
    if ("mute" in change) return this.#mute(room, identity, change.mute);
    const { sources, hidden } = change;
    const { canPublishSources, ...others } = permissionOf(sources, hidden);
    const permission = {
      ...others,
      canPublishSources: canPublishSources.map((source) => NAMES[source]),
    };
    await this.#call(
      "UpdateParticipant",
      { room, identity, permission },
      { roomAdmin: true, room },
    );
  }

  async #mute(room: string, identity: string, source: CallSource): Promise<void> {
    const found = await this.#call("GetParticipant", { room, identity }, { roomAdmin: true, room });
    if (found === undefined) return;
    const { tracks } = this.#read(() => participantInfo(found));
    for (const { sid, muted, source: of } of tracks) {
      if (muted || !SOURCES[source].includes(of)) continue;
      const body = { room, identity, trackSid: sid, muted: true };
      await this.#call("MutePublishedTrack", body, { roomAdmin: true, room });
    }
  }

  async remove(room: string, identity: string): Promise<void> {
    await this.#call("RemoveParticipant", { room, identity }, { roomAdmin: true, room });
  }

  async end(room: string): Promise<void> {
    await this.#call("DeleteRoom", { room }, { roomCreate: true });
  }

  async participants(room: string): Promise<CallParticipant[]> {
    const found = await this.#call("ListParticipants", { room }, { roomAdmin: true, room });
    return this.#read(() =>
      listIn(found, "participants").map((info) => participantOf(participantInfo(info))),
    );
  }

  async rooms(): Promise<string[]> {
    const found = await this.#call("ListRooms", {}, { roomList: true });
    return this.#read(() => listIn(found, "rooms").map(({ name }) => String(name)));
  }

  async check(): Promise<string | undefined> {
    const { apiUrl } = this.#settings;
    try {
      await this.rooms();
      return undefined;
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
      return `${error.fault} (${apiUrl})`;
    }
  }

  async hear(body: string, authorization: string | undefined): Promise<EngineEvent | undefined> {
    let event: WebhookEvent;
    try {
      event = await this.#receiver.receive(body, authorization, false, CLOCK_TOLERANCE);
    } catch (error) {
      throw new ForgedEvent("The webhook is not from LiveKit.", { cause: error });
    }
    return eventOf(event);
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /**
   * Calls a method of the engine's room service.
   * @returns the response, or undefined if there is no such room or participant.
   */
  async #call(method: string, body: object, grants: VideoGrant): Promise<unknown> {
    const { apiUrl, key, secret } = this.#settings;
    const token = new AccessToken(key, secret, { ttl: API_TOKEN_TTL });
    token.addGrant(grants);
    const request = {
      url: `${apiUrl}/twirp/livekit.RoomService/${method}`,
      body: JSON.stringify(body),
      headers: {
        authorization: `Bearer ${await token.toJwt()}`,
        "content-type": "application/json",
      },
    };
    return this.#http.ask(request, ({ status, text, skew }) => {
      if (status === 200) return this.#read(() => JSON.parse(text) as unknown);
      const late = clockFault(skew);
      if (late !== undefined) throw this.#http.unavailable(late);
      if (status === 401 || status === 403) {
        throw this.#http.unavailable("refuses LIVEKIT_API_KEY or LIVEKIT_API_SECRET");
      }
      if (status === 404 && /"code":\s*"not_found"/.test(text)) return undefined;
      throw this.#http.unavailable(`answers with the status ${status}`);
    });
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.#http.unavailable("sends an answer that cannot be read", error);
    }
  }
}

/**
 * Returns the permissions that each token and each change sets. Nobody may send data over the
 * engine, because all messages go through Foyer.
 */
const permissionOf = (sources: readonly CallSource[], hidden: boolean) => ({
  canSubscribe: true,
  canPublish: sources.length > 0,
  canPublishSources: sources.flatMap((source) => SOURCES[source]),
  canPublishData: false,
  canUpdateOwnMetadata: false,
  hidden,
});

/** Returns a list from a response. Responses omit empty lists. */
function listIn(answer: unknown, name: string): Json[] {
  const list = ((answer ?? {}) as Json)[name] ?? [];
  if (!Array.isArray(list)) throw new TypeError(`${name} is not a list`);
  return list as Json[];
}

const participantInfo = (value: unknown): ParticipantInfo =>
  ParticipantInfo.fromJson(value as Parameters<typeof ParticipantInfo.fromJson>[0], {
    ignoreUnknownFields: true,
  });

const sourceOf = (of: TrackSource): CallSource | undefined =>
  ALL.find((source) => SOURCES[source][0] === of);

function sourcesOf({ permission }: ParticipantInfo): CallSource[] {
  if (!permission?.canPublish) return [];
  const { canPublishSources } = permission;
  // An empty list means that all sources are allowed.
  if (canPublishSources.length === 0) return ALL;
  return ALL.filter((source) => canPublishSources.includes(SOURCES[source][0]!));
}

const participantOf = (info: ParticipantInfo): CallParticipant => ({
  identity: info.identity,
  session: info.sid,
  hidden: info.permission?.hidden ?? false,
  joined: Number(info.joinedAtMs) || Number(info.joinedAt) * 1000,
  sources: sourcesOf(info),
  tracks: info.tracks.flatMap(({ source: of, muted }) => {
    const source = sourceOf(of);
    return source ? [{ source, muted }] : [];
  }),
});

function eventOf(event: WebhookEvent): EngineEvent | undefined {
  const { id, room, participant, track } = event;
  if (!room) return undefined;
  const base = { id, room: room.name, at: Number(event.createdAt) * 1000 };
  switch (event.event) {
    case "room_started":
      return { ...base, type: "roomStarted" };
    case "room_finished":
      return { ...base, type: "roomFinished" };
  }
  if (!participant) return undefined;
  const person = {
    ...base,
    identity: participant.identity,
    session: participant.sid,
    hidden: participant.permission?.hidden ?? false,
  };
  const source = track && sourceOf(track.source);
  switch (event.event) {
    case "participant_joined":
      return { ...person, type: "joined", sources: sourcesOf(participant) };
    case "participant_left":
    case "participant_connection_aborted":
      return { ...person, type: "left" };
    case "track_published":
      return source && { ...person, type: "published", source };
    case "track_unpublished":
      return source && { ...person, type: "unpublished", source };
    default:
      return undefined;
  }
}
