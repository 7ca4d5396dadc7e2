import type {
  Poll,
  PollChanges,
  PollOption,
  PollSelection,
  PollState,
  PollType,
} from "../../../../db/contract/poll-store.js";
import type { Store } from "../../../../db/contract/store.js";
import { exported } from "../../../support/database.js";
import { crowd, onlyActive, persistent, SOME, voting } from "./chat-setup.js";
import { ABSENT, allFail, type Contract, fails, idsOf, wonOf } from "./setup.js";

/** Formats a poll's options as contents with their orders. */
const shown = ({ options }: Poll) =>
  options.map(({ content, order }) => `${content}${order}`).join(" ");

/** Formats a poll's results, in the order of its options. */
const counts = (poll: Poll | undefined) => Object.values(poll!.results).join(" ");

const all = { limit: 9 };

export async function pollContract(contract: Contract): Promise<void> {
  await contract("polls are kept", async (t, store, open) => {
    const { polls } = store;
    const { room, quiet, ada, elsewhere } = await voting(store);
    t.strictSame(await polls.list("demo", room, all), []);
    const before = Date.now();
    const [one, two] = [
      { content: "a", order: 1 },
      { content: "b", order: 2 },
    ];
    const content = "🎪 \u0000?";
    const first = await polls.create("demo", room, { content, options: [two, one] });
    const { id, timestamp } = first;
    const [a, b] = first.options as [PollOption, PollOption];
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(timestamp >= before && timestamp <= Date.now());
    t.strictSame(first, {
      ...{ id, room, content, state: "draft", poll_type: "choice", is_pinned: false, timestamp },
      settings: {},
      options: [
        { id: a.id, ...one },
        { id: b.id, ...two },
      ],
      results: { [a.id]: 0, [b.id]: 0 },
    });
    const made = [first];
    for (const state of ["open", "closed", "archived"] as const) {
      const draft = { content: state, options: [], state, poll_type: "multi" } as const;
      const poll = await polls.create("demo", room, draft);
      t.match(poll, { ...draft, results: {} });
      made.push(poll);
    }
    const draft = { content: "x", options: [{ content: "a" }], state: "closed" } as const;
    const closed = await polls.create("demo", quiet, draft);
    t.strictSame(closed.results, { [closed.options[0]!.id]: 0 });
    t.strictSame(await store.chat.channel("demo", room), undefined, "no event");
    for (const reader of [polls, (await open()).polls]) {
      t.strictSame(await reader.list("demo", room, all), made, "the oldest first");
      t.strictSame(await reader.list("demo", room, { limit: 2 }), made.slice(2));
      t.strictSame(await reader.list("demo", quiet, { limit: 2 }), [closed]);
      t.strictSame(await reader.get("demo", room, id), first);
      t.strictSame(await reader.list("other", room, all), []);
      t.strictSame(await reader.ballots("demo", room, ada), []);
      t.strictSame(await reader.voters("demo", room, id, 0), { changed: 0, users: [] });
      for (const [world, where] of [
        ["demo", quiet],
        ["other", room],
      ] as const) {
        t.equal(await reader.get(world, where, id), undefined);
        t.equal(await reader.voters(world, where, id, 0), undefined);
      }
    }
    for (const [world, where, user] of [
      ["demo", quiet, ada],
      ["other", elsewhere.room, elsewhere.user],
    ] as const) {
      await allFail(
        t,
        [
          polls.update(world, where, id, {}, user),
          polls.delete(world, where, id),
          polls.vote(world, where, id, user, { options: [] }),
          polls.pin(world, where, id, user),
        ],
        "absent",
        "poll",
      );
    }
    t.strictSame(await polls.delete("demo", room, id), first);
    t.strictSame(await polls.list("demo", room, all), made.slice(1));
    await fails(t, polls.delete("demo", room, id), "absent", "poll");
    await store.rooms.delete("demo", room);
    t.strictSame(await polls.list("demo", room, all), []);
    await store.worlds.delete("demo");
    t.strictSame(await polls.list("demo", quiet, all), []);
  });

  await contract("polls are changed", async (t, store) => {
    const { polls } = store;
    const { room, quiet, ada } = await voting(store);
    const create = (where = room) =>
      polls.create("demo", where, { content: "x", options: [{ content: "a" }, { content: "b" }] });
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
      const { delivery: _event, ...result } = await polls.update("demo", room, id, changes, ada);
      t.strictSame(result, { before, after }, JSON.stringify(changes));
      t.strictSame(await polls.get("demo", room, id), after);
      before = after;
    }

    const [second, other, third] = [await create(), await create(quiet), await create()];
    await polls.pin("demo", quiet, other.id, ada);
    t.strictSame(await polls.pin("demo", room, id, ada), { ...before, is_pinned: true });
    const large = await polls.create("demo", room, {
      content: "x".repeat(500),
      options: [{ content: "y".repeat(300) }],
      state: "open",
    });
    const expectList = async (selection: PollSelection, expected: string[]) =>
      t.strictSame(
        idsOf(await polls.list("demo", room, selection)),
        expected,
        JSON.stringify(selection),
      );
    await expectList({ limit: 2 }, [id, large.id]);
    await expectList({ ...all, isPublic: true }, [id, large.id]);
    // The large poll counts as 1,000 characters, including its option; the pinned poll counts
    // first.
    await expectList({ ...all, size: 900 }, [id]);
    await expectList({ ...all, size: 2500 }, [id, second.id, third.id, large.id]);
    await expectList({ ...all, size: 0 }, [id]);
    await polls.delete("demo", room, large.id);
    await expectList({ limit: 2 }, [id, third.id]);
    const expectPinned = async (where: string, expected: string[]) => {
      const pinned = (await polls.list("demo", where, all)).filter(({ is_pinned }) => is_pinned);
      t.strictSame(idsOf(pinned), expected);
    };
    const update = polls.update("demo", room, second.id, { is_pinned: true }, ada);
    t.match(await update, { after: { is_pinned: true }, unpinned: id });
    await expectPinned(room, [second.id]);
    t.match(await polls.pin("demo", room, id, ada), { id, is_pinned: true });
    await expectPinned(room, [id]);
    t.equal(await polls.pin("demo", room, null, ada), undefined);
    await expectPinned(room, []);
    await expectPinned(quiet, [other.id]);
  });

  await contract("the options of a poll are changed", async (t, store) => {
    const { polls } = store;
    const { room, ada } = await voting(store);
    const HIGHEST = 2 ** 31 - 1;
    /** Parses options from contents with optional orders. */
    const draftOf = (text: string) =>
      text.split(" ").flatMap((word) => {
        const [content, order] = [word.slice(0, 1), word.slice(1)];
        return content ? [{ content, ...(order && { order: Number(order) }) }] : [];
      });
    for (const [drafted, expected] of [
      ["", ""],
      ["a b", "a1 b2"],
      ["a b1", "b1 a2"],
      ["a1 b1", "a1 b1"],
      ["a7 b", "a7 b8"],
      ["a-5 b", "a-5 b-4"],
      [`a${HIGHEST} b`, `a${HIGHEST} b${HIGHEST}`],
    ] as const) {
      const options = draftOf(drafted);
      const poll = await polls.create("demo", room, { content: "x", options });
      t.equal(shown(poll), expected);
      t.strictSame(await polls.get("demo", room, poll.id), poll, expected);
    }

    type Change = NonNullable<PollChanges["options"]>;
    const edits: [change: (a: string, b: string) => Change, string][] = [
      [() => [], "a1 b2"],
      [(a, b) => [{ id: b }, { id: a }], "a1 b2"],
      [(a, b) => [b, a].map((id, i) => ({ id, order: i + 1 })), "b1 a2"],
      [
        (a, b) => [
          { id: a, content: "A" },
          { id: b, order: 0 },
        ],
        "b0 A1",
      ],
      [(a) => [{ id: a }], "a1"],
      [(_, b) => [{ content: "c" }, { id: b }], "b2 c3"],
      [(a, b) => [{ content: "c", order: 1 }, { id: a }, { id: b }], "a1 c1 b2"],
      [() => [{ content: "c" }, { content: "d" }], "c1 d2"],
      [(a) => [{ id: a, order: undefined, content: undefined }], "a1"],
    ];
    const create = async () => {
      const poll = await polls.create("demo", room, { content: "x", options: draftOf("a b") });
      const [a, b] = idsOf(poll.options) as [string, string];
      return { poll, a, b };
    };
    for (const [change, expected] of edits) {
      const { poll, a, b } = await create();
      const options = change(a, b);
      const { after, before } = await polls.update("demo", room, poll.id, { options }, ada);
      t.strictSame(before, poll);
      t.equal(shown(after), expected);
      t.strictSame(await polls.get("demo", room, poll.id), after, expected);
      t.strictSame(Object.keys(after.results), idsOf(after.options));
      for (const { id } of options) if (id) t.ok(id in after.results, "keeps its id");
    }

    const { poll, a, b } = await create();
    const { a: other } = await create();
    const many = (count: number) => Array.from({ length: count }, () => ({ content: "x" }));
    const refused: [options: Change, problem: "absent" | "quota"][] = [
      [[{ id: a }, { id: ABSENT }], "absent"],
      [[{ id: a }, { id: "x" }], "absent"],
      [[{ id: other }], "absent"],
      [[{ id: a }, { id: b }, { id: a }], "absent"],
      [[{ id: a }, { order: 1 }], "absent"],
      [[...many(101), {}], "absent"],
      [[...many(100), { id: b }], "quota"],
    ];
    for (const [options, problem] of refused) {
      const changes = { options, content: "y", is_pinned: true } as const;
      const write = polls.update("demo", room, poll.id, changes, ada);
      await fails(t, write, problem, problem === "absent" ? "option" : "options");
    }
    const large = { content: "x", options: many(101) };
    await fails(t, polls.create("demo", room, large), "quota", "options");
    t.strictSame(await polls.get("demo", room, poll.id), poll, "all or nothing");
    const most = { options: [...many(99), { id: a }] };
    t.equal((await polls.update("demo", room, poll.id, most, ada)).after.options.length, 100);
  });

  await contract("opening a draft tells the chat", async (t, store) => {
    const { polls, chat } = store;
    const { room, quiet, ada } = await voting(store);
    const states: PollState[] = ["draft", "open", "closed", "archived"];
    let last = 0;
    for (const where of [room, quiet]) {
      for (const [from, to] of states.flatMap((from) => states.map((to) => [from, to] as const))) {
        const { id } = await polls.create("demo", where, {
          content: "x",
          options: [],
          state: from,
        });
        const { delivery, after } = await polls.update("demo", where, id, { state: to }, ada);
        t.equal(after.state, to);
        const opens = where === room && from === "draft" && to === "open";
        t.equal(delivery !== undefined, opens, `${from} to ${to}`);
        if (!delivery) continue;
        const { id: event, timestamp } = delivery.event;
        const content = JSON.stringify({ poll_id: id, state: "open" });
        t.strictSame(delivery, {
          event: {
            ...{ id: event, channel: room, sender: ada, timestamp, type: "channel.poll", content },
            ...{ edited: null, replaces: null, reactions: {} },
          },
          ...{ previous: last, previousMessage: last, notified: [], appeared: [] },
        });
        last = event;
        t.strictSame(await chat.deliveries("demo", room, 0, 9), [delivery]);
      }
    }
    t.equal(await chat.channel("demo", quiet), undefined);
    t.match(await chat.channel("demo", room), { lastMessage: last });

    await chat.join("demo", room, ada);
    const { id } = await polls.create("demo", room, { content: "x", options: [] });
    const { delivery } = await polls.update("demo", room, id, { state: "open" }, ada);
    const { event } = delivery!;
    t.ok(delivery!.previous > delivery!.previousMessage, "after a member event");
    t.equal(delivery!.previousMessage, last);
    const selection = { limit: 9, withoutMembers: true };
    const events = await chat.events("demo", room, selection);
    t.match(events, [{ type: "channel.poll", id: last }, event]);
    for (const type of ["text", "deleted"]) {
      const draft = { sender: ada, content: { type, body: "x" }, moderates: true };
      const edit = chat.send("demo", room, { ...draft, replaces: event.id });
      await fails(t, edit, "absent", "event");
    }
    const reaction = { user: ada, reaction: "👍", remove: false, volatile: false };
    const reacted = { type: "channel.poll", reactions: { "👍": [ada] } };
    t.match(await chat.react("demo", room, event.id, reaction), reacted);
    await chat.empty("demo", ada, 0);
    await polls.delete("demo", room, id);
    t.match(await chat.event("demo", room, event.id), { content: event.content });

    const copy = await exported(store, "demo", { history: true });
    t.match(copy.rows.chat_events!.at(-1), { content: event.content });
    await store.worlds.delete("demo");
    await store.worlds.import(copy);
    const [again] = await chat.events("demo", room, { limit: 1 });
    t.strictSame(again, { ...event, id: again!.id, reactions: { "👍": [ada] } });
    t.match(await chat.channel("demo", room), { lastMessage: again!.id });
    t.equal(await chat.expire("demo", Date.now() + 1000), false);
    t.strictSame(await chat.events("demo", room, selection), []);
  });
}

/** Creates a poll with the options a, b and c, open for votes by default. */
async function created(
  { polls }: Store,
  room: string,
  poll_type: PollType = "multi",
  state: PollState = "open",
) {
  const options = ["a", "b", "c"].map((content) => ({ content }));
  const draft = { content: "x", options, state, poll_type };
  const poll = await polls.create("demo", room, draft);
  const [a, b, c] = poll.options.map(({ id }) => id) as [string, string, string];
  return { id: poll.id, a, b, c };
}

/** Tests voting and its effects. */
export async function voteContract(contract: Contract): Promise<void> {
  await contract("a vote replaces the one before", async (t, store, open) => {
    const { polls } = store;
    const { room, quiet, ada, bob } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    const other = await created(store, room);
    const steps: [user: string, named: string[], chosen: string[], string][] = [
      [ada, [a], [a], "1 0 0"],
      [ada, [a], [a], "1 0 0"],
      [bob, [c, a, c, a], [a, c], "2 0 1"],
      [ada, [b, c], [b, c], "1 1 2"],
      [bob, [ABSENT, other.a, "x", b], [b], "0 2 1"],
      [ada, [], [], "0 1 0"],
      [ada, [], [], "0 1 0"],
      [ada, [other.a], [], "0 1 0"],
      [ada, [a, b, c], [a, b, c], "1 2 1"],
      [bob, [other.b, "x"], [b], "1 2 1"],
      [bob, [], [], "1 1 1"],
    ];
    const reader = (await open()).polls;
    for (const [user, named, chosen, results] of steps) {
      const name = `${results} after ${chosen.length} of ${named.length}`;
      const { poll, options } = await polls.vote("demo", room, id, user, { options: named });
      t.strictSame([options, counts(poll)], [chosen, results], name);
      t.strictSame(await reader.get("demo", room, id), poll, name);
      const ballots = chosen.length > 0 ? [{ poll: id, options: chosen }] : [];
      t.strictSame(await reader.ballots("demo", room, user), ballots, name);
    }
    await polls.vote("demo", room, other.id, ada, { options: [other.c] });
    const [first, second] = [
      { poll: id, options: [a, b, c] },
      { poll: other.id, options: [other.c] },
    ];
    t.strictSame(await polls.ballots("demo", room, ada), [first, second]);
    t.strictSame(await polls.ballots("demo", quiet, ada), []);
    t.strictSame(await polls.ballots("other", room, ada), []);
    await polls.delete("demo", room, id);
    t.strictSame(await polls.ballots("demo", room, ada), [second]);
  });

  await contract("which votes a poll takes", async (t, store) => {
    const { polls } = store;
    const people = await voting(store);
    const { room, ada, bob } = people;
    const one = await created(store, room, "choice");
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, one.id, user, { options });
    await fails(t, vote(ada, one.a, one.b), "denied", "poll");
    t.match(await vote(ada, one.a, one.a, ABSENT), { options: [one.a] });
    t.match(await vote(ada, one.b), { options: [one.b] });
    await fails(t, vote(ada, one.a, one.b), "denied", "poll");
    t.equal(counts(await polls.get("demo", room, one.id)), "0 1 0");
    for (const state of ["draft", "closed", "archived"] as const) {
      await polls.update("demo", room, one.id, { state }, ada);
      await fails(t, vote(bob, one.a), "denied", "poll");
      await fails(t, vote(ada), "denied", "poll");
      t.equal(counts(await polls.get("demo", room, one.id)), "0 1 0", state);
    }
    await polls.update("demo", room, one.id, { state: "open" }, ada);
    await onlyActive(t, store, people, { vote: (user) => vote(user, one.c) });
    t.equal(counts(await polls.get("demo", room, one.id)), "0 1 1");
  });

  await contract("when a poll becomes a choice of one", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob } = await voting(store);
    const { id, a, b } = await created(store, room);
    const change = (changes: PollChanges = {}) => {
      const all = { poll_type: "choice" as const, ...changes };
      return polls.update("demo", room, id, all, ada);
    };
    await polls.vote("demo", room, id, bob, { options: [b] });
    await polls.vote("demo", room, id, ada, { options: [a, b] });
    const before = await polls.get("demo", room, id);
    // A denied change has no effect at all.
    const options = [{ id: a }, { id: b, content: "B" }];
    const changes = { options, content: "y", is_pinned: true };
    await fails(t, change(changes), "denied", "poll_type");
    t.strictSame(await polls.get("demo", room, id), before);
    const [ballot] = await polls.ballots("demo", room, ada);
    t.strictSame(ballot?.options, [a, b]);
    // Deleting an option also removes the second choices for it.
    const { after } = await change({ options: [{ id: b }] });
    t.match([after.poll_type, counts(after)], ["choice", "2"]);
    t.match(await change(), { after: { poll_type: "choice" } });
  });

  await contract("voters are read by changes", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob, cy } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    let seen = 0;
    /** Lists by name the voters who changed since the last call. */
    const told = async (since = seen) => {
      const voters = (await polls.voters("demo", room, id, since))!;
      seen = voters.changed;
      const names = new Map([ada, bob, cy].map((id, i) => [id, "abc"[i]]));
      return voters.users
        .map(({ id, voted }) => `${names.get(id)}${voted ? "+" : "-"}`)
        .sort()
        .join(" ");
    };
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, id, user, { options });
    const keep = (...ids: string[]) =>
      polls.update("demo", room, id, { options: ids.map((id) => ({ id })) }, ada);
    const steps: [name: string, write: () => Promise<unknown>, told: string, all: string][] = [
      ["a vote", () => vote(ada, a), "a+", "a+"],
      ["nothing", () => vote(bob), "", "a+"],
      ["the same", () => vote(ada, a), "", "a+"],
      ["another's", () => vote(bob, a, b), "b+", "a+ b+"],
      ["another choice", () => vote(ada, b), "a+", "a+ b+"],
      ["withdrawn", () => vote(ada), "a-", "a- b+"],
      ["refused", () => vote(ABSENT, a).catch(() => {}), "", "a- b+"],
      ["again", () => vote(ada, a), "a+", "a+ b+"],
      ["a third", () => vote(cy, c), "c+", "a+ b+ c+"],
      ["an option is gone", () => keep(b, c), "a- b+", "a- b+ c+"],
      ["an option without votes", () => vote(bob, c), "b+", "a- b+ c+"],
      ["is gone", () => keep(c), "", "a- b+ c+"],
      ["a user is erased", () => store.users.erase("demo", { user_id: cy }), "", "a- b+"],
      [
        "all options are replaced",
        () => polls.update("demo", room, id, { options: [{ content: "d" }] }, ada),
        "b-",
        "a- b-",
      ],
    ];
    for (const [name, write, changes, all] of steps) {
      await write();
      const since = seen;
      t.equal(await told(), changes, name);
      t.equal(await told(), "", `${name}: once`);
      t.ok(seen >= since, name);
      t.equal(await told(0), all, `${name}: all`);
    }
    t.equal(counts(await polls.get("demo", room, id)), "0");
  });

  await contract("closing a poll freezes its results", async (t, store) => {
    const { polls } = store;
    const { room, ada, bob, cy } = await voting(store);
    const { id, a, b, c } = await created(store, room);
    const update = async (changes: Parameters<typeof polls.update>[3]) =>
      (await polls.update("demo", room, id, changes, ada)).after.results;
    const vote = (user: string, ...options: string[]) =>
      polls.vote("demo", room, id, user, { options });
    await vote(ada, a);
    await vote(bob, a, b);
    await vote(cy, c);
    const frozen = { [a]: 2, [b]: 1, [c]: 1 };
    t.strictSame(await update({ state: "closed" }), frozen);
    const still: [name: string, write: () => Promise<unknown>][] = [
      ["a vote", () => vote(cy, a).catch(() => {})],
      ["erasure", () => store.users.erase("demo", { user_id: cy })],
      [
        "an option is edited",
        () => update({ options: [{ id: a, content: "A" }, { id: b }, { id: c }] }),
      ],
      ["options go", () => update({ options: [{ id: c }] })],
      ["an option comes", () => update({ options: [{ id: c }, { content: "d" }] })],
      ["closed again", () => update({ state: "closed" })],
      ["archived", () => update({ state: "archived", content: "y" })],
      ["closed once more", () => update({ state: "closed", is_pinned: true })],
      ["pinned", () => polls.pin("demo", room, id, ada)],
    ];
    for (const [name, write] of still) {
      await write();
      const poll = await polls.get("demo", room, id);
      t.strictSame(poll?.results, frozen, name);
      t.strictSame((await polls.list("demo", room, { limit: 9 }))[0], poll, name);
    }
    const { options } = (await polls.get("demo", room, id))!;
    const [, d] = options.map(({ id }) => id) as [string, string];
    const thawed = await update({ state: "open" });
    t.strictSame(thawed, { [c]: 1, [d]: 0 }, "with the vote of the erased user");
    t.match(await vote(bob, d), { poll: { results: { [c]: 1, [d]: 1 } } });
    t.strictSame(
      await update({ state: "archived", options: [{ id: d }] }),
      { [d]: 1 },
      "after the options of the same update",
    );
    t.strictSame(await update({ state: "draft" }), { [d]: 1 });
    t.strictSame(await update({ state: "closed" }), { [d]: 1 });
  });

  await contract("each user has one ballot", async (t, store, open) => {
    const { polls } = store;
    const { room, ada } = await voting(store);
    const other = (await open()).polls;
    const users = await crowd(store, 10 * SOME);
    const { id, a, b, c } = await created(store, room, "choice");
    /** Sends votes for all users concurrently through both stores, several per user. */
    const rush = (of: string[], ...choices: string[][]) =>
      Promise.all(
        of.flatMap((user) =>
          choices.map((options, i) =>
            persistent(() => (i % 2 ? other : polls).vote("demo", room, id, user, { options })),
          ),
        ),
      );
    const expectCounts = async (...expected: number[]) =>
      t.equal(counts(await polls.get("demo", room, id)), expected.join(" "));
    await rush(users, [a], [b], [a]);
    const results = Object.values((await polls.get("demo", room, id))!.results);
    const sum = results.reduce((x, y) => x + y);
    t.equal(sum, 10 * SOME, "each counts once, whatever came last");
    await rush(users, [a]);
    await expectCounts(10 * SOME, 0, 0);
    await rush(users.slice(0, 3 * SOME), [b]);
    await expectCounts(7 * SOME, 3 * SOME, 0);
    await rush(users.slice(SOME, 2 * SOME), []);
    await expectCounts(7 * SOME, 2 * SOME, 0);
    const voters = (await polls.voters("demo", room, id, 0))!;
    t.equal(voters.users.filter(({ voted }) => voted).length, 9 * SOME);
    t.equal(new Set(idsOf(voters.users)).size, voters.users.length);
    t.equal(voters.users.length, 10 * SOME);
    await rush(users.slice(-10), [c]);
    const since = await other.voters("demo", room, id, voters.changed);
    t.strictSame(idsOf(since!.users).sort(), users.slice(-10).sort());
    const kept = [7 * SOME - 10, 2 * SOME, 10];
    await store.users.erase("demo", { user_id: users[0]! });
    await expectCounts(...kept);
    const named = (await polls.voters("demo", room, id, 0))!.users;
    t.equal(named.length, 10 * SOME - 1, "votes do not name their users");
    await polls.update("demo", room, id, { state: "closed" }, ada);
    const late = users
      .slice(1, SOME / 2)
      .map((user) => polls.vote("demo", room, id, user, { options: [a] }));
    t.equal(wonOf(await Promise.allSettled(late)), 0);
    await expectCounts(...kept);
  });
}
