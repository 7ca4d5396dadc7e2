import t, { type Test } from "tap";
import { BigBlueButtonServer } from "../../../plugins/calls/bigbluebutton.js";
import {
  EngineUnavailable,
  type Meeting,
  type MeetingOptions,
  type MeetingUser,
} from "../../../plugins/calls/engine.js";
import { JitsiServer } from "../../../plugins/calls/jitsi.js";
import { type Fault, startBigBlueButton, startJitsi } from "../../support/servers/meetings.js";

// Links to BigBlueButton and Jitsi, verified by stand-ins.

const markup = `<b>"Ann" & 'Bob'</b>`;

const meetingOf = (options: MeetingOptions = {}, more: Partial<Meeting> = {}): Meeting => ({
  id: "fair/hall",
  title: "The hall",
  options,
  ...more,
});

const userOf = (more: Partial<MeetingUser> = {}): MeetingUser => ({
  id: "u1",
  name: "Ann",
  moderate: false,
  ...more,
});

async function startMeetings(t: Test) {
  const stand = await startBigBlueButton(t);
  const engine = new BigBlueButtonServer(stand);
  t.teardown(() => engine.close());
  /** Follows a link. Returns BigBlueButton's response, and the parameters that it received. */
  const follow = async (url: string) => {
    const text = await (await fetch(url)).text();
    const [, key] = /<messageKey>(\w*)</.exec(text) ?? [];
    return key;
  };
  return { stand, engine, follow };
}

void t.test("a meeting of BigBlueButton", async (t) => {
  const { stand, engine, follow } = await startMeetings(t);
  const link = await engine.joinUrl(meetingOf(), userOf());
  t.equal(await follow(link), "successfullyJoined");
  const { parameters, joined, xml } = stand.meetings.get("fair/hall")!;
  t.match(parameters, {
    name: "The hall",
    record: "false",
    muteOnStart: "false",
    guestPolicy: "ALWAYS_ACCEPT",
    lockSettingsDisableCam: "false",
    lockSettingsDisablePublicChat: "false",
  });
  t.notHas(parameters, "voiceBridge");
  t.equal(xml, "");
  t.match(joined, [{ fullName: "Ann", userID: "u1", role: "VIEWER", guest: "false" }]);
  t.match(joined[0], {
    "userdata-bbb_listen_only_mode": "true",
    "userdata-bbb_auto_share_webcam": "false",
    "userdata-bbb_hide_presentation_on_join": "false",
  });
  for (const secret of [stand.secret, parameters.attendeePW!, parameters.moderatorPW!]) {
    t.notMatch(link, secret, "a link has no secret");
  }

  const moderator = await engine.joinUrl(meetingOf(), userOf({ id: "u2", moderate: true }));
  t.equal(await follow(moderator), "successfullyJoined", "a running meeting is joined");
  t.match(joined[1], { role: "MODERATOR" });
  t.equal(await follow(link.replace("VIEWER", "MODERATOR")), "checksumError");

  stand.meetings.clear();
  stand.meetings.set("fair/other", { parameters: {}, createTime: "1", xml: "", joined: [] });
  await engine.joinUrl(meetingOf(), userOf());
  t.equal(await follow(link), "mismatchCreateTimeParam", "a link ends with its meeting");
});

void t.test("each setting of a module", async (t) => {
  const { stand, engine, follow } = await startMeetings(t);
  const presentation = 'https://a.example.org/slides.pdf?a=1&b="><x>';
  const options: Required<MeetingOptions> = {
    record: true,
    waiting_room: true,
    voice_bridge: "71234",
    auto_microphone: true,
    auto_camera: true,
    bbb_mute_on_start: true,
    bbb_disable_cam: true,
    bbb_disable_chat: true,
    hide_presentation: true,
    presentation,
  };
  const logoutUrl = "https://fair.example.org/?room=hall";
  const meeting = meetingOf(options, { logoutUrl });
  await follow(await engine.joinUrl(meeting, userOf({ avatarUrl: "https://a.example.org/a.png" })));
  await follow(await engine.joinUrl(meeting, userOf({ moderate: true })));
  const { parameters, joined, xml } = stand.meetings.get("fair/hall")!;
  t.match(parameters, {
    record: "true",
    guestPolicy: "ASK_MODERATOR",
    voiceBridge: "71234",
    muteOnStart: "true",
    lockSettingsDisableCam: "true",
    lockSettingsDisablePublicChat: "true",
    logoutURL: logoutUrl,
  });
  t.match(joined, [
    {
      guest: "true",
      avatarURL: "https://a.example.org/a.png",
      "userdata-bbb_listen_only_mode": "false",
      "userdata-bbb_auto_share_webcam": "true",
      "userdata-bbb_skip_video_preview": "true",
      "userdata-bbb_hide_presentation_on_join": "true",
    },
    { guest: "false" },
  ]);
  t.equal(
    xml,
    '<modules><module name="presentation"><document url="https://a.example.org/slides.pdf?a=1&amp;b=&quot;&gt;&lt;x&gt;"/></module></modules>',
  );
  for (const other of ["file:///etc/passwd", "javascript:alert(1)", "/media/slides.pdf"]) {
    stand.meetings.clear();
    await engine.joinUrl(meetingOf({ presentation: other }), userOf());
    t.equal(stand.meetings.get("fair/hall")!.xml, "", `${other} is not fetched`);
  }
});

void t.test("names that BigBlueButton would refuse or read as markup", async (t) => {
  const { stand, engine, follow } = await startMeetings(t);
  const cases: [title: string, name: string, shown: [title: string, name: string]][] = [
    [markup, markup, [markup, markup]],
    ["A", "Ann: the host", ["Room A", "Ann the host"]],
    ["", ":", ["Room ", "?"]],
    [
      "x".repeat(300),
      "&checksum=0&role=MODERATOR",
      ["x".repeat(256), "&checksum=0&role=MODERATOR"],
    ],
    ["日本 🎪", "日本 🎪", ["日本 🎪", "日本 🎪"]],
  ];
  for (const [i, [title, name, shown]] of cases.entries()) {
    const meeting = meetingOf({}, { id: `fair/${i}`, title });
    t.equal(await follow(await engine.joinUrl(meeting, userOf({ name }))), "successfullyJoined");
    const { parameters, joined } = stand.meetings.get(`fair/${i}`)!;
    t.strictSame([parameters.name, joined[0]!.fullName], shown);
    t.equal(joined[0]!.role, "VIEWER");
  }
});

void t.test("recordings", async (t) => {
  const { stand, engine } = await startMeetings(t);
  const format = (type: string, url: string) => ({ type, url });
  stand.recordings.push(
    {
      meetingID: "fair/hall",
      startTime: "1700000000000",
      endTime: "1700003600000",
      participants: "7",
      state: "published",
      name: markup,
      playback: {
        format: [
          format("presentation", "https://bbb.example.org/playback/?a=1&b=2"),
          format("Video", "https:///playback/video"),
          format("notes", "javascript:alert(1)"),
        ],
      },
    },
    { meetingID: "fair/hall", startTime: "x", state: "processing" },
    { meetingID: "fair/other", startTime: "1" },
  );
  t.strictSame(await engine.recordings("fair/hall"), [
    {
      start: "2023-11-14T22:13:20.000Z",
      end: "2023-11-14T23:13:20.000Z",
      participants: 7,
      state: "published",
      url: "https://bbb.example.org/playback/?a=1&b=2",
      url_video: `${new URL(stand.url).origin}/playback/video`,
      url_screenshare: null,
      url_notes: null,
    },
    {
      start: "1970-01-01T00:00:00.000Z",
      end: "1970-01-01T00:00:00.000Z",
      participants: 0,
      state: "processing",
      url: null,
      url_video: null,
      url_screenshare: null,
      url_notes: null,
    },
  ]);
  t.strictSame(await engine.recordings("fair/none"), []);
});

const entities = `<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>`;

void t.test("BigBlueButton is down, silent, or not itself", async (t) => {
  const { stand, engine } = await startMeetings(t);
  t.equal(await engine.check(), undefined);
  const cases: [fault: Fault, message: RegExp][] = [
    ["silence", /^BigBlueButton does not answer within 3 seconds\.$/],
    ["drip", /^BigBlueButton does not answer within 3 seconds\.$/],
    [{ status: 502, body: "Bad gateway" }, /answers with the status 502/],
    [{ status: 302, headers: { location: "http://127.0.0.1:1/" } }, /with the status 302/],
    [{ body: "<html><p>not it" }, /cannot be read/],
    [{ body: "" }, /cannot be read/],
    [{ body: `${entities}<response><returncode>&b;</returncode></response>` }, /cannot be read/],
    [
      {
        body: "<response><returncode>FAILED</returncode><messageKey>maxUsers</messageKey></response>",
      },
      /refuses the call: maxUsers/,
    ],
    [
      {
        body: "<response><returncode>FAILED</returncode><messageKey>a b\u001b[1m</messageKey></response>",
      },
      /cannot be read/,
    ],
    [{ body: " ".repeat(33 * 1024 * 1024) }, /too large/],
    [
      { headers: { date: new Date(Date.now() - 600_000).toUTCString() } },
      /has a clock that is \d+ seconds behind this machine's/,
    ],
  ];
  for (const [fault, message] of cases) {
    stand.state.fault = fault;
    for (const call of [
      () => engine.joinUrl(meetingOf(), userOf()),
      () => engine.recordings("fair/hall"),
    ]) {
      const error = await call().catch((error: unknown) => error);
      t.ok(error instanceof EngineUnavailable);
      t.match((error as Error).message, message);
      t.notMatch(JSON.stringify(error), stand.secret);
    }
    t.type(await engine.check(), "string");
  }
  const wrong = new BigBlueButtonServer({ url: stand.url, secret: "other" });
  t.teardown(() => wrong.close());
  stand.state.fault = undefined;
  t.equal(await wrong.check(), `refuses BBB_SECRET (${stand.url})`);
});

void t.test("a link to Jitsi", async (t) => {
  const stand = await startJitsi(t);
  const engine = new JitsiServer(stand);
  t.teardown(() => engine.close());
  const later = Date.now() / 1000 + 600;
  const url = await engine.joinUrl("fair/hall", markup, userOf({ name: markup }), later);
  t.equal((await fetch(url)).status, 200);
  t.match(stand.joined[0]!.user, {
    id: "u1",
    name: markup,
    moderator: false,
    affiliation: "member",
  });
  t.equal(new URL(url).hash, `#config.subject=${encodeURIComponent(JSON.stringify(markup))}`);
  t.notMatch(url, /[<>"]/);
  t.notMatch(new URL(url).pathname, "hall", "names of rooms are not shown to others");

  const host = userOf({ moderate: true, avatarUrl: "https://a.example.org/a.png" });
  await fetch(await engine.joinUrl("fair/hall", "Hall", host, later));
  t.match(stand.joined[1], {
    room: stand.joined[0]!.room,
    user: { moderator: true, affiliation: "owner", avatar: "https://a.example.org/a.png" },
  });

  const other = await engine.joinUrl("fair/HALL", "Hall", host, later);
  t.not(new URL(other).pathname, new URL(url).pathname, "names that differ in case only");
  const moved = new URL(url);
  moved.pathname = new URL(other).pathname;
  t.equal((await fetch(moved)).status, 403, "a link opens one room");
  const expired = await engine.joinUrl("fair/hall", "Hall", host, Date.now() / 1000 - 1);
  t.equal((await fetch(expired)).status, 401);
  const forged = new JitsiServer({ ...stand, secret: "other" });
  t.teardown(() => forged.close());
  t.equal((await fetch(await forged.joinUrl("a/b", "Hall", host, later))).status, 401);

  t.equal(await engine.check(), undefined);
  for (const [fault, message] of [
    ["silence", /^does not answer within 3 seconds \(http:/],
    [{ status: 404 }, /^answers with the status 404/],
    [{ headers: { date: new Date(Date.now() + 600_000).toUTCString() } }, /^has a clock/],
  ] as const) {
    stand.state.fault = fault;
    t.match(await engine.check(), message);
  }
});
