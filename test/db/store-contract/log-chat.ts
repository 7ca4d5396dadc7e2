import type { Author } from "../../../db/contract/author.js";
import { chatting, DELETED, message } from "./chat-setup.js";
import { Expecting, type Logged, me } from "./logged.js";
import { type Contract, fails, tick } from "./setup.js";

export async function logChatContract(contract: Contract): Promise<void> {
  await contract("what writes to chat append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { room: channel, ada, bob, dan } = await chatting(store);
    const { chat } = store;
    const by = (user: string): Author => ({ ...me, user });
    const memberships = (users: string[], author = by(users[0]!)): Logged => ({
      type: "chat.memberships",
      channel,
      users,
      by: author,
    });

    await expecting.write(
      "a user joins",
      () => chat.join("demo", channel, dan, by(dan)),
      (delivery) => [
        { type: "chat.event", channel, delivery: delivery!, by: by(dan) },
        memberships([dan]),
      ],
    );
    const { event } = await expecting.write(
      "a user sends a message",
      () => {
        const draft = { ...message(ada), mentioned: [bob] };
        return chat.send("demo", channel, draft, by(ada));
      },
      (delivery) => [{ type: "chat.event", channel, delivery, by: by(ada) }],
    );
    const { id } = event;
    const other = await expecting.write(
      "the sender is the author of a message without one",
      () => chat.send("demo", channel, message(bob)),
      (delivery) => [
        {
          type: "chat.event",
          channel,
          delivery,
          by: { kind: "user", user: bob },
        },
      ],
    );
    for (const author of [
      { kind: "api", token: "0123" },
      { kind: "api", user: bob },
      { kind: "user", user: ada },
      { kind: "server" },
    ] as const) {
      await expecting.write(
        `a message by ${JSON.stringify(author)}`,
        () => chat.send("demo", channel, message(bob), author),
        (delivery) => [{ type: "chat.event", channel, delivery, by: author }],
      );
    }
    const reaction = { user: bob, reaction: "x", volatile: false };
    const react = (remove: boolean) => () =>
      chat.react("demo", channel, id, { ...reaction, remove }, by(bob));
    const reacted: Logged = {
      type: "chat.reacted",
      channel,
      event: id,
      by: by(bob),
    };
    await expecting.write("no reaction is removed", react(true), []);
    await expecting.write("a user reacts", react(false), [reacted]);
    await expecting.write("a reaction twice", react(false), []);
    await expecting.write("and no longer", react(true), [reacted]);

    await expecting.write(
      "a user leaves",
      () => chat.leave("demo", channel, dan, false, by(dan)),
      (delivery) => [
        { type: "chat.event", channel, delivery: delivery!, by: by(dan) },
        memberships([dan]),
      ],
    );
    await chat.join("demo", channel, dan);
    await expecting.write(
      "a user leaves in silence",
      () => chat.leave("demo", channel, dan, true, me),
      [memberships([dan], me)],
    );
    const mark = {
      user: dan,
      channel,
      pointer: null,
      listed: 1,
      world: "demo",
    };
    await expecting.nothing({
      "a member joins": () => chat.join("demo", channel, ada),
      "a stranger leaves": () => chat.leave("demo", channel, dan, false),
      "a mark": () => chat.mark([mark]),
    });
    await expecting.write(
      "a stranger leaves the unread list",
      () => chat.leave("demo", channel, dan, false, by(dan)),
      [memberships([dan])],
    );

    await expecting.write(
      "a message is deleted",
      () =>
        chat.send(
          "demo",
          channel,
          { sender: ada, content: DELETED, replaces: id },
          by(ada),
        ),
      (delivery) => [{ type: "chat.event", channel, delivery, by: by(ada) }],
    );
    await expecting.nothing({
      "it is deleted again": () =>
        chat.send(
          "demo",
          channel,
          { sender: ada, content: DELETED, replaces: id },
          by(ada),
        ),
    });
    await expecting.write(
      "a moderator deletes one of another user",
      () => {
        const draft = { sender: ada, content: DELETED, moderates: true };
        const { id: replaces } = other.event;
        return chat.send("demo", channel, { ...draft, replaces }, by(ada));
      },
      (delivery) => [
        { type: "chat.event", channel, delivery, by: by(ada) },
        {
          ...{ type: "noted", act: "chat.deleted", by: by(ada) },
          subject: {
            ...{ room_id: channel, channel_id: channel },
            ...{ event_id: other.event.id, user_id: bob },
          },
        },
      ],
    );
    await expecting.refused([
      [() => chat.send("demo", "none", message(ada)), "absent"],
      [() => chat.send("demo", channel, message(dan)), "denied"],
      [
        () => chat.send("demo", channel, { ...message(ada), replaces: id }),
        "denied",
      ],
      [() => chat.join("demo", "none", ada), "absent"],
      [
        () => chat.react("demo", channel, 1e9, { ...reaction, remove: false }),
        "absent",
      ],
    ]);
  });

  await contract(
    "without an audit, moderation leaves no note",
    async (t, _, open) => {
      const types: string[] = [];
      const store = await open((hints) => {
        types.push(...hints.map(({ entry }) => entry.type));
        return undefined;
      }, false);
      const { room, bob, say } = await chatting(store);
      const { event } = await say("x");
      types.length = 0;
      const draft = { sender: bob, content: DELETED, moderates: true };
      await store.chat.send("demo", room, { ...draft, replaces: event.id });
      t.same(types, ["chat.event"]);
    },
  );

  await contract("what direct channels append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { ada, bob, cy, dan } = await chatting(store);
    const { chat } = store;
    const by = { ...me, user: ada };
    const direct = (hide: boolean) => () =>
      chat.direct("demo", ada, [ada, bob], hide, by);
    const { channel: made } = await expecting.write(
      "a channel is made",
      direct(true),
      ({ channel: { id: channel }, created }) => [
        ...created.map((delivery) => ({
          ...({ type: "chat.event", channel, delivery, by } as const),
        })),
        { type: "chat.memberships", channel, users: [ada], by },
      ],
    );
    const channel = made.id;
    await expecting.nothing({ "no other user sees it": direct(true) });
    await expecting.write("another sees it", direct(false), [
      { type: "chat.memberships", channel, users: [bob], by },
    ]);
    const putAway = () => chat.leave("demo", channel, ada, false, by);
    await expecting.write("it is put away", putAway, [
      { type: "chat.memberships", channel, users: [ada], by },
    ]);
    await expecting.nothing({ "it is put away again": putAway });
    const answer = await expecting.write(
      "it appears with a message",
      () => chat.send("demo", channel, message(bob), { ...me, user: bob }),
      (delivery) => [
        { type: "chat.event", channel, delivery, by: { ...me, user: bob } },
      ],
    );
    t.strictSame(answer.appeared, [ada]);
    t.strictSame(answer.notified, [ada]);
    await store.users.block("demo", cy, dan);
    await expecting.refused([
      [() => chat.direct("demo", dan, [cy, dan], false), "denied"],
      [() => chat.leave("demo", channel, cy, false), "denied"],
    ]);
  });

  await contract("what erasures of chat append", async (t, _, open) => {
    const { store, expecting } = await Expecting.open(t, open);
    const { ada, bob, say } = await chatting(store);
    const { chat } = store;
    const server = { kind: "server" } as const;
    const erased = { type: "chat.erased", by: server } as const;
    await say("x");
    await tick();
    await expecting.nothing({
      "no message of a user": () => chat.empty("demo", bob, 0),
      "no old message": () => chat.expire("demo", 0),
      "no message of a world": () => chat.expire("none", Date.now()),
    });
    await expecting.write(
      "messages of a user",
      () => chat.empty("demo", ada, 0),
      [erased],
    );
    await expecting.nothing({
      "messages that are empty": () => chat.empty("demo", ada, 0),
    });
    await expecting.write(
      "old messages",
      () => chat.expire("demo", Date.now()),
      [erased],
    );
    await expecting.nothing({
      "none is left": () => chat.expire("demo", Date.now()),
    });
    await fails(t, chat.empty("demo", "none", 0), "absent");
  });
}
