import type { Author } from "./author.js";
import type { PageSelection } from "./selections.js";

// Part of db/contract/store.ts: webhooks. `Store` documents the rules for every method.

/** Maximum number of webhooks per world. */
export const MAX_WEBHOOKS = 20;

/** The amount added to a webhook's revision when a caller sets the webhook's position. */
export const MOVE = 2 ** 20;

/** Returns how many times callers have set a webhook's position. */
export const movesOf = ({ revision }: Pick<WebhookRecord, "revision">): number =>
  Math.floor(revision / MOVE);

/** A webhook's delivery progress. Times are in milliseconds since 1970. */
export interface WebhookState {
  /** The number of the last entry that was delivered, or skipped because of its type. */
  position: number;
  delivered_at: number | null;
  failing_since: number | null;
  last_status: number | null;
  last_error: string | null;
  next_try_at: number | null;
  /** Number of failed attempts to deliver the next entry. */
  attempts: number;
}

export interface WebhookSettings {
  url: string;
  /** Entry types, as in the feed's `types`. */
  types: string[];
  enabled: boolean;
  description: string;
}

/** A URL to which the changes in a world are sent. */
export interface WebhookRecord extends WebhookSettings, WebhookState {
  id: string;
  world: string;
  created_at: number;
  /** Signs deliveries. Callers see the secret only once. */
  secret: string;
  /** Increases with each change to the settings, and by {@link MOVE} when a caller sets the position. */
  revision: number;
  /** The process that delivers to this webhook; null for none. */
  holder: string | null;
  /** A heartbeat counter that increases while the holder is alive. */
  beat: number;
}

/** The fields to replace in a webhook. Setting `position`, or `enabled: true`, also cancels a retry delay. */
export interface WebhookChanges extends Partial<WebhookSettings> {
  secret?: string | undefined;
  position?: number | undefined;
}

export interface ListedWebhook extends WebhookRecord {
  /** Increases with each webhook that is created. */
  number: number;
}

export interface WebhookStore {
  list(
    worldId: string,
    selection: PageSelection,
  ): Promise<{ count: number; webhooks: ListedWebhook[] }>;
  get(worldId: string, id: string): Promise<WebhookRecord | undefined>;
  /** Returns the enabled webhooks in all worlds. */
  enabled(): Promise<WebhookRecord[]>;
  /**
   * Creates a webhook with a new UUID as its id. Delivery begins with the next entry.
   * @throws {StoreError} `absent`, or `quota` on `webhooks`.
   */
  create(
    worldId: string,
    settings: WebhookSettings,
    secret: string,
    by?: Author,
  ): Promise<WebhookRecord>;
  /**
   * @param revisions change the webhook only if it has one of these revisions; any by default.
   * @throws {StoreError} `absent` or `changed`.
   */
  update(
    worldId: string,
    id: string,
    changes: WebhookChanges,
    revisions?: readonly number[],
    by?: Author,
  ): Promise<WebhookRecord>;
  /** Deletes a webhook, with the same checks as {@link update}. */
  delete(worldId: string, id: string, revisions?: readonly number[], by?: Author): Promise<void>;
  /**
   * Makes a process the holder, unless the holder or the heartbeat counter has changed since
   * `seen`.
   * @param holder null to release the webhook.
   */
  hold(
    worldId: string,
    id: string,
    holder: string | null,
    seen: Pick<WebhookRecord, "holder" | "beat">,
  ): Promise<boolean>;
  /** Records a holder's heartbeat. */
  beat(worldId: string, holder: string): Promise<void>;
  /**
   * Records the holder's progress.
   * @returns false if another process has become the holder, or the settings have changed.
   */
  note(
    worldId: string,
    id: string,
    of: Pick<WebhookRecord, "revision"> & { holder: string },
    state: WebhookState,
  ): Promise<boolean>;
  /** Disables a failing webhook and records its last state; see {@link note}. */
  disable(
    worldId: string,
    id: string,
    of: Pick<WebhookRecord, "revision"> & { holder: string },
    state: WebhookState,
    by?: Author,
  ): Promise<boolean>;
}
