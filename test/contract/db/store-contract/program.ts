import type {
  Announcement,
  AnnouncementState,
} from "../../../../db/contract/announcement-store.js";
import type { Author } from "../../../../db/contract/author.js";
import type { Store } from "../../../../db/contract/store.js";
import { importDocument } from "../../../../db/program-imports.js";
import type {
  DocumentSession,
  ImportOptions,
  ProgramDocument,
} from "../../../../schemas/documents/program-document.js";
import type { RunAction } from "../../../../schemas/plain/stage/run.js";
import { worldOf } from "../../../support/helper.js";
import { ABSENT, type Contract, enter, fails, headOf, wonOf } from "./setup.js";

/** The start of the first session. */
const T0 = Date.UTC(2027, 2, 1, 9);

/** An author who can see no room. */
export const scope = { visibleRooms: [] as readonly string[], hosts: [] };

/** Imports a document into the program of the world `demo`. */
export const importInto = (
  store: Store,
  document: ProgramDocument,
  options: ImportOptions = {},
  { visibleRooms, hosts } = scope,
  by?: Author,
) =>
  importDocument(
    store,
    "demo",
    document,
    options,
    { sees: ({ id }) => visibleRooms.includes(id), hosts },
    by,
  );

/** Returns a document with sessions of these titles, each with a different speaker. */
export const documentOf = (titles: readonly string[]): ProgramDocument => ({
  sessions: titles.map((title, i) => ({
    fields: { title },
    import_id: `s${i}`,
    room: { name: `Room ${i % 8}` },
    speakers: [`p${i}`],
    position: { line: i + 1 },
  })),
  speakers: titles.map((_, i) => ({
    fields: { name: `Speaker ${i}` },
    key: `p${i}`,
    import_id: `p${i}`,
    position: {},
  })),
  problems: [],
});

const numbered = (count: number) =>
  documentOf(Array.from({ length: count }, (_, i) => `Talk ${i}`));

/** Returns the answer to a write, which must be accepted. */
function accepted<T extends object>(answer: T) {
  if ("faults" in answer) throw new Error(JSON.stringify(answer.faults));
  return answer as Exclude<T, { faults: unknown }>;
}

export const addSession = async (store: Store, fields: object = {}) =>
  accepted(await store.program.createSession("demo", { title: "x", ...fields }));

export const addSpeaker = async (store: Store, fields: object = {}) =>
  accepted(await store.program.createSpeaker("demo", { name: "x", ...fields }, []));

export async function programContract(contract: Contract): Promise<void> {
  await contract("a speaker leaves the sessions", async (t, store) => {
    const { program } = store;
    const { value: speaker } = await addSpeaker(store);
    const { session } = await addSession(store, { speaker_ids: [speaker.id] });
    await program.deleteSpeaker("demo", speaker.id);
    const [after] = (await program.get("demo")).sessions;
    t.strictSame(after?.value, { ...session.value, speaker_ids: [] });
    t.not(after?.version, session.version);
    const late = program.updateSession("demo", session.value.id, {}, [session.version]);
    await fails(t, late, "changed");
  });

  await contract("an import is one write", async (t, store, open) => {
    const COUNT = 2000;
    const run = (
      document: ProgramDocument,
      options: ImportOptions = {},
      visibleRooms: readonly string[] = [],
    ) => {
      const all = { createRooms: true, removeMissing: true, ...options };
      return importInto(store, document, all, { ...scope, visibleRooms });
    };
    const none = { created: 0, updated: 0, unchanged: 0, deleted: 0 };
    const all = { ...none, created: COUNT, rooms_created: 8 };
    const first = await headOf(store);
    t.match(await run(numbered(COUNT), { dryRun: true }), all);
    t.equal(await headOf(store), first, "a trial writes nothing");
    t.match(await run(numbered(COUNT)), { ...all, problems: [] });
    const { entries } = await store.log.since("demo", first, 10_000);
    const count = (type: string) => entries.filter((entry) => entry.type === type).length;
    t.strictSame([count("session.created"), count("room.created")], [COUNT, 8]);
    t.match(entries.at(-1), { type: "program.imported", created: COUNT });

    const before = await headOf(store);
    const rooms = await store.rooms.all("demo", { page: 1, pageSize: 100 });
    const seen = rooms.map(({ value }) => value.id);
    const same = { ...none, unchanged: COUNT, rooms_created: 0 };
    t.match(await run(numbered(COUNT), {}, seen), same);
    t.equal(await headOf(store), before, "the same again is no write");
    await addSession(store, { title: "by hand" });
    const other = documentOf(["Other"]);
    // Sessions stay if the author cannot see their rooms.
    t.match(await run(other), { ...none, problems: { length: 2 } });
    t.match(await run(other, {}, seen), { ...none, updated: 1, deleted: COUNT - 1 });
    const { sessions } = await (await open()).program.get("demo");
    const titles = sessions.map(({ value }) => value.title).sort();
    t.strictSame(titles, ["Other", "by hand"], "what was made by hand stays");
  });

  await contract("to an import, hidden is absent", async (t, store) => {
    const two = documentOf(["Secret", "Open"]);
    await importInto(store, two, { createRooms: true }, scope);
    const sessionsNow = async () =>
      (await store.program.get("demo")).sessions.map(({ value }) => value);
    const stored = async (import_id: string) =>
      (await sessionsNow()).find((session) => session.import_id === import_id)!;
    const hidden = await stored("s0");
    const { room_id: seen } = await stored("s1");
    const visible = { ...scope, visibleRooms: [seen!] };
    const imports = (
      session: Partial<DocumentSession>,
      options: ImportOptions = {},
      sight = visible,
    ) => {
      const sessions = [{ ...two.sessions[0]!, ...session }];
      const document = { ...two, sessions };
      return importInto(store, document, options, sight);
    };
    const nothing = { created: 0, updated: 0, unchanged: 0, deleted: 0 };
    const general = [{ message: /^The file has sessions in rooms that you may not see/ }];
    const untouched: [string, Partial<DocumentSession>][] = [
      ["as it is", {}],
      ["with another title", { fields: { title: "Other" } }],
      ["by id", { import_id: "other", id: hidden.id }],
      ["to a room by id", { room: { id: seen! } }],
      ["to a room by name", { room: { name: "Room 1" } }],
      ["to no room", { room: null }],
    ];
    for (const dryRun of [true, false]) {
      for (const [name, session] of untouched) {
        const got = await imports(session, { dryRun });
        t.match(got, { ...nothing, problems: general }, name);
        t.strictSame(await stored("s0"), hidden, `${name} changes nothing`);
      }
      for (const [name, import_id, session] of [
        ["a new one", "new", {}],
        ["one that the caller sees", "s1", { fields: { title: "Open" } }],
      ] as const) {
        for (const [room, message] of [
          [{ name: "room 0" }, /There is no room called/],
          [{ id: hidden.room_id! }, /There is no room with the id/],
        ] as const) {
          t.match(
            await imports({ ...session, import_id, room }, { dryRun }),
            { problems: [{ message }] },
            `${name} into a hidden room`,
          );
        }
      }
    }
    t.equal((await stored("new")).room_id, null);
    t.equal((await stored("s1")).room_id, seen);
    const named = { import_id: "own", room: { name: "Room 0" } };
    t.match(
      await imports(named, { createRooms: true }),
      { created: 1, rooms_created: 1, problems: [] },
      "a room of the name of a hidden one is made",
    );
    t.not((await stored("own")).room_id, hidden.room_id);
    const whole = { ...scope, visibleRooms: [seen!, hidden.room_id!] };
    t.match(await imports({ room: { id: seen! } }, {}, whole), { updated: 1 });
  });

  await contract("a hidden room has the name of another", async (t, store) => {
    const ids: string[] = [];
    for (const name of ["Hall", "hall", "HALL"]) {
      ids.push((await store.rooms.create("demo", { name })).value.id);
    }
    for (const room of ids) {
      const [session] = documentOf(["A"]).sessions;
      const sessions = [{ ...session!, import_id: room, room: { name: "Hall" }, speakers: [] }];
      const sight = { ...scope, visibleRooms: [room] };
      const got = await importInto(store, { sessions, speakers: [], problems: [] }, {}, sight);
      t.match(got, { created: 1, problems: [] });
      const { sessions: all } = await store.program.get("demo");
      const made = all.find(({ value }) => value.import_id === room)!;
      t.equal(made.value.room_id, room, "the one that the caller sees counts");
    }
  });

  await contract("a user has a thousand favorites", async (t, store) => {
    const { program } = store;
    const user = await enter(store, "ada");
    await importInto(store, numbered(1001));
    const ids = (await program.get("demo")).sessions.map(({ value }) => value.id);
    const last = ids.pop()!;
    for (const id of ids) await program.favor("demo", user, id, true);
    await fails(t, program.favor("demo", user, last, true), "quota", "favorites");
    await program.favor("demo", user, ids[3]!, false);
    await program.favor("demo", user, last, true);
    const kept = ids.filter((id) => id !== ids[3]);
    t.strictSame(await program.favorites("demo", user), [...kept, last]);
  });
}

const MINUTE = 60_000;
const NINE = Date.parse("2027-03-01T09:00:00Z");

export async function attendanceContract(contract: Contract): Promise<void> {
  await contract("how many people were in a room", async (t, store, open) => {
    const other = await open();
    const room = (await store.rooms.create("demo", { name: "Stage" })).value.id;
    const samples = [
      [60, 5],
      [60, 7, other],
      [60, 2],
      [61, 1],
      [65, 3],
    ] as const;
    for (const [at, people, by = store] of samples) {
      const rooms = [
        { room: ABSENT, people: 9 },
        { room, people },
      ];
      await by.attendance.sample("demo", at * MINUTE, rooms);
    }
    await store.attendance.sample("none", 0, [{ room, people: 1 }]);
    const expectCounts = async (from: number, every: number, expected: number[][], limit = 9) => {
      const asked = { from: from * MINUTE, span: every * MINUTE, limit };
      const counts = await other.attendance.counts("demo", room, asked);
      t.strictSame(
        counts.map(({ at, people }) => [at / MINUTE, people]),
        expected,
      );
    };
    await expectCounts(0, 1, [
      [60, 7],
      [61, 1],
      [65, 3],
    ]);
    await expectCounts(61, 1, [[61, 1]], 1);
    await expectCounts(0, 5, [
      [60, 7],
      [65, 3],
    ]);
    await store.attendance.prune("demo", { counts: 61 * MINUTE, visits: 0 });
    await expectCounts(0, 10, [[60, 3]]);
    await store.rooms.delete("demo", room);
    await expectCounts(0, 1, []);
  });

  await contract("who was in a room, by session", async (t, store, open) => {
    const { attendance } = store;
    const other = (await open()).attendance;
    const room = (await store.rooms.create("demo", { name: "Stage" })).value.id;
    const { session } = await addSession(store, {
      ...{ title: "Talk", room_id: room, state: "public" },
      starts_at: new Date(NINE).toISOString(),
      ends_at: new Date(NINE + 30 * MINUTE).toISOString(),
    });
    const [user, bob] = [await enter(store, "ada"), await enter(store, "bob")];
    const stay = (from: number, to: number, who = user) => ({
      user: who,
      room,
      from: NINE + from * MINUTE,
      to: NINE + to * MINUTE,
    });
    const visits = async (after?: { user: string; session: string }) =>
      (await attendance.visits("demo", room, after, 9)).map((visit) => [
        visit.user === user,
        visit.title,
        (visit.first - NINE) / MINUTE,
        (visit.last - NINE) / MINUTE,
        visit.seconds / 60,
      ]);
    const absent = [stay(1, 2, ABSENT), { ...stay(1, 2), room: ABSENT }];
    await attendance.note("demo", [stay(-5, -5), stay(-5, 10), ...absent]);
    await other.note("demo", [stay(5, 20), stay(8, 12)]);
    await other.note("demo", [stay(25, 40), stay(31, 32, bob)]);
    await other.note("none", [stay(1, 2)]);
    const all = await visits();
    const ofAda = all.filter(([isAda]) => isAda);
    const [outside, talk] = [
      [true, null, -5, 40, 15],
      [true, "Talk", 0, 30, 25],
    ];
    t.strictSame(ofAda, [outside, talk], "time that two processes note counts once");
    t.equal(all.length, 3);
    const [first] = await attendance.visits("demo", room, undefined, 1);
    t.strictSame(await visits(first), all.slice(1), "a page");
    await store.program.deleteSession("demo", session.value.id);
    t.strictSame(
      (await visits()).map(([, title]) => title),
      [null, null, null],
    );
    await attendance.prune("demo", { counts: 0, visits: NINE + 35 * MINUTE });
    t.strictSame(await visits(), [outside]);
    await store.users.erase("demo", { user_id: user });
    t.strictSame(await visits(), [], "erased with the user");
    await attendance.note("demo", [stay(50, 51)]);
    t.strictSame(await visits(), [], "and not noted later");
  });

  await contract("favorites that move keep their former place", async (t, store, open) => {
    const { program, push } = store;
    const ada = await enter(store, "ada");
    const hall = (await store.rooms.create("demo", { name: "Hall" })).value.id;
    const at = (minute: number) => new Date(T0 + minute * MINUTE).toISOString();
    const timed = { room_id: hall, starts_at: at(0), ends_at: at(30) };
    const { id } = (await addSession(store, timed)).session.value;
    const next = (await addSession(store, { ...timed, starts_at: at(30), ends_at: at(60) })).session
      .value.id;
    await program.favor("demo", ada, next, true);
    const browser = { endpoint: "https://push.example.org/1", p256dh: "k", auth: "a" };
    await push.subscribe("demo", ada, browser, T0);
    const moved = async () =>
      (await program.moved("demo", ada)).map(({ session, starts_at, room_id }) => [
        session,
        (starts_at - T0) / MINUTE,
        room_id,
      ]);
    const run = (action: RunAction, minute: number, minutes?: number, room = hall) =>
      program.runSession("demo", room, { session: id, action, minutes }, times(minute));
    const times = (minute: number) => ({ now: T0 + minute * MINUTE, overrun: 30 * MINUTE });

    t.strictSame(await moved(), []);
    t.strictSame(await run("plus", 10, 10), [id, next]);
    t.strictSame(await moved(), [[next, 30, hall]]);
    t.strictSame(await run("plus", 11, 5), [id, next]);
    t.strictSame(await moved(), [[next, 30, hall]], "where it was before it moved first");
    t.match(await push.moved("demo", next, T0), [{ user: ada, starts_at: T0 + 45 * MINUTE }]);
    t.strictSame(await push.moved("demo", next, T0 + 90 * MINUTE), [], "not when it is over");
    await program.updateSession("demo", next, { starts_at: at(30), ends_at: at(60) });
    t.strictSame(await moved(), [], "until it has moved back");
    await program.updateSession("demo", next, { room_id: null });
    t.strictSame(await moved(), [[next, 30, hall]], "to another room, too");
    t.strictSame((await (await open()).program.moved("demo", ada)).length, 1);

    const head = await headOf(store);
    t.equal(await run("hold", -1), undefined, "not begun");
    t.equal(await headOf(store), head);
    t.strictSame(await run("hold", 12), [id]);
    t.strictSame(await run("hold", 13), [], "twice is once");
    t.strictSame(await run("end", 14), [id]);
    const { sessions } = await program.get("demo");
    t.match(sessions.find(({ value }) => value.id === id)?.value, {
      overrun: "ended",
      ends_at: at(14),
    });
    await fails(t, run("end", 15, undefined, ABSENT), "absent", "session");
    await program.deleteSession("demo", id);
    await fails(t, run("end", 15), "absent", "session");
  });

  await contract("a room has one screen, and its link one code", async (t, store, open) => {
    const { screens, invites } = store;
    const hall = (await store.rooms.create("demo", { name: "Hall" })).value.id;
    t.strictSame(await screens.get("demo", hall), { show: "welcome" });
    const first = await headOf(store);
    await screens.show("demo", hall, { show: "question", id: ABSENT });
    await screens.show("demo", hall, { show: "question", id: ABSENT });
    t.equal(await headOf(store), first + 1, "the same again is no write");
    const other = await open();
    t.strictSame(await other.screens.get("demo", hall), { show: "question", id: ABSENT });
    await screens.show("demo", hall, { show: "black" });
    t.strictSame(await screens.get("demo", hall), { show: "black" });
    await fails(t, screens.show("demo", ABSENT, { show: "black" }), "absent", "room");

    const made = await invites.link("demo", hall, { now: 1, soon: 2, ends: 9 });
    t.match(made.code, /^[A-HJ-NP-Z2-9]{6}$/);
    t.strictSame(await other.invites.byCode(made.code), { ...made, world: "demo" });
    const kept = await invites.link("demo", hall, { now: 1, soon: 10, ends: 20 });
    t.strictSame([kept.code, kept.token], [made.code, made.token], "an extension keeps both");
    const renewed = await invites.link("demo", hall, { now: 30, soon: 40, ends: 50 });
    t.not(renewed.code, made.code);
    t.equal(await invites.byCode(made.code), undefined);
    await store.rooms.delete("demo", hall);
    t.equal(await invites.byCode(renewed.code), undefined);
    t.strictSame(await screens.get("demo", hall), { show: "welcome" });
  });

  await contract("announcements are kept", async (t, store, open) => {
    const { announcements } = store;
    await store.worlds.create(worldOf("other"));
    t.strictSame(await announcements.list("demo"), []);
    const drafts = [
      { text: "one" },
      { text: "🎪", show_until: 5000, state: "active" as const },
      { text: "", state: "archived" as const },
    ];
    const made: Announcement[] = [];
    for (const draft of drafts) {
      const one = await announcements.create("demo", draft);
      t.match(one, { show_until: null, state: "draft", ...draft });
      t.match(one.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      made.push(one);
    }
    t.strictSame(await announcements.list("demo"), made, "the oldest first");
    t.strictSame(await (await open()).announcements.list("demo"), made);
    t.strictSame(await announcements.list("other"), []);
    await store.worlds.delete("demo");
    t.strictSame(await announcements.list("demo"), []);
  });

  await contract("an announcement goes forward", async (t, store) => {
    const { announcements } = store;
    await store.worlds.create(worldOf("other"));
    const states: AnnouncementState[] = ["draft", "active", "archived"];
    for (const [from, to] of states.flatMap((from) => states.map((to) => [from, to] as const))) {
      const before = await announcements.create("demo", { text: "x", state: from });
      const isForward = states.indexOf(to) === states.indexOf(from) + 1;
      const after = { ...before, text: "y", state: isForward ? to : from };
      const update = announcements.update("demo", before.id, { text: "y", state: to });
      t.strictSame(await update, { before, after }, `${from} to ${to}`);
      t.strictSame((await announcements.list("demo")).at(-1), after, `${from} to ${to}`);
    }
    const { id, ...rest } = (await announcements.list("demo"))[0]!;
    let before: Announcement = { id, ...rest };
    for (const show_until of [7, null]) {
      const after = { ...before, show_until };
      t.strictSame(await announcements.update("demo", id, { show_until }), { before, after });
      before = after;
    }
    const seen = (await announcements.list("demo"))[0]!;
    t.equal(seen.id, id, "in place");
    const update = (text: string) => announcements.update("demo", id, { text }, seen);
    const races = await Promise.allSettled(["one", "two", "three"].map(update));
    t.equal(wonOf(races), 1, "of writers who saw the same, one wins");
    await fails(t, update("four"), "changed");
    await fails(t, announcements.update("other", id, {}), "absent");
  });
}
