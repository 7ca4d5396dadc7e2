import { pino } from "pino";
import t from "tap";
import type { Mark } from "../../db/contract/chat.js";
import { StoreError } from "../../db/contract/store.js";
import type { Made } from "../../live/modules/chat/unread/mark.js";
import { type MarkPorts, Marks } from "../../live/modules/chat/unread/marks.js";
import { Wire } from "../live/wire.js";

// Marks of several processes, which share a store and a bus.

type Row = Mark & { world: string };

/** What processes share. */
class Machine {
  readonly written: Row[] = [];
  /** What the next writes fail with. */
  readonly failures: Error[] = [];
  readonly wire = new Wire();

  /** Starts a process, with people in the world unless it says so. */
  start(name: string, hasPeople = true) {
    const process = this.wire.start(name);
    const { clock, replica } = process;
    if (hasPeople) void replica.follow("w");
    const store = {
      chat: {
        mark: async (rows: readonly Row[]) => {
          const failure = this.failures.shift();
          if (failure) throw failure;
          this.written.push(...rows);
        },
      },
    };
    const log = pino({ level: "silent" });
    const foreign: Made[] = [];
    const live = { clock, log, replica, store } as unknown as MarkPorts;
    const marks = new Marks(live, (mark) => {
      foreign.push(mark);
    });
    return { marks, foreign, process };
  }

  wait(duration: number): Promise<void> {
    return this.wire.wait(duration);
  }

  /** Closes marks, while time passes. */
  async close(...all: { marks: Marks }[]): Promise<void> {
    const closed = Promise.all(all.map(({ marks }) => marks.close()));
    await this.wait(5_000);
    await closed;
  }

  /** How far a user has read, as it is stored. */
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
  await machine.wait(9_000);
  t.equal(machine.written.length, 0);
  await machine.wait(1_100);
  t.equal(marks.pending, 0);
  t.equal(machine.written.length, 3);
  t.same(machine.pointer("ann"), 100);
  t.equal(marks.of("ann").size, 0);
});

void t.test("a user who leaves", async (t) => {
  const machine = new Machine();
  const { marks } = machine.start("a");
  for (const user of ["ann", "bob", "cyd"]) marks.make(mark(user, 1));
  for (const user of ["ann", "bob", "dan"]) marks.leave(user);
  await machine.wait(30);
  t.same([machine.pointer("ann"), machine.pointer("bob")], [1, 1]);
  t.equal(marks.pending, 1, "the others are written later");
  machine.failures.push(new StoreError("busy", "busy"));
  marks.leave("cyd");
  await machine.wait(10_100);
  t.equal(machine.pointer("cyd"), 1, "also after a failure");
});

void t.test("going back removes the same notifications", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  a.marks.make(mark("ann", 12));
  a.marks.make(mark("ann", 5));
  await machine.close(a);
  t.same(
    machine.written.map(({ pointer }) => pointer),
    [12, 5],
  );
});

void t.test("a store that takes nothing for a while", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  const { marks } = a;
  machine.failures.push(
    new StoreError("busy", "busy"),
    new StoreError("full", "full"),
  );
  for (let i = 0; i < 500; i++) marks.make(mark(`u${i}`, i + 1));
  await machine.wait(11_100);
  t.equal(machine.failures.length, 0);
  t.equal(machine.written.length, 0);
  marks.make(mark("u0", 1000));
  await machine.close(a);
  t.equal(marks.pending, 0);
  t.equal(machine.pointer("u0"), 1000);
  t.equal(machine.pointer("u499"), 500);
});

void t.test("marks that are made while others are written", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  a.marks.make(mark("ann", 1));
  await machine.wait(10_100);
  t.equal(machine.written.length, 1);
  a.marks.make(mark("ann", 2));
  await machine.close(a);
  t.equal(machine.pointer("ann"), 2);
});

void t.test("marks that reports lost", async (t) => {
  const machine = new Machine();
  const [a, b] = [machine.start("a"), machine.start("b")];
  await machine.wait(100);
  machine.wire.link = () => [];
  a.marks.make(mark("ann", 1));
  await machine.wait(100);
  machine.wire.link = (message) => [message, message];
  t.equal(b.foreign.length, 0);
  await machine.wait(900);
  t.equal(b.foreign.length, 1, "within a second");
});

void t.test("a mark of a process that ended", async (t) => {
  const machine = new Machine();
  const [a, b] = [machine.start("a"), machine.start("b")];
  await machine.wait(100);
  a.marks.make(mark("ann", 5));
  await machine.wait(200);
  a.process.kill();
  await machine.wait(100);
  t.equal(b.marks.pending, 1);
  await machine.close(b);
  // The process may have been silent only, and written a later one.
  t.match(machine.written, [{ user: "ann", pointer: 5, forward: true }]);
  t.equal(machine.written.length, 1);
});

void t.test("joining and leaving since the mark", async (t) => {
  const machine = new Machine();
  const a = machine.start("a");
  const { marks } = a;
  marks.make(mark("ann", 5));
  marks.relist("ann", "c", 6, null);
  marks.make(mark("bob", 5));
  marks.relist("bob", "c", 4, null);
  marks.relist("cyd", "c", 4, null);
  await machine.close(a);
  t.match(machine.written, [
    { user: "ann", pointer: 5, listed: null },
    { user: "bob", pointer: 5, listed: 5 },
  ]);
  t.equal(machine.written.length, 2);
});
