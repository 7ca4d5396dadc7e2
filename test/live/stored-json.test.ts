import t from "tap";
import { type Client, demo, type Json, makeRoom, startLive } from "./client.js";

// Content from people is sent as it is stored. To parse it, to freeze it, or to encode it
// for each reader takes a hundred times as long, if it has many values.

const MARK = "in-depth";

/** Thousands of values, as the store may have them from before they were bounded. */
const deep = { [MARK]: [Array(2000).fill({}), Array(20).fill([[[[[[]]]]]])] };

/** Counts how often the server takes apart or makes JSON with the mark while something is done. */
async function workOf(work: () => Promise<unknown>): Promise<number> {
  const { parse, stringify } = JSON;
  const { freeze } = Object;
  let count = 0;
  JSON.parse = ((text: string, ...rest: []) => {
    // The test's own client parses frames.
    if (!text.startsWith('["') && text.includes(MARK)) count += 1;
    return parse(text, ...rest) as unknown;
  }) as typeof parse;
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const json = stringify(...args);
    if (json?.includes(MARK)) count += 1;
    return json;
  }) as typeof stringify;
  Object.freeze = (value: object) => {
    if (Object.hasOwn(value, MARK)) count += 1;
    return freeze(value);
  };
  try {
    await work();
  } finally {
    Object.assign(JSON, { parse, stringify });
    Object.freeze = freeze;
  }
  return count;
}

void t.test("stored content is sent as it is", async (t) => {
  const config = {
    theme: deep,
    pretalx: deep,
    user_list: { page_size: 1000 },
  };
  const live = await startLive(t, { commandsPerSecond: 1000 }, [
    demo({ config: config }),
  ]);
  const { store } = live.app;
  const module_config = [
    { type: "chat.native", config: {} },
    { type: "page.static", config: deep },
  ];
  const room = await makeRoom(live, { module_config });
  await store.rooms.update("demo", room, { extras: { schedule_data: deep } });
  const other = await makeRoom(live, { name: "Other" });
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) {
    const profile = { display_name: `P${i}`, ...deep };
    const visitor = { tokenId: `p${i}`, traits: new Set<string>(), profile };
    const { id } = await store.users.enter("demo", visitor);
    await store.users.update("demo", id, { client_state: deep });
    ids.push(id);
  }
  const [poisoner, other1] = ids as [string, string];
  await store.chat.join("demo", room, poisoner);
  const events: number[] = [];
  for (const kind of ["text", "text", "files"]) {
    const content = { type: kind, body: `@${other1}`, ...deep };
    const draft = { sender: poisoner, content };
    events.push((await store.chat.send("demo", room, draft)).event.id);
  }
  const admin = await live.admin();
  const guests = [await live.guest(), await live.guest()] as [Client, Client];
  const [first, second] = guests;
  await first.do("user.update", { profile: { display_name: "First" } });
  await first.do("chat.join", { channel: room });
  await admin.do("room.enter", { room });
  await admin.do("chat.subscribe", { channel: room });
  await first.do("user.block", { id: poisoner });
  const reaction = { channel: room, event: events[0], reaction: "👍" };
  const has = (answer: unknown) => JSON.stringify(answer).includes(MARK);

  type Row = [name: string, ask: () => Promise<unknown>, most?: number];
  const page = { channel: room, count: 50, before_id: 1e15 };
  const table: Row[] = [
    ["chat.fetch", () => first.do("chat.fetch", page)],
    ["chat.fetch, others", () => second.do("chat.fetch", page)],
    ["chat.subscribe", () => second.do("chat.subscribe", { channel: room })],
    [
      "chat.subscribe after",
      () => admin.do("chat.subscribe", { channel: room, after: 0 }),
    ],
    ["chat.react", () => first.do("chat.react", reaction)],
    [
      "chat.event.reaction",
      async () => {
        await first.do("chat.react", { ...reaction, delete: true });
        return admin.next("chat.event.reaction", (e) => !e.reactions["👍"]);
      },
    ],
    ["user.fetch", () => first.do("user.fetch", { ids })],
    [
      "user.list.search",
      () => first.do("user.list.search", { search_term: "p", page: 1 }),
    ],
    ["user.list", () => admin.do("user.list")],
    ["user.list.blocked", () => first.do("user.list.blocked")],
    ["room.config.get", () => admin.do("room.config.get", { room })],
    ["room.config.list", () => admin.do("room.config.list")],
    ["world.config.get", () => admin.do("world.config.get")],
    ["authenticate", async () => (await live.guest()).hello as unknown],
    [
      "authenticate with such a profile",
      async () => (await live.person({ uid: "p3" })).hello as unknown,
    ],
    [
      "room.enter of such a user",
      async () => {
        const person = await live.person({ uid: "p3" });
        await person.do("room.enter", { room });
        const isEntry = ({ user }: Json) => user.id === ids[3];
        return admin.next("room.viewer.added", isEntry);
      },
    ],
    ["viewers", () => admin.do("room.enter", { room })],
    [
      "the members of a direct channel",
      async () => {
        const users = [ids[4]];
        const { id } = await admin.do("chat.direct.create", { users });
        return admin.do("chat.subscribe", { channel: id });
      },
    ],
    [
      "chat.notification, encoded to be stored and for other nodes",
      async () => {
        const all = [admin.id, ids[4]!];
        const { channel } = await store.chat.direct("demo", ids[4]!, all, true);
        const content = { type: "text", body: "x", ...deep };
        const draft = { sender: ids[4]!, content };
        await store.chat.send("demo", channel.id, draft);
        return admin.next("chat.notification");
      },
      2,
    ],
    [
      "GET of users, which the test parses",
      async () => (await live.rest("GET", "demo/users/")).body as unknown,
      1,
    ],
    [
      "world.updated",
      async () => {
        await store.rooms.update("demo", other, { name: "Changed" });
        return first.next("world.updated");
      },
    ],
    [
      "user.updated",
      async () => {
        const person = await live.person({ uid: "p3" });
        await store.users.update("demo", ids[3]!, { pretalx_id: "x" });
        return person.next("user.updated");
      },
    ],
  ];
  // A value that depends only on the world is made once when it has changed.
  await admin.do("world.config.get");
  for (const [name, ask, most = 0] of table) {
    let answer: unknown;
    const work = await workOf(async () => (answer = await ask()));
    t.ok(has(answer), `${name} has it`);
    t.ok(work <= most, `${name}: ${work}`);
  }
});
