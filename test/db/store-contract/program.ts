import type { ImportScope } from "../../../db/contract/program.js";
import type { Store } from "../../../db/contract/store.js";
import type {
  DocumentSession,
  ImportOptions,
  ProgramDocument,
} from "../../../schemas/documents/program-document.js";
import { ada, type Contract, fails } from "./setup.js";

/** An author who sees no room. */
export const scope: ImportScope = { visibleRooms: [], hosts: [] };

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
      store.program.import(
        "demo",
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
    t.match(await run(numbered(COUNT)), same);
    t.equal(await head(), before, "the same again is no write");
    await addSession(store, { title: "by hand" });
    t.match(
      await run(documentOf(["Other"])),
      { ...none, updated: 1, problems: { length: 1 } },
      "sessions in rooms that the author does not see stay",
    );
    const rooms = await store.rooms.all("demo", { page: 1, pageSize: 100 });
    const seen = rooms.map(({ value }) => value.id);
    t.match(await run(documentOf(["Other"]), {}, seen), {
      ...none,
      ...{ unchanged: 1, deleted: COUNT - 1 },
    });
    const { sessions } = await (await open()).program.get("demo");
    t.strictSame(
      sessions.map(({ value }) => value.title).sort(),
      ["Other", "by hand"],
      "what was made by hand stays",
    );
  });

  await contract("no import moves what is hidden", async (t, store) => {
    const two = documentOf(["Secret", "Open"]);
    await store.program.import("demo", two, { createRooms: true }, scope);
    const where = async () => {
      const { sessions } = await store.program.get("demo");
      return sessions.find(({ value }) => value.import_id === "s0")!.value;
    };
    const from = (await where()).room_id!;
    const rooms = await store.rooms.all("demo", { page: 1, pageSize: 100 });
    const open = rooms.find(({ value }) => value.name === "Room 1")!.value.id;
    for (const room of [{ id: open }, { name: "Room 1" }, null]) {
      const move = (to: DocumentSession["room"], visibleRooms: string[]) => {
        const sessions = [{ ...two.sessions[0]!, room: to }];
        const sight = { ...scope, visibleRooms };
        return store.program.import("demo", { ...two, sessions }, {}, sight);
      };
      t.match(await move(room, [open]), { problems: { length: 1 } });
      t.equal((await where()).room_id, from, "it stays in the hidden room");
      t.match(await move(room, [open, from]), { updated: 1, problems: [] });
      t.equal((await where()).room_id, room && open);
      await move({ id: from }, [open, from]);
    }
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
      const got = await store.program.import("demo", document, {}, sight);
      t.match(got, { created: 1, problems: [] });
      const { sessions: all } = await store.program.get("demo");
      const made = all.find(({ value }) => value.import_id === room)!;
      t.equal(made.value.room_id, room, "the one that the caller sees counts");
    }
  });

  await contract("a user has a thousand favorites", async (t, store) => {
    const { program } = store;
    const { id: user } = await store.users.enter("demo", ada);
    await program.import("demo", numbered(1001), {}, scope);
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
