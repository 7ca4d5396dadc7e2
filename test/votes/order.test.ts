import { randomUUID } from "node:crypto";
import t from "tap";
import type { Client, Json } from "../live/client.js";
import { commands } from "./commands.js";
import { byTrait, keys, startVotes } from "./kit.js";

// Sections 9, 10 and 3.1: the room, its modules, and what is checked first.

void t.test("the module, and what is checked first", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;
  const host = await votes.host();
  const nobody = await votes.person("nobody");

  /** The codes of all commands. */
  const codes = async (client: Client, room: Json, more: object = {}) => {
    const found: Record<string, string> = {};
    for (const { action, payload } of commands) {
      found[action] = await client.code(action, { room, ...payload, ...more });
    }
    return found;
  };
  const table = (of: (command: (typeof commands)[number]) => string) =>
    Object.fromEntries(
      commands.map((command) => [command.action, of(command)]),
    );
  const denied = "protocol.denied";

  await t.test("9, 10 a missing module comes before the right", async (t) => {
    const room = await votes.room({
      question: null,
      poll: null,
      chat: true,
      rules: byTrait,
    });
    t.same(
      await codes(host, room),
      table(({ needsModule, passes }) =>
        needsModule ? "room.unknown" : passes,
      ),
      "with the right",
    );
    t.same(
      await codes(nobody, room),
      table(({ needsModule }) => (needsModule ? "room.unknown" : denied)),
      "without the right",
    );
    for (const { action, needsModule, payload } of commands) {
      if (!needsModule) continue;
      const [, , answer] = await host.call(action, { room, ...payload });
      const message = "Room does not contain a matching module.";
      t.same(answer, { code: "room.unknown", message }, action);
    }
  });

  await t.test("9, 10 inactive comes after the right", async (t) => {
    const odd = ["none", {}, { active: false }, { active: null }];
    const odder = [{ active: "true" }, { active: 1 }, { active: [] }];
    for (const config of [...odd, ...odder]) {
      const rules = byTrait;
      const room = await votes.room({ question: config, poll: config, rules });
      const name = JSON.stringify(config);
      t.same(
        await codes(host, room),
        table(({ needsModule, kind, passes }) =>
          needsModule ? `${kind}.inactive` : passes,
        ),
        `${name}, with the right`,
      );
      t.same(
        await codes(nobody, room),
        table(() => denied),
        `${name}, without`,
      );
    }
  });

  await t.test("3.1 payloads come last", async (t) => {
    const broken = { content: 5, options: "x", id: 5, state: 5, answered: 5 };
    const right = await votes.room({ rules: byTrait });
    const off = await votes.room({ question: {}, poll: {}, rules: byTrait });
    t.same(
      await codes(nobody, right, broken),
      table(() => denied),
      "right",
    );
    t.same(
      await codes(nobody, off, broken),
      table(() => denied),
      "right before inactive",
    );
    const inactive = await codes(host, off, broken);
    for (const { action, kind, needsModule } of commands) {
      if (needsModule) t.equal(inactive[action], `${kind}.inactive`, action);
    }
    t.same(
      await codes(host, randomUUID(), broken),
      table(() => "room.unknown"),
      "room",
    );
  });

  await t.test("A13 unknown keys are ignored", async (t) => {
    const room = await votes.room();
    const more = { foo: 1, sender: nobody.id, score: 5, results: {} };
    t.same(
      await codes(host, room, more),
      table(({ passes }) => passes),
    );
    const [question] = await host.do("question.list", { room });
    t.equal(question.score, 0, "F3 only named fields are set");
    t.notOk("sender" in question);
  });

  await t.test("F9 what is asked for is the present module", async (t) => {
    const room = await votes.room();
    const ask = { room, content: "x" };
    t.equal(await nobody.code("question.ask", ask), "ok");
    await votes.alter(room, { question: { active: false } });
    t.equal(await nobody.code("question.ask", ask), "question.inactive");
    t.equal((await nobody.do("question.list", { room })).length, 1);
    await votes.alter(room, { question: null });
    t.equal(await nobody.code("question.ask", ask), "room.unknown");
    await votes.alter(room, {});
    t.equal(await nobody.code("question.ask", ask), "ok");
    t.same(keys(live.log), [], "nothing was worth a warning");
  });
});

void t.test("what a command causes comes before the next answer", async (t) => {
  const votes = await startVotes(t);
  const room = await votes.room();
  const ann = await votes.entered(room, "ann", [
    "admin",
    ...Object.keys(byTrait),
  ]);
  await ann.all();
  const content = "Why?";
  const steps: [action: string, payload: Json, pushed: string][] = [
    ["question.ask", { content }, "question.created_or_updated"],
    ["poll.create", { content }, "poll.created_or_updated"],
  ];
  for (const [action, payload, pushed] of steps) {
    for (let i = 0; i < 10; i++) ann.sendFrame(action, i, { room, ...payload });
    const names: string[] = [];
    while (names.length < 20) names.push((await ann.frame())[0]);
    t.same(names, Array(10).fill(["success", pushed]).flat(), action);
  }
});
