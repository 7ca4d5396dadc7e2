import t from "tap";
import { demo, type Json } from "../live/client.js";
import {
  burst,
  crowdOf,
  each,
  faultsOf,
  type Listener,
  listen,
  numbers,
  speaker,
} from "./crowd.js";
import { startTalk } from "./talk.js";

// What reaches the people of a crowd, to whom the server sends in passes.

/** Passes begin at 200 connections. */
const SIZE = 210;

/** Somebody with this trait keeps the rights that others lose. */
const CREW = { "chat.moderate": [["admin"]] };

const MODULES = [
  { type: "chat.native" },
  { type: "poll", config: { active: true } },
  { type: "question", config: { active: true, requires_moderation: false } },
];

/** Waits until everything that was sent to them has come. Who is banned gets nothing more. */
const synced = (listeners: readonly Listener[]) =>
  each(
    listeners.filter((ear) => ear.pushes("connection.reload").length === 0),
    (ear) => ear.call("user.list.blocked"),
  );

void t.test("a crowd", async (t) => {
  const talk = await startTalk(t, {}, [demo({ permission_config: CREW })]);
  const { live } = talk;
  const { store } = live.app;
  const all = await crowdOf(SIZE, live.port, (i) => ({
    token: live.tokenOf({
      uid: `ear ${i}`,
      traits: i % 2 ? ["crew"] : [],
      profile: { display_name: `Ear ${i}` },
    }),
  }));
  t.teardown(() => all.forEach(({ ws }) => ws.terminate()));
  const admin = await listen(live.port, {
    token: live.tokenOf({ uid: "admin", traits: ["admin", "crew"] }),
  });
  t.teardown(() => admin.ws.terminate());

  /** A room to which all have subscribed, with people who speak. */
  const readied = async (speakers = 5) => {
    const channel = await talk.room({ modules: MODULES });
    const ears = all.filter(({ closed }) => !closed);
    await each([...ears, admin], (ear) =>
      ear.do("chat.subscribe", { channel }),
    );
    const people = await each(numbers(speakers), (i) =>
      speaker(live, `speaker ${i} of ${channel}`, channel, ["crew"]),
    );
    t.teardown(() => people.forEach(({ ws }) => ws.terminate()));
    return { channel, ears, people };
  };
  /** The ids of all events of a channel. */
  const idsIn = async (channel: string): Promise<number[]> => {
    const found = await store.chat.events("demo", channel, {
      after: 0,
      limit: 1000,
    });
    return found.map(({ id }) => id);
  };

  const churns: [
    name: string,
    (ear: Listener, channel: string, i: number) => Promise<unknown>,
  ][] = [
    ["nobody moves", async () => {}],
    [
      "some subscribe again",
      async (ear, channel) => {
        await ear.do("chat.unsubscribe", { channel });
        await ear.do("chat.subscribe", { channel });
      },
    ],
    [
      "some ask for what they missed",
      async (ear, channel) => {
        const after = ear.events(channel).at(-1)?.event_id ?? 0;
        await ear.do("chat.subscribe", { channel, after });
      },
    ],
    [
      "some unsubscribe and do not wait",
      (ear, channel) =>
        Promise.all([
          ear.do("chat.unsubscribe", { channel }),
          ear.do("chat.subscribe", { channel }),
          ear.do("chat.unsubscribe", { channel }),
          ear.do("chat.subscribe", { channel, after: 1 }),
        ]),
    ],
    [
      "some join and leave",
      async (ear, channel, i) => {
        await ear.do("chat.join", { channel });
        if (i % 2) await ear.do("chat.leave", { channel });
      },
    ],
  ];
  for (const [name, act] of churns) {
    await t.test(`a burst while ${name}`, async (t) => {
      const { channel, ears, people } = await readied();
      const moving = ears.filter((_, i) => i % 5 === 0);
      const newcomers: Listener[] = [];
      const [ids] = await Promise.all([
        burst(people, channel, 120),
        each(moving, (ear, i) => act(ear, channel, i), 10),
        each(
          numbers(8),
          async (i) => {
            const credentials = { client_id: `new-${i}-${channel}` };
            const newcomer = await listen(live.port, credentials);
            newcomers.push(newcomer);
            await newcomer.do("chat.subscribe", { channel });
          },
          2,
        ),
      ]);
      t.teardown(() => newcomers.forEach(({ ws }) => ws.terminate()));
      const last = await people[0]!.say(channel, "the end");
      const truth = await idsIn(channel);
      t.equal(ids.length, 120);
      for (const ear of [...ears, ...newcomers, ...people, admin]) {
        if (ear.listensTo(channel)) await ear.reached(channel, last);
      }
      const faults = [...ears, ...newcomers, ...people, admin].flatMap((ear) =>
        faultsOf(ear, channel, truth),
      );
      t.strictSame(faults.slice(0, 5), []);
    });
  }

  await t.test("everybody is told of senders once", async (t) => {
    const { channel, ears, people } = await readied(8);
    await burst(people, channel, 60);
    const name = { display_name: "Another name" };
    await people[0]!.do("user.update", { profile: name });
    const [late] = await crowdOf(1, live.port, () => ({ client_id: "late" }));
    await late!.do("chat.subscribe", { channel });
    const last = await people[0]!.say(channel, "after that");
    const senders = people.map(({ id }) => id).sort();
    for (const ear of [...ears, admin]) {
      await ear.reached(channel, last);
      const seen: string[] = [];
      for (const { sender, users } of ear.events(channel)) {
        seen.push(...Object.keys(users));
        if (!seen.includes(sender)) t.fail(`${sender} is unknown`);
        const isComplete = Object.values(users).every(
          (user) => "token_id" in (user as Json) === (ear === admin),
        );
        if (!isComplete) t.fail("only admins see tokens");
      }
      if (seen.sort().join() !== senders.join()) t.same(seen, senders);
    }
    await late!.reached(channel, last);
    const [event] = late!.events(channel);
    t.same(event.users[people[0]!.id].profile, name, "as they are now");
    late!.ws.terminate();
  });

  type Loss = (channel: string, ears: Listener[]) => Promise<unknown>;
  const rule = { "chat.read": [["crew"]] };
  const isOther = (_: Listener, i: number) => i % 2 === 0;
  const losses: [
    name: string,
    act: Loss,
    isLost: (ear: Listener, i: number) => boolean,
    restore?: () => Promise<unknown>,
  ][] = [
    [
      "a rule of the room",
      (channel) => talk.alter(channel, { permission_config: rule }),
      isOther,
    ],
    [
      "a rule of the world",
      () =>
        store.worlds.update("demo", {
          permission_config: { ...CREW, ...rule },
        }),
      isOther,
      () => store.worlds.update("demo", { permission_config: CREW }),
    ],
    [
      "no chat in the room",
      (channel) => talk.alter(channel, { module_config: [] }),
      () => true,
    ],
    ["no room", (channel) => store.rooms.delete("demo", channel), () => true],
    [
      "a ban",
      (_, ears) =>
        each(ears.slice(0, 5), ({ id }) => admin.do("user.ban", { id })),
      (_, i) => i < 5,
    ],
  ];
  for (const [name, act, isLost, restore] of losses) {
    await t.test(`nothing after ${name}`, async (t) => {
      const { channel, ears, people } = await readied();
      const before = burst(people, channel, 60);
      await people[0]!.say(channel, "the first");
      await act(channel, ears);
      const after = new Set(await burst(people, channel, 60));
      const last = Math.max(...(await before), ...after);
      if (after.size > 0) t.equal(after.size, 60);
      const keep = ears.filter((ear, i) => !isLost(ear, i));
      for (const ear of keep) await ear.reached(channel, last);
      await synced(ears);
      const truth = await idsIn(channel);
      const faults = keep.flatMap((ear) => faultsOf(ear, channel, truth));
      t.strictSame(faults.slice(0, 5), []);
      for (const ear of ears.filter(isLost)) {
        const ids = ear
          .events(channel)
          .map(({ event_id }) => event_id as number);
        const wrong = ids.filter((id) => after.has(id));
        if (wrong.length > 0) t.fail(`${wrong.join()} came after the loss`);
        const isOrdered = ids.every((id, i) => i === 0 || id > ids[i - 1]!);
        if (!isOrdered) t.fail(`not in order: ${ids.join()}`);
      }
      await restore?.();
    });
  }
});
