import type { ListedReport, Report, ReportScope } from "../../../db/domains/reports.js";
import type { RoomStore, Store, UserRecord, UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands, SentReport } from "../../../schemas/live/index.js";
import { isOutOfReach } from "../../../schemas/plain/permissions.js";
import type { ReportReason } from "../../../schemas/plain/moderation/reports.js";
import type {
  ChannelContext,
  CommandContext,
  CommandTable,
  LiveModule,
  RoomContext,
} from "../../module.js";
import { bind } from "../../module.js";
import { encoded, Json, type Sendable } from "../../rules/encoding.js";
import {
  invalidPayload,
  roomDenied,
  unknownReport,
  unknownRoom,
  unknownUser,
  worldDenied,
} from "../../rules/problems.js";
import { isSilenced, mayInRoom, mayInWorld } from "../../rules/rights.js";
import type { View, WorldStates } from "../../rules/world-state.js";
import { briefUser, readUsers } from "../../rules/sent-users.js";
import { openFor, type ReportPushPorts, reportPushes } from "./report-pushes.js";

/** Maximum number of reported items in a list, and of reasons for each. */
const MAX_LISTED = 50;
const MAX_REASONS = 20;

/** Maximum size of a list, in characters of its contents. The first item is always included. */
const MAX_SIZE = 1024 * 1024;

/** Ports of the commands for reports. */
export interface ReportPorts {
  readonly clock: Clock;
  readonly states: WorldStates;
  readonly store: {
    readonly reports: Store["reports"];
    readonly rooms: Pick<RoomStore, "get">;
    readonly users: UserStore;
  };
}

type ReportCommand =
  "chat.report" | "question.report" | "user.report" | "report.list" | "report.resolve";

/** Commands with which people submit reports and moderators handle them. */
export const reports: CommandTable<ReportCommand, ReportPorts> = {
  "chat.report": { inChannel: "chat.read", direct: "all", rounded: ["event"], handler: message },
  "question.report": { inRoom: "question.read", handler: question },
  "user.report": { requires: "world.view", handler: person },
  "report.list": { requires: "login", handler: list },
  "report.resolve": { requires: "login", handler: resolve },
};

/**
 * Returns the item that a payload reports.
 * @throws {LiveError} if the caller is read-only.
 */
function complaintOf(
  { ports, me }: CommandContext<ReportPorts>,
  { reason, text = "" }: { reason: ReportReason; text?: string },
) {
  if (isSilenced(me)) throw worldDenied();
  return { by: me.id, reason, text, at: ports.clock.date() };
}

async function message(
  context: ChannelContext<ReportPorts>,
  payload: Commands["chat.report"]["payload"],
) {
  const { ports, connection, channel, direct, me } = context;
  const complaint = complaintOf(context, payload);
  const event = Number(payload.event);
  const isMember = !direct || direct.includes(me.id);
  if (!isMember || !Number.isSafeInteger(event)) throw unknownReport();
  const reported = { kind: "message", room: direct ? null : channel, channel, event } as const;
  const { reports } = ports.store;
  await reports.create(connection.world, reported, complaint, connection.author);
  return {};
}

async function question(
  context: RoomContext<ReportPorts>,
  payload: Commands["question.report"]["payload"],
) {
  const { ports, connection, room, login, world } = context;
  const complaint = complaintOf(context, payload);
  if (typeof payload.id !== "string") throw unknownReport();
  const all = mayInRoom(login, "question.moderate", world.value, room.value);
  const place = { room: room.value.id, question: payload.id, all } as const;
  const { reports } = ports.store;
  await reports.create(
    connection.world,
    { kind: "question", ...place },
    complaint,
    connection.author,
  );
  return {};
}

async function person(
  context: CommandContext<ReportPorts>,
  payload: Commands["user.report"]["payload"],
) {
  const { ports, connection } = context;
  const complaint = complaintOf(context, payload);
  const room = payload.room == null ? null : (await roomNamed(context, payload.room)).id;
  if (typeof payload.user !== "string") throw unknownReport();
  const reported = { kind: "user", room, user: payload.user } as const;
  const { reports } = ports.store;
  await reports.create(connection.world, reported, complaint, connection.author);
  return {};
}

/**
 * Finds the room of a report.
 * @throws {LiveError} if there is no such room, or the caller may not see it.
 */
async function roomNamed(
  { ports, connection, login, world }: CommandContext<ReportPorts>,
  id: unknown,
) {
  const room =
    typeof id === "string" ? await ports.store.rooms.get(connection.world, id) : undefined;
  if (!room) throw unknownRoom();
  if (!mayInRoom(login, "room.view", world.value, room.value)) throw roomDenied();
  return room.value;
}

/** Returns the reports that the caller may handle, and the view from which that follows. */
async function scopeOf({
  ports,
  connection,
  login,
  me,
  world,
}: CommandContext<ReportPorts>): Promise<{ scope: ReportScope; view: View }> {
  const state = await ports.states.get(connection.world);
  if (!state) throw worldDenied();
  const view = connection.viewOf(state);
  const rooms = state.rooms
    .map(({ value }) => value)
    .filter((room) => mayInRoom(login, "chat.moderate", world.value, room))
    .map(({ id }) => id);
  const scope = { user: me.id, rooms, world: mayInWorld(login, "chat.moderate", world.value) };
  return { scope, view };
}

const isIn = ({ user, rooms, world }: ReportScope, report: Report): boolean =>
  report.user !== user && (report.room === null ? world : rooms.includes(report.room));

/** Finds a report that the caller may handle. */
async function reportNamed(
  { ports, connection }: CommandContext<ReportPorts>,
  scope: ReportScope,
  id: unknown,
): Promise<Report> {
  const report =
    typeof id === "string" ? await ports.store.reports.get(connection.world, id) : undefined;
  if (!report || !isIn(scope, report)) throw unknownReport();
  return report;
}

async function list(
  context: CommandContext<ReportPorts>,
  { room, state, before }: Commands["report.list"]["payload"],
) {
  const { ports, connection } = context;
  const { scope, view } = await scopeOf(context);
  let chosen = scope;
  if (room != null) {
    const { id } = await roomNamed(context, room);
    if (!scope.rooms.includes(id)) throw roomDenied();
    chosen = { ...scope, rooms: [id], world: false };
  } else if (!scope.world && scope.rooms.length === 0) {
    throw worldDenied();
  }
  const last = before === undefined ? undefined : await reportNamed(context, scope, before);
  const { reports } = ports.store;
  const found = await reports.list(connection.world, chosen, {
    before: last?.number,
    state: state ?? null,
    limit: MAX_LISTED + 1,
  });
  const shown = await sentReports(context, found.slice(0, MAX_LISTED));
  const open = openFor(view, scope.user, await reports.open(connection.world, [scope.user]));
  return { reports: shown, more: found.length > shown.length, open };
}

type Sent = Sendable<SentReport>;

/** Converts as many reports as fit to the form that moderators receive. */
async function sentReports(
  { ports, connection, world, may }: CommandContext<ReportPorts>,
  found: readonly ListedReport[],
): Promise<Json<SentReport>[]> {
  const numbers = found.map(({ number }) => number);
  const notes = await ports.store.reports.notes(connection.world, numbers, MAX_REASONS);
  const ids = [
    ...found.flatMap(({ user, named, resolved_by: by }) => [named ? user : null, by]),
    ...notes.map(({ user }) => user),
  ];
  const known = ids.filter((id) => id !== null);
  const users = await readUsers(ports, connection.world, [...new Set(known)]);
  const now = ports.clock.date();
  const admin = may("user.manage");
  const shownUser = (id: string | null) => {
    const user = id === null ? undefined : users.get(id);
    return user ? briefUser(user, world.value, now, admin) : null;
  };
  const time = (at: number) => new Date(at).toISOString();
  const sent: Json<SentReport>[] = [];
  let size = 0;
  for (const { number, named, ...report } of found) {
    const own = notes.filter((note) => note.report === number);
    const one: Sent = {
      id: report.id,
      kind: report.kind,
      ...(report.room !== null && { room: report.room }),
      ...(report.channel !== null && { channel: report.channel }),
      ...(report.event !== null && { event: report.event }),
      content: new Json(report.content),
      user: named ? shownUser(report.user) : null,
      reports: own.map(({ user, reason, text, at }) => ({
        user: shownUser(user),
        reason,
        text,
        at: time(at),
      })),
      count: own[0]?.count ?? 1,
      state: report.state,
      ...(report.isGone && { deleted: true }),
      at: time(report.at),
      ...(report.resolved_at !== null && {
        resolved_at: time(report.resolved_at),
        resolved_by: shownUser(report.resolved_by),
      }),
    };
    const json = encoded<SentReport>(one);
    size += json.text.length;
    if (size > MAX_SIZE && sent.length > 0) break;
    sent.push(json);
  }
  return sent;
}

async function resolve(
  context: CommandContext<ReportPorts>,
  { id, action }: Commands["report.resolve"]["payload"],
) {
  const { ports, connection, me } = context;
  const { scope } = await scopeOf(context);
  const report = await reportNamed(context, scope, id);
  if (action === "deleted") await requireDeletion(context, report);
  else if (action !== "dismissed") await requireDecision(context, report);
  const at = ports.clock.date();
  const decision = [report.id, action, me.id, at] as const;
  await ports.store.reports.resolve(connection.world, ...decision, connection.author);
  return {};
}

/**
 * Checks that the caller may delete the reported item.
 * @throws {LiveError}
 */
async function requireDeletion(
  { ports, connection, login, world }: CommandContext<ReportPorts>,
  { kind, room }: Report,
): Promise<void> {
  if (kind === "user") {
    throw invalidPayload({ action: ["Only messages and questions can be deleted."] });
  }
  if (kind !== "question" || room === null) return;
  const found = await ports.store.rooms.get(connection.world, room);
  if (found && !mayInRoom(login, "question.moderate", world.value, found.value)) {
    throw roomDenied();
  }
}

/**
 * Checks that the caller may silence or ban the reported user.
 * @throws {LiveError}
 */
async function requireDecision(
  { ports, connection, may, world }: CommandContext<ReportPorts>,
  { user: id, named }: Report,
): Promise<void> {
  if (!may("user.manage")) throw worldDenied();
  if (!named) throw invalidPayload({ action: ["Nobody learns who asked this question."] });
  const user: UserRecord | undefined =
    id === null ? undefined : await ports.store.users.get(connection.world, id);
  if (!user || user.deleted) throw unknownUser();
  if (isOutOfReach(user.traits, world.value.permission_config, may)) throw worldDenied();
}

/** Creates the module for reports to the moderators. */
export const reportModule = (ports: ReportPorts & ReportPushPorts) =>
  ({ bound: bind(reports, ports), onEntry: reportPushes(ports) }) satisfies LiveModule;
