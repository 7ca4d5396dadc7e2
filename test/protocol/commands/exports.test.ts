import { existsSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Store } from "../../../db/contract/store.js";
import type { User } from "../../../schemas/users.js";
import { finished, textsBelow } from "../../support/files.js";
import { foyer, worldOf } from "../../support/helper.js";
import { shared } from "../../support/shared.js";
import { openIn, openStoreIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";

const WORLD = "demo";

/** Creates users whose names spreadsheets would interpret as formulas. */
const enter = (store: Store, ...names: string[]) =>
  Promise.all(
    names.map((tokenId) => {
      const profile = { display_name: `=${tokenId}, "the first"` };
      return store.users.enter(WORLD, { tokenId, traits: new Set(), profile });
    }),
  );

/** Creates a data folder with a world that contains chat messages. */
async function chatted(t: Test) {
  const dataDir = join(testdir(t), "data");
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf(WORLD));
  const { value: room } = await store.rooms.create(WORLD, { name: "Main" });
  const { value: quiet } = await store.rooms.create(WORLD, { name: "Quiet" });
  const [ada, bob, eve, gone] = await enter(store, "ada", "bob", "eve", "gone");
  if (!ada || !bob || !eve || !gone) throw new Error("Some did not enter.");
  const { chat } = store;
  for (const { id } of [ada, bob, gone]) await chat.join(WORLD, room.id, id);
  const send = async (
    channel: string,
    sender: { id: string },
    content: Record<string, unknown>,
    more: object = {},
  ) => {
    const draft = { sender: sender.id, content, ...more };
    return (await chat.send(WORLD, channel, draft)).event.id;
  };
  const say = (channel: string, sender: { id: string }, body: string, more = {}) =>
    send(channel, sender, { type: "text", body, "1": [null] }, more);
  const first = await say(room.id, ada, "=1+1\r\nof ada");
  const hello = await say(room.id, bob, "hello of bob", { mentioned: [ada.id] });
  const typo = await say(room.id, ada, "a tyop of ada");
  await say(room.id, ada, "a typo of ada", { replaces: typo });
  const doomed = await say(room.id, bob, "regretted by bob");
  await send(room.id, bob, { type: "deleted" }, { replaces: doomed });
  await say(room.id, gone, "said by gone");
  const files = [{ url: "/media/x.pdf", name: "x.pdf", mimeType: "x" }];
  await send(room.id, ada, { type: "files", files, body: '"look" of ada' });
  for (const user of [bob, ada, gone]) {
    for (const reaction of ["👏", "❤️"]) {
      await chat.react(WORLD, room.id, first, {
        user: user.id,
        reaction,
        remove: false,
        volatile: false,
      });
    }
  }
  const users = [ada.id, bob.id].sort();
  const { channel } = await chat.direct(WORLD, ada.id, users, true);
  await say(channel.id, ada, "a secret of ada");
  await chat.leave(WORLD, channel.id, bob.id, false);
  const mark = { world: WORLD, channel: room.id };
  await chat.mark([
    { ...mark, user: ada.id, pointer: first, listed: hello },
    { ...mark, user: eve.id, pointer: null, listed: 0 },
  ]);
  await store.users.erase(WORLD, { user_id: gone.id });
  return { dataDir, store, room, quiet, ada, bob, gone, direct: channel.id };
}

void t.test("chat is exported for people", async (t) => {
  const { dataDir, store, room, quiet, ada, bob, gone, direct } = await chatted(t);
  const got = await foyer(dataDir, ["chat", "export", WORLD]);
  t.match(got, { code: 0, stderr: "" });
  const events = JSON.parse(got.stdout) as Record<string, unknown>[];

  const sent = await store.chat.events(WORLD, room.id, { after: 0, limit: 99 });
  t.strictSame(
    events.map(({ event_id }) => event_id),
    sent.map(({ id }) => id),
  );
  t.match(events, [
    { type: "channel.member", text: "join", sender: ada.id, room: "Main" },
    { type: "channel.member", sender_name: '=bob, "the first"' },
    { sender: gone.id, sender_name: null },
    { text: "=1+1\r\nof ada", files: [], edited: null, deleted: false },
    { text: "hello of bob", sender: bob.id, channel: room.id },
    { text: "a typo of ada", edited: /^20.*Z$/, replaces: null },
    { text: "a typo of ada", replaces: events[5]!.event_id },
    { text: null, deleted: true },
    { text: null, deleted: true, replaces: events[7]!.event_id },
    { text: "said by gone" },
    { files: [{ url: "/media/x.pdf", name: "x.pdf" }] },
  ]);
  const json = await foyer(dataDir, ["chat", "export", WORLD, "--json"]);
  t.equal(json.stdout, got.stdout);

  const csv = await foyer(dataDir, ["chat", "export", WORLD, "--format", "csv", "--room", "Main"]);
  const lines = csv.stdout.split("\r\n");
  t.equal(
    lines[0],
    "event_id,channel,room,timestamp,sender,sender_name,type,text,files,edited,replaces,deleted",
  );
  t.equal(lines.length, 1 + events.length + 1);
  t.match(lines[4], `,"'=ada, ""the first""",channel.message,"'=1+1\nof ada",,,,false`);
  t.match(lines[11], `,"""look"" of ada",/media/x.pdf,,,false`);

  const all = await foyer(dataDir, ["chat", "export", WORLD, "--direct"]);
  t.match((JSON.parse(all.stdout) as unknown[]).slice(events.length), [
    { room: null, channel: direct, text: "join" },
    { text: "join" },
    { text: "a secret of ada", sender_name: /ada/ },
  ]);
  const one = await foyer(dataDir, ["chat", "export", WORLD, "--room", quiet.id]);
  t.equal(one.stdout, "[]\n");
  await store.rooms.create(WORLD, { name: "Main" });
  const wrong: [args: string[], code: number, stderr: RegExp][] = [
    [["--room", "Main"], 1, /2 rooms have this name: [\w-]+, [\w-]+\./],
    [["--room", "main"], 1, /There is no room main in demo/],
    [["--format", "xml"], 2, /format/],
    [["--format", "csv", "--json"], 2, /json/],
    [["--direct", "--room", room.id], 2, /direct/],
  ];
  for (const [args, code, stderr] of wrong) {
    const got = await foyer(dataDir, ["chat", "export", WORLD, ...args]);
    t.match(got, { code, stderr, stdout: "" }, args.join(" "));
  }
});

void t.test("the messages of a user are erased", async (t) => {
  const { dataDir, store, room, ada, bob, gone } = await chatted(t);
  const remove = (id: string, ...more: string[]) =>
    foyer(dataDir, ["user", "delete", WORLD, id, "--messages", ...more]);
  t.same(await remove(ada.id), {
    code: 0,
    stdout: `Erased the user ${ada.id} and the content of 5 messages.\n`,
    stderr: "",
  });
  t.equal((await store.users.get(WORLD, ada.id))?.deleted, true);
  const own = (await store.chat.events(WORLD, room.id, { after: 0, limit: 99 })).filter(
    ({ sender, type }) => sender === ada.id && type === "channel.message",
  );
  t.equal(own.length, 4);
  t.ok(own.every(({ content }) => content === '{"type":"deleted"}'));
  const again = await remove(ada.id, "--json");
  t.strictSame(JSON.parse(again.stdout), { deleted: ada.id, messages: 0 });
  t.match(await remove(gone.id), {
    code: 0,
    stdout: `Erased the user ${gone.id} and the content of 1 message.\n`,
  });
  const kept = await foyer(dataDir, ["user", "delete", WORLD, bob.id]);
  t.equal(kept.stdout, `Erased the user ${bob.id}.\n`);
  t.match(await remove("none"), { code: 1, stderr: /no such user/ });
  t.match(await foyer(dataDir, ["user", "delete", "none", ada.id, "--messages"]), {
    code: 1,
    stderr: /There is no world none/,
  });
  await store.close();
  t.strictSame(
    await textsBelow(dataDir, ["of ada", "tyop", "by gone", "hello of bob"]),
    shared ? [] : ["hello of bob"],
    "with all bytes",
  );
  t.match(await foyer(dataDir, ["check"]), { code: 0 });
});

/** Creates a data folder with a world that contains a question and votes. */
async function voted(t: Test) {
  const dataDir = join(testdir(t), "data");
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf(WORLD));
  const create = async (name: string, sorting_priority: number) =>
    (await store.rooms.create(WORLD, { name, sorting_priority })).value.id;
  const [quiet, main] = [await create("Quiet", 2), await create("Main", 1)];
  const [ada = "", bob = "", gone = ""] = (await enter(store, "ada", "bob", "gone")).map(
    ({ id }) => id,
  );
  const { questions, polls } = store;
  const ask = async (room: string, sender: string, content: string) => {
    const draft = { sender, content, state: "visible" } as const;
    return (await questions.create(WORLD, room, draft)).id;
  };
  const quietly = await ask(quiet, ada, "Heard?");
  const sum = await ask(main, ada, "=1+1?\r\nSay it");
  const why = await ask(main, gone, "Why?");
  for (const user of [ada, gone]) {
    await questions.vote(WORLD, main, why, user, true, false);
  }
  await questions.update(WORLD, main, why, { answered: true }, bob);
  await questions.pin(WORLD, main, sum, bob);
  const options = [{ content: "@red" }, { content: "blue" }];
  const draft = { content: "Which, then?", state: "open", options } as const;
  const empty = await polls.create(WORLD, quiet, {
    content: "Empty?",
    options: [],
    poll_type: "multi",
  });
  const open = await polls.create(WORLD, main, draft);
  const closed = await polls.create(WORLD, main, draft);
  for (const { id, options } of [open, closed]) {
    const [red, blue] = options;
    await polls.vote(WORLD, main, id, ada, { options: [red!.id] });
    await polls.vote(WORLD, main, id, bob, { options: [blue!.id] });
    await polls.vote(WORLD, main, id, gone, { options: [blue!.id] });
  }
  await polls.update(WORLD, main, closed.id, { state: "closed" }, ada);
  const left = { options: [{ id: closed.options[0]!.id, order: 5 }] };
  await polls.update(WORLD, main, closed.id, left, ada);
  await store.users.erase(WORLD, { user_id: gone });
  return { dataDir, store, main, quiet, ada, bob, quietly, sum, why, empty, open, closed };
}

const results = (dataDir: string, kind: string, ...more: string[]) =>
  foyer(dataDir, [kind, "results", WORLD, ...more]);

void t.test("the results of polls are printed", async (t) => {
  const { dataDir, main, quiet, empty, open, closed } = await voted(t);
  const json = await results(dataDir, "poll");
  t.match(json, { code: 0, stderr: "" });
  const [red, blue] = open.options;
  const base = {
    room_id: main,
    room: "Main",
    content: "Which, then?",
    poll_type: "choice",
    is_pinned: false,
  };
  const first = {
    id: open.id,
    ...base,
    state: "open",
    timestamp: new Date(open.timestamp).toISOString(),
    options: [
      { id: red!.id, content: "@red", order: 1, votes: 1 },
      { id: blue!.id, content: "blue", order: 2, votes: 2 },
    ],
  };
  const last = {
    ...base,
    id: empty.id,
    room_id: quiet,
    room: "Quiet",
    content: "Empty?",
    poll_type: "multi",
    state: "draft",
    timestamp: new Date(empty.timestamp).toISOString(),
    options: [],
  };
  t.same(JSON.parse(json.stdout), [
    first,
    {
      ...first,
      id: closed.id,
      state: "closed",
      timestamp: new Date(closed.timestamp).toISOString(),
      options: [
        { id: closed.options[0]!.id, content: "@red", order: 5, votes: 1 },
        { id: closed.options[1]!.id, content: null, order: null, votes: 2 },
      ],
    },
    last,
  ]);
  t.equal((await results(dataDir, "poll", "--json")).stdout, json.stdout);
  const one = await results(dataDir, "poll", "--room", quiet);
  t.same(JSON.parse(one.stdout), [last]);

  const csv = await results(dataDir, "poll", "--format", "csv");
  const which = (id: string, state: string, { timestamp }: typeof open) =>
    `${id},${main},Main,"Which, then?",${state},choice,false,${new Date(timestamp).toISOString()}`;
  t.strictSame(csv.stdout.split("\r\n"), [
    "id,room_id,room,content,state,poll_type,is_pinned,timestamp,option_id,option,order,votes,points,correct",
    `${which(open.id, "open", open)},${red!.id},'@red,1,1,,`,
    `${which(open.id, "open", open)},${blue!.id},blue,2,2,,`,
    `${which(closed.id, "closed", closed)},${closed.options[0]!.id},'@red,5,1,,`,
    `${which(closed.id, "closed", closed)},${closed.options[1]!.id},,,2,,`,
    `${empty.id},${quiet},Quiet,Empty?,draft,multi,false,${last.timestamp},,,,,,`,
    "",
  ]);
});

void t.test("questions are printed with their votes", async (t) => {
  const { dataDir, store, main, ada, quietly, sum, why } = await voted(t);
  const json = await results(dataDir, "question");
  t.match(json, { code: 0, stderr: "" });
  const questions = JSON.parse(json.stdout) as { timestamp: string }[];
  const base = {
    room_id: main,
    room: "Main",
    state: "visible",
    answered: false,
    is_pinned: false,
    score: 0,
    sender: ada,
    sender_name: '=ada, "the first"',
  };
  t.same(
    questions.map(({ timestamp: _, ...rest }) => rest),
    [
      { ...base, id: sum, content: "=1+1?\r\nSay it", is_pinned: true },
      {
        ...base,
        id: why,
        content: "Why?",
        answered: true,
        score: 2,
        sender: null,
        sender_name: null,
      },
      {
        ...base,
        id: quietly,
        content: "Heard?",
        room: "Quiet",
        room_id: (await store.rooms.all(WORLD, { page: 1, pageSize: 9 }))[1]!.value.id,
      },
    ],
  );
  const csv = await results(dataDir, "question", "--format", "csv", "--room", "Main");
  const at = questions.map(({ timestamp }) => timestamp);
  t.equal(
    csv.stdout,
    [
      "id,room_id,room,content,state,answered,is_pinned,score,timestamp,sender,sender_name",
      `${sum},${main},Main,"'=1+1?\nSay it",visible,false,true,0,${at[0]},${ada},"'=ada, ""the first"""`,
      `${why},${main},Main,Why?,visible,true,false,2,${at[1]},,`,
      "",
    ].join("\r\n"),
  );

  // More than a single read returns.
  for (let i = 0; i < 120; i++) {
    const draft = { sender: ada, content: `${i}`, state: "visible" } as const;
    await store.questions.create(WORLD, main, draft);
  }
  const many = await results(dataDir, "question", "--room", main);
  const texts = (JSON.parse(many.stdout) as { content: string }[])
    .slice(2)
    .map(({ content }) => Number(content));
  t.strictSame(texts, [...Array(120).keys()]);
});

void t.test("a value that cannot be printed is reported", async (t) => {
  const { dataDir, store } = await voted(t);
  // chat.test.ts covers the errors about rooms and formats.
  const cases: [args: string[], code: number, stderr: RegExp][] = [
    [[WORLD, "--room", "main"], 1, /There is no room main in demo/],
    [["none"], 1, /There is no world none/],
    [[WORLD, "--format", "csv", "--json"], 2, /--json and --format csv exclude each other/],
  ];
  await store.worlds.create(worldOf("empty"));
  for (const kind of ["poll", "question"]) {
    for (const [args, code, stderr] of cases) {
      const got = await foyer(dataDir, [kind, "results", ...args]);
      t.match(got, { code, stderr, stdout: "" }, `${kind} ${args.join(" ")}`);
    }
    const none = await foyer(dataDir, [kind, "results", "empty"]);
    t.equal(none.stdout, "[]\n");
  }
});

const idOf = (i: number, kind = 0) =>
  `${String(i).padStart(8, "0")}-0000-4000-8000-${String(kind).padStart(12, "0")}`;
const keyOf = (world: string, id: string) => `pub/${world}/${id}.secret-${id.slice(4, 8)}0.pdf`;

type Uploader = Parameters<Store["files"]["add"]>[1];

/** Creates a data folder with three worlds and some files. */
async function dataOf(t: Test, files: [world: string, id: string, uploader: Uploader][]) {
  const dataDir = testdir(t);
  const engines = await openIn(t, dataDir);
  for (const world of ["demo", "other", "many"]) {
    await engines.store.worlds.create(worldOf(world));
  }
  for (const [world, id, uploader] of files) {
    const bytes = (async function* () {
      yield Buffer.from("%PDF-");
    })();
    const key = keyOf(world, id);
    await engines.files.put(key, bytes, (stored) =>
      engines.store.files.add(world, uploader, { key, ...stored }, 1e6),
    );
  }
  const { store } = engines;
  return { dataDir, store, files: engines.files, close: () => engines.close() };
}

const ADA: Uploader = { tokenId: "ada\u001b[2J", traits: new Set() };

void t.test("files are listed, shown and deleted", async (t) => {
  const { dataDir, ...engines } = await dataOf(t, [
    ["demo", idOf(1), ADA],
    ["demo", idOf(2), ADA],
    ["other", idOf(3), ADA],
  ]);
  const run = (...args: string[]) => foyer(dataDir, ["file", ...args]);
  const files = JSON.parse((await run("list", "demo", "--json")).stdout) as { id: string }[];
  t.strictSame(
    files.map(({ id }) => id),
    [idOf(2), idOf(1)],
  );
  const key = keyOf("demo", idOf(1));
  const path = `/media/${key}`;
  t.match(files[1], { path, size: 5, type: "application/pdf", key });
  t.match(
    (await run("list", "demo")).stdout.split("\n")[1],
    /^00000001-.*\t5\tapplication\/pdf\t20\d\d-.*Z\t[0-9a-f-]{36}$/,
  );
  const shown = await run("show", "demo", idOf(1), "--json");
  t.match(JSON.parse(shown.stdout), { ...files[1], is_there: true });
  const described = await run("show", "demo", idOf(1));
  t.match(described.stdout, path);
  t.match(described.stdout, /Bytes +present/);

  await engines.files.remove(keyOf("demo", idOf(2)));
  await engines.close();
  const cases: [name: string, args: string[], code: number, out: RegExp, err: RegExp][] = [
    ["missing bytes", ["show", "demo", idOf(2)], 0, /Bytes +missing/, /^$/],
    ["no such world", ["list", "none"], 1, /^$/, /^.*There is no world none.*\n$/],
    ["nothing there", ["list", "many"], 0, /^There are no uploads/, /^$/],
    ["nothing, as JSON", ["list", "many", "--json"], 0, /^\[\]\n$/, /^$/],
    ["no such file", ["show", "demo", idOf(9)], 1, /^$/, /^.*There is no file.*\n$/],
    ["of another world", ["show", "demo", idOf(3)], 1, /^$/, /^.*There is no file.*\n$/],
    ["not confirmed", ["delete", "demo", idOf(1)], 2, /^$/, /--yes/],
    ["to delete none", ["delete", "demo", idOf(9), "--yes"], 1, /^$/, /^.*no such file.*\n$/],
    ["another world's", ["delete", "demo", idOf(3), "--yes"], 1, /^$/, /^.*no such file.*\n$/],
  ];
  for (const [name, args, code, stdout, stderr] of cases) {
    t.match(await run(...args), { code, stdout, stderr }, name);
  }

  const gone = await run("delete", "demo", idOf(1), "--yes", "--json");
  t.equal(gone.code, 0, gone.stderr);
  t.strictSame(JSON.parse(gone.stdout), { deleted: idOf(1) });
  t.strictSame(
    (await finished(dataDir)).map((path) => path.split("/").at(-2)),
    ["other"],
  );
  t.strictSame(
    await textsBelow(dataDir, [key, keyOf("other", idOf(3))]),
    shared ? [] : [keyOf("other", idOf(3))],
    "not a byte is left of its key",
  );
  const lost = await run("delete", "demo", idOf(2), "--yes");
  t.equal(lost.stdout, `Deleted the file ${idOf(2)}.\n`, "without bytes");
  const check = await foyer(dataDir, ["check"]);
  t.equal(check.code, 0, check.stdout);
});

void t.test("a long list is printed page by page", async (t) => {
  const { dataDir, store, close } = await dataOf(t, []);
  const ids = Array.from({ length: 250 }, (_, i) => idOf(i, 1));
  await Promise.all(
    ids.map((id) => {
      const record = { key: keyOf("many", id), size: 1, sha256: "00" };
      return store.files.add("many", ADA, record, 1e9);
    }),
  );
  await close();
  const json = await foyer(dataDir, ["file", "list", "many", "--json"]);
  const files = JSON.parse(json.stdout) as { id: string }[];
  const listed = files.map(({ id }) => id);
  t.strictSame(listed, ids.toReversed());
  t.equal(json.stdout, `${JSON.stringify(files, null, 2)}\n`);
  const text = await foyer(dataDir, ["file", "list", "many"]);
  const lines = text.stdout.trim().split("\n");
  t.strictSame(
    lines.map((line) => line.split("\t")[0]),
    listed,
  );
});

const uploaders = (world: string): Uploader[] => [
  {
    tokenId: `ada-of-${world}`,
    traits: new Set(["speaker", "crew"]),
    profile: { display_name: `Ada of ${world}` },
  },
  { clientId: `guest-of-${world}`, traits: new Set() },
];

/** Creates two worlds, each with a user, a guest and their files. */
const peopled = (t: Test) =>
  dataOf(
    t,
    ["demo", "other"].flatMap((world) =>
      uploaders(world).map((uploader, i): [string, string, Uploader] => [world, idOf(i), uploader]),
    ),
  );

void t.test("users are listed and deleted", async (t) => {
  const { dataDir, close } = await peopled(t);
  await close();
  const run = (...args: string[]) => foyer(dataDir, ["user", ...args]);
  const listed = await run("list", "demo", "--json");
  t.equal(listed.code, 0);
  const users = JSON.parse(listed.stdout) as (User & { client_id: string | null })[];
  const profile = { display_name: "Ada of demo" };
  t.match(
    users.toSorted((a, b) => Number(a.token_id === null) - Number(b.token_id === null)),
    [
      { token_id: "ada-of-demo", client_id: null, traits: ["speaker", "crew"], profile },
      { token_id: null, client_id: "guest-of-demo", traits: [], profile: null },
    ],
  );
  const { id } = users.find(({ token_id }) => token_id !== null)!;
  const lines = (await run("list", "demo")).stdout.trim().split("\n");
  t.match(
    lines.find((line) => line.startsWith(id)),
    /ada-of-demo.*20\d\d-.*speaker, crew/,
  );
  t.equal(lines.length, 2);

  const wrong: [name: string, args: string[], code: number, stderr: RegExp][] = [
    ["no user named", ["delete", "demo"], 2, /user-id/],
    ["no such world", ["list", "none"], 1, /^.*There is no world none.*\n$/],
    ["a user of another world", ["delete", "other", id], 1, /^.*no such user.*\n$/],
    ["by its uid", ["delete", "demo", "ada-of-demo"], 1, /^.*no such user.*\n$/],
  ];
  for (const [name, args, code, stderr] of wrong) {
    t.match(await run(...args), { code, stdout: /^$/, stderr }, name);
  }
  const gone = await run("delete", "demo", id, "--json");
  t.equal(gone.code, 0, gone.stderr);
  t.strictSame(JSON.parse(gone.stdout), { deleted: id });
  t.strictSame(
    await textsBelow(dataDir, ["ada-of-demo", "Ada of demo", "guest-of-demo"]),
    shared ? [] : ["guest-of-demo"],
    "not a byte is left of it, and all of the other",
  );
  t.equal((await finished(dataDir)).length, 4, "files stay");
});

void t.test("a world takes its files with it", async (t) => {
  const { dataDir, close } = await peopled(t);
  await close();
  const got = await foyer(dataDir, ["world", "delete", "demo", "--yes"]);
  t.equal(got.code, 0, got.stderr);
  const left = await finished(dataDir);
  t.equal(left.length, 2);
  t.ok(left.every((path) => path.startsWith(join(dataDir, "media/pub/other"))));
  if (!shared) t.ok(existsSync(join(dataDir, "foyer.db")));
  const texts = await textsBelow(dataDir, ["ada-of-demo", "guest-of-demo"]);
  t.strictSame(texts, [], "and the names of its users");
});
