import { Live, type LiveOptions } from "../../client/index.js";
import { type ClosedPhase, CLOSED_PHASES } from "../../schemas/plain/access.js";
import type { Identity } from "./identity.js";
import type { Connection } from "./session.js";

// Reasons that keep a user out of an event.

/** The reason why a user is refused. */
export type Refusal =
  /** The server has no event yet. */
  | "isNew"
  /** There is no such event. */
  | "nowhere"
  /** The link is invalid: it is damaged, or its key was replaced. */
  | "invalid"
  /** The link has expired. */
  | "expired"
  /** Guests need a link. */
  | "link"
  /** The host view needs a link. */
  | "host"
  /** The server does not admit the user. */
  | "denied"
  /** The event is not published yet. */
  | "unpublished"
  /** The event is not open yet. */
  | "early"
  /** The event is over. */
  | "over"
  /** A moderator banned the user until further notice. */
  | "banned"
  /** The guest waits until a moderator admits them. */
  | "waiting"
  /** A ban keeps out new guests from this network. */
  | "network"
  /** The event is open in another window. */
  | "replaced"
  /** Any other problem, which only a reload can solve. */
  | "failed";

const refusals: Record<string, Refusal> = {
  "world.unknown_world": "nowhere",
  "auth.invalid_token": "invalid",
  "auth.expired_token": "expired",
  "auth.missing_token": "link",
  "auth.denied": "denied",
  "auth.approval": "waiting",
  "auth.network_banned": "network",
  "connection.replaced": "replaced",
};

/** Returns why a connection has ended permanently, or undefined if it has not. */
export const refusalOf = (connection: Connection): Refusal | undefined =>
  connection.is !== "ended"
    ? undefined
    : connection.isBanned
      ? "banned"
      : (connection.phase ?? refusals[connection.code] ?? "failed");

/**
 * Whether to offer entering as a guest instead.
 * @param isPublic whether the event admits guests.
 */
export const canEnterAsGuest = (
  refusal: Refusal,
  { token, inviteToken }: Identity,
  isPublic: boolean,
): boolean =>
  isPublic &&
  (token ?? inviteToken) !== undefined &&
  ["invalid", "expired", "denied"].includes(refusal);

/** Whether the phase of the event keeps the user out. */
export const isPhase = (refusal: Refusal | undefined): refusal is ClosedPhase =>
  CLOSED_PHASES.some((phase) => phase === refusal);

/** A temporary connection problem. */
type Trouble =
  /** The browser has no network. */
  | { readonly is: "offline"; readonly seconds: number }
  /** There is a network, but the server does not answer. */
  | { readonly is: "away"; readonly seconds: number }
  | { readonly is: "connecting" };

/** Input of {@link troubleOf}. Times are in milliseconds, on the clock of `Date`. */
export interface TroubleSigns {
  connection: Connection;
  now: number;
  /** Start of the outage; undefined while there is a connection. */
  since: number | undefined;
  /** Whether an attempt that the user requested is in progress. */
  isTrying: boolean;
  /** Whether the browser considers itself online. */
  isOnline: boolean;
}

/** Duration below which outages are not reported, in milliseconds. */
const SHORT_OUTAGE_MS = 700;

/** Returns the connection problem to show, or undefined if there is none. */
export function troubleOf(signs: TroubleSigns): Trouble | undefined {
  const { connection, now, since, isTrying, isOnline } = signs;
  if (connection.is === "ended") return undefined;
  if (connection.is === "online") {
    // The browser detects an outage before the socket does.
    return isOnline ? undefined : { is: "offline", seconds: 0 };
  }
  if (since === undefined || now - since < SHORT_OUTAGE_MS) return undefined;
  if (connection.is === "connecting" || isTrying) return { is: "connecting" };
  const seconds = Math.ceil((connection.retryAt - now) / 1000);
  if (seconds <= 0) return { is: "connecting" };
  return { is: isOnline ? "away" : "offline", seconds };
}

/** Retry delay for banned users, in milliseconds, so that the page notices the end of a ban within 5 s. */
export const BAN_RETRY_MS = 3500;

/** Retry delay for guests who wait for approval, in milliseconds; random, because many may be waiting. */
export const approvalRetryDelay = (): number => 3000 + 3000 * Math.random();

/**
 * Returns the retry delay for users kept out by a closed event, in milliseconds. The delay is
 * random, because many users may be waiting.
 */
export const closedRetryDelay = (): number => 8_000 + 7_000 * Math.random();

/**
 * Waits until the server admits a user who was banned or kept out by a closed event.
 * @param pause delay before each attempt, in milliseconds, or a function that returns it.
 * @param onrefused called with the error of each attempt that fails.
 * @param onadmitted called once, unless the wait is canceled before.
 * @returns a function that cancels the wait.
 */
export function awaitReadmission(
  access: LiveOptions,
  onadmitted: () => void,
  pause: number | (() => number),
  onrefused: (error: unknown) => void = () => {},
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let live: Live | undefined;
  let isOver = false;

  const next = () => {
    timer = setTimeout(knock, typeof pause === "number" ? pause : pause());
  };
  const knock = () => {
    const visit = new Live(access);
    live = visit;
    visit.connected().then(
      () => {
        visit.close();
        if (!isOver) onadmitted();
      },
      (error: unknown) => {
        visit.close();
        if (isOver) return;
        onrefused(error);
        if (!isOver) next();
      },
    );
  };
  next();
  return () => {
    isOver = true;
    clearTimeout(timer);
    live?.close();
  };
}
