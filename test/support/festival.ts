// A whole schedule in the format of pretalx's `schedule.json`: two days, eight rooms and 120
// sessions, with the fields that an import reads. program-documents.ts has one with all fields.

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

export const ROOMS = [
  "Main Hall",
  "Garden",
  "Library",
  "Workshop",
  "Studio",
  "Cinema",
  "Attic",
  "Cellar",
];

/** Sessions per room, on each day. */
const PER_DAY = [7, 8];

const TRACKS = ["Community", "Software", "Hardware", "Arts"];

/** Number of speakers. Every fifth session has two. */
const SPEAKERS = 60;

const site = "https://pretalx.example.org";

/** The times of a festival. */
export interface FestivalTimes {
  /** Start of the first sessions, in milliseconds since 1970, at a full minute. */
  readonly begin: number;
  /** The IANA name of the time zone. */
  readonly zone?: string;
}

/** Derives a UUID from a number. */
const guid = (kind: number, i: number) =>
  `0b4ad1f2-6f0e-5f55-8${String(kind).padStart(3, "0")}-${i.toString(16).padStart(12, "0")}`;

/** Formats a time with the zone's offset at that time: `2027-03-01T10:00:00+01:00`. */
function localTime(time: number, zone: string): string {
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat("en", {
      timeZone: zone,
      timeZoneName: "longOffset",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    })
      .formatToParts(time)
      .map(({ type, value }) => [type, value]),
  );
  const { year, month, day, hour, minute, second, timeZoneName } = parts;
  const offset = timeZoneName!.slice("GMT".length) || "+00:00";
  return `${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`;
}

const person = (i: number) => {
  const code = `SPK${String(i).padStart(3, "0")}`;
  return {
    code,
    name: `Speaker ${i + 1}`,
    biography: `Has spoken ${i + 1} times.`,
    public_name: `Speaker ${i + 1}`,
    guid: guid(2, i),
  };
};

/** Returns the session with this number, starting at the given time in a room. */
function session(i: number, room: string, time: number, zone: string) {
  const code = `TALK${String(i).padStart(3, "0")}`;
  const url = `${site}/festival/talk/${code}/`;
  const speakers = i % 5 === 0 ? [i, i + 1] : [i];
  const date = localTime(time, zone);
  return {
    guid: guid(1, i),
    code,
    id: 100 + i,
    date,
    start: date.slice(11, 16),
    duration: "00:45",
    room,
    url,
    title: `Session ${i + 1}`,
    track: TRACKS[i % TRACKS.length],
    type: i % 4 === 3 ? "Workshop" : "Talk",
    language: i % 3 === 0 ? "de" : "en",
    abstract: `What session *${i + 1}* is about.`,
    persons: speakers.map((speaker) => person(speaker % SPEAKERS)),
  };
}

/**
 * Returns the festival's schedule. Every hour, a session of 45 minutes begins in each room. Ids and
 * texts are always the same.
 */
export function festival({ begin, zone = "Europe/Berlin" }: FestivalTimes) {
  let count = 0;
  const days = PER_DAY.map((sessions, index) => {
    const first = begin + index * DAY;
    const date = localTime(first, zone).slice(0, 10);
    return {
      index: index + 1,
      date,
      rooms: Object.fromEntries(
        ROOMS.map((room) => [
          room,
          Array.from({ length: sessions }, (_, i) =>
            session(count++, room, first + i * HOUR, zone),
          ),
        ]),
      ),
    };
  });
  return {
    schedule: {
      version: "1.0",
      conference: {
        acronym: "festival",
        title: "Festival",
        start: days[0]!.date,
        end: days.at(-1)!.date,
        daysCount: days.length,
        time_zone_name: zone,
        rooms: ROOMS.map((name) => ({ name })),
        tracks: TRACKS.map((name) => ({ name })),
        days,
      },
    },
  };
}
