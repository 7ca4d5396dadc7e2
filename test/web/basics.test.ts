import t from "tap";
import { get } from "svelte/store";
import { en as english } from "../../web/i18n/console/en.js";
import { choose, t as say, useLanguage } from "../../web/i18n/index.js";
import { mediaAddress, webAddress } from "../../web/lib/addresses.js";
import { hueOf, initialsOf, nameOf, pictureOf } from "../../web/lib/avatars.js";
import { Notices } from "../../web/state/notices.js";
import {
  colorOf,
  contrast,
  readable,
  inkOn,
  themeProperties,
} from "../../web/state/theme.js";

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
  t.equal(pictureOf(user({ avatar: { url: picture } }), base), picture);
  for (const avatar of [null, 7, "x", [], {}, { url: "https://b.org/1.png" }]) {
    t.equal(pictureOf(user({ avatar }), base), undefined);
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
  t.equal(
    say("common.failed", { reason: "$& {reason}" }),
    "Das hat nicht geklappt: $& {reason}",
  );
  await useLanguage("en", english);
  t.equal(say("common.failed"), "That didn’t work: {reason}");
  t.equal(say("console.signIn"), "Sign in");
});
