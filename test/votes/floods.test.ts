import t from "tap";
import { holdRates } from "../live/client.js";
import { byTrait, startVotes } from "./kit.js";

// Many pushes that wait, and what may overtake them.

void t.test("C how many pushes people get", async (t) => {
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
