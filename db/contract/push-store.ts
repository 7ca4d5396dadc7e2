import { ECDH } from "node:crypto";

/** The server's key pair for authenticating to push services (VAPID, RFC 8292), in base64url. */
export interface PushKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** A browser's subscription to messages that arrive even while no page is open. */
export interface PushSubscription {
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  /** Whether the browser also receives notices about items that wait for moderators. */
  readonly moderation?: boolean;
}

/** A subscription and its user. */
export interface OwnedSubscription extends PushSubscription {
  readonly user: string;
}

/** A session that begins soon, and a user who has marked the session as a favorite. */
export interface DueFavorite {
  readonly world: string;
  readonly session: string;
  readonly title: string;
  readonly room: string | null;
  readonly user: string;
  /** The name to pass to {@link PushStore.claim} for the session's notifications at this start time. */
  readonly claim: string;
}

/** A session that has moved, and a user who had marked the session as a favorite before. */
export interface FavoriteThatMoved extends DueFavorite {
  /** The new start, in milliseconds since 1970. */
  readonly starts_at: number;
}

/** Maximum number of subscriptions per user. */
export const MAX_SUBSCRIPTIONS = 20;

/**
 * Stores the data for web push. Writes to this store do not concern other users, so they append
 * nothing to the log.
 */
export interface PushStore {
  /** Returns this server's key, or undefined before {@link keep} is called. */
  key(): Promise<PushKey | undefined>;
  /**
   * Stores a key, unless a key is already stored.
   * @param _all the pseudo-world that stands for all worlds: an empty string.
   * @returns this server's key.
   */
  keep(_all: string, key: PushKey): Promise<PushKey>;
  of(worldId: string, userIds: readonly string[]): Promise<OwnedSubscription[]>;
  /**
   * Returns the subscriptions that include notices for moderators, regardless of their users'
   * current permissions.
   */
  moderating(worldId: string): Promise<OwnedSubscription[]>;
  /**
   * Stores a user's subscription, which replaces any subscription with the same endpoint. If the
   * user then has more than {@link MAX_SUBSCRIPTIONS}, the oldest subscriptions are removed.
   * @param at in milliseconds since 1970.
   * @throws {StoreError} `absent` when the user does not exist or was erased.
   */
  subscribe(
    worldId: string,
    userId: string,
    subscription: PushSubscription,
    at: number,
  ): Promise<void>;
  forget(worldId: string, endpoint: string): Promise<void>;
  /**
   * Claims a notification, so that only one process sends it.
   * @param name the name of the notification.
   * @param at in milliseconds since 1970. Claims that were made more than a day before this time
   * are deleted.
   * @returns whether the caller is the first to claim the notification.
   */
  claim(worldId: string, name: string, at: number): Promise<boolean>;
  /**
   * Returns the favorites whose sessions begin within a time span, in milliseconds since 1970, for
   * users with a subscription. Excludes favorites whose notifications a process has already
   * claimed.
   */
  due(after: number, until: number): Promise<DueFavorite[]>;
  /**
   * Returns the favorites that have moved with a session, for users with a subscription, unless the
   * session is over.
   * @param now in milliseconds since 1970.
   */
  moved(worldId: string, session: string, now: number): Promise<FavoriteThatMoved[]>;
}

/** The first byte of an uncompressed point on the P-256 curve. */
const POINT = 4;

/** Whether the bytes are a point on the P-256 curve. Only a point can serve as an encryption key. */
export function isPoint(bytes: Buffer): boolean {
  try {
    ECDH.convertKey(bytes, "prime256v1");
    return bytes[0] === POINT;
  } catch {
    return false;
  }
}
