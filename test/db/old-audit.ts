import type { Test } from "tap";
import type { Store } from "../../db/contract/store.js";

/** The rows of the audit when it was a table of its own, in the order of its columns in a backup. */
export const OLD_AUDIT: readonly (readonly (string | number | null)[])[] = [
  [
    ...[7, "old", 2000, "user", "ada", null, "room.updated"],
    ...['{"room_id":"r"}', '[{"field":"name","before":1,"after":"\\""}]', "q"],
  ],
  [9, "old", 1000, "api", null, "dead", "token.created", "{}", "[]", null],
  [90, "old", 3000, "command", null, null, "world.exported", "{}", "[]", null],
];

const literal = (value: string | number | null): string =>
  typeof value === "string" ? `'${value}'` : `${value}`;

/** Statements that store them and a log of the world, whose last entry hides a text. */
export const INSERT_OLD_AUDIT = `
  INSERT INTO audit (number, world_id, at, kind, user_id, token, type, subject, changes, request_id)
    VALUES ${OLD_AUDIT.map((row) => `(${row.map(literal).join()})`).join()};
  INSERT INTO log (world_id, seq, tag, at, type, author, detail, data)
    VALUES ('old', 8, 4, 2000, 'rooms.reordered', '{"kind":"server"}', '{}', '{"text":"hidden"}');
  INSERT INTO log_heads (world_id, seq, tag) VALUES ('old', 8, 4)
    ON CONFLICT (world_id) DO UPDATE SET seq = 8, tag = 4;`;

/** The audit of a store has them, and its log goes on behind their numbers. */
export async function expectOldAudit(t: Test, store: Store): Promise<void> {
  const first = { page: 1, pageSize: 9 };
  const { entries, count } = await store.audit.list("old", first);
  t.equal(count, 3);
  t.strictSame(JSON.parse(JSON.stringify(entries)), [
    {
      ...{ number: 90, at: 3000, by: { kind: "command" } },
      ...{ type: "world.exported", subject: {}, changes: [], request_id: null },
    },
    {
      ...{ number: 9, at: 1000, by: { kind: "api", token: "dead" } },
      ...{ type: "token.created", subject: {}, changes: [], request_id: null },
    },
    {
      ...{ number: 7, at: 2000, by: { kind: "user", user: "ada" } },
      ...{ type: "room.updated", subject: { room_id: "r" }, request_id: "q" },
      changes: [{ field: "name", before: 1, after: '"' }],
    },
  ]);
  const ofAda = await store.audit.list("old", { ...first, user: "ada" });
  t.match(ofAda, { count: 1, entries: [{ number: 7 }] });
  const [head] = await store.log.heads(["old"]);
  t.equal(head!.seq, 91);
  const since = await store.log.since("old", 8, 9);
  t.match(since.entries, [{ type: "world.raised", seq: 91, tag: head!.tag }]);
  await store.rooms.create("old", { name: "a" });
  const { entries: more } = await store.audit.list("old", first);
  t.match(more, [{ number: 92, type: "room.created" }, ...entries]);
}
