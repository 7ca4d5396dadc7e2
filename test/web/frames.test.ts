import t from "tap";
import {
  allowOf,
  consentOf,
  frameAddress,
  sandboxOf,
  youtubeId,
} from "../../web/lib/frames.js";

// Pages of other sites in a frame.

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
  // Names that all objects have are no rules.
  t.notOk(consentOf({}, "https://constructor/").isNeeded);
});

void t.test("the address of a frame", async (t) => {
  const user = { id: "1 2", name: "Ada & <Ben>" };
  t.equal(
    frameAddress("https://a.example/?n={display_name}&i={id}", user),
    "https://a.example/?n=Ada%20%26%20%3CBen%3E&i=1%202",
  );
  t.equal(frameAddress("{display_name}", { ...user, name: "x" }), undefined);
  t.equal(
    frameAddress("{id}", { ...user, id: "javascript:alert(1)" }),
    undefined,
  );
  t.equal(frameAddress("javascript:alert(1)", undefined), undefined);
  t.equal(frameAddress(["https://a.example/"], undefined), undefined);
});

void t.test("what a frame may do", async (t) => {
  const origin = "https://event.example";
  t.match(sandboxOf("https://other.example/", origin), "allow-same-origin");
  t.notMatch(sandboxOf(`${origin}/page`, origin), "allow-same-origin");
  t.notMatch(
    sandboxOf("https://other.example/", origin),
    /top-navigation|modals|downloads/,
  );
  t.equal(allowOf({ call: "yes" }), allowOf({}));
  t.notMatch(allowOf({}), /camera|microphone|display/);
  t.match(
    allowOf({ call: true }),
    /^camera; microphone; display-capture; autoplay; fullscreen/,
  );
});
