import t from "tap";
import {
  changesOf,
  contentOf,
  emptySketch,
  faultOf,
  moved,
  readSketch,
  resultOf,
  sketchOf,
  sortPolls,
  voteWith,
} from "../../web/state/polls.js";
import { poll } from "./items.js";

void t.test("polls are sorted: pinned, open, drafts, closed", async (t) => {
  const list = sortPolls([
    poll(1, { state: "closed" }),
    poll(2, { state: "open" }),
    poll(3, { state: "archived" }),
    poll(4, { state: "draft" }),
    poll(5, { state: "open" }),
    poll(6, { state: "closed", is_pinned: true }),
  ]);
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
    [resultOf(known), several].map((it) => [
      voteWith(it, "a"),
      voteWith(it, "b"),
    ]),
    [
      [["a"], ["b"]],
      [[], ["a", "b"]],
    ],
  );
  // There are no votes, and an option that came later has no count yet.
  const none = resultOf(poll(1, { results: { a: 0 } }));
  t.strictSame(
    none.choices.map(({ percent }) => percent),
    [0, 0],
  );
  t.equal(resultOf(poll(1, { results: [], options: [] })).total, 0);
});

void t.test("what is wrong with a sketch", async (t) => {
  const of = (content: string, ...texts: string[]) =>
    faultOf({
      content,
      options: texts.map((content) => ({ content })),
      isMulti: false,
    });
  t.equal(faultOf(emptySketch), "content");
  t.equal(of(" ", "a", "b"), "content");
  t.equal(of("Which?", "a", " "), "options");
  t.equal(of("Which?", "a", "b".repeat(10_001)), "long");
  t.equal(of("Which?", "a", "", "b"), undefined);
});

void t.test("what a sketch sends", async (t) => {
  const sketch = {
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
});

void t.test("what a sketch changes", async (t) => {
  const before = poll(1);
  const sketch = sketchOf(before);
  t.equal(changesOf(before, sketch), undefined);
  t.strictSame(changesOf(before, { ...sketch, content: "Why?" }), {
    content: "Why?",
  });
  t.strictSame(changesOf(before, { ...sketch, isMulti: true }), {
    poll_type: "multi",
  });
  const swapped = { ...sketch, options: moved(sketch.options, 0, 1) };
  t.strictSame(changesOf(before, swapped), {
    options: [
      { id: "b", content: "b", order: 0 },
      { id: "a", content: "a", order: 1 },
    ],
  });
});

void t.test("what was kept of a sketch may be anything", async (t) => {
  const kept = {
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
  t.strictSame(readSketch({ content: "", options: odd }), {
    content: "",
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
