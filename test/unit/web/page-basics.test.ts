import fc from "fast-check";
import { marked } from "marked";
import { get } from "svelte/store";
import t from "tap";
import ICAL from "ical.js";
import { en as english } from "../../../web/i18n/console/en/index.js";
import { choose, t as say, useLanguage } from "../../../web/i18n/index.js";
import { mediaAddress, webAddress } from "../../../web/lib/addresses.js";
import { calendarOf } from "../../../web/lib/calendar.js";
import { reloadOnline, type ReloadWindow } from "../../../web/lib/page.js";
import { isPlain, withoutMarks } from "../../../web/lib/rich-text.js";
import { browserShelf } from "../../../web/lib/storage.js";
import { avatarOf, hueOf, initialsOf, nameOf } from "../../../web/state/profile.js";
import { linkTo, routeOf } from "../../../web/state/route.js";
import { Notices } from "../../../web/state/session.js";
import { colorOf, contrast, inkOn, readable, themeProperties } from "../../../web/state/theme.js";

void t.test("addresses that people write", async (t) => {
  const base = "https://rooms.example.org/at/";
  const own = "https://rooms.example.org/at/media/pub/demo/1.abc.png";
  const media: [url: unknown, address: string | undefined][] = [
    [own, own],
    ["https://old.example.org/media/pub/demo/1.abc.png", own],
    ["/media/pub/demo/1.abc.png", own],
    ["https://rooms.example.org/at/media/pub/demo/1.abc.png?x=1#y", own],
    ["https://elsewhere.example.org/1.png", undefined],
    ["https://x.example.org/media/pub/demo/../../api", undefined],
    ["javascript:alert(1)//media/pub/demo/1.png", undefined],
    ["data:image/svg+xml,/media/pub/demo/1.png", undefined],
    ["//evil.example.org/1.png", undefined],
    [undefined, undefined],
    [{ toString: () => own }, undefined],
    ["", undefined],
  ];
  for (const [url, address] of media) {
    t.equal(mediaAddress(url, base), address, String(url));
  }
  const web: [url: unknown, address: string | undefined][] = [
    ["https://a.example.org/x", "https://a.example.org/x"],
    ["http://a.example.org", "http://a.example.org/"],
    [" https://a.example.org", "https://a.example.org/"],
    ["javascript:alert(1)", undefined],
    ["JaVaScRiPt:alert(1)", undefined],
    ["java\nscript:alert(1)", undefined],
    ["data:text/html,x", undefined],
    ["vbscript:x", undefined],
    ["/relative", undefined],
    [7, undefined],
  ];
  for (const [url, address] of web) {
    t.equal(webAddress(url), address, String(url));
  }
});

void t.test("names and pictures", async (t) => {
  const user = (profile: object) => ({ id: "1", profile: { ...profile } });
  t.equal(nameOf(user({ display_name: "Ada" })), "Ada");
  for (const display_name of ["", "  ", 7, null, undefined, {}]) {
    t.equal(nameOf(user({ display_name })), undefined);
  }
  t.equal(nameOf(undefined), undefined);
  t.equal(initialsOf("  ada   king lovelace "), "AK");
  t.equal(initialsOf("😀 x"), "😀X");
  const base = "https://a.example.org/";
  const picture = "https://a.example.org/media/pub/demo/1.a.png";
  t.equal(avatarOf(user({ avatar: { url: picture } }), base), `${picture}?preview`);
  for (const avatar of [null, 7, "x", [], {}, { url: "https://b.org/1.png" }]) {
    t.equal(avatarOf(user({ avatar }), base), undefined);
  }
  t.ok(hueOf("x") >= 0 && hueOf("a long id") < 360);
});

void t.test("any color of a world can be read", async (t) => {
  const colors = ["#000000", "#ffffff", "#ffff00", "#0000ff", "#777777"];
  for (const text of [...colors, "#4F46E5", "#ff0000"]) {
    const color = colorOf(text)!;
    t.ok(contrast(readable(color, "light"), [255, 255, 255]) >= 4.5, text);
    t.ok(contrast(readable(color, "dark"), [26, 26, 33]) >= 4.5, text);
    const ink = inkOn(color) === "#fff" ? [255, 255, 255] : [0, 0, 0];
    t.ok(contrast(color, ink as never) >= 4.5, `${text} with text on it`);
    t.match(themeProperties({ colors: { primary: text } }), {
      "--brand": `rgb(${color.join(" ")})`,
      "--on-brand": inkOn(color),
      "--accent": /^light-dark\(rgb\(\d+ \d+ \d+\), rgb\(\d+ \d+ \d+\)\)$/,
    });
  }
  for (const primary of ["red", "#fff", "#12345g", "url(x)", "", undefined]) {
    t.same(themeProperties({ colors: { primary: primary! } }), {});
  }
  t.same(themeProperties({}), {});
});

void t.test("notices", async (t) => {
  const notices = new Notices();
  const texts = () => get(notices).map(({ text }) => text);
  for (const text of ["a", "b", "a"]) notices.error(text);
  t.same(texts(), ["b", "a"], "the same words are there once");
  for (const text of ["c", "d", "e"]) notices.error(text);
  t.equal(get(notices).length, 4, "no more than fit");
  for (const { id } of get(notices)) notices.close(id);
  t.same(texts(), []);
});

void t.test("languages", async (t) => {
  t.equal(choose(["fr-FR", "de-AT", "en"]), "de");
  t.equal(choose([null, "toString"]), "en");
  await useLanguage("de");
  t.equal(say("common.failed", { reason: "$& {reason}" }), "Das hat nicht geklappt: $& {reason}");
  await useLanguage("en", english);
  t.equal(say("common.failed"), "That didn’t work: {reason}");
  t.equal(say("console.signIn"), "Sign in");
});

void t.test("routes of addresses", async (t) => {
  const rows: [hash: string, route: string[]][] = [
    ["", []],
    ["#", []],
    ["#/", []],
    ["#main", []],
    ["#token=x", []],
    ["#/profile", ["profile"]],
    ["#/rooms/a%2Fb/", ["rooms", "a/b"]],
    ["#/rooms/%zz", ["rooms", "%zz"]],
  ];
  for (const [hash, route] of rows) t.same(routeOf(hash), route, hash);
  t.same(routeOf(linkTo("rooms", "a/b ü")), ["rooms", "a/b ü"]);
});

void t.test("a page is loaded again only from a server in reach", async (t) => {
  // Keeps the process alive, which the timer of an abort signal does not.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const never = (_: unknown, { signal }: RequestInit = {}) =>
    new Promise<Response>((_resolve, reject) =>
      signal?.addEventListener("abort", () => reject(new Error("Too late"))),
    );
  const cases: [name: string, fetch: ReloadWindow["fetch"], works: boolean][] = [
    ["in reach", async () => new Response(""), true],
    ["ill", async () => new Response("", { status: 502 }), false],
    ["out of reach", async () => Promise.reject(new TypeError("Failed to fetch")), false],
    ["silent", never, false],
  ];
  for (const [name, fetch, works] of cases) {
    let reloads = 0;
    const location = {
      href: "https://foyer.example/#/rooms/a",
      reload: () => void reloads++,
    };
    t.equal(await reloadOnline({ location, fetch }, 20), works, name);
    t.equal(reloads, works ? 1 : 0, name);
  }
});

void t.test("what found no room is kept until there is some", async (t) => {
  const values = new Map<string, string>();
  let isFull = true;
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (isFull) throw new Error("QuotaExceededError");
      values.set(key, value);
    },
    removeItem: (key: string) => values.delete(key),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
  Object.defineProperty(globalThis, "localStorage", { value: storage, configurable: true });
  t.teardown(() => {
    if (before) Object.defineProperty(globalThis, "localStorage", before);
    else Reflect.deleteProperty(globalThis, "localStorage");
  });

  const shelf = browserShelf();
  shelf.setItem("token", "first");
  t.equal(shelf.getItem("token"), "first");
  isFull = false;
  shelf.setItem("token", "second");
  t.equal(shelf.getItem("token"), "second", "the newer one counts");
  t.equal(browserShelf().getItem("token"), "second");
});

// The file of a session, as read by an independent parser.

void t.test("a session as a file for calendars", async (t) => {
  const entry = {
    uid: "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
    title: "Maps; streets, and \\ more: für alle 🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️🗺️",
    description: `First line\r\nBEGIN:VEVENT\nlong ${"ä".repeat(200)}`,
    location: "Main stage, left",
    start: Date.parse("2027-03-01T09:00:00Z"),
    end: Date.parse("2027-03-01T09:40:00Z"),
    url: "https://event.example.org/w/demo/#/program/1",
  };
  const text = calendarOf(entry, Date.parse("2027-02-01T00:00:00Z"));
  for (const line of text.split("\r\n")) {
    t.ok(Buffer.byteLength(line) <= 75, line);
  }
  const calendar = new ICAL.Component(ICAL.parse(text) as unknown[]);
  const events = calendar.getAllSubcomponents("vevent");
  t.equal(events.length, 1);
  const event = new ICAL.Event(events[0]);
  t.equal(event.uid, entry.uid);
  t.equal(event.summary, entry.title);
  t.equal(event.description, entry.description.replace("\r\n", "\n"));
  t.equal(event.location, entry.location);
  t.equal(event.startDate.toJSDate().getTime(), entry.start);
  t.equal(event.endDate.toJSDate().getTime(), entry.end);
  t.equal(events[0]!.getFirstPropertyValue("url"), entry.url);
});

const OPTIONS = { async: false, gfm: true, breaks: true } as const;

const escaped = (text: string) =>
  text.replace(
    /[&<>"']/g,
    (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[char]!,
  );

void t.test("plain is what Markdown leaves as it is", async (t) => {
  const plain = [
    "Hello, world!",
    "a - b (c) #1 1. 50 % = x + y | z",
    "@0b6a2a3e-8f3a-4c2b-9a70-1d2f3c4b5a69 is here",
    "grüße 你好 😀",
  ];
  for (const text of plain) t.ok(isPlain(text, true), text);
  const rich: [text: string, inline: boolean][] = [
    ["**a**", true],
    ["a https://example.org", true],
    ["www.example.org", true],
    ["ada@example.org", true],
    ["&amp;", true],
    ["<b>", true],
    ["a\nb", true],
    ["# a", false],
    ["- a", false],
    ["12) a", false],
    ["> a", false],
  ];
  for (const [text, inline] of rich) t.notOk(isPlain(text, inline), text);

  const word = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom(..."\\`*_{}[]()#+-.!|<>&~=:/@^$\n\t 1."),
    fc.constantFrom("http://a.b", "ftp://a.b", "www.a.b", "a@b.cd", "&lt;", "1. "),
  );
  const text = fc.array(word, { maxLength: 8 }).map((words) => words.join(""));
  let count = 0;
  fc.assert(
    fc.property(text, (text) => {
      if (isPlain(text, true)) {
        count++;
        t.equal(marked.parseInline(text, OPTIONS), escaped(text), text);
      }
      if (isPlain(text, false) && text !== "") {
        const html = `<p>${escaped(text)}</p>\n`;
        t.equal(marked.parse(text, OPTIONS), html, text);
      }
    }),
    { numRuns: 5000 },
  );
  t.ok(count > 100, `${count} of them are plain`);
});

void t.test("a text without its marks", async (t) => {
  for (const [text, plain] of [
    ["Talks and *keynotes*, **live**.", "Talks and keynotes, live."],
    ["# Stage\n> See the [program](https://a.example/_a_).", "Stage\nSee the program."],
    ["`file_name` is _kept_, 2 ~ 3", "file_name is kept, 2  3"],
    ["[[[[", "[[[["],
  ] as const) {
    t.equal(withoutMarks(text), plain);
  }
});
