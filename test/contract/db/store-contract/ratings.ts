import { ABSENT, type Contract, enter, fails } from "./setup.js";

const NOW = 1_800_000_000_000;

/** The rules for ratings of sessions. */
export const ratingContract = async (contract: Contract): Promise<void> => {
  await contract("a person has one rating of a session", async (t, store) => {
    const { program, ratings, users } = store;
    const made = await program.createSession("demo", { title: "Talk" });
    if ("faults" in made) throw new Error("refused");
    const session = made.session.value.id;
    const [ann, bob] = [await enter(store, "ann"), await enter(store, "bob")];
    const rate = (user: string, stars: number, text = "", of = session) =>
      ratings.rate("demo", user, { session: of, stars, text }, NOW);
    await rate(ann, 2, "Too long.");
    await rate(bob, 5);
    await rate(ann, 4, "Better.");
    t.strictSame(await ratings.own("demo", ann), [{ session, stars: 4, text: "Better." }]);
    t.strictSame(await ratings.sums("demo"), [{ session, count: 2, stars: 9 }]);
    const [first, second] = await ratings.list("demo", session, 0, 10);
    t.match(first, { stars: 4, text: "Better." });
    t.match(second, { stars: 5, text: "" });
    t.strictSame(await ratings.list("demo", session, first!.number, 10), [second]);
    await fails(t, rate(ABSENT, 1), "absent", "user");
    await fails(t, rate(ann, 1, "", ABSENT), "absent", "session");
    await users.erase("demo", { user_id: ann });
    t.strictSame(await ratings.own("demo", ann), []);
    t.match(await ratings.list("demo", session, 0, 10), [{ stars: 4, text: "" }, { stars: 5 }]);
    await fails(t, rate(ann, 1), "absent", "user");
    await program.deleteSession("demo", session);
    t.strictSame(await ratings.sums("demo"), [], "a deleted session has none");
  });
};
