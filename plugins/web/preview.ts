import type { Program } from "../../db/contract/program-store.js";
import type { Store } from "../../db/contract/store.js";
import { type Reader, seenProgram } from "../../db/rules/program-views.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { PROGRAM_TEXTS } from "../../schemas/plain/program.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import type {
  EventPreview,
  PreviewSession,
  PreviewSpeaker,
  ProgramPreview,
} from "../../web/lib/page.js";

// Reading what a host stored. It may be anything.

export const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === "string" && value !== "" && value.length <= maxLength;

/** A field of an object; undefined for everything else. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

// What the first page shows of an event before the login: what every guest may see.

/** How many sessions and speakers it shows. */
const SESSIONS = 4;
const SPEAKERS = 3;

/** A visitor who is not logged in. */
const GUEST = { traits: new Set<string>() };

/** Whether guests may see a world. */
export const isPublic = (world: World): boolean => may(GUEST, ["world.view"], { world });

/** When and where a public event is, as far as that was stored in a sound form. */
export function eventPreview({ config }: World): { event: EventPreview } | undefined {
  const text = (name: string, maxLength: number) => {
    const value = fieldOf(config["event"], name);
    return isText(value, maxLength) ? value : undefined;
  };
  const time = (name: string) => {
    const value = text(name, 100);
    return value !== undefined && !Number.isNaN(Date.parse(value)) ? value : undefined;
  };
  const cover = fieldOf(fieldOf(config["event"], "cover"), "url");
  const timezone = config["timezone"];
  const found = {
    starts_at: time("starts_at"),
    ends_at: time("ends_at"),
    tagline: text("tagline", PROGRAM_TEXTS.title),
    location: text("location", PROGRAM_TEXTS.title),
    cover: isText(cover, PROGRAM_TEXTS.address) ? cover : undefined,
  };
  const sound = Object.entries(found).filter(([, it]) => it !== undefined);
  if (sound.length === 0) return undefined;
  const zone = isText(timezone, 100) ? { timezone } : {};
  return { event: { ...Object.fromEntries(sound), ...zone } };
}

/** Where programs and rooms are. */
interface Stores {
  readonly program: { get(world: string): Promise<Program> };
  readonly rooms: {
    get(world: string, id: string): Promise<{ value: Room } | undefined>;
  };
}

/** The scheduled sessions of a program that guests see, and the speakers of it to show. */
interface Seen {
  readonly sessions: readonly (Session & { starts_at: string })[];
  readonly speakers: readonly PreviewSpeaker[];
  readonly names: ReadonlyMap<string, string>;
}

/** By program: a change of it, of its rooms' rules or of the world's makes another one. */
const seen = new WeakMap<Program, Seen>();

/**
 * The beginning of the program, and three of its speakers, where guests may read it.
 * @param now in milliseconds since 1970.
 */
export async function programPreview(
  world: World,
  { program: programs, rooms }: Stores,
  now: number,
): Promise<{ program: ProgramPreview } | undefined> {
  if (!may(GUEST, ["world.view", "program.read"], { world })) return undefined;
  const program = await programs.get(world.id);
  if (program.sessions.length === 0) return undefined;
  const roomOf = async (id: string) => (await rooms.get(world.id, id))?.value;
  let all = seen.get(program);
  if (!all) {
    all = seenOf(program, await guestReader(world, program, roomOf));
    seen.set(program, all);
  }
  if (all.sessions.length === 0 && all.speakers.length === 0) return undefined;
  const names = all.names;
  const isOver = (at: string | null) => at !== null && Date.parse(at) <= now;
  const ahead = all.sessions.filter(({ ends_at }) => !isOver(ends_at));
  // An event that is over shows how it began.
  const shown = (ahead.length > 0 ? ahead : all.sessions).slice(0, SESSIONS);
  const sessions = shown.map(async (session): Promise<PreviewSession> => ({
    title: session.title,
    starts_at: session.starts_at,
    ends_at: session.ends_at,
    room: session.room_id === null ? "" : ((await roomOf(session.room_id))?.name ?? ""),
    speakers: session.speaker_ids.slice(0, SPEAKERS).flatMap((id) => names.get(id) ?? []),
  }));
  return {
    program: {
      sessions: await Promise.all(sessions),
      more: Math.max(0, all.sessions.length - SESSIONS),
      speakers: [...all.speakers],
    },
  };
}

/** What a guest sees of a program. */
async function guestReader(
  world: World,
  { sessions }: Program,
  roomOf: (id: string) => Promise<Room | undefined>,
): Promise<Reader> {
  const ids = new Set(sessions.flatMap(({ value }) => value.room_id ?? []));
  const visible = new Set<string>();
  for (const id of ids) {
    const room = await roomOf(id);
    if (room && may(GUEST, SEE, { world, room })) visible.add(id);
  }
  return { edits: false, seesRoom: (id) => visible.has(id) };
}

function seenOf(program: Program, reader: Reader): Seen {
  const found = seenProgram(program, reader);
  const sessions = found.sessions.map(({ value }) => value);
  const speakers = new Map(found.speakers.map(({ value }) => [value.id, value] as const));
  // In the order in which they appear, with pictures first.
  const appearing = [...new Set(sessions.flatMap((it) => it.speaker_ids))]
    .flatMap((id) => speakers.get(id) ?? [])
    .sort((a, b) => Number(!a.picture) - Number(!b.picture));
  const isScheduled = (it: Session): it is Session & { starts_at: string } => it.starts_at !== null;
  return {
    sessions: sessions.filter(isScheduled),
    speakers: appearing.slice(0, SPEAKERS).map(previewOf),
    names: new Map([...speakers].map(([id, { name }]) => [id, name])),
  };
}

const previewOf = ({ name, organization, picture }: Speaker): PreviewSpeaker => ({
  name,
  organization,
  picture,
});

const FRAMES = new Set(["livestream.iframe", "page.iframe"]);

/** How many rooms are looked through at once. */
const ROOMS_PER_READ = 200;

/**
 * Whether a room frames a page that its host calls a call (`call: true`). Which sites these are
 * stays with those who may see the room.
 */
export async function hasCalls({ rooms }: Pick<Store, "rooms">, world: string): Promise<boolean> {
  for (let page = 1; ; page++) {
    const found = await rooms.all(world, { page, pageSize: ROOMS_PER_READ });
    const modules = found.flatMap(({ value }) => value.module_config);
    const isCall = ({ config }: Record<string, unknown>) => fieldOf(config, "call") === true;
    if (modules.some((it) => FRAMES.has(it.type) && isCall(it))) return true;
    if (found.length < ROOMS_PER_READ) return false;
  }
}
