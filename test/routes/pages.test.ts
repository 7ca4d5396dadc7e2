import t from "tap";
import { admin, dial, listen, rawRequest, serve } from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";

void t.test("links keep what else a query holds as it came", async (t) => {
  const { app, store } = await serve(t);
  for (const name of ["a", "b", "c"])
    await store.rooms.create("demo", { name });
  const port = await listen(app);
  const cases: [name: string, query: string, next: string][] = [
    ["nothing else", "?page_size=1", "?page_size=1&page=2"],
    [
      "bytes that are no UTF-8",
      "?x=%FF&page_size=1",
      "?x=%FF&page_size=1&page=2",
    ],
    ["small letters", "?x=%c3%a4&page_size=1", "?x=%c3%a4&page_size=1&page=2"],
    ["no escape", "?x=%zz%&page_size=1", "?x=%zz%&page_size=1&page=2"],
    [
      "a plus and a space",
      "?x=a+b%20c&page_size=1",
      "?x=a+b%20c&page_size=1&page=2",
    ],
    ["a question mark", "?x=?&page_size=1", "?x=?&page_size=1&page=2"],
    ["no values", "?x&&y=&=z&page_size=1", "?x&&y=&=z&page_size=1&page=2"],
    ["a page in front", "?page=1&page_size=1&x=1", "?page=2&page_size=1&x=1"],
    ["a page in disguise", "?p%61ge=1&page_size=1", "?page=2&page_size=1"],
    [
      "a page that is a value",
      "?x=page=1&page_size=1",
      "?x=page=1&page_size=1&page=2",
    ],
    ["a hash", "?x=%23&page_size=1", "?x=%23&page_size=1&page=2"],
    [
      "a quotation mark",
      '?x="<>&page_size=1',
      "?x=%22%3C%3E&page_size=1&page=2",
    ],
  ];
  for (const [name, query, next] of cases) {
    const wire = dial(t, port);
    wire.send(rawRequest(`GET ${rooms}${query}`, { Authorization: as }));
    const { status, text } = await wire.answer();
    t.equal(status, 200, name);
    const list = JSON.parse(text) as { next: string };
    t.equal(list.next, `http://localhost${rooms}${next}`, name);
    const followed = list.next.slice("http://localhost".length);
    wire.send(rawRequest(`GET ${followed}`, { Authorization: as }));
    const second = JSON.parse((await wire.answer()).text) as {
      previous: string;
      next: string;
    };
    t.equal(second.previous, list.next.replace("page=2", "page=1"), name);
    t.equal(second.next, list.next.replace("page=2", "page=3"), name);
  }
});
