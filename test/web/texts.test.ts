import fc from "fast-check";
import t from "tap";
import { de as attend } from "../../web/i18n/de.js";
import { de as run } from "../../web/i18n/console/de.js";
import { isSame } from "../../web/lib/json.js";
import { agoText, isoOf, localInput } from "../../web/lib/times.js";

void t.test("the same JSON", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) =>
      isSame(value, JSON.parse(JSON.stringify(value))),
    ),
  );
  t.ok(isSame({ a: 1, b: [2] }, { b: [2], a: 1 }));
  t.ok(isSame({ a: undefined }, {}));
  const different: [unknown, unknown][] = [
    [[], {}],
    [null, {}],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: 1 }, { b: 1 }],
    [{ toString: 1 }, {}],
    ["1", 1],
  ];
  for (const [a, b] of different) t.notOk(isSame(a, b), JSON.stringify([a, b]));
});

void t.test("times", async (t) => {
  const iso = "2027-01-31T09:30:00.000Z";
  t.equal(isoOf(localInput(iso)), iso);
  t.equal(isoOf(""), null);
  t.equal(localInput(null), "");
  t.equal(localInput("nonsense"), "");
  const now = Date.parse(iso);
  const ago = (seconds: number) =>
    agoText(new Date(now - seconds * 1000).toISOString(), now, "en");
  t.equal(ago(5), "this minute");
  t.equal(ago(-5), "this minute");
  t.equal(ago(65), "1 minute ago");
  t.equal(ago(7300), "2 hours ago");
  t.equal(ago(90_000), "yesterday");
});

void t.test("German speaks to everybody in the same way", async (t) => {
  const texts = JSON.stringify([attend, run]);
  t.match(texts, /\bSie\b/);
  t.notMatch(texts, /\b(du|dich|dir|deine?[nmrs]?)\b/i);
});
