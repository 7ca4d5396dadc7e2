import { documentOf, importInto } from "./program.js";
import { ABSENT, type Contract, fails } from "./setup.js";

/** The rules for manual edits to imported data, and for merged speakers. */
export const editContract = async (contract: Contract): Promise<void> => {
  await contract("changes by hand are kept, or replaced", async (t, store) => {
    const { program } = store;
    const document = documentOf(["A", "B", "C"]);
    await importInto(store, document);
    t.strictSame(await program.edits("demo"), {}, "an import is no change by hand");
    const sessionOf = async (title: string) =>
      (await program.get("demo")).sessions.find(({ value }) => value.title === title)!.value;
    const [a, b] = [await sessionOf("A"), await sessionOf("B")];
    await program.updateSession("demo", a.id, { title: "A1", track: "T" });
    await program.updateSession("demo", b.id, { title: "B1" });
    t.strictSame(await program.edits("demo"), { [a.id]: ["title", "track"], [b.id]: ["title"] });
    const made = await program.createSession("demo", { title: "By hand" });
    if ("faults" in made) throw new Error("refused");
    await program.updateSession("demo", made.session.value.id, { title: "By hand, too" });
    t.notOk(made.session.value.id in (await program.edits("demo")), "it was not imported");

    const options = { keepEdits: true, lists: true, choices: { replace: [b.id] } };
    const answer = await importInto(store, document, options);
    t.match(answer, {
      updated: 1,
      unchanged: 2,
      changes: {
        sessions: [
          {
            change: "kept",
            id: a.id,
            title: "A1",
            fields: [{ field: "title", before: "A1", after: "A", edited: true, kept: true }],
          },
          { change: "updated", fields: [{ before: "B1", after: "B", edited: true }] },
        ],
      },
    });
    t.equal((await sessionOf("A1")).track, "T");
    t.strictSame(await program.edits("demo"), { [a.id]: ["title", "track"] });
    t.match(await importInto(store, document), { updated: 1 }, "without it, all is replaced");
    t.strictSame(await program.edits("demo"), {});
    await program.updateSession("demo", a.id, { title: "A2" });
    await program.deleteSession("demo", a.id);
    t.strictSame(await program.edits("demo"), {}, "what is deleted has none");
  });

  await contract("speakers are merged", async (t, store) => {
    const { program } = store;
    const speaker = async (name: string, more = {}) => {
      const made = await program.createSpeaker("demo", { name, ...more }, []);
      if ("faults" in made) throw new Error("refused");
      return made.value.id;
    };
    const mei = await speaker("Mei Tanaka", { organization: "Maps" });
    const twin = await speaker("Mei Tanaka ", {
      biography: "b",
      organization: "x",
      import_id: "7",
    });
    const leo = await speaker("Leo");
    const session = async (speaker_ids: string[]) => {
      const made = await program.createSession("demo", { title: "T", speaker_ids });
      if ("faults" in made) throw new Error("refused");
      return made.session.value.id;
    };
    const [one, both] = [await session([twin, leo]), await session([leo, twin, mei])];
    const { value } = await program.mergeSpeakers("demo", mei, twin);
    t.match(value, { id: mei, name: "Mei Tanaka", organization: "Maps", biography: "b" });
    t.equal(value.import_id, "7", "a later import finds the person");
    const { sessions, speakers } = await program.get("demo");
    const named = (id: string) => sessions.find(({ value }) => value.id === id)!.value.speaker_ids;
    t.strictSame(named(one), [mei, leo]);
    t.strictSame(named(both), [leo, mei]);
    t.strictSame(speakers.map(({ value }) => value.id).sort(), [mei, leo].sort());
    await fails(t, program.mergeSpeakers("demo", mei, twin), "absent");
    await fails(t, program.mergeSpeakers("demo", ABSENT, mei), "absent");
    await fails(t, program.mergeSpeakers("demo", mei, leo, ["old"]), "changed");
    await program.mergeSpeakers("demo", mei, mei);
    t.equal((await program.get("demo")).speakers.length, 2, "with itself, nothing changes");
  });
};
