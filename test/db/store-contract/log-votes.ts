import type { Entry } from "../../../db/log/entries.js";
import type { Author } from "../../../db/contract/author.js";
import type { PollChanges } from "../../../db/contract/polls.js";
import type { QuestionChanges } from "../../../db/contract/questions.js";
import type { Store } from "../../../db/contract/store.js";
import { Expecting, type Logged, me } from "./logged.js";
import { type Contract, headOf } from "./setup.js";

/** A room with chat, and a user. */
async function furnished(store: Store) {
  const { value } = await store.rooms.create("demo", {
    name: "a",
    module_config: [{ type: "chat.native", config: {} }],
  });
  const visitor = { tokenId: "ada", traits: new Set<string>() };
  const { id: user } = await store.users.enter("demo", visitor);
  const by: Author = { ...me, user };
  return { room: value.id, user, by };
}

export async function logVoteContract(contract: Contract): Promise<void> {
  await contract("what writes to questions append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { questions } = store;
    const { room, user, by } = await furnished(store);
    const saved = (question: string, hid: boolean): Logged => ({
      ...({ type: "question.saved", room, question, hid, by } as const),
    });
    const draft = { sender: user, content: "x", state: "visible" } as const;
    const ask = () => questions.create("demo", room, draft, by);
    const { id } = await expecting.write(
      "a question is asked",
      ask,
      ({ id }) => [saved(id, false)],
    );
    const { id: second } = await ask();
    const update = (changes: QuestionChanges) =>
      questions.update("demo", room, id, changes, user, by);
    const get = () => questions.get("demo", room, id);
    const vote = (vote: boolean) => () =>
      questions.vote("demo", room, id, user, vote, false, by);
    const voted: Logged = {
      type: "question.voted",
      room,
      question: id,
      votes: [{ user, connection: "here" }],
      by: { kind: "users" },
    };
    await expecting.write("no vote is withdrawn", vote(false), [voted]);
    await expecting.write(
      "a vote",
      vote(true),
      [voted],
      [async () => (await get())?.score, 1],
    );
    await expecting.write("a vote twice", vote(true), [voted]);
    await expecting.write("a vote is withdrawn", vote(false), [voted]);
    await expecting.write(
      "a question is archived",
      () => update({ state: "archived", answered: true }),
      // As it was then: what follows is for moderators.
      ({ after, before }) => [
        {
          ...saved(id, true),
          hidden: { ...after, content: before.content },
        } as Logged,
      ],
      [async () => (await get())?.state, "archived"],
    );
    await expecting.write(
      "an archived question is changed",
      () => update({ content: "y" }),
      [saved(id, false)],
    );
    const unchanged = {
      "the same content": () => update({ content: "y" }),
      "no change": () => update({}),
    };
    await expecting.each(unchanged, [saved(id, false)]);
    const pin = (question: string | null) => () =>
      questions.pin("demo", room, question, user, by);
    const pinned = (question: string | null): Logged => ({
      ...({ type: "question.pinned", room, question, by } as const),
    });
    await expecting.write("none is pinned", pin(null), [pinned(null)]);
    await expecting.write("a question is pinned", pin(second), [
      pinned(second),
    ]);
    await expecting.write("it is pinned again", pin(second), [pinned(second)]);
    await expecting.write(
      "another is pinned by a change",
      () => update({ is_pinned: true, state: "visible" }),
      [saved(id, false), saved(second, false)],
      [async () => (await get())?.is_pinned, true],
    );
    await expecting.write("another is pinned", pin(second), [pinned(second)]);
    await update({ state: "archived" });
    await expecting.write(
      "one is pinned that readers do not see, so they hear that the other pin ended",
      pin(id),
      [pinned(id), saved(second, false)],
    );
    await update({ state: "visible" });
    await expecting.write("no question is pinned", pin(null), [pinned(null)]);
    await expecting.write(
      "a question is deleted",
      () => questions.delete("demo", room, id, by),
      [{ type: "question.deleted", room, question: id, wasVisible: true, by }],
      [get, undefined],
    );
    await expecting.refused([
      [
        () => questions.create("demo", room, { ...draft, sender: "none" }),
        "absent",
      ],
      [vote(true), "absent"],
      [() => update({}), "absent"],
      [pin(id), "absent"],
      [() => questions.delete("demo", room, id), "absent"],
    ]);
  });

  await contract("what writes to polls append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { polls, chat } = store;
    const { room, user, by } = await furnished(store);
    const saved = (poll: string, hid: boolean): Logged => ({
      ...({ type: "poll.saved", room, poll, hid, by } as const),
    });
    const draft = { content: "x", options: [{ content: "a" }] };
    const create = () => polls.create("demo", room, draft, by);
    const made = await expecting.write("a poll is made", create, ({ id }) => [
      saved(id, false),
    ]);
    const { id: second } = await create();
    const { id } = made;
    const options = made.options.map((option) => option.id);
    const update = (changes: PollChanges) =>
      polls.update("demo", room, id, changes, user, by);
    const get = () => polls.get("demo", room, id);
    const pin = (poll: string | null) => () =>
      polls.pin("demo", room, poll, user, by);
    const pinned = (poll: string | null): Logged => ({
      ...({ type: "poll.pinned", room, poll, by } as const),
    });
    await expecting.write("none is pinned", pin(null), [pinned(null)]);
    await expecting.write("a poll is pinned", pin(second), [pinned(second)]);
    await expecting.write("it is pinned again", pin(second), [pinned(second)]);
    await expecting.write(
      "another is pinned by a change",
      () => update({ is_pinned: true }),
      [saved(id, false), saved(second, false)],
      [async () => (await get())?.is_pinned, true],
    );
    await expecting.write(
      "a draft is pinned, so readers hear that the other pin ended",
      pin(second),
      [pinned(second), saved(id, false)],
    );
    await expecting.write("no poll is pinned", pin(null), [pinned(null)]);
    const unchanged = {
      "the same content": () => update({ content: "x" }),
      "the same options": () => update({ options: [{ id: options[0]! }] }),
    };
    await expecting.each(unchanged, [saved(id, false)]);
    await expecting.write(
      "other options",
      () => update({ options: [{ id: options[0]! }, { content: "b" }] }),
      [saved(id, false)],
    );

    const opened = await expecting.write(
      "a poll is opened",
      () => update({ state: "open" }),
      ({ delivery }) => [
        saved(id, false),
        { type: "chat.event", channel: room, delivery: delivery!, by },
      ],
      [async () => (await get())?.state, "open"],
    );
    t.match(await chat.channel("demo", room), {
      lastMessage: opened.delivery!.event.id,
    });
    const vote = (chosen: string[]) => () =>
      polls.vote("demo", room, id, user, chosen, by);
    const voted: Logged = {
      type: "poll.voted",
      room,
      poll: id,
      votes: [{ user, connection: "here" }],
      by: { kind: "users" },
    };
    await expecting.write("no ballot", vote([]), [voted]);
    await expecting.write("a ballot", vote(options), [voted]);
    await expecting.write("the same ballot", vote(options), [voted]);
    await expecting.write("no ballot any longer", vote([]), [voted]);
    await expecting.write(
      "an open poll is closed",
      () => update({ state: "closed" }),
      [saved(id, false)],
    );
    await expecting.write(
      "a closed poll is hidden",
      () => update({ state: "draft", content: "y" }),
      ({ before }) => [
        { ...saved(id, true), hidden: { ...before, state: "draft" } } as Logged,
      ],
      [async () => (await get())?.content, "y"],
    );
    await expecting.write(
      "a draft is deleted",
      () => polls.delete("demo", room, id, by),
      [{ type: "poll.deleted", room, poll: id, wasPublic: false, by }],
      [get, undefined],
    );
    await expecting.refused([
      [vote(options), "absent"],
      [() => polls.vote("demo", room, second, user, []), "denied"],
      [() => update({}), "absent"],
      [pin(id), "absent"],
      [() => polls.delete("demo", room, id), "absent"],
    ]);
  });

  await contract("votes of a crowd share entries", async (t, first, open) => {
    const { room } = await furnished(first);
    const entries: Entry[] = [];
    const store = await open((hints) => {
      entries.push(...hints.map(({ entry }) => entry));
      return undefined;
    });
    const users = await Promise.all(
      Array.from({ length: 30 }, async (_, i) => {
        const visitor = { tokenId: `${i}`, traits: new Set<string>() };
        return (await store.users.enter("demo", visitor)).id;
      }),
    );
    const content = "x";
    const poll = await store.polls.create("demo", room, {
      ...{ content, state: "open", options: [{ content }] },
    });
    const question = await store.questions.create("demo", room, {
      ...{ sender: users[0]!, content, state: "visible" },
    });
    entries.length = 0;
    const head = await headOf(store);
    const options = poll.options.map(({ id }) => id);
    const byOf = (user: string) => ({ ...me, user, connection: `of ${user}` });
    await Promise.all(
      users.flatMap((user) => [
        store.polls.vote("demo", room, poll.id, user, options, byOf(user)),
        store.questions.vote(
          ...(["demo", room, question.id, user, true, true] as const),
          byOf(user),
        ),
      ]),
    );
    t.ok(entries.length < users.length, "fewer than votes");
    t.equal(await headOf(store), head + entries.length);
    const votes = entries.flatMap((entry) =>
      "votes" in entry ? entry.votes.map((vote) => [entry.type, vote]) : [],
    );
    const expected = users.flatMap((user) =>
      ["poll.voted", "question.voted"].map((type) => [
        type,
        { user, connection: `of ${user}` },
      ]),
    );
    const sorted = (list: unknown[]) =>
      list.map((x) => JSON.stringify(x)).sort();
    t.strictSame(sorted(votes), sorted(expected), "each vote is in one");
  });
}
