import type { Commands } from "../../../schemas/live/index.js";
import { StoreError } from "../../../db/contract/store.js";
import type { Context, Module } from "../../dispatch.js";
import { invalidPayload, LiveError } from "../../rules/problems.js";
import { sentAnnouncement } from "../../rules/shapes.js";
import { requireShort } from "../../rules/texts.js";

export const announcements: Module<
  Extract<keyof Commands, `announcement.${string}`>
> = {
  "announcement.create": { requires: "world.announce", handler: create },
  "announcement.update": { requires: "world.announce", handler: update },
  "announcement.list": { requires: "world.announce", handler: list },
};

/**
 * The fields of an announcement as the store takes them.
 * @throws {LiveError} if the text is too long, or the time is none.
 */
function fieldsOf(
  { live }: Context,
  {
    text,
    show_until,
  }: { text?: string | undefined; show_until?: string | null },
) {
  requireShort(live, { text });
  return {
    ...(text !== undefined && { text }),
    ...(show_until !== undefined && { show_until: timeOf(show_until) }),
  };
}

/** ISO 8601 with a date, as browsers and Python write it. */
const TIME =
  /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** The times that are written with a year of four digits, in milliseconds. */
const FIRST = Date.parse("0000-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/** Whether a date exists: `Date.parse` takes February 30 for March 2. */
const isDay = (date: string): boolean =>
  new Date(date).toISOString().startsWith(date);

function timeOf(text: string | null): number | null {
  if (text === null) return null;
  // Without a zone it is UTC, on any machine.
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/.test(text.slice(10));
  const time = TIME.test(text)
    ? Date.parse(hasZone || text.length === 10 ? text : `${text}Z`)
    : NaN;
  if (!(time >= FIRST && time <= LAST) || !isDay(text.slice(0, 10))) {
    throw invalidPayload({
      show_until: ["Must be a time such as 2027-01-31T09:30:00Z, or null."],
    });
  }
  return time;
}

async function create(
  context: Context,
  { text, state, ...rest }: Commands["announcement.create"]["payload"],
) {
  const { live, connection } = context;
  const fields = {
    text,
    ...(state && { state }),
    ...fieldsOf(context, { text, ...rest }),
  };
  const { announcements } = live.store;
  const made = await announcements.create(
    connection.world,
    fields,
    connection.author,
  );
  return { announcement: sentAnnouncement(made, live.clock.date()) };
}

async function update(
  context: Context,
  { id, state, ...rest }: Commands["announcement.update"]["payload"],
) {
  const { live, connection } = context;
  const changes = { ...(state && { state }), ...fieldsOf(context, rest) };
  try {
    const { after } = await live.store.announcements.update(
      connection.world,
      typeof id === "string" ? id : "",
      changes,
      connection.author,
    );
    return { announcement: sentAnnouncement(after, live.clock.date()) };
  } catch (error) {
    if (!(error instanceof StoreError && error.problem === "absent"))
      throw error;
    throw new LiveError("announcement.unknown", "Unknown announcement ID");
  }
}

async function list({ live, connection }: Context) {
  const all = await live.store.announcements.list(connection.world);
  const now = live.clock.date();
  return all.map((announcement) => sentAnnouncement(announcement, now));
}
