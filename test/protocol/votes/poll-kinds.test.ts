import { strFromU8, unzipSync } from "fflate";
import t from "tap";
import { POLL_KINDS } from "../../../schemas/plain/polls.js";
import { until } from "../../support/helper.js";
import {
  byTrait,
  type Client,
  invalid,
  type Json,
  openWorld,
  type OpenWorld,
  voteRoom,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Polls with words, texts, scales, rankings and quizzes. store-contract/poll-kinds.ts tests how
// votes are counted.

const server = await startServer(t);

const saved = "poll.created_or_updated";
const EVERY = [...POLL_KINDS, "doodle"];

/** Connects a user whose client supports the given kinds of polls, and enters a room. */
async function inRoom(world: OpenWorld, room: string, person: Json, more: Json = {}) {
  const client = await world.connect();
  const token = world.tokenOf({ profile: { display_name: person.uid }, ...person });
  const [name] = await client.login({ token, poll_kinds: EVERY, ...more });
  t.equal(name, "authenticated");
  await client.do("room.enter", { room });
  return client;
}

/** Opens a world with a room, its host, and two attendees. */
async function opened(poll: Json = { active: true }) {
  const world = await openWorld(server);
  const room = await voteRoom(world, { poll });
  const traits = ["admin", "api", ...Object.keys(byTrait)];
  const host = await inRoom(world, room, { uid: "host", traits });
  const ann = await inRoom(world, room, { uid: "ann" });
  const bob = await inRoom(world, room, { uid: "bob" });
  const create = async (poll_type: string, more: Json = {}): Promise<Json> =>
    (await host.do("poll.create", { room, content: "?", state: "open", poll_type, ...more })).poll;
  const update = (id: string, more: Json) => host.do("poll.update", { room, id, ...more });
  const vote = async (client: Client, id: string, ballot: Json): Promise<Json> =>
    (await client.do("poll.vote", { room, id, ...ballot })).poll;
  const listed = async (client: Client, id: string): Promise<Json> =>
    ((await client.do("poll.list", { room })) as Json[]).find((poll) => poll.id === id);
  const hide = (id: string, answer: string, hidden = true) =>
    host.do("poll.answers.hide", { room, id, answer, hidden });
  return { world, room, host, ann, bob, create, update, vote, listed, hide };
}

/** Reads the results of polls as a table. */
async function resultsOf(world: OpenWorld, format: string): Promise<Response> {
  const token = world.tokenOf({ uid: "program", traits: ["admin", "api"] });
  const url = `${server.baseUrl}/api/v1/worlds/${world.id}/results/polls/?format=${format}`;
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  t.equal(answer.status, 200);
  return answer;
}

const QUIZ = {
  options: [
    { content: "Right", correct: true, order: 1 },
    { content: "Wrong", order: 2 },
  ],
};
const RANK = { options: ["A", "B"].map((content, i) => ({ content, order: i + 1 })) };

void t.test("clients get the kinds that they can show", async (t) => {
  const it = await opened();
  const { world, room, host, create, vote } = it;
  const old = await world.person("old");
  await old.do("room.enter", { room });
  const some = await inRoom(world, room, { uid: "some" }, { poll_kinds: ["scale"] });
  const modern = await inRoom(world, room, { uid: "modern" }, { changes: true });
  await world.calm(undefined, old, some, modern);
  const [choice, scale] = [await create("choice"), await create("scale")];
  const words = await create("words");
  await vote(host, words.id, { answers: ["x"] });
  await it.update(words.id, { is_pinned: true });
  await it.update(words.id, { state: "archived" });
  await host.do("poll.delete", { room, id: words.id });
  await modern.next("poll.created_or_updated", ({ poll }) => poll.state === "archived");
  await world.settled();
  const idsOf = async (client: Client) =>
    [
      ...new Set(
        ((await client.all()) as [string, Json][]).flatMap(([name, data]) =>
          name.startsWith("poll.") ? (data.poll?.id ?? data.id ?? []) : [],
        ),
      ),
    ] as string[];
  t.same(await idsOf(old), [choice.id]);
  t.same(await idsOf(some), [scale.id]);
  const kindsOf = async (client: Client) => {
    const list = (await client.do("poll.list", { room })) as Json[];
    return list.map(({ id, poll_type, settings }) => [id, poll_type, settings]);
  };
  t.same(await kindsOf(old), [[choice.id, undefined, undefined]]);
  t.same(await kindsOf(some), [[scale.id, "scale", { min: 1, max: 5 }]]);
  t.same(await kindsOf(modern), [
    [choice.id, "choice", {}],
    [scale.id, "scale", { min: 1, max: 5 }],
  ]);
  const client = await world.connect();
  const token = world.tokenOf({ uid: "odd" });
  for (const poll_kinds of ["words", [5], null, Array(101).fill("x")]) {
    const [name, answer] = await client.login({ token, poll_kinds });
    t.match([name, answer], ["error", { code: invalid, details: { poll_kinds: [/list/] } }]);
  }
});

void t.test("each kind takes its own votes, and shows what they add up to", async (t) => {
  const it = await opened();
  const { room, host, ann, bob, create, vote, listed } = it;
  const rank = await create("rank", RANK);
  const [a, b] = rank.options.map(({ id }: Json) => id);
  const rows: [poll: Json, ballot: Json, results: Json, own: Json, wrong: Json[]][] = [
    [
      await create("words"),
      { answers: ["Tea", "TEA", "rum"] },
      {
        people: 1,
        words: [
          { text: "rum", count: 1 },
          { text: "Tea", count: 1 },
        ],
      },
      { answers: ["Tea", "rum"] },
      [{ answers: ["1", "2", "3", "4"] }, { options: [] }, { answers: ["x".repeat(26)] }],
    ],
    [
      await create("text"),
      { answers: ["Why?"] },
      { people: 1, answers: [{ text: "Why?" }] },
      { answers: ["Why?"] },
      [{ answers: ["a", "b"] }, { value: 1 }, { answers: [""] }],
    ],
    [
      await create("scale", { settings: { max: 3, min_label: "Bad" } }),
      { value: 3 },
      { people: 1, counts: { 1: 0, 2: 0, 3: 1 }, average: 3 },
      { value: 3 },
      [{ value: 4 }, { value: 0 }, { value: 1.5 }, { answers: [] }, {}],
    ],
    [
      rank,
      { options: [b, a] },
      { people: 1, scores: { [a]: 1, [b]: 2 } },
      { answers: [b, a] },
      [{ options: [a, a] }, { options: [rank.id] }, { value: 1 }],
    ],
  ];
  for (const [poll, ballot, results, own, wrong] of rows) {
    const { id, poll_type: kind } = poll;
    for (const one of wrong) {
      t.equal(await ann.code("poll.vote", { room, id, ...one }), "poll.vote", kind);
    }
    for (const [field, value] of [
      ["options", "x"],
      ["value", "3"],
      ["answers", [5]],
      ["answers", "x"],
    ] as const) {
      const [name, , error] = await ann.call("poll.vote", { room, id, [field]: value });
      t.match([name, error], ["error", { code: invalid }], `${kind} ${field}`);
    }
    t.match(await listed(ann, id), { results: undefined, answers: undefined }, kind);
    t.match((await vote(ann, id, ballot)).results, results, kind);
    t.match(await listed(ann, id), { results, ...own }, kind);
    const isIt = ({ poll }: Json) => poll.id === id && poll.results?.people === 1;
    const pushed = await host.next(saved, isIt);
    t.match(pushed.poll.results, results, kind);
    t.equal((await listed(bob, id))!.results, undefined, "only who voted sees results");
    await it.update(id, { state: "closed" });
    t.match((await listed(bob, id))!.results, results, kind);
    t.equal(await bob.code("poll.vote", { room, id, ...ballot }), "poll.vote");
  }
  const faults: [Json, RegExp][] = [
    [{ poll_type: "words", settings: { answers: 9 } }, /^settings\.answers$/],
    [{ poll_type: "words", settings: { answers: "3" } }, /^settings/],
    [{ poll_type: "scale", settings: { seconds: 5 } }, /^settings\.seconds$/],
    [{ poll_type: "rank", options: [{ content: "a" }] }, /^options$/],
    [{ poll_type: "quiz", options: [{ content: "a" }] }, /^options$/],
  ];
  for (const [draft, field] of faults) {
    const [, , error] = await host.call("poll.create", { room, content: "?", ...draft });
    const { code, details = {} } = error as Json;
    t.match([code, Object.keys(details as object)], [invalid, [field]]);
  }
  const found = await server.rest("GET", `${it.world.id}/rooms/${room}/polls/`);
  for (const [i, [, , results]] of rows.entries()) {
    const { summary, results: counts } = (found.body.results as Json[]).find(
      ({ id }) => id === rows[i]![0].id,
    )!;
    t.match([summary, counts], [results, {}]);
  }
  t.match(await (await resultsOf(it.world, "csv")).text(), /,words,.*,rum,,1,,/);
  const book = new Uint8Array(await (await resultsOf(it.world, "xlsx")).arrayBuffer());
  const { "xl/workbook.xml": sheets } = unzipSync(book);
  const names = [...strFromU8(sheets!).matchAll(/<sheet [^>]*name="(\w+)"/g)].map(
    ([, name]) => name,
  );
  t.same(names.sort(), ["rank", "scale", "text", "words"]);
  const feed = await server.rest("GET", `${it.world.id}/changes/?after=0&types=poll.votes`);
  const last = (feed.body.results as Json[]).at(-1)!;
  t.match(last.data, { results: {}, summary: { people: 1, scores: { [b]: 2 } } });
});

void t.test("what a manager hides is seen by managers only", async (t) => {
  const it = await opened();
  const { world, room, host, ann, bob, create, vote, listed, hide } = it;
  const words = await create("words");
  await vote(ann, words.id, { answers: ["rude", "kind"] });
  await vote(bob, words.id, { answers: ["RUDE"] });
  await world.calm(undefined, ann, bob, host);
  await hide(words.id, "Rude");
  const { poll } = await ann.next(saved);
  t.match(poll.results, { people: 2, words: [{ text: "kind", count: 1 }] });
  t.equal(poll.results.words.length, 1);
  const { poll: whole } = await host.next(saved);
  t.match(whole.results.words, [{ count: 2, hidden: true }, { text: "kind" }]);
  t.notMatch(JSON.stringify((await listed(bob, words.id))!.results), /rude/i);
  const held = await create("text", { settings: { hold: true } });
  await vote(ann, held.id, { answers: ["my question"] });
  t.match((await listed(ann, held.id))!.results, { people: 1, answers: [] });
  const [{ id: answer, user, held: waits }] = (await listed(host, held.id))!.results.answers;
  t.match([user, waits], [ann.id, true]);
  t.notMatch(await (await resultsOf(world, "csv")).text(), /rude|my question/i);
  const feed = JSON.stringify((await server.rest("GET", `${world.id}/changes/?after=0`)).body);
  t.notMatch(feed, /rude|my question/i);
  await hide(held.id, answer, false);
  const [shown] = (await listed(ann, held.id))!.results.answers;
  t.match(shown, { id: answer, text: "my question", user: undefined, held: undefined });
  const audit = JSON.stringify((await server.rest("GET", `${world.id}/audit/`)).body);
  t.match(audit, /"field":"answers"/);
  t.notMatch(audit, /rude|my question/i);
  for (const [id, one] of [
    [words.id, "unheard"],
    [held.id, "my question"],
    [held.id, words.id],
    [room, "rude"],
    [{}, "rude"],
  ]) {
    const asked = { room, id, answer: one, hidden: true };
    t.equal(await host.code("poll.answers.hide", asked), "poll.unknown");
  }
  const asked = { room, id: words.id, answer: "kind", hidden: true };
  t.equal(await ann.code("poll.answers.hide", asked), "protocol.denied");
  await world.store.users.erase(world.id, { user_id: ann.id });
  t.match((await listed(host, held.id))!.results, { people: 1, answers: [] }, "erased");
  const elsewhere = await opened({ active: true, anonymous: true });
  const open = await elsewhere.create("text");
  await elsewhere.vote(elsewhere.ann, open.id, { answers: ["?"] });
  const [anonymous] = (await elsewhere.listed(elsewhere.host, open.id))!.results.answers;
  t.notOk("user" in anonymous, "nobody learns names where people have none");
  const { world: place, room: where } = elsewhere;
  const module_config = [{ type: "poll", config: { active: true } }];
  await place.alter(where, { module_config });
  await elsewhere.vote(elsewhere.bob, open.id, { answers: ["!"] });
  const { answers } = (await elsewhere.listed(elsewhere.host, open.id))!.results;
  t.same(
    answers.map((one: Json) => one.user),
    [elsewhere.bob.id, undefined],
    "nor later, when votes have names",
  );
});

void t.test("a quiz keeps its answers to itself until it is over", async (t) => {
  const it = await opened();
  const { world, room, host, ann, bob, create, vote, listed } = it;
  await world.calm(undefined, ann, bob, host);
  const quiz = await create("quiz", { ...QUIZ, settings: { seconds: 30 } });
  const [right, wrong] = quiz.options.map(({ id }: Json) => id);
  t.match(quiz, { options: [{ correct: true }, { correct: false }], settings: { seconds: 30 } });
  const left = Date.parse(quiz.ends_at) - Date.now();
  t.ok(left > 20_000 && left <= 30_000);
  t.match((await vote(ann, quiz.id, { options: [right] })).results, { [right]: 1, [wrong]: 0 });
  t.equal(await ann.code("poll.vote", { room, id: quiz.id, options: [wrong] }), "poll.vote");
  t.equal(await ann.code("poll.vote", { room, id: quiz.id, options: [] }), "poll.vote");
  t.equal(await ann.code("poll.vote", { room, id: quiz.id, options: [right] }), "poll.vote");
  await vote(bob, quiz.id, { options: [wrong] });
  t.match(await bob.do("poll.leaderboard", { room }), { players: { length: 0 } });
  await world.settled();
  await listed(ann, quiz.id);
  const before = JSON.stringify([await ann.all(), await bob.all(), await listed(bob, quiz.id)]);
  t.match(before, new RegExp(right));
  t.notMatch(before, /correct/, "by no frame");
  t.match(await listed(host, quiz.id), { options: [{ correct: true }, {}] });

  // The server's clock decides. The quiz's time passes at once.
  const now = Date.now.bind(Date);
  t.intercept(Date, "now", { value: () => now() + 30_000 });
  const late = await world.person("late");
  const asked = { room, id: quiz.id, options: [right] };
  t.equal(await late.code("poll.vote", asked), "poll.vote", "late");
  const { poll } = await ann.next(saved, ({ poll }) => poll.state === "closed");
  t.match(poll, { options: [{ correct: true }, { correct: false }], ends_at: undefined });
  for (const state of ["open", "draft"]) {
    const change = { room, id: quiz.id, state };
    t.equal(await host.code("poll.update", change), "poll.closed", state);
  }
  const second = await create("quiz", QUIZ);
  const guest = await world.connect();
  await guest.login({ client_id: "anon", poll_kinds: EVERY });
  await guest.do("room.enter", { room });
  await vote(guest, second.id, { options: [second.options[0].id] });
  await vote(bob, second.id, { options: [second.options[1].id] });
  await it.update(second.id, { state: "closed" });
  const board = await ann.do("poll.leaderboard", { room });
  const places: Json = {};
  for (const { user, points } of board.players as Json[]) {
    places[user.profile?.display_name ?? user.name] = points;
  }
  t.same(places, { ann: 1, "Guest 1": 1, bob: 0 });
  t.match(board.me, { place: board.players[0].user.id === ann.id ? 1 : 2, points: 1 });
  t.match(await bob.do("poll.leaderboard", { room }), { me: { place: 3, points: 0 } });
  t.notOk("me" in (await host.do("poll.leaderboard", { room })));
  await world.store.users.erase(world.id, { user_id: ann.id });
  const names = ((await bob.do("poll.leaderboard", { room })).players as Json[]).map(
    ({ user }) => user.name ?? user.profile.display_name,
  );
  t.same(names.sort(), ["Guest", "Guest 1", "bob"]);
});

void t.test("blocked words are in no poll", async (t) => {
  const it = await opened();
  const { world, room, host, ann, create } = it;
  const [words, choice] = [await create("words"), await create("choice")];
  await world.configure({ config: { blocked_words: { words: ["darn*"], action: "hold" } } });
  const [, , error] = await ann.call("poll.vote", { room, id: words.id, answers: ["DARNED"] });
  t.match(error, { code: "poll.vote", details: { code: ["chat.blocked_word"] } });
  t.equal(await ann.code("poll.vote", { room, id: words.id, answers: ["drat"] }), "ok");
  const texts: Json[] = [
    { content: "Darn?" },
    { options: [{ content: "da\u200brn" }] },
    { poll_type: "scale", settings: { max_label: "ｄａｒｎ" } },
  ];
  for (const one of texts) {
    const draft = { room, content: "?", ...one };
    t.equal(await host.code("poll.create", draft), "chat.blocked_word");
  }
  const change = { room, id: choice.id, content: "darn" };
  t.equal(await host.code("poll.update", change), "chat.blocked_word");
});

void t.test("a large cloud fits into its pushes", async (t) => {
  const it = await opened();
  const { host, ann, create, vote, listed } = it;
  const cloud = await create("words", { settings: { answers: 5, length: 40 } });
  const people = await it.world.users(60);
  const word = (i: number, j: number) => `${"😀".repeat(35)} ${i} ${j}`.slice(0, 80);
  for (const [i, user] of people.entries()) {
    const answers = [0, 1, 2, 3, 4].map((j) => word(i, j));
    const place = [it.world.id, it.room, cloud.id, user] as const;
    await it.world.store.polls.vote(...place, { answers });
  }
  await vote(ann, cloud.id, { answers: ["last"] });
  const { poll } = await host.next(saved, ({ poll }) => poll.results.people === 61);
  t.equal(poll.results.more, true);
  const size = Buffer.byteLength(JSON.stringify([saved, { poll }]));
  t.ok(size <= 16 * 1024 && size > 15 * 1024, `${size}`);
  const { results } = (await listed(host, cloud.id))!;
  t.equal(results.words.length, 100);
  t.notOk("more" in results);
  await until(async () => (await listed(ann, cloud.id))?.results.people === 61);
});

void t.test("a list has as many texts as fit, those of the newest polls first", async (t) => {
  const { world, room, host, ann, create } = await opened();
  const people = await world.users(40);
  const settings = { answers: 5, length: 500 };
  for (let i = 0; i < 6; i++) {
    const { id } = await create("text", { settings });
    const votes = people.map((user, n) => {
      const answers = [1, 2, 3, 4, 5].map((place) => `${n} ${place} ${"é".repeat(490)}`);
      return world.store.polls.vote(world.id, room, id, user, { answers });
    });
    await Promise.all(votes);
    await host.do("poll.update", { room, id, state: "closed" });
  }
  for (const client of [host, ann]) {
    const list = (await client.do("poll.list", { room })) as Json[];
    const found = list.map(({ results }) => results);
    t.ok(Buffer.byteLength(JSON.stringify(found)) <= 1024 * 1024 + 1000);
    t.match(found[0], { people: 40, more: true });
    t.match([found[5].people, found[5].answers.length, found[5].more], [40, 200, undefined]);
  }
});
