import { exported } from "../../exported.js";
import type {
  Poll,
  PollChanges,
  PollSelection,
  PollOption,
  PollState,
} from "../../../db/contract/polls.js";
import { ABSENT, type Contract, fails } from "./setup.js";
import { voting } from "./vote-setup.js";

/** The options of a poll as text: their contents with their orders. */
const shown = ({ options }: Poll) =>
  options.map(({ content, order }) => `${content}${order}`).join(" ");

export async function pollContract(contract: Contract): Promise<void> {
  await contract("polls are kept", async (t, store, open) => {
    const { polls } = store;
    const { room, quiet, ada, elsewhere } = await voting(store);
    t.strictSame(await polls.list("demo", room, { limit: 9 }), []);
    const before = Date.now();
    const first = await polls.create("demo", room, {
      content: "🎪 \u0000?",
      options: [
        { content: "b", order: 2 },
        { content: "a", order: 1 },
      ],
    });
    const [a, b] = first.options as [PollOption, PollOption];
    const { id, timestamp } = first;
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(timestamp >= before && timestamp <= Date.now());
    t.strictSame(first, {
      id,
      room,
      content: "🎪 \u0000?",
      state: "draft",
      poll_type: "choice",
      is_pinned: false,
      timestamp,
      options: [
        { id: a.id, content: "a", order: 1 },
        { id: b.id, content: "b", order: 2 },
      ],
      results: { [a.id]: 0, [b.id]: 0 },
    });
    const made = [first];
    for (const state of ["open", "closed", "archived"] as const) {
      const draft = { content: state, options: [], state };
      const poll_type = "multi" as const;
      const one = await polls.create("demo", room, { ...draft, poll_type });
      t.match(one, { state, poll_type, options: [], results: {} });
      made.push(one);
    }
    const closed = await polls.create("demo", quiet, {
      content: "x",
      options: [{ content: "a" }],
      state: "closed",
    });
    t.strictSame(closed.results, { [closed.options[0]!.id]: 0 });
    t.strictSame(await store.chat.channel("demo", room), undefined, "no event");
    for (const reader of [polls, (await open()).polls]) {
      t.strictSame(
        await reader.list("demo", room, { limit: 9 }),
        made,
        "the oldest first",
      );
      t.strictSame(
        await reader.list("demo", room, { limit: 2 }),
        made.slice(2),
      );
      t.strictSame(await reader.list("demo", quiet, { limit: 2 }), [closed]);
      t.strictSame(await reader.get("demo", room, id), first);
      t.equal(await reader.get("demo", quiet, id), undefined, "in that room");
      t.equal(await reader.get("other", room, id), undefined);
      t.strictSame(await reader.list("other", room, { limit: 9 }), []);
      t.strictSame(await reader.ballots("demo", room, ada), []);
      t.strictSame(await reader.voters("demo", room, id, 0), {
        changed: 0,
        users: [],
      });
      t.equal(await reader.voters("demo", quiet, id, 0), undefined);
      t.equal(await reader.voters("other", room, id, 0), undefined);
    }
    for (const [world, where] of [
      ["demo", quiet],
      ["other", elsewhere.room],
    ] as const) {
      const user = world === "demo" ? ada : elsewhere.user;
      await fails(
        t,
        polls.update(world, where, id, {}, user),
        "absent",
        "poll",
      );
      await fails(t, polls.delete(world, where, id), "absent", "poll");
      await fails(t, polls.vote(world, where, id, user, []), "absent", "poll");
      await fails(t, polls.pin(world, where, id, user), "absent", "poll");
    }
    t.strictSame(await polls.delete("demo", room, id), first);
    t.strictSame(await polls.list("demo", room, { limit: 9 }), made.slice(1));
    await fails(t, polls.delete("demo", room, id), "absent", "poll");
    await store.rooms.delete("demo", room);
    t.strictSame(await polls.list("demo", room, { limit: 9 }), []);
    await store.worlds.delete("demo");
    t.strictSame(await polls.list("demo", quiet, { limit: 9 }), []);
  });

  await contract("polls are changed", async (t, store) => {
    const { polls } = store;
    const { room, quiet, ada } = await voting(store);
    const create = (where = room) =>
      polls.create("demo", where, {
        content: "x",
        options: [{ content: "a" }, { content: "b" }],
      });
    let before = await create();
    const { id } = before;
    const steps: PollChanges[] = [
      { content: "y" },
      { poll_type: "multi" },
      { is_pinned: true },
      { state: "open", is_pinned: false, poll_type: "choice", content: "z" },
      { options: [], content: undefined },
      {},
    ];
    for (const changes of steps) {
      const { options: _options, ...given } = changes;
      const after = { ...before, ...JSON.parse(JSON.stringify(given)) } as Poll;
      const { delivery: _event, ...result } = await polls.update(
        "demo",
        room,
        id,
        changes,
        ada,
      );
      t.strictSame(result, { before, after }, JSON.stringify(changes));
      t.strictSame(await polls.get("demo", room, id), after);
      before = after;
    }

    const second = await create();
    const other = await create(quiet);
    const third = await create();
    await polls.pin("demo", quiet, other.id, ada);
    const pinnedIn = async (where: string) =>
      (await polls.list("demo", where, { limit: 9 }))
        .filter(({ is_pinned }) => is_pinned)
        .map(({ id }) => id);
    t.strictSame(await polls.pin("demo", room, id, ada), {
      ...before,
      is_pinned: true,
    });
    t.strictSame(
      (await polls.list("demo", room, { limit: 2 })).map(({ id }) => id),
      [id, third.id],
      "a pinned one is listed",
    );
    const large = await polls.create("demo", room, {
      content: "x".repeat(500),
      options: [{ content: "y".repeat(300) }],
      state: "open",
    });
    const idsOf = async (selection: PollSelection) =>
      (await polls.list("demo", room, selection)).map((poll) => poll.id);
    const all = { limit: 9 };
    t.strictSame(await idsOf({ ...all, isPublic: true }), [id, large.id]);
    // It counts 1,000 characters with its option; the pinned one counts first.
    t.strictSame(await idsOf({ ...all, size: 900 }), [id]);
    t.strictSame((await idsOf({ ...all, size: 2500 })).slice(-1), [large.id]);
    t.strictSame(await idsOf({ ...all, size: 0 }), [id]);
    await polls.delete("demo", room, large.id);
    t.match(
      await polls.update("demo", room, second.id, { is_pinned: true }, ada),
      { after: { is_pinned: true }, unpinned: id },
    );
    t.strictSame(await pinnedIn(room), [second.id]);
    t.match(await polls.pin("demo", room, id, ada), { id, is_pinned: true });
    t.strictSame(await pinnedIn(room), [id]);
    t.equal(await polls.pin("demo", room, null, ada), undefined);
    t.strictSame(await pinnedIn(room), []);
    t.strictSame(await pinnedIn(quiet), [other.id], "in its own room");
  });

  await contract("the options of a poll are changed", async (t, store) => {
    const { polls } = store;
    const { room, ada } = await voting(store);
    const HIGHEST = 2 ** 31 - 1;
    const drafts: [options: { content: string; order?: number }[], string][] = [
      [[], ""],
      [[{ content: "a" }, { content: "b" }], "a1 b2"],
      [[{ content: "a" }, { content: "b", order: 1 }], "b1 a2"],
      [
        [
          { content: "a", order: 1 },
          { content: "b", order: 1 },
        ],
        "a1 b1",
      ],
      [[{ content: "a", order: 7 }, { content: "b" }], "a7 b8"],
      [[{ content: "a", order: -5 }, { content: "b" }], "a-5 b-4"],
      [
        [{ content: "a", order: HIGHEST }, { content: "b" }],
        `a${HIGHEST} b${HIGHEST}`,
      ],
    ];
    for (const [options, expected] of drafts) {
      const poll = await polls.create("demo", room, { content: "x", options });
      t.equal(shown(poll), expected);
      t.strictSame(await polls.get("demo", room, poll.id), poll, expected);
    }

    type Change = NonNullable<PollChanges["options"]>;
    const edits: [change: (a: string, b: string) => Change, string][] = [
      [() => [], "a1 b2"],
      [(a, b) => [{ id: b }, { id: a }], "a1 b2"],
      [
        (a, b) => [
          { id: b, order: 1 },
          { id: a, order: 2 },
        ],
        "b1 a2",
      ],
      [
        (a, b) => [
          { id: a, content: "A" },
          { id: b, order: 0 },
        ],
        "b0 A1",
      ],
      [(a) => [{ id: a }], "a1"],
      [(_, b) => [{ content: "c" }, { id: b }], "b2 c3"],
      [
        (a, b) => [{ content: "c", order: 1 }, { id: a }, { id: b }],
        "a1 c1 b2",
      ],
      [() => [{ content: "c" }, { content: "d" }], "c1 d2"],
      [(a) => [{ id: a, order: undefined, content: undefined }], "a1"],
    ];
    const create = async () => {
      const options = [{ content: "a" }, { content: "b" }];
      const poll = await polls.create("demo", room, { content: "x", options });
      const [a, b] = poll.options.map(({ id }) => id) as [string, string];
      return { poll, a, b };
    };
    for (const [change, expected] of edits) {
      const { poll, a, b } = await create();
      const options = change(a, b);
      const { after, before } = await polls.update(
        "demo",
        room,
        poll.id,
        { options },
        ada,
      );
      t.strictSame(before, poll);
      t.equal(shown(after), expected);
      t.strictSame(await polls.get("demo", room, poll.id), after, expected);
      t.strictSame(
        Object.keys(after.results),
        after.options.map(({ id }) => id),
      );
      for (const { id } of options) {
        if (id !== undefined) t.ok(id in after.results, "keeps its id");
      }
    }

    const { poll, a, b } = await create();
    const { poll: other } = await create();
    const many = (count: number) =>
      Array.from({ length: count }, () => ({ content: "x" }));
    const refused: [options: Change, problem: "absent" | "quota"][] = [
      [[{ id: a }, { id: ABSENT }], "absent"],
      [[{ id: a }, { id: "x" }], "absent"],
      [[{ id: other.options[0]!.id }], "absent"],
      [[{ id: a }, { id: b }, { id: a }], "absent"],
      [[{ id: a }, { order: 1 }], "absent"],
      [[...many(101), {}], "absent"],
      [[...many(100), { id: b }], "quota"],
    ];
    for (const [options, problem] of refused) {
      const field = problem === "absent" ? "option" : "options";
      const changes = { options, content: "y", is_pinned: true } as const;
      const write = polls.update("demo", room, poll.id, changes, ada);
      await fails(t, write, problem, field);
    }
    const large = { content: "x", options: many(101) };
    await fails(t, polls.create("demo", room, large), "quota", "options");
    t.strictSame(
      await polls.get("demo", room, poll.id),
      poll,
      "all or nothing",
    );
    const most = { options: [...many(99), { id: a }] };
    const { after } = await polls.update("demo", room, poll.id, most, ada);
    t.equal(after.options.length, 100);
  });

  await contract("opening a draft tells the chat", async (t, store) => {
    const { polls, chat } = store;
    const { room, quiet, ada, elsewhere } = await voting(store);
    await store.chat.join("other", elsewhere.room, elsewhere.user);
    const states: PollState[] = ["draft", "open", "closed", "archived"];
    let last = { id: 0, message: 0 };
    for (const [where, isChat] of [
      [room, true],
      [quiet, false],
    ] as const) {
      for (const from of states) {
        for (const to of states) {
          const draft = { content: "x", options: [], state: from };
          const { id } = await polls.create("demo", where, draft);
          const { delivery, after } = await polls.update(
            "demo",
            where,
            id,
            { state: to },
            ada,
          );
          t.equal(after.state, to);
          const opens = isChat && from === "draft" && to === "open";
          t.equal(delivery !== undefined, opens, `${from} to ${to}`);
          if (!delivery) continue;
          t.strictSame(delivery, {
            event: {
              id: delivery.event.id,
              channel: room,
              sender: ada,
              timestamp: delivery.event.timestamp,
              type: "channel.poll",
              content: JSON.stringify({ poll_id: id, state: "open" }),
              edited: null,
              replaces: null,
              reactions: {},
            },
            previous: last.id,
            previousMessage: last.message,
            notified: [],
            appeared: [],
          });
          last = { id: delivery.event.id, message: delivery.event.id };
          t.strictSame(await chat.deliveries("demo", room, 0, 9), [delivery]);
        }
      }
    }
    t.equal(await chat.channel("demo", quiet), undefined);
    t.match(await chat.channel("demo", room), { lastMessage: last.id });

    await chat.join("demo", room, ada);
    const { id } = await polls.create("demo", room, {
      content: "x",
      options: [],
    });
    const state = "open";
    const { delivery } = await polls.update("demo", room, id, { state }, ada);
    const { event } = delivery!;
    t.ok(
      delivery!.previous > delivery!.previousMessage,
      "after a member event",
    );
    t.equal(delivery!.previousMessage, last.id);
    const selection = { limit: 9, withoutMembers: true };
    t.match(await chat.events("demo", room, selection), [
      { type: "channel.poll", id: last.id },
      event,
    ]);
    const edit = (type: string) =>
      chat.send("demo", room, {
        sender: ada,
        content: { type, body: "x" },
        replaces: event.id,
        moderates: true,
      });
    await fails(t, edit("text"), "absent", "event");
    await fails(t, edit("deleted"), "absent", "event");
    const reaction = {
      user: ada,
      reaction: "👍",
      remove: false,
      volatile: false,
    };
    t.match(await chat.react("demo", room, event.id, reaction), {
      type: "channel.poll",
      reactions: { "👍": [ada] },
    });
    await chat.empty("demo", ada, 0);
    await polls.delete("demo", room, id);
    t.match(await chat.event("demo", room, event.id), {
      content: event.content,
    });

    const copy = await exported(store, "demo", { history: true });
    t.match(copy.rows.chat_events!.at(-1), { content: event.content });
    await store.worlds.delete("demo");
    await store.worlds.import(copy);
    const [again] = await chat.events("demo", room, { limit: 1 });
    t.strictSame(again, {
      ...event,
      id: again!.id,
      reactions: { "👍": [ada] },
    });
    t.match(await chat.channel("demo", room), { lastMessage: again!.id });
    const expired = await chat.expire("demo", Date.now() + 1000);
    t.equal(expired, false);
    t.strictSame(await chat.events("demo", room, selection), []);
  });
}
