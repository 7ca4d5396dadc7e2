/** What a mail is for. A `request` asks for a link by e-mail, and becomes a `login` if the address is known. */
export type MailKind = "invitation" | "reminder" | "request" | "login" | "test";

/**
 * The state of a mail. While it is `sending`, a process talks to the mail server. Nothing leaves
 * `sent` and `failed`.
 */
export type MailState = "waiting" | "sending" | "sent" | "failed";

/** The content of a mail beyond what its kind implies. */
export interface MailDetail {
  /** The host's own subject and sentence. */
  readonly subject?: string;
  readonly text?: string;
  /** The page that the e-mailed link opens. */
  readonly page?: "event" | "console";
  /** Which of the reminders the mail is. */
  readonly reminder?: ReminderKind;
  /** The language of the person who asked, if no language of the recipient is known. */
  readonly locale?: string;
}

export type ReminderKind = "day" | "hour";

/** A mail to queue. Times are in milliseconds since 1970. */
export interface MailDraft {
  /** Identifies the occasion of the mail. A second mail with the same name is dropped. */
  readonly act: string;
  readonly kind: MailKind;
  /** The invitation to whose address the mail is sent. */
  readonly invitation?: string;
  /** The address of a recipient without an invitation. */
  readonly recipient?: string;
  readonly detail: MailDetail;
  readonly due_at: number;
}

/** A queued mail. */
export interface Mail extends Omit<MailDraft, "invitation" | "recipient"> {
  readonly world: string;
  /** Random. Part of the unsubscribe link. */
  readonly id: string;
  readonly invitation: string | null;
  readonly recipient: string | null;
  readonly state: MailState;
  /** The number of attempts to send the mail, including the current one. */
  readonly attempts: number;
  readonly error: string | null;
  /** The process that last claimed the mail. */
  readonly holder: string | null;
  readonly changed_at: number;
}

/** The delivery status of a mail, for the host who sent it. */
export interface MailProgress {
  readonly state: MailState;
  /** The time of the last change, in milliseconds since 1970. */
  readonly at: number;
  /** A {@link MailError}, or the mail server's reply. */
  readonly error: string | null;
}

/**
 * Why a mail failed, if the mail server did not reply:
 *
 * - `unknown`: the connection or the process ended during the transmission. The mail may have
 *   arrived, so it is never sent again.
 * - `unreachable`: the mail server could not be reached for hours.
 * - `revoked`: the invitation had ended.
 * - `no_address`: the invitation no longer had an e-mail address.
 * - `stopped`: the recipient has unsubscribed.
 * - `late`: the occasion had passed.
 */
export type MailError = "unknown" | "unreachable" | "revoked" | "no_address" | "stopped" | "late";

/** The outcome of a delivery attempt. */
export type MailOutcome =
  | { readonly state: "sent" }
  | { readonly state: "failed"; readonly error: string }
  | { readonly state: "waiting"; readonly error: string; readonly due_at: number };

/** A request for a new link from a person who lost theirs. */
export interface LinkRequest {
  /** In lower case. */
  readonly address: string;
  readonly page: "event" | "console";
  readonly locale?: string | undefined;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The names under which this request is counted, as keyed hashes. */
  readonly counts: { readonly address: string; readonly network: string };
}

/** Maximum number of requests within {@link REQUEST_WINDOW_MS}. */
export const REQUEST_LIMITS = { address: 3, network: 30, world: 300 };

/** The window after which the count of requests for links is reset, in milliseconds. */
export const REQUEST_WINDOW_MS = 15 * 60_000;

/** Lifetime of an e-mailed link, in milliseconds. */
export const CODE_LIFETIME_MS = 15 * 60_000;

/**
 * Maximum difference between the clocks of two processes that does not increase the sending rate,
 * in milliseconds. A turn that is further away means that the clock was set back.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** Retention of finished mails that belong to no invitation, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60_000;

/** An e-mailed link that has been redeemed. */
export interface RedeemedCode {
  /** Null if no invitation has the address for which the code was created. */
  readonly invitation: string | null;
  readonly page: "event" | "console";
}

/** Statistics about a world's mail queue. */
export interface MailCounts {
  readonly waiting: number;
  readonly failed: number;
}
