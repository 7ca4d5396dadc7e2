import type { Mail, MailDraft } from "../../../db/contract/mail-store.js";
import type { Store } from "../../../db/contract/store.js";
import { type Contract, fails, headOf } from "../../contract/db/store-contract/setup.js";
import type { CallKit, CallTable } from "../../contract/engines/calls.js";
import { ACCESS, type Resource } from "../resource.js";

const WORLD = "/api/v1/worlds/:world_id/";
const STOP = "/w/:world/mails/:mail/stop";

const draft = (act: string, more: Partial<MailDraft> = {}): MailDraft => ({
  act,
  kind: "test",
  recipient: "ada@example.org",
  detail: {},
  due_at: 1000,
  ...more,
});

const invitation = (act: string, id: string, more: Partial<MailDraft> = {}): MailDraft => {
  const { recipient: _none, ...rest } = draft(act, { kind: "invitation", ...more });
  return { ...rest, invitation: id };
};

const ask = (address: string, network: string, at: number) => ({
  address,
  page: "event" as const,
  at,
  counts: { address, network },
});

async function invite(store: Store, ...emails: string[]): Promise<string[]> {
  const drafts = emails.map((email) => ({ name: "Ada", email, role: "attendee" }));
  return (await store.invitations.create("demo", drafts)).map(({ id }) => id);
}

async function contract(contract: Contract): Promise<void> {
  await contract("a mail is queued once, and claimed once", async (t, store, open) => {
    const { mails } = store;
    const other = (await open()).mails;
    await fails(t, mails.queue("none", [draft("a")], 1), "absent", "world");
    t.equal(await mails.queue("demo", [draft("a"), draft("a"), draft("b")], 1), 2);
    t.equal(await other.queue("demo", [draft("a"), draft("c", { due_at: 5000 })], 1), 1);
    const due = await other.due(1000, 9);
    t.strictSame(
      due.map(({ act, state }) => `${act} ${state}`),
      ["a waiting", "b waiting"],
    );
    t.strictSame(await mails.due(999, 9), []);
    const [{ id }] = due as [Mail];
    const claims = await Promise.all([
      mails.claim("demo", id, "one", 2000),
      other.claim("demo", id, "two", 2000),
    ]);
    const [claimed] = claims.filter((it) => it !== undefined) as [Mail];
    t.equal(claims.filter((it) => it !== undefined).length, 1);
    t.match(claimed, { id, attempts: 1, state: "sending", recipient: "ada@example.org" });
    t.strictSame(
      (await other.claimed()).map(({ act }) => act),
      ["a"],
    );
    t.equal(await mails.claim("demo", id, "three", 2000), undefined);
    await other.settle("demo", { ...claimed, holder: "nobody" }, { state: "sent" }, 3000);
    t.match(await mails.reportOf("demo", "a"), { state: "sending" }, "only its holder knows");
    const retry = { state: "waiting", error: "later", due_at: 9000 } as const;
    await mails.settle("demo", claimed, retry, 3000);
    t.strictSame(await mails.reportOf("demo", "a"), { state: "waiting", at: 3000, error: "later" });
    t.match(await mails.get("demo", id), { due_at: 9000, recipient: "ada@example.org" });
    await mails.settle("demo", claimed, { state: "sent" }, 3000);
    t.match(await mails.get("demo", id), { state: "waiting" }, "it is not claimed anymore");
    const again = (await other.claim("demo", id, "two", 9000))!;
    await other.settle("demo", again, { state: "sent" }, 9001);
    t.match(await mails.get("demo", id), {
      state: "sent",
      attempts: 2,
      recipient: null,
      error: null,
    });
    t.equal(await mails.claim("demo", id, "one", 9002), undefined, "what was sent stays sent");
  });

  await contract("a lost mail is never sent again", async (t, store) => {
    const { mails } = store;
    await mails.queue("demo", [draft("a")], 1);
    const [{ id }] = (await mails.due(1000, 1)) as [Mail];
    const claimed = (await mails.claim("demo", id, "one", 1000))!;
    t.notOk(await mails.lose("demo", { ...claimed, attempts: 0 }, 2000), "another claim");
    t.ok(await mails.lose("demo", claimed, 2000));
    t.notOk(await mails.lose("demo", claimed, 2000));
    t.match(await mails.get("demo", id), { state: "failed", error: "unknown", recipient: null });
    t.equal(await mails.claim("demo", id, "two", 3000), undefined);
    t.strictSame(await mails.due(9e9, 9), []);
    // The process was only suspended.
    await mails.settle("demo", claimed, { state: "sent" }, 3000);
    t.match(await mails.get("demo", id), { state: "sent" });
  });

  await contract("all processes share one rate", async (t, store, open) => {
    const [one, two] = [store.mails, (await open()).mails];
    t.equal(await one.nextAt(), null);
    t.ok(await one.turn("", 101_000, 100));
    t.notOk(await two.turn("", 101_000, 100));
    t.notOk(await two.turn("", 101_099, 100));
    t.equal(await two.nextAt(), 101_100);
    const both = await Promise.all([one, two].map((it) => it.turn("", 101_100, 100)));
    t.strictSame(both.sort(), [false, true]);
    t.notOk(await two.turn("", 100_000, 100), "the clock of another machine is behind");
    t.ok(await two.turn("", 500, 100), "the clock was set back");
    t.equal(await one.nextAt(), 600);
  });

  await contract("mails belong to invitations", async (t, store) => {
    const { mails, invitations } = store;
    const [ada, bob] = (await invite(store, "ada@example.org", "bob@example.org")) as [
      string,
      string,
    ];
    const gone = "00000000-0000-4000-8000-000000000000";
    const before = await headOf(store);
    const all = [invitation("1", ada), invitation("2", bob), invitation("3", gone)];
    t.equal(await mails.queue("demo", all, 1), 2);
    t.equal(await headOf(store), before + 1, "the audit has the act");
    const again = { detail: { text: "Again" } };
    t.equal(await mails.queue("demo", [invitation("4", ada, again)], 1), 1);
    const due = await mails.due(1000, 9);
    t.strictSame(
      due.map(({ act }) => act),
      ["2", "4"],
      "the new one replaces the one that waits",
    );
    t.strictSame(await mails.counts("demo"), { waiting: 2, failed: 0 });
    const claimed = (await mails.claim("demo", due[1]!.id, "p", 5))!;
    await mails.settle("demo", claimed, { state: "failed", error: "550 no" }, 6);
    t.strictSame(
      [...(await mails.reports("demo", [ada, bob, gone]))].sort(([a], [b]) => (a < b ? -1 : 1)),
      [
        [ada, { state: "failed", at: 6, error: "550 no" }] as const,
        [bob, { state: "waiting", at: 1, error: null }] as const,
      ].sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    t.strictSame(await mails.counts("demo"), { waiting: 1, failed: 1 });
    t.notOk(await mails.stop("demo", gone, 7));
    t.notOk(await mails.stop("none", due[1]!.id, 7));
    t.ok(await mails.stop("demo", due[1]!.id, 7));
    t.ok(await mails.stop("demo", due[1]!.id, 8), "twice is once");
    t.strictSame(await mails.stopped("demo", [ada, bob]), [ada]);
    await mails.issue("demo", "hash", { invitation: ada, page: "event" }, 99);
    await invitations.remove("demo", ada);
    t.equal(await mails.get("demo", due[1]!.id), undefined);
    t.strictSame(await mails.stopped("demo", [ada, bob]), []);
    t.equal(await mails.redeem("demo", "hash", 1), undefined);
    await mails.issue("demo", "late", { invitation: ada, page: "event" }, 99);
    t.equal(await mails.redeem("demo", "late", 1), undefined);
  });

  await contract("requests for links are limited alike for each address", async (t, store) => {
    const { mails } = store;
    const [ada] = (await invite(store, "ada@example.org")) as [string];
    await fails(t, mails.ask("none", ask("x", "n", 1)), "absent", "world");
    for (let i = 0; i < 5; i++) {
      t.equal(await mails.ask("demo", ask("ada@example.org", "n1", 1000)), undefined);
      t.equal(await mails.ask("demo", ask("eve@example.org", "n2", 1000)), undefined);
    }
    const due = await mails.due(1000, 99);
    t.strictSame(due.map(({ recipient }) => recipient).sort(), [
      ...Array<string>(3).fill("ada@example.org"),
      ...Array<string>(3).fill("eve@example.org"),
    ]);
    for (let i = 5; i < 30; i++) {
      t.equal(await mails.ask("demo", ask(`x${i}@example.org`, "n1", 1000)), undefined);
    }
    t.equal(await mails.ask("demo", ask("y@example.org", "n1", 1000)), "network");
    t.equal(await mails.ask("demo", ask("y@example.org", "n3", 1000)), undefined);
    const later = 1000 + 15 * 60_000;
    t.equal(await mails.ask("demo", ask("y@example.org", "n1", later)), undefined);
    for (let i = 1; i < 300; i++) await mails.ask("demo", ask(`${i}`, `n${i + 9}`, later));
    t.equal(await mails.ask("demo", ask("z", "n400", later)), "world");
    t.equal(await mails.ask("demo", ask("z", "n401", later * 2)), undefined);
    // A request is replaced with mails.
    const [{ id }] = due as [Mail];
    await mails.answer("demo", id, [invitation("login", ada, { kind: "login" })], 2000);
    t.equal(await mails.get("demo", id), undefined);
    await mails.answer("demo", id, [invitation("login 2", ada, { kind: "login" })], 2000);
    t.equal(await mails.reportOf("demo", "login 2"), undefined, "only once");
    t.match(await mails.reportOf("demo", "login"), { state: "waiting" });
  });

  await contract("a code works once, and expires", async (t, store, open) => {
    const { mails } = store;
    const other = (await open()).mails;
    const [ada] = (await invite(store, "ada@example.org")) as [string];
    const login = { invitation: ada, page: "console" } as const;
    await mails.issue("demo", "a", login, 2000);
    await mails.issue("demo", "b", login, 2000);
    await mails.issue("demo", "c", { invitation: null, page: "event" }, 2000);
    t.equal(await other.redeem("demo", "d", 1000), undefined);
    const both = await Promise.all([mails, other].map((it) => it.redeem("demo", "a", 1999)));
    t.strictSame(
      both.filter((it) => it !== undefined),
      [login],
    );
    t.equal(await mails.redeem("demo", "a", 1000), undefined);
    t.equal(await mails.redeem("demo", "b", 2000), undefined, "expired");
    t.equal(await mails.redeem("demo", "b", 1000), undefined, "trying it used it up");
    t.match(await mails.redeem("demo", "c", 1000), { invitation: null });
    await mails.queue("demo", [draft("old"), draft("new")], 1);
    for (const { id, act } of await mails.due(1000, 9)) {
      const claimed = (await mails.claim("demo", id, "p", 1000))!;
      await mails.settle("demo", claimed, { state: "sent" }, act === "old" ? 1000 : 9e7);
    }
    await mails.issue("demo", "e", login, 2000);
    await mails.prune("demo", 1001 + 24 * 3_600_000);
    t.equal(await mails.reportOf("demo", "old"), undefined);
    t.match(await mails.reportOf("demo", "new"), { state: "sent" });
    t.equal(await mails.redeem("demo", "e", 1000), undefined);
  });
}

function calls({ pick, whole, text, world }: CallKit): CallTable {
  const acts = ["a", "b", "c", "d", "e"];
  const hashes = ["h", "i", "j"];
  const ofDemo = async (s: Store) => {
    const page = { page: 1, pageSize: 1, now: 1 };
    return (await s.invitations.list("demo", page)).invitations[0]?.id ?? "none";
  };
  /** Returns the part of a mail that is the same on both engines: ids differ. */
  const plain = ({ id: _id, invitation, ...mail }: Mail) => ({
    ...mail,
    invitation: invitation !== null,
  });
  const idOf = async (s: Store, act: string) => {
    const all = [...(await s.mails.due(4e12, 1000)), ...(await s.mails.claimed())];
    return all.find((it) => it.act === act);
  };
  return {
    "mails.due": () => {
      const now = whole(5000);
      return { run: async (s) => (await s.mails.due(now, 5)).map(plain) };
    },
    "mails.claimed": () => ({ run: async (s) => (await s.mails.claimed()).map(plain) }),
    "mails.get": () => {
      const act = pick(acts);
      return {
        run: async (s) => {
          const found = await s.mails.get("demo", (await idOf(s, act))?.id ?? "");
          return found && plain(found);
        },
      };
    },
    "mails.reports": () => ({
      run: async (s) => [...(await s.mails.reports("demo", [await ofDemo(s)])).values()],
    }),
    "mails.reportOf": () => ["demo", pick(acts)],
    "mails.counts": () => [world()],
    "mails.nextAt": () => [],
    "mails.stopped": () => ({
      run: async (s) => (await s.mails.stopped("demo", [await ofDemo(s)])).length,
    }),
    "mails.queue": () => {
      const [act, due_at, at] = [pick(acts), whole(5000), whole(1000)];
      const [subject, isInvitation] = [text(), pick([true, false])];
      return {
        run: async (s) => {
          const more = { due_at, detail: { subject } };
          const mail = isInvitation
            ? invitation(act, await ofDemo(s), more)
            : draft(act, { ...more, recipient: "x@y" });
          return s.mails.queue("demo", [mail], at);
        },
      };
    },
    "mails.turn": () => ["", whole(1000), 1 + whole(100)],
    "mails.claim": () => {
      const [act, holder, at] = [pick(acts), pick(["p", "q"]), whole(1000)];
      return {
        run: async (s) => {
          const found = await s.mails.claim("demo", (await idOf(s, act))?.id ?? "", holder, at);
          return found && plain(found);
        },
      };
    },
    "mails.settle": () => {
      const [act, at] = [pick(acts), whole(1000)];
      const outcome = pick([
        { state: "sent" },
        { state: "failed", error: "no" },
        { state: "waiting", error: "later", due_at: 5 },
      ] as const);
      return {
        run: async (s) => {
          const found = await idOf(s, act);
          if (found) await s.mails.settle("demo", found, outcome, at);
        },
      };
    },
    "mails.lose": () => {
      const [act, at] = [pick(acts), whole(1000)];
      return {
        run: async (s) => {
          const found = await idOf(s, act);
          return found && s.mails.lose("demo", found, at);
        },
      };
    },
    "mails.answer": () => {
      const [act, next, at] = [pick(acts), pick(acts), whole(1000)];
      return {
        run: async (s) => {
          const found = await idOf(s, act);
          if (found) await s.mails.answer("demo", found.id, [draft(next)], at);
        },
      };
    },
    "mails.ask": () => [world(), ask(pick(["a@b", "c@d"]), pick(["n", "m"]), whole(3e6))],
    "mails.issue": () => {
      // A hash consists of 256 random bits, and is never issued twice.
      const hash = text() + whole(1e9);
      return ["demo", hash, { invitation: null, page: "event" }, whole(1000)];
    },
    "mails.redeem": () => ["demo", pick(hashes), whole(1000)],
    "mails.stop": () => {
      const [act, at] = [pick(acts), whole(1000)];
      return {
        run: async (s) => s.mails.stop("demo", (await idOf(s, act))?.id ?? "", at),
      };
    },
    "mails.prune": () => ["demo", whole(2e8)],
  };
}

const AUDITED = { not: "It is in the audit, as an act that changes no data." };
const STATE = { not: "It is what the server keeps for its own work." };
const OWN = { not: "Only the person who asks for a link notices it." };

const mails: Resource = {
  parameter: "mail",
  // The test's server has no mail server.
  access: {
    [`GET ${WORLD}mail/`]: ACCESS.read,
    [`POST ${WORLD}mail/test/`]: ACCESS.read.replaceAll("200", "409"),
    [`POST ${WORLD}invitations/send/`]: ACCESS.read.replaceAll("200", "409"),
    [`POST ${WORLD}invitations/:invitation_id/send/`]: ACCESS.read.replaceAll("200", "409"),
    [`POST ${WORLD}login-mails/`]: ACCESS.read.replaceAll(/\d+/g, "409"),
    [`POST ${WORLD}logins/`]: ACCESS.read.replaceAll(/\d+/g, "401"),
    [`GET ${STOP}`]: ACCESS.read.replaceAll(/\d+/g, "200"),
    [`POST ${STOP}`]: ACCESS.read.replaceAll(/\d+/g, "200"),
  },
  bodies: {
    "/invitations/send/": () => ({ filter: {} }),
    "/send/": () => ({}),
    "/mail/test/": () => ({ to: "ada@example.org" }),
    "/login-mails/": () => ({ email: "ada@example.org" }),
    "/logins/": () => ({ code: "none" }),
  },
  async make(store) {
    const [id] = (await invite(store, "ada@example.org")) as [string];
    await store.mails.queue("demo", [invitation(`act ${id}`, id)], 1);
    return (await store.mails.due(1000, 1000)).find((it) => it.invitation === id)!.id;
  },
  has: async ({ mails }, id) => (await mails.get("demo", id)) !== undefined,
  contract,
  calls,
  async fill(store) {
    const [id] = (await invite(store, "ada@example.org")) as [string];
    const { mails } = store;
    await mails.queue("demo", [invitation("filled", id, { detail: { text: "Come!" } })], 1);
    await mails.stop("demo", (await mails.due(1000, 1))[0]!.id, 1);
    await mails.turn("", 1, 1);
    await mails.issue("demo", "hash", { invitation: id, page: "event" }, 9);
    await mails.ask("demo", ask("bob@example.org", "network", 1));
  },
  silent: {
    "mails.due": "reads",
    "mails.claimed": "reads",
    "mails.get": "reads",
    "mails.reports": "reads",
    "mails.reportOf": "reads",
    "mails.counts": "reads",
    "mails.nextAt": "reads",
    "mails.stopped": "reads",
    "mails.queue": AUDITED,
    "mails.turn": STATE,
    "mails.claim": STATE,
    "mails.settle": STATE,
    "mails.lose": STATE,
    "mails.answer": STATE,
    "mails.ask": OWN,
    "mails.issue": STATE,
    "mails.redeem": OWN,
    "mails.stop": OWN,
    "mails.prune": STATE,
  },
};

export default mails;
