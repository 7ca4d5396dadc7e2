import {
  type Announcement,
  type AnnouncementInput,
  changedAnnouncement,
} from "../../../db/contract/announcement-store.js";
import { type AnnouncementStore, StoreError } from "../../../db/contract/store.js";
import { absent, expectVersion } from "../../../db/rules/preconditions.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import { isVisible } from "../../../schemas/plain/announcements.js";
import { timeIn } from "../../../schemas/plain/times.js";
import {
  bind,
  type CommandTable,
  type CommandContext,
  type LiveModule,
  type CommandSender,
} from "../../module.js";
import { invalidPayload, LiveError, requireShort } from "../../rules/problems.js";
import { announcementRecord, sentAnnouncement } from "../../rules/shapes.js";
import type { Connection } from "../../socket/connection.js";
import { AnnouncementPushes, type AnnouncementPushPorts } from "./announcement-pushes.js";

/** Ports of the announcement commands. */
export interface AnnouncementPorts {
  readonly clock: Clock;
  readonly limits: { readonly maxText: number };
  readonly store: { readonly announcements: AnnouncementStore };
}

/** Commands for the organizers' announcements to all users in a world. */
export const announcements: CommandTable<
  Extract<keyof Commands, `announcement.${string}`>,
  AnnouncementPorts,
  CommandSender
> = {
  "announcement.create": { requires: "world.announce", handler: create },
  "announcement.update": { requires: "world.announce", handler: update },
  "announcement.list": { requires: "world.announce", handler: list },
};

/**
 * Converts an announcement's fields to the form that the store accepts.
 * @throws {LiveError} if the text is too long or the time is invalid.
 */
function fieldsOf(
  { ports }: CommandContext<AnnouncementPorts, CommandSender>,
  { text, show_until }: { text?: string | undefined; show_until?: string | null },
) {
  requireShort(ports.limits.maxText, { text });
  return {
    ...(text !== undefined && { text }),
    ...(show_until !== undefined && { show_until: timeOf(show_until) }),
  };
}

/** ISO 8601 with a date, as written by browsers and Python. */
const TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** The earliest and the latest time with a four-digit year, in milliseconds since 1970. */
const FIRST = Date.parse("0000-01-01T00:00:00Z");
const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/** Whether a date exists: `Date.parse` reads February 30 as March 2. */
const isDay = (date: string): boolean => new Date(date).toISOString().startsWith(date);

function timeOf(text: string | null): number | null {
  if (text === null) return null;
  const strict = timeIn(text);
  if (strict !== undefined) return strict;
  // Times without a zone are in UTC, regardless of the machine's time zone.
  const hasZone = /(Z|[+-]\d\d:?\d\d)$/.test(text.slice(10));
  const time = TIME.test(text)
    ? Date.parse(hasZone || text.length === 10 ? text : `${text}Z`)
    : NaN;
  if (!(time >= FIRST && time <= LAST) || !isDay(text.slice(0, 10))) {
    throw invalidPayload({ show_until: ["Must be a time such as 2027-01-31T09:30:00Z, or null."] });
  }
  return time;
}

async function create(
  context: CommandContext<AnnouncementPorts, CommandSender>,
  { text, state, ...rest }: Commands["announcement.create"]["payload"],
) {
  const { ports, connection } = context;
  const fields = { text, ...(state && { state }), ...fieldsOf(context, { text, ...rest }) };
  const { announcements } = ports.store;
  const made = await announcements.create(connection.world, fields, connection.author);
  return { announcement: sentAnnouncement(made, ports.clock.date()) };
}

async function update(
  context: CommandContext<AnnouncementPorts, CommandSender>,
  payload: Commands["announcement.update"]["payload"],
): Promise<Commands["announcement.update"]["result"]> {
  const { id, state, ...rest } = payload;
  const { ports, connection } = context;
  const changes = { ...(state && { state }), ...fieldsOf(context, rest) };
  const name = typeof id === "string" ? id : "";
  try {
    const seen = await expectedOf(context, name, state);
    const { after } = await ports.store.announcements.update(
      connection.world,
      name,
      changes,
      seen,
      connection.author,
    );
    return { announcement: sentAnnouncement(after, ports.clock.date()) };
  } catch (error) {
    const problem = error instanceof StoreError ? error.problem : undefined;
    // Another host changed the announcement first: retry.
    if (problem === "changed" && !expectedIn(connection)) {
      return update(context, payload);
    }
    if (problem !== "absent") throw error;
    throw new LiveError("announcement.unknown");
  }
}

const expectedIn = (connection: CommandSender) =>
  "expected" in connection ? connection.expected : undefined;

/**
 * Returns the announcement that must not have changed by the time of the update, or undefined if
 * the update has no precondition. An HTTP call has a precondition if it expects versions of the
 * announcement or names a state. The store itself silently ignores impossible state changes.
 * @throws {StoreError} `changed` if the announcement has another version, or `absent`.
 * @throws {LiveError} if the announcement cannot change to this state.
 */
async function expectedOf(
  { ports, connection }: CommandContext<AnnouncementPorts, CommandSender>,
  id: string,
  state: AnnouncementInput["state"],
): Promise<Announcement | undefined> {
  const expected = expectedIn(connection);
  if (!expected && !(connection.isCall && state)) return undefined;
  const all = await ports.store.announcements.list(connection.world);
  const found = all.find((announcement) => announcement.id === id);
  if (!found) throw absent("announcement");
  const sent = sentAnnouncement(found, ports.clock.date());
  if (expected) {
    expectVersion(() => announcementRecord(sent).version, expected);
  }
  const next = changedAnnouncement(found, { state }).state;
  if (state !== undefined && next !== state) {
    throw invalidPayload({
      state: [`An announcement that is ${next} cannot become ${state}.`],
    });
  }
  return found;
}

async function list({ ports, connection }: CommandContext<AnnouncementPorts, CommandSender>) {
  const all = await ports.store.announcements.list(connection.world);
  const now = ports.clock.date();
  return all.map((announcement) => sentAnnouncement(announcement, now));
}

/** Creates the module for the organizers' announcements to all users in a world. */
export function announcementModule(ports: AnnouncementPorts & AnnouncementPushPorts) {
  const pushes = new AnnouncementPushes(ports);
  return {
    bound: bind(announcements, ports),
    onEntry: pushes.handlers,
    enter: (world: string) => pushes.watch(world),
    async entrance({ world }: Connection) {
      const all = await ports.store.announcements.list(world);
      const now = ports.clock.date();
      const visible = all.filter((each) => isVisible(each, now));
      pushes.shown(world, visible);
      const sent = visible.map((each) => sentAnnouncement(each, now));
      return () => ({ announcements: sent });
    },
    forget: (world: string) => pushes.unwatch(world),
    stop: () => pushes.close(),
  } satisfies LiveModule;
}
