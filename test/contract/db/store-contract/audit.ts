import type { Author } from "../../../../db/contract/author.js";
import type { Store } from "../../../../db/contract/store.js";
import { worldOf } from "../../../support/helper.js";
import { type Contract, enter } from "./setup.js";

const first = { page: 1, pageSize: 100 };

const SESSION_TYPES = ["session.created", "session.updated", "session.deleted"];

export async function auditContract(contract: Contract): Promise<void> {
  await contract("the audit says what changed in a session", async (t, store) => {
    const { audit, program, rooms } = store;
    const by: Author = { kind: "api", token: "t", request: "r" };
    const { id: room } = (await rooms.create("demo", { name: "Hall" })).value;
    const made = await program.createSession("demo", { title: "Opening" }, by);
    if ("faults" in made) throw new Error(JSON.stringify(made));
    const { id } = made.session.value;
    const change = {
      title: "Closing",
      room_id: room,
      abstract: "Long",
      stream: { url: "https://a/?key=1" },
    };
    await program.updateSession("demo", id, change, undefined, by);
    await program.deleteSession("demo", id, undefined, by);
    const field = (field: string, before: unknown, after: unknown) => ({ field, before, after });
    const { entries } = await audit.list("demo", { ...first, types: SESSION_TYPES });
    const changes = entries.map(({ changes }) =>
      changes.sort((a, b) => (a.field < b.field ? -1 : 1)),
    );
    t.strictSame(changes, [
      [field("title", "Closing", null)],
      [
        field("abstract", null, null),
        field("room_id", null, room),
        field("stream", null, null),
        field("title", "Opening", "Closing"),
      ],
      [field("title", null, "Opening")],
    ]);
  });

  await contract("the audit forgets what is erased", async (t, store, open) => {
    const { audit, rooms, users, questions } = store;
    await store.worlds.create(worldOf("other"));
    const by: Author = { kind: "api", token: "t", uid: "eve", request: "r" };
    const { id: room } = (await rooms.create("demo", { name: "a" }, by)).value;
    const sender = await enter(store, "eve");
    const draft = { content: "my secret", sender, state: "visible" } as const;
    const { id } = await questions.create("demo", room, draft);
    await questions.update("demo", room, id, { content: "our secret" }, sender, by);
    const changes = [{ field: "content", before: null, after: null }];
    t.match(await audit.list("demo", first), {
      count: 2,
      entries: [
        { type: "question.updated", by: { token: "t" }, request_id: "r", changes },
        { type: "room.created", by: { kind: "api", token: "t" } },
      ],
    });
    const expectCallers = async (from: Store, callers: [string, string][]) =>
      t.strictSame(await from.audit.callers("demo", ["t"]), new Map(callers));
    await expectCallers(store, [["t", "eve"]]);
    await users.erase("demo", { user_id: sender });
    await expectCallers(await open(), []);
    const all = await audit.list("demo", first);
    t.equal(all.count, 3, "what was done stays");
    t.notMatch(JSON.stringify(all.entries), /eve|secret/);
    t.strictSame((await audit.list("other", first)).entries, []);

    const later = () => Date.now() + 1000;
    const expectList = async (name: string, entries: typeof all.entries) => {
      const expected = { count: entries.length, entries };
      t.strictSame(await audit.list("demo", first), expected, name);
    };
    while (await store.log.prune("demo", later()));
    await expectList("what the log has no more", all.entries);
    await store.rooms.delete("demo", room, undefined, by);
    const both = await audit.list("demo", first);
    t.equal(both.count, 4);
    t.match(both.entries, [{ type: "room.deleted", subject: { room_id: room } }, ...all.entries]);
    for (const [asked, types] of [
      [{ types: ["room.deleted", "room.created"] }, ["room.deleted", "room.created"]],
      [{ user: sender }, []],
      [{ page: 2, pageSize: 3 }, ["room.created"]],
      [{ before: 1 }, []],
    ] as const) {
      const { entries } = await audit.list("demo", { ...first, ...asked });
      t.strictSame(
        entries.map(({ type }) => type),
        types,
      );
    }
    t.notOk(await audit.prune("demo", later(), later()));
    await expectList("what the log has", both.entries.slice(0, 1));
    const { entries: logged } = await store.log.since("demo", 0, 9);
    t.notOk(await store.log.prune("demo", 0, later()));
    await expectList("the log is kept for longer", []);
    t.strictSame((await store.log.since("demo", 0, 9)).entries, logged);

    await store.rooms.create("demo", { name: "b" }, by);
    await audit.prune("demo", 0, later());
    await expectCallers(store, [["t", "eve"]]);
    await audit.prune("demo", 0, later() + 2 * 3_600_000);
    await expectCallers(store, []);
    await store.worlds.delete("demo");
    await store.worlds.create(worldOf("demo"));
    await expectList("a deleted world", []);
  });
}
