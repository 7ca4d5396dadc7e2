import t from "tap";
import {
  allowOf,
  consentOf,
  frameAddress,
  sandboxOf,
  youtubeId,
} from "../../../web/lib/addresses.js";
import {
  isFile,
  classifyNonStream,
  pauseAfter,
  playerHash,
  readPlayerHash,
  streamAddress,
  streamOf,
} from "../../../web/lib/stream.js";

// Embedded pages of other sites.

void t.test("videos of YouTube", async (t) => {
  const id = "dQw4w9WgXcQ";
  for (const text of [
    id,
    ` ${id} `,
    `https://www.youtube.com/watch?v=${id}&t=10s`,
    `https://m.youtube.com/watch?app=m&v=${id}`,
    `youtube.com/watch?v=${id}`,
    `https://youtu.be/${id}?si=abc`,
    `https://www.youtube.com/live/${id}`,
    `https://www.youtube.com/shorts/${id}`,
    `https://www.youtube-nocookie.com/embed/${id}`,
  ]) {
    t.equal(youtubeId(text), id, text);
  }
  for (const text of [
    "",
    "short",
    "https://vimeo.com/123456789",
    `https://youtube.com.evil.example/watch?v=${id}`,
    "https://www.youtube.com/watch?v=../../x",
    "https://www.youtube.com/",
    `${id}?autoplay=1`,
    `${id}"onload="x`,
    undefined,
    { v: id },
  ]) {
    t.equal(youtubeId(text), undefined, JSON.stringify(text));
  }
});

void t.test("whether people are asked first", async (t) => {
  const blockers = {
    default: { enabled: true, policy_url: "https://event.example/privacy" },
    "trusted.example": { enabled: false },
    "video.example:8443": { enabled: false },
    "odd.example": "yes",
    "bad.example": { enabled: true, policy_url: "javascript:alert(1)" },
  };
  const cases: [url: string, isNeeded: boolean, policy?: string][] = [
    ["https://a.example/", true, "https://event.example/privacy"],
    ["https://trusted.example/page", false],
    ["https://www.trusted.example/page", false],
    ["https://nottrusted.example/", true, "https://event.example/privacy"],
    ["https://video.example:8443/", false],
    ["https://odd.example/", false],
    ["https://bad.example/", true],
  ];
  for (const [url, isNeeded, policy] of cases) {
    const { host } = new URL(url);
    const expected = { isNeeded, host, ...(policy && { policy }) };
    t.strictSame(consentOf(blockers, url), expected, url);
  }
  t.notOk(consentOf({}, "https://a.example/").isNeeded);
  t.notOk(consentOf({ default: null }, "https://a.example/").isNeeded);
  // Names that every object inherits are not rules.
  t.notOk(consentOf({}, "https://constructor/").isNeeded);
});

void t.test("the address of a frame", async (t) => {
  const user = { id: "1 2", name: "Ada & <Ben>" };
  t.equal(
    frameAddress("https://a.example/?n={display_name}&i={id}", user),
    "https://a.example/?n=Ada%20%26%20%3CBen%3E&i=1%202",
  );
  t.equal(frameAddress("{display_name}", { ...user, name: "x" }), undefined);
  t.equal(frameAddress("{id}", { ...user, id: "javascript:alert(1)" }), undefined);
  t.equal(frameAddress("javascript:alert(1)", undefined), undefined);
  t.equal(frameAddress(["https://a.example/"], undefined), undefined);
});

void t.test("what a frame may do", async (t) => {
  const origin = "https://event.example";
  t.match(sandboxOf("https://other.example/", origin), "allow-same-origin");
  t.notMatch(sandboxOf(`${origin}/page`, origin), "allow-same-origin");
  t.notMatch(sandboxOf("https://other.example/", origin), /top-navigation|modals|downloads/);
  t.equal(allowOf({ call: "yes" }), allowOf({}));
  t.notMatch(allowOf({}), /camera|microphone|display/);
  t.match(allowOf({ call: true }), /^camera; microphone; display-capture; autoplay; fullscreen/);
});

// The stream address and options that a stage passes to its player.

const BASE = "https://event.example/foyer/";

void t.test("the address of a stream", async (t) => {
  const cases: [url: unknown, address: string | undefined][] = [
    ["https://cdn.example/a.m3u8", "https://cdn.example/a.m3u8"],
    [" http://cdn.example/a.m3u8 ", "http://cdn.example/a.m3u8"],
    // A path refers to this server, which may be in a folder of its host.
    ["/demo/stream.m3u8", `${BASE}demo/stream.m3u8`],
    ["http://localhost:8375/demo/stream.m3u8", `${BASE}demo/stream.m3u8`],
    ["https://a.example/demo/stream.m3u8", "https://a.example/demo/stream.m3u8"],
    ["/../../stream.m3u8", "https://event.example/stream.m3u8"],
    ["//cdn.example/a.m3u8", undefined],
    ["/\\cdn.example/a.m3u8", undefined],
    ["javascript:alert(1)", undefined],
    ["data:application/vnd.apple.mpegurl,#EXTM3U", undefined],
    ["blob:https://event.example/1", undefined],
    ["stream.m3u8", undefined],
    ["", undefined],
    [{ toString: () => "https://cdn.example/a" }, undefined],
    [null, undefined],
    [7, undefined],
  ];
  for (const [url, address] of cases) {
    t.equal(streamAddress(url, BASE), address, JSON.stringify(url));
  }
});

void t.test("what of a configuration is of use", async (t) => {
  t.equal(streamOf({}, BASE), undefined);
  t.equal(streamOf({ hls_url: "ftp://a.example/" }, BASE), undefined);
  t.strictSame(streamOf({ hls_url: "/demo/stream.m3u8" }, BASE), {
    url: `${BASE}demo/stream.m3u8`,
    alternatives: [],
  });
  const nothing = { hls_url: "https://a.example/", alternatives: "all" };
  t.strictSame(streamOf(nothing, BASE)?.alternatives, []);
  const whole = {
    hls_url: "https://a.example/en.m3u8",
    subtitle_url: "https://a.example/en.vtt",
    streamOfflineImage: "https://other.example/media/pub/sample/a.png",
    alternatives: [
      null,
      "https://a.example/de.m3u8",
      { label: "Deutsch", hls_url: "https://a.example/de.m3u8" },
      { label: " ", hls_url: "https://a.example/fr.m3u8" },
      { label: 7, hls_url: "https://a.example/fr.m3u8" },
      { label: "Evil", hls_url: "javascript:alert(1)" },
      { label: "x".repeat(500), hls_url: "https://a.example/fr.m3u8" },
    ],
  };
  t.strictSame(streamOf(whole, BASE), {
    url: "https://a.example/en.m3u8",
    alternatives: [
      { label: "Deutsch", url: "https://a.example/de.m3u8" },
      { label: "x".repeat(100), url: "https://a.example/fr.m3u8" },
    ],
    subtitles: "https://a.example/en.vtt",
    image: `${BASE}media/pub/sample/a.png`,
  });
  const many = Array.from({ length: 1000 }, (_, at) => ({
    label: `${at}`,
    hls_url: "https://a.example/",
  }));
  const { alternatives } = streamOf({ ...whole, alternatives: many }, BASE)!;
  t.equal(alternatives.length, 20);
});

void t.test("the player reads what the stage wrote", async (t) => {
  const whole = {
    url: "https://a.example/en.m3u8?key=a&b=#c",
    alternatives: [{ label: "Ä & Ö", url: "https://a.example/de.m3u8" }],
    subtitles: "https://a.example/en.vtt",
    image: `${BASE}media/pub/sample/a.png`,
    title: 'Main "stage" & more',
    lang: "de",
    color: "#0f766e",
    sound: true,
  };
  t.strictSame(readPlayerHash(playerHash(whole), BASE), whole);
  const plain = { url: "https://a.example/", alternatives: [] };
  const bare = { ...plain, title: "", lang: "" };
  t.strictSame(readPlayerHash(playerHash(bare), BASE), bare);
});

void t.test("the player trusts no address", async (t) => {
  const src = "#src=https://a.example/";
  t.equal(readPlayerHash("", BASE), undefined);
  t.equal(readPlayerHash("#src=javascript:alert(1)", BASE), undefined);
  for (const rest of [
    "&alternatives=%7B",
    "&alternatives=7",
    "&alternatives=[[]]",
    "&image=https://a.example/a.png",
    "&subtitles=data:text/vtt,",
  ]) {
    t.strictSame(
      readPlayerHash(src + rest, BASE),
      { url: "https://a.example/", alternatives: [], title: "", lang: "" },
      rest,
    );
  }
});

void t.test("files and pauses", async (t) => {
  t.ok(isFile("https://a.example/a.MP4?x=1"));
  t.notOk(isFile("https://a.example/a.m3u8#.mp4"));
  t.notOk(isFile("https://a.example/live"));
  t.strictSame([1, 2, 5, 50].map(pauseAfter), [10_000, 15_000, 50_625, 60_000]);
});

void t.test("what is no stream is named", async (t) => {
  const rows: [url: unknown, found: unknown][] = [
    ["https://youtu.be/abcdefghijk", { is: "youtube", id: "abcdefghijk" }],
    ["www.youtube.com/watch?v=abcdefghijk", { is: "youtube", id: "abcdefghijk" }],
    ["https://www.youtube.com/@channel", { is: "page" }],
    [
      "https://vimeo.com/123456789",
      { is: "vimeo", url: "https://player.vimeo.com/video/123456789" },
    ],
    [
      "https://vimeo.com/123456789/abcdef0123?share=copy",
      {
        is: "vimeo",
        url: "https://player.vimeo.com/video/123456789?h=abcdef0123",
      },
    ],
    ["https://vimeo.com/event/4242", { is: "vimeo", url: "https://vimeo.com/event/4242/embed" }],
    ["https://vimeo.com/somebody", { is: "page" }],
    [
      "https://us02web.zoom.us/j/81234567890?pwd=x",
      { is: "meeting", url: "https://us02web.zoom.us/j/81234567890?pwd=x" },
    ],
    ["zoom.us/j/81234567890", { is: "meeting", url: "https://zoom.us/j/81234567890" }],
    [
      "https://teams.microsoft.com/l/meetup-join/19%3a",
      { is: "meeting", url: "https://teams.microsoft.com/l/meetup-join/19%3a" },
    ],
    [
      "https://meet.google.com/abc-defg-hij",
      { is: "meeting", url: "https://meet.google.com/abc-defg-hij" },
    ],
    ["https://www.twitch.tv/somebody", { is: "page" }],
    ["https://talks.example/live.html", { is: "page" }],
    ["https://talks.example/", { is: "page" }],
    ["https://cdn.example/a.m3u8?token=1", undefined],
    ["https://cdn.example/a.mp4", undefined],
    ["https://cdn.example/live/main", undefined],
    ["https://zoom.us.example.org/a.m3u8", undefined],
    ["/demo/stream.m3u8", undefined],
    ["", undefined],
    [undefined, undefined],
  ];
  for (const [url, found] of rows) {
    t.same(classifyNonStream(url, BASE), found, String(url));
  }
});
