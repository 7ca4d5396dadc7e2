/** What a mail is for. A `request` asks for a link by e-mail, and becomes a `login` if the address is known. */
export type MailKind = "invitation" | "reminder" | "request" | "login" | "test";

/**
 * The state of a mail. While it is `sending`, a process talks to the mail server. Nothing leaves
 * `sent` and `failed`.
 */
export type MailState = "waiting" | "sending" | "sent" | "failed";

/** What a mail says beyond its kind. */
export interface MailDetail {
  /** The host's own subject and sentence. */
  readonly subject?: string;
  readonly text?: string;
  /** The page that a link by e-mail opens. */
  readonly page?: "event" | "console";
  /** Which reminder it is. */
  readonly reminder?: ReminderKind;
  /** The language of the person who asked, if no language of the recipient is known. */
  readonly locale?: string;
}

export type ReminderKind = "day" | "hour";

/** A mail to queue. Times are in milliseconds since 1970. */
export interface MailDraft {
  /** Names what the mail is for. A second mail with the same name is dropped. */
  readonly act: string;
  readonly kind: MailKind;
  /** The invitation whose address gets the mail. */
  readonly invitation?: string;
  /** The address, without an invitation. */
  readonly recipient?: string;
  readonly detail: MailDetail;
  readonly due_at: number;
}

/** A mail of the queue. */
export interface Mail extends Omit<MailDraft, "invitation" | "recipient"> {
  readonly world: string;
  /** Random. It is in the link that ends further mails. */
  readonly id: string;
  readonly invitation: string | null;
  readonly recipient: string | null;
  readonly state: MailState;
  /** How often a process has tried to send it, this time included. */
  readonly attempts: number;
  readonly error: string | null;
  /** The process that claimed it last. */
  readonly holder: string | null;
  readonly changed_at: number;
}

/** What became of a mail, for the host who sent it. */
export interface MailProgress {
  readonly state: MailState;
  /** The time of the last change, in milliseconds since 1970. */
  readonly at: number;
  /** A word of {@link MailError}, or what the mail server answered. */
  readonly error: string | null;
}

/**
 * Why a mail failed, if the mail server gave no answer:
 *
 * - `unknown`: the connection or the process ended while the mail was on its way. It may have
 *   arrived, so it is never sent again.
 * - `unreachable`: the mail server could not be reached for hours.
 * - `revoked`: the invitation had ended.
 * - `no_address`: the invitation had no e-mail address anymore.
 * - `stopped`: the recipient wants no more mails about the event.
 * - `late`: the occasion had passed.
 */
export type MailError = "unknown" | "unreachable" | "revoked" | "no_address" | "stopped" | "late";

/** The outcome of a try. */
export type MailOutcome =
  | { readonly state: "sent" }
  | { readonly state: "failed"; readonly error: string }
  | { readonly state: "waiting"; readonly error: string; readonly due_at: number };

/** A person who lost their link asks for another one. */
export interface LinkRequest {
  /** In lower case. */
  readonly address: string;
  readonly page: "event" | "console";
  readonly locale?: string | undefined;
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Under what names this request counts; keyed hashes. */
  readonly counts: { readonly address: string; readonly network: string };
}

/** How many requests count within {@link REQUEST_WINDOW_MS}. */
export const REQUEST_LIMITS = { address: 3, network: 30, world: 300 };

/** The time after which requests for links count from 0 again, in milliseconds. */
export const REQUEST_WINDOW_MS = 15 * 60_000;

/** How long a link by e-mail works, in milliseconds. */
export const CODE_LIFETIME_MS = 15 * 60_000;

/**
 * How far the clocks of two processes may differ without letting mails leave too fast, in
 * milliseconds. A turn that is further away means that the clock was set back.
 */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** How long the server keeps mails that belong to no invitation after they left the queue, in milliseconds. */
export const KEPT_MS = 24 * 60 * 60_000;

/** A link by e-mail that was redeemed. */
export interface RedeemedCode {
  /** Null if no invitation has the address for which the code was created. */
  readonly invitation: string | null;
  readonly page: "event" | "console";
}

/** The figures of a world's queue. */
export interface MailCounts {
  readonly waiting: number;
  readonly failed: number;
}
