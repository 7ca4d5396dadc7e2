import { openStoreIn } from "../stack.js";
import t, { type Test } from "tap";
import type { Json, LiveServer } from "../live/client.js";
import { countsOf, keys, POLL, startVotes } from "./kit.js";

// Sections A6 and F6: another process, such as a command, writes to the same database.

/** Opens the store of a server beside it. */
async function beside(t: Test, { dataDir }: LiveServer) {
  return openStoreIn(t, dataDir);
}

const asked = "question.created_or_updated";
const saved = "poll.created_or_updated";

void t.test("A6 the store decides", async (t) => {
  const votes = await startVotes(t);
  const other = await beside(t, votes.live);
  const host = await votes.host();
  const room = await votes.room();
  const mod = await votes.entered(room, "mod", ["admin"]);

  await t.test("10 who voted elsewhere sees results", async (t) => {
    const ann = await votes.entered(room, "ann");
    const bob = await votes.entered(room, "bob");
    const guest = await votes.live.guest();
    const poll = await votes.poll(room);
    const { id, options } = poll;
    await votes.cast(mod, bob, poll, 0);
    await votes.calm(ann, bob);
    await other.polls.vote("demo", room, id, ann.id, [options[1].id]);
    await other.polls.vote("demo", room, id, bob.id, []);
    await votes.cast(mod, guest, poll, 2);
    const { poll: counted } = await ann.next(saved);
    t.same(countsOf(counted), [0, 1, 1]);
    await votes.live.settled();
    const [withdrawn, ...more] = await votes.came(bob);
    t.same(
      keys((withdrawn?.[1] as Json).poll),
      POLL,
      "who withdrew elsewhere does not",
    );
    t.same(more, [], "and learns it once");
    await host.do("poll.update", { room, id, content: "So?" });
    t.same(countsOf((await ann.next(saved)).poll), [0, 1, 1]);
    t.same(keys((await bob.next(saved)).poll), POLL);
  });

  await t.test("F6 votes in two processes at once", async (t) => {
    const here = votes.live.app.store;
    const poll = await votes.poll(room);
    const question = await votes.question(room);
    const users = await votes.users(200);
    const ids = poll.options.map(({ id }: Json) => id);
    await Promise.all(
      [other, here].flatMap((store, i) =>
        users.flatMap((user) => [
          store.polls.vote("demo", room, poll.id, user, [ids[i]]),
          store.questions.vote("demo", room, question.id, user, true, false),
        ]),
      ),
    );
    const counts = countsOf(await votes.pollNow(room, poll.id))!;
    t.equal(counts[0]! + counts[1]!, 200);
    t.match(await votes.questionNow(room, question.id), { score: 200 });
    // Another process tells nobody here, so one more vote does.
    const guest = await votes.live.guest();
    await votes.cast(mod, guest, poll, 2);
    await guest.do("question.vote", { room, id: question.id });
    await mod.next(
      asked,
      (data) => data.question.id === question.id && data.question.score === 201,
    );
  });
});
