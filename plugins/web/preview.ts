import type { Program } from "../../db/contract/program-store.js";
import type { Store } from "../../db/contract/store.js";
import { type ProgramReader, seenProgram } from "../../db/rules/program-views.js";
import { accessOf, closedFor, phaseOf } from "../../schemas/plain/access.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { PROGRAM_TEXTS } from "../../schemas/plain/program.js";
import type { Session, Speaker } from "../../schemas/program/program.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import type {
  EventPreview,
  PageAccess,
  PreviewSession,
  PreviewSpeaker,
  ProgramPreview,
} from "../../web/lib/page.js";
import type { EngineName } from "../calls/engine.js";

// Helpers that read values stored by a host. Such a value may have any type.

export const isText = (value: unknown, maxLength: number): value is string =>
  typeof value === "string" && value !== "" && value.length <= maxLength;

/** Returns an object's field, or undefined if the value is not an object. */
export function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

// The event preview on the first page before login. The preview contains only what every guest may
// see.

/** Maximum numbers of sessions and speakers in the preview. */
const SESSIONS = 4;
const SPEAKERS = 3;

/** A visitor who is not logged in. */
const GUEST = { traits: new Set<string>() };

/**
 * Whether guests may see a world: its rules let guests in, and it is published. It need not be
 * open.
 */
export const isPublic = (world: World): boolean =>
  accessOf(world.config).published && may(GUEST, ["world.view"], { world });

/** Returns the time and place of a public event, as far as the stored values are valid. */
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

/** The stores that the preview reads. */
interface Stores {
  readonly program: { get(world: string): Promise<Program> };
  readonly rooms: {
    get(world: string, id: string): Promise<{ value: Room } | undefined>;
  };
}

/**
 * Returns what a page shows of a world's phase: nothing while it is open.
 * @param now in milliseconds since 1970.
 */
export function accessPreview(world: World, now: number): { access: PageAccess } | undefined {
  const phase = phaseOf(world.config, now);
  if (phase === "open") return undefined;
  const { opensAt } = accessOf(world.config);
  const guest = { ...GUEST, isInvited: false, isSpeaker: false };
  return {
    access: {
      phase,
      ...(phase === "early" && { opens_at: new Date(opensAt!).toISOString() }),
      keepsOut: closedFor(world, guest, now) !== undefined,
    },
  };
}

/** Maximum length of `config.about`, in characters. */
const MAX_ABOUT = 20_000;

/** Returns the text about a public event. */
export const aboutPreview = ({ config }: World): { about: string } | undefined =>
  isText(config.about, MAX_ABOUT) ? { about: config.about } : undefined;

/** A program's scheduled sessions that guests may see, and the speakers to show. */
interface Seen {
  readonly sessions: readonly (Session & { starts_at: string })[];
  readonly speakers: readonly PreviewSpeaker[];
  readonly names: ReadonlyMap<string, string>;
}

/**
 * The sessions and speakers that guests may see, by program. Any change to the program, or to the
 * rules of the program's rooms or world, creates a new program object.
 */
const seen = new WeakMap<Program, Seen>();

/**
 * Returns sessions and speakers from the program, or undefined if guests may not read the program
 * or there is nothing to show.
 * @param now in milliseconds since 1970.
 * @param isWhole whether to return all of them instead of a few.
 */
export async function programPreview(
  world: World,
  { program: programs, rooms }: Stores,
  now: number,
  isWhole = false,
): Promise<{ program: ProgramPreview } | undefined> {
  if (!isPublic(world) || !may(GUEST, ["program.read"], { world })) return undefined;
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
  // Once the event is over, show its first sessions.
  const few = (ahead.length > 0 ? ahead : all.sessions).slice(0, SESSIONS);
  const shown = isWhole ? all.sessions : few;
  const speakers = isWhole ? all.speakers : all.speakers.slice(0, SPEAKERS);
  const hasEnded = phaseOf(world.config, now) === "over";
  const sessions = shown.map(async (session): Promise<PreviewSession> => ({
    title: session.title,
    starts_at: session.starts_at,
    ends_at: session.ends_at,
    room: session.room_id === null ? "" : ((await roomOf(session.room_id))?.name ?? ""),
    speakers: session.speaker_ids.slice(0, SPEAKERS).flatMap((id) => names.get(id) ?? []),
    ...(hasEnded && session.recording && { recording: session.recording.url }),
  }));
  return {
    program: {
      sessions: await Promise.all(sessions),
      more: isWhole ? 0 : Math.max(0, all.sessions.length - SESSIONS),
      speakers: [...speakers],
      moreSpeakers: all.speakers.length - speakers.length,
    },
  };
}

/** Returns a program reader with a guest's rights. */
async function guestReader(
  world: World,
  { sessions }: Program,
  roomOf: (id: string) => Promise<Room | undefined>,
): Promise<ProgramReader> {
  const ids = new Set(sessions.flatMap(({ value }) => value.room_id ?? []));
  const visible = new Set<string>();
  for (const id of ids) {
    const room = await roomOf(id);
    if (room && may(GUEST, SEE, { world, room })) visible.add(id);
  }
  return { edits: false, seesRoom: (id) => visible.has(id) };
}

function seenOf(program: Program, reader: ProgramReader): Seen {
  const found = seenProgram(program, reader);
  const sessions = found.sessions.map(({ value }) => value);
  const speakers = new Map(found.speakers.map(({ value }) => [value.id, value] as const));
  // The speakers in order of appearance, but with speakers who have pictures first.
  const appearing = [...new Set(sessions.flatMap((it) => it.speaker_ids))]
    .flatMap((id) => speakers.get(id) ?? [])
    .sort((a, b) => Number(!a.picture) - Number(!b.picture));
  const isScheduled = (it: Session): it is Session & { starts_at: string } => it.starts_at !== null;
  return {
    sessions: sessions.filter(isScheduled),
    speakers: appearing.map(previewOf),
    names: new Map([...speakers].map(([id, { name }]) => [id, name])),
  };
}

const previewOf = ({ name, organization, picture }: Speaker): PreviewSpeaker => ({
  name,
  organization,
  picture,
});

const FRAMES = new Set(["livestream.iframe", "page.iframe"]);

/** Number of rooms per read. */
const ROOMS_PER_READ = 200;

/** The kinds of calls in a world's rooms. */
export interface CallModules {
  /** Whether any room shows a frame with a page that a host flags as a call (`call: true`). */
  frames: boolean;
  /** The engines that the rooms' modules name. */
  engines: ReadonlySet<EngineName>;
}

const ENGINES: Readonly<Record<string, EngineName>> = {
  "call.native": "livekit",
  "call.bigbluebutton": "bigbluebutton",
  "call.jitsi": "jitsi",
};

/**
 * Finds the kinds of calls in a world's rooms. The result names neither framed sites nor rooms,
 * because it is disclosed even to people who may not see a room.
 */
export async function callModules(
  { rooms }: Pick<Store, "rooms">,
  world: string,
): Promise<CallModules> {
  let frames = false;
  const engines = new Set<EngineName>();
  for (let page = 1; ; page++) {
    const found = await rooms.all(world, { page, pageSize: ROOMS_PER_READ });
    for (const { type, config } of found.flatMap(({ value }) => value.module_config)) {
      frames ||= FRAMES.has(type) && fieldOf(config, "call") === true;
      const engine = Object.hasOwn(ENGINES, type) ? ENGINES[type] : undefined;
      if (engine) engines.add(engine);
    }
    if (found.length < ROOMS_PER_READ) return { frames, engines };
  }
}
