import t from "tap";
import type { Client, Json } from "../live/client.js";
import { byTrait, keys, QUESTION, questionStates, startVotes } from "./kit.js";

// Section 9: asking, admitting, changing and deleting questions, and who hears of it.

const read = "question.read";
const moderate = "question.moderate";

void t.test("9 questions", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();

  /** A room, and who is there with which rights. */
  const crowd = async (question: object = { active: true }) => {
    const room = await votes.room({ question, rules: byTrait });
    const entered = (uid: string, ...traits: string[]) =>
      votes.entered(room, uid, traits);
    const left = await entered("left", read, moderate);
    await left.do("room.leave", { room });
    const people: Record<string, Client> = {
      reader: await entered("reader", read),
      asker: await entered("asker", read, "question.ask"),
      asker2: await entered("asker", read, "question.ask"),
      moderator: await entered("moderator", read, moderate),
      moderator2: await entered("moderator", read, moderate),
      blind: await entered("blind", moderate),
      voter: await entered("voter", "question.vote"),
      nobody: await entered("nobody"),
      outside: await votes.person("outside", [read, moderate]),
      elsewhere: await votes.entered(await votes.room(), "elsewhere", [
        read,
        moderate,
      ]),
      left,
    };
    return { room, people };
  };
  const readers = ["reader", "asker", "asker2", "moderator", "moderator2"];
  const moderators = ["moderator", "moderator2", "blind"];

  await t.test("9 question.ask: requires_moderation", async (t) => {
    const table: [config: object, state: string][] = [
      [{}, "mod_queue"],
      [{ requires_moderation: true }, "mod_queue"],
      [{ requires_moderation: false }, "visible"],
      [{ requires_moderation: null }, "mod_queue"],
      [{ requires_moderation: 0 }, "mod_queue"],
      [{ requires_moderation: "false" }, "mod_queue"],
      [{ requires_moderation: "" }, "mod_queue"],
    ];
    const guest = await live.guest();
    for (const [config, state] of table) {
      const room = await votes.room({ question: { active: true, ...config } });
      const payload = { room, content: " Why? 😀 " };
      const answer = await guest.do("question.ask", payload);
      t.same(keys(answer), ["question"]);
      const { question } = answer;
      t.same(keys(question), QUESTION);
      const { id, timestamp, ...rest } = question;
      t.match(id, /^[0-9a-f-]{36}$/);
      t.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000, timestamp);
      t.same(
        rest,
        {
          content: " Why? 😀 ",
          state,
          answered: false,
          room_id: room,
          score: 0,
          is_pinned: false,
        },
        JSON.stringify(config),
      );
    }
  });

  await t.test(
    "a question says who asked if the room did so then",
    async (t) => {
      const settings = { active: true, requires_moderation: false };
      const room = await votes.room({ question: settings });
      const config = (show_authors: unknown) =>
        votes.alter(room, { question: { ...settings, show_authors } });
      const reader = await votes.entered(room, "reader of authors");
      const asker = await votes.entered(room, "asker of authors");
      const ask = async (content: string) =>
        (await asker.do("question.ask", { room, content })).question.sender;
      t.equal(await ask("before"), undefined);
      for (const value of ["true", 1, null]) {
        await config(value);
        t.equal(await ask(String(value)), undefined, "true alone shows them");
      }
      await config(true);
      const me = (await ask("shown")) as string;
      const isShown = ({ question }: Json) => question?.sender === me;
      t.ok(await reader.sees("question.created_or_updated", isShown));
      const unnamed = { room, content: "unnamed", named: false };
      t.equal(await asker.code("question.ask", unnamed), "question.named");
      await config(false);
      t.equal(await ask("after"), undefined);
      const { question } = await asker.do("question.ask", unnamed);
      t.equal(question.sender, undefined);
      await asker.do("question.ask", { ...unnamed, named: true });
      const list = await reader.do("question.list", { room });
      t.same(
        list.map(({ content, sender }: Json) => [content, sender === me]),
        [
          ...["before", "true", "1", "null", "shown", "after"],
          ...["unnamed", "unnamed"],
        ].map((it) => [it, it === "shown"]),
        "a change of the room changes no question",
      );
      await live.app.store.users.erase("demo", { user_id: me });
      const after = await reader.do("question.list", { room });
      t.ok(
        after.every((it: Json) => !("sender" in it)),
        "nor an erased user",
      );
    },
  );

  await t.test("9 question.update through all states", async (t) => {
    const { room, people } = await crowd();
    for (const before of questionStates) {
      for (const after of questionStates) {
        const { id } = await votes.question(room, before);
        const isSeen = before === "visible" || after === "visible";
        const heard = await votes.audience(
          t,
          people,
          isSeen ? readers : moderators,
          "question.created_or_updated",
          async () => {
            const payload = { room, id, state: after };
            const answer = await host.do("question.update", payload);
            t.same(keys(answer), ["question"]);
            t.same(keys(answer.question), QUESTION);
            t.equal(answer.question.state, after);
          },
          `${before} to ${after}`,
        );
        for (const { question } of Object.values(heard)) {
          t.same(keys(question), QUESTION);
          t.match(question, { id, state: after });
        }
      }
    }
  });
});
