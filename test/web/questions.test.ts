import t from "tap";
import { boardOf } from "../../web/state/questions.js";
import { question } from "./items.js";

const NO_VOTES = new Map<string, boolean>();
const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

void t.test("questions are sorted: pinned, by votes, by age", async (t) => {
  const board = boardOf(
    [
      question(1, { score: 2 }),
      question(2, { score: 5 }),
      question(3, { score: 2 }),
      question(4, { is_pinned: true }),
      question(5, { answered: true, score: 9 }),
      question(6, { state: "mod_queue" }),
      question(7, { state: "archived", score: 9 }),
      question(8, { state: "mod_queue" }),
      question(9, { state: "archived", answered: true }),
    ],
    "open",
    NO_VOTES,
  );
  const order = ["question-4", "question-2", "question-1", "question-3"];
  t.strictSame(idsOf(board.shown), order);
  t.strictSame(idsOf(board.waiting), ["question-6", "question-8"]);
  t.strictSame(board.counts, { open: 4, answered: 1, archived: 2 });
});

void t.test("filters", async (t) => {
  const all = [
    question(1),
    question(2, { answered: true }),
    question(3, { state: "archived" }),
  ];
  const shown = (filter: "open" | "answered" | "archived") =>
    idsOf(boardOf(all, filter, NO_VOTES).shown);
  t.strictSame(shown("open"), ["question-1"]);
  t.strictSame(shown("answered"), ["question-2"]);
  t.strictSame(shown("archived"), ["question-3"]);
});

void t.test("a vote shows before the server has confirmed it", async (t) => {
  const all = [
    question(1, { score: 3 }),
    question(2, { score: 3, voted: true }),
  ];
  const after = (id: number, vote: boolean) =>
    boardOf(all, "open", new Map([[`question-${id}`, vote]])).shown.find(
      (it) => it.id === `question-${id}`,
    );
  t.match(after(1, true), { voted: true, score: 4 });
  t.match(after(2, false), { voted: false, score: 2 });
  // The confirmation came first: it counts once.
  t.match(after(2, true), { voted: true, score: 3 });
});
