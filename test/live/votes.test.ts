import t, { type Test } from "tap";
import type { Poll } from "../../db/contract/polls.js";
import {
  type Client,
  demo,
  type Frame,
  type Json,
  type LiveServer,
  makeRoom,
  startLive,
} from "./client.js";

// What a crowd of voters costs, and what no timing may reveal.

const modules = [
  { type: "poll", config: { active: true } },
  { type: "question", config: { active: true, requires_moderation: false } },
];

/** A server with a room that takes questions and polls. */
async function startVotes(t: Test, rules: object = {}) {
  const managers = [["manager"]];
  const world = demo({
    permission_config: {
      "world.update": [["admin"]],
      "poll.manage": managers,
      "question.moderate": managers,
      ...rules,
    },
  });
  const live = await startLive(t, {}, [world]);
  const room = await makeRoom(live, { module_config: modules });
  const manager = await live.person({ uid: "manager", traits: ["manager"] });
  await manager.do("room.enter", { room });
  const open = async (draft: object = {}): Promise<Poll> => {
    const options = [{ content: "Tea" }, { content: "Coffee" }];
    const created = await manager.do("poll.create", {
      room,
      content: "Tea or coffee?",
      options,
      state: "open",
      ...draft,
    });
    return created.poll as Poll;
  };
  return { live, room, manager, open };
}

/** Creates users who are not connected. @returns their ids. */
async function crowd({ app }: LiveServer, size: number): Promise<string[]> {
  const entered = Array.from({ length: size }, (_, i) =>
    app.store.users.enter("demo", {
      clientId: `voter-${i}`,
      traits: new Set(),
    }),
  );
  return (await Promise.all(entered)).map(({ id }) => id);
}

const isPollPush = ([name]: Frame) => name === "poll.created_or_updated";

/** The polls of pushes. */
const polls = (frames: Frame[]): Json[] =>
  frames.filter(isPollPush).map(([, data]) => (data as Json).poll);

/** Waits for a push of a poll. */
const nextPoll = (client: Client, matches: (poll: Json) => boolean) =>
  client.next("poll.created_or_updated", (data) => matches(data.poll));

/** Something to wait for. */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

void t.test("a thousand votes at once", async (t) => {
  const { live, room, manager, open } = await startVotes(t);
  const poll = await open();
  const [tea, coffee] = poll.options.map(({ id }) => id);
  const voters = await crowd(live, 1000);
  const voted = await live.guest("voter-0");
  const waits = await live.guest("waits");
  for (const client of [voted, waits]) await client.do("room.enter", { room });
  for (const client of [manager, voted, waits]) await client.all();

  const reads: number[] = [];
  const { polls: store } = live.app.store;
  const read = store.voters.bind(store);
  store.voters = async (...args) => {
    const found = await read(...args);
    reads.push(found!.users.length);
    return found;
  };
  const began = performance.now();
  await Promise.all(
    voters.map((user, i) =>
      live.app.store.polls.vote("demo", room, poll.id, user, [
        i % 4 === 0 ? tea! : coffee!,
      ]),
    ),
  );
  const isFinal = ({ results }: Json) =>
    results?.[tea!] === 250 && results?.[coffee!] === 750;
  const pushed = new Map<Client, Json[]>();
  for (const client of [manager, voted]) {
    const seen: Json[] = [];
    do seen.push(await nextPoll(client, () => true));
    while (!isFinal(seen.at(-1).poll));
    pushed.set(client, seen);
  }
  const seconds = (performance.now() - began) / 1000;
  for (const [client, seen] of pushed) {
    const most = Math.ceil(4 * seconds) + 1;
    t.ok(seen.length <= most, `${seen.length} pushes in ${seconds} s`);
    t.same(await client.all(), [], "the last one is final");
  }
  t.same(polls(await waits.all()), [], "who has not voted learns nothing");
  const sum = reads.reduce((all, count) => all + count, 0);
  t.ok(sum <= 1000, `${sum} ballots were read`);
});

void t.test("a vote does not wait for another poll", async (t) => {
  const { live, room, manager, open } = await startVotes(t);
  const [one, other] = [await open(), await open()];
  const [voter = ""] = await crowd(live, 1);
  const vote = ({ id, options: [option] }: Poll) =>
    live.app.store.polls.vote("demo", room, id, voter, [option!.id]);
  /** In milliseconds. */
  const ahead = async () => {
    await manager.all();
    await vote(one);
    await nextPoll(manager, ({ id }) => id === one.id);
    await vote(one);
    await vote(other);
    await nextPoll(manager, ({ id }) => id === other.id);
    const at = performance.now();
    await nextPoll(manager, ({ id }) => id === one.id);
    return performance.now() - at;
  };
  // A busy machine may delay the one that does not wait.
  let most = 0;
  for (let i = 0; i < 5 && most < 100; i++) {
    most = Math.max(most, await ahead());
  }
  t.ok(most >= 100, `${most} ms before the poll that waits`);
});

void t.test("results that are pushed while a vote is withdrawn", async (t) => {
  const { live, room, manager, open } = await startVotes(t);
  const poll = await open();
  const { id } = poll;
  const [tea] = poll.options.map((option) => option.id);
  const [other = ""] = await crowd(live, 1);
  const ann = await live.guest("ann");
  await ann.do("room.enter", { room });
  const { polls: store } = live.app.store;
  const vote = store.vote.bind(store);
  await vote("demo", room, id, ann.id, [tea!]);
  await nextPoll(ann, ({ results }) => results[tea!] === 1);

  for (const fails of [true, false]) {
    const begun = gate();
    const goes = gate();
    store.vote = async (...args) => {
      begun.open();
      await goes.opened;
      return fails ? vote("demo", room, "none", ann.id, []) : vote(...args);
    };
    const answer = ann.call("poll.vote", { room, id, options: [] });
    await begun.opened;
    await vote("demo", room, id, other, fails ? [tea!] : []);
    const votes = fails ? 2 : 1;
    await nextPoll(manager, ({ results }) => results[tea!] === votes);
    await live.settled();
    goes.open();
    await answer;
    const { results } = await nextPoll(ann, () => true).then(
      (data) => data.poll,
    );
    t.same(results, fails ? { ...results, [tea!]: 2 } : undefined);
    t.same(await ann.all(), []);
  }
});

void t.test("a vote that is withdrawn while results are pushed", async (t) => {
  const { live, room, manager, open } = await startVotes(t);
  const poll = await open();
  const { id } = poll;
  const [tea] = poll.options.map((option) => option.id);
  const [other = ""] = await crowd(live, 1);
  const ann = await live.guest("ann");
  await ann.do("room.enter", { room });
  const { polls: store } = live.app.store;
  await store.vote("demo", room, id, ann.id, [tea!]);
  await nextPoll(ann, ({ results }) => results[tea!] === 1);

  const voters = store.voters.bind(store);
  const begun = gate();
  const goes = gate();
  store.voters = async (...args) => {
    store.voters = voters;
    const found = await voters(...args);
    begun.open();
    await goes.opened;
    return found;
  };
  await store.vote("demo", room, id, other, [tea!]);
  await begun.opened;
  await ann.do("poll.vote", { room, id, options: [] });
  goes.open();
  await nextPoll(manager, ({ results }) => results[tea!] === 1);
  await nextPoll(manager, ({ results }) => results[tea!] === 1);
  const pushed = polls(await ann.all());
  t.same(
    pushed.map((seen) => "results" in seen),
    [false],
  );
});
