import type { ImportChanges } from "../../../db/contract/program.js";
import { roomsDigest } from "../../../db/rules/import-changes.js";
import { Expecting, me } from "./logged.js";
import {
  addSession,
  addSpeaker,
  documentOf,
  importInto,
  scope,
} from "./program.js";
import { ABSENT, ada, type Contract } from "./setup.js";

/** An import that changes nothing of an empty world. */
const NO_CHANGES: ImportChanges = {
  basis: { stamp: "", rooms: roomsDigest([]), users: [], pictures: [] },
  ...{ rooms: [], speakers: [], sessions: [], deleted: [] },
  ...{ places: [], entries: [] },
};

export async function logProgramContract(contract: Contract): Promise<void> {
  await contract("what sessions and speakers append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { program } = store;
    const { id: session } = (await addSession(store)).session.value;
    const { id: speaker } = (await addSpeaker(store)).value;
    await expecting.write(
      "a session is made",
      () => program.createSession("demo", { title: "y" }, me),
      (made) => [
        {
          type: "session.created",
          session: "faults" in made ? "" : made.session.value.id,
        },
      ],
    );
    await expecting.write(
      "it changes",
      () =>
        program.updateSession(
          ...["demo", session, { title: "z", kind: "talk" }, undefined, me],
        ),
      [{ type: "session.updated", session }],
    );
    await expecting.write(
      "a speaker is made",
      () => program.createSpeaker("demo", { name: "y" }, [], me),
      (made) => [
        {
          type: "speaker.created",
          speaker: "faults" in made ? "" : made.value.id,
        },
      ],
    );
    await expecting.write(
      "a speaker changes",
      () =>
        program.updateSpeaker(
          ...["demo", speaker, { name: "z" }, [], undefined, me],
        ),
      [{ type: "speaker.updated", speaker }],
    );
    const { id: user } = await store.users.enter("demo", ada);
    await expecting.write(
      "a favorite",
      () => program.favor("demo", user, session, true, me),
      [{ type: "program.favored", user, by: { ...me, user } }],
    );
    await expecting.write(
      "a link",
      () => store.programLinks.link("demo", user, false, me),
      [{ type: "program.linked", user, by: { ...me, user } }],
    );
    await expecting.write(
      "another link",
      () => store.programLinks.link("demo", user, true, me),
      [{ type: "program.linked", user, by: { ...me, user } }],
    );
    const { value: room } = await store.rooms.create("demo", { name: "hall" });
    const link = (times = { now: 5, soon: 10, ends: 90 }) =>
      store.invites.link("demo", room.id, times, me);
    const noted = (act: string) => [
      { type: "noted" as const, act, subject: { room_id: room.id } },
    ];
    await expecting.write("an invite", () => link(), noted("invite.created"));
    const invite = (await store.invites.of("demo", room.id))!;
    t.match(invite, { room: room.id, ends: 90 });
    t.strictSame(await store.invites.find("demo", invite.token), invite);
    await expecting.nothing({ "the same invite": () => link() });
    await expecting.write(
      "an invite that ends soon",
      () => link({ now: 85, soon: 95, ends: 180 }),
      noted("invite.created"),
    );
    t.match(await store.invites.of("demo", room.id), { ...invite, ends: 180 });
    await expecting.write(
      "an invite in place of one that is over",
      () => link({ now: 180, soon: 190, ends: 270 }),
      noted("invite.created"),
    );
    t.equal(await store.invites.find("demo", invite.token), undefined);
    const end = () => store.invites.end("demo", room.id, me);
    await expecting.write("the end of it", end, noted("invite.ended"));
    await expecting.nothing({ "an end without an invite": end });
    await expecting.nothing({
      "the same favorite": () => program.favor("demo", user, session, true, me),
      "the same link": () => store.programLinks.link("demo", user, false, me),
      "a session that is refused": () =>
        program.createSession("demo", { title: "x", room_id: ABSENT }, me),
      "a speaker that is refused": () =>
        program.createSpeaker("demo", { name: "x", user_id: ABSENT }, [], me),
    });
    await expecting.refused([
      [() => program.createSession("none", { title: "x" }), "absent"],
      [() => program.updateSession("demo", ABSENT, {}), "absent"],
      [() => program.deleteSession("demo", ABSENT), "absent"],
      [() => program.createSpeaker("none", { name: "x" }, []), "absent"],
      [() => program.updateSpeaker("demo", ABSENT, {}, []), "absent"],
      [() => program.deleteSpeaker("demo", ABSENT), "absent"],
      [() => program.favor("demo", user, ABSENT, true), "absent"],
      [() => store.programLinks.link("demo", ABSENT, false), "absent"],
      [() => store.invites.end("demo", ABSENT), "absent"],
    ]);
    await expecting.write(
      "a session is deleted",
      () => program.deleteSession("demo", session, undefined, me),
      [{ type: "session.deleted", session }],
    );
    await expecting.write(
      "a speaker is deleted",
      () => program.deleteSpeaker("demo", speaker, undefined, me),
      [{ type: "speaker.deleted", speaker }],
    );
  });

  await contract("what an import appends", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { program } = store;
    const imports = (titles: string[], removeMissing = false) =>
      importInto(store, documentOf(titles), { removeMissing }, scope, me);
    const idOf = async (title: string) =>
      (await program.get("demo")).sessions.find(
        ({ value }) => value.title === title,
      )!.value.id;
    await imports(["a", "b"]);
    const [a, b] = [await idOf("a"), await idOf("b")];
    await expecting.nothing({ "the same again": () => imports(["a", "b"]) });
    await expecting.write("one is missing", () => imports(["a"], true), [
      { type: "session.deleted", session: b },
      { type: "program.imported", created: 0, updated: 0, deleted: 1 },
    ]);
    const changed = documentOf(["a"]);
    changed.sessions[0]!.fields.kind = "talk";
    await expecting.write(
      "one changes",
      () => importInto(store, changed, {}, scope, me),
      [
        { type: "session.updated", session: a },
        { type: "program.imported", created: 0, updated: 1, deleted: 0 },
      ],
    );
    await expecting.nothing({
      "a dry run": () =>
        importInto(store, documentOf(["c"]), { dryRun: true }, scope, me),
    });
    await expecting.refused([
      [() => program.import("none", NO_CHANGES, []), "absent"],
    ]);
  });
}
