import type { Author } from "./author.js";
import type { PageSelection } from "./selections.js";

// Part of db/contract/store.ts: webhooks. `Store` has the rules for every method.

/** The most webhooks of a world. */
export const MAX_WEBHOOKS = 20;

/** By how much the revision of a webhook grows with a position that a caller names. */
export const MOVE = 2 ** 20;

/** How often callers have named a position of a webhook. */
export const movesOf = ({ revision }: Pick<Webhook, "revision">): number =>
  Math.floor(revision / MOVE);

/** How far a webhook has come. Times are in milliseconds since 1970. */
export interface WebhookState {
  /** The number of the last entry that was delivered, or is not of its types. */
  position: number;
  delivered_at: number | null;
  failing_since: number | null;
  last_status: number | null;
  last_error: string | null;
  next_try_at: number | null;
  /** How often the next entry has failed. */
  attempts: number;
}

export interface WebhookSettings {
  url: string;
  /** As in `types` of the feed, in a list. */
  types: string[];
  enabled: boolean;
  description: string;
}

/** An address that gets the changes of a world. */
export interface Webhook extends WebhookSettings, WebhookState {
  id: string;
  world: string;
  created_at: number;
  /** Signs what is sent. Shown once. */
  secret: string;
  /** Grows with each change of its settings, and by {@link MOVE} if a caller names a position. */
  revision: number;
  /** The process that delivers; null for none. */
  holder: string | null;
  /** Grows while the holder lives. */
  beat: number;
}

/** The fields of a webhook to replace. A `position` also ends a delay, and so does `enabled: true`. */
export interface WebhookChanges extends Partial<WebhookSettings> {
  secret?: string | undefined;
  position?: number | undefined;
}

export interface ListedWebhook extends Webhook {
  /** Counts up. */
  number: number;
}

export interface WebhookStore {
  list(
    worldId: string,
    selection: PageSelection,
  ): Promise<{ count: number; webhooks: ListedWebhook[] }>;
  get(worldId: string, id: string): Promise<Webhook | undefined>;
  /** The enabled webhooks of all worlds. */
  enabled(): Promise<Webhook[]>;
  /**
   * Creates a webhook with a new UUID as its id. The first entry for it is the next one.
   * @throws {StoreError} `absent`, or `quota` on `webhooks`.
   */
  create(worldId: string, settings: WebhookSettings, secret: string, by?: Author): Promise<Webhook>;
  /**
   * @param revisions in which it may be changed; any by default.
   * @throws {StoreError} `absent` or `changed`.
   */
  update(
    worldId: string,
    id: string,
    changes: WebhookChanges,
    revisions?: readonly number[],
    by?: Author,
  ): Promise<Webhook>;
  /** As {@link update}. */
  delete(worldId: string, id: string, revisions?: readonly number[], by?: Author): Promise<void>;
  /**
   * Makes a process the holder, if holder and beat are still as they were read.
   * @param holder null to release it.
   */
  hold(
    worldId: string,
    id: string,
    holder: string | null,
    seen: Pick<Webhook, "holder" | "beat">,
  ): Promise<boolean>;
  /** Says that a holder lives. */
  beat(worldId: string, holder: string): Promise<void>;
  /**
   * Notes how far the holder has come.
   * @returns false if another process holds it now, or its settings have changed.
   */
  note(
    worldId: string,
    id: string,
    of: Pick<Webhook, "revision"> & { holder: string },
    state: WebhookState,
  ): Promise<boolean>;
  /** Disables a webhook that fails, with its last state; see {@link note}. */
  disable(
    worldId: string,
    id: string,
    of: Pick<Webhook, "revision"> & { holder: string },
    state: WebhookState,
    by?: Author,
  ): Promise<boolean>;
}
