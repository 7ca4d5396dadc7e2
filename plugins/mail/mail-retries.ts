import type { Mail, MailKind } from "../../db/contract/mail-store.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Delays after failed attempts to send a mail, in milliseconds. After the last one, the mail has
 * failed.
 */
const PATIENT = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR];

/** Delays for a mail for which somebody is waiting. */
const HASTY = [5 * SECOND, 15 * SECOND, MINUTE];

const DELAYS: Readonly<Record<MailKind, readonly number[]>> = {
  invitation: PATIENT,
  reminder: PATIENT,
  request: HASTY,
  login: HASTY,
  test: [],
};

/**
 * Returns when to retry a mail, in milliseconds since 1970, or undefined if it has failed too
 * often.
 * @param now in milliseconds since 1970.
 */
export function retryAt({ kind, attempts }: Pick<Mail, "kind" | "attempts">, now: number) {
  const delay = DELAYS[kind][attempts - 1];
  return delay === undefined ? undefined : now + delay;
}
