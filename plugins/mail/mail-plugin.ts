import fp from "fastify-plugin";
import type { MailSettings } from "../../config.js";
import { type Clock, processClock } from "../../db/runtime.js";
import { Refusal } from "../http/errors.js";
import { MailQueue } from "./queue.js";
import { queueReminders } from "./reminders.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Sends mails; undefined if the server has no mail server. */
    readonly mail: Mailer | undefined;
  }
}

/** The server's mail, for routes. */
export interface Mailer {
  /** The sender's address. */
  readonly from: string;
  readonly perMinute: number;
  /** Checks for new mails immediately, instead of within a second. */
  wake(): void;
}

/** Interval between checks for reminders, in milliseconds. */
const REMINDERS_INTERVAL_MS = 60_000;

/** @throws {Refusal} 409 if the server sends no mails. */
export function mailerOf({ mail }: { readonly mail: Mailer | undefined }): Mailer {
  if (mail) return mail;
  throw new Refusal(409, "This server sends no mails: its operator has not set SMTP_URL.");
}

/** Sends queued mails, and queues reminders. */
export default fp<{
  settings: MailSettings | undefined;
  publicUrl: string | undefined;
  clock?: Clock;
}>(
  async (app, { settings, publicUrl, clock = processClock }) => {
    if (!settings || publicUrl === undefined) {
      app.decorate("mail", undefined);
      return;
    }
    const { store, events, log } = app;
    const queue = new MailQueue({
      store,
      settings,
      address: publicUrl,
      holder: events.process,
      log,
      clock,
    });
    const { wake } = queue;
    app.decorate("mail", { from: settings.from.address, perMinute: settings.perMinute, wake });

    let isClosed = false;
    let cancel = () => {};
    let running: Promise<void> | undefined;
    const remind = (): void => {
      running = queueReminders(store, clock.date())
        .catch((error: unknown) => {
          if (!isClosed) log.warn({ err: error }, "reminders have to wait");
        })
        .then(() => {
          wake();
          if (!isClosed) cancel = clock.after(REMINDERS_INTERVAL_MS, remind);
        });
    };
    app.addHook("onReady", async () => {
      wake();
      remind();
    });
    app.addHook("onClose", async () => {
      isClosed = true;
      cancel();
      await running;
      await queue.close();
    });
  },
  { name: "mail", dependencies: ["engines", "errors"] },
);
