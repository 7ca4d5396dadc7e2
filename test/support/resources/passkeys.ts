import type { StoredPasskey } from "../../../db/contract/passkey-store.js";
import { type Contract, fails } from "../../contract/db/store-contract/setup.js";
import { ABSENT, type CallKit, type CallTable } from "../../contract/engines/calls.js";
import type { Resource } from "../resource.js";

const LIST = "/api/v1/worlds/:world_id/passkeys/";

const passkey = (id: string, user: string, more: Partial<StoredPasskey> = {}): StoredPasskey => ({
  id,
  user,
  name: "Laptop",
  publicKey: "cHVibGlj",
  counter: 0,
  host: "localhost",
  transports: ["internal", "hybrid"],
  proof: "guest",
  created: 1000,
  used: null,
  ...more,
});

async function contract(contract: Contract): Promise<void> {
  await contract("a passkey belongs to one user", async (t, store, open) => {
    const { passkeys, users } = store;
    const enter = async (clientId: string) =>
      (await users.enter("demo", { clientId, traits: new Set() })).id;
    const [ann, bob] = [await enter("ann"), await enter("bob")];
    const other = (await open()).passkeys;
    const laptop = passkey("a1", ann);
    await passkeys.add("demo", laptop, "c1");
    t.strictSame(await other.get("demo", "a1"), laptop);
    t.equal(await passkeys.get("other", "a1"), undefined, "of one world");
    await fails(t, other.add("demo", passkey("a2", ann), "c1"), "changed");
    await fails(t, other.add("demo", passkey("a1", bob), "c2"), "taken", "id");
    await fails(t, passkeys.add("demo", passkey("a2", ABSENT.left), "c3"), "absent", "user");
    await fails(t, passkeys.remove("demo", bob, "a1"), "absent", "passkey");
    await other.add("demo", passkey("a2", ann, { created: 2000, name: "Phone" }), "c4");
    t.strictSame(
      (await passkeys.of("demo", ann)).map(({ name }) => name),
      ["Laptop", "Phone"],
    );
    t.strictSame([...(await passkeys.counts("demo", [ann, bob]))], [[ann, 2]]);
    await other.remove("demo", ann, "a1");
    t.strictSame(
      (await passkeys.of("demo", ann)).map(({ id }) => id),
      ["a2"],
    );
    for (let i = 3; i <= 11; i++) await passkeys.add("demo", passkey(`a${i}`, ann), `d${i}`);
    await fails(t, passkeys.add("demo", passkey("a12", ann), "d12"), "quota", "passkeys");
    await users.erase("demo", { user_id: ann });
    t.equal(await passkeys.get("demo", "a2"), undefined, "it is erased with its user");
    await fails(t, passkeys.add("demo", passkey("a2", ann), "c5"), "absent", "user");
  });

  await contract("each challenge counts once, and a counter only rises", async (t, store, open) => {
    const { id: user } = await store.users.enter("demo", { clientId: "ann", traits: new Set() });
    const [one, two] = [store.passkeys, (await open()).passkeys];
    await one.add("demo", passkey("a1", user), "c1");
    const use = (challenge: string, counter: number, at = 2000) =>
      ({ id: "a1", challenge, counter, at }) as const;
    await one.use("demo", use("c2", 0));
    await fails(t, two.use("demo", use("c2", 0)), "changed");
    await fails(t, two.use("demo", use("c1", 0)), "changed");
    await two.use("demo", use("c3", 7, 3000));
    t.match(await one.get("demo", "a1"), { counter: 7, used: 3000 });
    for (const counter of [0, 6, 7]) {
      await fails(t, one.use("demo", use(`c4 ${counter}`, counter)), "changed");
    }
    await two.use("demo", use("c5", 8));
    await fails(t, one.use("demo", { ...use("c6", 9), id: "a2" }), "absent", "passkey");
    const both = await Promise.allSettled([one, two].map((it) => it.use("demo", use("c7", 9))));
    t.strictSame(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });
}

function calls({ pick, chance, whole, text, world, user }: CallKit): CallTable {
  const ids = ["a", "b", "c", "d"];
  // Each counts once.
  const challenge = () => String(whole(30));
  return {
    "passkeys.get": () => ["demo", pick(ids)],
    "passkeys.of": () => ["demo", user()],
    "passkeys.counts": () => {
      const id = user();
      return {
        run: async (s, side) => {
          const name = side === 0 ? id.left : id.right;
          return (await s.passkeys.counts("demo", [name])).get(name);
        },
      };
    },
    "passkeys.add": () => [
      world(),
      { ...passkey(pick(ids), "", { name: text(), counter: whole(3) }), user: user() },
      challenge(),
    ],
    "passkeys.use": () => [
      "demo",
      { id: pick(ids), challenge: challenge(), counter: whole(5), at: whole(1000) },
    ],
    "passkeys.remove": () => {
      const [id, some, isOwner] = [pick(ids), user(), chance(0.5)];
      return {
        run: async (s, side) => {
          const owner = isOwner ? (await s.passkeys.get("demo", id))?.user : undefined;
          await s.passkeys.remove("demo", owner ?? (side === 0 ? some.left : some.right), id);
        },
      };
    },
  };
}

const AUDITED = { not: "It is in the audit, as an act that changes no data." };

// A caller who has not entered the world is unknown there. All other callers are one person,
// without passkeys and without an invitation.
const person = "401 401 401 403 403 200 200 200 200 200 200";
const asked = (status: number) => person.replaceAll("200", String(status));
const anybody = (status: number) => person.replaceAll(/\d+/g, String(status));

/** A response to a ceremony that was never started. */
const response = () => ({
  state: "none",
  response: { id: "k", rawId: "k", type: "public-key", response: { clientDataJSON: "e30" } },
});

const passkeys: Resource = {
  parameter: "passkey_id",
  access: {
    [`GET ${LIST}`]: person,
    [`POST ${LIST}`]: asked(400),
    [`POST ${LIST}options/`]: person,
    [`DELETE ${LIST}:passkey_id/`]: asked(403),
    [`POST ${LIST}login/options/`]: anybody(200),
    [`POST ${LIST}login/`]: anybody(400),
    "GET /api/v1/worlds/:world_id/ways/": person,
    "POST /api/v1/worlds/:world_id/ways/recovery/": asked(409),
  },
  bodies: {
    "/passkeys/": response,
    "/passkeys/login/": response,
  },
  async make({ passkeys, users }) {
    const { id: user } = await users.enter("demo", { clientId: "owner", traits: new Set() });
    for (const { id } of await passkeys.of("demo", user)) await passkeys.remove("demo", user, id);
    const id = `k${Math.random().toString(36).slice(2)}`;
    await passkeys.add("demo", passkey(id, user), id);
    return id;
  },
  has: async ({ passkeys }, id) => (await passkeys.get("demo", id)) !== undefined,
  contract,
  calls,
  async fill({ passkeys, users }) {
    const { id } = await users.enter("demo", { clientId: "owner", traits: new Set() });
    await passkeys.add("demo", passkey("filled", id), "challenge");
  },
  silent: {
    "passkeys.get": "reads",
    "passkeys.of": "reads",
    "passkeys.counts": "reads",
    "passkeys.add": AUDITED,
    "passkeys.use": { not: "Only the person who signs in notices it." },
    "passkeys.remove": AUDITED,
  },
};

export default passkeys;
