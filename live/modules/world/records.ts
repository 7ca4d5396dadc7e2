import type { AuditEntry, AuditStore } from "../../../db/contract/audit-store.js";
import type { RoomStore, UserStore } from "../../../db/contract/store.js";
import {
  kinds,
  parseReport,
  type ProvenBy,
  type ReportRequest,
  type ReportName,
  reportNames,
  resultOf,
  type SealedReport,
} from "../../../db/results/index.js";
import { tokenCreated } from "../../../db/rules/acts.js";
import type { Clock, Random } from "../../../db/runtime.js";
import { signToken } from "../../../db/world-management.js";
import type { Commands } from "../../../schemas/live/index.js";
import { linkTo } from "../../../schemas/plain/links.js";
import { truncate } from "../../../schemas/plain/texts.js";
import type { World } from "../../../schemas/worlds.js";
import type { CommandTable, CommandContext } from "../../module.js";
import { invalidPayload, unknownRoom, worldDenied } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";

/** The ports of the commands for login links, the audit and reports. */
export interface RecordPorts {
  readonly clock: Clock;
  readonly random: Random;
  /** Seals a report request, along with the requester's rights, into a segment of a URL. */
  readonly sealReport: (
    world: World,
    report: SealedReport & { readonly key?: ProvenBy | undefined },
  ) => string;
  readonly store: {
    readonly audit: AuditStore;
    readonly rooms: RoomStore;
    readonly users: UserStore;
  };
}

type Generate = `world.report.generate.${ReportName}`;

const reports = Object.fromEntries(
  reportNames.map((name) => [
    `world.report.generate.${name}`,
    { requires: "world.feed", handler: generate(name) },
  ]),
) as unknown as Pick<CommandTable<Generate, RecordPorts>, Generate>;

/** Commands for login links, the audit, and an event's reports. */
export const records: CommandTable<
  "world.tokens.generate" | "world.auditlog.list" | "world.report.status" | Generate,
  RecordPorts
> = {
  "world.tokens.generate": { requires: "world.secrets", handler: tokens },
  "world.auditlog.list": { requires: "world.feed", handler: auditLog },
  ...reports,
  "world.report.status": { requires: "world.feed", handler: status },
};

async function tokens(
  { ports, connection, world }: CommandContext<RecordPorts>,
  { number, traits, days, long }: Commands["world.tokens.generate"]["payload"],
) {
  const results: string[] = [];
  const link = { address: connection.base, world: connection.world };
  for (let made = 0; made < Number(number); made++) {
    const token = await signToken(world.value, {
      uid: ports.random.id(),
      traits,
      expiresIn: `${Number(days)}d`,
    });
    results.push(long ? token : linkTo("event", { ...link, token }));
  }
  await ports.store.audit.record(
    connection.world,
    tokenCreated(traits, Number(number)),
    connection.author,
  );
  return { results };
}

/** Maximum number of audit entries shown, and their maximum total size, in characters. Older entries are omitted. */
const MAX_AUDIT_ENTRIES = 1000;
const MAX_AUDIT_CHARACTERS = 8 * 1024 * 1024;

/** Number of users per read. */
const USERS_PER_READ = 200;

/** Maximum length of a user's name in the audit, in characters. */
const MAX_NAME = 200;

async function auditLog({ ports, connection }: CommandContext<RecordPorts>) {
  const { audit, users } = ports.store;
  const { entries } = await audit.list(connection.world, { page: 1, pageSize: MAX_AUDIT_ENTRIES });
  const ids = [...new Set(entries.flatMap(({ by }) => by.user ?? []))];
  const people = new Map<string, object>();
  for (let from = 0; from < ids.length; from += USERS_PER_READ) {
    const some = ids.slice(from, from + USERS_PER_READ);
    for (const user of await users.getMany(connection.world, some)) {
      const name = user.profile?.display_name;
      const shown = typeof name === "string" ? truncate(name, MAX_NAME) : null;
      const profile = shown === null ? {} : { display_name: shown };
      people.set(user.id, { id: user.id, profile, deleted: user.deleted });
    }
  }
  const results: ReturnType<typeof shownEntry>[] = [];
  let size = 0;
  for (const entry of entries) {
    const shown = shownEntry(entry, people);
    size += JSON.stringify(shown).length;
    if (size > MAX_AUDIT_CHARACTERS) break;
    results.push(shown);
  }
  return { results };
}

type Audited = Commands["world.auditlog.list"]["result"]["results"][number];

const shownEntry = (
  { number, at, by, type, subject, changes }: AuditEntry,
  people: ReadonlyMap<string, object>,
): Audited => ({
  id: number,
  user: (people.get(by.user ?? "") as Audited["user"] | undefined) ?? null,
  type,
  data: { ...subject, changes },
  timestamp: new Date(at).toISOString(),
});

function generate(name: ReportName) {
  return async (context: CommandContext<RecordPorts>, payload: Commands[Generate]["payload"]) => {
    const { format = "csv", room, channel } = payload ?? {};
    const asked = room ?? channel ?? undefined;
    const { ports, connection, login, world, may } = context;
    const { inWorld = [], inRooms } = kinds[resultOf(name)];
    if (!inWorld.every(may)) throw worldDenied();
    if (asked !== undefined) {
      const found =
        inRooms && typeof asked === "string"
          ? await ports.store.rooms.get(connection.world, asked)
          : undefined;
      const sees = found && mayInRoom(login, "room.view", world.value, found.value);
      if (!sees) throw unknownRoom();
    }
    const report: ReportRequest = {
      name,
      format,
      ...(asked !== undefined && { room: asked as string }),
    };
    return { resultid: [name, format, ...(report.room ? [report.room] : [])].join(":") };
  };
}

/** Maximum lifetime of a report's URL, in milliseconds. The URL expires earlier if the requester's token does. */
const HOUR_MS = 3_600_000;

async function status(
  { ports, connection, login, world, me }: CommandContext<RecordPorts>,
  { resultid }: Commands["world.report.status"]["payload"],
) {
  const report = parseReport(resultid);
  if (!report) throw invalidPayload({ resultid: ["There is no such report."] });
  const address = ports.sealReport(world.value, {
    ...report,
    user: me.id,
    traits: [...login.traits],
    key: login.identity.key,
    ends: Math.min(ports.clock.date() + HOUR_MS, (login.identity.expires ?? Infinity) * 1000),
  });
  const path = `/api/v1/worlds/${encodeURIComponent(connection.world)}/reports/${address}/`;
  return { ready: true, result: `${connection.base}${path}` };
}
