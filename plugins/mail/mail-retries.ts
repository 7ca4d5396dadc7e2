import type { Mail, MailKind } from "../../db/contract/mail-store.js";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Delays after the failures of a mail, in milliseconds. After the last one, the mail has failed. */
const PATIENT = [MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR];

/** The same for a mail that somebody waits for. */
const HASTY = [5 * SECOND, 15 * SECOND, MINUTE];

const DELAYS: Readonly<Record<MailKind, readonly number[]>> = {
  invitation: PATIENT,
  reminder: PATIENT,
  request: HASTY,
  login: HASTY,
  test: [],
};

/**
 * Returns when to try a mail again, in milliseconds since 1970; undefined if it has failed too often.
 * @param now in milliseconds since 1970.
 */
export function retryAt({ kind, attempts }: Pick<Mail, "kind" | "attempts">, now: number) {
  const delay = DELAYS[kind][attempts - 1];
  return delay === undefined ? undefined : now + delay;
}
