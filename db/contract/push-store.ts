import { ECDH } from "node:crypto";

/** The key with which a server signs for push services (VAPID, RFC 8292), in base64url. */
export interface PushKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** A browser that gets messages while its page is closed. */
export interface PushSubscription {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
}

/** A subscription with its user. */
export interface OwnedSubscription extends PushSubscription {
  readonly user: string;
}

/** A session that begins soon, and a user who has marked it. */
export interface DueFavorite {
  readonly world: string;
  readonly session: string;
  readonly title: string;
  readonly room: string | null;
  readonly user: string;
  /** What {@link PushStore.claim} calls the notices of this time of the session. */
  readonly claim: string;
}

/** How many subscriptions a user has at most. */
export const MAX_SUBSCRIPTIONS = 20;

/** Web push. None of its writes is of interest to others, so none appends to the log. */
export interface PushStore {
  /** The key of this server; undefined before {@link keep}. */
  key(): Promise<PushKey | undefined>;
  /**
   * Stores a key, unless there is one.
   * @param _all the world of all worlds: an empty text.
   * @returns the key of this server.
   */
  keep(_all: string, key: PushKey): Promise<PushKey>;
  of(worldId: string, userIds: readonly string[]): Promise<OwnedSubscription[]>;
  /**
   * Stores a subscription of a user. One with the same endpoint is replaced, and of more than
   * {@link MAX_SUBSCRIPTIONS} the oldest go.
   * @param at in milliseconds since 1970.
   * @throws {StoreError} `absent` when the user does not exist or was erased.
   */
  subscribe(
    worldId: string,
    userId: string,
    subscription: PushSubscription,
    at: number,
  ): Promise<void>;
  /** Forgets a subscription. */
  forget(worldId: string, endpoint: string): Promise<void>;
  /**
   * Lets one process send a notification.
   * @param name of the notification.
   * @param at in milliseconds since 1970. Claims that are a day older are forgotten.
   * @returns whether the caller is the first.
   */
  claim(worldId: string, name: string, at: number): Promise<boolean>;
  /**
   * The favorites of users with a subscription that begin in a span: in milliseconds since
   * 1970. Those whose notices a process has claimed are not among them.
   */
  due(after: number, until: number): Promise<DueFavorite[]>;
}

/** A point of the curve P-256 begins with this byte, if it is not compressed. */
const POINT = 4;

/** Whether these are a point of the curve P-256: nothing can be encrypted for another one. */
export function isPoint(bytes: Buffer): boolean {
  try {
    ECDH.convertKey(bytes, "prime256v1");
    return bytes[0] === POINT;
  } catch {
    return false;
  }
}
