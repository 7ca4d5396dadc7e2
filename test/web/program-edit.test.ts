import t from "tap";
import type { SentSession } from "../../client/index.js";
import { overlaps, speakerOverlaps } from "../../web/state/program-edit.js";

type Place = readonly [
  id: string,
  room: string | null,
  speakers: string[],
  from: number,
  to: number,
];

const session = ([id, room_id, speaker_ids, from, to]: Place) => {
  const at = (hour: number) =>
    new Date(Date.UTC(2027, 0, 31, hour)).toISOString();
  const times = { starts_at: at(from), ends_at: at(to) };
  return { id, room_id, speaker_ids, ...times } as SentSession;
};

void t.test("what overlaps in the program", async (t) => {
  const rows: [
    name: string,
    places: Place[],
    rooms: string[],
    speakers: string[],
  ][] = [
    [
      "one after the other",
      [
        ["a", "1", ["mei"], 9, 10],
        ["b", "1", ["mei"], 10, 11],
      ],
      [],
      [],
    ],
    [
      "in one room",
      [
        ["a", "1", ["mei"], 9, 11],
        ["b", "1", ["mei"], 10, 12],
      ],
      ["a-b", "b-a"],
      [],
    ],
    [
      "one speaker in two rooms",
      [
        ["a", "1", ["mei", "ada"], 9, 11],
        ["b", "2", ["ada"], 10, 12],
      ],
      [],
      ["a-b", "b-a"],
    ],
    [
      "one speaker, without rooms",
      [
        ["a", null, ["mei"], 9, 11],
        ["b", null, ["mei"], 10, 12],
      ],
      [],
      ["a-b", "b-a"],
    ],
    [
      "the second of three",
      [
        ["a", "1", ["mei"], 9, 10],
        ["b", "2", ["ada"], 9, 12],
        ["c", "3", ["mei", "ada"], 11, 12],
      ],
      [],
      ["b-c", "c-b"],
    ],
  ];
  for (const [name, places, rooms, speakers] of rows) {
    const sessions = places.map(session);
    const pairs = (found: ReturnType<typeof overlaps>) =>
      [...found].map(([id, other]) => `${id}-${other.session.id}`).sort();
    t.same(pairs(overlaps(sessions)), rooms, `${name}: rooms`);
    t.same(pairs(speakerOverlaps(sessions)), speakers, `${name}: speakers`);
  }
  const [, double] = [...speakerOverlaps(rows[2]![1].map(session))][0]!;
  t.equal(double.id, "ada", "it says who");
});
