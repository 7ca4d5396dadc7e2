import t from "tap";
import { readProgram } from "../../plugins/program/formats/read.js";
import { InvalidData } from "../../schemas/validate.js";
import { calendar, event, mapsEvent, pretalx, two, xml } from "./documents.js";

// Documents as other programs write them: beyond the bounds, of several systems, and in forms that the
// standards allow. Each is read as far as it makes sense, and what was left out is listed.

interface Document {
  text: string | Buffer;
  csv?: boolean;
  zone?: string;
}

const read = ({ text, csv = false, zone = "Europe/Berlin" }: Document) =>
  readProgram(Buffer.from(text as string), { isCsv: csv, zone });

const csv = (rows: string) => `title,start,end,room,speakers\n${rows}`;

const at = (...starts: string[]) =>
  starts.map((start) => ({ fields: { starts_at: `${start}:00.000Z` } }));

const twoJson = (changes: Record<string, unknown>) =>
  JSON.stringify(pretalx(changes, [{ ...mapsEvent, guid: "x", title: "B" }]));

interface Reading extends Document {
  name: string;
  sessions: object[];
  speakers?: object[];
  problems?: RegExp[];
}

const readings: Reading[] = [
  {
    name: "people of different systems with one id",
    text: xml(
      '<persons><person id="1">Ada</person><person id="1">Bob</person><person id="0">Cy</person><person id="0">Di</person><person id="1"> ada</person></persons>',
    ),
    sessions: [{ speakers: ["1", "1 bob", "cy", "di"] }, {}],
    speakers: [
      ...["Ada", "Bob", "Cy", "Di"].map((name) => ({ fields: { name } })),
    ],
  },
  {
    name: "a person with one guid and two names",
    text: xml(
      '<persons><person guid="a1">Ada</person><person guid="a1">Ada L.</person></persons>',
    ),
    sessions: [{ speakers: ["a1"] }, {}],
    problems: [/“Ada L\.” has the id of “Ada”/],
  },
  {
    name: "markup in a text of XML",
    text: xml(
      "<abstract>Hello <b>bold</b> world</abstract><description><p>One</p><p>Two</p></description>",
    ),
    sessions: [
      { fields: { abstract: "Hello bold world", description: "One\nTwo" } },
      {},
    ],
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
    sessions: [
      {
        room: { name: "H1" },
        fields: { starts_at: "2007-02-25T14:00:00.000Z" },
      },
    ],
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
      Buffer.from(
        "\uFEFFBEGIN:VCALENDAR\r\nBEGIN:VEVENT\nUID:1\r\r\nSUMMARY:Caf",
      ),
      Buffer.from([0xc3, 13, 10, 32, 0xa9]),
      Buffer.from(
        "\r\n\t!\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT\nEND:VCALENDAR\n",
      ),
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
    text: event(
      `DTSTART;TZID=Europe/Berlin:20250329T120000\nDURATION:${duration}`,
    ),
    sessions: [{ fields: { ends_at: `2025-03-${end}:00.000Z` } }],
  })),
];

void t.test("what documents of others say", (t) => {
  for (const { sessions, speakers, problems = [], ...document } of readings) {
    const { name } = document;
    const found = read(document);
    t.match(found.sessions, sessions, name);
    t.equal(found.sessions.length, sessions.length, `${name}: sessions`);
    if (speakers) t.match(found.speakers, speakers, `${name}: speakers`);
    const messages = found.problems.map(({ message }) => message);
    t.match(messages, problems, `${name}: problems`);
    t.equal(messages.length, problems.length, `${name}: problems`);
  }
  t.end();
});

/** Documents of which one event cannot be read, or only in part: the other is always there. */
const damaged: [
  name: string,
  document: Document,
  problem: RegExp,
  fields?: object,
][] = [
  ...(["00:00", "0:00:00"] as const).map(
    (duration) =>
      [
        `a duration of ${duration}`,
        { text: xml("", { duration }) },
        /length is zero. It lasts a minute/,
        { ends_at: "2027-03-01T09:01:00.000Z" },
      ] as (typeof damaged)[number],
  ),
  ...["abc", "", "-00:30", "00:99", "800:00"].map(
    (duration) =>
      [
        `a duration of “${duration}”`,
        { text: xml("", { duration }) },
        /left out/,
      ] as (typeof damaged)[number],
  ),
  ["no title", { text: xml("", { title: " " }) }, /^title: .*left out/],
  ["no time", { text: xml("", { date: "soon" }) }, /^date: .*left out/],
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
      text: xml(
        `<links>${'<link href="https://a.example">x</link>'.repeat(21)}</links>`,
      ),
    },
    /^links: At most 20/,
  ],
  [
    "a long text of a link",
    {
      text: xml(
        `<links><link href="https://a.example">${"x".repeat(301)}</link></links>`,
      ),
    },
    /^links: .*at most 300/,
    { links: [{ title: "x".repeat(300) }] },
  ],
  [
    "a long address",
    {
      text: xml(
        `<links><link href="https://a.example/${"x".repeat(2000)}">x</link></links>`,
      ),
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
  [
    "no object",
    { text: twoJson({ title: null }) },
    /rooms\.Main Hall\.0: title/,
  ],
  [
    "a half character",
    { text: twoJson({ title: "a\ud800b\0c" }) },
    /NUL/,
    { title: "abc" },
  ],
  ["no duration", { text: twoJson({ duration: null }) }, /duration/],
  [
    "a row without an end",
    { csv: true, text: csv("A,2027-03-01 10:00,,,\nB,,,,") },
    /^end: /,
  ],
  [
    "a row of no time",
    { csv: true, text: csv("A,soon,2027-03-01 10:00,,\nB,,,,") },
    /^start: /,
  ],
  ["a short row", { csv: true, text: csv("A,,\nB,,,,") }, /2|3 of 5/],
  ["a long row", { csv: true, text: csv("A,,,,,x\nB,,,,") }, /6 of 5/],
  [
    "a row without a title",
    { csv: true, text: csv(",,,x,\nB,,,,") },
    /^title: /,
  ],
  ["a column twice", { csv: true, text: "title,Title\nB,C" }, /occurs twice/],
  [
    "no SUMMARY",
    { text: two("DTSTART:20270301T100000Z\nDURATION:PT1H") },
    /^title: /,
  ],
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
        /It was left out\.$/,
      ] as (typeof damaged)[number],
  ),
  [
    "a long tag",
    {
      text: two(
        `SUMMARY:A\nDTSTART:20270301T100000Z\nDURATION:PT1H\nCATEGORIES:${"x".repeat(51)}`,
      ),
    },
    /^tags: .*at most 50/,
    { tags: ["x".repeat(50)] },
  ],
  [
    "no length",
    { text: two("SUMMARY:A\nDTSTART:20270301T100000Z\nDURATION:PT0S") },
    /lasts a minute/,
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

/** When an event of a calendar begins, by its zone. */
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
      described === undefined
        ? ""
        : `BEGIN:VTIMEZONE\nTZID:${zone}\n${described}END:VTIMEZONE\n`;
    const lines = `SUMMARY:A\nDTSTART;TZID=${zone}:20270701T100000\nDURATION:PT1H`;
    const { sessions, problems } = read({ text: two(lines, before) });
    const [first] = sessions;
    const name = `${zone} ${described ?? ""}`;
    if (start === "") {
      t.match(problems, [{ message: /zone .* is unknown/ }], name);
      t.match(first, { fields: { title: "B" } }, name);
    } else {
      t.same(problems, [], name);
      t.match(
        first,
        { fields: { starts_at: `2027-07-01T${start}:00.000Z` } },
        name,
      );
    }
  }
  t.end();
});

void t.test("documents that would keep a server busy", (t) => {
  const rows: [name: string, document: Document, message: RegExp][] = [
    [
      "attributes",
      { text: `<schedule${' a=""'.repeat(101)}/>` },
      /100 attributes/,
    ],
    [
      "elements",
      { text: `<schedule>${"<a/>".repeat(300_000)}</schedule>` },
      /300000 elements/,
    ],
    [
      "lines",
      { csv: true, text: `title${"\n".repeat(400_001)}` },
      /400000 lines/,
    ],
    [
      "rows",
      { csv: true, text: `title\n${"a\n".repeat(5001)}` },
      /5000 sessions/,
    ],
    ["columns", { csv: true, text: `title${",a".repeat(200)}` }, /200 columns/],
    [
      "events",
      { text: JSON.stringify({ schedule: { events: Array(20_001).fill(0) } }) },
      /5000 sessions/,
    ],
  ];
  for (const [name, document, message] of rows) {
    try {
      read(document);
      t.fail(name);
    } catch (error) {
      if (!(error instanceof InvalidData)) throw error;
      t.match(Object.values(error.faults)[0]?.[0], message, name);
    }
  }
  t.end();
});
