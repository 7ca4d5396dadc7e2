import type { CallSource } from "../../schemas/plain/calls.js";

export type { CallSource };

// The media servers on which calls run. Foyer transports no media: it signs tickets that admit
// participants, and notifies the media server of changes. The files in this folder do not depend on
// worlds, permissions or the store.

/** The content of the ticket that {@link CallEngine.join} signs. */
export interface CallGrant {
  /** The call's name on the engine: `<world>/<channel>`. */
  room: string;
  /** `<user id>:<random>`; unique for each join. */
  identity: string;
  /** The display name, for clients that know nothing about Foyer. */
  name: string;
  /** The user's public data, as JSON. */
  metadata: string;
  /** The sources that the participant may publish; empty for listeners. */
  sources: readonly CallSource[];
  /** Whether the participant is invisible to the other participants, as screens are. */
  hidden: boolean;
  /**
   * Maximum number of people in the call; undefined for no limit. Callers of `join` count people.
   * The engine counts devices, and takes the limit from the first participant's ticket, which
   * creates the room.
   */
  limit?: number | undefined;
  /**
   * The latest time at which the ticket may expire, such as the login's expiry, in seconds since
   * 1970; infinite if there is no such time. The ticket expires after 10 minutes at the latest. A
   * participant who joins before the ticket expires may stay in the call.
   */
  expires: number;
}

export interface CallTicket {
  /** The address to which the browser connects. */
  url: string;
  token: string;
  /** Expiry, in seconds since 1970. */
  expires: number;
}

/** A participant's track. */
export interface CallTrack {
  source: CallSource;
  muted: boolean;
}

/** A device in a call, in its current state on the engine. */
export interface CallParticipant {
  identity: string;
  /**
   * The engine's id for this visit. A device that reconnects after an outage keeps its identity,
   * but gets a new session. The engine may report only later that the old session has ended.
   */
  session: string;
  hidden: boolean;
  /** When the device joined, in milliseconds since 1970. */
  joined: number;
  /** The sources that the device may publish now. */
  sources: CallSource[];
  tracks: CallTrack[];
}

/** A change to a participant: the sources that the participant may publish, or a source to mute now. */
export type ParticipantChange =
  /** `hidden` must have the same value as in the ticket, because the engine replaces all permissions. */
  { sources: readonly CallSource[]; hidden: boolean } | { mute: CallSource };

interface EventBase {
  /** The event's unique id. A repeated delivery has the same id. */
  id: string;
  room: string;
  /** The event's time, in milliseconds since 1970. Engines may round the time down to seconds. */
  at: number;
}

interface PersonEvent extends EventBase {
  identity: string;
  /** See {@link CallParticipant.session}. */
  session: string;
  hidden: boolean;
}

/** An event that an engine reports. Events may be lost, repeated or reordered. */
export type EngineEvent =
  | (EventBase & { type: "roomStarted" | "roomFinished" })
  | (PersonEvent & { type: "joined"; sources: CallSource[] })
  | (PersonEvent & { type: "left" })
  | (PersonEvent & { type: "published" | "unpublished"; source: CallSource });

/**
 * An engine whose calls Foyer controls. All methods except `join` and `hear` send requests to the
 * engine. Each request times out after 3 seconds.
 * @throws {EngineUnavailable} from `update`, `remove`, `end`, `participants` and `rooms`, if the
 * engine does not respond properly.
 */
export interface CallEngine {
  /** The origins to which pages connect. */
  readonly origins: readonly string[];
  /** Signs a ticket without a network request. */
  join(grant: CallGrant): Promise<CallTicket>;
  /** Also resolves if the call has no participant with this identity, or if there is nothing to mute. */
  update(room: string, identity: string, change: ParticipantChange): Promise<void>;
  /** Also resolves if the call has no participant with this identity. */
  remove(room: string, identity: string): Promise<void>;
  /** Removes everyone from a call. Also resolves if there is no such call. */
  end(room: string): Promise<void>;
  /** Returns all participants in a call, including hidden participants; empty if there is no such call. */
  participants(room: string): Promise<CallParticipant[]>;
  /** Returns the names of all open calls on the engine, including the calls of other systems. */
  rooms(): Promise<string[]>;
  /**
   * Returns a one-line description of what is wrong with the engine or its settings, or undefined
   * if nothing is wrong.
   */
  check(): Promise<string | undefined>;
  /**
   * Verifies a webhook from the engine.
   * @param body the bytes of the request's body, as text.
   * @param authorization the Authorization header.
   * @returns the event, or undefined if Foyer has no use for events of this type.
   * @throws {ForgedEvent} if the signature or the body's hash is wrong or missing.
   */
  hear(body: string, authorization: string | undefined): Promise<EngineEvent | undefined>;
}

/** The settings of a BigBlueButton meeting; see the module `call.bigbluebutton`. */
export interface MeetingOptions {
  record?: boolean;
  waiting_room?: boolean;
  voice_bridge?: string;
  auto_microphone?: boolean;
  auto_camera?: boolean;
  bbb_mute_on_start?: boolean;
  bbb_disable_cam?: boolean;
  bbb_disable_chat?: boolean;
  hide_presentation?: boolean;
  /** The URL of a document to present. */
  presentation?: string;
}

/** The person who follows a link to a meeting. */
export interface MeetingUser {
  id: string;
  name: string;
  /** An absolute URL. */
  avatarUrl?: string | undefined;
  moderate: boolean;
}

export interface Meeting {
  /** `<world>/<channel>`, or the call's id for a direct call. */
  id: string;
  /** Shown in the meeting. */
  title: string;
  options: MeetingOptions;
  /** The absolute URL to which the browser returns after the meeting. */
  logoutUrl?: string | undefined;
}

/** A recording, in the format that Venueless's clients expect. */
export interface EngineRecording {
  start: string;
  end: string;
  participants: number;
  state: string;
  /** Null if the recording has no playback of this kind. */
  url: string | null;
  url_video: string | null;
  url_screenshare: string | null;
  url_notes: string | null;
}

export interface BigBlueButton {
  /** The origin of the engine's pages. */
  readonly origin: string;
  /**
   * Creates the meeting if it is not running.
   * @returns the URL at which the person joins the meeting.
   * @throws {EngineUnavailable}
   */
  joinUrl(meeting: Meeting, user: MeetingUser): Promise<string>;
  /** @throws {EngineUnavailable} */
  recordings(meeting: string): Promise<EngineRecording[]>;
  /** See {@link CallEngine.check}. */
  check(): Promise<string | undefined>;
}

export interface Jitsi {
  /** The origin of the engine's pages. */
  readonly origin: string;
  /**
   * Signs a link without a network request.
   * @param room `<world>/<channel>`.
   * @param expires when the link expires, in seconds since 1970.
   */
  joinUrl(room: string, title: string, user: MeetingUser, expires: number): Promise<string>;
  /** See {@link CallEngine.check}. */
  check(): Promise<string | undefined>;
}

/** The engines that the operator has configured. */
export interface CallEngines {
  livekit?: CallEngine;
  bigbluebutton?: BigBlueButton;
  jitsi?: Jitsi;
}

/** The engines' names, in the order in which clients see them. */
export const ENGINE_NAMES = ["livekit", "bigbluebutton", "jitsi"] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

/** The names that messages use for engines. */
export const ENGINE_TITLES: Record<EngineName, string> = {
  livekit: "LiveKit",
  bigbluebutton: "BigBlueButton",
  jitsi: "Jitsi",
};

/** Thrown if an engine did not respond properly or at all. The message is a sentence that names the engine. */
export class EngineUnavailable extends Error {
  constructor(
    readonly engine: EngineName,
    /** The end of the message, after the engine's name: `does not answer`. */
    readonly fault: string,
    options?: ErrorOptions,
  ) {
    super(`${ENGINE_TITLES[engine]} ${fault}.`, options);
  }
}

/** Thrown if a webhook is not from the engine. */
export class ForgedEvent extends Error {}

/** Timeout of a request to an engine, in milliseconds. */
export const ENGINE_TIMEOUT_MS = 3000;
