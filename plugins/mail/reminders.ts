import type { MailDraft, ReminderKind } from "../../db/contract/mail-store.js";
import type { Store } from "../../db/contract/store.js";
import { stands } from "../../db/rules/invitation-rows.js";
import { accessOf } from "../../schemas/plain/access.js";
import { mailWishesOf } from "../../schemas/plain/mail.js";
import type { World } from "../../schemas/worlds.js";
import { dayOf, zoneOr } from "../../web/lib/zones.js";
import { eventPreview } from "../web/preview.js";
import { startOf } from "./mail-message.js";

const HOUR = 3_600_000;

/**
 * How long before the event each reminder may be queued, at the earliest and at the latest, in
 * milliseconds.
 */
const SPANS: Readonly<Record<ReminderKind, { from: number; until: number }>> = {
  day: { from: 24 * HOUR, until: 2 * HOUR },
  hour: { from: HOUR, until: 0 },
};

/** Number of worlds per read, and of invitations per write. */
const WORLDS = 100;
const PAGE = 500;

/** Returns the reminder that is due before an event, if any. */
export function reminderOf(start: number, now: number): ReminderKind | undefined {
  const rest = start - now;
  return (["day", "hour"] as const).find(
    (kind) => rest <= SPANS[kind].from && rest > SPANS[kind].until,
  );
}

/**
 * Queues the reminders that are due. Several processes may run this at the same time: each person
 * receives each reminder at most once per start date of the event, even if the event moves within
 * that day.
 * @param now in milliseconds since 1970.
 */
export async function queueReminders(store: Store, now: number): Promise<void> {
  for (let after = ""; ;) {
    const page = await store.worlds.list({ after, limit: WORLDS });
    for (const world of page) await remind(store, world, now);
    if (page.length < WORLDS) return;
    after = page.at(-1)!.id;
  }
}

async function remind(store: Store, world: World, now: number): Promise<void> {
  const start = startOf(world);
  const reminder = start === undefined ? undefined : reminderOf(start, now);
  if (start === undefined || !reminder || !mailWishesOf(world.config).reminders) return;
  if (!accessOf(world.config).published) return;
  const day = dayOf(start, zoneOr(eventPreview(world)?.event.timezone, "UTC"));
  const earliest = start - SPANS[reminder].from;
  for (let after: (string | number)[] = []; ;) {
    const { invitations } = await store.invitations.list(world.id, {
      page: 1,
      pageSize: PAGE,
      after,
      now,
    });
    // A person who was invited this late needs no reminder.
    const wanted = invitations.filter(
      (it) => it.email && it.created_at < earliest && stands(it, world, now),
    );
    const ids = wanted.map(({ id }) => id);
    const stopped = new Set(ids.length > 0 ? await store.mails.stopped(world.id, ids) : []);
    const drafts: MailDraft[] = ids
      .filter((id) => !stopped.has(id))
      .map((id) => ({
        act: `reminder:${reminder}:${day}:${id}`,
        kind: "reminder",
        invitation: id,
        detail: { reminder },
        due_at: now,
      }));
    if (drafts.length > 0) await store.mails.queue(world.id, drafts, now);
    if (invitations.length < PAGE) return;
    after = [invitations.at(-1)!.number];
  }
}
