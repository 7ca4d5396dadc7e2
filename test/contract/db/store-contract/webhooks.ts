import type { Author } from "../../../../db/contract/author.js";
import type { Store } from "../../../../db/contract/store.js";
import { type Contract, enter, fails, headOf } from "./setup.js";
import { worldOf } from "../../../support/helper.js";

const settings = {
  url: "https://example.org/hook?key=x",
  types: ["*"],
  enabled: true,
  description: "",
};

const first = { page: 1, pageSize: 100 };

export async function webhookContract(contract: Contract): Promise<void> {
  await contract("one process holds a webhook", async (t, store, open) => {
    const { webhooks } = store;
    const other = (await open()).webhooks;
    const hook = await webhooks.create("demo", settings, "whsec_x");
    const { id, position } = hook;
    t.equal(position, await headOf(store));
    t.match(await other.enabled(), [{ id, world: "demo", secret: "whsec_x" }]);
    t.ok(await webhooks.hold("demo", id, "one", hook));
    t.notOk(await other.hold("demo", id, "two", hook), "it has one");
    const held = (await other.get("demo", id))!;
    await webhooks.beat("demo", "one");
    t.notOk(await other.hold("demo", id, "two", held), "that lives");
    const state = { ...held, position: 7, last_status: 204 };
    const one = { holder: "one", revision: held.revision };
    t.ok(await webhooks.note("demo", id, one, state));
    t.match(await other.get("demo", id), { position: 7, last_status: 204 });
    await other.update("demo", id, { position: 3 });
    t.notOk(await webhooks.note("demo", id, one, state), "it was changed");
    t.match(await webhooks.get("demo", id), { position: 3 });
    const silent = (await other.get("demo", id))!;
    t.ok(await other.hold("demo", id, "two", silent));
    const late = { holder: "one", revision: silent.revision };
    t.notOk(await webhooks.note("demo", id, late, state), "it has another");
    const two = { ...late, holder: "two" };
    t.ok(await other.disable("demo", id, two, state));
    t.notOk(await other.note("demo", id, two, state), "it stays disabled");
    t.strictSame(await webhooks.enabled(), []);
    const stale = [silent.revision - 1];
    await fails(t, webhooks.update("demo", id, {}, stale), "changed");
    await fails(t, webhooks.delete("demo", id, stale), "changed");
    const { revision } = (await webhooks.get("demo", id))!;
    await webhooks.delete("demo", id, [revision]);
    t.equal(await other.get("demo", id), undefined);
    for (let i = 0; i < 20; i++) await webhooks.create("demo", settings, "");
    await fails(t, webhooks.create("demo", settings, ""), "quota");
    const last = await webhooks.list("demo", { page: 3, pageSize: 9 });
    t.match(last, { count: 20, webhooks: { length: 2 } });
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
