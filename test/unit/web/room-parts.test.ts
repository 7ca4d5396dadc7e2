import { EventEmitter } from "node:events";
import { mock } from "node:test";
import { setImmediate } from "node:timers/promises";
import { get, writable } from "svelte/store";
import t, { type Test } from "tap";
import type {
  ListedPoll,
  ListedQuestion,
  SentSession,
  Activity,
  Live,
} from "../../../client/index.js";
import { reactions as known } from "../../../schemas/live/rooms.js";
import { ActivitySeries, extremes, pathOf, samples } from "../../../web/state/activity.js";
import {
  arranged,
  ownIn,
  rankedOf,
  scaleOf,
  sizesOf,
  shownTextsOf,
  textsOf,
  wordsOf,
} from "../../../web/state/ballots.js";
import {
  changesOf,
  contentOf,
  copyOf,
  emptySketch,
  faultOf,
  moved,
  readSketch,
  type Sketch,
  sketchOf,
} from "../../../web/state/poll-sketch.js";
import { pollWhile } from "../../../web/state/polling.js";
import { resultOf, sortPolls, voteWith } from "../../../web/state/polls.js";
import { overlaps, speakerOverlaps } from "../../../web/state/program-edit.js";
import {
  daysOf,
  gridOf,
  hueShifts,
  isUnusual,
  usualLanguage,
} from "../../../web/state/program-list.js";
import { type Board, stagesOf } from "../../../web/state/program.js";
import { boardOf } from "../../../web/state/questions.js";
import { FLOAT_MS, Reactions, reactions } from "../../../web/state/reactions.js";
import { reportedPoll } from "../../../web/state/report.js";
import { livelyDays, livelyPart, peakOf, spanOf, summed } from "../../../web/state/series.js";

/** Returns a question asked in the given minute. */
const question = (minute: number, changes: Partial<ListedQuestion> = {}): ListedQuestion => ({
  id: `question-${minute}`,
  content: `Question ${minute}?`,
  state: "visible",
  answered: false,
  timestamp: timeOf(minute),
  room_id: "hall",
  score: 0,
  is_pinned: false,
  voted: false,
  ...changes,
});

/** Returns a poll with the options `a` and `b`, created in the given minute. */
const poll = (minute: number, changes: Partial<ListedPoll> = {}): ListedPoll => ({
  id: `poll-${minute}`,
  content: `Poll ${minute}?`,
  state: "open",
  timestamp: timeOf(minute),
  room_id: "hall",
  is_pinned: false,
  options: ["a", "b"].map((id, i) => ({ id, content: id, order: i + 1 })),
  ...changes,
});

const timeOf = (minute: number) => new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();

void t.test("polls are sorted: pinned, open, drafts, closed", async (t) => {
  const states = ["closed", "open", "archived", "draft", "open", "closed"] as const;
  const list = sortPolls(states.map((state, i) => poll(i + 1, { state, is_pinned: i === 5 })));
  const order = list.map(({ id }) => Number(id.split("-")[1]));
  t.strictSame(order, [6, 5, 2, 4, 1, 3]);
});

void t.test("results", async (t) => {
  const hidden = resultOf(poll(1));
  t.equal(hidden.total, undefined);
  t.strictSame(hidden.choices[0], { id: "a", content: "a", isChosen: false });
  const known = poll(1, { results: { a: 2, b: 1 }, answers: ["a"] });
  t.strictSame(resultOf(known), {
    total: 3,
    isMulti: false,
    choices: [
      { id: "a", content: "a", isChosen: true, votes: 2, percent: 67 },
      { id: "b", content: "b", isChosen: false, votes: 1, percent: 33 },
    ],
  });
  const chosen = (want?: readonly string[]) =>
    resultOf(known, want)
      .choices.filter(({ isChosen }) => isChosen)
      .map(({ id }) => id);
  t.strictSame([chosen(), chosen(["b"]), chosen([])], [["a"], ["b"], []]);
  const several = resultOf({ ...known, poll_type: "multi" });
  t.strictSame(
    [resultOf(known), several].map((it) => [voteWith(it, "a"), voteWith(it, "b")]),
    [
      [["a"], ["b"]],
      [[], ["a", "b"]],
    ],
  );
  // There are no votes, and an option that was added later has no count yet.
  const none = resultOf(poll(1, { results: { a: 0 } }));
  t.match(none.choices, [{ percent: 0 }, { percent: 0 }]);
  t.equal(resultOf(poll(1, { results: [], options: [] })).total, 0);
});

void t.test("what is wrong with a sketch", async (t) => {
  const of = (content: string, ...texts: string[]) =>
    faultOf({ ...emptySketch, content, options: texts.map((content) => ({ content })) });
  t.equal(faultOf(emptySketch), "content");
  t.equal(of(" ", "a", "b"), "content");
  t.equal(of("Which?", "a", " "), "options");
  t.equal(of("Which?", "a", "b".repeat(10_001)), "long");
  t.equal(of("Which?", "a", "", "b"), undefined);
  const many = Array.from({ length: 21 }, (_, at) => ({ content: String(at) }));
  const rows: [Partial<Sketch>, ReturnType<typeof faultOf>][] = [
    [{ kind: "words", options: [] }, undefined],
    [{ kind: "rank", options: many }, "many"],
    [{ options: many }, undefined],
    [{ kind: "quiz" }, "options"],
    [{ kind: "quiz", options: many.slice(0, 2) }, "correct"],
    [{ kind: "quiz", options: [{ content: " ", correct: true }, ...many.slice(0, 2)] }, "correct"],
    [{ kind: "quiz", options: [{ content: "a", correct: true }, ...many.slice(0, 2)] }, undefined],
    [{ kind: "text", settings: { text: { length: 501 } } }, "range"],
    [{ kind: "text", settings: { text: { length: 0.5 } } }, "range"],
    [{ kind: "scale", settings: { text: { length: 501 } } }, undefined],
  ];
  for (const [changes, fault] of rows) {
    t.equal(
      faultOf({ ...emptySketch, content: "Which?", ...changes }),
      fault,
      JSON.stringify(changes),
    );
  }
});

void t.test("what a sketch sends", async (t) => {
  const sketch: Sketch = {
    ...emptySketch,
    content: " Which? ",
    options: [{ content: "b " }, { content: " " }, { id: "a", content: "a" }],
    isMulti: true,
  };
  t.strictSame(contentOf(sketch), {
    content: "Which?",
    poll_type: "multi",
    options: [
      { content: "b", order: 0 },
      { id: "a", content: "a", order: 1 },
    ],
  });
  const sent = (kind: Sketch["kind"], settings: Sketch["settings"] = emptySketch.settings) => {
    const { content: _, ...rest } = contentOf({ ...sketch, kind, settings });
    return rest;
  };
  t.strictSame(sent("words"), {
    poll_type: "words",
    options: [],
    settings: { answers: 3, length: 25 },
  });
  t.strictSame(sent("scale", { scale: { min: 0, max: 10, min_label: " low ", max_label: " " } }), {
    poll_type: "scale",
    options: [],
    settings: { min: 0, max: 10, min_label: "low", max_label: null },
  });
  t.match(sent("quiz", { quiz: {} }), {
    poll_type: "quiz",
    options: [{ correct: false }, { correct: false }],
    settings: { seconds: null },
  });
});

void t.test("what a sketch changes", async (t) => {
  const before = poll(1);
  const sketch = sketchOf(before);
  t.equal(changesOf(before, sketch), undefined);
  t.strictSame(changesOf(before, { ...sketch, content: "Why?" }), { content: "Why?" });
  t.strictSame(changesOf(before, { ...sketch, isMulti: true }), { poll_type: "multi" });
  const swapped = { ...sketch, options: moved(sketch.options, 0, 1) };
  t.strictSame(changesOf(before, swapped), {
    options: [
      { id: "b", content: "b", order: 0 },
      { id: "a", content: "a", order: 1 },
    ],
  });
});

void t.test("what a sketch changes in a quiz", async (t) => {
  const quiz = poll(1, {
    poll_type: "quiz",
    settings: { seconds: 30 },
    options: ["a", "b"].map((id, order) => ({ id, content: id, order, correct: id === "a" })),
  });
  const sketch = sketchOf(quiz);
  t.equal(changesOf(quiz, sketch), undefined);
  t.strictSame(changesOf(quiz, { ...sketch, settings: { quiz: {} } }), {
    settings: { seconds: null },
  });
  const other = [sketch.options[0]!, { ...sketch.options[1]!, correct: true }];
  t.match(changesOf(quiz, { ...sketch, options: other })?.options, [
    { id: "a", correct: true },
    { id: "b", correct: true },
  ]);
  const copy = contentOf(copyOf(quiz));
  t.strictSame(
    copy.options.map((option) => "id" in option),
    [false, false],
    "a copy is new",
  );
  t.match(copy, { content: quiz.content, poll_type: "quiz", settings: { seconds: 30 } });
  const same = readSketch(JSON.parse(JSON.stringify(copyOf(quiz))));
  t.strictSame(same, copyOf(quiz), "a draft survives a reload");
});

void t.test("results of words, texts, scales and rankings", async (t) => {
  const words = poll(1, {
    poll_type: "words",
    options: [],
    answers: ["Tea"],
    results: {
      people: 3,
      words: [
        { text: "Café", count: 2 },
        { text: "tea", count: 1, hidden: true },
      ],
    },
  });
  t.strictSame(wordsOf(words), [{ key: "CAFE", text: "Café", count: 2 }]);
  t.strictSame(ownIn(words), { options: [], answers: ["Tea"], value: undefined });
  t.strictSame(ownIn(words, { answers: [] }).answers, [], "a withdrawal shows at once");
  const texts = poll(1, {
    poll_type: "text",
    results: {
      people: 2,
      answers: [
        { id: "1", text: "New", at: timeOf(2) },
        { id: "2", text: "Held", at: timeOf(1), user: "u", held: true },
      ],
    },
  });
  t.match(
    textsOf(texts, () => "Ada"),
    [
      { key: "2", name: "Ada", isHeld: true },
      { key: "1", name: undefined, isHeld: false },
    ],
  );
  t.match(shownTextsOf(texts), [{ key: "1", name: undefined }]);
  t.equal(
    textsOf(words, () => undefined),
    undefined,
    "words are no texts",
  );
  const scale = poll(1, {
    poll_type: "scale",
    settings: { min: 0, max: 2 },
    results: { people: 2, counts: { "2": 2 }, average: 2 },
  });
  t.strictSame(scaleOf(scale), {
    counts: [0, 0, 2].map((count, value) => ({ value, count })),
    average: 2,
  });
  t.equal(scaleOf(poll(1, { poll_type: "scale" })), undefined, "not for all");
  const options = ["a", "b", "c"].map((id) => ({ id, content: id }));
  t.strictSame(
    rankedOf(options, { c: 5, b: 5 }).map(({ id, place }) => [id, place]),
    [
      ["b", 1],
      ["c", 1],
      ["a", 3],
    ],
  );
});

void t.test("what a report says about polls", async (t) => {
  const exported = {
    ...{ id: "p", room: "Stage", content: "Which?", state: "closed", timestamp: timeOf(1) },
    options: [
      { id: "a", content: "A", votes: 1 },
      { id: "b", content: "B", votes: 2 },
      { id: "c", content: null, votes: 3 },
    ],
  };
  const lines = (summary?: Parameters<typeof reportedPoll>[0]["summary"]) => {
    const { options, texts, average } = reportedPoll({ ...exported, ...(summary && { summary }) });
    return { lines: options.map(({ content, votes }) => `${content} ${votes}`), texts, average };
  };
  const at = timeOf(1);
  t.match(lines(), { lines: ["A 1", "B 2"], texts: [] }, "a deleted option is left out");
  t.match(lines({ people: 2, scores: { b: 3 } }).lines, ["B 3", "A 0"]);
  t.match(lines({ people: 2, counts: { "10": 1, "9": 1 }, average: 9.5 }), {
    lines: ["9 1", "10 1"],
    average: 9.5,
  });
  const words = [
    { text: "ink", count: 2 },
    { text: "rude", count: 2, hidden: true },
  ];
  t.strictSame(lines({ people: 2, words }).lines, ["ink 2"]);
  const answers = [
    { id: "1", text: "Shown", at },
    { id: "2", text: "Held", at, held: true },
    { id: "3", text: "Hidden", at, hidden: true },
  ];
  t.strictSame(lines({ people: 2, answers }).texts, ["Shown"], "what managers hid stays out");
});

void t.test("a cloud keeps its order and fits", async (t) => {
  const words = (...texts: string[]) =>
    texts.map((text, at) => ({ key: text, text, count: 10 - at }));
  const before = arranged(words("a", "b", "c", "d"), []);
  t.strictSame(before, ["d", "b", "a", "c"], "the most frequent ones are in the middle");
  const after = arranged(words("c", "e", "a", "b"), before);
  t.strictSame(
    after.filter((it) => it !== "e"),
    ["b", "a", "c"],
    "words keep their order",
  );
  const box = { width: 800, height: 400 };
  const many = words(...Array.from({ length: 100 }, (_, at) => `word-${at}`));
  const long = words("w".repeat(40), "\u6f22".repeat(40));
  for (const [name, list] of [
    ["few", words("a", "b")],
    ["many", many.map((word, at) => ({ ...word, count: at + 1 }))],
    ["long", long],
    ["equal", many.map((word) => ({ ...word, count: 1 }))],
  ] as const) {
    const sizes = [...sizesOf(list, box).values()].map(({ size }) => size);
    t.ok(Math.min(...sizes) >= 15, `${name}: legible`);
    t.ok(Math.max(...sizes) <= 200, `${name}: not too large`);
  }
  t.strictSame([...sizesOf([], box)], [], "nothing yet");
  t.ok(sizesOf(long, { width: 300 }).get("w".repeat(40))!.size < 20, "no word is cut off");
});

void t.test("what was kept of a sketch may be anything", async (t) => {
  const kept = {
    ...emptySketch,
    content: "Which?",
    options: [{ content: "a" }, { content: "" }],
    isMulti: true,
  };
  t.strictSame(readSketch(kept), kept);
  for (const value of [
    null,
    7,
    "text",
    {},
    { content: "Which?", options: "ab" },
    { content: 1, options: kept.options },
    { content: "Which?", options: [null, { content: "a" }] },
  ]) {
    t.equal(readSketch(value), undefined, JSON.stringify(value));
  }
  const odd = [{ id: "x", content: "a" }, { content: "b" }, { content: 1 }];
  t.strictSame(readSketch({ kind: "none", settings: 7, content: "", options: odd }), {
    ...emptySketch,
    options: [{ content: "a" }, { content: "b" }],
    isMulti: false,
  });
});

void t.test("moving", async (t) => {
  const list = ["a", "b", "c"];
  t.strictSame(moved(list, 0, 2), ["b", "c", "a"]);
  t.strictSame(moved(list, 2, 1), ["a", "c", "b"]);
  t.equal(moved(list, 0, -1), list);
  t.equal(moved(list, 2, 3), list);
});

const NO_VOTES = new Map<string, boolean>();
const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

void t.test("questions are sorted: pinned, by votes, by age", async (t) => {
  const changes: Partial<ListedQuestion>[] = [
    { score: 2 },
    { score: 5 },
    { score: 2 },
    { is_pinned: true },
    { answered: true, score: 9 },
    { state: "mod_queue" },
    { state: "archived", score: 9 },
    { state: "mod_queue" },
    { state: "archived", answered: true },
  ];
  const all = changes.map((change, i) => question(i + 1, change));
  const board = boardOf(all, "open", NO_VOTES);
  const order = ["question-4", "question-2", "question-1", "question-3"];
  t.strictSame(idsOf(board.shown), order);
  t.strictSame(idsOf(board.waiting), ["question-6", "question-8"]);
  t.strictSame(board.counts, { open: 4, answered: 1, archived: 2 });
});

void t.test("filters", async (t) => {
  const all = [question(1), question(2, { answered: true }), question(3, { state: "archived" })];
  const shown = (filter: "open" | "answered" | "archived") =>
    idsOf(boardOf(all, filter, NO_VOTES).shown);
  t.strictSame(shown("open"), ["question-1"]);
  t.strictSame(shown("answered"), ["question-2"]);
  t.strictSame(shown("archived"), ["question-3"]);
});

void t.test("a vote shows before the server has confirmed it", async (t) => {
  const all = [question(1, { score: 3 }), question(2, { score: 3, voted: true })];
  const after = (id: number, vote: boolean) =>
    boardOf(all, "open", new Map([[`question-${id}`, vote]])).shown.find(
      (it) => it.id === `question-${id}`,
    );
  t.match(after(1, true), { voted: true, score: 4 });
  t.match(after(2, false), { voted: false, score: 2 });
  // The server's confirmation arrived first, so the vote counts only once.
  t.match(after(2, true), { voted: true, score: 3 });
});

/** Parses a session: its id, its room or `-`, its speakers, and the hours when it begins and ends. */
const sessionIn = (text: string) => {
  const [id, room, speakers = "", from, to] = text.split(" ");
  const at = (hour = "") => new Date(Date.UTC(2027, 0, 31, Number(hour))).toISOString();
  const times = { starts_at: at(from), ends_at: at(to) };
  const room_id = room === "-" ? null : room;
  return { id, room_id, speaker_ids: speakers.split(","), ...times } as SentSession;
};

void t.test("what overlaps in the program", async (t) => {
  const rows: [name: string, sessions: string, rooms: string[], speakers: string[]][] = [
    ["one after the other", "a 1 mei 9 10; b 1 mei 10 11", [], []],
    ["in one room", "a 1 mei 9 11; b 1 mei 10 12", ["a-b", "b-a"], []],
    ["one speaker in two rooms", "a 1 mei,ada 9 11; b 2 ada 10 12", [], ["a-b", "b-a"]],
    ["one speaker, without rooms", "a - mei 9 11; b - mei 10 12", [], ["a-b", "b-a"]],
    ["the second of three", "a 1 mei 9 10; b 2 ada 9 12; c 3 mei,ada 11 12", [], ["b-c", "c-b"]],
  ];
  for (const [name, text, rooms, speakers] of rows) {
    const sessions = text.split("; ").map(sessionIn);
    const pairs = (found: ReturnType<typeof overlaps>) =>
      [...found].map(([id, other]) => `${id}-${other.session.id}`).sort();
    t.same(pairs(overlaps(sessions)), rooms, `${name}: rooms`);
    t.same(pairs(speakerOverlaps(sessions)), speakers, `${name}: speakers`);
  }
  const [, double] = [...speakerOverlaps(rows[2]![1].split("; ").map(sessionIn))][0]!;
  t.equal(double.id, "ada", "it says who");
});

// The stage of a room over time, according to the test's clock.

const HALL = "hall";
const noon = Date.parse("2027-03-01T12:00:00Z");
const at = (minute: number) => new Date(noon + minute * 60_000).toISOString();

/** Returns a session in the hall. Times are in minutes after noon. */
const hallSession = (id: string, start: number, end: number, more: Partial<SentSession> = {}) =>
  ({
    id,
    room_id: HALL,
    state: "public",
    recording: null,
    starts_at: at(start),
    ends_at: at(end),
    ...more,
  }) as SentSession;

const programOf = (...sessions: SentSession[]) =>
  ({
    sessions,
    byId: new Map(sessions.map((it) => [it.id, it])),
    overrun: 30 * 60_000,
  }) as unknown as Board;

/** Opens the stage of the hall, as a page would. */
function stageOf(t: Test, ...sessions: SentSession[]) {
  const board = writable<Board | undefined>(programOf(...sessions));
  const clock = writable(noon);
  const stages = stagesOf(board, clock);
  t.teardown(stages.subscribe(() => {}));
  return {
    change: (...sessions: SentSession[]) => board.set(programOf(...sessions)),
    /** Returns what the stage shows at a minute: the current session, or `+` and the session that runs over. */
    at(minute: number) {
      clock.set(noon + minute * 60_000);
      const { now, overrun } = get(stages).get(HALL) ?? {};
      return now?.id ?? (overrun ? `+${overrun.id}` : "");
    },
  };
}

void t.test("a stream goes on after the end of its session", async (t) => {
  const recording = { url: "https://video.example.org/1", duration: null };
  const a = hallSession("a", 0, 10);
  /** The expected content at some minutes: nothing, a session, or `+` and a session that runs over. */
  const rows: [name: string, sessions: SentSession[], shown: Record<string, string>][] = [
    [
      "until the next one begins",
      [a, hallSession("b", 25, 30)],
      { "-1": "", 0: "a", 10: "+a", 24: "+a", 25: "b", 30: "+b" },
    ],
    [
      "for half an hour at most",
      [a, hallSession("b", 90, 95)],
      { 39: "+a", 40: "", 89: "", 90: "b" },
    ],
    [
      "but an earlier one that is still on has the stage",
      [hallSession("a", 0, 60), hallSession("b", 10, 20)],
      { 15: "b", 20: "a", 60: "+a" },
    ],
    ["until its recording is there", [hallSession("a", 0, 10, { recording })], { 11: "" }],
    ["in its own room", [a, hallSession("b", 0, 20, { room_id: "attic" })], { 11: "+a" }],
    ["not as a draft", [hallSession("a", 0, 10, { state: "draft" })], { 11: "" }],
  ];
  for (const [name, sessions, shown] of rows) {
    const stage = stageOf(t, ...sessions);
    const minutes = Object.keys(shown).sort((a, b) => Number(a) - Number(b));
    for (const minute of minutes) {
      t.equal(stage.at(Number(minute)), shown[minute], `${name}: ${minute}`);
    }
  }
});

void t.test("a host ends it", async (t) => {
  const stage = stageOf(t, hallSession("a", 0, 10));
  t.equal(stage.at(5), "a");
  stage.change(hallSession("a", 0, 4, { overrun: "ended" }));
  t.equal(stage.at(5), "", "while it is on");
  stage.change(hallSession("a", 0, 10));
  t.equal(stage.at(6), "a", "and takes that back");
  t.equal(stage.at(12), "+a");
  stage.change(hallSession("a", 0, 11, { overrun: "ended" }));
  t.equal(stage.at(12), "", "while it runs over");
  stage.change(hallSession("a", 0, 11, { overrun: "held" }), hallSession("b", 12, 70));
  t.equal(stage.at(13), "a", "or holds it");
  stage.change();
  t.equal(stage.at(13), "", "or deletes it");
});

const now = Date.parse("2027-03-01T12:00:00Z");
const hours = (n: number) => n * 3_600_000;
const iso = (n: number) => new Date(now + hours(n)).toISOString();

void t.test("the span of an event so far", async (t) => {
  const rows: [event: object, from: number, to: number][] = [
    [{ starts_at: iso(-2), ends_at: iso(2) }, -3, 0],
    [{ starts_at: iso(-9), ends_at: iso(-5) }, -10, -4],
  ];
  for (const [event, from, to] of rows) {
    const span = spanOf(event, now)!;
    t.equal(span.to, now + hours(to));
    t.ok(Math.abs(span.from - (now + hours(from))) <= span.step);
    t.equal(span.step % 60_000, 0);
    t.ok((span.to - span.from) / span.step <= 151);
  }
  const none = [{ starts_at: iso(5), ends_at: iso(9) }, {}, { starts_at: 7 }];
  for (const event of none) t.equal(spanOf(event, now), undefined);
});

void t.test("what happened in an event without dates", async (t) => {
  const at = (h: number, people: number | null, messages = 0) => ({
    at: now + hours(h),
    people,
    messages,
  });
  const day = 24;
  const days = [at(-9 * day, 0), at(-2 * day, 3), at(-1.5 * day, null, 1)];
  const span = livelyDays([...days, at(-12, null)], now);
  t.same(span.to, now + hours(-12), "until the last day ends");
  t.ok(Math.abs(span.from - (now + hours(-48))) <= span.step);
  const step = span.step / hours(1);
  const part = livelyPart([at(-20, 1), at(-19, 0)], span);
  t.ok(Math.abs(part.from - (now + hours(-20 - step))) <= span.step);
  t.equal(part.to, now + hours(-20 + 2 * step));
  t.equal((part.from - span.from) % span.step, 0);
  t.same(livelyPart([], span), span);
  const empty = livelyDays([], now);
  t.ok(empty.to === now && now - empty.from <= hours(day) + empty.step);
});

void t.test("amounts by steps, and their peak", async (t) => {
  const span = { from: 0, to: 300, step: 100 };
  const amounts = [
    ...[-1, 300, Number.NaN].map((at) => ({ at, value: 99 })),
    ...[0, 99, 250].map((at) => ({ at, value: 2 })),
  ];
  const values = summed(amounts, span);
  t.same(values, [
    { at: 0, value: 4 },
    { at: 100, value: 0 },
    { at: 200, value: 2 },
  ]);
  t.same(peakOf(values), { at: 0, value: 4 });
  t.equal(peakOf([{ at: 0, value: 0 }]), undefined);
});

const sample = (more: Partial<Activity> = {}): Activity => ({
  connections: 3,
  users: 2,
  messages: 100,
  slow_readers: 0,
  rooms: [],
  since: "2027-01-31T09:30:00.000Z",
  ...more,
});

void t.test("counters become rates", async (t) => {
  let now = 1000;
  const series = new ActivitySeries(() => now, 10_000);
  const values = (name: "connections" | "messages" | "slowReaders") =>
    get(series)[name].map(({ value }) => value);
  series.add(sample());
  now += 2000;
  series.add(sample({ messages: 130, slow_readers: 1, connections: 5 }));
  t.same(values("messages"), [null, 15]);
  t.same(values("slowReaders"), [null, 0.5]);
  t.same(values("connections"), [3, 5]);

  now += 2000;
  series.add(sample({ messages: 4 }));
  now += 2000;
  series.add(sample({ messages: 8 }));
  t.same(values("messages"), [null, 15, null, 2], "a restart is a gap");

  now += 2000;
  series.add(sample({ messages: 900, since: "2027-02-01T00:00:00.000Z" }));
  t.equal(values("messages").at(-1), null, "counting began again");

  now += 2000;
  series.miss();
  t.equal(values("connections").at(-1), null);
  t.equal(get(series).now?.messages, 900, "the last that is known stays");
  now += 2000;
  const since = "2027-02-01T00:00:00.000Z";
  series.add(sample({ messages: 908, since }));
  t.equal(values("messages").at(-1), 2, "over the whole time since");
  t.equal(get(series).connections[0]?.at, 5000, "older samples are gone");
  series.add(sample({ messages: 999, since }));
  t.equal(values("messages").at(-1), null, "no time passed");
});

void t.test("a plot", async (t) => {
  const points = [
    { at: 0, value: 0 },
    { at: 50, value: 10 },
    { at: 60, value: null },
    { at: 100, value: 5 },
  ];
  const frame = { width: 100, height: 20, end: 100, span: 100, top: 10 };
  t.equal(pathOf(points, frame), "M0.0 20.0L50.0 0.0M100.0 10.0");
  t.equal(pathOf([], frame), "");
  t.same(extremes(points), { least: 0, most: 10, last: 5 });
  t.equal(extremes([{ at: 1, value: null }]), undefined);
  const many = Array.from({ length: 150 }, (_, at) => ({ at, value: at }));
  const few = samples(many, 10);
  t.equal(few.length, 10);
  t.equal(few.at(-1)?.at, 149);
});

void t.test("polling, only while it is wanted", async (t) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  /** Advances the time by a duration, in milliseconds, and runs everything that is due. */
  const pass = async (duration: number) => {
    for (let i = 0; i < duration; i++) {
      await setImmediate();
      mock.timers.tick(1);
    }
  };
  const wanted = writable(false);
  let calls = 0;
  let fails = false;
  const end = pollWhile(
    wanted,
    async () => {
      calls++;
      if (fails) throw new Error("no");
    },
    { every: 2, slowest: 8 },
  );
  const after = async (duration: number) => {
    const before = calls;
    await pass(duration);
    return calls - before;
  };
  t.equal(await after(10), 0);
  wanted.set(true);
  t.equal(calls, 1, "at once");
  t.equal(await after(8), 4);
  fails = true;
  await pass(20);
  t.equal(await after(16), 2, "slowly");
  wanted.set(false);
  t.equal(await after(20), 0, "it rests");
  fails = false;
  const before = calls;
  wanted.set(true);
  t.equal(calls, before + 1);
  end();
  t.equal(await after(20), 0, "it ended");
});

void t.test("the server has the same reactions", async (t) => {
  t.strictSame(reactions, known);
});

/** Starts reactions in a hall, and records the client's commands and pushes. */
function start(t: Test) {
  // However long a test takes, reactions fade only on `tick`.
  mock.timers.enable({ apis: ["setTimeout"] });
  t.teardown(() => mock.timers.reset());
  const pushes = new EventEmitter();
  const sent: unknown[] = [];
  const client = {
    /** The error with which commands are refused; undefined to accept them. */
    refusal: undefined as Error | undefined,
    async call(name: string, payload: object) {
      sent.push([name, payload]);
      if (client.refusal) throw client.refusal;
      return {};
    },
    on(name: string, listener: (data: unknown) => void) {
      pushes.on(name, listener);
      return () => void pushes.off(name, listener);
    },
  };
  const hall = new Reactions(client as unknown as Live, "hall");
  t.teardown(() => hall.close());
  const floating = () => get(hall.particles).map(({ reaction }) => reaction);
  const push = (reactions: object, room = "hall") =>
    pushes.emit("room.reaction", { room, reactions });
  const tick = (milliseconds: number) => mock.timers.tick(milliseconds);
  return { client, sent, hall, floating, push, tick };
}

void t.test("reactions float and are counted", async (t) => {
  const { hall, floating, push } = start(t);
  push({ "👏": 2, "👍": 1, "💥": 9, "🤣": -1, "😮": "x" });
  push({ "👏": 5 }, "attic");
  t.strictSame(floating(), ["👏", "👏", "👍"]);
  t.strictSame(Object.fromEntries(get(hall.counts)), { "👏": 2, "👍": 1 });
  push({ "👏": 100_000, "❤️": 100_000 });
  push({ "👏": 100_000, "😮": 100_000 });
  t.ok(floating().length <= 30, "a crowd slows no browser");
  t.ok(floating().includes("❤️"), "and hides no other reaction");
  t.equal(get(hall.counts).get("👏"), 200_002);
});

void t.test("an own reaction shows at once, and once", async (t) => {
  const { sent, hall, floating, push } = start(t);
  const reacting = hall.react("👏");
  t.strictSame(floating(), ["👏"]);
  t.ok(get(hall.resting).has("👏"));
  await reacting;
  // The server would not count this reaction yet.
  await hall.react("👏");
  t.strictSame(sent, [["room.react", { room: "hall", reaction: "👏" }]]);
  push({ "👏": 3 });
  t.equal(floating().length, 3);
  push({ "👏": 1 });
  t.equal(floating().length, 4);
});

void t.test("what floats goes, and a button rests for a while", async (t) => {
  const { sent, hall, floating, tick } = start(t);
  await hall.react("👏");
  tick(1999);
  t.ok(get(hall.resting).has("👏"));
  tick(1);
  t.notOk(get(hall.resting).has("👏"));
  await hall.react("👏");
  t.equal(sent.length, 2);
  t.equal(floating().length, 2);
  tick(FLOAT_MS);
  t.strictSame(floating(), []);
  t.equal(get(hall.counts).get("👏"), 2);
  tick(6000);
  t.equal(get(hall.counts).size, 0);
});

void t.test("a refusal is reported, and nothing is left to send", async (t) => {
  const { client, hall, floating, push } = start(t);
  client.refusal = new Error("No");
  await t.rejects(hall.react("👍"), { message: "No" });
  push({ "👍": 1 });
  t.equal(floating().length, 2);
});

void t.test("nothing comes after the end", async (t) => {
  const { hall, floating, push } = start(t);
  hall.close();
  push({ "👏": 1 });
  t.strictSame(floating(), []);
});

void t.test("a day as a table of times and rooms", (t) => {
  const attic = { room_id: "attic" };
  /** The expected rows: a cell per room with its sessions and, if it covers more, how many rows. */
  const rows: [name: string, sessions: SentSession[], rooms: unknown[], cells: string[]][] = [
    [
      "rooms have the order of the event",
      [hallSession("a", 0, 10), hallSession("b", 0, 10, attic)],
      ["attic", HALL],
      ["b a"],
    ],
    [
      "a session covers the starts until its end",
      [hallSession("a", 0, 30), hallSession("b", 10, 20, attic), hallSession("c", 30, 40)],
      ["attic", HALL],
      ["- a*2", "b .", "- c"],
    ],
    [
      "sessions that overlap in a room share a cell",
      [hallSession("a", 0, 20), hallSession("b", 10, 40), hallSession("c", 30, 50, attic)],
      ["attic", HALL],
      ["- ab*3", "- .", "c ."],
    ],
    [
      "rooms that one does not see are one column",
      [hallSession("a", 0, 20), hallSession("b", 0, 20, { room_id: null })].concat(
        hallSession("c", 10, 20, { room_id: "vault" }),
      ),
      [HALL, null],
      ["a*2 bc*2", ". ."],
    ],
    ["a session without a length", [hallSession("a", 0, 0)], [HALL], ["a"]],
  ];
  for (const [name, sessions, rooms, cells] of rows) {
    const [day] = daysOf(sessions, "UTC");
    const grid = gridOf(day!, ["attic", HALL, "empty"]);
    t.same(grid.rooms, rooms, name);
    const shown = grid.rows.map((row) =>
      row.cells
        .map((cell) => {
          if (!cell) return ".";
          const ids = cell.sessions.map(({ id }) => id).join("") || "-";
          return cell.span > 1 ? `${ids}*${cell.span}` : ids;
        })
        .join(" "),
    );
    t.same(shown, cells, name);
  }
  t.end();
});

void t.test("only a language that does not go without saying is named", (t) => {
  const rows: [locale: string | null, languages: string[], named: string[]][] = [
    ["en", ["en", "en-US", ""], []],
    ["en", ["en", "de"], ["de"]],
    ["de", ["en", "en"], ["en", "en"]],
    [null, ["en", "en", "de"], ["de"]],
    [null, ["", ""], []],
  ];
  for (const [locale, languages, named] of rows) {
    const sessions = languages.map((language, i) => hallSession(`${i}`, 0, 10, { language }));
    const usual = usualLanguage(sessions, locale);
    const shown = sessions.filter((it) => isUnusual(it, usual)).map(({ language }) => language);
    t.same(shown, named, `${locale}: ${languages.join()}`);
  }
  t.same([...hueShifts(["a", "b", "c"]).values()], [0, 120, 240]);
  t.end();
});
