import type { OpenReports, Reported } from "../../../../db/domains/reports.js";
import type { ReportReason } from "../../../../schemas/plain/moderation/reports.js";
import { allEvents, chatting, DELETED, message, stored, text } from "./chat-setup.js";
import { ABSENT, type Contract, fails } from "./setup.js";

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;

/** The rules for slow mode, held messages, and reports. */
export const moderationContract = async (contract: Contract): Promise<void> => {
  await contract("slow mode counts new messages of a person in a room", async (t, store) => {
    const { room, ada, bob, say } = await chatting(store);
    const at = (ms: number) => ({ slow: { seconds: 10, at: NOW + ms } });
    const left = (ms: number) => say("x", at(ms)).then(() => "sent", refusal);
    const { event } = await say("first", at(0));
    t.equal(await left(1), "slow_mode 10");
    t.equal(await left(9001), "slow_mode 1");
    t.equal(await left(-59_999), "slow_mode 10", "a clock that is behind");
    await say("edited", { replaces: event.id, ...at(2) });
    await say("by Bob", { sender: bob, ...at(2) });
    await say("without slow mode");
    t.equal(await left(9999), "slow_mode 1");
    t.equal(await left(10_000), "sent");
    await store.chat.hold("demo", room, { ...message(ada), ...at(20_000) }, NOW);
    t.equal(await left(20_001), "slow_mode 10", "what waits starts the time");
    const next = { ...message(ada), ...at(20_001) };
    await fails(t, store.chat.hold("demo", room, next, NOW), "quota", "slow_mode");
    t.equal(await left(-HOUR_MS), "sent", "a clock that was set back");
    t.equal(await left(9_999 - HOUR_MS), "slow_mode 1");
  });

  await contract(
    "of messages at the same moment, slow mode lets one through",
    async (t, store, open) => {
      const { room, ada } = await chatting(store);
      const others = [store, await open(), await open()];
      const draft = { ...message(ada), slow: { seconds: 10, at: NOW } };
      const sent = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => others[i % 3]!.chat.send("demo", room, draft)),
      );
      t.equal(sent.filter(({ status }) => status === "fulfilled").length, 1);
    },
  );

  await contract("a message that waits is not in the chat", async (t, store) => {
    const { chat, users, rooms } = store;
    const { room, ada, bob, cy, dan, say } = await chatting(store);
    const hold = (sender: string, body: string, replaces?: number) =>
      chat.hold("demo", room, { ...message(sender, body), replaces }, NOW);
    const queue = async (sender: string | null = null) =>
      (await chat.held("demo", room, sender, 10)).messages.map(({ content }) => content);
    const events = (await allEvents(store, room)).length;
    const one = await hold(ada, "one");
    const two = await hold(bob, "two");
    t.match(one, { channel: room, sender: ada, replaces: null, content: stored(text("one")) });
    t.strictSame(await chat.heldMessage("demo", room, one.id), { ...one, timestamp: NOW });
    t.strictSame(await queue(), [one.content, two.content]);
    t.strictSame(await queue(bob), [two.content]);
    t.strictSame(await chat.held("demo", room, null, 1), { count: 2, messages: [one] });
    t.equal((await allEvents(store, room)).length, events);
    t.strictSame(await chat.search("demo", room, { query: "one", limit: 5 }), []);
    await fails(t, hold(dan, "no member"), "denied");
    await fails(t, hold(ABSENT, "nobody"), "denied");
    await fails(t, chat.hold("demo", ABSENT, message(ada), NOW), "absent", "room");
    await fails(t, hold(ada, "no message", 99_999), "absent", "event");

    const approve = (id: string, mentioned: string[] = []) =>
      chat.approve("demo", room, id, mentioned, false);
    const { event, notified } = await approve(one.id, [bob, dan]);
    t.match(event, { sender: ada, content: one.content, replaces: null });
    t.strictSame(notified, [bob], "members are mentioned when it is sent");
    t.match((await allEvents(store, room)).at(-1), { id: event.id });
    t.match(await chat.search("demo", room, { query: "one", limit: 5 }), [{ id: event.id }]);
    await fails(t, approve(one.id), "absent", "event");
    await fails(t, chat.approve("demo", ABSENT, two.id, [], false), "absent", "event");
    t.strictSame(await chat.reject("demo", room, two.id, "No."), two);
    await fails(t, chat.reject("demo", room, two.id, null), "absent", "event");

    await hold(ada, "edited", event.id);
    const last = await hold(ada, "edited again", event.id);
    t.strictSame(await queue(), [last.content], "the last edit of a message waits");
    await fails(t, hold(bob, "another's", event.id), "denied");
    t.match((await approve(last.id)).event, { replaces: event.id, content: last.content });
    await hold(ada, "edit of a message that is deleted", event.id);
    await say("", { replaces: event.id, content: DELETED });
    t.strictSame(await queue(), []);

    for (let i = 0; i < 20; i++) await hold(ada, `${i}`);
    await fails(t, hold(ada, "too many"), "quota", "held");
    const ofBob = await hold(bob, "by Bob");
    await hold(cy, "by Cy");
    t.equal(await chat.rejectAll("demo", cy), 1);
    t.equal(await chat.rejectAll("demo", cy), 0);
    await users.moderate("demo", ada, "silenced");
    t.equal((await queue()).length, 10, "of those of silenced people, a moderator decides");
    await users.moderate("demo", ada, "banned");
    t.strictSame(await queue(), [ofBob.content]);
    await users.erase("demo", { user_id: bob });
    t.strictSame(await queue(), []);
    await users.moderate("demo", ada, "");
    await hold(ada, "old");
    await chat.expire("demo", NOW);
    t.equal((await queue()).length, 1);
    await chat.expire("demo", NOW + 1);
    t.strictSame(await queue(), []);
    await hold(ada, "in a room that is deleted");
    await rooms.delete("demo", room);
    t.strictSame(await queue(), []);
  });

  await contract("people report what they see, once", async (t, store) => {
    const { chat, questions, reports, users } = store;
    const { room, ada, bob, cy, dan, say } = await chatting(store);
    const { event } = await say("Buy this");
    const reported: Reported = { kind: "message", room, channel: room, event: event.id };
    const report = (
      by: string,
      what: Reported = reported,
      at = NOW,
      reason: ReportReason = "spam",
    ) => reports.create("demo", what, { by, reason, text: `by ${by}`, at });
    const all = { user: dan, rooms: [room], world: true };
    const list = (more = {}, scope = all) => reports.list("demo", scope, { limit: 10, ...more });
    await report(bob);
    await report(bob, reported, NOW, "other");
    await report(cy, reported, NOW + 5);
    await say("Harmless", { replaces: event.id });
    const [first] = await list();
    t.match(first, {
      kind: "message",
      room,
      channel: room,
      event: event.id,
      user: ada,
      content: stored(text("Buy this")),
      state: "open",
      at: NOW,
    });
    t.match(await reports.notes("demo", [first!.number], 10), [
      { user: bob, reason: "spam", text: `by ${bob}`, at: NOW, count: 2 },
      { user: cy, at: NOW + 5, count: 2 },
    ]);
    t.equal((await reports.notes("demo", [first!.number], 1)).length, 1);

    const asked = { sender: ada, content: "why?" };
    const visible = await questions.create("demo", room, { ...asked, state: "visible" });
    const waiting = await questions.create("demo", room, { ...asked, state: "mod_queue" });
    const question = (id: string, isModerator = false): Reported => ({
      kind: "question",
      room,
      question: id,
      all: isModerator,
    });
    const person = (user: string): Reported => ({ kind: "user", room: null, user });
    await report(bob, question(visible.id));
    await report(bob, question(waiting.id, true));
    await report(bob, person(ada));
    const { channel } = await chat.direct("demo", ada, [ada, bob], false);
    const { event: between } = await chat.send("demo", channel.id, message(ada, "psst"));
    const inDirect = { kind: "message", room: null, channel: channel.id } as const;
    await report(bob, { ...inDirect, event: between.id });
    t.match(await list(), [
      { kind: "message", room: null, channel: channel.id },
      { kind: "user", room: null, user: ada },
      { kind: "question", question: waiting.id },
      { kind: "question", question: visible.id, named: 0, content: stored(text("why?")) },
      { id: first!.id },
    ]);
    t.match(await list({ before: first!.number + 1 }), [{ id: first!.id }]);
    t.equal((await list({}, { ...all, rooms: [] })).length, 2, "those in no room");
    t.equal((await list({}, { ...all, world: false })).length, 3, "those in a room");
    t.strictSame(await list({}, { ...all, user: ada }), [], "nobody sees those about themselves");
    t.strictSame(sorted(await reports.open("demo", [ada, bob])), {
      all: [
        { room: null, count: 2 },
        { room, count: 3 },
      ],
      about: [
        { user: ada, room: null, count: 2 },
        { user: ada, room, count: 3 },
      ],
    });

    const { event: gone } = await say("gone");
    await say("", { replaces: gone.id, content: DELETED });
    const join = (await allEvents(store, room))[0]!.id;
    for (const [name, by, what] of [
      ["an own message", ada, reported],
      ["a deleted one", bob, { ...reported, event: gone.id }],
      ["no message", bob, { ...reported, event: join }],
      ["one of another channel", bob, { ...reported, event: between.id }],
      ["no channel", bob, { ...reported, channel: ABSENT }],
      ["a question that waits", cy, question(waiting.id)],
      ["no question", bob, question(ABSENT)],
      ["oneself", ada, person(ada)],
      ["nobody", bob, person(ABSENT)],
    ] as const) {
      await t.rejects(
        report(by, what),
        { name: "StoreError", problem: "absent", field: "report" },
        name,
      );
    }
    await users.moderate("demo", cy, "silenced");
    await fails(t, report(cy), "denied");
    await fails(t, report(ABSENT), "denied");
    for (let i = 0; i < 5; i++) {
      const { event } = await say(`${i}`);
      await report(bob, { ...reported, event: event.id }, NOW + i);
    }
    const { event: last } = await say("the eleventh");
    const eleventh = { ...reported, event: last.id };
    await fails(t, report(bob, eleventh, NOW + 1), "quota", "reports");
    await report(bob, reported, NOW + 1);
    await report(bob, eleventh, NOW + HOUR_MS);
  });

  await contract("a decision about a report does what it says", async (t, store) => {
    const { chat, questions, reports, users } = store;
    const { room, ada, bob, cy, dan, say } = await chatting(store);
    const scope = { user: dan, rooms: [room], world: true };
    const made = async (what: Reported, by = bob) => {
      await reports.create("demo", what, { by, reason: "spam", text: "Look", at: NOW });
      return (await reports.list("demo", scope, { limit: 1 }))[0]!.id;
    };
    const resolve = (id: string, action: "dismissed" | "deleted" | "silenced" | "banned") =>
      reports.resolve("demo", id, action, dan, NOW + 9);
    const { event } = await say("Buy this");
    const message_ = { kind: "message", room, channel: room, event: event.id } as const;
    const dismissed = await made(message_);
    await resolve(dismissed, "dismissed");
    t.match(await reports.get("demo", dismissed), {
      state: "dismissed",
      resolved_at: NOW + 9,
      resolved_by: dan,
    });
    await fails(t, resolve(dismissed, "deleted"), "absent", "report");
    await fails(t, resolve(ABSENT, "dismissed"), "absent", "report");
    t.equal(await made(message_), dismissed, "whoever reported it has done so");
    const again = await made(message_, cy);
    t.not(again, dismissed, "others report it anew");
    await resolve(again, "deleted");
    t.match(await chat.event("demo", room, event.id), { content: stored(DELETED) });
    t.match((await allEvents(store, room)).at(-1), { sender: dan, replaces: event.id });

    const { channel } = await chat.direct("demo", ada, [ada, bob], false);
    const { event: between } = await chat.send("demo", channel.id, {
      sender: ada,
      content: text("psst"),
    });
    const inDirect = { kind: "message", room: null, channel: channel.id } as const;
    await resolve(await made({ ...inDirect, event: between.id }), "deleted");
    t.match(await chat.event("demo", channel.id, between.id), { content: stored(DELETED) });

    const asked = { sender: ada, content: "why?", state: "visible" } as const;
    const { id } = await questions.create("demo", room, asked);
    await resolve(await made({ kind: "question", room, question: id, all: false }), "deleted");
    t.equal(await questions.get("demo", room, id), undefined);

    const person = { kind: "user", room, user: ada } as const;
    await resolve(await made(person), "silenced");
    t.match(await users.get("demo", ada), { moderation_state: "silenced" });
    await resolve(await made(person, cy), "banned");
    t.match(await users.get("demo", ada), { moderation_state: "banned" });
    await chat.hold("demo", room, { sender: cy, content: text("waits") }, NOW);
    await resolve(await made({ ...person, user: cy }), "banned");
    t.equal((await chat.held("demo", room, null, 5)).count, 0, "their messages leave the queue");

    const eve = await made({ ...person, user: bob }, dan).catch(() => undefined);
    await users.erase("demo", { user_id: bob });
    if (eve) await fails(t, resolve(eve, "banned"), "absent", "user");
    const left = await reports.list("demo", { ...scope, user: ABSENT }, { limit: 20 });
    const notes = await reports.notes(
      "demo",
      left.map(({ number }) => number),
      5,
    );
    t.ok(notes.some(({ user, text, count }) => user === null && text === "" && count === 1));
    await users.erase("demo", { user_id: ada });
    const after = await reports.list("demo", { ...scope, user: ABSENT }, { limit: 20 });
    t.equal(after.length, left.length, "they still count");
    t.notMatch(JSON.stringify(after), /Buy|psst|why/, "without texts");
    await chat.expire("demo", NOW + 1);
    t.strictSame(await reports.list("demo", scope, { limit: 20 }), [], "retention as chat");
  });
};

const refusal = ({ field, message }: { field?: string; message: string }) => `${field} ${message}`;

/** Sorts counts, whose order is unspecified. */
const sorted = ({ all, about }: OpenReports): OpenReports => ({
  all: all.toSorted(byRoom),
  about: about.toSorted(byRoom),
});

const byRoom = (a: { room: string | null }, b: { room: string | null }) =>
  Number(a.room !== null) - Number(b.room !== null);
