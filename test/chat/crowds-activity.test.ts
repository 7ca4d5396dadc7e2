import t from "tap";
import type { Json } from "../live/client.js";
import {
  crowdOf,
  each,
  faultsOf,
  type Listener,
  numbers,
  speaker,
} from "./crowd.js";
import { startTalk } from "./talk.js";

// Everything that happens in the room of a crowd at once.

/** Passes begin at 200 connections. */
const SIZE = 210;

const MODULES = [
  { type: "chat.native" },
  { type: "poll", config: { active: true } },
  { type: "question", config: { active: true, requires_moderation: false } },
];

/** The last push of a name about something. */
const lastOf = (
  ear: Listener,
  name: string,
  is: (data: Json) => boolean,
): Json => ear.pushes(name).filter(is).at(-1);

void t.test("the room of a crowd", async (t) => {
  const talk = await startTalk(t);
  const { live } = talk;
  const ears = await crowdOf(SIZE, live.port, (i) => ({
    token: live.tokenOf({
      uid: `ear ${i}`,
      traits: [],
      profile: { display_name: `Ear ${i}` },
    }),
  }));
  t.teardown(() => ears.forEach(({ ws }) => ws.terminate()));
  const speakersIn = async (channel: string, count: number) => {
    const people = await each(numbers(count), (i) =>
      speaker(live, `speaker ${i}`, channel, ["admin"]),
    );
    t.teardown(() => people.forEach(({ ws }) => ws.terminate()));
    return people;
  };

  await t.test("everything at once", async (t) => {
    const channel = await talk.room({ modules: MODULES });
    const room = channel;
    await each(ears, (ear) => ear.do("chat.subscribe", { channel }));
    await each(ears, (ear) => ear.do("room.enter", { room }));
    const people = await speakersIn(channel, 5);
    const [host] = people as [Listener];
    await host.do("room.enter", { room });
    const options = [{ content: "Tea" }, { content: "Coffee" }];
    const draft = { room, content: "Which?", options, state: "open" };
    const { poll } = await host.do("poll.create", draft);
    const { question } = await host.do("question.ask", {
      room,
      content: "Why?",
    });
    const texts = await Promise.all(
      numbers(20).map((i) => people[i % 5]!.say(channel, `text ${i}`)),
    );
    const emoji = ["👍", "🎉", "🚀"];
    const { chat } = live.app.store;
    const read = chat.event.bind(chat);
    let go = () => {};
    const gone = new Promise<void>((resolve) => (go = resolve));
    // The first push shows what is no longer so when it comes.
    chat.event = async (...args) => {
      chat.event = read;
      const found = await read(...args);
      await gone;
      return found;
    };
    const acts = [
      ...texts
        .slice(0, 6)
        .flatMap((event) =>
          people.flatMap((person) =>
            emoji.map((reaction) =>
              person.do("chat.react", { channel, event, reaction }),
            ),
          ),
        ),
      ...texts
        .slice(6, 12)
        .map((replaces, i) =>
          people[(i + 6) % 5]!.say(channel, `edit ${i}`, { replaces }),
        ),
      ...texts.slice(12, 16).map((replaces, i) =>
        people[(i + 12) % 5]!.do("chat.send", {
          channel,
          event_type: "channel.message",
          content: { type: "deleted" },
          replaces,
        }),
      ),
      ...numbers(30).map((i) => people[i % 5]!.say(channel, `more ${i}`)),
      ...ears.slice(0, 40).flatMap((ear, i) => [
        ear.do("poll.vote", {
          room,
          id: poll.id,
          options: [poll.options[i % 2].id],
        }),
        ear.do("question.vote", { room, id: question.id, vote: true }),
        ear.do("room.react", { room, reaction: "👏" }),
      ]),
    ];
    await Promise.all(acts);
    // One reaction is taken back.
    const [event] = texts as [number];
    const taken = { channel, event, reaction: "🚀", delete: true };
    await Promise.all(people.map((person) => person.do("chat.react", taken)));
    go();
    const last = await host.say(channel, "the end");
    const users = people.map(({ id }) => id).sort();
    const sorted = (reactions: Json) =>
      Object.fromEntries(
        Object.entries(reactions as Record<string, string[]>).map(
          ([name, ids]) => [name, [...ids].sort()],
        ),
      );
    const final = (id: number) =>
      Object.fromEntries(
        emoji
          .filter((name) => id !== event || name !== "🚀")
          .map((name) => [name, users]),
      );
    const truth = (
      await chat.events("demo", channel, {
        after: 0,
        limit: 500,
      })
    ).map(({ id }) => id);
    const claps = (ear: Listener) =>
      ear
        .pushes("room.reaction")
        .reduce((sum, { reactions }) => sum + reactions["👏"], 0);
    const isQuestion = (data: Json) => data.question.id === question.id;
    for (const ear of ears) {
      await ear.reached(channel, last);
      for (const id of texts.slice(0, 6)) {
        const expected = JSON.stringify(final(id));
        await ear.until(`the reactions of ${id}`, () => {
          const push = lastOf(
            ear,
            "chat.event.reaction",
            (data) => data.event_id === id,
          );
          return push && JSON.stringify(sorted(push.reactions)) === expected;
        });
      }
      await ear.until("all claps", () => claps(ear) >= 40);
      await ear.until("the votes of the question", () => {
        const push = lastOf(ear, "question.created_or_updated", isQuestion);
        return push?.question.score === 40;
      });
    }
    for (const ear of [host, ...ears.slice(0, 40)]) {
      await ear.until("the results of the poll", () => {
        const push = lastOf(
          ear,
          "poll.created_or_updated",
          (data) => data.poll.id === poll.id,
        );
        return (
          push?.poll.results?.[poll.options[0].id] === 20 &&
          push.poll.results[poll.options[1].id] === 20
        );
      });
    }
    const faults = ears.flatMap((ear) => faultsOf(ear, channel, truth));
    t.strictSame(faults.slice(0, 5), []);
    for (const ear of ears) {
      if (claps(ear) !== 40) t.fail(`${claps(ear)} claps`);
      const seen = new Set<number>();
      for (const [name, data] of ear.frames) {
        if (name === "chat.event") seen.add(data.event_id);
        else if (name === "chat.event.reaction" && !seen.has(data.event_id))
          t.fail("a reaction came before its event");
      }
    }
  });

  await t.test("mentions and what is read", async (t) => {
    const channel = await talk.room();
    await each(ears, (ear) => ear.do("chat.subscribe", { channel }));
    const people = await speakersIn(channel, 4);
    const readers = ears.slice(0, 20);
    for (const ear of readers) await ear.do("chat.join", { channel });
    /** These are told of messages, but do not get them. */
    const away = readers.slice(10);
    await each(away, (ear) => ear.do("chat.unsubscribe", { channel }));
    const first = await people[0]!.say(channel, "first");
    const froms = new Map(readers.map((ear) => [ear, ear.frames.length]));
    const mentioned = (i: number) => readers[i % readers.length]!;
    const [ids] = await Promise.all([
      Promise.all(
        numbers(80).map((i) =>
          people[i % 4]!.say(channel, `${i} @${mentioned(i).id}`),
        ),
      ),
      each(readers, (ear) => ear.do("chat.mark_read", { channel, id: first })),
    ]);
    const last = await people[0]!.say(channel, "last");
    for (const ear of ears) {
      if (ear.listensTo(channel)) await ear.reached(channel, last);
    }
    for (const [i, ear] of readers.entries()) {
      const expected = ids
        .filter((_, at) => at % readers.length === i)
        .sort((a, b) => a - b);
      await ear.until(
        "the notifications",
        () => ear.pushes("chat.notification").length >= expected.length,
      );
      const seen: number[] = [];
      const notified: number[] = [];
      for (const [name, data] of ear.frames) {
        if (name === "chat.event" && data.channel === channel)
          seen.push(data.event_id);
        if (name !== "chat.notification") continue;
        const id = data.event.event_id as number;
        notified.push(id);
        if (!away.includes(ear) && !seen.includes(id))
          t.fail("a notification came before its event");
      }
      t.strictSame(notified, expected, "each once, in order");
    }
    await each(readers, (ear) =>
      ear.do("chat.mark_read", { channel, id: last }),
    );
    await talk.settle(channel);
    for (const [ear, from] of froms) {
      const pointers = ear
        .pushes("chat.unread_pointers", from)
        .map((data) => data[channel] as number);
      const isRight = pointers.length === 1 || pointers.length === 2;
      if (!isRight) t.fail(`${pointers.length} pointers for two marks`);
    }
    const lasts = readers.map((ear) => ear.frames.length);
    const next = await people[1]!.say(channel, "next");
    await people[1]!.say(channel, "and one more");
    await talk.settle(channel);
    await each(readers, (ear) => ear.call("user.list.blocked"));
    for (const [i, ear] of readers.entries()) {
      const told = ear.pushes("chat.unread_pointers", lasts[i]);
      t.strictSame(told, [{ [channel]: next }], "once");
    }
  });
});
