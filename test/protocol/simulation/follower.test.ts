import { setImmediate } from "node:timers/promises";
import t from "tap";
import type { History, Logged, Stretch } from "../../../db/log/entries.js";
import { Follower } from "../../../db/log/follower.js";
import { ProcessTime, Timeline } from "./timeline.js";

/** The log of one world, with only the methods that a follower calls. */
class ShortLog {
  #entries: Logged[] = [];
  #tag = 0;

  append(): { entry: Logged; previous: number } {
    const { seq, tag } = this.head();
    const entry = { world: "demo", seq: seq + 1, tag: ++this.#tag };
    this.#entries.push(entry);
    return { entry, previous: tag };
  }

  head(): Logged {
    return this.#entries.at(-1) ?? { world: "demo", seq: 0, tag: 0 };
  }

  since(_world: string, seq: number, _limit: number): Stretch<Logged> {
    const tag = seq === 0 ? 0 : this.#entries[seq - 1]?.tag;
    return { tag, entries: this.#entries.slice(seq) };
  }

  loseLast(): void {
    this.#entries.pop();
  }
}

void t.test("a store that says when it changed is read at once", async (t) => {
  const timeline = new Timeline();
  const log = new ShortLog();
  let state = 0;
  let checks = 0;
  let reads = 0;
  const applied: number[] = [];
  const follower = new Follower<Logged>(
    new ProcessTime(timeline),
    {
      heads: async () => {
        checks++;
        return [log.head()];
      },
      since: async (...args) => {
        reads++;
        return log.since(...args);
      },
      state: () => state,
    },
    {
      apply: () => applied.push(timeline.now),
      reset: (world) => t.fail(`${world} was reset`),
      failed: (error) => t.fail(String(error)),
    },
  );
  void follower.follow("demo");
  const commit = () => {
    state++;
    return log.append();
  };
  const write = (hears: boolean) => {
    const hint = commit();
    // A bus may deliver a hint twice.
    for (let i = 0; hears && i < 2; i++) follower.hint(hint);
  };
  timeline.at(1_010, () => write(false));
  await timeline.runUntil(1_210);
  t.same(applied, [1_200], "the next look, and a moment for a hint");
  const before = checks;
  const readsBefore = reads;
  for (let at = 1_250; at < 2_250; at += 50) timeline.at(at, () => write(true));
  await timeline.runUntil(2_250);
  t.equal(checks - before, 2, "what hints explain is no reason");
  t.equal(reads, readsBefore, "nor is a hint that comes twice");
  timeline.at(2_310, () => {
    const hint = commit();
    // Runs after the timer that is due at the same moment, as in a busy process.
    timeline.at(2_490, () => timeline.at(2_500, () => follower.hint(hint)));
  });
  await timeline.runUntil(2_510);
  t.equal(applied.at(-1), 2_500);
  t.equal(reads, readsBefore, "nor one that came while the process was busy");
  follower.close();
});

void t.test("a world goes back in the moment when a read ends", async (t) => {
  const timeline = new Timeline();
  const log = new ShortLog();
  log.append();
  log.append();
  const answers: (() => void)[] = [];
  let isSlow = false;
  const answer = <T>(found: T) =>
    new Promise<T>((resolve) => {
      if (isSlow) answers.push(() => resolve(found));
      else resolve(found);
    });
  const resets: string[] = [];
  const follower = new Follower<Logged>(
    new ProcessTime(timeline),
    {
      heads: () => answer([log.head()]),
      since: (...args) => answer(log.since(...args)),
    },
    {
      apply: () => t.fail("there is no new entry"),
      reset: (world) => void resets.push(world),
      failed: (error) => t.fail(String(error)),
    },
  );
  await follower.follow("demo");
  await setImmediate();
  isSlow = true;
  follower.readNew("demo");
  log.loseLast();
  await timeline.runUntil(600);
  t.equal(answers.length, 2, "the entries and the heads are read");
  isSlow = false;
  for (const give of answers) give();
  await setImmediate();
  t.same(resets, ["demo"]);
  t.same(follower.cursorOf("demo")?.seq, 1, "the world is followed again");
  follower.close();
});

void t.test("another server takes over, which may lack commits", async (t) => {
  const busy = new Error("busy");
  const [one, two, three] = ["1", "2", "3"].map((name) => ({ name, isKept: false })) as [
    History,
    History,
    History,
  ];
  const kept = { ...one, isKept: true };
  type Row = [name: string, histories: (History | Error | undefined)[], resets: number];
  const rows: Row[] = [
    ["the same one", [one, one], 0],
    ["another one", [one, two], 1],
    ["one after a failed read", [one, busy, two], 1],
    ["before the first read of the world succeeds", [busy, one, two], 1],
    ["two", [one, two, two, three], 2],
    ["a standby that has all", [kept, two, two], 0],
    ["the same one, which has a standby now", [one, kept, two], 0],
    ["one that lost nothing, then one that may", [kept, two, three], 1],
    ["a database that cannot tell", [undefined], 0],
  ];
  for (const [name, histories, expected] of rows) {
    const timeline = new Timeline();
    const log = new ShortLog();
    log.append();
    let resets = 0;
    let asked = 0;
    const follower = new Follower<Logged>(
      new ProcessTime(timeline),
      {
        heads: async () => [log.head()],
        since: async (...args) => log.since(...args),
        history: async () => {
          const found = histories[Math.min(asked++, histories.length - 1)];
          if (found instanceof Error) throw found;
          return found;
        },
      },
      { apply: () => {}, reset: () => resets++, failed: () => {} },
    );
    void follower.follow("demo");
    await setImmediate();
    await timeline.runUntil(4_000);
    t.equal(resets, expected, name);
    t.ok(follower.isCurrent("demo", 1_000), `${name}: it goes on`);
    follower.close();
  }
});
