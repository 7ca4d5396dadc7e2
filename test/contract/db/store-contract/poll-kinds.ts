import type { Poll, PollChanges, PollDraft, PollVote } from "../../../../db/contract/poll-store.js";
import type { Store } from "../../../../db/contract/store.js";
import { exported } from "../../../support/database.js";
import { worldOf } from "../../../support/helper.js";
import { voting } from "./chat-setup.js";
import { ABSENT, type Contract, fails } from "./setup.js";

const START = 1_800_000_000_000;

/** Drafts of open polls, with the settings that the store returns for each. */
const DRAFTS = {
  words: { settings: { answers: 3, length: 25 } },
  text: { settings: { answers: 1, length: 250, hold: false } },
  scale: { settings: { min: 1, max: 5 } },
  rank: { settings: {}, options: ["a", "b", "c"].map((content) => ({ content })) },
  quiz: {
    settings: {},
    options: [{ content: "a", correct: true }, { content: "b" }, { content: "c", correct: true }],
  },
} as const;

type Kind = keyof typeof DRAFTS;

const open = (kind: Kind, more: Partial<PollDraft> = {}): PollDraft => ({
  content: "?",
  options: [],
  state: "open",
  poll_type: kind,
  ...DRAFTS[kind],
  settings: {},
  ...more,
});

/** A poll in a room, with shorthands for users' writes and reads. */
async function pollOf(store: Store, draft: PollDraft) {
  const people = await voting(store);
  const { room, ada } = people;
  const poll = await store.polls.create("demo", room, draft);
  const place = ["demo", room, poll.id] as const;
  return {
    ...people,
    poll,
    ids: poll.options.map(({ id }) => id),
    vote: (user: string, vote: PollVote) => store.polls.vote(...place, user, vote),
    change: (changes: PollChanges) => store.polls.update(...place, changes, ada),
    hide: (answer: string, isHidden = true) => store.polls.hideAnswer(...place, answer, isHidden),
    summary: (all = false) => store.polls.summary(...place, all),
    ballot: async (user: string) => (await store.polls.ballots("demo", room, user))[0],
    get: () => store.polls.get(...place),
    end: (at: number) => store.polls.end(...place, at),
  };
}

export async function pollKindContract(contract: Contract): Promise<void> {
  await contract("polls have the settings of their kind", async (t, store, open2) => {
    const { room, ada } = await voting(store);
    const { polls } = store;
    for (const [kind, { settings }] of Object.entries(DRAFTS)) {
      const poll = await polls.create("demo", room, open(kind as Kind));
      t.strictSame(poll.settings, settings, kind);
      t.strictSame(await (await open2()).polls.get("demo", room, poll.id), poll, kind);
    }
    const refused: [PollDraft, string][] = [
      [open("words", { settings: { answers: 6 } }), "settings.answers"],
      [open("words", { settings: { length: 41 } }), "settings.length"],
      [open("words", { settings: { hold: true } }), "settings.hold"],
      [open("text", { settings: { length: 501 } }), "settings.length"],
      [open("scale", { settings: { min: 2 } }), "settings.min"],
      [open("scale", { settings: { max: 1.5 } }), "settings.max"],
      [open("quiz", { settings: { seconds: 4 } }), "settings.seconds"],
      [open("rank", { options: [{ content: "a" }] }), "options"],
      [open("rank", { options: Array(21).fill({ content: "a" }) }), "options"],
      [open("quiz", { options: [{ content: "a" }, { content: "b" }] }), "options"],
      [open("words", { options: [{ content: "a" }] }), "options"],
      [{ content: "?", options: [{ content: "a", correct: true }] }, "options"],
      [{ content: "?", options: [], settings: { answers: 1 } }, "settings.answers"],
    ];
    for (const [draft, field] of refused) {
      await fails(t, polls.create("demo", room, draft), "denied", field);
    }
    const scale = await polls.create("demo", room, open("scale"));
    const change = async (changes: PollChanges) =>
      (await polls.update("demo", room, scale.id, changes, ada)).after;
    t.strictSame((await change({ settings: { max: 9, max_label: "Yes" } })).settings, {
      min: 1,
      max: 9,
      max_label: "Yes",
    });
    t.strictSame((await change({ settings: { max: null, min: 0 } })).settings, {
      min: 0,
      max: 5,
      max_label: "Yes",
    });
    t.match(await change({ poll_type: "choice", options: [{ content: "a" }] }), { settings: {} });
    t.match(await change({ poll_type: "words" }), { options: [], settings: { answers: 3 } });
  });

  await contract("words are counted in every spelling", async (t, store) => {
    const it = await pollOf(store, open("words", { settings: { answers: 2, length: 6 } }));
    const { ada, bob, cy, vote, summary } = it;
    t.match(await vote(ada, { answers: [" Café ", "CAFE\u0301"] }), { hasVote: true });
    await vote(bob, { answers: ["café", "tea"] });
    await vote(cy, { answers: ["Café", "cafe\u200b"] });
    t.strictSame(await summary(), {
      people: 3,
      words: [
        { text: "Café", count: 3 },
        { text: "tea", count: 1 },
      ],
    });
    t.strictSame(await it.ballot(bob), { poll: it.poll.id, options: [], answers: ["café", "tea"] });
    const wrong: PollVote[] = [
      { answers: ["a", "b", "c"] },
      { answers: ["1234567"] },
      { answers: [" "] },
      { answers: ["\u200b"] },
      { options: [] },
      { value: 1 },
      { answers: [], value: null },
      {},
    ];
    for (const one of wrong) await fails(t, vote(ada, one), "denied", "poll");
    await it.hide("TEA");
    t.strictSame(await summary(), { people: 3, words: [{ text: "Café", count: 3 }] });
    t.match(await summary(true), { words: [{}, { text: "tea", count: 1, hidden: true }] });
    await vote(ada, { answers: ["Tea"] });
    t.match(await summary(), { words: [{ text: "Café", count: 2 }] }, "in every spelling");
    await it.hide("tea", false);
    t.match(await summary(), { words: { length: 2 } });
    await fails(t, it.hide("coffee"), "absent", "poll");
    t.match(await vote(bob, { answers: [] }), { hasVote: false });
    t.match(await summary(), { people: 2 });
    t.equal(await it.ballot(bob), undefined);
    const { room, poll } = it;
    const { users } = (await store.polls.voters("demo", room, poll.id, 0))!;
    t.equal(users.find(({ id }) => id === bob)?.voted, false);
    t.equal(users.find(({ id }) => id === ada)?.voted, true);
    await fails(t, it.change({ poll_type: "text" }), "denied", "poll_type");
    await fails(t, it.change({ settings: { answers: 3 } }), "denied", "settings");
    await it.change({ content: "Which?", settings: { answers: 2 }, state: "closed" });
    await fails(t, vote(ada, { answers: ["x"] }), "denied", "poll");
    t.match(await summary(), { people: 2 });
    t.strictSame((await it.get())!.results, {});
  });

  await contract("texts show when a manager says so", async (t, store) => {
    const it = await pollOf(store, open("text", { settings: { answers: 2, hold: true } }));
    const { ada, bob, vote, summary } = it;
    await vote(ada, { answers: ["first", "second"], at: START });
    await vote(bob, { answers: ["third"], at: START + 1 });
    t.strictSame(await summary(), { people: 2, answers: [] });
    const { answers } = (await summary(true)) as { answers: { id: string }[] };
    t.match(answers, [
      { text: "third", user: bob, at: new Date(START + 1).toISOString(), held: true },
      { text: "second", user: ada, held: true },
      { text: "first" },
    ]);
    await it.hide(answers[2]!.id, false);
    t.strictSame(await summary(), {
      people: 2,
      answers: [{ id: answers[2]!.id, text: "first", at: new Date(START).toISOString() }],
    });
    await vote(ada, { answers: ["first", "other"] });
    t.match(await summary(), { answers: [{ id: answers[2]!.id }] }, "what is the same stays");
    await it.hide(answers[2]!.id);
    t.match(await summary(), { people: 2, answers: [] });
    t.match(await summary(true), { answers: [{ held: true }, {}, { hidden: true }] });
    for (const id of [ABSENT, "first", answers[1]!.id]) {
      await fails(t, it.hide(id), "absent", "poll");
    }
    await it.hide(answers[0]!.id, false);
    await store.users.erase("demo", { user_id: bob });
    t.strictSame(await summary(), { people: 2, answers: [] }, "an erased text is empty");
    t.notMatch(JSON.stringify(await exported(store, "demo")), /third/);
  });

  await contract("an anonymous text stays anonymous", async (t, store) => {
    const it = await pollOf(store, open("text", { settings: { answers: 2 } }));
    const { ada, bob, vote } = it;
    const users = async () => {
      const { answers } = (await it.summary(true)) as { answers: { user?: string }[] };
      return answers.map(({ user }) => user);
    };
    await vote(ada, { answers: ["one"], anonymous: true });
    await vote(bob, { answers: ["two"] });
    t.strictSame(await users(), [bob, undefined]);
    await vote(ada, { answers: ["one", "three"] });
    t.strictSame(await users(), [undefined, bob, undefined], "with all of the ballot");
    await vote(bob, { answers: ["two", "four"], anonymous: true });
    t.strictSame(await users(), [undefined, undefined, undefined, undefined]);
    const { rows } = await exported(store, "demo");
    t.match(rows.poll_ballots, [{ anonymous: 1 }, { anonymous: 1 }]);
  });

  await contract("values of a scale have an average", async (t, store) => {
    const it = await pollOf(store, open("scale", { settings: { min: 0, max: 3 } }));
    const { ada, bob, cy, vote, summary } = it;
    const counts = { 0: 0, 1: 0, 2: 0, 3: 0 };
    t.strictSame(await summary(), { people: 0, counts, average: null });
    for (const value of [-1, 4, 1.5]) await fails(t, vote(ada, { value }), "denied", "poll");
    await vote(ada, { value: 3 });
    await vote(bob, { value: 0 });
    await vote(cy, { value: 2 });
    await vote(ada, { value: 2 });
    t.strictSame(await summary(), { people: 3, counts: { ...counts, 0: 1, 2: 2 }, average: 1.33 });
    t.match(await it.ballot(ada), { options: [], value: 2 });
    await vote(ada, { value: null });
    t.match(await summary(), { people: 2, average: 1 });
    t.equal(await it.ballot(ada), undefined);
  });

  await contract("a ranking gives points", async (t, store) => {
    const it = await pollOf(store, open("rank"));
    const { ada, bob, vote, summary } = it;
    const [a, b, c] = it.ids as [string, string, string];
    for (const options of [[a, a], [ABSENT], [a, "x"]]) {
      await fails(t, vote(ada, { options }), "denied", "poll");
    }
    await vote(ada, { options: [c, a, b] });
    await vote(bob, { options: [a] });
    t.strictSame(await summary(), { people: 2, scores: { [a]: 5, [b]: 1, [c]: 3 } });
    t.match(await it.ballot(ada), { options: [c, a, b] });
    await vote(ada, { options: [b, c] });
    t.strictSame(await summary(), { people: 2, scores: { [a]: 3, [b]: 3, [c]: 2 } });
    t.strictSame((await it.get())!.results, {});
    const texts = it.ids.map((id) => ({ id, content: "new", order: 1 }));
    t.match(await it.change({ options: texts }), { after: { options: [{ content: "new" }] } });
    await fails(t, it.change({ options: texts.slice(1) }), "denied", "options");
    await vote(ada, { options: [] });
    t.strictSame(await summary(), { people: 1, scores: { [a]: 3, [b]: 0, [c]: 0 } });
  });

  await contract("a quiz takes one answer in time", async (t, store, open2) => {
    const draft = open("quiz", { settings: { seconds: 10 }, state: "draft" });
    const it = await pollOf(store, draft);
    const { ada, bob, cy, vote, room } = it;
    const [a, b, c] = it.ids as [string, string, string];
    t.match(it.poll.options, [{ correct: true }, { correct: false }, { correct: true }]);
    t.notOk("ends_at" in it.poll);
    await it.change({ state: "open", at: START });
    const ends_at = START + 10_000;
    t.match(await it.get(), { ends_at });
    t.strictSame(await store.polls.ending(ends_at), []);
    t.match(await store.polls.ending(ends_at + 1), [{ world: "demo", room, id: it.poll.id }]);
    const answer = (user: string, option: string, at: number) =>
      vote(user, { options: [option], at: START + at });
    for (const options of [[], [a, b], [ABSENT]]) {
      await fails(t, vote(ada, { options, at: START }), "denied", "poll");
    }
    await answer(ada, a, 9_999);
    await fails(t, answer(ada, c, 9_999), "denied", "poll");
    await fails(t, answer(ada, a, 9_999), "denied", "poll");
    await answer(bob, c, 2_500);
    await fails(t, answer(cy, a, 10_000), "denied", "poll");
    t.strictSame((await it.get())!.results, { [a]: 1, [b]: 0, [c]: 1 });
    t.strictSame(await store.polls.players("demo", room), [], "not while it is open");
    await fails(t, it.change({ settings: { seconds: 300 } }), "denied", "settings");
    const wrong = it.ids.map((id) => ({ id, correct: true }));
    await fails(t, it.change({ options: wrong }), "denied", "options");
    await fails(t, it.change({ state: "draft" }), "denied", "state");
    t.equal(await it.end(ends_at - 1), false);
    const others = (await open2()).polls;
    const ends = [it.end(ends_at), others.end("demo", room, it.poll.id, ends_at)];
    t.strictSame((await Promise.all(ends)).sort(), [false, true], "once");
    t.match(await it.get(), { state: "closed", results: { [a]: 1 } });
    t.strictSame(await store.polls.ending(Number.MAX_SAFE_INTEGER), []);
    await fails(t, answer(cy, a, 1), "denied", "poll");
    for (const state of ["open", "draft"] as const) {
      await fails(t, it.change({ state }), "denied", "state");
    }
    t.match(await store.polls.players("demo", room), [
      { user: bob, points: 1, time: 2_500 },
      { user: ada, points: 1, time: 9_999 },
    ]);
    const second = await store.polls.create("demo", room, open("quiz", { at: START }));
    const [right, not] = second.options;
    const next = (user: string, option: Poll["options"][number] | undefined) =>
      store.polls.vote("demo", room, second.id, user, { options: [option!.id], at: START + 9 });
    await next(ada, right);
    await next(cy, not);
    await store.polls.update("demo", room, second.id, { state: "closed" }, ada);
    await store.users.erase("demo", { user_id: bob });
    t.match(await store.polls.players("demo", room), [
      { user: ada, points: 2, time: 10_008 },
      { user: null, isNamed: false, points: 1, time: 2_500 },
      { user: cy, points: 0, time: 0 },
    ]);
    await it.change({ state: "archived" });
    await fails(t, it.change({ state: "draft" }), "denied", "state");
    t.match(await it.change({ state: "closed" }), { after: { state: "closed" } });
  });

  await contract("a poll that is open may become a quiz", async (t, store) => {
    const it = await pollOf(store, { content: "?", options: [{ content: "a" }], state: "open" });
    const options = it.ids.map((id) => ({ id, correct: true }));
    const settings = { seconds: 10 };
    const { after } = await it.change({ poll_type: "quiz", options, settings, at: START });
    t.match(after, { state: "open", ends_at: START + 10_000 }, "its time begins then");
    await it.vote(it.ada, { options: it.ids, at: START + 4_000 });
    await it.vote(it.bob, { options: it.ids, at: START - 5 });
    await it.end(START + 10_000);
    t.match(await store.polls.players("demo", it.room), [
      { user: it.bob, points: 1, time: 0 },
      { user: it.ada, points: 1, time: 4_000 },
    ]);
  });

  await contract("a quiz without votes may return to a draft", async (t, store) => {
    const it = await pollOf(store, open("quiz", { settings: { seconds: 5 } }));
    await it.change({ state: "draft" });
    t.notOk("ends_at" in (await it.get())!);
    await it.change({ state: "archived" });
    await it.change({ state: "open", at: START });
    t.match(await it.get(), { state: "open", ends_at: START + 5_000 });
  });

  await contract("copies have polls of all kinds", async (t, store) => {
    const it = await pollOf(store, open("words"));
    const { ada, bob, room, vote } = it;
    await vote(ada, { answers: ["tea", "rude"] });
    await vote(bob, { answers: ["Tea"] });
    await it.hide("rude");
    const made = async (kind: Kind, ballot: (poll: Poll) => PollVote) => {
      const poll = await store.polls.create("demo", room, open(kind, { at: START }));
      await store.polls.vote("demo", room, poll.id, ada, { ...ballot(poll), at: START + 5 });
      return poll;
    };
    await made("text", () => ({ answers: ["Why?"] }));
    await made("scale", () => ({ value: 4 }));
    await made("rank", ({ options }) => ({ options: [options[2]!.id, options[0]!.id] }));
    const quiz = await made("quiz", ({ options }) => ({ options: [options[2]!.id] }));
    await store.polls.update("demo", room, quiz.id, { state: "closed" }, ada);

    /** Describes what everybody sees of the polls in a world. */
    const seen = async (world: string) => {
      const rooms = await store.rooms.all(world, { page: 1, pageSize: 9 });
      const where = rooms.find(({ value }) => value.name === "R")!.value.id;
      const lists = (await store.polls.list(world, where, { limit: 9 })).map(async (poll) => [
        poll.state,
        poll.settings,
        Object.values(poll.results),
        JSON.stringify(await store.polls.summary(world, where, poll.id, false))?.replace(
          /[0-9a-f-]{36}/g,
          "id",
        ),
      ]);
      const players = await store.polls.players(world, where);
      return [await Promise.all(lists), players.map(({ points, time }) => [points, time])];
    };
    const before = await seen("demo");
    t.match(before[1], [[1, 5]]);
    const document = await exported(store, "demo");
    await store.worlds.clone("demo", worldOf("twin"));
    const [cloned, players] = await seen("twin");
    t.match(cloned, [["open"], ["open"], ["open"], ["open"], ["draft", {}, [0, 0, 0]]]);
    t.match(cloned![0]![3], /"people":0,"words":\[\]/);
    t.strictSame(players, []);
    await store.worlds.delete("demo");
    await store.worlds.import({ lines: document.lines });
    t.strictSame(await seen("demo"), before);
    t.match(await store.polls.ballots("demo", room, ada), [
      { answers: ["tea", "rude"] },
      { answers: ["Why?"] },
      { value: 4 },
      { options: { length: 2 } },
      { options: { length: 1 } },
    ]);
  });
}
