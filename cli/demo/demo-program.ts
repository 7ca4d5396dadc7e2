import { Readable } from "node:stream";
import type { FileStore } from "../../db/contract/file-store.js";
import type { Program } from "../../db/contract/program-store.js";
import type { Store } from "../../db/contract/store.js";
import { importDocument } from "../../db/program-imports.js";
import { hostOf, newFileKey } from "../../db/rules/file-rows.js";
import type { DocumentSession, ProgramDocument } from "../../schemas/documents/program-document.js";
import type { EventDates } from "../../schemas/event-dates.js";

// The program of the demo: it began an hour ago, and lasts five more.

/** Pictures of the demo, as SVG. They are drawn here, as a package has no room for photos. */

/** Two colors for each picture, from left above to right below. */
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

/** The picture of a speaker: a person, with another posture for each number. */
const portrait = (n: number): string =>
  svg(
    400,
    400,
    n,
    circle(310 - ((n * 37) % 220), 90, 120, 0.12) +
      circle(200, 165, 72, 0.92) +
      `<path d="M60 400c0-92 62-142 140-142s140 50 140 142z" fill="#fff" fill-opacity="0.92"/>`,
  );

/** The picture of a room, or the cover of the event. */
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

/** The speakers, and what they do. They are invented. */
const SPEAKERS = [
  ["Mira Okonkwo", "Runs sign-up for large events", "Harbor Events"],
  ["Jonas Lindqvist", "Builds servers that stay small", "Nordlicht"],
  ["Adaeze Balogun", "Hosts panels, and ends them on time", "Open Stage"],
  ["Tomás Herrera", "Streams from places without a network", "Campo TV"],
  ["Yuki Tanabe", "Designs for keyboards and screen readers", "Plain Pages"],
  ["Leila Haddad", "Moderates what others shout", "Quiet Rooms"],
] as const;
type Speaker = (typeof SPEAKERS)[number][0];

/** A session: its room, its begin and its end in minutes from the beginning, and its speakers. */
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

/** How long the program lasts, in minutes. */
const PROGRAM_MINUTES = 360;

/**
 * The program as a document.
 * @param start in milliseconds since 1970.
 * @param pictures the address of the picture of each speaker, in their order.
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

/** Where the demo is made. */
export interface DemoPlace {
  readonly store: Store;
  readonly files: FileStore;
  /** The id of its world. */
  readonly world: string;
  /** Where clients find the server. */
  readonly address: string;
  /** In milliseconds since 1970. */
  readonly now: number;
}

/**
 * Gives the demo a program for today if it has none, or the one of an earlier day is over. A program of the
 * organizer's own stays.
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

/** Whether all of the program is the demo's. */
const isOurs = ({ sessions }: Program): boolean =>
  sessions.every(({ value }) => value.import_id?.startsWith("demo-session-"));

const isOver = ({ sessions }: Program, now: number): boolean =>
  sessions.every(({ value }) => value.ends_at === null || Date.parse(value.ends_at) < now);

/** The addresses of the pictures of the speakers: those that they have, or new ones. */
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

/** The path of an upload in its address, whatever server had it. */
const pathOf = (url: string | null | undefined): string | undefined =>
  /\/media\/pub\/.*$/.exec(url ?? "")?.[0];

/** Gives the rooms without a picture one. */
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

/** Puts the dates of the event and its cover into the settings of the world. */
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

/** @returns the address of the picture. */
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
