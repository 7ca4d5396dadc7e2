import t, { type Test } from "tap";
import { type Clock, processClock } from "../../../db/runtime.js";
import { draftWorld } from "../../../db/world-management.js";
import type { Store } from "../../../db/contract/store.js";
import { MailQueue } from "../../../plugins/mail/queue.js";
import { queueReminders } from "../../../plugins/mail/reminders.js";
import { openStore } from "../../support/database.js";
import { until } from "../../support/helper.js";
import { type MailServer, startMailServer } from "../../support/mail-server.js";
import { testdir } from "../../support/testdir.js";

// The mail queue in several concurrent processes, with a simulated clock.

const HOUR = 3_600_000;
const START = Date.parse("2027-03-01T08:00:00Z");

/** A clock that only the test advances. Timers never fire: the test wakes the queues. */
class TestClock implements Clock {
  readonly origin = 0;
  time = START - 48 * HOUR;
  now = () => this.time;
  date = () => this.time;
  after: Clock["after"] = () => () => {};
  soon: Clock["soon"] = (work) => processClock.soon(work);
}

async function setUp(t: Test, config: Record<string, unknown> = {}) {
  const dataDir = testdir(t);
  const clock = new TestClock();
  const store = openStore(t, dataDir);
  const draft = draftWorld({ id: "demo", title: "Summit", domain: "demo.localhost" });
  await store.worlds.create({ ...draft, config: { ...draft.config, ...config } });
  const mail = await startMailServer(t);
  let processes = 0;
  const begin = (own: Store = store, more: Partial<ReturnType<MailServer["settings"]>> = {}) => {
    const queue = new MailQueue({
      store: own,
      settings: mail.settings(more),
      address: "https://rooms.example.org",
      holder: `process ${++processes}`,
      log: { warn: () => {}, error: () => {} },
      clock,
    });
    t.teardown(() => queue.close());
    return queue;
  };
  const invite = async (...emails: string[]) => {
    const made = await store.invitations.create(
      "demo",
      emails.map((email) => ({ email, role: "attendee" })),
    );
    const drafts = made.map(({ id }) => ({
      act: `invitation:${id}`,
      kind: "invitation" as const,
      invitation: id,
      detail: {},
      due_at: clock.time,
    }));
    await store.mails.queue("demo", drafts, clock.time);
    return made.map(({ id }) => id);
  };
  const stateOf = async (id: string) => (await store.mails.reports("demo", [id])).get(id);
  const becomes = (id: string, state: string) =>
    until(async () => (await stateOf(id))?.state === state);
  return { dataDir, clock, store, mail, begin, invite, stateOf, becomes };
}

void t.test("a mail that is refused for now is tried again, and then given up", async (t) => {
  const { clock, mail, begin, invite, stateOf } = await setUp(t);
  mail.rules = { rcpt: () => 451 };
  const [id] = (await invite("ada@example.org")) as [string];
  const queue = begin();
  const tried = (state: string) =>
    until(async () => {
      queue.wake();
      const report = (await stateOf(id))!;
      return report.state === state && report.error !== null && report.at === clock.time;
    });
  for (const minutes of [1, 5, 15, 60, 180, 360]) {
    await tried("waiting");
    t.match(await stateOf(id), { error: /^451 / });
    clock.time += minutes * 60_000;
  }
  await tried("failed");
  t.match(await stateOf(id), { error: /^451 / });
  t.equal(mail.mails.length, 0);
});

void t.test("a mail waits until the mail server can be used", async (t) => {
  const { clock, mail, begin, invite, stateOf, becomes } = await setUp(t);
  const [id] = (await invite("ada@example.org")) as [string];
  const gone = begin(undefined, { url: "smtp://127.0.0.1:1" });
  gone.wake();
  await until(async () => (await stateOf(id))?.error === "unreachable");
  await becomes(id, "waiting");
  const wrong = begin(undefined, { url: mail.url.replace("//", "//me:wrong@") });
  clock.time += 60_000;
  wrong.wake();
  await until(async () => (await stateOf(id))?.at === clock.time);
  await becomes(id, "waiting");
  t.match(await stateOf(id), { error: "unreachable" }, "hosts learn nothing of the credentials");
  const right = begin(undefined, { url: mail.url.replace("//", "//me:pass%40word@") });
  clock.time += 5 * 60_000;
  right.wake();
  await becomes(id, "sent");
});

void t.test("what changes before a mail leaves, counts", async (t) => {
  const { clock, store, mail, begin, invite, stateOf, becomes } = await setUp(t);
  const ids = await invite("a@x.org", "b@x.org", "c@x.org", "d@x.org", "e@x.org");
  const [revoked, without, moved, deleted, stopped] = ids as [
    string,
    string,
    string,
    string,
    string,
  ];
  await store.invitations.update("demo", revoked, { revoked: true });
  await store.invitations.update("demo", without, { email: null });
  await store.invitations.update("demo", moved, { email: "new@x.org" });
  await store.invitations.remove("demo", deleted);
  const due = await store.mails.due(clock.time, 9);
  await store.mails.stop("demo", due.find((it) => it.invitation === stopped)!.id, 1);
  const queue = begin();
  await until(async () => {
    // Each mail needs a turn, and turns become available with time.
    clock.time += 10;
    queue.wake();
    return (await store.mails.counts("demo")).waiting === 0;
  });
  await becomes(moved, "sent");
  t.match(await stateOf(revoked), { error: "revoked" });
  t.match(await stateOf(without), { error: "no_address" });
  t.match(await stateOf(stopped), { error: "stopped" });
  t.strictSame(
    mail.mails.map(({ to }) => to),
    ["new@x.org"],
  );
});

void t.test("two processes send each mail once, at one rate", async (t) => {
  const { dataDir, clock, mail, begin, invite } = await setUp(t);
  const people = Array.from({ length: 30 }, (_, i) => `p${i}@x.org`);
  await invite(...people);
  const other = openStore(t, dataDir);
  const queues = [begin(undefined, { perMinute: 60 }), begin(other, { perMinute: 60 })];
  for (let sent = 1; sent <= people.length; sent++) {
    // The processes compete for one turn per second.
    for (const queue of queues) queue.wake();
    await until(() => {
      for (const queue of queues) queue.wake();
      return mail.mails.length >= sent;
    });
    t.equal(mail.mails.length, sent);
    clock.time += 1000;
  }
  t.strictSame(mail.begun.toSorted(), people.toSorted());
});

void t.test("a request for a link takes no turn, and each answer takes one", async (t) => {
  const { clock, store, mail, begin } = await setUp(t);
  const email = "ada@x.org";
  await store.invitations.create("demo", [{ email, role: "attendee" }]);
  const ask = (address: string) =>
    store.mails.ask("demo", {
      address,
      page: "event",
      at: clock.time,
      counts: { address, network: "n" },
    });
  await ask("nobody@x.org");
  await ask(email);
  const queue = begin(undefined, { perMinute: 60 });
  // The clock does not advance, so there is only one turn.
  const kinds = async () => (await store.mails.due(clock.time, 10)).map(({ kind }) => kind);
  await until(async () => {
    queue.wake();
    return (await kinds()).join() === "login";
  });
  clock.time += 1000;
  await until(async () => {
    queue.wake();
    return mail.mails.length === 1 && (await kinds()).length === 0;
  });
  t.equal(mail.mails[0]!.to, email);
});

void t.test("what a process that is gone had claimed, is never sent", async (t) => {
  const { clock, store, mail, begin, invite, stateOf, becomes } = await setUp(t);
  const [id] = (await invite("ada@example.org")) as [string];
  const [due] = await store.mails.due(clock.time, 1);
  await store.mails.claim("demo", due!.id, "a killed process", clock.time);
  const queue = begin();
  queue.wake();
  await until(async () => {
    queue.wake();
    clock.time += 5000;
    return (await stateOf(id))?.state === "failed";
  });
  await becomes(id, "failed");
  t.match(await stateOf(id), { error: "unknown" });
  t.equal(mail.begun.length, 0);
});

void t.test("reminders go out once, a day and an hour before", async (t) => {
  const event = { starts_at: "2027-03-01T08:00:00Z" };
  const config = { event, timezone: "Europe/Berlin", mail: { reminders: true } };
  const { clock, store, mail, begin } = await setUp(t, config);
  const set = (changes: object) =>
    store.worlds
      .get("demo")
      .then((it) => store.worlds.update("demo", { config: { ...it!.value.config, ...changes } }));
  const drafts = ["ada@x.org", null].map((email) => ({ email, role: "attendee" }));
  const { id } = (await store.invitations.create("demo", drafts))[0]!;
  const queue = begin();
  const subjects = () => mail.mails.map(({ headers }) => headers["subject"]);
  const goes = async (time: number, count: number) => {
    clock.time = time;
    for (let i = 0; i < 3; i++) await queueReminders(store, time);
    t.equal((await store.mails.due(time, 9)).length, count);
    const before = mail.mails.length;
    await until(async () => {
      queue.wake();
      const { waiting } = await store.mails.counts("demo");
      return mail.mails.length === before + count && waiting === 0;
    });
  };
  await goes(START - 25 * HOUR, 0);
  await goes(START - 24 * HOUR, 1);
  t.match(subjects().at(-1), /^Summit: Monday, March 1,? (at )?9:00\sAM$/u);
  await goes(START - 20 * HOUR, 0);
  await set({ event: { starts_at: "2027-03-01T09:00:00Z" } });
  await goes(START - 10 * HOUR, 0);
  await set({ mail: { reminders: false } });
  await goes(START + HOUR / 2, 0);
  await set({ mail: { reminders: true }, access: { published: false } });
  await goes(START + HOUR / 2, 0);
  await set({ access: { published: true } });
  await goes(START + HOUR / 2, 1);
  t.equal(subjects().at(-1), "Summit is about to begin");
  await goes(START + HOUR - 1, 0);
  await goes(START + HOUR, 0);
  // A reminder that could not be sent in time is not sent at all.
  await set({ event: { starts_at: "2027-04-01T09:00:00Z" } });
  const start = Date.parse("2027-04-01T09:00:00Z");
  clock.time = start - HOUR / 2;
  await queueReminders(store, clock.time);
  t.equal((await store.mails.due(clock.time, 9)).length, 1);
  clock.time = start + 1;
  await until(async () => {
    queue.wake();
    return (await store.mails.reports("demo", [id])).get(id)?.error === "late";
  });
  t.equal(mail.mails.length, 2);
});
