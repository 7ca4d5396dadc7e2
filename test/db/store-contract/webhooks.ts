import type { Author } from "../../../db/contract/author.js";
import { worldOf } from "../../helper.js";
import { Expecting, me } from "./logged.js";
import { ABSENT, type Contract, fails } from "./setup.js";

const settings = {
  ...{ url: "https://example.org/hook?key=x", types: ["*"] },
  ...{ enabled: true, description: "" },
};

const first = { page: 1, pageSize: 100 };

export async function webhookContract(contract: Contract): Promise<void> {
  await contract("one process holds a webhook", async (t, store, open) => {
    const { webhooks } = store;
    const other = (await open()).webhooks;
    const hook = await webhooks.create("demo", settings, "whsec_x");
    const { id, position } = hook;
    t.equal(position, (await store.log.heads(["demo"]))[0]!.seq);
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
    await fails(t, webhooks.update("demo", ABSENT, {}), "absent");
    await fails(t, webhooks.delete("demo", ABSENT), "absent");
    await fails(t, webhooks.create("none", settings, ""), "absent");
    for (let i = 0; i < 20; i++) await webhooks.create("demo", settings, "");
    await fails(t, webhooks.create("demo", settings, ""), "quota");
    t.match(await webhooks.list("demo", { page: 3, pageSize: 9 }), {
      ...{ count: 20, webhooks: { length: 2 } },
    });
  });

  await contract("what webhooks and acts append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { webhooks, audit } = store;
    const noted = (act: string, webhook_id: string) =>
      [{ type: "noted", act, subject: { webhook_id } }] as const;
    const hook = await expecting.write(
      "a webhook is made",
      () => webhooks.create("demo", settings, "whsec_x", me),
      ({ id }) => noted("webhook.created", id),
    );
    const { id } = hook;
    await expecting.write(
      "it is changed",
      () => webhooks.update("demo", id, { secret: "whsec_y" }, undefined, me),
      noted("webhook.updated", id),
    );
    await expecting.write(
      "it is held",
      () => webhooks.hold("demo", id, "one", hook),
      [],
    );
    await expecting.write("it lives", () => webhooks.beat("demo", "one"), []);
    const of = { holder: "one", revision: 2 };
    await expecting.write(
      "it has come far",
      () => webhooks.note("demo", id, of, hook),
      [],
    );
    await expecting.write(
      "it is disabled",
      () => webhooks.disable("demo", id, of, hook, me),
      noted("webhook.updated", id),
    );
    await expecting.write(
      "it is deleted",
      () => webhooks.delete("demo", id, undefined, me),
      noted("webhook.deleted", id),
    );
    await expecting.write(
      "an act",
      () => audit.record("demo", { type: "a", subject: { b: "c" } }, me),
      [{ type: "noted", act: "a", subject: { b: "c" } }],
    );
    await expecting.write("a purge", () => audit.prune("demo", 1, 1), []);
    await fails(t, audit.record("none", { type: "a", subject: {} }), "absent");
    const { entries } = await audit.list("demo", first);
    t.match(
      entries.map(({ type }) => type),
      ["a", "webhook.deleted", "webhook.updated", "webhook.updated"],
    );
    t.notMatch(JSON.stringify(entries), /whsec|key=/, "no secrets");
  });

  await contract("the audit forgets what is erased", async (t, store, open) => {
    const { audit, rooms, users, questions } = store;
    await store.worlds.create(worldOf("other"));
    const by: Author = { kind: "api", token: "t", uid: "eve", request: "r" };
    const { id: room } = (await rooms.create("demo", { name: "a" }, by)).value;
    const visitor = { tokenId: "eve", traits: new Set<string>() };
    const { id: sender } = await users.enter("demo", visitor);
    const draft = { content: "my secret", sender, state: "visible" } as const;
    const { id } = await questions.create("demo", room, draft);
    const changes = { content: "our secret" };
    await questions.update("demo", room, id, changes, sender, by);
    const { count, entries } = await audit.list("demo", first);
    t.equal(count, 2);
    t.match(entries, [
      {
        ...{ type: "question.updated", by: { token: "t" }, request_id: "r" },
        changes: [{ field: "content", before: null, after: null }],
      },
      { type: "room.created", by: { kind: "api", token: "t" } },
    ]);
    t.match(await audit.callers("demo", ["t"]), new Map([["t", "eve"]]));
    await users.erase("demo", { user_id: sender });
    t.strictSame(await (await open()).audit.callers("demo", ["t"]), new Map());
    const all = await audit.list("demo", first);
    t.equal(all.count, 3, "what was done stays");
    t.notMatch(JSON.stringify(all.entries), /eve|secret/);
    t.strictSame((await audit.list("other", first)).entries, []);

    const later = () => Date.now() + 1000;
    const expectList = async (name: string, expected: typeof all) => {
      t.strictSame(await audit.list("demo", first), expected, name);
    };
    while (await store.log.prune("demo", later()));
    await expectList("what the log has no more", all);
    await store.rooms.delete("demo", room, undefined, by);
    const both = await audit.list("demo", first);
    t.equal(both.count, 4);
    t.match(both.entries, [
      { type: "room.deleted", subject: { room_id: room } },
      ...all.entries,
    ]);
    for (const [asked, types] of [
      [{ types: ["room.deleted", "room.created"] }, ["deleted", "created"]],
      [{ user: sender }, []],
      [{ page: 2, pageSize: 3 }, ["created"]],
      [{ before: 1 }, []],
    ] as const) {
      const { entries } = await audit.list("demo", { ...first, ...asked });
      t.match(
        entries.map(({ type }) => type),
        types.map((type) => `room.${type}`),
      );
    }
    t.notOk(await audit.prune("demo", later(), later()));
    await expectList("what the log has", {
      ...{ count: 1, entries: both.entries.slice(0, 1) },
    });
    const { entries: logged } = await store.log.since("demo", 0, 9);
    t.notOk(await store.log.prune("demo", 0, later()));
    await expectList("the log is kept for longer", { count: 0, entries: [] });
    t.strictSame((await store.log.since("demo", 0, 9)).entries, logged);

    await store.rooms.create("demo", { name: "b" }, by);
    for (const [hours, left] of [
      [0, new Map([["t", "eve"]])],
      [2, new Map()],
    ] as const) {
      await audit.prune("demo", 0, later() + hours * 3_600_000);
      t.strictSame(await audit.callers("demo", ["t"]), left);
    }
    await store.worlds.delete("demo");
    await store.worlds.create(worldOf("demo"));
    await expectList("a deleted world", { count: 0, entries: [] });
  });
}
