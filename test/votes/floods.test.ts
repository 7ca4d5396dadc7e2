import t from "tap";
import { holdRates, soon } from "../live/client.js";
import { byTrait, startVotes } from "./kit.js";

// Many pushes that wait, and what may overtake them.

const asked = "question.created_or_updated";
const saved = "poll.created_or_updated";

/**
 * Holds up the reads with which pushes begin, whatever queue the pushes wait in.
 * @returns what lets them go on.
 */
function holdReads<A extends unknown[], R>(part: {
  get: (...args: A) => Promise<R>;
}): () => void {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const read = part.get;
  part.get = async (...args) => {
    await opened;
    return read(...args);
  };
  return () => {
    part.get = read;
    open();
  };
}

void t.test("pushes that wait", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  await t.test("A6 do not hold up a ban", async (t) => {
    const room = await votes.room();
    const guest = await votes.entered(room, "banned");
    const resume = holdReads(live.app.store.questions);
    await votes.question(room, "visible", guest);
    await host.do("user.ban", { id: guest.id });
    await guest.next("connection.reload");
    t.equal((await soon(guest.closed)).code, 1000);
    resume();
  });

  await t.test("and show nothing of later, private edits", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const reads = ["question.read", "poll.read"];
    const reader = await votes.entered(room, "reader", reads);
    const moderator = await votes.entered(room, "moderator", [
      ...reads,
      "question.moderate",
      "poll.manage",
    ]);
    for (const state of ["mod_queue", "archived"]) {
      const { id, content } = await votes.question(room);
      await votes.calm(reader, moderator);
      const resume = holdReads(live.app.store.questions);
      const update = (changes: object) =>
        host.do("question.update", { room, id, ...changes });
      await update({ state });
      await update({ content: "private" });
      resume();
      t.match(await reader.next(asked), { question: { id, content, state } });
      await moderator.next(asked, ({ question }) => {
        return question.content === "private";
      });
      await live.settled();
      t.notMatch(JSON.stringify(await reader.all()), "private", state);
    }
    for (const state of ["draft", "archived"]) {
      const poll = await votes.poll(room);
      const { id, content } = poll;
      await votes.calm(reader, moderator);
      const resume = holdReads(live.app.store.polls);
      const update = (changes: object) =>
        host.do("poll.update", { room, id, ...changes });
      await update({ state });
      await update({
        content: "private",
        options: [{ content: "private too" }],
      });
      resume();
      const data = await reader.next(saved);
      t.match(data.poll, { id, content, state, options: poll.options });
      t.equal("results" in data.poll, state === "archived", "of then");
      await moderator.next(saved, ({ poll }) => poll.content === "private");
      await live.settled();
      t.notMatch(JSON.stringify(await reader.all()), "private", state);
    }
  });

  await t.test("nor to users who voted for it before", async (t) => {
    const room = await votes.room({
      rules: { ...byTrait, "question.vote": [] },
    });
    const moderator = await votes.entered(room, "moderator", [
      "question.moderate",
    ]);
    const voter = await votes.entered(room, "voter", ["question.read"]);
    const { id } = await votes.question(room);
    await votes.calm(voter, moderator);
    const resume = holdReads(live.app.store.questions);
    await voter.do("question.vote", { room, id });
    for (const changes of [{ state: "archived" }, { content: "private" }]) {
      await host.do("question.update", { room, id, ...changes });
    }
    resume();
    await moderator.next(asked, ({ question }) => {
      return question.content === "private" && question.score === 1;
    });
    await live.settled();
    t.notMatch(JSON.stringify(await voter.all()), "private");
  });

  await t.test("nor a text that came with the change", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const reads = ["question.read", "poll.read"];
    const reader = await votes.entered(room, "reader", reads);
    const secret = { room, state: "archived", content: "private" };
    const question = await votes.question(room);
    await votes.calm(reader);
    await host.do("question.update", { id: question.id, ...secret });
    const { content } = question;
    const hidden = { content, state: "archived" };
    t.match(await reader.next(asked), { question: hidden });
    const poll = await votes.poll(room);
    await votes.calm(reader);
    const options = [{ content: "private" }];
    await host.do("poll.update", { id: poll.id, ...secret, options });
    t.match((await reader.next(saved)).poll, {
      state: "archived",
      content: poll.content,
      options: poll.options,
    });
    t.notMatch(JSON.stringify(await reader.all()), "private");
  });

  await t.test("nor anything that another change has hidden", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const reader = await votes.entered(room, "reader", ["question.read"]);
    const { id, content } = await votes.question(room);
    await votes.calm(reader);
    const resume = holdReads(live.app.store.questions);
    const update = (changes: object) =>
      host.do("question.update", { room, id, ...changes });
    await update({ answered: true });
    await update({ state: "archived", content: "last" });
    await update({ content: "private" });
    resume();
    const { question } = await reader.next(asked);
    t.match(question, { id, content, state: "archived" });
    await live.settled();
    t.same(await votes.came(reader), []);
  });
});

void t.test("C how much people are told", async (t) => {
  const votes = await startVotes(t, {
    maxText: 100_000,
    commandsPerSecond: 1000,
    messagesPerSecond: 1000,
  });
  const text = "x".repeat(60_000);

  await t.test("questions for all in a room", async (t) => {
    const rules = { ...byTrait, "question.ask": [] };
    const rooms = {
      open: await votes.room({
        question: { active: true, requires_moderation: false },
        rules,
      }),
      moderated: await votes.room({ rules }),
    };
    const asker = await votes.person("asker");
    for (const room of Object.values(rooms)) {
      for (let i = 0; i < 50; i++) {
        // They may not read questions, and still count.
        const client = await votes.live.guest(`in-${i}`);
        await client.do("room.enter", { room });
      }
    }
    const resume = holdRates(t);
    const codesIn = async (room: string) => {
      const codes: string[] = [];
      for (let i = 0; i < 70; i++) {
        const asked = { room, content: text };
        codes.push(await asker.code("question.ask", asked));
      }
      return codes;
    };
    // Each counts as 61 for each of 50 people, and 200,000 are allowed at once.
    const codes = await codesIn(rooms.open);
    t.equal(codes.indexOf("protocol.rate_limited"), 65);
    t.same(new Set(codes), new Set(["ok", "protocol.rate_limited"]));
    t.same(new Set(await codesIn(rooms.moderated)), new Set(["ok"]));
    resume();
  });
});

void t.test("C polls that are opened in a chat", async (t) => {
  const votes = await startVotes(t, { messagesPerSecond: 1 });
  const resume = holdRates(t);
  const host = await votes.host();
  for (const chat of [true, false]) {
    const room = await votes.room({ chat });
    const { id } = await votes.poll(room, { state: "draft" });
    const codes: string[] = [];
    for (let i = 0; i < 6; i++) {
      for (const state of ["open", "draft"]) {
        codes.push(await host.code("poll.update", { room, id, state }));
      }
    }
    t.equal(codes.includes("protocol.rate_limited"), chat);
    if (chat)
      t.equal(codes.indexOf("protocol.rate_limited"), 8, "a burst of four");
  }
  resume();
});
