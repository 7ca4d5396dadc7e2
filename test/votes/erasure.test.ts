import t from "tap";
import type { Client, Json } from "../live/client.js";
import { countsOf, startVotes } from "./kit.js";

// Section A7: what stays of somebody who is erased.

void t.test("A7 erased users", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const erasures: Record<string, (client: Client) => Promise<unknown>> = {
    delete_user: async ({ id }) => {
      const path = "demo/delete_user";
      const { status } = await live.rest("POST", path, { user_id: id });
      t.ok(status < 300, `${status}`);
    },
    "user.delete": ({ id }) => host.do("user.delete", { id }),
  };
  for (const [name, erase] of Object.entries(erasures)) {
    await t.test(`A7 ${name}: votes count, questions stay`, async (t) => {
      const room = await votes.room();
      const [ann, bob] = [await votes.person("ann"), await votes.person("bob")];
      const asked = await votes.question(room, "visible", ann);
      const queued = await votes.question(room, "mod_queue", ann);
      const open = await votes.poll(room, { poll_type: "multi" });
      const closed = await votes.poll(room);
      for (const client of [ann, bob]) {
        await client.do("question.vote", { room, id: asked.id });
        await votes.vote(client, open, 0, 2);
        await votes.vote(client, closed, 1);
      }
      await host.do("poll.update", { room, id: closed.id, state: "closed" });
      const questions: Json[] = await host.do("question.list", { room });
      const polls: Json[] = await host.do("poll.list", { room });

      await erase(ann);
      await ann.next("connection.reload");
      t.same(await host.do("question.list", { room }), questions);
      t.same(await host.do("poll.list", { room }), polls);
      t.same(
        polls.map((poll) => countsOf(poll)),
        [
          [2, 0, 2],
          [0, 2, 0],
        ],
      );

      const again = await votes.person("ann");
      t.not(again.id, ann.id);
      const list: Json[] = await again.do("question.list", { room });
      t.same(
        list.map(({ id, score, voted }) => [id, score, voted]),
        [[asked.id, 2, false]],
        "a new user has neither asked nor voted",
      );
      t.notOk(list.some(({ id }) => id === queued.id));
      const [first] = await again.do("poll.list", { room });
      t.notOk("answers" in first);
      t.notOk("results" in first);
      await again.do("question.vote", { room, id: asked.id });
      await votes.vote(again, open, 0);
      t.match(await votes.questionNow(room, asked.id), { score: 3 });
      t.same(countsOf(await votes.pollNow(room, open.id)), [3, 0, 2]);
      await votes.vote(again, open);
      t.same(countsOf(await votes.pollNow(room, open.id)), [2, 0, 2]);

      const opened = { room, id: closed.id, state: "open" };
      t.same(countsOf((await host.do("poll.update", opened)).poll), [0, 2, 0]);
      const changes = { room, id: queued.id, state: "visible" };
      t.equal(await host.code("question.update", changes), "ok");
      t.equal(await host.code("question.delete", { room, id: asked.id }), "ok");
    });
  }

  await t.test("A7 a moderator who is erased", async (t) => {
    const room = await votes.room();
    const mod = await votes.person("mod", ["admin"]);
    const { id } = await votes.question(room, "mod_queue");
    const changes = { room, id, state: "visible", is_pinned: true };
    const { question } = await mod.do("question.update", changes);
    await host.do("user.delete", { id: mod.id });
    t.same(await votes.questionNow(room, id), { ...question, voted: false });
  });
});
