import t, { type Test } from "tap";
import { get, writable } from "svelte/store";
import type { SentSession } from "../../client/index.js";
import { type Board, stagesOf } from "../../web/state/program.js";

// What the stage of a room shows, by a clock of the test.

const HALL = "hall";
const noon = Date.parse("2027-03-01T12:00:00Z");
const at = (minute: number) => new Date(noon + minute * 60_000).toISOString();

/** A session of the hall. Times are minutes after noon. */
const session = (
  id: string,
  start: number,
  end: number,
  more: Partial<SentSession> = {},
) =>
  ({
    ...{ id, room_id: HALL, state: "public", recording: null },
    ...{ starts_at: at(start), ends_at: at(end) },
    ...more,
  }) as SentSession;

const boardOf = (...sessions: SentSession[]) =>
  ({
    sessions,
    byId: new Map(sessions.map((it) => [it.id, it])),
  }) as unknown as Board;

/** The stage of the hall, as an open page has it. */
function stageOf(t: Test, ...sessions: SentSession[]) {
  const board = writable<Board | undefined>(boardOf(...sessions));
  const clock = writable(noon);
  const stages = stagesOf(board, clock);
  t.teardown(stages.subscribe(() => {}));
  return {
    change: (...sessions: SentSession[]) => board.set(boardOf(...sessions)),
    /** What it shows at a minute: the session that is on, or `+` and the one that runs over. */
    at(minute: number) {
      clock.set(noon + minute * 60_000);
      const { now, overrun } = get(stages).get(HALL) ?? {};
      return now?.id ?? (overrun ? `+${overrun.id}` : "");
    },
  };
}

void t.test("a stream goes on after the end of its session", async (t) => {
  const recording = { url: "https://video.example.org/1", duration: null };
  const rows: [
    name: string,
    sessions: SentSession[],
    shown: [minute: number, is: string][],
  ][] = [
    [
      "until the next one begins",
      [session("a", 0, 10), session("b", 25, 30)],
      [
        [-1, ""],
        [0, "a"],
        [10, "+a"],
        [24, "+a"],
        [25, "b"],
        [30, "+b"],
      ],
    ],
    [
      "for half an hour at most",
      [session("a", 0, 10), session("b", 90, 95)],
      [
        [39, "+a"],
        [40, ""],
        [89, ""],
        [90, "b"],
      ],
    ],
    [
      "but an earlier one that is still on has the stage",
      [session("a", 0, 60), session("b", 10, 20)],
      [
        [15, "b"],
        [20, "a"],
        [60, "+a"],
      ],
    ],
    [
      "until its recording is there",
      [session("a", 0, 10, { recording })],
      [[11, ""]],
    ],
    [
      "in its own room",
      [session("a", 0, 10), session("b", 0, 20, { room_id: "attic" })],
      [[11, "+a"]],
    ],
    ["not as a draft", [session("a", 0, 10, { state: "draft" })], [[11, ""]]],
  ];
  for (const [name, sessions, shown] of rows) {
    const stage = stageOf(t, ...sessions);
    for (const [minute, is] of shown) {
      t.equal(stage.at(minute), is, `${name}: ${minute}`);
    }
  }
});

void t.test("a host ends it", async (t) => {
  const stage = stageOf(t, session("a", 0, 10));
  t.equal(stage.at(5), "a");
  stage.change(session("a", 0, 4));
  t.equal(stage.at(5), "", "while it is on");
  stage.change(session("a", 0, 10));
  t.equal(stage.at(6), "a", "and takes that back");
  t.equal(stage.at(12), "+a");
  stage.change(session("a", 0, 11));
  t.equal(stage.at(12), "", "while it runs over");
  stage.change(session("a", 0, 11), session("b", 60, 70));
  t.equal(stage.at(13), "", "and changes something else");
  stage.change();
  t.equal(stage.at(13), "", "or deletes it");
});
