import { pino } from "pino";
import t from "tap";
import type { NewMark } from "../../../db/contract/chat-store.js";
import { StoreError } from "../../../db/contract/store.js";
import { type ReadMarkPorts, ReadMarks } from "../../../live/modules/chat/unread/read-marks.js";
import { ProcessTime, Timeline } from "../../protocol/simulation/timeline.js";

/** Starts read marks in simulated time. The next writes fail with `failures`. */
function start() {
  const timeline = new Timeline();
  const clock = new ProcessTime(timeline);
  const written: { at: number; marks: readonly NewMark[] }[] = [];
  const failures: Error[] = [];
  const mark = async (marks: readonly NewMark[]) => {
    const failure = failures.shift();
    if (failure) throw failure;
    written.push({ at: timeline.now, marks });
  };
  const log = pino({ level: "silent" });
  const marks = new ReadMarks({
    clock,
    log,
    store: { chat: { mark } },
  } as unknown as ReadMarkPorts);
  const wait = (duration: number) => timeline.runUntil(timeline.now + duration);
  const close = async () => {
    let isOver = false;
    const closed = marks.close().then(() => (isOver = true));
    while (!isOver) await wait(100);
    await closed;
  };
  return { marks, written, failures, wait, close };
}

const markOf = (user: string, pointer: number, listed: number | null = pointer): NewMark => ({
  world: "w",
  user,
  channel: "c",
  pointer,
  listed,
});

void t.test("marks are written at once, then together", async (t) => {
  const { marks, written, failures, wait } = start();
  marks.add(markOf("ann", 5));
  await wait(10);
  t.same(written.pop()?.marks, [markOf("ann", 5)], "alone at once");
  for (let id = 6; id <= 100; id++) marks.add(markOf("ann", id));
  marks.add(markOf("ann", 7));
  marks.add(markOf("bob", 3));
  t.same([...marks.of("ann")], [markOf("ann", 100)], "until then it is here");
  await wait(900);
  t.equal(marks.pending, 2);
  failures.push(new StoreError("busy", "busy"), new Error("a bug"));
  await wait(1_100);
  t.equal(written.length, 0);
  marks.add(markOf("ann", 101));
  await wait(2_000);
  t.same(written.pop()?.marks, [markOf("ann", 101), markOf("bob", 3)], "the larger, once it can");
  t.same([marks.pending, [...marks.of("ann")]], [0, []]);

  for (let n = 0; n < 5_000; n++) marks.add(markOf(`u${n}`, 1));
  await wait(1_100);
  t.same(
    [written.length, written.splice(0).flatMap(({ marks: [...all] }) => all).length],
    [10, 5_000],
  );
  marks.add(markOf("ann", 102));
  await wait(3_500);
  t.equal(written.length, 0, "a crowd is written less often");
  await wait(1_500);
  t.equal(written.length, 1);
});

void t.test("marks of users who left, and of a process that stops", async (t) => {
  const { marks, written, failures, wait, close } = start();
  marks.add(markOf("first", 1));
  await wait(10);
  written.length = 0;
  for (const user of ["ann", "bob"]) marks.add(markOf(user, 5));
  marks.unlist("ann", "c", 6);
  marks.unlist("bob", "c", 4);
  marks.unlist("cyd", "c", 4);
  failures.push(new StoreError("busy", "busy"));
  await close();
  t.same(written.pop()?.marks, [markOf("ann", 5, null), markOf("bob", 5)]);
  marks.add(markOf("dan", 1));
  failures.push(...Array.from({ length: 99 }, () => new StoreError("full", "full")));
  await close();
  t.equal(marks.pending, 1, "it does not wait for ever");
});
