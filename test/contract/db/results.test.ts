import t from "tap";
import { lastBefore } from "../../../db/results/attendance-results.js";
import { PAGE_SIZE, pages } from "../../../db/results/results.js";

void t.test("what a write moves to the next page is read once", async (t) => {
  const list = Array.from({ length: PAGE_SIZE + 2 }, (_, i) => ({ id: `${i}` }));
  const before = [...list];
  const read = async ({ page, pageSize }: { page: number; pageSize: number }) =>
    list.slice((page - 1) * pageSize, page * pageSize);
  const seen = [];
  for await (const item of pages(read)) {
    if (seen.push(item) === 1) list.unshift({ id: "new" });
  }
  t.strictSame(seen, before);
});

// The search is only needed in rooms with many thousands of messages, so the test fakes the store.

void t.test("where the messages since a time begin", async (t) => {
  const MINUTE = 60_000;
  // Other rooms use the ids in between, and the clock sometimes jumps back half a minute.
  const messages = Array.from({ length: 40_000 }, (_, i) => ({
    id: 3 * i + 1,
    timestamp: i * 1000 - (i % 7 === 0 ? MINUTE / 2 : 0),
  }));
  let reads = 0;
  const sent = async (_w: string, _r: string, after: number, limit: number) => {
    reads++;
    const from = messages.findIndex(({ id }) => id > after);
    return from < 0 ? [] : messages.slice(from, from + limit);
  };
  const store = { chat: { sent, lastId: async () => 200_000 } } as never;
  const last = messages.at(-1)!.timestamp;
  for (const time of [0, 1, MINUTE, last / 2, last, last + 60 * MINUTE]) {
    reads = 0;
    const before = await lastBefore(store, "w", "r", time);
    const missed = messages.filter(({ id, timestamp }) => id <= before && timestamp >= time);
    t.same(missed, [], `none since ${time} is left out`);
    const early = messages.filter((one) => one.id > before && one.timestamp < time - 6 * MINUTE);
    t.ok(early.length < 2500, `${early.length} before ${time} are read`);
    t.ok(reads < 20, `${reads} reads`);
  }
});
