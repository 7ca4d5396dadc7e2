// Made-up programs in the formats of other software.

const GUIDS = {
  maps: "0b4ad1f2-6f0e-5f55-8f0c-3c6f6a1f7a01",
  radio: "0b4ad1f2-6f0e-5f55-8f0c-3c6f6a1f7a02",
  ada: "7c1f4c2e-55a0-5f0b-9d6e-0d5a3a2b1c01",
};
export const { maps: MAPS, radio: RADIO } = GUIDS;

export const mapsEvent = {
  guid: MAPS,
  code: "MAPS24",
  id: 101,
  logo: null,
  date: "2027-03-01T10:00:00+01:00",
  start: "10:00",
  duration: "00:40",
  room: "Main Hall",
  slug: "fest-2027-101-maps-for-everyone",
  url: "https://pretalx.example.org/fest-2027/talk/MAPS24/",
  title: "Maps for everyone",
  subtitle: "",
  track: "Community",
  type: "Talk",
  language: "en",
  abstract: "How volunteers map *every* street.",
  description: "It's a story of paint & patience.",
  recording_license: "",
  do_not_record: false,
  persons: [
    {
      code: "ADAEX1",
      name: "Ada Example",
      avatar: "https://pretalx.example.org/media/avatars/ada.png",
      biography: "Maps cities.",
      public_name: "Ada Example",
      guid: GUIDS.ada,
      url: "https://pretalx.example.org/fest-2027/speaker/ADAEX1/",
      answers: [],
    },
  ],
  links: [],
  feedback_url: "https://pretalx.example.org/fest-2027/talk/MAPS24/feedback/",
  origin_url: "https://pretalx.example.org/fest-2027/talk/MAPS24/",
  attachments: [
    {
      title: "Slides",
      url: "https://pretalx.example.org/media/slides.pdf",
      type: "related",
    },
  ],
  answers: [],
};

/** A program in the format of pretalx's `schedule.json`. */
export const pretalx = (
  changes: Record<string, unknown> = {},
  more: Record<string, unknown>[] = [],
) => ({
  $schema: "https://c3voc.de/schedule/schema.json",
  generator: { name: "pretalx", version: "2025.1.0" },
  schedule: {
    url: "https://pretalx.example.org/fest-2027/schedule/",
    version: "1.2",
    base_url: "https://pretalx.example.org/fest-2027/",
    conference: {
      acronym: "fest-2027",
      title: "Fest 2027",
      start: "2027-03-01",
      end: "2027-03-02",
      daysCount: 2,
      timeslot_duration: "00:05",
      time_zone_name: "Europe/Berlin",
      colors: { primary: "#3aa57c" },
      rooms: [
        {
          name: "Main Hall",
          slug: "1-main-hall",
          guid: "5d2f3f0a-8f2b-5e0e-9a51-6b1f2e3d4c01",
          description: null,
          capacity: 300,
        },
      ],
      tracks: [{ name: "Community", slug: "1-community", color: "#00ff00" }],
      days: [
        {
          index: 1,
          date: "2027-03-01",
          day_start: "2027-03-01T04:00:00+01:00",
          day_end: "2027-03-02T03:59:00+01:00",
          rooms: { "Main Hall": [{ ...mapsEvent, ...changes }, ...more] },
        },
        {
          index: 2,
          date: "2027-03-02",
          day_start: "2027-03-02T04:00:00+01:00",
          day_end: "2027-03-03T03:59:00+01:00",
          rooms: {},
        },
      ],
    },
  },
});

/** A program in the format of frab's `schedule.json`: numeric person ids, and no time zones in older versions. */
export const frab = {
  schedule: {
    version: "0.9",
    base_url: "https://frab.example.org/en/camp/public",
    conference: {
      acronym: "camp",
      title: "Camp",
      start: "2027-08-10",
      end: "2027-08-11",
      daysCount: 1,
      timeslot_duration: "00:15",
      days: [
        {
          index: 0,
          date: "2027-08-10",
          day_start: "2027-08-10T09:00:00+02:00",
          day_end: "2027-08-11T03:00:00+02:00",
          rooms: {
            Tent: [
              {
                id: 7,
                guid: RADIO,
                logo: "/system/events/logos/7.png",
                date: "2027-08-11T00:30:00+02:00",
                start: "00:30",
                duration: "01:30",
                room: "Tent",
                slug: "radio_at_night",
                url: "https://frab.example.org/en/camp/public/events/7",
                title: "Radio at night",
                subtitle: "Listening to the sky",
                track: null,
                type: "workshop",
                language: "de",
                abstract: null,
                description: "",
                do_not_record: false,
                persons: [
                  { id: 3, public_name: "Bob" },
                  { id: 4, public_name: "Cleo", full_public_name: "Cleo C." },
                ],
                links: [
                  { url: "https://radio.example.org", title: "Site" },
                  { url: "www.example.org", title: "Broken" },
                ],
                attachments: [],
              },
            ],
          },
        },
      ],
    },
  },
};

/** A program in the format of pretalx's `schedule.xml`. */
export const pretalxXml = `<?xml version='1.0' encoding='utf-8' ?>
<!-- Made with love by pretalx v2025.1.0. -->
<schedule>
    <generator name="pretalx" version="2025.1.0" />
    <version>1.2</version>
    <conference>
        <title>Fest 2027</title>
        <acronym>fest-2027</acronym>
        <start>2027-03-01</start>
        <end>2027-03-02</end>
        <days>2</days>
        <timeslot_duration>00:05</timeslot_duration>
        <base_url>https://pretalx.example.org</base_url>
        <time_zone_name>Europe/Berlin</time_zone_name>
        <track name="Community" slug="1-community" color="#00ff00" />
    </conference>
    <day index='1' date='2027-03-01' start='2027-03-01T04:00:00+01:00' end='2027-03-02T03:59:00+01:00'>
        <room name='Main Hall' guid='5d2f3f0a-8f2b-5e0e-9a51-6b1f2e3d4c01'>
            <event guid='${MAPS}' id='101' code='MAPS24'>
                <room>Main Hall</room>
                <title>Maps for everyone</title>
                <subtitle></subtitle>
                <type>Talk</type>
                <date>2027-03-01T10:00:00+01:00</date>
                <start>10:00</start>
                <duration>00:40</duration>
                <abstract>How volunteers map *every* street.</abstract>
                <slug>fest-2027-101-maps-for-everyone</slug>
                <track>Community</track>
                <persons>
                    <person id='12' guid='${GUIDS.ada}' code='ADAEX1'>Ada Example</person>
                </persons>
                <language>en</language>
                <description>It&#x27;s a story of paint &amp; patience.</description>
                <recording>
                    <license></license>
                    <optout>false</optout>
                </recording>
                <links></links>
                <attachments>
                    <attachment href="https://pretalx.example.org/media/slides.pdf">Slides</attachment>
                </attachments>
                <url>https://pretalx.example.org/fest-2027/talk/MAPS24/</url>
                <feedback_url>https://pretalx.example.org/fest-2027/talk/MAPS24/feedback/</feedback_url>
            </event>
        </room>
    </day>
    <day index='2' date='2027-03-02' start='2027-03-02T04:00:00+01:00' end='2027-03-03T03:59:00+01:00'>
    </day>
</schedule>
`;

/** A program in the format of frab's `schedule.xml` before it had dates: events at night belong to the day before. */
export const frabXml = `<?xml version="1.0" encoding="UTF-8"?>
<schedule>
  <version>0.9</version>
  <conference>
    <acronym>camp</acronym>
    <title>Camp</title>
    <start>2027-08-10</start>
    <end>2027-08-11</end>
    <days>1</days>
    <timeslot_duration>00:15</timeslot_duration>
  </conference>
  <day date="2027-08-10" start="2027-08-10T09:00:00+02:00" end="2027-08-11T03:00:00+02:00" index="1">
    <room name="Tent">
      <event guid="${RADIO}" id="7">
        <start>00:30</start>
        <duration>01:30</duration>
        <room>Tent</room>
        <slug>radio_at_night</slug>
        <title><![CDATA[Radio &amp; <!DOCTYPE> at night]]></title>
        <subtitle/>
        <track/>
        <type>workshop</type>
        <language>de</language>
        <abstract/>
        <description/>
        <recording>
          <license/>
          <optout>false</optout>
        </recording>
        <persons>
          <person id="3">Bob</person>
          <person id="4">Cleo</person>
        </persons>
        <links/>
      </event>
    </room>
  </day>
</schedule>
`;

/** Returns a calendar with these lines in it. */
export const calendar = (lines: string): string =>
  `BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Example//EN\n${lines.trim()}\nEND:VCALENDAR\n`.replaceAll(
    "\n",
    "\r\n",
  );

/** Returns a calendar with one event, which begins on the fourth line. */
export const event = (lines: string): string =>
  calendar(`BEGIN:VEVENT\nUID:walk@example.org\nSUMMARY:Walk\n${lines.trim()}\nEND:VEVENT`);

/** A time zone as Outlook describes it, with a name that is not in the IANA database. */
export const outlookZone = `BEGIN:VTIMEZONE
TZID:Our Own Time
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
END:DAYLIGHT
END:VTIMEZONE`;

/** Returns a `schedule.xml` with an event that the options change. */
export const xml = (
  more: string,
  {
    day = 'date="2027-03-01"',
    conference = "<time_zone_name>Europe/Berlin</time_zone_name>",
    ...parts
  }: Partial<Record<"date" | "start" | "duration" | "title" | "day" | "conference", string>> = {},
) => {
  const event = {
    date: "2027-03-01T10:00:00+01:00",
    start: "10:00",
    duration: "00:45",
    title: "A",
    ...parts,
  };
  const fields = Object.entries(event).map(([name, text]) => `<${name}>${text}</${name}>`);
  return `<schedule><conference>${conference}</conference><day ${day}><room name="H1">
<event id="7">${fields.join("")}${more}</event>
<event guid="b"><date>2027-03-01T12:00:00Z</date><duration>1:00</duration><title>B</title></event>
</room></day></schedule>`;
};

/** Returns a calendar with two events, the first of which has these lines. */
export const two = (lines: string, before = "") =>
  calendar(
    `${before}BEGIN:VEVENT\nUID:a\n${lines}\nEND:VEVENT\nBEGIN:VEVENT\nUID:b\nSUMMARY:B\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT`,
  );
