import { pino } from "pino";
import t from "tap";
import type { Mark } from "../../db/chat.js";
import type { AnyEvent, Events } from "../../db/events.js";
import { LocalEvents } from "../db/bus/local.js";
import { StoreError } from "../../db/store.js";
import type { Live } from "../../live/live.js";
import type { Made } from "../../live/chat/mark-map.js";
import { Marks } from "../../live/chat/marks.js";
import { until } from "../helper.js";

// Marks of several processes, which share a store and events.

type Row = Mark & { world: string };

/** What processes share. */
class Machine {
  readonly written: Row[] = [];
  /** What the next writes fail with. */
  readonly failures: Error[] = [];
  readonly #processes = new Map<string, LocalEvents>();

  /** Starts a process. Events between processes arrive one turn later. */
  start(name: string) {
    const local = new LocalEvents((error) => t.fail(String(error)), name);
    const others = () =>
      [...this.#processes].filter(([other]) => other !== name);
    const events: Events = {
      process: name,
      lossy: false,
      publish: (event) => {
        for (const [, other] of others()) {
          setImmediate(() => other.publish(structuredClone(event)));
        }
        local.publish(event);
      },
      tell: (event) => local.tell(event),
      subscribe: (listener) => local.subscribe(listener),
      count: (key, window) => local.count(key, window),
      close: () => local.close(),
    };
    this.#processes.set(name, local);
    const store = {
      chat: {
        mark: async (rows: readonly Row[]) => {
          const failure = this.failures.shift();
          if (failure) throw failure;
          this.written.push(...rows);
        },
      },
    };
    const live = { store, events, log: pino({ level: "silent" }) };
    const foreign: Made[] = [];
    const marks = new Marks(live as unknown as Live, (mark) => {
      foreign.push(mark);
    });
    return { marks, foreign };
  }

  /** A process ends without a word. */
  kill(name: string): void {
    this.#processes.delete(name);
    const event: AnyEvent = { type: "process.ended", process: name };
    for (const other of this.#processes.values()) other.publish(event);
  }

  /** How far somebody has read, as it is written. */
  pointer(user: string, channel = "c"): number | null | undefined {
    const rows = this.written.filter(
      (row) => row.user === user && row.channel === channel,
    );
    return rows.at(-1)?.pointer;
  }
}

const mark = (user: string, pointer: number, channel = "c") => ({
  world: "w",
  user,
  channel,
  pointer,
  listed: pointer,
});

void t.test("the last mark is written, once", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  for (let id = 1; id <= 100; id++) marks.make(mark("ann", id));
  marks.make(mark("ann", 7, "d"));
  marks.make(mark("bob", 3));
  t.equal(marks.pending, 3);
  t.equal(marks.of("ann").get("c")?.pointer, 100, "until then it is here");
  await until(() => marks.pending === 0);
  t.equal(machine.written.length, 3);
  t.same(machine.pointer("ann"), 100);
  t.equal(marks.of("ann").size, 0);
  await marks.close();
});

void t.test("going back removes the same notifications", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  marks.make(mark("ann", 12));
  marks.make(mark("ann", 5));
  await marks.close();
  t.same(
    machine.written.map(({ pointer }) => pointer),
    [12, 5],
  );
});

void t.test("a store that takes nothing for a while", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  machine.failures.push(
    new StoreError("busy", "busy"),
    new StoreError("full", "full"),
  );
  for (let i = 0; i < 500; i++) marks.make(mark(`u${i}`, i + 1));
  await until(() => machine.failures.length === 0);
  t.equal(machine.written.length, 0);
  marks.make(mark("u0", 1000));
  await marks.close();
  t.equal(marks.pending, 0);
  t.equal(machine.pointer("u0"), 1000);
  t.equal(machine.pointer("u499"), 500);
});

void t.test("marks that are made while others are written", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  marks.make(mark("ann", 1));
  await until(() => machine.written.length === 1);
  marks.make(mark("ann", 2));
  await marks.close();
  t.equal(machine.pointer("ann"), 2);
});

void t.test("several processes", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  const b = machine.start("b");
  a.marks.make(mark("ann", 1));
  await until(() => b.foreign.length === 1);
  t.equal(b.marks.of("ann").get("c")?.pointer, 1, "a login in b sees it");
  b.marks.make(mark("ann", 2));
  await until(() => a.foreign.length === 1);
  t.equal(a.marks.pending, 0, "only the process of the last mark writes");
  t.equal(a.marks.of("ann").get("c")?.pointer, 2);
  const late = machine.start("late");
  await until(() => late.foreign.length === 1);
  t.equal(late.marks.of("ann").get("c")?.pointer, 2, "for a new process, too");
  await b.marks.close();
  t.equal(machine.pointer("ann"), 2);
  await until(() => a.marks.of("ann").size === 0);
  await until(() => late.marks.of("ann").size === 0);
  await Promise.all([a.marks.close(), late.marks.close()]);
  t.equal(machine.written.length, 1);
});

void t.test("marks at the same time in two processes", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  const b = machine.start("b");
  a.marks.make(mark("ann", 9));
  b.marks.make(mark("ann", 4));
  await until(() => a.foreign.length === 1);
  t.equal(b.foreign.length, 0, "the earlier one is told to nobody");
  await Promise.all([a.marks.close(), b.marks.close()]);
  t.same(
    machine.written.map(({ pointer }) => pointer),
    [9, 4],
    "the later one lasts, and both remove notifications",
  );
});

void t.test("a process is killed", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  const b = machine.start("b");
  a.marks.make(mark("ann", 1));
  await until(() => b.foreign.length === 1);
  machine.kill("a");
  t.equal(b.marks.pending, 1, "another one writes what it knows");
  await b.marks.close();
  t.equal(machine.pointer("ann"), 1);
  t.match(machine.written, [{ forward: true }], "it may live, and have more");
});

void t.test("joining and leaving since the mark", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  marks.make(mark("ann", 5));
  marks.relist("ann", "c", 6, null);
  marks.make(mark("bob", 5));
  marks.relist("bob", "c", 4, null);
  marks.relist("cyd", "c", 4, null);
  await marks.close();
  t.match(machine.written, [
    { user: "ann", pointer: 5, listed: null },
    { user: "bob", pointer: 5, listed: 5 },
  ]);
  t.equal(machine.written.length, 2);
});
