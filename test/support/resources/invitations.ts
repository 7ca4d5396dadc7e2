import type { Author } from "../../../db/contract/author.js";
import { beside, type Contract, fails } from "../../contract/db/store-contract/setup.js";
import { ABSENT, type CallKit, type CallTable, type Name } from "../../contract/engines/calls.js";
import { ACCESS, accessTo, type Resource } from "../resource.js";
import type {
  InvitationRecord,
  InvitationSelection,
} from "../../../db/contract/invitation-store.js";

const LIST = "/api/v1/worlds/:world_id/invitations/";
const ONE = `${LIST}:invitation_id/`;

const DAY_MS = 24 * 60 * 60_000;

async function contract(contract: Contract): Promise<void> {
  const withOther = beside(contract);

  await withOther("invitations are made together, found and counted", async (t, store, open) => {
    const { invitations } = store;
    const other = (await open()).invitations;
    const drafts = [
      { name: "Ann Straße", email: "Ann@Example.org", role: "admin" },
      { name: "Bo", email: null, role: "speaker", uid: "bo" },
      { role: "attendee", expires_at: 5000 },
      { name: "Cy", email: "ann@example.ORG", role: "speaker", expires_at: null },
    ];
    const made = await invitations.create("demo", drafts);
    const [ann, bo, ended, cy] = made as [InvitationRecord, ...InvitationRecord[]];
    t.match(ann, { name: "Ann Straße", email: "Ann@Example.org", ends: "never", used_at: null });
    t.match([ann.link, ann.recovery, ann.session, ann.revoked_at], [1, 1, 1, null]);
    t.match(bo, { uid: "bo", email: null, ends: "event", expires_at: null });
    t.match([ended, cy], [{ name: "", ends: "time", expires_at: 5000 }, { ends: "never" }]);
    t.not(ann.uid, cy!.uid, "each has a uid of its own");
    t.strictSame(await other.get("demo", bo!.id), bo);
    t.equal(await other.get("other", bo!.id), undefined);
    t.equal(await other.standing("other", bo!.id), undefined);
    t.strictSame(await other.byUser("demo", "bo"), bo);
    t.equal(await other.byUser("other", "bo"), undefined);
    const same = await other.byEmail("demo", "ANN@example.org");
    t.strictSame(same, [ann, cy]);
    t.strictSame(await other.takenUids("demo", ["bo", "x"]), ["bo"]);

    const found = async (more: Partial<InvitationSelection>) => {
      const selection = { page: 1, pageSize: 10, now: 6000, ...more };
      const { count, invitations } = await other.list("demo", selection);
      return [count, ...invitations.map(({ name }) => name)];
    };
    t.strictSame(await found({}), [4, "Ann Straße", "Bo", "", "Cy"]);
    t.strictSame(await found({ q: "straße" }), [1, "Ann Straße"]);
    t.strictSame(await found({ q: "EXAMPLE" }), [2, "Ann Straße", "Cy"]);
    t.strictSame(await found({ q: "%" }), [0]);
    t.strictSame(await found({ role: "speaker" }), [2, "Bo", "Cy"]);
    t.strictSame(await found({ state: "expired" }), [1, ""]);
    t.strictSame(await found({ state: "invited" }), [3, "Ann Straße", "Bo", "Cy"]);
    t.strictSame(await found({ page: 2, pageSize: 3 }), [4, "Cy"]);
    t.strictSame(await found({ after: [bo!.number] }), [4, "", "Cy"]);

    const twice = [{ role: "x" }, { role: "x", uid: "bo" }];
    await fails(t, invitations.create("demo", twice), "taken", "uid");
    const twins = [0, 1].map(() => ({ role: "x", uid: "y" }));
    await fails(t, invitations.create("demo", twins), "taken", "uid");
    await fails(t, invitations.create("none", twice), "absent", "world");
    t.equal((await found({}))[0], 4, "all or none");
    t.match(await invitations.create("other", [{ role: "x", uid: "bo" }]), [{ uid: "bo" }]);
    t.strictSame(await invitations.create("demo", []), []);
  });

  await contract(
    "an invitation ends with the event, unless its people run it",
    async (t, store) => {
      const { invitations, worlds } = store;
      const world = (await worlds.get("demo"))!.value;
      const end = "2027-03-02T18:00:00Z";
      await worlds.update("demo", { config: { ...world.config, event: { ends_at: end } } });
      const drafts = [{ role: "attendee" }, { role: "admin" }];
      const [guest, host] = (await invitations.create("demo", drafts)) as [
        InvitationRecord,
        InvitationRecord,
      ];
      const over = Date.parse(end) + 30 * DAY_MS;
      const expired = async (now: number) => {
        const selection = { page: 1, pageSize: 10, state: "expired", now } as const;
        return (await invitations.list("demo", selection)).invitations.map(({ id }) => id);
      };
      t.strictSame([await expired(over - 1), await expired(over)], [[], [guest.id]]);
      t.match(await invitations.update("demo", guest.id, { role: "admin" }), { ends: "never" });
      t.match(await invitations.update("demo", host.id, { role: "attendee" }), { ends: "event" });
      await invitations.update("demo", host.id, { expires_at: 7 });
      const kept = await invitations.update("demo", host.id, { role: "admin" });
      t.match(kept, { ends: "time", expires_at: 7 }, "an end that was set stays");
      t.match(await invitations.update("demo", host.id, { expires_at: null }), { ends: "never" });
    },
  );

  await contract("what an invitation grants is seen by all processes", async (t, store, open) => {
    const { invitations, users, push } = store;
    const other = await open();
    const [made] = await invitations.create("demo", [{ role: "admin", uid: "ann" }]);
    const { id } = made!;
    const traits = new Set(["admin", "api"]);
    const ann = await users.enter("demo", { tokenId: "ann", traits, login: true });
    const seen = () => other.invitations.standing("demo", id);
    t.match(await seen(), { role: "admin", link: 1, used_at: null });
    await invitations.touch("demo", id, 11);
    await invitations.touch("demo", id, 12);
    t.match(await invitations.get("demo", id), {
      used_at: 11,
      user_id: ann.id,
      last_seen_at: ann.last_seen,
      revision: 1,
    });

    const subscription = { endpoint: "https://push.example/1", p256dh: "p", auth: "a" };
    const subscribe = () => push.subscribe("demo", ann.id, subscription, 1);
    const subscribed = async () => (await push.of("demo", [ann.id])).length;
    await subscribe();
    t.equal(await subscribed(), 1);
    t.match(await invitations.renew("demo", id, "link"), { link: 2, recovery: 1, session: 1 });
    t.equal(await subscribed(), 0, "the devices of the old link receive nothing more");
    t.match(await invitations.renew("demo", id, "recovery"), { link: 2, recovery: 2 });
    t.match(await seen(), { link: 2, recovery: 2 });
    await subscribe();

    const [guest] = await invitations.create("demo", [{ role: "attendee" }]);
    await invitations.update("demo", guest!.id, { name: "Bo", email: "bo@example.org" });
    t.match(await other.invitations.byEmail("demo", "BO@example.org"), [{ name: "Bo" }]);
    await invitations.update("demo", id, { role: "moderator" });
    t.match(await seen(), { role: "moderator" });
    t.strictSame((await other.users.get("demo", ann.id))!.traits, ["moderator"]);

    await invitations.update("demo", id, { revoked: true });
    t.match(await seen(), { revoked_at: Number, link: 3, recovery: 3, session: 2 });
    t.strictSame((await other.users.get("demo", ann.id))!.traits, []);
    t.equal(await subscribed(), 0);
    await fails(t, invitations.renew("demo", id, "link"), "denied");
    const { revision } = (await invitations.get("demo", id))!;
    await invitations.update("demo", id, { revoked: true });
    t.match(await invitations.get("demo", id), { revision }, "nothing has changed");
    await invitations.update("demo", id, { revoked: false });
    t.match(await seen(), { revoked_at: null, link: 3, session: 2 });

    const stale = [1];
    await fails(t, invitations.update("demo", id, { name: "x" }, stale), "changed");
    await fails(t, invitations.renew("demo", id, "link", stale), "changed");
    await fails(t, invitations.remove("demo", id, stale), "changed");
    await invitations.remove("demo", id);
    t.equal(await seen(), undefined);
    await fails(t, invitations.remove("demo", id), "absent", "invitation");
    await fails(t, invitations.update("demo", id, {}), "absent", "invitation");
    await fails(t, invitations.renew("demo", id, "link"), "absent", "invitation");
    await invitations.touch("demo", id, 1);
  });

  await contract("an erased person has no invitation", async (t, store, open) => {
    const { invitations, users } = store;
    const [ann] = await invitations.create("demo", [
      { name: "Ann", email: "a@example.org", role: "x", uid: "ann" },
      { name: "Bo", role: "x", uid: "bo" },
    ]);
    await users.enter("demo", { tokenId: "ann", traits: new Set(["x"]), login: true });
    const other = await open();
    t.ok(await other.invitations.standing("demo", ann!.id));
    await users.erase("demo", { token_id: "ann" });
    t.equal(await other.invitations.standing("demo", ann!.id), undefined);
    t.equal(await other.invitations.byUser("demo", "ann"), undefined);
    t.match(await other.invitations.byUser("demo", "bo"), { name: "Bo" });
    const selection = { page: 1, pageSize: 10, now: 0 };
    t.match(await other.invitations.list("demo", selection), { count: 1 });
  });

  await contract("a copy of a world has its invitations, and a clone has not", async (t, store) => {
    const { invitations, worlds } = store;
    const draft = { name: "Ann", email: "Ann@example.org", role: "x", uid: "ann" };
    const [ann] = await invitations.create("demo", [draft]);
    await invitations.renew("demo", ann!.id, "link");
    const lines: string[] = [];
    for await (const line of worlds.export("demo")) lines.push(line);
    await worlds.clone("demo", {
      ...(await worlds.get("demo"))!.value,
      id: "clone",
      domain: "c.example",
    });
    t.equal(await invitations.byUser("clone", "ann"), undefined);
    await worlds.delete("demo", []);
    await worlds.import({ lines });
    const { number: _, ...rest } = (await invitations.get("demo", ann!.id))!;
    t.match(rest, { ...draft, link: 2, id: ann!.id });
    t.match(await invitations.byEmail("demo", "ann@EXAMPLE.org"), [{ id: ann!.id }]);
  });
}

function calls({ pick, chance, whole, text, world, page, from, keepIn }: CallKit): CallTable {
  const invitations: Name[] = [];
  const revisions = () => pick([undefined, undefined, [1], [1, 2], []]);
  const some = () => from(invitations, ABSENT);
  return {
    "invitations.list": () => [
      "demo",
      {
        ...page(),
        now: 1000,
        q: pick([undefined, text()]),
        role: pick([undefined, "admin"]),
        state: pick([undefined, "invited", "revoked", "expired"]),
      },
    ],
    "invitations.get": () => ["demo", some()],
    "invitations.getMany": () => ["demo", [some(), some()]],
    "invitations.standing": () => ["demo", some()],
    "invitations.byEmail": () => ["demo", pick(["A@x.org", "b@x.org"])],
    "invitations.byUser": () => ["demo", pick(["u1", "u2"])],
    "invitations.takenUids": () => ["demo", ["u1"]],
    "invitations.create": () => ({
      args: [
        world(),
        [
          {
            name: text(),
            email: pick([null, "a@X.org", "b@x.org"]),
            role: pick(["admin", "attendee"]),
            ...(chance(0.2) && { uid: pick(["u1", "u2"]) }),
            expires_at: pick([undefined, null, 500]),
          },
        ],
      ],
      keep: keepIn(invitations, ([made]: { id: string }[]) => made!.id),
    }),
    "invitations.update": () => [
      "demo",
      some(),
      pick([
        { name: text() },
        { role: pick(["admin", "attendee"]) },
        { revoked: chance(0.5) },
        { expires_at: whole(1000) },
      ]),
      revisions(),
    ],
    "invitations.remove": () => ["demo", chance(0.3) ? some() : ABSENT, revisions()],
    "invitations.renew": () => ["demo", some(), pick(["link", "recovery", "session"]), revisions()],
    "invitations.touch": () => ["demo", some(), 1 + whole(1000)],
  };
}

const invitations: Resource = {
  parameter: "invitation_id",
  access: {
    ...accessTo(LIST, ONE),
    [`POST ${ONE}link/`]: ACCESS.read,
  },
  bodies: {
    "/invitations/": (name) => ({ name, role: "attendee" }),
  },
  make: async ({ invitations }) =>
    (await invitations.create("demo", [{ role: "attendee" }]))[0]!.id,
  has: async ({ invitations }, id) => (await invitations.get("demo", id)) !== undefined,
  contract,
  calls,
  fill({ invitations }) {
    const by: Author = { kind: "api", token: "0".repeat(32), uid: "shop" };
    const draft = { name: "Ann", email: "ann@example.org", role: "speaker", expires_at: 1 };
    return invitations.create("demo", [draft], by);
  },
  silent: {
    "invitations.list": "reads",
    "invitations.get": "reads",
    "invitations.getMany": "reads",
    "invitations.standing": "reads",
    "invitations.byEmail": "reads",
    "invitations.byUser": "reads",
    "invitations.takenUids": "reads",
  },
  async shown({ invitations }) {
    const [made] = await invitations.create("demo", [{ role: "x" }]);
    const { id } = made!;
    const twice = () => invitations.create("demo", [{ role: "x" }, { role: "y" }]);
    return {
      "invitations.create": [[twice, "invitation.created", "invitation.created"]],
      "invitations.update": [
        [() => invitations.update("demo", id, { name: "A" }), "invitation.updated"],
        [() => invitations.update("demo", id, { name: "A" })],
      ],
      "invitations.renew": [[() => invitations.renew("demo", id, "link"), "invitation.updated"]],
      "invitations.touch": [
        [() => invitations.touch("demo", id, 1), "invitation.updated"],
        [() => invitations.touch("demo", id, 2)],
      ],
      "invitations.remove": [[() => invitations.remove("demo", id), "invitation.deleted"]],
    };
  },
};

export default invitations;
