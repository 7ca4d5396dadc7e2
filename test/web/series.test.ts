import t from "tap";
import { peakOf, spanOf, summed } from "../../web/state/series.js";

const now = Date.parse("2027-03-01T12:00:00Z");
const hours = (n: number) => n * 3_600_000;
const iso = (n: number) => new Date(now + hours(n)).toISOString();

void t.test("the span of an event so far", async (t) => {
  const rows: [event: object, from: number, to: number][] = [
    [{ starts_at: iso(-2), ends_at: iso(2) }, -3, 0],
    [{ starts_at: iso(-9), ends_at: iso(-5) }, -10, -4],
    [{ starts_at: iso(5), ends_at: iso(9) }, -168, 0],
    [{}, -168, 0],
    [{ starts_at: "soon", ends_at: 7 }, -168, 0],
  ];
  for (const [event, from, to] of rows) {
    const span = spanOf(event, now);
    t.equal(span.to, now + hours(to));
    t.ok(Math.abs(span.from - (now + hours(from))) <= span.step);
    t.equal(span.step % 60_000, 0);
    t.ok((span.to - span.from) / span.step <= 151);
  }
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
