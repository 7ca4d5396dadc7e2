import { randomUUID } from "node:crypto";
import t from "tap";
import { commands } from "./commands.js";
import { startVotes } from "./kit.js";

// A3, F1, F14: ids that name nothing here.

void t.test("ids", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const room = await votes.room();
  const elsewhere = await votes.room();
  const other = await votes.room({ world: "other" });
  const abroad = await live.person(
    { uid: "abroad", traits: ["admin"] },
    "other",
  );
  const asked = { room: other, content: "x" };
  const foreign = {
    question: (await abroad.do("question.ask", asked)).question.id,
    poll: (await abroad.do("poll.create", { ...asked, state: "open" })).poll.id,
  };

  for (const { action, kind, payload, hasId } of commands) {
    if (!hasId) continue;
    await t.test(`A3 ${action}`, async (t) => {
      const deleted = await votes.make(kind, room);
      await host.do(`${kind}.delete`, { room, id: deleted });
      const theirs = await votes.make(kind, elsewhere);
      const ids = {
        unknown: randomUUID(),
        deleted,
        "of another room": theirs,
        "of another world": foreign[kind],
        "of the other module": await votes.make(
          kind === "poll" ? "question" : "poll",
          room,
        ),
        "of a room": room,
        "no UUID": "x",
        empty: "",
        "a number": 5,
        "a big number": 1e300,
        null: null,
        "an object": {},
        "a list": [theirs],
        true: true,
        proto: "__proto__",
        long: "x".repeat(10_000),
      };
      const problems = { [action]: `${kind}.unknown` };
      for (const [name, id] of Object.entries(ids)) {
        const code = await host.code(action, { ...payload, room, id });
        t.equal(code, problems[action], name);
      }
      // No text of a payload may have these, whatever it is.
      for (const id of ["\u0000", "\ud800"]) {
        const code = await host.code(action, { ...payload, room, id });
        t.equal(code, "protocol.invalid_payload", JSON.stringify(id));
      }
      const { id: _id, ...without } = payload;
      const code = await host.code(action, { ...without, room });
      t.match(code, /^(protocol\.invalid_payload|.*\.unknown)$/, "none");
      const list = await host.do(`${kind}.list`, { room: elsewhere });
      const spared = list.find(({ id }: { id: string }) => id === theirs);
      t.ok(spared, "that of the other room is still there");
      t.notOk(spared.is_pinned, "and as it was");
      t.notOk(spared.answered, "and as it was");
    });
  }

  await t.test("F14 votes of another room are not stored", async (t) => {
    const question = await votes.question(elsewhere);
    const payload = { room, id: question.id };
    t.equal(await host.code("question.vote", payload), "question.unknown");
    t.equal((await votes.questionNow(elsewhere, question.id)).score, 0);
    const poll = await votes.poll(elsewhere);
    const options = [poll.options[0].id];
    const ballot = { room, id: poll.id, options };
    t.equal(await host.code("poll.vote", ballot), "poll.unknown");
    const { results } = await votes.pollNow(elsewhere, poll.id);
    t.same(Object.values(results), [0, 0, 0]);
  });
});
