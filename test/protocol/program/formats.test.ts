import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readProgram } from "../../../plugins/program/formats/read.js";
import { InvalidData } from "../../../schemas/validate.js";
import {
  calendar,
  event,
  frab,
  frabXml,
  MAPS,
  mapsEvent,
  outlookZone,
  pretalx,
  pretalxXml,
  RADIO,
  two,
  xml,
} from "../../support/program-documents.js";

// Each format separately: reading its documents, and locating faults in broken ones.

interface Document {
  text: string | Buffer;
  csv?: boolean;
  zone?: string;
}

const read = ({ text, csv = false, zone = "Europe/Berlin" }: Document) =>
  readProgram(Buffer.from(text as string), { isCsv: csv, zone });

/** Returns the faults of a rejected document; empty if it is accepted. */
function faultsOf(document: Document): Readonly<Record<string, readonly string[]>> {
  try {
    read(document);
    return {};
  } catch (error) {
    if (error instanceof InvalidData) return error.faults;
    throw error;
  }
}

const csv = (rows: string, header = "title,start,end,room,speakers") => `${header}\n${rows}`;

const own = (session: object) => JSON.stringify({ sessions: [session] });

const timed = (start: string, end: string, more = "") =>
  event(`DTSTART${start}\nDTEND${end}\n${more}`);

interface Reading extends Document {
  name: string;
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
    links: [{ title: "Slides", url: "https://pretalx.example.org/media/slides.pdf" }],
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

const twoJson = (changes: Record<string, unknown>) =>
  JSON.stringify(pretalx(changes, [{ ...mapsEvent, guid: "x", title: "B" }]));

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
    sessions: [{ ...radio, fields: { ...radio.fields, links: [{ title: "Site" }], abstract: "" } }],
    speakers: [{ fields: { name: "Bob" } }, { fields: { name: "Cleo" } }],
    problems: [/^The link “www\.example\.org” is no address/],
  },
  {
    name: "a duration of days, and an event without a guid",
    text: JSON.stringify(pretalx({ duration: "1:02:30", guid: null })),
    sessions: [{ import_id: "MAPS24", fields: { ends_at: "2027-03-02T11:30:00.000Z" } }],
  },
  {
    name: "an abstract that is too long, which becomes the description",
    text: JSON.stringify(pretalx({ abstract: "a".repeat(5001), description: "d" })),
    sessions: [{ fields: { abstract: "", description: `${"a".repeat(5001)}\n\nd` } }],
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
    sessions: [{ ...radio, fields: { ...radio.fields, title: "Radio &amp; <!DOCTYPE> at night" } }],
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
        fields: { starts_at: "2027-03-01T15:00:00.000Z", ends_at: "2027-03-01T16:30:00.000Z" },
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
    text: timed(":20270301T100000Z", ":20270301T110000Z", `DESCRIPTION:${"a".repeat(5001)}`),
    sessions: [{ fields: { abstract: "", description: "a".repeat(5001) } }],
  },
  {
    // 10:00 stays 10:00; UNTIL is inclusive; one event is excluded, one moved, one canceled.
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
      { import_id: "s/20270326T090000Z", fields: { starts_at: "2027-03-26T09:00:00.000Z" } },
      { fields: { starts_at: "2027-03-28T08:00:00.000Z" } },
      {
        import_id: "s/20270329T080000Z",
        fields: { title: "Moved", starts_at: "2027-03-29T15:00:00.000Z" },
      },
      { fields: { starts_at: "2027-03-31T08:00:00.000Z" } },
    ],
    problems: [/^It is cancelled\. It was skipped\.$/],
  },
  {
    name: "a series without an end",
    text: event("DTSTART:20270301T100000Z\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;BYDAY=MO"),
    sessions: at(
      "2027-03-01T10:00",
      "2027-03-08T10:00",
      "2027-03-15T10:00",
      "2027-03-22T10:00",
      "2027-03-29T10:00",
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
        .map((lines, i) => `BEGIN:VEVENT\nUID:${i}\nSUMMARY:E\n${lines}\nEND:VEVENT`)
        .join("\n"),
    ),
    sessions: [],
    problems: [/lasts all day/, /no length/, /cancelled/],
  },
  {
    name: "a table, with a mark of its order of bytes, quotes, and formulas as text",
    csv: true,
    text: `\uFEFF${csv('"=HYPERLINK(""x"")",2027-03-01 10:00,2027-03-01T10:30+00:00,Main Hall,Ada; Bob | Cy;\r\nLater,,,,\r\n')}`,
    sessions: [
      {
        import_id: '2027-03-01T09:00:00.000Z =HYPERLINK("x")',
        speakers: ["ada", "bob", "cy"],
        fields: {
          title: '=HYPERLINK("x")',
          starts_at: "2027-03-01T09:00:00.000Z",
          ends_at: "2027-03-01T10:30:00.000Z",
        },
      },
      { import_id: "Later", room: null, fields: { starts_at: null } },
    ],
    speakers: [...["Ada", "Bob", "Cy"].map((name) => ({ fields: { name } }))],
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
  // Documents as other programs write them: from several systems, and in variants that the
  // standards allow.
  {
    name: "people of different systems with one id",
    text: xml(
      '<persons><person id="1">Ada</person><person id="1">Bob</person><person id="0">Cy</person><person id="0">Di</person><person id="1"> ada</person></persons>',
    ),
    sessions: [{ speakers: ["1", "1 bob", "cy", "di"] }, {}],
    speakers: [...["Ada", "Bob", "Cy", "Di"].map((name) => ({ fields: { name } }))],
  },
  {
    name: "a person with one guid and two names",
    text: xml('<persons><person guid="a1">Ada</person><person guid="a1">Ada L.</person></persons>'),
    sessions: [{ speakers: ["a1"] }, {}],
    problems: [/“Ada L\.” has the id of “Ada”/],
  },
  {
    name: "markup in a text of XML",
    text: xml(
      "<abstract>Hello <b>bold</b> world</abstract><description><p>One</p><p>Two</p></description>",
    ),
    sessions: [{ fields: { abstract: "Hello bold world", description: "One\nTwo" } }, {}],
  },
  ...(
    [
      ["00:45:00", "2027-03-01T09:45:00"],
      ["01:30:00", "2027-03-01T10:30:00"],
      ["1:02:30", "2027-03-02T11:30:00"],
      ["12:02:30", "2027-03-13T11:30:00"],
    ] as const
  ).map(([duration, end]) => ({
    name: `a duration of ${duration}`,
    text: xml("", { duration }),
    sessions: [{ fields: { ends_at: `${end}.000Z` } }, {}],
  })),
  ...(
    [
      [{ date: "2024-12-27", start: "11:00" }, "2024-12-27T10:00"],
      [{ date: "2024-12-27", start: "01:00" }, "2024-12-27T00:00"],
      [{ date: "", start: "01:00" }, "2027-03-02T00:00"],
      [{ date: "2027-03-01", start: "03:59" }, "2027-03-02T02:59"],
      [{ date: "", start: "04:00" }, "2027-03-01T03:00"],
    ] as const
  ).map(([parts, start]) => ({
    name: `the day ${parts.date} at ${parts.start}`,
    text: xml("", {
      ...parts,
      conference:
        "<day_change>04:00:00</day_change><time_zone_name>W. Europe Standard Time</time_zone_name>",
    }),
    zone: "Asia/Tokyo",
    sessions: [{ fields: { starts_at: `${start}:00.000Z` } }, {}],
  })),
  {
    name: "events that stand directly in a day, as in old schedules",
    text: '<schedule><conference/><day index="1" date="2007-02-25"><event id="0"><start>15:00</start><duration>00:45</duration><room>H1</room><title>X</title></event></day></schedule>',
    sessions: [{ room: { name: "H1" }, fields: { starts_at: "2007-02-25T14:00:00.000Z" } }],
  },
  ...[
    { conference: { days: [{ date: "2027-03-01", events: [mapsEvent] }] } },
    { days: [{ rooms: [{ name: "Main Hall", talks: [mapsEvent] }] }] },
    { events: { a: mapsEvent } },
    [mapsEvent],
  ].map((schedule) => ({
    name: `events that stand elsewhere: ${JSON.stringify(schedule).slice(0, 60)}`,
    text: JSON.stringify({ schedule }),
    sessions: [{ fields: { title: "Maps for everyone" } }],
  })),
  ...[
    { text: "<schedule><talk><title>X</title></talk></schedule>" },
    { text: JSON.stringify({ schedule: { conference: { title: "X" } } }) },
    { text: "title,start\n", csv: true },
    { text: calendar("") },
  ].map((document) => ({
    ...document,
    name: `no sessions: ${document.text.slice(0, 20)}`,
    sessions: [],
    problems: [/^No sessions were found/],
  })),
  {
    name: "lines that are folded within a character, by a tab, and end anyhow",
    text: Buffer.concat([
      Buffer.from("\uFEFFBEGIN:VCALENDAR\r\nBEGIN:VEVENT\nUID:1\r\r\nSUMMARY:Caf"),
      Buffer.from([0xc3, 13, 10, 32, 0xa9]),
      Buffer.from("\r\n\t!\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n"),
    ]),
    sessions: [{ fields: { title: "Café!" } }],
  },
  {
    name: "a zone that is unknown beside UTC",
    text: event("DTSTART;TZID=Mars/X:20270301T100000Z\nDTEND:20270301T110000Z"),
    sessions: at("2027-03-01T10:00"),
  },
  {
    name: "words in lower case",
    text: event(
      "status:confirmed\ndtstart;value=date-time:20270301t100000z\nduration:pt1h\nrrule:freq=daily;count=2\nBEGIN:VALARM\naction:display\nnonsense\nEND:VALARM",
    ),
    sessions: at("2027-03-01T10:00", "2027-03-02T10:00"),
  },
  {
    name: "revisions of an event",
    text: calendar(
      ["0\nSUMMARY:Old", "5\nSUMMARY:New", "4\nSUMMARY:Between"]
        .map(
          (lines) =>
            `BEGIN:VEVENT\nUID:1\nSEQUENCE:${lines}\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT`,
        )
        .join("\n"),
    ),
    sessions: [{ fields: { title: "New" } }],
    problems: [/higher SEQUENCE/, /higher SEQUENCE/],
  },
  {
    name: "periods, with their own lengths",
    text: event(
      "DTSTART:20250405T080000Z\nDURATION:PT1H\nRDATE;VALUE=PERIOD:20250406T080000Z/PT2H,20250407T080000Z/20250407T083000Z\nRDATE:never",
    ),
    sessions: ["05T09:00", "06T10:00", "07T08:30"].map((end) => ({
      fields: { ends_at: `2025-04-${end}:00.000Z` },
    })),
    problems: [/^RDATE: A time cannot be read/],
  },
  ...(
    [
      ["P1D", "30T10:00"],
      ["PT24H", "30T11:00"],
      ["P1DT1H", "30T11:00"],
    ] as const
  ).map(([duration, end]) => ({
    name: `${duration} over a change of the clocks`,
    text: event(`DTSTART;TZID=Europe/Berlin:20250329T120000\nDURATION:${duration}`),
    sessions: [{ fields: { ends_at: `2025-03-${end}:00.000Z` } }],
  })),
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

const first = "schedule.conference.days.0.rooms.Main Hall.0";

/** Rejected documents, with the error message and, if there is one, its field. */
const refusals: [name: string, document: Document, message: RegExp, field?: string][] = [
  ["nothing", { text: "" }, /^Line 1: .*JSON/],
  ["JSON that is cut off", { text: '{\n"sessions":\n[' }, /^Line 3: /],
  ["JSON that nests without end", { text: "[".repeat(10 * 2 ** 20) }, /^Line 1: .*nested/],
  [
    "another encoding",
    { text: Buffer.from('{"sessions":\n"K\u00f6ln"}', "latin1") },
    /^Line 2: It is not UTF-8/,
  ],
  ["a picture", { text: "\x89PNG" }, /^This is none of the files/],
  [
    "XML that declares an entity",
    {
      text: '<?xml version="1.0"?>\n<!DOCTYPE s [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n<schedule/>',
    },
    /^Line 2: .*not allowed/,
  ],
  [
    "XML that refers to an entity",
    { text: "<schedule>\n\n<version>&a;</version></schedule>" },
    /^Line 3: .*not allowed/,
  ],
  ["XML that nests without end", { text: "<a>\n".repeat(2.6 * 2 ** 20) }, /^Line 33: .*nested/],
  ["XML with an attribute without end", { text: '<schedule x="'.repeat(100_000) }, /^Line 1: /],
  ["XML that is cut off", { text: pretalxXml.slice(0, 700) }, /^Line \d+: .*no end/],
  [
    "XML whose tags do not match",
    { text: "<schedule>\n<day></room></schedule>" },
    /^Line 2: <\/room> ends <day>/,
  ],
  [
    "XML in another encoding",
    { text: '<?xml version="1.0" encoding="ISO-8859-1"?><schedule/>' },
    /UTF-8/,
  ],
  ["XML of another kind", { text: "<html></html>" }, /<schedule>/],
  [
    "an event of XML without a title",
    { text: pretalxXml.replace("<title>Maps for everyone</title>", "") },
    /^Line 19: title: May not be empty/,
  ],
  [
    "a schedule without a title",
    { text: JSON.stringify(pretalx({ title: null })) },
    /empty/,
    `${first}.title`,
  ],
  [
    "a day of a schedule that does not exist",
    { text: JSON.stringify(pretalx({ date: "2027-02-30T10:00:00+01:00" })) },
    /no time/,
    `${first}.date`,
  ],
  [
    "a duration that is none",
    { text: JSON.stringify(pretalx({ duration: "half an hour" })) },
    /no duration/,
    `${first}.duration`,
  ],
  [
    "a schedule whose days are no list",
    { text: JSON.stringify({ schedule: { conference: { days: {} } } }) },
    /list/,
    "schedule.conference.days",
  ],
  [
    "a calendar that is cut off",
    { text: event("DTSTART:20270301T100000Z").slice(0, 90) },
    /^Line 6: /,
  ],
  ["a calendar with a line that is none", { text: event("what is this?") }, /^Line 7: /],
  [
    "a calendar that nests without end",
    { text: `BEGIN:VCALENDAR\n${"BEGIN:VEVENT\n".repeat(100_000)}` },
    /^Line 9: .*nested/,
  ],
  [
    "a day of a calendar that does not exist",
    { text: timed(":20270230T100000", ":20270301T100000") },
    /^Line 4: DTSTART: .*no time/,
  ],
  [
    "a zone that does not exist",
    { text: timed(";TZID=Mars/Olympus:20270301T100000", ":20270301T100000") },
    /^Line 4: .*“Mars\/Olympus” is unknown/,
  ],
  [
    "a rule that is none",
    { text: timed(":20270301T100000", ":20270301T110000", "RRULE:FREQ=NEVER") },
    /^Line 9: /,
  ],
  [
    "an event that ends before it begins",
    { text: timed(":20270301T100000", ":20270301T090000") },
    /^Line 4: end: .*later/,
  ],
  ["a table without a header", { csv: true, text: "A,B\nC,D\n" }, /^Line 1: The header/],
  [
    "a table with a quote without an end",
    { csv: true, text: csv('A,,,,\n"B,,,,\n') },
    /^Line \d: Quote/,
  ],
  ["a row with too few cells", { csv: true, text: csv("A,,\n") }, /^Line 2: /],
  ["a row without an end", { csv: true, text: csv("A,2027-03-01 10:00,,,\n") }, /^Line 2: end: /],
  [
    "a time of Foyer's JSON without an offset",
    {
      text: own({ title: "A", starts_at: "2027-03-01T10:00:00", ends_at: "2027-03-01T11:00:00Z" }),
    },
    /offset/,
    "sessions.0.starts_at",
  ],
  [
    "a name that occurs twice in Foyer's JSON",
    { text: '{"sessions": [], "sessions": []}' },
    /./,
    "sessions",
  ],
  [
    "an unknown field of Foyer's JSON",
    { text: own({ title: "A", room: "B" }) },
    /Unknown field/,
    "sessions.0.room",
  ],
  ["a list", { text: "[]" }, /object/],
  [
    "a link that runs a script",
    { text: own({ title: "A", links: [{ title: "", url: "javascript:1" }] }) },
    /http/,
    "sessions.0.links.0.url",
  ],
];

void t.test("where documents break", async (t) => {
  for (const [name, document, message, field = "non_field_errors"] of refusals) {
    t.match(faultsOf(document)[field]?.[0], message, name);
  }
});

const folder = process.env.REAL_PROGRAMS!;
const noFolder = { skip: !folder && "needs a folder" };

void t.test("real exports, from the folder REAL_PROGRAMS", noFolder, async (t) => {
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name));
    const found = read({ text, ...(name.endsWith(".csv") && { csv: true }) });
    t.ok(found.sessions.length > 0, `${name}: ${found.sessions.length}`);
  }
});

/** Documents with one event that cannot be read, or only in part; the other one is always read. */
const damaged: [name: string, document: Document, problem: RegExp, fields?: object][] = [
  ...(["00:00", "0:00:00"] as const).map(
    (duration) =>
      [
        `a duration of ${duration}`,
        { text: xml("", { duration }) },
        /length was zero, so it was set to a minute/,
        { ends_at: "2027-03-01T09:01:00.000Z" },
      ] as (typeof damaged)[number],
  ),
  ...["abc", "", "-00:30", "00:99", "800:00"].map(
    (duration) =>
      [
        `a duration of “${duration}”`,
        { text: xml("", { duration }) },
        /skipped/,
      ] as (typeof damaged)[number],
  ),
  ["no title", { text: xml("", { title: " " }) }, /^title: .*skipped/],
  ["no time", { text: xml("", { date: "soon" }) }, /^date: .*skipped/],
  [
    "a long title",
    { text: xml("", { title: "x".repeat(301) }) },
    /^title: .*at most 300/,
    { title: "x".repeat(300) },
  ],
  [
    "a long subtitle",
    { text: xml(`<subtitle>${"x".repeat(301)}</subtitle>`) },
    /^subtitle: .*at most 300/,
  ],
  ["a long track", { text: xml(`<track>${"x".repeat(101)}</track>`) }, /100/],
  [
    "a long description",
    { text: xml(`<description>${"x".repeat(50_001)}</description>`) },
    /^description: .*at most 50000/,
  ],
  [
    "many links",
    {
      text: xml(`<links>${'<link href="https://a.example">x</link>'.repeat(21)}</links>`),
    },
    /^links: At most 20/,
  ],
  [
    "a long text of a link",
    {
      text: xml(`<links><link href="https://a.example">${"x".repeat(301)}</link></links>`),
    },
    /^links: .*at most 300/,
    { links: [{ title: "x".repeat(300) }] },
  ],
  [
    "a long address",
    {
      text: xml(`<links><link href="https://a.example/${"x".repeat(2000)}">x</link></links>`),
    },
    /longer than 2000/,
    { links: [] },
  ],
  [
    "many people",
    {
      text: xml(
        `<persons>${Array.from({ length: 51 }, (_, i) => `<person id="${i + 1}">P${i}</person>`).join("")}</persons>`,
      ),
    },
    /^speakers: At most 50/,
  ],
  [
    "a person without a name",
    { text: xml('<persons><person id="1"> </person></persons>') },
    /without a name/,
  ],
  ["no object", { text: twoJson({ title: null }) }, /rooms\.Main Hall\.0: title/],
  ["a half character", { text: twoJson({ title: "a\ud800b\0c" }) }, /NUL/, { title: "abc" }],
  ["no duration", { text: twoJson({ duration: null }) }, /duration/],
  ["a row without an end", { csv: true, text: csv("A,2027-03-01 10:00,,,\nB,,,,") }, /^end: /],
  ["a row of no time", { csv: true, text: csv("A,soon,2027-03-01 10:00,,\nB,,,,") }, /^start: /],
  ["a short row", { csv: true, text: csv("A,,\nB,,,,") }, /2|3 of 5/],
  ["a long row", { csv: true, text: csv("A,,,,,x\nB,,,,") }, /6 of 5/],
  ["a row without a title", { csv: true, text: csv(",,,x,\nB,,,,") }, /^title: /],
  ["a column twice", { csv: true, text: "title,Title\nB,C" }, /occurs twice/],
  ["no SUMMARY", { text: two("DTSTART:20270301T100000Z\nDURATION:PT1H") }, /^title: /],
  ...[
    "DTSTART:20270301T100000Z\nDTEND:20270301T090000Z",
    "DTSTART:20270301T100000Z\nDTEND;VALUE=DATE:20270301",
    "DTSTART:20270301T100000Z\nDURATION:-PT1H",
    "DTSTART:20270301T100000Z\nDURATION:an hour",
    "DTSTART:20270230T100000Z\nDURATION:PT1H",
    "DTSTART;TZID=Mars/Olympus:20270301T100000\nDURATION:PT1H",
    "DURATION:PT1H",
    "DTSTART:20270301T100000Z\nDURATION:PT1H\nRRULE:FREQ=NEVER",
    "DTSTART:20270301T100000Z\nDURATION:PT1H\nRRULE:nonsense",
    "DTSTART:20270301T100000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "DTSTART:20270301T100000Z\nDURATION:PT1H\nwhat is this",
  ].map(
    (lines) =>
      [
        lines,
        { text: two(`SUMMARY:A\n${lines}`) },
        /It was skipped\.$/,
      ] as (typeof damaged)[number],
  ),
  [
    "a long tag",
    {
      text: two(`SUMMARY:A\nDTSTART:20270301T100000Z\nDURATION:PT1H\nCATEGORIES:${"x".repeat(51)}`),
    },
    /^tags: .*at most 50/,
    { tags: ["x".repeat(50)] },
  ],
  [
    "no length",
    { text: two("SUMMARY:A\nDTSTART:20270301T100000Z\nDURATION:PT0S") },
    /set to a minute/,
    { ends_at: "2027-03-01T10:01:00.000Z" },
  ],
];

void t.test("one bad session never refuses a document", (t) => {
  for (const [name, document, problem, fields] of damaged) {
    const found = read(document);
    const titles = found.sessions.map((session) => session.fields.title);
    t.ok(titles.includes("B"), name);
    t.equal(found.problems.length, 1, name);
    t.match(found.problems[0]?.message, problem, name);
    if (fields) t.match(found.sessions[0], { fields }, name);
  }
  t.end();
});

/** The start of a calendar's event, by time zone. */
const zoned: [zone: string, start: string, described?: string][] = [
  ["W. Europe Standard Time", "08:00"],
  ["Eastern Daylight Time", "14:00"],
  ['"(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna"', "08:00"],
  ["(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", "08:00"],
  ['"(UTC-05:00) Eastern Time (US & Canada)"', "14:00"],
  ['"(UTC-10:00) Hawaii"', "20:00"],
  ['"(GMT+01.00) Sarajevo/Warsaw/Zagreb"', "08:00"],
  ["UTC+01:00", "09:00"],
  ["GMT-0330", "13:30"],
  ["+0530", "04:30"],
  ["utc", "10:00"],
  ["tzone://Microsoft/Utc", "10:00"],
  ["/mozilla.org/20050126_1/America/New_York", "14:00"],
  ["Eastern Standard Time", "14:00", ""],
  ["Ours", "14:00", "X-LIC-LOCATION:America/New_York\n"],
  ["Ours", "15:00", observance("20280101T000000", "-0500", "-0400")],
  ["Ours", "14:00", observance("20260101T000000", "-0500", "-0400")],
  ["Ours", "", ""],
  ["Ours", "", "BEGIN:STANDARD\nDTSTART:19700101T000000\nEND:STANDARD\n"],
  ...[
    "SECONDLY",
    "HOURLY",
    "DAILY",
    "MONTHLY;INTERVAL=999999;BYMONTHDAY=31",
    "YEARLY;BYDAY=60MO",
    "YEARLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=1,2",
  ].map((rule): [string, string, string] => [
    "Ours",
    "",
    observance("19000101T000000", "-0500", "-0400", `RRULE:FREQ=${rule}\n`),
  ]),
];

function observance(start: string, from: string, to: string, more = "") {
  return `BEGIN:STANDARD\nDTSTART:${start}\nTZOFFSETFROM:${from}\nTZOFFSETTO:${to}\n${more}END:STANDARD\n`;
}

void t.test("zones of calendars", (t) => {
  for (const [zone, start, described] of zoned) {
    const before =
      described === undefined ? "" : `BEGIN:VTIMEZONE\nTZID:${zone}\n${described}END:VTIMEZONE\n`;
    const lines = `SUMMARY:A\nDTSTART;TZID=${zone}:20270701T100000\nDURATION:PT1H`;
    const { sessions, problems } = read({ text: two(lines, before) });
    const [first] = sessions;
    const name = `${zone} ${described ?? ""}`;
    if (start === "") {
      t.match(problems, [{ message: /zone .* is unknown/ }], name);
      t.match(first, { fields: { title: "B" } }, name);
    } else {
      t.same(problems, [], name);
      t.match(first, { fields: { starts_at: `2027-07-01T${start}:00.000Z` } }, name);
    }
  }
  t.end();
});

void t.test("documents that would keep a server busy", (t) => {
  const rows: [name: string, document: Document, message: RegExp][] = [
    ["attributes", { text: `<schedule${' a=""'.repeat(101)}/>` }, /100 attributes/],
    ["elements", { text: `<schedule>${"<a/>".repeat(300_000)}</schedule>` }, /300000 elements/],
    ["lines", { csv: true, text: `title${"\n".repeat(400_001)}` }, /400000 lines/],
    ["rows", { csv: true, text: `title\n${"a\n".repeat(5001)}` }, /5000 sessions/],
    ["columns", { csv: true, text: `title${",a".repeat(200)}` }, /200 columns/],
    [
      "events",
      { text: JSON.stringify({ schedule: { events: Array(20_001).fill(0) } }) },
      /5000 sessions/,
    ],
  ];
  for (const [name, document, message] of rows) {
    t.match(Object.values(faultsOf(document))[0]?.[0], message, name);
  }
  t.end();
});
