import t from "tap";
import type { Json } from "../live/client.js";
import { invalid, keys, startVotes } from "./kit.js";

// Section A3: payloads that do not match their schema are refused, and change nothing.

void t.test("A3 payloads", async (t) => {
  const votes = await startVotes(t);
  const host = await votes.host();

  await t.test("9 questions", async (t) => {
    const room = await votes.room();
    const { id } = await votes.question(room);
    const ask = "question.ask";
    const update = "question.update";
    const table: [action: string, payload: object, field: string][] = [
      [ask, {}, "content"],
      [ask, { content: "" }, "content"],
      [ask, { content: null }, "content"],
      [ask, { content: 5 }, "content"],
      [ask, { content: ["x"] }, "content"],
      [ask, { content: { body: "x" } }, "content"],
      [update, { id, content: "" }, "content"],
      [update, { id, content: null }, "content"],
      [update, { id, state: "open" }, "state"],
      [update, { id, state: "" }, "state"],
      [update, { id, state: null }, "state"],
      [update, { id, state: ["visible"] }, "state"],
      [update, { id, answered: "true" }, "answered"],
      [update, { id, answered: 1 }, "answered"],
      [update, { id, answered: null }, "answered"],
      [update, { id, is_pinned: "yes" }, "is_pinned"],
      [update, { id, is_pinned: null }, "is_pinned"],
    ];
    const before = await host.do("question.list", { room });
    for (const [action, payload, field] of table) {
      const name = `${action} ${JSON.stringify(payload)}`;
      const [, , answer] = await host.call(action, { room, ...payload });
      t.match(answer, { code: invalid }, name);
      const { details } = answer as { details: Record<string, string[]> };
      t.same(keys(details), [field], name);
    }
    t.same(await host.do("question.list", { room }), before, "nothing changed");
  });

  await t.test("10 polls", async (t) => {
    const room = await votes.room();
    const poll = await votes.poll(room);
    const { id, options } = poll;
    const [{ id: option }] = options;
    const many = Array.from({ length: 101 }, () => ({ content: "x" }));
    const bad: [payload: object, field: RegExp][] = [
      [{ content: "" }, /^content$/],
      [{ content: null }, /^content$/],
      [{ content: 5 }, /^content$/],
      [{ content: {} }, /^content$/],
      [{ state: "visible" }, /^state$/],
      [{ state: null }, /^state$/],
      [{ state: 1 }, /^state$/],
      [{ poll_type: "single" }, /^poll_type$/],
      [{ poll_type: null }, /^poll_type$/],
      [{ options: {} }, /^options/],
      [{ options: "x" }, /^options/],
      [{ options: null }, /^options/],
      [{ options: ["x"] }, /^options/],
      [{ options: [null] }, /^options/],
      [{ options: [{ content: 5 }] }, /^options/],
      [{ options: [{ content: "" }] }, /^options/],
      [{ options: [{ order: 1 }] }, /^options/],
      [{ options: [{ content: "x", order: "one" }] }, /^options/],
      [{ options: [{ content: "x", order: 1.5 }] }, /^options/],
      [{ options: [{ content: "x", order: [] }] }, /^options/],
      [{ options: [{ content: "x", order: 1e12 }] }, /^options/],
      [{ options: [{ content: "x", order: "1e3" }] }, /^options/],
      [{ options: many }, /^options/],
    ];
    const update = { id };
    const create = { content: "Which?" };
    const vote: [payload: object, field: RegExp][] = [
      [{}, /^options$/],
      [{ options: null }, /^options/],
      [{ options: option }, /^options/],
      ...["x", "", null, 5, {}, [], true].map(
        (id) => [{ options: [option, id] }, /^options\.1/] as [object, RegExp],
      ),
      [{ options: { [option]: true } }, /^options/],
    ];
    const rows = [
      ...bad.map((row) => ["poll.create", create, ...row] as const),
      ...bad.map((row) => ["poll.update", update, ...row] as const),
      ...vote.map((row) => ["poll.vote", update, ...row] as const),
      ["poll.update", update, { is_pinned: "yes" }, /^is_pinned$/] as const,
    ];
    const before = await host.do("poll.list", { room });
    for (const [action, base, payload, field] of rows) {
      const name = `${action} ${JSON.stringify(payload).slice(0, 80)}`;
      const whole = { room, ...base, ...payload };
      const [, , answer] = await host.call(action, whole);
      t.match(answer, { code: invalid }, name);
      const { details = {} } = answer as { details: object };
      t.match(keys(details)[0], field, name);
    }
    t.same(await host.do("poll.list", { room }), before, "nothing changed");
  });

  await t.test("10 orders may be texts", async (t) => {
    const room = await votes.room();
    const orders = ["10", 9, "-3", "007", undefined];
    const options = orders.map((order, i) => ({ content: "abcde"[i], order }));
    const { poll } = await host.do("poll.create", {
      ...{ room, content: "x", options },
    });
    t.same(
      poll.options.map(({ content, order }: Json) => `${order} ${content}`),
      ["-3 c", "7 d", "9 b", "10 a", "11 e"],
    );
  });
});
