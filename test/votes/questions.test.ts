import t from "tap";
import type { Client } from "../live/client.js";
import {
  byTrait,
  keys,
  LISTED_QUESTION,
  namesOf,
  QUESTION,
  questionStates,
  startVotes,
} from "./kit.js";

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

  await t.test("9 question.ask to moderators or readers", async (t) => {
    for (const isFree of [false, true]) {
      const { room, people } = await crowd({
        active: true,
        requires_moderation: !isFree,
      });
      const heard = await votes.audience(
        t,
        people,
        isFree ? readers : moderators,
        "question.created_or_updated",
        () => people.asker!.do("question.ask", { room, content: "x" }),
        isFree ? "visible" : "queued: not to the asker",
      );
      const [stored] = await host.do("question.list", { room });
      const { voted, ...question } = stored;
      t.equal(voted, false);
      for (const data of Object.values(heard)) t.same(data, { question });
    }
  });

  await t.test("1 the answer comes before the own push", async (t) => {
    const question = { active: true, requires_moderation: false };
    const room = await votes.room({ question });
    const mod = await votes.entered(room, "first", ["admin"]);
    await votes.calm(mod);
    mod.sendFrame("question.ask", "a", { room, content: "x" });
    const [success, push] = await votes.frames(mod, 2);
    t.match(success, ["success", "a", { question: { content: "x" } }]);
    const { id } = (success![2] as { question: { id: string } }).question;
    t.match(push, ["question.created_or_updated", { question: { id } }]);
    const steps: [action: string, payload: object, push: string][] = [
      ["question.vote", { id }, "question.created_or_updated"],
      [
        "question.update",
        { id, answered: true },
        "question.created_or_updated",
      ],
      ["question.pin", { id }, "question.pinned"],
      ["question.unpin", {}, "question.unpinned"],
      ["question.delete", { id }, "question.deleted"],
    ];
    for (const [action, payload, name] of steps) {
      mod.sendFrame(action, action, { room, ...payload });
      t.same(namesOf(await votes.frames(mod, 2)), ["success", name], action);
    }
  });

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

  await t.test("9 question.list: who sees which", async (t) => {
    const room = await votes.room({ rules: byTrait });
    const traits = [read, "question.ask", "question.vote"];
    const asker = await votes.person("list asker", traits);
    const plain = await votes.person("list plain", traits);
    const mod = await votes.person("list mod", [read, moderate]);
    const byState: Record<string, string> = {};
    const own: Record<string, string> = {};
    for (const state of questionStates) {
      byState[state] = (await votes.question(room, state)).id;
      own[state] = (await votes.question(room, state, asker)).id;
    }
    const idsOf = async (client: Client) => {
      const list = await client.do("question.list", { room });
      for (const question of list) t.same(keys(question), LISTED_QUESTION);
      return list.map(({ id }: { id: string }) => id);
    };
    const all = questionStates.flatMap((state) => [byState[state], own[state]]);
    t.same(await idsOf(mod), all, "moderators all, the oldest first");
    t.same(await idsOf(host), all);
    const visible = [byState.visible, own.visible];
    t.same(await idsOf(plain), visible, "others the visible ones");
    t.same(
      await idsOf(asker),
      [own.mod_queue, ...visible, own.archived],
      "and their own",
    );
    const again = await votes.person("list asker", traits);
    t.same((await idsOf(again)).length, 4, "on every connection");
    const voted = async (client: Client) => {
      const list = await client.do("question.list", { room });
      return list.filter((one: { voted: boolean }) => one.voted).length;
    };
    await plain.do("question.vote", { room, id: byState.visible });
    t.same([await voted(plain), await voted(asker)], [1, 0], "voted");
    const [question] = await plain.do("question.list", { room });
    t.equal(question.score, 1);
  });
});
