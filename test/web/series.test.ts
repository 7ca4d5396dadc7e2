import t from "tap";
import {
  livelyDays,
  livelyPart,
  peakOf,
  spanOf,
  summed,
} from "../../web/state/series.js";

const now = Date.parse("2027-03-01T12:00:00Z");
const hours = (n: number) => n * 3_600_000;
const iso = (n: number) => new Date(now + hours(n)).toISOString();

void t.test("the span of an event so far", async (t) => {
  const rows: [event: object, from: number, to: number][] = [
    [{ starts_at: iso(-2), ends_at: iso(2) }, -3, 0],
    [{ starts_at: iso(-9), ends_at: iso(-5) }, -10, -4],
  ];
  for (const [event, from, to] of rows) {
    const span = spanOf(event, now)!;
    t.equal(span.to, now + hours(to));
    t.ok(Math.abs(span.from - (now + hours(from))) <= span.step);
    t.equal(span.step % 60_000, 0);
    t.ok((span.to - span.from) / span.step <= 151);
  }
  const none = [{ starts_at: iso(5), ends_at: iso(9) }, {}, { starts_at: 7 }];
  for (const event of none) t.equal(spanOf(event, now), undefined);
});

void t.test("what happened in an event without dates", async (t) => {
  const at = (h: number, people: number | null, messages = 0) => ({
    ...{ at: now + hours(h), people, messages },
  });
  const day = 24;
  const days = [at(-9 * day, 0), at(-2 * day, 3), at(-1.5 * day, null, 1)];
  const span = livelyDays([...days, at(-12, null)], now);
  t.same(span.to, now + hours(-12), "until the last day ends");
  t.ok(Math.abs(span.from - (now + hours(-48))) <= span.step);
  const step = span.step / hours(1);
  const part = livelyPart([at(-20, 1), at(-19, 0)], span);
  t.ok(Math.abs(part.from - (now + hours(-20 - step))) <= span.step);
  t.equal(part.to, now + hours(-20 + 2 * step));
  t.equal((part.from - span.from) % span.step, 0);
  t.same(livelyPart([], span), span);
  const empty = livelyDays([], now);
  t.ok(empty.to === now && now - empty.from <= hours(day) + empty.step);
});

void t.test("amounts by steps, and their peak", async (t) => {
  const span = { from: 0, to: 300, step: 100 };
  const amounts = [
    ...[-1, 300, Number.NaN].map((at) => ({ at, value: 99 })),
    ...[0, 99, 250].map((at) => ({ at, value: 2 })),
  ];
  const values = summed(amounts, span);
  t.same(values, [
    { at: 0, value: 4 },
    { at: 100, value: 0 },
    { at: 200, value: 2 },
  ]);
  t.same(peakOf(values), { at: 0, value: 4 });
  t.equal(peakOf([{ at: 0, value: 0 }]), undefined);
});
