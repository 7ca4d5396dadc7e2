import t from "tap";
import type { RoomDraft } from "../../schemas/rooms.js";
import type { Store } from "../../db/contract/store.js";
import {
  admin,
  bearer,
  rules,
  serve,
  worldOf,
  type Answer,
} from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const base = `http://localhost:8375${rooms}`;

interface Page {
  count: number;
  next: string | null;
  previous: string | null;
  results: { name: string; id: string }[];
}

function pageOf({ body }: Answer) {
  const { results, ...rest } = body as Page;
  return { ...rest, names: results.map(({ name }) => name).join(" ") };
}

async function fill(store: Store, drafts: RoomDraft[]): Promise<void> {
  for (const draft of drafts) await store.rooms.create("demo", draft);
}

void t.test("pages and the links between them", async (t) => {
  const { call, store } = await serve(t);
  await fill(
    store,
    ["a", "b", "c", "d", "e"].map((name) => ({
      name,
      description: name < "d" ? "what? a & b" : "",
    })),
  );

  const cases: [
    query: string,
    names: string,
    next: string | null,
    previous: string | null,
  ][] = [
    ["", "a b c d e", null, null],
    ["?page_size=5", "a b c d e", null, null],
    ["?page_size=2", "a b", "?page_size=2&page=2", null],
    [
      "?page_size=2&page=2",
      "c d",
      "?page_size=2&page=3",
      "?page_size=2&page=1",
    ],
    ["?page_size=2&page=3", "e", null, "?page_size=2&page=2"],
    // Past the end: back to the last page that has any.
    ["?page_size=2&page=4", "", null, "?page_size=2&page=3"],
    ["?page=2&page_size=5", "", null, "?page=1&page_size=5"],
    [
      "?page=999999999999999&page_size=1000",
      "",
      null,
      "?page=1&page_size=1000",
    ],
    // Every other parameter stays: pages.test.ts has more of them.
    [
      "?search=what%3F+a+%26+b&page_size=1&page=2",
      "b",
      "?search=what%3F+a+%26+b&page_size=1&page=3",
      "?search=what%3F+a+%26+b&page_size=1&page=1",
    ],
  ];
  for (const [query, names, next, previous] of cases) {
    const answer = await call({ url: rooms + query, as });
    t.equal(answer.status, 200, query);
    t.strictSame(
      pageOf(answer),
      {
        count: query.includes("search") ? 3 : 5,
        next: next && base + next,
        previous: previous && base + previous,
        names,
      },
      query,
    );
  }
});

void t.test("50 rooms a page, up to 1000 when asked", async (t) => {
  const { call, store } = await serve(t);
  await Promise.all(
    Array.from({ length: 1001 }, (_, i) =>
      store.rooms.create("demo", { name: String(i) }),
    ),
  );
  const cases: [query: string, length: number, next: string | null][] = [
    ["", 50, "?page=2"],
    ["?page=21", 1, null],
    ["?page_size=1", 1, "?page_size=1&page=2"],
    ["?page_size=1000", 1000, "?page_size=1000&page=2"],
  ];
  for (const [query, length, next] of cases) {
    const { body } = await call({ url: rooms + query, as });
    const page = body as Page;
    t.equal(page.count, 1001, query);
    t.equal(page.results.length, length, query);
    t.equal(page.next, next && base + next, query);
  }
});

void t.test("an empty list", async (t) => {
  const { call } = await serve(t);
  const empty = { count: 0, next: null, previous: null, results: [] };
  t.strictSame((await call({ url: rooms, as })).body, empty);
  t.strictSame(
    (await call({ url: `${rooms}?page=3`, as })).body,
    empty,
    "no page has any room, so none is linked",
  );
});

void t.test("a bad parameter is named", async (t) => {
  const { call } = await serve(t);
  const whole = ["Must be a whole number."];
  const cases: [query: string, answer: object][] = [
    ["page=0", { page: ["Must be at least 1."] }],
    ["page=-1", { page: ["Must be at least 1."] }],
    ["page=", { page: whole }],
    ["page=x", { page: whole }],
    ["page=1.5", { page: whole }],
    ["page=1e3", { page: whole }],
    ["page=%201", { page: whole }],
    ["page=1&page=2", { page: whole }],
    ["page_size=0", { page_size: ["Must be at least 1."] }],
    ["page_size=1001", { page_size: ["Must be at most 1000."] }],
    ["page_size=all", { page_size: whole }],
    [
      "ordering=id",
      {
        ordering: [
          "Must be one of sorting_priority, -sorting_priority, name, -name.",
        ],
      },
    ],
    ["ordering=", { ordering: [/^Must be one of/] }],
    ["ordering=name,id", { ordering: [/^Must be one of/] }],
    ["type=a&type=b", { type: ["Must be a string."] }],
    ["search=a%00b", { search: ["Must be free of NUL characters."] }],
    [
      "page=x&page_size=0&ordering=id",
      { page: whole, page_size: [/1/], ordering: [/^Must/] },
    ],
  ];
  for (const [query, answer] of cases) {
    const got = await call({ url: `${rooms}?${query}`, as });
    t.equal(got.status, 400, query);
    t.match(got.body, answer, query);
    t.strictSame(Object.keys(got.body as object), Object.keys(answer), query);
  }
});

void t.test("orders, filters and searches", async (t) => {
  const { call, store } = await serve(t, [
    worldOf("demo", { permission_config: rules({ "world.api": [] }) }),
  ]);
  const chat = { type: "chat.native" };
  await fill(store, [
    { name: "bravo", sorting_priority: 2, module_config: [chat] },
    { name: "alpha", sorting_priority: 3, description: "50%_off ÄRGER" },
    {
      name: "Ärger-hidden",
      sorting_priority: 1,
      module_config: [chat],
      permission_config: { "room.view": [["admin", "crew"]] },
    },
  ]);
  const cases: [query: string, guest: string, crew: string][] = [
    ["", "bravo alpha", "Ärger-hidden bravo alpha"],
    ["ordering=sorting_priority", "bravo alpha", "Ärger-hidden bravo alpha"],
    ["ordering=-sorting_priority", "alpha bravo", "alpha bravo Ärger-hidden"],
    ["ordering=name", "alpha bravo", "alpha bravo Ärger-hidden"],
    ["ordering=-name", "bravo alpha", "Ärger-hidden bravo alpha"],
    ["type=chat.native", "bravo", "Ärger-hidden bravo"],
    ["search=ärger", "alpha", "Ärger-hidden alpha"],
    ["search=%_", "alpha", "alpha"],
    ["search=r&type=chat.native&ordering=-name", "bravo", "Ärger-hidden bravo"],
    ["search=zulu", "", ""],
  ];
  for (const [query, guest, crew] of cases) {
    for (const [who, names] of [
      [bearer("demo"), guest],
      [bearer("demo", "crew"), crew],
    ] as const) {
      const got = await call({ url: `${rooms}?${encodeURI(query)}`, as: who });
      const page = pageOf(got);
      t.equal(page.names, names, query);
      t.equal(page.count, names ? names.split(" ").length : 0, query);
    }
  }
});

void t.test("an empty filter filters nothing", async (t) => {
  const { call, store } = await serve(t);
  await fill(store, [{ name: "a" }]);
  for (const query of ["type=", "search="]) {
    const { body } = await call({ url: `${rooms}?${query}`, as });
    t.match(body, { count: 1 }, query);
  }
});

void t.test("a page that would not fit in memory", async (t) => {
  const { call, store } = await serve(t);
  const description = "d".repeat(1_048_000);
  await Promise.all(
    Array.from({ length: 65 }, () =>
      store.rooms.create("demo", { name: "x", description }),
    ),
  );
  const got = await call({ url: `${rooms}?page_size=1000`, as });
  t.equal(got.status, 400);
  t.match(got.body, { page_size: [/Ask for fewer/] });
  const few = await call({ url: `${rooms}?page_size=4`, as });
  t.match(few, { status: 200, body: { count: 65 } });
});
