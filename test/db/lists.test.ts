import t from "tap";
import { PAGE_SIZE, pages } from "../../db/results/lists.js";

void t.test("what a write moves to the next page is read once", async (t) => {
  const list = Array.from({ length: PAGE_SIZE + 2 }, (_, i) => ({
    id: `${i}`,
  }));
  const before = [...list];
  const read = async ({ page, pageSize }: { page: number; pageSize: number }) =>
    list.slice((page - 1) * pageSize, page * pageSize);
  const seen = [];
  for await (const item of pages(read)) {
    if (seen.push(item) === 1) list.unshift({ id: "new" });
  }
  t.strictSame(seen, before);
});
