import { workerOf } from "../lib/worker.js";
import { BrowserNotices } from "../state/browser-notices.js";
import type { Session } from "../state/session.js";

const known = new WeakMap<Session, BrowserNotices>();

/** Keeps the shell of the page, and finds out whether this browser shows notifications. */
export function beginWorker(session: Session): void {
  void workerOf(session.baseUrl, session.world);
  noticesOf(session);
}

/** The notifications of this browser for a visit, which begin with the first call. */
export function noticesOf(session: Session): BrowserNotices {
  let notices = known.get(session);
  if (!notices) {
    notices = new BrowserNotices(session.live, {
      worker: () => workerOf(session.baseUrl, session.world),
      permission: () =>
        (globalThis as { Notification?: typeof Notification }).Notification?.permission,
      ask: () => Notification.requestPermission(),
    });
    known.set(session, notices);
    // Without an answer of the server, they stay as they were.
    void notices.begin().catch(() => {});
  }
  return notices;
}
