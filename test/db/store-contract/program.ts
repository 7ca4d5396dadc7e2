import { importDocument } from "../../../db/program-imports.js";
import type { Author } from "../../../db/contract/author.js";
import type { Store } from "../../../db/contract/store.js";
import type {
  DocumentSession,
  ImportOptions,
  ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { ada, type Contract, fails } from "./setup.js";

/** An author who sees no room. */
export const scope = { visibleRooms: [] as readonly string[], hosts: [] };

/** Makes the program of the world `demo` agree with a document. */
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

/** A document with sessions of these titles, each with a room and a speaker of its own. */
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

/** What a write answered that must not be refused. */
function accepted<T extends object>(answer: T) {
  if ("faults" in answer) throw new Error(JSON.stringify(answer.faults));
  return answer as Exclude<T, { faults: unknown }>;
}

export const addSession = async (store: Store, fields: object = {}) =>
  accepted(
    await store.program.createSession("demo", { title: "x", ...fields }),
  );

export const addSpeaker = async (store: Store, fields: object = {}) =>
  accepted(
    await store.program.createSpeaker("demo", { name: "x", ...fields }, []),
  );

export async function programContract(contract: Contract): Promise<void> {
  await contract("a speaker leaves the sessions", async (t, store) => {
    const { program } = store;
    const { value: speaker } = await addSpeaker(store);
    const { session } = await addSession(store, { speaker_ids: [speaker.id] });
    await program.deleteSpeaker("demo", speaker.id);
    const [after] = (await program.get("demo")).sessions;
    t.strictSame(after?.value, { ...session.value, speaker_ids: [] });
    t.not(after?.version, session.version);
    const late = program.updateSession("demo", session.value.id, {}, [
      session.version,
    ]);
    await fails(t, late, "changed");
  });

  await contract("an import is one write", async (t, store, open) => {
    const COUNT = 2000;
    const run = (
      document: ProgramDocument,
      options: ImportOptions = {},
      visibleRooms: readonly string[] = [],
    ) =>
      importInto(
        store,
        document,
        { createRooms: true, removeMissing: true, ...options },
        { ...scope, visibleRooms },
      );
    const head = async () => (await store.log.heads(["demo"]))[0]!.seq;
    const none = { created: 0, updated: 0, unchanged: 0, deleted: 0 };
    const all = { ...none, created: COUNT, rooms_created: 8 };
    const first = await head();
    t.match(await run(numbered(COUNT), { dryRun: true }), all);
    t.equal(await head(), first, "a trial writes nothing");
    t.match(await run(numbered(COUNT)), { ...all, problems: [] });
    const { entries } = await store.log.since("demo", first, 10_000);
    const count = (type: string) =>
      entries.filter((entry) => entry.type === type).length;
    t.equal(count("session.created"), COUNT);
    t.equal(count("room.created"), 8);
    t.match(entries.at(-1), { type: "program.imported", created: COUNT });

    const before = await head();
    const same = { ...none, unchanged: COUNT, rooms_created: 0 };
    const rooms = await store.rooms.all("demo", { page: 1, pageSize: 100 });
    const seen = rooms.map(({ value }) => value.id);
    t.match(await run(numbered(COUNT), {}, seen), same);
    t.equal(await head(), before, "the same again is no write");
    await addSession(store, { title: "by hand" });
    t.match(
      await run(documentOf(["Other"])),
      { ...none, problems: { length: 2 } },
      "sessions in rooms that the author does not see stay",
    );
    t.match(await run(documentOf(["Other"]), {}, seen), {
      ...none,
      ...{ updated: 1, deleted: COUNT - 1 },
    });
    const { sessions } = await (await open()).program.get("demo");
    t.strictSame(
      sessions.map(({ value }) => value.title).sort(),
      ["Other", "by hand"],
      "what was made by hand stays",
    );
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
    const general = [{ message: /^Sessions .* rooms that you may not see/ }];
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
      const sessions = [
        { ...session!, import_id: room, room: { name: "Hall" }, speakers: [] },
      ];
      const document = { sessions, speakers: [], problems: [] };
      const sight = { ...scope, visibleRooms: [room] };
      const got = await importInto(store, document, {}, sight);
      t.match(got, { created: 1, problems: [] });
      const { sessions: all } = await store.program.get("demo");
      const made = all.find(({ value }) => value.import_id === room)!;
      t.equal(made.value.room_id, room, "the one that the caller sees counts");
    }
  });

  await contract("a user has a thousand favorites", async (t, store) => {
    const { program } = store;
    const { id: user } = await store.users.enter("demo", ada);
    await importInto(store, numbered(1001));
    const ids = (await program.get("demo")).sessions.map(
      ({ value }) => value.id,
    );
    const last = ids.pop()!;
    for (const id of ids) await program.favor("demo", user, id, true);
    const more = program.favor("demo", user, last, true);
    await fails(t, more, "quota", "favorites");
    await program.favor("demo", user, ids[3]!, false);
    await program.favor("demo", user, last, true);
    const kept = ids.filter((id) => id !== ids[3]);
    t.strictSame(await program.favorites("demo", user), [...kept, last]);
  });
}
