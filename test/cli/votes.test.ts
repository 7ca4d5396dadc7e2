import { openStoreIn } from "../stack.js";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { countRows } from "../../db/sqlite/inspection/inspection.js";
import { migrations } from "../../db/sqlite/migrations/index.js";
import { addFunctions } from "../../db/sqlite/engine/upgrade.js";
import type { Store } from "../../db/contract/store.js";
import { foyer, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const WORLD = "demo";

const enter = async (store: Store, tokenId: string, world = WORLD) =>
  (
    await store.users.enter(world, {
      tokenId,
      traits: new Set<string>(),
      profile: { display_name: `=${tokenId}` },
    })
  ).id;

/** A folder with a world with a question and votes. */
async function voted(t: Test) {
  const dataDir = join(testdir(t), "data");
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf(WORLD));
  const create = async (name: string, sorting_priority: number) =>
    (await store.rooms.create(WORLD, { name, sorting_priority })).value.id;
  const [quiet, main] = [await create("Quiet", 2), await create("Main", 1)];
  const [ada, bob, gone] = [
    await enter(store, "ada"),
    await enter(store, "bob"),
    await enter(store, "gone"),
  ];
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
    ...{ content: "Empty?", options: [], poll_type: "multi" },
  });
  const open = await polls.create(WORLD, main, draft);
  const closed = await polls.create(WORLD, main, draft);
  for (const { id, options } of [open, closed]) {
    const [red, blue] = options;
    await polls.vote(WORLD, main, id, ada, [red!.id]);
    await polls.vote(WORLD, main, id, bob, [blue!.id]);
    await polls.vote(WORLD, main, id, gone, [blue!.id]);
  }
  await polls.update(WORLD, main, closed.id, { state: "closed" }, ada);
  const left = { options: [{ id: closed.options[0]!.id, order: 5 }] };
  await polls.update(WORLD, main, closed.id, left, ada);
  await store.users.erase(WORLD, { user_id: gone });
  return {
    ...{ dataDir, store, main, quiet, ada, bob, quietly, sum, why },
    ...{ empty, open, closed },
  };
}

const results = (dataDir: string, kind: string, ...more: string[]) =>
  foyer(dataDir, [kind, "results", WORLD, ...more]);

void t.test("the results of polls are printed", async (t) => {
  const { dataDir, main, quiet, empty, open, closed } = await voted(t);
  const json = await results(dataDir, "poll");
  t.match(json, { code: 0, stderr: "" });
  const [red, blue] = open.options;
  const base = {
    ...{ room_id: main, room: "Main", content: "Which, then?" },
    ...{ poll_type: "choice", is_pinned: false },
  };
  const first = {
    id: open.id,
    ...{ ...base, state: "open" },
    timestamp: new Date(open.timestamp).toISOString(),
    options: [
      { id: red!.id, content: "@red", order: 1, votes: 1 },
      { id: blue!.id, content: "blue", order: 2, votes: 2 },
    ],
  };
  const last = {
    ...{ ...base, id: empty.id, room_id: quiet, room: "Quiet" },
    ...{ content: "Empty?", poll_type: "multi", state: "draft" },
    timestamp: new Date(empty.timestamp).toISOString(),
    options: [],
  };
  t.same(JSON.parse(json.stdout), [
    first,
    {
      ...{ ...first, id: closed.id, state: "closed" },
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
    "id,room_id,room,content,state,poll_type,is_pinned,timestamp,option_id,option,order,votes",
    `${which(open.id, "open", open)},${red!.id},'@red,1,1`,
    `${which(open.id, "open", open)},${blue!.id},blue,2,2`,
    `${which(closed.id, "closed", closed)},${closed.options[0]!.id},'@red,5,1`,
    `${which(closed.id, "closed", closed)},${closed.options[1]!.id},,,2`,
    `${empty.id},${quiet},Quiet,Empty?,draft,multi,false,${last.timestamp},,,,`,
    "",
  ]);
});

void t.test("questions are printed with their votes", async (t) => {
  const { dataDir, store, main, ada, quietly, sum, why } = await voted(t);
  const json = await results(dataDir, "question");
  t.match(json, { code: 0, stderr: "" });
  const questions = JSON.parse(json.stdout) as { timestamp: string }[];
  const base = {
    ...{ room_id: main, room: "Main", state: "visible", answered: false },
    ...{ is_pinned: false, score: 0, sender: ada, sender_name: "=ada" },
  };
  t.same(
    questions.map(({ timestamp: _, ...rest }) => rest),
    [
      { ...base, id: sum, content: "=1+1?\r\nSay it", is_pinned: true },
      {
        ...{ ...base, id: why, content: "Why?", answered: true, score: 2 },
        ...{ sender: null, sender_name: null },
      },
      {
        ...{ ...base, id: quietly, content: "Heard?", room: "Quiet" },
        room_id: (await store.rooms.all(WORLD, { page: 1, pageSize: 9 }))[1]!
          .value.id,
      },
    ],
  );
  const csv = await results(
    ...([dataDir, "question", "--format", "csv", "--room", "Main"] as const),
  );
  const at = questions.map(({ timestamp }) => timestamp);
  t.equal(
    csv.stdout,
    [
      "id,room_id,room,content,state,answered,is_pinned,score,timestamp,sender,sender_name",
      `${sum},${main},Main,"'=1+1?\nSay it",visible,false,true,0,${at[0]},${ada},'=ada`,
      `${why},${main},Main,Why?,visible,true,false,2,${at[1]},,`,
      "",
    ].join("\r\n"),
  );

  // More than are read at once.
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
  // chat.test.ts has what is said of rooms and formats.
  const cases: [args: string[], code: number, stderr: RegExp][] = [
    [[WORLD, "--room", "main"], 1, /There is no room main in demo/],
    [["none"], 1, /There is no world none/],
    [[WORLD, "--format", "csv", "--json"], 2, /--json is no CSV/],
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

void t.test("what an older database lacks is counted as none", (t) => {
  const db = new Database(":memory:");
  addFunctions(db);
  const none = {
    ...{ worlds: 0, rooms: 0, files: 0 },
    ...{ chat_events: 0, questions: 0, polls: 0 },
  };
  for (const sql of migrations) {
    db.exec(sql);
    const has = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'files'");
    if (has.get()) t.strictSame(countRows(db), none);
  }
  db.close();
  t.end();
});
