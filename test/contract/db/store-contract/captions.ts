import { ABSENT, type Contract, enter, fails, headOf } from "./setup.js";

const NOW = Date.parse("2027-03-01T09:30:00Z");
const MINUTE = 60_000;

/** The rules for captions. */
export const captionContract = async (contract: Contract): Promise<void> => {
  await contract("captions are kept once they are final", async (t, store, open) => {
    const { captions, rooms, users, program } = store;
    const hall = (await rooms.create("demo", { name: "Hall" })).value.id;
    const attic = (await rooms.create("demo", { name: "Attic" })).value.id;
    const sessionIn = async (room_id: string, title = "Talk") => {
      const starts_at = new Date(NOW - 30 * MINUTE).toISOString();
      const ends_at = new Date(NOW + 30 * MINUTE).toISOString();
      const made = await program.createSession("demo", { title, room_id, starts_at, ends_at });
      if ("faults" in made) throw new Error("refused");
      return made.session.value.id;
    };
    const session = await sessionIn(hall);
    const elsewhere = await sessionIn(attic, "Elsewhere");
    const ann = await enter(store, "ann");
    const line = (text: string, final = true, more = {}) => ({
      lang: "en",
      text,
      final,
      at: NOW,
      ...more,
    });
    const add = (...lines: ReturnType<typeof line>[]) =>
      captions.add("demo", hall, lines, ann, NOW);
    const now = async (lang = "en", at = NOW) => {
      const found = await captions.now("demo", hall, lang, at);
      return found && [found.last, found.text];
    };

    t.equal(await now(), undefined);
    await add(line("Good", false), line("Good mor", false));
    t.strictSame(await now(), [null, "Good mor"]);
    t.strictSame(await captions.list("demo", hall, { limit: 9 }), [], "unfinished lines are not");
    await add(line("Good morning."), line("To", false), line("Guten", false, { lang: "de" }));
    t.strictSame(await now(), ["Good morning.", "To"]);
    t.strictSame(await (await open()).captions.now("demo", hall, "de", NOW), {
      last: null,
      number: null,
      text: "Guten",
    });
    await add(line("Today."));
    t.strictSame(await now(), ["Today.", ""], "a final line replaces the unfinished one");
    t.equal(await now("en", NOW + MINUTE), undefined, "for a minute");
    t.strictSame(await captions.languages("demo", hall, NOW), [
      { lang: "de", at: NOW },
      { lang: "en", at: NOW },
    ]);
    t.strictSame(await captions.languages("demo", hall, NOW + MINUTE), []);

    await add(
      line("Before.", true, { at: NOW - MINUTE }),
      line("Early.", true, { at: NOW - 40 * MINUTE }),
      line("Morgen.", true, { lang: "de", session }),
    );
    const all = await captions.list("demo", hall, { limit: 9 });
    t.match(all, [
      { text: "Early.", session: null, room: hall },
      { text: "Before.", session },
      { text: "Good morning.", session, at: NOW },
      { text: "Today.", session },
      { text: "Morgen.", session, lang: "de" },
    ]);
    t.strictSame(await captions.get("demo", all[2]!.number), all[2]);
    t.equal(await captions.get("other", all[2]!.number), undefined);
    t.strictSame(await captions.list("demo", attic, { limit: 9 }), []);
    t.strictSame(await captions.list("demo", hall, { limit: 2, offset: 3 }), all.slice(3));
    const from = [all[2]!.at, all[2]!.number] as const;
    t.strictSame(await captions.list("demo", hall, { limit: 9, from }), all.slice(3));
    for (const [wanted, from, to] of [
      [{ session }, 1, 5],
      [{ lang: "de" }, 4, 5],
      [{ after: NOW - MINUTE }, 2, 5],
      [{ lang: "en", session, after: NOW - 2 * MINUTE }, 1, 4],
      [{ session: elsewhere }, 0, 0],
    ] as const) {
      const selection = { ...wanted, limit: 9 };
      t.strictSame(await captions.list("demo", hall, selection), all.slice(from, to));
      t.equal(await captions.count("demo", hall, selection), to - from);
    }
    t.strictSame(await captions.kept("demo", hall, session), ["de", "en"]);
    t.strictSame(await captions.kept("demo", hall, elsewhere), []);

    const head = await headOf(store);
    await fails(t, captions.add("demo", ABSENT, [line("x")], null, NOW), "absent", "room");
    await fails(t, captions.add("demo", hall, [line("x")], ABSENT, NOW), "absent", "user");
    for (const other of [elsewhere, ABSENT]) {
      const lines = [line("x"), line("y", false, { session: other })];
      await fails(t, captions.add("demo", hall, lines, null, NOW), "denied", "session_id");
    }
    const many = Array.from({ length: 99 }, (_, i) => line("x", false, { lang: `aa-${100 + i}` }));
    await fails(t, captions.add("demo", hall, many, null, NOW), "quota", "lang");
    await captions.add("demo", attic, many, null, NOW);
    const other = [line("x", false, { lang: "fr" }), line("y", false, { lang: "it" })];
    await fails(t, captions.add("demo", attic, other, null, NOW + MINUTE - 1), "quota", "lang");
    await captions.add("demo", attic, other, null, NOW + MINUTE);
    t.strictSame(
      await captions.languages("demo", attic, NOW + MINUTE),
      ["fr", "it"].map((lang) => ({ lang, at: NOW + MINUTE })),
      "languages that are no longer spoken free their places",
    );
    await users.moderate("demo", ann, "silenced");
    await fails(t, add(line("x")), "denied");
    t.equal(await headOf(store), head + 3, "all lines or none, and one entry for unfinished ones");
    t.equal(await captions.count("demo", hall, { limit: 0 }), 5);
    const bob = await enter(store, "bob");
    await captions.add("demo", attic, [line("Bob.")], bob, NOW);

    t.equal(await captions.expire("demo", NOW - MINUTE), false);
    t.strictSame(await captions.list("demo", hall, { limit: 9 }), all.slice(1), "as old as that");
    await captions.expire("demo", NOW + MINUTE);
    t.strictSame(await captions.list("demo", hall, { limit: 9 }), []);
    t.strictSame(await now("de"), [null, ""], "nor what was never finished");
  });

  await contract("captions end with their room, and messages of their sender", async (t, store) => {
    const { captions, chat, rooms, users } = store;
    const hall = (await rooms.create("demo", { name: "Hall" })).value.id;
    const ann = await enter(store, "ann");
    const line = { lang: "en", text: "Hello.", final: true, at: NOW };
    const count = () => captions.count("demo", hall, { limit: 0 });
    await captions.add("demo", hall, [line], ann, NOW);
    await captions.add("demo", hall, [line], null, NOW);
    await users.erase("demo", { user_id: ann });
    t.equal(await count(), 2, "they stay without a name");
    await chat.empty("demo", ann, 0);
    t.equal(await count(), 1, "until the user's messages are erased, too");
    await rooms.delete("demo", hall);
    t.equal(await count(), 0);
    t.equal(await captions.now("demo", hall, "en", NOW), undefined);
  });
};
