import type { CallSource } from "../../schemas/plain/calls.js";
import type { Scope } from "../../schemas/plain/permissions.js";
import type { Author } from "./author.js";
import type { InvitationName } from "./invitation-store.js";

// Part of db/contract/store.ts: calls. `Store` documents the rules for every method. All times are
// in milliseconds since 1970.

/** The data with which a device's permissions are checked again during a call. Contains no secrets. */
export interface DeviceAccess {
  /** The traits of the login with which the device joined. */
  readonly traits: readonly string[];
  /** Set only for kiosks. */
  readonly scope?: Extract<Scope, { kind: "kiosk" }> | undefined;
  /** When the login expires, in seconds since 1970; undefined for guests. */
  readonly expires?: number | undefined;
  /** SHA-256 of the key that verified the login; undefined for guests. */
  readonly key?: string | undefined;
  /** The invitation that the login's token names. It decides about the traits and the expiry. */
  readonly invitation?: InvitationName | undefined;
}

/** A device for which a token for a call has been issued. */
export interface IssuedDevice {
  /** `<user id>:<random>`, new for each token. */
  readonly identity: string;
  readonly user: string;
  /** Whether the device is a kiosk. Kiosks are invisible to the people in the call, and are not counted as people. */
  readonly hidden: boolean;
  readonly access: DeviceAccess;
  /** When the device's token expires. */
  readonly ends: number;
}

/** A device that is in a call, or that has a token for the call. */
export interface CallDevice extends IssuedDevice {
  readonly issued: number;
  /** When the device joined the call on the engine; null while the device is not in the call. */
  readonly joined: number | null;
  readonly microphone: boolean;
  readonly camera: boolean;
  readonly screen: boolean;
}

/** A call with people in it, or a ringing call in a direct channel. */
export interface RunningCall {
  readonly id: string;
  readonly started: number;
  /**
   * The number of people who are in the call now. A person with several devices counts once, and
   * kiosks do not count.
   */
  readonly people: number;
  /** The largest number of people who have been in the call at the same time. */
  readonly mostPeople: number;
  /** The user who started the call; null for a call in a room. */
  readonly caller: string | null;
  /** The id of the chat event that started the call; null for a call in a room. */
  readonly event: number | null;
}

export interface RaisedHand {
  readonly user: string;
  readonly raised: number;
}

/** The state of the call in a room or in a direct channel. */
export interface CallState {
  /** Undefined if no call is running. */
  readonly call: RunningCall | undefined;
  /** The devices in the order in which their tokens were issued. Omits devices that have left the call. */
  readonly devices: readonly CallDevice[];
  /** The ids of the people who have been invited to the stage, in the order of the invitations. */
  readonly stage: readonly string[];
  /** The raised hands, in the order in which they were raised. */
  readonly hands: readonly RaisedHand[];
}

/** A call that has ended. */
export interface EndedCall {
  readonly id: string;
  /** The id of a room or of a direct channel. */
  readonly channel: string;
  readonly started: number;
  readonly ended: number;
  readonly mostPeople: number;
  /** The total time that all people together spent in the call, in milliseconds. */
  readonly personMs: number;
  readonly caller: string | null;
  readonly event: number | null;
}

/** An ended call in a room. */
export interface PastCall extends Omit<EndedCall, "channel" | "caller" | "event"> {
  /** Increases with each call that ends. */
  readonly number: number;
}

/** A device's visit to a call on the engine. A device that leaves and returns begins a new visit. */
export interface EngineVisit {
  readonly identity: string;
  /** The engine's id for the visit. */
  readonly session: string;
}

/** A device that is in a call, according to the engine. */
export interface EngineDevice extends EngineVisit {
  readonly joined: number;
  /** The sources that the device publishes and that are not muted. */
  readonly sources: readonly CallSource[];
}

/** When an event happened, according to the engine (`at`), and when this process received the event (`now`). */
export interface EventTimes {
  readonly at: number;
  readonly now: number;
}

/** The effect of a write, as reported to the write's caller. */
export interface CallOutcome {
  /** Whether the store knows the device. The caller must remove an unknown device from the call on the engine. */
  readonly isKnown: boolean;
  /** Set if the write ended the call. */
  readonly ended?: EndedCall | undefined;
}

/**
 * Stores calls in rooms and in direct channels. A `channel` is the id of a room or of a direct
 * channel. The engine's events may arrive twice, late, or out of order; the result is the same.
 */
export interface CallStore {
  get(worldId: string, channel: string): Promise<CallState>;
  /**
   * Returns whether a call is held in a channel, and whether a user was invited to its stage. Unlike
   * `get`, it does not read the devices.
   */
  standing(
    worldId: string,
    channel: string,
    user: string,
  ): Promise<{ isHeld: boolean; isOnStage: boolean }>;
  /**
   * Returns all channels, across all worlds, that have a call, an issued token, an invitation to
   * the stage, or a raised hand.
   */
  open(): Promise<{ world: string; channel: string }[]>;
  /** Returns a room's ended calls, in the order in which the calls ended. */
  history(
    worldId: string,
    room: string,
    selection: { after?: number | undefined; limit: number },
  ): Promise<PastCall[]>;
  /**
   * Records a token before the token is handed out.
   * @param options `limit` is the maximum number of people. Everyone with an unused token that is
   * less than a minute old counts as well. Each person counts once, so a person in the call may
   * join with several devices.
   * @throws {StoreError} `absent` on `room` or `user`, `denied` if the user is banned, or `quota`
   * on `people`.
   */
  issued(
    worldId: string,
    channel: string,
    device: IssuedDevice,
    options: { now: number; limit?: number | undefined },
    by?: Author,
  ): Promise<void>;
  /** Records that a device has joined a call. In a room, the first person to join starts the call. */
  joined(
    worldId: string,
    channel: string,
    visit: EngineVisit,
    times: EventTimes,
    by?: Author,
  ): Promise<CallOutcome>;
  /** Records that a device has left a call. The call ends when the last person leaves. */
  left(
    worldId: string,
    channel: string,
    visit: EngineVisit,
    times: EventTimes,
    by?: Author,
  ): Promise<CallOutcome>;
  /**
   * Records that a device has started or stopped publishing a source. Also records that the device
   * is in the call, in case this event arrives before the join event.
   */
  published(
    worldId: string,
    channel: string,
    visit: EngineVisit,
    change: EventTimes & { readonly source: CallSource; readonly on: boolean },
    by?: Author,
  ): Promise<CallOutcome>;
  /**
   * Updates a call's devices to match the engine's list, and forgets devices that have left and
   * whose tokens have expired. If the call is empty, also removes the room's hands and
   * invitations that are older than the end of its last call. It does so ten minutes after that
   * end, because people return after an outage of the engine.
   * @param times `asked` is when the engine was asked for the list. Devices that have changed since
   * then are left unchanged.
   * @returns in `unknown`, the identities of the devices that the store does not know. The caller
   * must remove these devices from the call on the engine.
   */
  reconciled(
    worldId: string,
    channel: string,
    devices: readonly EngineDevice[],
    times: { asked: number; now: number },
    by?: Author,
  ): Promise<{ unknown: readonly string[]; ended?: EndedCall | undefined }>;
  /**
   * Starts a ringing call in a direct channel, unless a call is already running in the channel.
   * @returns the channel's running call.
   * @throws {StoreError} `absent` on `room` if there is no such direct channel, or on `user`;
   * `denied` if the caller is banned.
   */
  ring(
    worldId: string,
    channel: string,
    call: { caller: string; event: number; now: number },
    by?: Author,
  ): Promise<{ call: RunningCall; isNew: boolean }>;
  /**
   * Announces that a member of a direct channel declines a call.
   * @returns whether the call is still running in the channel.
   */
  decline(
    worldId: string,
    channel: string,
    call: string,
    user: string,
    by?: Author,
  ): Promise<boolean>;
  /**
   * Ends a call, lowers all hands, and ends all invitations to the stage.
   * @param options if `id` is set, only a call with this id is ended.
   * @returns the ended call, or undefined if there was no such call.
   */
  end(
    worldId: string,
    channel: string,
    options: { now: number; id?: string | undefined },
    by?: Author,
  ): Promise<EndedCall | undefined>;
  /**
   * Invites a person to a room's stage, or ends the invitation. An invitation lowers the person's
   * hand. Idempotent.
   * @returns whether the invitations have changed.
   * @throws {StoreError} `absent` on `room` or `user`, `denied` if the invited user is banned, or
   * `quota` on `stage` if the room would have more than a thousand invitations.
   */
  stage(
    worldId: string,
    room: string,
    user: string,
    on: boolean,
    now: number,
    by?: Author,
  ): Promise<boolean>;
  /**
   * Raises a user's hand. Idempotent.
   * @throws {StoreError} `absent` on `room` or `user`, `denied` if the user is banned, or `quota`
   * on `hands` if the room would have more than a thousand raised hands.
   */
  raise(worldId: string, room: string, user: string, now: number, by?: Author): Promise<boolean>;
  /** Lowers a user's hand. Idempotent. */
  lower(worldId: string, room: string, user: string, by?: Author): Promise<boolean>;
  /**
   * Removes a slice of the calls that ended before a time.
   * @returns whether there may be more to remove.
   */
  prune(worldId: string, before: number): Promise<boolean>;
}
