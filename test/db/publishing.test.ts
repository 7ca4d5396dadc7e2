import t from "tap";
import type { AnyEvent } from "../../db/events.js";
import { openEngines } from "../../db/open.js";
import type { Poll, PollChanges } from "../../db/polls.js";
import type { Question, QuestionChanges } from "../../db/questions.js";
import type { StoreProblem } from "../../db/store.js";
import { putDatabase } from "../database.js";
import { worldOf } from "../helper.js";
import { usersOf } from "../listed.js";
import { testdir } from "../testdir.js";

// What a store publishes of its writes.

void t.test(
  "one event for each write, after it and before its answer",
  async (t) => {
    const dataDir = testdir(t);
    await putDatabase(dataDir, [worldOf("demo")]);
    const engines = await openEngines({ dataDir });
    t.teardown(() => engines.close());
    const { store, events } = engines;
    const seen: string[] = [];
    const published: AnyEvent[] = [];
    /** What a reader sees the moment that an event comes. */
    let look = async (): Promise<unknown> => undefined;
    let looked: Promise<unknown> | undefined;
    events.subscribe((event) => {
      seen.push("event");
      published.push(event);
      looked = look();
    });

    const { value: room } = await store.rooms.create("demo", { name: "a" });
    const copy = (await store.worlds.export("demo"))!;
    const fileId = "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10";
    const file = { key: `pub/demo/${fileId}.x.pdf`, size: 1, sha256: "00" };
    const ada = { tokenId: "ada", traits: new Set<string>() };
    const { worlds, rooms, users, files } = store;
    const { announcements } = store;
    const eve = { ...ada, tokenId: "eve" };
    const [{ id: adaId }, { id: eveId }, { id: bobId }] = await Promise.all([
      users.enter("demo", ada),
      users.enter("demo", eve),
      users.enter("demo", { ...ada, tokenId: "bob" }),
    ]);
    const ofDemo = { world: "demo" } as const;
    const ofEve = { ...ofDemo, user: eveId };
    const announced = await announcements.create("demo", { text: "x" });
    const ofIt = { ...ofDemo, announcement: announced.id };
    const ofRoom = { ...ofDemo, room: room.id } as const;
    const titleOf = async (id: string) => (await worlds.get(id))?.value.title;
    const writes: [
      name: string,
      write: () => Promise<unknown>,
      event: AnyEvent,
      look: () => Promise<unknown>,
      sees: unknown,
    ][] = [
      [
        "a world is made",
        () => worlds.create(worldOf("new")),
        { type: "world.created", world: "new" },
        () => titleOf("new"),
        "The new",
      ],
      [
        "a world is changed",
        () => worlds.update("demo", { title: "B" }),
        { type: "world.updated", ...ofDemo },
        () => titleOf("demo"),
        "B",
      ],
      [
        "a room is changed",
        () => rooms.update("demo", room.id, { name: "b" }),
        { type: "room.updated", ...ofRoom },
        async () => (await rooms.get("demo", room.id))?.value.name,
        "b",
      ],
      [
        "a file is added",
        () => files.add("demo", ada, file, 10),
        { type: "file.added", ...ofDemo },
        () => files.has(file.key),
        true,
      ],
      [
        "a user is erased",
        () => users.erase("demo", { token_id: "ada" }),
        { type: "user.erased", ...ofDemo, user: adaId },
        async () => (await usersOf(store, "demo")).length,
        2,
      ],
      [
        "a world is configured",
        () => worlds.configure("demo", { title: "C" }, undefined, "me"),
        { type: "world.updated", ...ofDemo, by: "me" },
        () => titleOf("demo"),
        "C",
      ],
      [
        "a world is changed by somebody",
        () => worlds.update("demo", { title: "D" }, undefined, "me"),
        { type: "world.updated", ...ofDemo, by: "me" },
        () => titleOf("demo"),
        "D",
      ],
      [
        "a room is changed by somebody",
        () => rooms.update("demo", room.id, { name: "c" }, undefined, "me"),
        { type: "room.updated", ...ofRoom, by: "me" },
        async () => (await rooms.get("demo", room.id))?.value.name,
        "c",
      ],
      [
        "a room has a schedule",
        () => rooms.schedule("demo", room.id, { title: "T" }, "me"),
        { type: "room.scheduled", ...ofRoom, by: "me" },
        async () =>
          (await rooms.get("demo", room.id))?.value.extras.schedule_data,
        { title: "T" },
      ],
      [
        "rooms are put in order",
        () => rooms.reorder("demo", [room.id], "me"),
        { type: "rooms.reordered", ...ofDemo, by: "me" },
        async () => (await rooms.get("demo", room.id))?.value.sorting_priority,
        1,
      ],
      [
        "somebody enters",
        () => users.enter("demo", eve, "me"),
        { type: "user.entered", ...ofEve, by: "me" },
        async () => (await users.get("demo", eveId))?.id,
        eveId,
      ],
      [
        "a user is changed",
        () => users.update("demo", eveId, { pretalx_id: "P" }, "me"),
        { type: "user.updated", ...ofEve, by: "me" },
        async () => (await users.get("demo", eveId))?.pretalx_id,
        "P",
      ],
      [
        "a user is banned",
        () => users.moderate("demo", eveId, "banned", "me"),
        { type: "user.moderated", ...ofEve, by: "me" },
        async () => (await users.get("demo", eveId))?.moderation_state,
        "banned",
      ],
      [
        "a user blocks another",
        () => users.block("demo", eveId, bobId, "me"),
        { type: "user.blocked", ...ofEve, by: "me" },
        async () => (await users.blocked("demo", eveId)).length,
        1,
      ],
      [
        "and no longer",
        () => users.unblock("demo", eveId, bobId),
        { type: "user.unblocked", ...ofEve },
        async () => (await users.blocked("demo", eveId)).length,
        0,
      ],
      [
        "a user is erased by somebody",
        () => users.erase("demo", { user_id: eveId }, "me"),
        { type: "user.erased", ...ofEve, by: "me" },
        async () => (await users.get("demo", eveId))?.deleted,
        true,
      ],
      [
        "an announcement becomes visible",
        () => announcements.update("demo", announced.id, { state: "active" }),
        { type: "announcement.updated", ...ofIt, wasVisible: false },
        async () => (await announcements.list("demo"))[0]?.state,
        "active",
      ],
      [
        "a visible announcement gets an end that is over",
        () => announcements.update("demo", announced.id, { show_until: 1 }),
        {
          type: "announcement.updated",
          ...ofIt,
          wasVisible: true,
          hidden: { ...announced, state: "active", show_until: 1 },
        },
        async () => (await announcements.list("demo"))[0]?.show_until,
        1,
      ],
      [
        "an invisible announcement is archived",
        () =>
          announcements.update(
            "demo",
            announced.id,
            { state: "archived" },
            "me",
          ),
        { type: "announcement.updated", ...ofIt, wasVisible: false, by: "me" },
        async () => (await announcements.list("demo"))[0]?.state,
        "archived",
      ],
      [
        "a file is deleted",
        () => files.delete("demo", fileId),
        { type: "file.deleted", ...ofDemo },
        () => files.has(file.key),
        false,
      ],
      [
        "a room is deleted",
        () => rooms.delete("demo", room.id),
        {
          type: "room.deleted",
          ...ofRoom,
          rules: room.permission_config,
        },
        () => rooms.get("demo", room.id),
        undefined,
      ],
      [
        "a world is deleted",
        () => worlds.delete("demo"),
        { type: "world.deleted", ...ofDemo },
        () => titleOf("demo"),
        undefined,
      ],
      [
        "a world is imported",
        () => worlds.import(copy),
        { type: "world.created", ...ofDemo },
        () => titleOf("demo"),
        "The demo",
      ],
    ];
    for (const [name, write, event, looking, sees] of writes) {
      [seen.length, published.length, look] = [0, 0, looking];
      await write().then(() => seen.push("answer"));
      t.strictSame(published, [event], name);
      t.strictSame(seen, ["event", "answer"], `${name}: in this order`);
      t.strictSame(await looked, sees, `${name}: it is done`);
    }

    published.length = 0;
    const made = await rooms.create("demo", { name: "b" });
    t.strictSame(published, [
      { type: "room.created", ...ofDemo, room: made.value.id },
    ]);

    published.length = 0;
    const opened = await rooms.open("demo", { name: "c" }, "me");
    const shown = { text: "x", state: "active" } as const;
    const { id } = await announcements.create("demo", shown, "me");
    t.strictSame(published, [
      { type: "room.opened", ...ofDemo, room: opened.value.id, by: "me" },
      {
        type: "announcement.created",
        ...ofDemo,
        announcement: id,
        wasVisible: false,
        by: "me",
      },
    ]);

    published.length = 0;
    const refused: [write: () => Promise<unknown>, problem: StoreProblem][] = [
      [() => worlds.create(worldOf("demo")), "taken"],
      [() => worlds.import(copy), "taken"],
      [() => worlds.update("none", {}), "absent"],
      [() => worlds.update("demo", { title: "x" }, ["x"]), "changed"],
      [() => worlds.delete("none"), "absent"],
      [() => rooms.create("none", { name: "x" }), "absent"],
      [() => rooms.update("demo", made.value.id, { name: "x" }, []), "changed"],
      [() => rooms.delete("demo", room.id, ["x"]), "changed"],
      [() => rooms.open("demo", { name: "B" }), "taken"],
      [() => rooms.schedule("demo", "none", null), "absent"],
      [() => worlds.configure("none", {}), "absent"],
      [() => users.erase("demo", { token_id: "none" }), "absent"],
      [() => users.update("demo", "none", {}), "absent"],
      [() => users.moderate("demo", "none", "banned"), "absent"],
      [() => users.block("demo", eveId, bobId), "absent"],
      [() => announcements.create("none", { text: "x" }), "absent"],
      [() => announcements.update("demo", "none", {}), "absent"],
      [() => files.add("demo", ada, file, 0), "quota"],
      [() => files.delete("demo", fileId), "absent"],
    ];
    for (const [write, problem] of refused) {
      const error: unknown = await write().catch((thrown: unknown) => thrown);
      t.match(error, { name: "StoreError", problem });
    }
    const trial = { ...copy, world: worldOf("trial"), rooms: [] };
    await worlds.import(trial, { dryRun: true });
    t.strictSame(published, [], "nothing happened");
  },
);

void t.test("what chat publishes", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const engines = await openEngines({ dataDir });
  t.teardown(() => engines.close());
  const { store, events } = engines;
  const { chat } = store;
  const { id: channel } = (await store.rooms.create("demo", { name: "a" }))
    .value;
  const users: string[] = [];
  for (const tokenId of ["ada", "bob"]) {
    const visitor = { tokenId, traits: new Set<string>() };
    users.push((await store.users.enter("demo", visitor)).id);
  }
  const [ada, bob] = users as [string, string];
  const published: AnyEvent[] = [];
  events.subscribe((event) => published.push(event));
  /** What a write publishes, with its result. */
  async function of<T>(write: Promise<T>): Promise<[AnyEvent[], T]> {
    published.length = 0;
    const result = await write;
    return [[...published], result];
  }
  const here = { world: "demo", channel };
  const by = "me";
  const changed = { type: "chat.memberships", ...here, users: [ada] };
  const draft = { sender: ada, content: { type: "text", body: "x" } };

  const [joined, join] = await of(chat.join("demo", channel, ada, by));
  t.strictSame(joined, [
    { type: "chat.event", ...here, delivery: join, by },
    { ...changed, by },
  ]);
  t.strictSame((await of(chat.join("demo", channel, ada)))[0], [], "already");
  const [sent, delivery] = await of(chat.send("demo", channel, draft));
  t.strictSame(sent, [{ type: "chat.event", ...here, delivery }]);
  t.strictSame(JSON.parse(JSON.stringify(sent)), sent, "is plain JSON");
  const { id: event } = delivery.event;
  const reaction = { user: ada, reaction: "x", remove: false, volatile: false };
  const reacted = chat.react("demo", channel, event, reaction, by);
  t.strictSame((await of(reacted))[0], [
    { type: "chat.reacted", ...here, event, by },
  ]);
  const [left, leave] = await of(chat.leave("demo", channel, ada, false, by));
  t.strictSame(left, [
    { type: "chat.event", ...here, delivery: leave, by },
    { ...changed, by },
  ]);
  await chat.join("demo", channel, ada);
  const silently = chat.leave("demo", channel, ada, true);
  t.strictSame((await of(silently))[0], [changed], "in silence");

  const open = (hide: boolean) =>
    of(chat.direct("demo", ada, [ada, bob], hide, by));
  const [opened, { channel: direct, created }] = await open(true);
  const there = { world: "demo", channel: direct.id };
  t.strictSame(opened, [
    ...created.map((delivery) => ({
      type: "chat.event",
      ...there,
      delivery,
      by,
    })),
    { ...changed, ...there, by },
  ]);
  t.strictSame((await open(true))[0], [], "nobody sees more");
  t.strictSame((await open(false))[0], [
    { type: "chat.memberships", ...there, users: [bob], by },
  ]);

  const mark = { user: ada, channel, pointer: 1, listed: null, world: "demo" };
  const quiet: (() => Promise<unknown>)[] = [
    () => chat.mark([mark]),
    () => chat.empty("demo", ada, 0),
    () => chat.expire("demo", 0),
    () => chat.send("demo", channel, draft).catch(() => {}),
    () => chat.join("demo", "none", ada).catch(() => {}),
    () => chat.react("demo", channel, 99, reaction).catch(() => {}),
  ];
  for (const write of quiet) {
    t.strictSame((await of(write()))[0], [], String(write));
  }
});

void t.test("what questions and polls publish", async (t) => {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const engines = await openEngines({ dataDir });
  t.teardown(() => engines.close());
  const { store, events } = engines;
  const { questions, polls } = store;
  const module_config = [{ type: "chat.native", config: {} }];
  const created = await store.rooms.create("demo", {
    name: "a",
    module_config,
  });
  const room = created.value.id;
  const visitor = { tokenId: "ada", traits: new Set<string>() };
  const { id: user } = await store.users.enter("demo", visitor);
  const published: AnyEvent[] = [];
  let look = async (): Promise<unknown> => undefined;
  let looked: Promise<unknown> | undefined;
  events.subscribe((event) => {
    published.push(event);
    looked = look();
  });
  const by = "me";
  const ofRoom = { world: "demo", room } as const;
  const draft = { sender: user, content: "x", state: "visible" } as const;
  const poll = { content: "x", options: [{ content: "a" }] };

  const asked = await questions.ask("demo", room, draft, by);
  const second = await questions.ask("demo", room, draft);
  const made = await polls.create("demo", room, poll, by);
  const other = await polls.create("demo", room, poll);
  t.strictSame(published.splice(0), [
    ...[
      { question: asked.id, wasVisible: false, by },
      { question: second.id, wasVisible: false },
    ].map((event) => ({ type: "question.saved", ...ofRoom, ...event })),
    ...[
      { poll: made.id, wasPublic: false, by },
      { poll: other.id, wasPublic: false },
    ].map((event) => ({ type: "poll.saved", ...ofRoom, ...event })),
  ]);

  const question = asked.id;
  const [option] = made.options.map(({ id }) => id) as [string];
  const updateQuestion = (id: string, changes: QuestionChanges) =>
    questions.update("demo", room, id, changes, user, by);
  const updatePoll = (id: string, changes: PollChanges) =>
    polls.update("demo", room, id, changes, user, by);
  const getQuestion = () => questions.get("demo", room, question);
  const getPoll = () => polls.get("demo", room, made.id);
  const savedQuestion = (question: string, wasVisible: boolean) =>
    ({ type: "question.saved", ...ofRoom, question, wasVisible, by }) as const;
  const savedPoll = (poll: string, wasPublic: boolean) =>
    ({ type: "poll.saved", ...ofRoom, poll, wasPublic, by }) as const;
  const ofQuestion = { ...ofRoom, question, by } as const;
  const ofPoll = { ...ofRoom, poll: made.id, by } as const;
  const writes: [
    name: string,
    write: () => Promise<unknown>,
    events: AnyEvent[] | ((result: unknown) => AnyEvent[]),
    look: () => Promise<unknown>,
    sees: unknown,
  ][] = [
    [
      "a vote for a question",
      () => questions.vote("demo", room, question, user, true, false, by),
      [{ type: "question.voted", ...ofQuestion, user }],
      async () => (await getQuestion())?.score,
      1,
    ],
    [
      "a question is archived",
      () => updateQuestion(question, { state: "archived" }),
      // As it was then: what follows is for moderators.
      (result) => [
        {
          ...savedQuestion(question, true),
          hidden: {
            ...(result as { after: Question }).after,
            content: (result as { before: Question }).before.content,
          },
        },
      ],
      async () => (await getQuestion())?.state,
      "archived",
    ],
    [
      "an archived question is changed",
      () => updateQuestion(question, { content: "y" }),
      [savedQuestion(question, false)],
      async () => (await getQuestion())?.content,
      "y",
    ],
    [
      "a question is pinned",
      () => questions.pin("demo", room, second.id, user, by),
      [{ type: "question.pinned", ...ofRoom, question: second.id, by }],
      async () => (await questions.get("demo", room, second.id))?.is_pinned,
      true,
    ],
    [
      "another is pinned by a change",
      () => updateQuestion(question, { is_pinned: true, state: "visible" }),
      [savedQuestion(question, false), savedQuestion(second.id, false)],
      async () => (await getQuestion())?.is_pinned,
      true,
    ],
    [
      "no question is pinned",
      () => questions.pin("demo", room, null, user),
      [{ type: "question.pinned", ...ofRoom, question: null }],
      async () => (await getQuestion())?.is_pinned,
      false,
    ],
    [
      "a question is deleted",
      () => questions.delete("demo", room, question, by),
      [{ type: "question.deleted", ...ofQuestion, wasVisible: true }],
      getQuestion,
      undefined,
    ],
    [
      "a poll is pinned",
      () => polls.pin("demo", room, other.id, by),
      [{ type: "poll.pinned", ...ofRoom, poll: other.id, by }],
      async () => (await polls.get("demo", room, other.id))?.is_pinned,
      true,
    ],
    [
      "another is pinned by a change",
      () => updatePoll(made.id, { is_pinned: true }),
      [savedPoll(made.id, false), savedPoll(other.id, false)],
      async () => (await getPoll())?.is_pinned,
      true,
    ],
    [
      "no poll is pinned",
      () => polls.pin("demo", room, null),
      [{ type: "poll.pinned", ...ofRoom, poll: null }],
      async () => (await getPoll())?.is_pinned,
      false,
    ],
    [
      "a poll is archived",
      () => updatePoll(other.id, { state: "archived" }),
      [savedPoll(other.id, false)],
      async () => (await polls.get("demo", room, other.id))?.state,
      "archived",
    ],
  ];
  const run = async ([
    name,
    write,
    expected,
    looking,
    sees,
  ]: (typeof writes)[number]) => {
    [published.length, look] = [0, looking];
    const result = await write();
    const events = expected instanceof Function ? expected(result) : expected;
    t.strictSame(published, events, name);
    t.strictSame(await looked, sees, `${name}: it is done`);
  };
  for (const write of writes) await run(write);

  look = () => store.chat.channel("demo", room);
  published.length = 0;
  const { delivery } = await updatePoll(made.id, { state: "open" });
  t.strictSame(published, [
    savedPoll(made.id, false),
    { type: "chat.event", world: "demo", channel: room, delivery, by },
  ]);
  t.strictSame(JSON.parse(JSON.stringify(published)), published, "plain JSON");
  t.match(await looked, { lastMessage: delivery!.event.id });
  const later: typeof writes = [
    [
      "a vote in a poll",
      () => polls.vote("demo", room, made.id, user, [option], by),
      [{ type: "poll.voted", ...ofPoll, user }],
      async () => (await getPoll())?.results,
      { [option]: 1 },
    ],
    [
      "an open poll is closed",
      () => updatePoll(made.id, { state: "closed" }),
      [savedPoll(made.id, true)],
      async () => (await getPoll())?.state,
      "closed",
    ],
    [
      "a closed poll is hidden",
      () => updatePoll(made.id, { state: "draft", content: "y" }),
      (result) => [
        {
          ...savedPoll(made.id, true),
          hidden: { ...(result as { before: Poll }).before, state: "draft" },
        },
      ],
      async () => (await getPoll())?.content,
      "y",
    ],
    [
      "a draft is deleted",
      () => polls.delete("demo", room, made.id, by),
      [{ type: "poll.deleted", ...ofPoll, wasPublic: false }],
      getPoll,
      undefined,
    ],
  ];
  for (const write of later) await run(write);

  published.length = 0;
  const refused = await Promise.allSettled([
    questions.ask("demo", room, { ...draft, sender: "none" }),
    questions.vote("demo", room, question, user, true, false),
    updateQuestion(question, {}),
    questions.pin("demo", room, question, user),
    polls.vote("demo", room, other.id, user, []),
    updatePoll(made.id, {}),
    polls.delete("demo", room, made.id),
  ]);
  t.ok(refused.every(({ status }) => status === "rejected"));
  t.strictSame(published, [], "nothing happened");
});
