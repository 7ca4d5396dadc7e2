import type { Author } from "../../../db/contract/author.js";
import { type Contract, fails, headOf } from "../../contract/db/store-contract/setup.js";
import { ABSENT, type CallKit, type CallTable, type Name } from "../../contract/engines/calls.js";
import { ACCESS, accessTo, type Resource } from "../resource.js";

const LIST = "/api/v1/worlds/:world_id/webhooks/";
const ONE = `${LIST}:webhook_id/`;

const settings = {
  url: "https://example.org/hook?key=x",
  types: ["*"],
  enabled: true,
  description: "",
};

async function contract(contract: Contract): Promise<void> {
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
}

function calls({ pick, chance, whole, text, world, page, from, keepIn }: CallKit): CallTable {
  const webhooks: Name[] = [];
  const heldState = () => [
    { revision: 1 + whole(3), holder: pick(["p", "q"]) },
    {
      position: whole(9),
      delivered_at: null,
      failing_since: null,
      last_status: 200,
      last_error: null,
      next_try_at: null,
      attempts: whole(3),
    },
  ];

  return {
    "webhooks.list": () => ["demo", page()],
    "webhooks.get": () => ["demo", from(webhooks, ABSENT)],
    "webhooks.enabled": () => ({ run: async (s) => (await s.webhooks.enabled()).length }),
    "webhooks.create": () => {
      const settings = { url: "https://x/", types: [text()], enabled: chance(0.8) };
      return {
        args: [world(), { ...settings, description: text() }, "secret"],
        keep: keepIn(webhooks, ({ id }: { id: string }) => id),
      };
    },
    "webhooks.update": () => [
      "demo",
      from(webhooks, ABSENT),
      pick([{ description: text() }, { enabled: chance(0.5) }, { position: whole(9) }]),
      pick([undefined, [1, 2]]),
    ],
    "webhooks.delete": () => ["demo", from(webhooks, ABSENT), pick([undefined, [1], []])],
    "webhooks.hold": () => [
      "demo",
      from(webhooks, ABSENT),
      pick(["p", "q", null]),
      { holder: pick([null, "p"]), beat: whole(3) },
    ],
    "webhooks.beat": () => ["demo", pick(["p", "q"])],
    "webhooks.note": () => ["demo", from(webhooks, ABSENT), ...heldState()],
    "webhooks.disable": () => ["demo", from(webhooks, ABSENT), ...heldState()],
  };
}

const AUDITED = { not: "It is in the audit, as an act that changes no data." };
const STATE = { not: "It is what the server keeps for its own work." };

const webhooks: Resource = {
  parameter: "webhook_id",
  access: {
    ...accessTo(LIST, ONE),
    [`POST ${ONE}test`]: ACCESS.read,
    [`POST ${ONE}redeliver`]: ACCESS.read,
  },
  bodies: {
    "/webhooks/": () => ({ url: "https://1.1.1.1/", enabled: false }),
    "/webhooks/:webhook_id/": (description) => ({ description }),
    "/redeliver": () => ({ after: "0" }),
  },
  // It is the only one, and goes nowhere.
  async make({ webhooks }) {
    const all = await webhooks.list("demo", { page: 1, pageSize: 100 });
    for (const { id } of all.webhooks) await webhooks.delete("demo", id);
    const local = { ...settings, url: "https://127.0.0.1/", enabled: false };
    return (await webhooks.create("demo", local, "whsec_")).id;
  },
  has: async ({ webhooks }, id) => (await webhooks.get("demo", id)) !== undefined,
  contract,
  calls,
  fill({ webhooks }) {
    const by: Author = { kind: "api", token: "0".repeat(32), uid: "shop" };
    return webhooks.create("demo", settings, "whsec_x", by);
  },
  silent: {
    "webhooks.list": "reads",
    "webhooks.get": "reads",
    "webhooks.enabled": "reads",
    "webhooks.create": AUDITED,
    "webhooks.update": AUDITED,
    "webhooks.delete": AUDITED,
    "webhooks.hold": STATE,
    "webhooks.beat": STATE,
    "webhooks.note": STATE,
    "webhooks.disable": AUDITED,
  },
};

export default webhooks;
