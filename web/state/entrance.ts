import { Live, type LiveOptions } from "../../client/index.js";
import type { Identity } from "./identity.js";
import type { Connection } from "./session.js";

// The obstacles between a user and an event.

/** Why a user is refused. */
export type Refusal =
  /** The server has no event yet. */
  | "isNew"
  /** There is no such event. */
  | "nowhere"
  /** The link is of no use: it is damaged, or its key was replaced. */
  | "invalid"
  /** The link has ended. */
  | "expired"
  /** Guests need a link. */
  | "link"
  /** The host view needs a link. */
  | "host"
  /** This person is not let in. */
  | "denied"
  /** A moderator removed this person, until further notice. */
  | "banned"
  /** The event is open in another window. */
  | "replaced"
  /** Something else that only a reload can help. */
  | "failed";

const refusals: Record<string, Refusal> = {
  "world.unknown_world": "nowhere",
  "auth.invalid_token": "invalid",
  "auth.expired_token": "expired",
  "auth.missing_token": "link",
  "auth.denied": "denied",
  "connection.replaced": "replaced",
};

/** Why a connection has ended for good; undefined as long as it has not. */
export const refusalOf = (connection: Connection): Refusal | undefined =>
  connection.is !== "ended"
    ? undefined
    : connection.isBanned
      ? "banned"
      : (refusals[connection.code] ?? "failed");

/**
 * Whether to offer to come in as a guest instead.
 * @param isPublic whether the event lets guests in.
 */
export const mayComeAsGuest = (
  refusal: Refusal,
  { token, inviteToken }: Identity,
  isPublic: boolean,
): boolean =>
  isPublic &&
  (token ?? inviteToken) !== undefined &&
  ["invalid", "expired", "denied"].includes(refusal);

/** A connection that does not work at the moment. */
type Trouble =
  /** The browser has no network. */
  | { readonly is: "offline"; readonly seconds: number }
  /** There is a network, but the server does not answer. */
  | { readonly is: "away"; readonly seconds: number }
  | { readonly is: "connecting" };

/** The inputs of {@link troubleOf}. Times are in milliseconds, on the clock of `Date`. */
export interface TroubleSigns {
  connection: Connection;
  now: number;
  /** Since when there is no connection; undefined while there is one. */
  since: number | undefined;
  /** Whether the user has asked for an attempt that is under way. */
  isTrying: boolean;
  /** Whether the browser considers itself online. */
  isOnline: boolean;
}

/** An interruption that is shorter is not worth a word, in milliseconds. */
const SHORT_OUTAGE_MS = 700;

/** The trouble to show about the connection; undefined without any. */
export function troubleOf(signs: TroubleSigns): Trouble | undefined {
  const { connection, now, since, isTrying, isOnline } = signs;
  if (connection.is === "ended") return undefined;
  if (connection.is === "online") {
    // The socket notices later than the browser.
    return isOnline ? undefined : { is: "offline", seconds: 0 };
  }
  if (since === undefined || now - since < SHORT_OUTAGE_MS) return undefined;
  if (connection.is === "connecting" || isTrying) return { is: "connecting" };
  const seconds = Math.ceil((connection.retryAt - now) / 1000);
  if (seconds <= 0) return { is: "connecting" };
  return { is: isOnline ? "away" : "offline", seconds };
}

/** How long until a banned user tries again; the page notices the end of a ban within 5 s. */
export const BAN_RETRY_MS = 3500;

/** The same for everybody whom a closed event keeps out. They are many, and spread their tries. */
export const whileClosed = (): number => 8_000 + 7_000 * Math.random();

/**
 * Waits until the server lets in a user who was banned, or whom a closed event keeps out.
 * @param pause how long to wait before each try, in milliseconds.
 * @param onadmitted is called once, unless the wait was ended before.
 * @returns ends the wait.
 */
export function awaitReadmission(
  access: LiveOptions,
  onadmitted: () => void,
  pause: number,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let live: Live | undefined;
  let isOver = false;

  const knock = () => {
    const visit = new Live(access);
    live = visit;
    visit.connected().then(
      () => {
        visit.close();
        if (!isOver) onadmitted();
      },
      () => {
        visit.close();
        if (!isOver) timer = setTimeout(knock, pause);
      },
    );
  };
  timer = setTimeout(knock, pause);
  return () => {
    isOver = true;
    clearTimeout(timer);
    live?.close();
  };
}
