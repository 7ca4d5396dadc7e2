import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readProgram } from "../../plugins/program/formats/read.js";
import { InvalidData } from "../../schemas/validate.js";
import {
  calendar,
  event,
  frab,
  frabXml,
  MAPS,
  outlookZone,
  pretalx,
  pretalxXml,
  RADIO,
} from "./documents.js";

// Each format by itself: what its documents say, and where a broken one breaks.

interface Document {
  name: string;
  text: string | Buffer;
  csv?: boolean;
  zone?: string;
}

const read = ({ text, csv = false, zone = "Europe/Berlin" }: Document) =>
  readProgram(Buffer.from(text as string), { isCsv: csv, zone });

const csv = (rows: string, header = "title,start,end,room,speakers") =>
  `${header}\n${rows}`;

const own = (session: object) => JSON.stringify({ sessions: [session] });

const timed = (start: string, end: string, more = "") =>
  event(`DTSTART${start}\nDTEND${end}\n${more}`);

interface Reading extends Document {
  sessions: object[];
  speakers?: object[];
  problems?: RegExp[];
}

const maps = {
  import_id: MAPS,
  room: { name: "Main Hall" },
  fields: {
    title: "Maps for everyone",
    subtitle: "",
    abstract: "How volunteers map *every* street.",
    description: "It's a story of paint & patience.",
    starts_at: "2027-03-01T09:00:00.000Z",
    ends_at: "2027-03-01T09:40:00.000Z",
    track: "Community",
    kind: "Talk",
    language: "en",
    links: [
      { title: "Slides", url: "https://pretalx.example.org/media/slides.pdf" },
    ],
  },
};
const radio = {
  import_id: RADIO,
  room: { name: "Tent" },
  speakers: ["3", "4"],
  fields: {
    starts_at: "2027-08-10T22:30:00.000Z",
    ends_at: "2027-08-11T00:00:00.000Z",
    kind: "workshop",
    track: "",
  },
};
const at = (...starts: string[]) =>
  starts.map((start) => ({ fields: { starts_at: `${start}:00.000Z` } }));

const readings: Reading[] = [
  {
    name: "schedule.json of pretalx",
    text: JSON.stringify(pretalx()),
    sessions: [maps],
    speakers: [{ fields: { name: "Ada Example", biography: "Maps cities." } }],
  },
  {
    name: "schedule.json of frab, whose links are of any kind",
    text: JSON.stringify(frab),
    sessions: [
      {
        ...radio,
        fields: { ...radio.fields, links: [{ title: "Site" }], abstract: "" },
      },
    ],
    speakers: [{ fields: { name: "Bob" } }, { fields: { name: "Cleo" } }],
    problems: [/^The link “www\.example\.org” is no address/],
  },
  {
    name: "a duration of days, and an event without a guid",
    text: JSON.stringify(pretalx({ duration: "1:02:30", guid: null })),
    sessions: [
      { import_id: "MAPS24", fields: { ends_at: "2027-03-02T11:30:00.000Z" } },
    ],
  },
  {
    name: "an abstract that is too long, which becomes the description",
    text: JSON.stringify(
      pretalx({ abstract: "a".repeat(5001), description: "d" }),
    ),
    sessions: [
      { fields: { abstract: "", description: `${"a".repeat(5001)}\n\nd` } },
    ],
  },
  {
    name: "a schedule without offsets, in the zone of the conference",
    text: JSON.stringify(pretalx({ date: "2027-03-01T10:00:00" })),
    zone: "Asia/Tokyo",
    sessions: at("2027-03-01T09:00"),
  },
  { name: "schedule.xml of pretalx", text: pretalxXml, sessions: [maps] },
  {
    name: "schedule.xml of frab, without dates",
    text: frabXml,
    sessions: [
      {
        ...radio,
        fields: { ...radio.fields, title: "Radio &amp; <!DOCTYPE> at night" },
      },
    ],
  },
  {
    name: "a calendar",
    text: timed(
      ";TZID=Europe/Berlin:20270301T100000",
      ":20270301T100000Z",
      "DESCRIPTION:One\\, two\\n\n three\nLOCATION:Park\nCATEGORIES:a\\,b,c\nURL:https://walk.example.org",
    ),
    sessions: [
      {
        import_id: "walk@example.org",
        room: { name: "Park" },
        fields: {
          title: "Walk",
          abstract: "One, two\nthree",
          starts_at: "2027-03-01T09:00:00.000Z",
          ends_at: "2027-03-01T10:00:00.000Z",
          tags: ["a,b", "c"],
          links: [{ url: "https://walk.example.org" }],
        },
      },
    ],
  },
  {
    name: "floating times of a calendar, and DURATION",
    text: event("DTSTART:20270301T100000\nDURATION:PT1H30M"),
    zone: "America/New_York",
    sessions: [
      {
        fields: {
          starts_at: "2027-03-01T15:00:00.000Z",
          ends_at: "2027-03-01T16:30:00.000Z",
        },
      },
    ],
  },
  {
    name: "a zone that only the calendar describes",
    text: calendar(
      `${outlookZone}\nBEGIN:VEVENT\nSUMMARY:Walk\nDTSTART;TZID="Our Own Time":20270701T100000\nDTEND;TZID="Our Own Time":20270701T110000\nEND:VEVENT`,
    ),
    zone: "Asia/Tokyo",
    sessions: at("2027-07-01T08:00"),
  },
  {
    name: "a description of a calendar that is too long for an abstract",
    text: timed(
      ":20270301T100000Z",
      ":20270301T110000Z",
      `DESCRIPTION:${"a".repeat(5001)}`,
    ),
    sessions: [{ fields: { abstract: "", description: "a".repeat(5001) } }],
  },
  {
    // 10:00 stays 10:00; UNTIL is the last one, and one is left out, one moved, one cancelled.
    name: "a series over a change of the clocks",
    text: calendar(
      [
        ["BEGIN:VEVENT", "UID:s", "SUMMARY:S", "DURATION:PT1H"],
        ["DTSTART;TZID=Europe/Berlin:20270326T100000"],
        ["RRULE:FREQ=DAILY;UNTIL=20270331T080000Z"],
        ["EXDATE:20270327T090000Z", "END:VEVENT"],
        ["BEGIN:VEVENT", "UID:s", "SUMMARY:Moved", "DURATION:PT1H"],
        ["RECURRENCE-ID;TZID=Europe/Berlin:20270329T100000"],
        ["DTSTART:20270329T150000Z", "END:VEVENT"],
        ["BEGIN:VEVENT", "UID:s", "SUMMARY:Off", "STATUS:CANCELLED"],
        ["RECURRENCE-ID;TZID=Europe/Berlin:20270330T100000"],
        ["DTSTART:20270330T080000Z", "DURATION:PT1H", "END:VEVENT"],
      ]
        .flat()
        .join("\n"),
    ),
    sessions: [
      {
        import_id: "s/20270326T090000Z",
        fields: { starts_at: "2027-03-26T09:00:00.000Z" },
      },
      { fields: { starts_at: "2027-03-28T08:00:00.000Z" } },
      {
        import_id: "s/20270329T080000Z",
        fields: { title: "Moved", starts_at: "2027-03-29T15:00:00.000Z" },
      },
      { fields: { starts_at: "2027-03-31T08:00:00.000Z" } },
    ],
    problems: [/^It is cancelled\. It was left out\.$/],
  },
  {
    name: "a series without an end",
    text: event(
      "DTSTART:20270301T100000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;BYDAY=MO",
    ),
    sessions: at(
      ...["2027-03-01T10:00", "2027-03-08T10:00", "2027-03-15T10:00"],
      ...["2027-03-22T10:00", "2027-03-29T10:00"],
    ),
    problems: [/more than 31 days/],
  },
  {
    name: "events of a calendar that are no sessions",
    text: calendar(
      [
        "DTSTART;VALUE=DATE:20270301",
        "DTSTART:20270301T100000Z",
        "STATUS:CANCELLED\nDTSTART:20270301T100000Z\nDURATION:PT1H",
      ]
        .map(
          (lines, i) =>
            `BEGIN:VEVENT\nUID:${i}\nSUMMARY:E\n${lines}\nEND:VEVENT`,
        )
        .join("\n"),
    ),
    sessions: [],
    problems: [/lasts all day/, /no length/, /cancelled/],
  },
  {
    name: "a table, with a mark of its order of bytes, quotes, and formulas as text",
    csv: true,
    text: `\uFEFF${csv('"=HYPERLINK(""x"")",2027-03-01 10:00,2027-03-01T10:30+00:00,Main Hall,Ada; Bob ;\r\nLater,,,,\r\n')}`,
    sessions: [
      {
        import_id: '2027-03-01T09:00:00.000Z =HYPERLINK("x")',
        speakers: ["ada", "bob"],
        fields: {
          title: '=HYPERLINK("x")',
          starts_at: "2027-03-01T09:00:00.000Z",
          ends_at: "2027-03-01T10:30:00.000Z",
        },
      },
      { import_id: "Later", room: null, fields: { starts_at: null } },
    ],
    speakers: [{ fields: { name: "Ada" } }, { fields: { name: "Bob" } }],
  },
  {
    name: "a column that no program has",
    csv: true,
    text: csv("A,x", "Title,Catering"),
    sessions: [{ fields: { title: "A" } }],
    problems: [/“catering” is unknown/],
  },
  {
    name: "an hour that occurs twice",
    csv: true,
    text: csv("A,2027-10-31 02:30,2027-10-31 04:00,,"),
    sessions: at("2027-10-31T00:30"),
    problems: [/occurs twice.* read as 2027-10-31T00:30:00\.000Z/],
  },
  {
    name: "an hour that is skipped",
    text: timed(":20270328T023000", ":20270328T040000"),
    sessions: at("2027-03-28T01:30"),
    problems: [/does not occur.* read as 2027-03-28T01:30:00\.000Z/],
  },
  {
    name: "Foyer's own JSON, where a missing field says nothing",
    text: own({ title: "A", room_id: null }),
    sessions: [{ import_id: "A", room: null, fields: { title: "A" } }],
  },
];

void t.test("what documents say", async (t) => {
  for (const { sessions, speakers, problems = [], ...document } of readings) {
    const { name } = document;
    const found = read(document);
    t.match(found.sessions, sessions, name);
    t.equal(found.sessions.length, sessions.length, `${name}: sessions`);
    if (speakers) t.match(found.speakers, speakers, `${name}: speakers`);
    t.match(
      found.problems.map(({ message }) => message),
      problems,
      `${name}: problems`,
    );
    t.equal(found.problems.length, problems.length, `${name}: problems`);
  }
});

interface Refusal extends Document {
  says: [field: string, message: RegExp];
}

const NOWHERE = "non_field_errors";
const first = "schedule.conference.days.0.rooms.Main Hall.0";

const refusals: Refusal[] = [
  { name: "nothing", text: "", says: [NOWHERE, /^Line 1: .*JSON/] },
  {
    name: "JSON that is cut off",
    text: '{\n"sessions":\n[',
    says: [NOWHERE, /^Line 3: /],
  },
  {
    name: "JSON that nests without end",
    text: "[".repeat(10 * 2 ** 20),
    says: [NOWHERE, /^Line 1: .*nested/],
  },
  {
    name: "another encoding",
    text: Buffer.from("title\nok\nK\u00f6ln", "latin1"),
    csv: true,
    says: [NOWHERE, /^Line 3: It is not UTF-8/],
  },
  {
    name: "XML that declares an entity",
    text: '<?xml version="1.0"?>\n<!DOCTYPE s [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<schedule/>',
    says: [NOWHERE, /^Line 2: .*refused/],
  },
  {
    name: "XML that refers to an entity",
    text: "<schedule>\n\n<version>&a;</version></schedule>",
    says: [NOWHERE, /^Line 3: .*refused/],
  },
  {
    name: "XML that nests without end",
    text: "<a>\n".repeat(2.6 * 2 ** 20),
    says: [NOWHERE, /^Line 33: .*nested/],
  },
  {
    name: "XML with an attribute without end",
    text: '<schedule x="'.repeat(100_000),
    says: [NOWHERE, /^Line 1: /],
  },
  {
    name: "XML that is cut off",
    text: pretalxXml.slice(0, 700),
    says: [NOWHERE, /^Line \d+: .*no end/],
  },
  {
    name: "XML whose tags do not match",
    text: "<schedule>\n<day></room></schedule>",
    says: [NOWHERE, /^Line 2: <\/room> ends <day>/],
  },
  {
    name: "XML in another encoding",
    text: '<?xml version="1.0" encoding="ISO-8859-1"?><schedule/>',
    says: [NOWHERE, /UTF-8/],
  },
  {
    name: "XML of another kind",
    text: "<html></html>",
    says: [NOWHERE, /<schedule>/],
  },
  {
    name: "an event of XML without a title",
    text: pretalxXml.replace("<title>Maps for everyone</title>", ""),
    says: [NOWHERE, /^Line 19: title: May not be empty/],
  },
  {
    name: "a schedule without a title",
    text: JSON.stringify(pretalx({ title: null })),
    says: [`${first}.title`, /empty/],
  },
  {
    name: "a day of a schedule that does not exist",
    text: JSON.stringify(pretalx({ date: "2027-02-30T10:00:00+01:00" })),
    says: [`${first}.date`, /no time/],
  },
  {
    name: "a duration that is none",
    text: JSON.stringify(pretalx({ duration: "half an hour" })),
    says: [`${first}.duration`, /no duration/],
  },
  {
    name: "a schedule whose days are no list",
    text: JSON.stringify({ schedule: { conference: { days: {} } } }),
    says: ["schedule.conference.days", /list/],
  },
  {
    name: "a calendar that is cut off",
    text: event("DTSTART:20270301T100000Z").slice(0, 90),
    says: [NOWHERE, /^Line 6: /],
  },
  {
    name: "a calendar with a line that is none",
    text: event("what is this?"),
    says: [NOWHERE, /^Line 7: /],
  },
  {
    name: "a calendar that nests without end",
    text: `BEGIN:VCALENDAR\n${"BEGIN:VEVENT\n".repeat(100_000)}`,
    says: [NOWHERE, /^Line 9: .*nested/],
  },
  {
    name: "a day of a calendar that does not exist",
    text: timed(":20270230T100000", ":20270301T100000"),
    says: [NOWHERE, /^Line 4: DTSTART: .*no time/],
  },
  {
    name: "a zone that does not exist",
    text: timed(";TZID=Mars/Olympus:20270301T100000", ":20270301T100000"),
    says: [NOWHERE, /^Line 4: .*“Mars\/Olympus” is unknown/],
  },
  {
    name: "a rule that is none",
    text: timed(":20270301T100000", ":20270301T110000", "RRULE:FREQ=NEVER"),
    says: [NOWHERE, /^Line 9: /],
  },
  {
    name: "an event that ends before it begins",
    text: timed(":20270301T100000", ":20270301T090000"),
    says: [NOWHERE, /^Line 4: end: .*later/],
  },
  {
    name: "a table without a header",
    csv: true,
    text: "A,B\nC,D\n",
    says: [NOWHERE, /^Line 1: The header/],
  },
  {
    name: "a table with a quote without an end",
    csv: true,
    text: csv('A,,,,\n"B,,,,\n'),
    says: [NOWHERE, /^Line \d: Quote/],
  },
  {
    name: "a row with too few cells",
    csv: true,
    text: csv("A,,\n"),
    says: [NOWHERE, /^Line 2: /],
  },
  {
    name: "a row without an end",
    csv: true,
    text: csv("A,2027-03-01 10:00,,,\n"),
    says: [NOWHERE, /^Line 2: end: /],
  },
  {
    name: "a time of Foyer's JSON without an offset",
    text: own({
      title: "A",
      starts_at: "2027-03-01T10:00:00",
      ends_at: "2027-03-01T11:00:00Z",
    }),
    says: ["sessions.0.starts_at", /offset/],
  },
  {
    name: "a name that occurs twice in Foyer's JSON",
    text: '{"sessions": [], "sessions": []}',
    says: ["sessions", /./],
  },
  {
    name: "an unknown field of Foyer's JSON",
    text: own({ title: "A", room: "B" }),
    says: ["sessions.0.room", /Unknown field/],
  },
  { name: "a list", text: "[]", says: [NOWHERE, /object/] },
  {
    name: "a link that runs a script",
    text: own({ title: "A", links: [{ title: "", url: "javascript:1" }] }),
    says: ["sessions.0.links.0.url", /http/],
  },
];

void t.test("where documents break", async (t) => {
  for (const {
    says: [field, message],
    ...document
  } of refusals) {
    try {
      read(document);
      t.fail(document.name);
    } catch (error) {
      if (!(error instanceof InvalidData)) throw error;
      t.match(error.faults[field]?.[0], message, document.name);
    }
  }
});

void t.test("real exports, from the folder REAL_PROGRAMS", async (t) => {
  const folder = process.env.REAL_PROGRAMS;
  if (folder === undefined) return;
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name));
    const found = read({
      name,
      text,
      ...(name.endsWith(".csv") && { csv: true }),
    });
    t.ok(found.sessions.length > 0, `${name}: ${found.sessions.length}`);
  }
});
