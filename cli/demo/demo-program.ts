import { Readable } from "node:stream";
import type { FileStore } from "../../db/contract/file-store.js";
import type { Program } from "../../db/contract/program-store.js";
import type { Store } from "../../db/contract/store.js";
import { importDocument } from "../../db/program-imports.js";
import { hostOf, newFileKey } from "../../db/rules/file-rows.js";
import type { DocumentSession, ProgramDocument } from "../../schemas/documents/program-document.js";
import type { EventDates } from "../../schemas/event-dates.js";

// The demo's program. It begins an hour before the time at which it is created, and lasts six
// hours.

/** The demo's pictures are drawn as SVG, because photos would be too large for the package. */

/** The two colors of each picture's gradient, from the top left to the bottom right. */
const COLORS = [
  ["#0f766e", "#22d3ee"],
  ["#7c3aed", "#f472b6"],
  ["#b45309", "#fbbf24"],
  ["#1d4ed8", "#34d399"],
  ["#be123c", "#fb923c"],
  ["#334155", "#94a3b8"],
] as const;

const svg = (width: number, height: number, n: number, inner: string) => {
  const [from, to] = COLORS[n % COLORS.length]!;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><defs><linearGradient id="a" x1="0" y1="0" x2="1" y2="1"><stop stop-color="${from}"/><stop offset="1" stop-color="${to}"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#a)"/>${inner}</svg>\n`;
};

const circle = (x: number, y: number, r: number, opacity: number) =>
  `<circle cx="${x}" cy="${y}" r="${r}" fill="#fff" fill-opacity="${opacity}"/>`;

/** Draws a speaker's portrait. The number determines the colors and the position of the background circle. */
const portrait = (n: number): string =>
  svg(
    400,
    400,
    n,
    circle(310 - ((n * 37) % 220), 90, 120, 0.12) +
      circle(200, 165, 72, 0.92) +
      `<path d="M60 400c0-92 62-142 140-142s140 50 140 142z" fill="#fff" fill-opacity="0.92"/>`,
  );

/** Draws a room's picture, or the event's cover. */
const scenery = (n: number): string =>
  svg(
    1280,
    720,
    n,
    [0, 1, 2, 3, 4]
      .map((i) =>
        circle(
          (i * 331 + n * 173) % 1280,
          (i * 197 + n * 89) % 720,
          80 + ((i * 71 + n * 43) % 190),
          0.1 + 0.04 * i,
        ),
      )
      .join("") +
      `<path d="M0 600c200-90 420-90 640-20s440 70 640-10v150H0z" fill="#000" fill-opacity="0.18"/>`,
  );

const MINUTE = 60_000;

/** The fictional speakers, with their biographies and organizations. */
const SPEAKERS = [
  ["Mira Okonkwo", "Runs sign-up for large events", "Harbor Events"],
  ["Jonas Lindqvist", "Builds servers that stay small", "Nordlicht"],
  ["Adaeze Balogun", "Hosts panels, and ends them on time", "Open Stage"],
  ["Tomás Herrera", "Streams from places without a network", "Campo TV"],
  ["Yuki Tanabe", "Designs for keyboards and screen readers", "Plain Pages"],
  ["Leila Haddad", "Moderates what others shout", "Quiet Rooms"],
] as const;
type Speaker = (typeof SPEAKERS)[number][0];

/** A session: its room, its start and end in minutes since the start of the program, and its speakers. */
type Slot = [
  room: string,
  from: number,
  to: number,
  title: string,
  by: Speaker[],
  more: { track: string; kind: string; abstract: string },
];

const talk = (track: string, abstract: string) => ({ track, abstract, kind: "Talk" });
const workshop = (abstract: string) => ({ track: "Practice", abstract, kind: "Workshop" });

const SLOTS: Slot[] = [
  ["Main stage", 0, 30, "Welcome", ["Adaeze Balogun"], talk("Events", "What today is about.")],
  [
    "Main stage",
    30,
    90,
    "Waiting lines that people forgive",
    ["Mira Okonkwo"],
    talk("Events", "Why 300 people at once broke a page, and what helped."),
  ],
  [
    "Main stage",
    100,
    150,
    "Small servers for large crowds",
    ["Jonas Lindqvist"],
    talk("Software", "How far one machine goes, in figures."),
  ],
  [
    "Main stage",
    165,
    225,
    "Panel: what we will not stream again",
    ["Adaeze Balogun", "Tomás Herrera", "Leila Haddad"],
    talk("Events", "Three people, three evenings that went wrong."),
  ],
  ["Main stage", 330, 360, "Closing", ["Adaeze Balogun"], talk("Events", "What we take home.")],
  [
    "Side stage",
    35,
    85,
    "A stream from a boat",
    ["Tomás Herrera"],
    talk("Software", "Two antennas, one battery, and no second try."),
  ],
  [
    "Side stage",
    100,
    145,
    "Chats without shouting",
    ["Leila Haddad"],
    talk("Events", "Rules that fit on a postcard."),
  ],
  [
    "Side stage",
    240,
    300,
    "Everything by keyboard",
    ["Yuki Tanabe"],
    talk("Software", "A page that needs no mouse is better with one."),
  ],
  [
    "Workshop",
    40,
    130,
    "Plan an event in 90 minutes",
    ["Mira Okonkwo", "Leila Haddad"],
    workshop("Bring a date and a number of guests."),
  ],
  [
    "Workshop",
    150,
    240,
    "Audit your own pages",
    ["Yuki Tanabe"],
    workshop("We find ten barriers, and remove five."),
  ],
];

/** Duration of the program, in minutes. */
const PROGRAM_MINUTES = 360;

/**
 * Returns the program as a document.
 * @param start the start of the program, in milliseconds since 1970.
 * @param pictures the URL of each speaker's picture, in the order of the speakers.
 */
function documentOf(start: number, pictures: readonly string[]): ProgramDocument {
  const at = (minutes: number) => new Date(start + minutes * MINUTE).toISOString();
  return {
    sessions: SLOTS.map(([name, from, to, title, by, more], i) => ({
      fields: { title, starts_at: at(from), ends_at: at(to), language: "en", ...more },
      import_id: `demo-session-${i + 1}`,
      room: { name },
      speakers: by.map(keyOf),
      position: {},
    })) satisfies DocumentSession[],
    speakers: SPEAKERS.map(([name, biography, organization], i) => ({
      fields: { name, biography, organization, picture: pictures[i] ?? null },
      key: keyOf(name),
      import_id: keyOf(name),
      position: {},
    })),
    problems: [],
  };
}

const keyOf = (name: Speaker): string =>
  `demo-${SPEAKERS.findIndex(([known]) => known === name) + 1}`;

/** The demo's environment. */
export interface DemoPlace {
  readonly store: Store;
  readonly files: FileStore;
  /** The id of the demo world. */
  readonly world: string;
  /** The URL at which clients reach the server. */
  readonly address: string;
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
}

/**
 * Schedules a program that is already in progress, if the demo world has no sessions or if its last
 * demo program is over. A program that contains an organizer's own sessions is kept.
 */
export async function scheduleDemo(place: DemoPlace): Promise<void> {
  const { store, world, now, address } = place;
  const program = await store.program.get(world);
  if (!isOurs(program) || !isOver(program, now)) return;
  const start = Math.floor(now / (15 * MINUTE)) * 15 * MINUTE - 60 * MINUTE;
  const pictures = await picturesOf(place, program);
  await decorateRooms(place);
  await announceDates(place, start);
  const sight = { sees: () => true, hosts: hostOf(address) };
  await importDocument(store, world, documentOf(start, pictures), {}, sight);
}

/** Whether every session of the program belongs to the demo. */
const isOurs = ({ sessions }: Program): boolean =>
  sessions.every(({ value }) => value.import_id?.startsWith("demo-session-"));

const isOver = ({ sessions }: Program, now: number): boolean =>
  sessions.every(({ value }) => value.ends_at === null || Date.parse(value.ends_at) < now);

/** Returns the URLs of the speakers' pictures. Uploads the pictures that are missing. */
async function picturesOf(place: DemoPlace, { speakers }: Program): Promise<string[]> {
  const known = new Map(speakers.map(({ value }) => [value.import_id, value.picture]));
  const pictures: string[] = [];
  for (const [i, [name]] of SPEAKERS.entries()) {
    const path = pathOf(known.get(keyOf(name)));
    pictures.push(
      path === undefined ? await uploadPicture(place, portrait(i)) : place.address + path,
    );
  }
  return pictures;
}

/** Returns the path in an upload's URL, without the server's address. */
const pathOf = (url: string | null | undefined): string | undefined =>
  /\/media\/pub\/.*$/.exec(url ?? "")?.[0];

/** Adds a picture to each room that has none. */
async function decorateRooms(place: DemoPlace): Promise<void> {
  const { store, world } = place;
  const rooms = await store.rooms.all(world, { page: 1, pageSize: 100 });
  for (const [i, { value, version }] of rooms.entries()) {
    if (value.extras.picture !== null) continue;
    const picture = await uploadPicture(place, scenery(i + 1));
    const extras = { picture };
    await store.rooms.update(world, value.id, { extras }, [version]);
  }
}

/**
 * Writes the event's dates, tagline, location and cover to the world's settings. An existing
 * tagline, an existing location and an uploaded cover are kept.
 */
async function announceDates(place: DemoPlace, start: number): Promise<void> {
  const { store, world } = place;
  const found = await store.worlds.get(world);
  const before = found?.value.config as { event?: EventDates } | undefined;
  const path = pathOf(before?.event?.cover?.url);
  const event: EventDates = {
    tagline: "A day to look around",
    location: "Online",
    ...before?.event,
    starts_at: new Date(start).toISOString(),
    ends_at: new Date(start + PROGRAM_MINUTES * MINUTE).toISOString(),
    cover: {
      url: path === undefined ? await uploadPicture(place, scenery(0)) : place.address + path,
    },
  };
  await store.worlds.configure(world, { config: { event } });
}

/**
 * Uploads a picture.
 * @returns the picture's URL.
 */
async function uploadPicture(
  { store, files, world, address }: DemoPlace,
  picture: string,
): Promise<string> {
  const key = newFileKey(world, "svg");
  const uploader = { tokenId: "demo-host", traits: new Set<string>() };
  const bytes = Readable.from([Buffer.from(picture)]);
  await files.put(key, bytes, async (stored) => {
    const file = { key, ...stored };
    await store.files.add(world, uploader, file, Number.MAX_SAFE_INTEGER);
  });
  return `${address}/media/${key}`;
}
