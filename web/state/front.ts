import type { PageAccess, PageConfig } from "../lib/page.js";
import { closedRetryDelay } from "./entrance.js";

// What people see of an event before they enter it, and when a closed event opens.

/** The current state of the page before login. */
export interface FrontState {
  /** The page, including the whole program. */
  readonly page: PageConfig;
  /** The server's clock minus the browser's clock, in milliseconds. */
  readonly ahead: number;
}

/** The precision of the `Date` header, in milliseconds. */
const DATE_PRECISION_MS = 1000;

/**
 * Returns by how much the server's clock is ahead, as far as its `Date` header proves it.
 * @param now the browser's time when the response arrived, in milliseconds since 1970.
 */
export function clockAhead(date: string | null, now: number): number {
  const server = Date.parse(date ?? "");
  if (Number.isNaN(server)) return 0;
  return server > now ? server - now : Math.min(0, server + DATE_PRECISION_MS - now);
}

/**
 * Reads the current state of the page.
 * @throws {Error} if the server does not respond.
 */
export async function readFront(
  page: PageConfig,
  baseUrl: string,
  fetch = globalThis.fetch,
): Promise<FrontState> {
  const address = `${baseUrl}w/${encodeURIComponent(page.world ?? "")}/front.json`;
  const answer = await fetch(address, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  const ahead = clockAhead(answer.headers.get("date"), Date.now());
  const now = (await answer.json()) as PageConfig;
  const { event, about, access, program, links, ...present } = page;
  void [event, about, access, program, links];
  const { base: _base, embed: _embed, ...read } = now;
  return { page: { ...present, ...read }, ahead };
}

/**
 * Maximum time after an event's opening within which waiting people are admitted, in milliseconds.
 */
const CROWD_MS = 700;

/**
 * Returns the delay before the next attempt to enter a closed event, in milliseconds: until the
 * opening plus a random delay, because many people may be waiting, or a fixed interval.
 * @param ahead the server's clock minus the browser's clock, in milliseconds.
 * @param now in milliseconds since 1970, on the browser's clock.
 */
export function knockDelay(access: PageAccess | undefined, ahead: number, now: number): number {
  const pause = closedRetryDelay();
  if (access?.opens_at === undefined) return pause;
  const left = Date.parse(access.opens_at) - ahead - now;
  return left > 0 && left < pause ? left + CROWD_MS * Math.random() : pause;
}

/** The parts of the time that remains until an opening. */
export interface Countdown {
  readonly days: number;
  /** Hours, minutes and seconds as `05:09:30`. */
  readonly clock: string;
}

/** Splits a duration in milliseconds into days and a clock. */
export function countdownOf(left: number): Countdown {
  const seconds = Math.max(0, Math.ceil(left / 1000));
  const parts = [Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  return {
    days: Math.floor(seconds / 86_400),
    clock: parts.map((part) => String(part).padStart(2, "0")).join(":"),
  };
}
