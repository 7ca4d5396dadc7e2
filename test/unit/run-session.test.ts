import t from "tap";
import { MAX_HELD, nowAndNext, overrunning } from "../../schemas/plain/program.js";
import { type RunRequest, runSession } from "../../schemas/plain/stage/run.js";

// How hosts run a room's program. Times are in minutes after the first session's start.

const MINUTE = 60_000;
const nine = Date.UTC(2027, 2, 1, 9);
const at = (minute: number) => new Date(nine + minute * MINUTE).toISOString();

interface Planned {
  readonly id: string;
  readonly room_id: string;
  readonly starts_at: string | null;
  readonly ends_at: string | null;
  readonly recording: null;
  readonly overrun?: "held" | "ended";
}

/** Parses a program such as `a 0-30, b 30-60 held`. */
const programIn = (text: string): Planned[] =>
  text.split(", ").map((line) => {
    const [id = "", times = "", overrun] = line.split(" ");
    const [start, end] = times.split("-").map(Number);
    const isTimed = times !== "-";
    return {
      id,
      room_id: "hall",
      starts_at: isTimed ? at(start!) : null,
      ends_at: isTimed ? at(end!) : null,
      recording: null,
      ...(overrun && { overrun: overrun as "held" }),
    };
  });

const minuteOf = (time: string) => (Date.parse(time) - nine) / MINUTE;

/** Formats the changes in the form of {@link programIn}. */
const textOf = (moved: ReturnType<typeof runSession>) =>
  moved
    ?.map(({ id, starts_at, ends_at, overrun }) =>
      [id, `${minuteOf(starts_at)}-${minuteOf(ends_at)}`, overrun].filter(Boolean).join(" "),
    )
    .join(", ");

const DAY = "a 0-30, b 30-60, c 70-100, d 105-120";

void t.test("an action moves what follows, as far as gaps do not absorb it", async (t) => {
  const rows: [string, string, number, Omit<RunRequest, "session"> & { on: string }, string?][] = [
    ["five more minutes", DAY, 20, { on: "a", action: "plus" }, "a 0-35, b 35-65"],
    [
      "as far as the gaps reach",
      DAY,
      20,
      { on: "a", action: "plus", minutes: 20 },
      "a 0-50, b 50-80, c 80-110, d 110-125",
    ],
    ["three hours", "a 0-30", 20, { on: "a", action: "plus", minutes: 180 }, "a 0-210"],
    ["from now, if it runs over", "a 0-30, b 60-70", 40, { on: "a", action: "plus" }, "a 0-45"],
    [
      "back from the next one, which begins again",
      "a 0-30, b 30-60",
      33,
      { on: "a", action: "plus" },
      "a 0-38, b 38-68",
    ],
    ["but not an hour later", "a 0-30, b 30-100", 90, { on: "a", action: "plus" }],
    ["of one that is to come", DAY, 0, { on: "b", action: "plus" }, "b 30-65"],
    ["start early", DAY, 65, { on: "c", action: "start" }, "b 30-65 ended, c 65-95"],
    ["start late", DAY, 75, { on: "c", action: "start" }, "c 75-105"],
    [
      "start late, and delay the next",
      DAY,
      80,
      { on: "c", action: "start" },
      "c 80-110, d 110-125",
    ],
    ["start while another is on", DAY, 25, { on: "b", action: "start" }, "a 0-25 ended, b 25-55"],
    ["hold", DAY, 20, { on: "a", action: "hold" }, "a 0-30 held"],
    ["hold while it runs over", "a 0-30, b 60-70", 40, { on: "a", action: "hold" }, "a 0-30 held"],
    ["hold what is held", "a 0-30 held", 40, { on: "a", action: "hold" }, ""],
    ["hold what is to come", DAY, 20, { on: "b", action: "hold" }],
    [
      "hold one at a time",
      "a 0-30 held, b 10-40",
      20,
      { on: "b", action: "hold" },
      "a 0-30 ended, b 10-40 held",
    ],
    ["end", DAY, 20, { on: "a", action: "end" }, "a 0-20 ended"],
    ["end while it runs over", "a 0-30, b 60-70", 40, { on: "a", action: "end" }, "a 0-40 ended"],
    [
      "end what was held, so that what waited begins",
      "a 0-30 held, b 30-40, c 60-70",
      45,
      { on: "a", action: "end" },
      "a 0-45 ended, b 45-55",
    ],
    ["end what is over", DAY, 200, { on: "a", action: "end" }, ""],
    ["end what is to come", DAY, 0, { on: "b", action: "end" }],
    ["no times", "a -", 0, { on: "a", action: "start" }],
    ["unknown", DAY, 0, { on: "x", action: "start" }],
  ];
  for (const [name, program, minute, { on, ...asked }, expected] of rows) {
    const now = nine + minute * MINUTE;
    const moved = runSession(programIn(program), { session: on, ...asked }, now, 30 * MINUTE);
    t.equal(textOf(moved), expected, name);
  }
});

void t.test("a held session has the stage until it is ended", async (t) => {
  const sessions = programIn("a 0-30 held, b 30-40, c 60-70");
  const stage = (minute: number) => {
    const { now, next } = nowAndNext(sessions, nine + minute * MINUTE);
    return `${now?.id} ${next?.id}`;
  };
  t.equal(stage(10), "a b");
  t.equal(stage(35), "a b", "what waits is next");
  t.equal(stage(65), "a b");
  t.equal(stage(30 + MAX_HELD / MINUTE), "undefined undefined", "but not for days");
});

void t.test("an event sets how long streams go on", async (t) => {
  const over = (program: string, minute: number, minutes: number) =>
    overrunning(programIn(program), nine + minute * MINUTE, minutes * MINUTE)?.id;
  t.equal(over("a 0-30", 59, 30), "a");
  t.equal(over("a 0-30", 31, 0), undefined);
  t.equal(over("a 0-30", 200, 180), "a");
  t.equal(over("a 0-30 ended", 31, 30), undefined);
  t.equal(over("a 0-30, b 31-40", 31, 30), undefined);
});

void t.test("however hosts press, a program stays in order", async (t) => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  for (let round = 0; round < 300; round++) {
    let sessions = programIn("a 0-30, b 30-60, c 70-100, d 105-120, e 120-130");
    let now = nine;
    for (let press = 0; press < 12; press++) {
      now += random(20) * MINUTE + 2000 + random(60_000);
      const action = (["start", "plus", "hold", "end"] as const)[random(4)]!;
      const session = sessions[random(5)]!.id;
      const moved = runSession(sessions, { session, action }, now, 30 * MINUTE) ?? [];
      const after = new Map(moved.map((it) => [it.id, it]));
      sessions = sessions
        .map((it) => {
          const { overrun = null, ...times } = after.get(it.id) ?? it;
          const { overrun: _, ...rest } = it;
          return { ...rest, ...times, ...(overrun && { overrun }) };
        })
        .sort((one, other) => Date.parse(one.starts_at!) - Date.parse(other.starts_at!));
      for (const { id, starts_at, ends_at } of sessions) {
        const isAfter = Date.parse(ends_at!) > Date.parse(starts_at!);
        if (!isAfter) t.fail(`${id} ends before it begins: round ${round}, press ${press}`);
      }
      const held = sessions.filter(({ overrun }) => overrun === "held");
      if (held.length > 1) t.fail(`two are held: round ${round}`);
      if (action === "start" || action === "plus") {
        const id = sessions.find((it) => it.id === session && after.has(it.id))?.id;
        const on = nowAndNext(sessions, now).now?.id;
        const isOn = action === "plus" || id === undefined || held.length > 0 || on === id;
        if (!isOn) t.fail(`${id} was started, but ${on} is on: round ${round}, press ${press}`);
      }
    }
  }
  t.pass("every round");
});
