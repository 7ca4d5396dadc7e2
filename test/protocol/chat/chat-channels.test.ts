import { randomUUID } from "node:crypto";
import t from "tap";
import { StoreError } from "../../../db/contract/store.js";
import {
  type Client,
  type Json,
  soon,
  bodiesOf,
  chatOf,
  chatRoom,
  direct,
  history,
  idsOf,
  invalid,
  keys,
  listOf,
  MANAGED,
  member,
  message,
  named,
  namesOf,
  openWorld,
  type OpenWorld,
  say,
  text,
  USER,
} from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Subscriptions, memberships, and deliveries of channels.

const server = await startServer(t);

const sends = (client: Client, channel: string) =>
  client.code("chat.send", message(channel, text("may I?")));

/** Connects users with names. */
const people = (world: OpenWorld, ...uids: string[]) =>
  Promise.all(uids.map((uid) => world.person(uid))) as Promise<[Client, Client, Client]>;

/** Returns the names of the users included in an event or a page. */
const usersOf = ({ users }: Json): string[] =>
  Object.values(users)
    .map((user) => (user as Json).profile.display_name as string)
    .sort();

void t.test("subscriptions", async (t) => {
  const world = await openWorld(server);
  const other = await openWorld(server);

  await t.test("8.2 J: 1 is the next event on an empty server", async (t) => {
    const guest = await world.guest();
    t.same(
      await guest.do("chat.subscribe", { channel: await chatRoom(world) }),
      { state: null, next_event_id: 1, unread_pointer: 0, members: [] },
      "no display name needed, and no membership",
    );
  });

  await t.test("8.1 channels that commands do not find", async (t) => {
    const [ann, bob] = await people(world, "ann", "bob");
    const foreignRoom = await chatRoom(other);
    const foreign = await direct(await other.person("ann"), await other.person("bob"));
    const bare = await world.room();
    const deleted = await chatRoom(world);
    await world.store.rooms.delete(world.id, deleted);
    const unknown = { code: "room.unknown", message: "Unknown room ID" };
    const none = { code: "chat.unknown", message: "Unknown channel ID" };
    const noModule = { ...unknown, message: "Room does not contain a matching module." };
    const found = await ann.call("chat.subscribe", { channel: bare });
    t.match(found, ["error", Number, noModule]);
    const table: [channel: unknown, problem: Json][] = [
      [undefined, none],
      [null, none],
      ...[randomUUID(), "x", 5, {}, [bob.id], foreignRoom, foreign, deleted, bob.id].map(
        (channel): [unknown, Json] => [channel, unknown],
      ),
      [bare, noModule],
    ];
    const commands: Record<string, object> = {
      "chat.subscribe": {},
      "chat.unsubscribe": {},
      "chat.join": {},
      "chat.leave": {},
      "chat.send": message("", text("x")),
      "chat.fetch": { count: 5, before_id: 5 },
      "chat.react": { event: 1, reaction: "👍" },
      "chat.mark_read": { id: 1 },
    };
    for (const [action, more] of Object.entries(commands)) {
      for (const [channel, problem] of table) {
        const [, , got] = await ann.call(action, { ...more, channel });
        t.same(got, problem, `${action} ${JSON.stringify(channel)}`);
      }
    }
  });

  await t.test("3.1 the order of checks", async (t) => {
    const closed = { "chat.read": ["staff"], "chat.join": ["staff"], "chat.send": ["staff"] };
    const channel = await chatRoom(world, { permission_config: closed });
    const open = await chatRoom(world);
    const bare = await world.room({ permission_config: closed });
    // A hidden room does not reveal its modules.
    const hidden = await world.room({ permission_config: { "room.view": ["staff"] } });
    const guest = await world.guest();
    const wrong = { ...message("", null), event_type: 5, content: null };
    type Row = [action: string, payload: object, code: string];
    const table: Row[] = [
      ["chat.subscribe", { channel }, "protocol.denied"],
      ["chat.join", { channel }, "protocol.denied"],
      ["chat.fetch", { channel }, "protocol.denied"],
      ["chat.send", { ...wrong, channel }, "protocol.denied"],
      ["chat.react", { channel }, "protocol.denied"],
      ["chat.send", { ...wrong, channel: bare }, "room.unknown"],
      ["chat.subscribe", { channel: bare }, "room.unknown"],
      ["chat.subscribe", { channel: hidden }, "protocol.denied"],
      ["chat.leave", { channel: hidden }, "protocol.denied"],
      ["chat.join", { channel: open }, "channel.join.missing_profile"],
      ["chat.send", message(open, text("")), "chat.denied"],
      ["chat.react", { channel: open, event: 1, reaction: "👍" }, "chat.denied"],
      ["chat.leave", { channel }, "ok"],
      ["chat.unsubscribe", { channel }, "ok"],
      ["chat.mark_read", { channel, id: 1 }, "ok"],
    ];
    for (const [action, payload, code] of table) {
      const name = `${action} ${JSON.stringify(payload)}`;
      t.equal(await guest.code(action, payload), code, name);
    }
    const [, , problem] = await guest.call("chat.subscribe", { channel });
    t.match(problem, { message: "Permission denied." });
  });

  await t.test("8.2 J: members, unread_pointer, next_event_id", async (t) => {
    const [channel, elsewhere] = [await chatRoom(world), await chatRoom(world)];
    const admin = await world.person("admin", "admin");
    const [ann, bob, banned] = await people(world, "ann", "bob", "banned");
    const [erased, left] = await people(world, "erased", "left");
    for (const client of [ann, bob, banned, erased, left])
      await client.do("chat.join", { channel });
    await admin.do("user.ban", { id: banned.id });
    await admin.do("user.delete", { id: erased.id });
    await left.do("chat.leave", { channel });
    const { event_id: last } = await say(ann, channel, "last");
    await member(world, "late", channel);
    const far = await member(world, "far", elsewhere);
    const { event_id: latest } = await say(far, elsewhere, "of another room");
    const state = await (await world.guest()).do("chat.subscribe", { channel });
    t.same(keys(state), ["members", "next_event_id", "state", "unread_pointer"]);
    t.equal(state.unread_pointer, last, "not the id of a member event");
    t.equal(state.next_event_id, latest + 1, "the last of the world and one");
    const names = state.members.map(({ profile }: Json) => profile.display_name);
    t.same(names.sort(), ["ann", "bob", "late"], "not users who are banned, erased or left");
    for (const user of state.members) t.same(keys(user), USER);
    const seen = await admin.do("chat.subscribe", { channel });
    for (const user of seen.members) t.same(keys(user), MANAGED);
  });

  await t.test("8.2 J: banned members are in direct channels", async (t) => {
    const admin = await world.person("admin", "admin");
    const [ann, bad] = await people(world, "ann", "bad");
    const channel = await direct(ann, bad);
    await admin.do("user.ban", { id: bad.id });
    const { members } = await ann.do("chat.subscribe", { channel });
    t.same(members.map(({ id }: Json) => id).sort(), [ann.id, bad.id].sort());
  });
});

void t.test("membership", async (t) => {
  const world = await openWorld(server);

  await t.test("8.2 chat.join needs a display name", async (t) => {
    const channel = await chatRoom(world);
    const guest = await world.guest();
    const join = () => guest.code("chat.join", { channel });
    const missing = "channel.join.missing_profile";
    t.equal(await join(), missing);
    for (const profile of [{}, { display_name: "" }, { greeted: true }]) {
      await guest.do("user.update", { profile });
      t.equal(await join(), missing, JSON.stringify(profile));
    }
    await member(world, "another", channel);
    t.same(await world.heard(channel, guest), [], "nor is it subscribed");
    await guest.do("user.update", { profile: { display_name: "Gus" } });
    t.equal(await join(), "ok");
  });

  await t.test("and their joins and leaves are not pushed", async (t) => {
    const channel = await chatRoom(world);
    const admin = await world.person("admin", "admin");
    const ann = await member(world, "ann", channel);
    const { id } = await member(world, "silent", channel);
    await admin.do("user.silence", { id });
    const silent = await world.person("silent");
    await world.calm(channel, ann);
    for (let i = 0; i < 3; i++) {
      t.equal(await silent.code("chat.leave", { channel }), "ok");
      t.equal(await silent.code("chat.join", { channel }), "ok");
    }
    t.same(named(await world.heard(channel, ann), "chat.event"), []);
    const { members } = await (await world.guest()).do("chat.subscribe", { channel });
    t.notOk(members.some((member: Json) => member.id === id));
    await admin.do("user.reactivate", { id });
    const again = await world.person("silent");
    await again.do("chat.join", { channel });
    await ann.next("chat.event", ({ sender }) => sender === id);
  });

  await t.test("8.2 a leave event unless the room is volatile", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const admin = await world.person("admin", "admin");
    await admin.do("chat.join", { channel, volatile: false });
    const watch = await member(world, "watch", channel);
    await admin.do("chat.leave", { channel });
    t.same(named(await world.heard(channel, watch), "chat.event"), []);
    const { hello } = await world.person("admin", "admin");
    t.same(hello["chat.channels"], [], "of a lasting membership");
  });

  await t.test("F4 grants of one room count in that room only", async (t) => {
    const own = await chatRoom(world, { permission_config: { "chat.moderate": ["owner"] } });
    const other = await chatRoom(world);
    const owner = await world.person("owner", "owner");
    for (const channel of [own, other]) await owner.do("chat.join", { channel });
    const ann = await member(world, "ann", own, other);
    const dm = await direct(ann, owner);
    await owner.do("room.enter", { room: own });
    for (const [channel, code] of [
      [own, "ok"],
      [other, "chat.denied"],
      [dm, "chat.denied"],
    ] as const) {
      const { event_id: replaces } = await say(ann, channel, "x");
      const remove = message(channel, { type: "deleted" }, { replaces });
      t.equal(await owner.code("chat.send", remove), code);
    }
    const state = await owner.do("chat.subscribe", { channel: other });
    for (const user of state.members) t.notOk("moderation_state" in user);
    t.equal(await owner.code("user.ban", { id: ann.id }), "auth.denied");
    const volatile = await world.person("owner 2", "owner");
    await volatile.do("chat.join", { channel: other, volatile: true });
    await volatile.do("chat.unsubscribe", { channel: other });
    t.equal(await sends(volatile, other), "ok", "it is lasting");
  });
});

void t.test("volatile memberships", async (t) => {
  const world = await openWorld(server);

  await t.test("8.1 it makes no events and is listed nowhere", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const watch = await world.guest();
    await watch.do("chat.subscribe", { channel });
    const [one, two] = await people(world, "one", "one");
    const state = await one.do("chat.join", { channel });
    t.same(state.members, []);
    t.same(await two.next("chat.channels"), { channels: [] }, "unchanged");
    const { event_id } = await say(one, channel, "x");
    t.equal((await watch.next("chat.event")).event_id, event_id, "the first event is the message");
    await one.next("chat.event");
    t.same(await chatOf(one), [], "no chat.channels to me");
    t.same((await watch.do("chat.subscribe", { channel })).members, []);
    t.same((await world.person("one")).hello["chat.channels"], []);
    t.same(bodiesOf(await history(one, channel)), ["x"]);
  });

  await t.test("8.1 it ends with the last subscription", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const [one, two, third] = await people(world, "user", "user", "user");
    await one.do("chat.join", { channel });
    await two.do("chat.subscribe", { channel });
    for (const client of [two, third]) await client.next("chat.channels");
    await one.do("chat.unsubscribe", { channel });
    t.equal(await sends(two, channel), "ok", "a subscription is left");
    t.equal(await sends(third, channel), "ok", "it is the user's");
    await two.do("chat.unsubscribe", { channel });
    for (const client of [one, third]) {
      t.same(await client.next("chat.channels"), { channels: [] });
    }
    for (const client of [one, two, third]) t.equal(await sends(client, channel), "chat.denied");
    const lists = named(await chatOf(two), "chat.channels");
    t.same(lists, [], "not to the one that unsubscribed");
    await two.do("chat.subscribe", { channel });
    t.equal(await sends(two, channel), "chat.denied", "it has to join again");
    await two.do("chat.join", { channel });
    t.equal(await sends(two, channel), "ok");
  });

  await t.test("F15 chat.leave untracks the connection", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const [one, two] = [await member(world, "u", channel), await member(world, "u", channel)];
    await one.do("chat.leave", { channel });
    await two.do("chat.join", { channel });
    await two.do("chat.unsubscribe", { channel });
    t.equal(await sends(two, channel), "chat.denied", "it ended");
  });

  await t.test("8.8 and F16 it ends with the last connection", async (t) => {
    const channel = await chatRoom(world, { volatile: true });
    const [one, two, third] = await people(world, "gone", "gone", "gone");
    for (const client of [one, two]) await client.do("chat.join", { channel });
    t.equal(await sends(third, channel), "ok");
    await third.all();
    two.close();
    await soon(two.closed);
    t.equal(await sends(third, channel), "ok", "the other one is there");
    one.close();
    await soon(one.closed);
    t.same(await third.next("chat.channels"), { channels: [] });
    t.equal(await sends(third, channel), "chat.denied");
  });

  await t.test("8.2 who chooses volatile", async (t) => {
    const table: [room?: boolean, traits?: string[], asked?: boolean, isVolatile?: boolean][] = [
      [undefined, [], undefined, false],
      [false, [], undefined, false],
      [true, [], undefined, true],
      [undefined, [], true, false],
      [false, [], true, false],
      [true, [], false, true],
      [undefined, ["admin"], true, true],
      [true, ["admin"], false, false],
      [true, ["admin"], undefined, true],
      [false, ["admin"], undefined, false],
    ];
    for (const [i, [volatile, traits, asked, isVolatile]] of table.entries()) {
      const name = JSON.stringify(table[i]);
      const channel = await chatRoom(world, { volatile });
      const client = await world.person(`chooser ${i}`, ...traits!);
      await client.do("chat.join", { channel, ...(asked !== undefined && { volatile: asked }) });
      t.equal(await sends(client, channel), "ok", name);
      const { hello } = await world.person(`chooser ${i}`, ...traits!);
      t.same(listOf({ channels: hello["chat.channels"] }), isVolatile ? [] : [channel], name);
      await client.do("chat.unsubscribe", { channel });
      t.equal(await sends(client, channel), isVolatile ? "chat.denied" : "ok", name);
    }
    const channel = await chatRoom(world);
    const admin = await world.person("chooser", "admin");
    for (const volatile of [null, 0, 1, "true", [], {}]) {
      const code = await admin.code("chat.join", { channel, volatile });
      t.equal(code, invalid, JSON.stringify(volatile));
    }
  });

  await t.test("8.2 and F15 it becomes lasting, as if joined", async (t) => {
    const channel = await chatRoom(world);
    const [mod, other] = [await world.person("mod", "admin"), await world.person("mod", "admin")];
    const watch = await member(world, "watch", channel);
    await mod.do("chat.join", { channel, volatile: true });
    await other.next("chat.channels");
    await world.calm(channel, mod, other, watch);
    await mod.do("chat.join", { channel, volatile: false });
    t.match(await watch.next("chat.event"), { sender: mod.id, content: { membership: "join" } });
    t.same(listOf(await other.next("chat.channels")), [channel]);
    await mod.do("chat.unsubscribe", { channel });
    t.equal(await sends(mod, channel), "ok");
    await mod.do("chat.join", { channel, volatile: true });
    await mod.do("chat.unsubscribe", { channel });
    t.equal(await sends(mod, channel), "ok", "never the other way");
    const { hello } = await world.person("mod", "admin");
    t.equal(hello["chat.channels"].length, 1);
  });

  await t.test("8.1 lasting ones stay when a room turns volatile", async (t) => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const module = { type: "chat.native", config: { volatile: true } };
    await world.alter(channel, { module_config: [module] });
    await ann.next("world.updated");
    await ann.do("chat.unsubscribe", { channel });
    t.equal(await sends(ann, channel), "ok");
  });
});

void t.test("forced joins", async (t) => {
  // Each case has a separate world: otherwise, its room would also join users of other cases.
  const open = () => openWorld(server);

  await t.test("8.7 at login", async (t) => {
    const world = await open();
    const [watch, other] = [await world.guest(), await world.person("early")];
    const channel = await chatRoom(world, { force_join: true });
    await watch.do("chat.subscribe", { channel });
    const early = await world.person("early");
    for (const client of [early, other]) {
      t.same(listOf(await client.next("chat.channels")), [channel], "mine, me too");
    }
    t.match(await watch.next("chat.event"), {
      channel,
      sender: early.id,
      event_type: "channel.member",
      content: { membership: "join" },
    });
    t.equal(await sends(early, channel), "ok");
    const again = await world.person("early");
    t.same(listOf({ channels: again.hello["chat.channels"] }), [channel]);
    await say(early, channel, "next");
    t.same(named(await world.heard(channel, again), "chat.channels"), [], "is not joined again");
    t.same(namesOf(await chatOf(watch)), ["chat.event", "chat.event"], "two messages");
  });

  await t.test("1 and 8.7 before the next message", async (t) => {
    const world = await open();
    const rooms: string[] = [];
    for (let i = 0; i < 20; i++) rooms.push(await chatRoom(world, { force_join: true }));
    const client = await world.connect();
    const token = world.tokenOf({ uid: "hasty", profile: { display_name: "Hasty" } });
    client.sendFrame("authenticate", { token });
    for (const channel of rooms)
      client.sendFrame("chat.send", channel, message(channel, text("x")));
    for (const channel of rooms) t.equal((await client.answered(channel))[0], "success");
  });

  await t.test("8.7 onto the unread list", async (t) => {
    const world = await open();
    const channel = await chatRoom(world, { force_join: true });
    const [late, speaker] = await people(world, "listed", "speaker");
    for (const client of [late, speaker]) await client.next("chat.channels");
    const { event_id } = await say(speaker, channel, "x");
    t.same(await late.next("chat.unread_pointers"), { [channel]: event_id });
  });

  await t.test("8.7 after user.update", async (t) => {
    const world = await open();
    const channel = await chatRoom(world, { force_join: true });
    const [guest, two] = [await world.guest("nameless"), await world.guest("nameless")];
    t.equal(await sends(guest, channel), "chat.denied", "without a name");
    await guest.do("user.update", { profile: { greeted: true } });
    t.equal(await sends(guest, channel), "chat.denied", "still without");
    for (const client of [guest, two]) await client.all();
    await guest.do("user.update", { profile: { display_name: "Gus" } });
    for (const client of [guest, two]) {
      t.same(listOf(await client.next("chat.channels")), [channel]);
    }
    t.equal(await sends(guest, channel), "ok");
  });

  await t.test("8.7 only with chat.join, and where there is a chat", async (t) => {
    const world = await open();
    const permission_config = { "chat.join": [["staff"]] };
    const closed = await chatRoom(world, { force_join: true, permission_config });
    const bare = await chatRoom(world, { force_join: true, module_config: [] });
    const channel = await chatRoom(world, { force_join: true });
    const guest = await world.person("guest 8.7");
    t.same(listOf(await guest.next("chat.channels")), [channel]);
    t.equal(await sends(guest, closed), "chat.denied");
    t.equal(await sends(guest, bare), "room.unknown");
    const staff = await world.person("staff", "staff");
    const list = await staff.next("chat.channels", ({ channels }) => channels.length === 2);
    t.same(listOf(list).sort(), [closed, channel].sort());
  });

  await t.test("a silenced user joins later", async (t) => {
    const world = await open();
    const admin = await world.person("admin", "admin");
    const { id } = await world.person("sil");
    await admin.do("user.silence", { id });
    const channel = await chatRoom(world, { force_join: true });
    const sil = await world.person("sil");
    t.same(await sil.do("user.update", { client_state: {} }), {});
    t.notOk(await world.store.chat.isMember(world.id, channel, id));
    await admin.do("user.reactivate", { id });
    const later = await world.person("sil");
    t.same(listOf(await later.next("chat.channels")), [channel]);
  });

  await t.test("8.7 it is persistent, also in a volatile room", async (t) => {
    const world = await open();
    const channel = await chatRoom(world, { force_join: true, volatile: true });
    const ann = await world.person("persistent");
    t.same(listOf(await ann.next("chat.channels")), [channel]);
    await ann.do("chat.subscribe", { channel });
    await ann.do("chat.unsubscribe", { channel });
    t.equal(await sends(ann, channel), "ok");
  });
});

void t.test("the members of very many direct channels", async (t) => {
  const world = await openWorld(server);
  const me = await world.guest("me");
  const large = { display_name: "n".repeat(500), text: "x".repeat(15_000) };
  for (let i = 0; i < 60; i++) {
    const id = await world.user(`c${i}`, large);
    await world.store.chat.direct(world.id, me.id, [me.id, id], true);
  }
  const channels: Json[] = (await world.guest("me")).hello["chat.channels"];
  t.equal(channels.length, 60, "all are there");
  t.ok(JSON.stringify(channels).length < 512 * 1024);
  const others: Json[] = channels.map(({ members }) =>
    members.find(({ id }: Json) => id !== me.id),
  );
  const whole = others.filter(({ profile }) => profile.text !== undefined);
  t.ok(whole.length >= 10 && whole.length < 20, `${whole.length} are whole`);
  t.equal(whole.at(-1), others.at(-1), "the newest");
  t.equal(others[0]!.profile.display_name, "n".repeat(100), "a name at least");
});

void t.test("a connection gets each user once", async (t) => {
  const world = await openWorld(server);
  const [channel, other] = [await chatRoom(world), await chatRoom(world)];
  const [ada, ben] = await people(world, "ada", "ben");
  const admin = await world.admin();
  await ada.do("chat.join", { channel });
  for (const client of [ben, admin]) await client.do("chat.subscribe", { channel });
  /** Sends a message as ada, and returns the users included in the push to ben. */
  const pushed = async (body: string) => {
    await say(ada, channel, body);
    return usersOf(await ben.next("chat.event"));
  };
  await say(ada, channel, "one");
  const event = await ben.next("chat.event");
  t.same(usersOf(event), ["ada"]);
  t.notOk("token_id" in event.users[ada.id], "others see less");
  t.equal((await admin.next("chat.event")).users[ada.id].token_id, "ada");
  t.same(await pushed(`two @${ben.id.toUpperCase()}`), ["ben"]);
  t.same(await pushed("three"), []);
  const page = { channel, count: 10, before_id: (await history(ada, channel)).at(-1).event_id };
  t.same(usersOf(await ben.do("chat.fetch", page)), []);

  await ben.do("chat.unsubscribe", { channel: other });
  t.same(await pushed("four"), ["ada"], "of any channel");
  await ben.do("chat.subscribe", { channel: other });
  t.same(usersOf(await ben.do("chat.fetch", page)), ["ada", "ben"]);
  t.same(usersOf(await ben.do("chat.fetch", page)), [], "pages count, too");
  t.same(await pushed("five"), [], "for pushes as well");
  const { users } = await ben.do("chat.subscribe", { channel, after: 0 });
  t.same(usersOf({ users }), ["ada", "ben"]);
  t.same(await pushed("six"), []);
});

/** Delays the next call of a store method. */
function holdNext(part: object, name: string) {
  const methods = part as Record<string, (...args: never[]) => Promise<unknown>>;
  const method = methods[name]!;
  let go = () => {};
  const gone = new Promise<void>((resolve) => (go = resolve));
  const held = new Promise<void>((resolve) => {
    methods[name] = async (...args) => {
      methods[name] = method;
      resolve();
      await gone;
      return method.apply(part, args);
    };
  });
  return { held, go };
}

void t.test("deliveries and subscriptions at once", async (t) => {
  const world = await openWorld(server);
  const { chat, users } = world.store;
  const { channels } = world.live.chat;
  /**
   * Opens a room with a member, who writes directly to the store: a connection would wait for the
   * effects of what it sends.
   */
  const begun = async () => {
    const channel = await chatRoom(world);
    const ann = await member(world, "ann", channel);
    const write = async (body: string) =>
      (await chat.send(world.id, channel, { sender: ann.id, content: text(body) })).event.id;
    return { channel, ann, write, guest: await world.guest() };
  };
  const eventsOf = async (channel: string, client: Client) =>
    named(await world.heard(channel, client), "chat.event");

  await t.test("events that come before the answer to a subscription", async (t) => {
    const { channel, ann, write, guest } = await begun();
    const early = await world.guest();
    await early.do("chat.subscribe", { channel });
    const pass = holdNext(users, "getMany");
    await write("the first");
    await pass.held;
    await write("before the subscription");
    const read = holdNext(chat, "channel");
    const subscribed = guest.do("chat.subscribe", { channel });
    await read.held;
    const id = await write("after it");
    pass.go();
    await early.next("chat.event", ({ event_id }) => event_id === id);
    read.go();
    await subscribed;
    const events = await eventsOf(channel, guest);
    t.strictSame(bodiesOf(events), ["after it"]);
    t.strictSame(Object.keys(events[0].users as object), [ann.id]);
  });

  await t.test("an answer repeats nothing that is pushed after it", async (t) => {
    const { channel, write, guest } = await begun();
    await write("missed");
    const read = holdNext(chat, "events");
    const subscribed = guest.do("chat.subscribe", { channel, after: 0 });
    await read.held;
    await write("meanwhile");
    read.go();
    const { events } = await subscribed;
    const bodies = bodiesOf([...events, ...(await eventsOf(channel, guest))]);
    const said = bodies.filter((body) => body !== undefined);
    t.strictSame(said, ["missed", "meanwhile"]);
  });

  await t.test("after an event that this process has not handled yet", async (t) => {
    const { channel, write, guest } = await begun();
    const handlers = channels.feed.handlers as Record<string, (event: unknown) => void>;
    const handle = handlers["chat.event"]!;
    const late: unknown[] = [];
    handlers["chat.event"] = (event) => late.push(event);
    const seen = await write("pushed by another process");
    const answer = await guest.do("chat.subscribe", { channel, after: seen });
    t.match(answer, { events: [], next_event_id: seen + 1 });
    handlers["chat.event"] = handle;
    for (const event of late) handle(event);
    const id = await write("new");
    t.same(idsOf(await eventsOf(channel, guest)), [id], "nothing comes twice");
  });

  await t.test("a deleted room has the last word", async (t) => {
    const { channel, write, guest } = await begun();
    await guest.do("chat.subscribe", { channel });
    const read = holdNext(users, "getMany");
    await write("too late");
    await read.held;
    await world.store.rooms.delete(world.id, channel, undefined, { kind: "command" });
    await guest.next("room.delete");
    read.go();
    t.same(await eventsOf(channel, guest), []);
  });

  await t.test("a reaction comes after its message", async (t) => {
    const { channel, ann, write, guest } = await begun();
    await guest.do("chat.subscribe", { channel });
    const read = holdNext(users, "getMany");
    const id = await write("liked");
    await read.held;
    await chat.react(world.id, channel, id, {
      user: ann.id,
      reaction: "👍",
      remove: false,
      volatile: false,
    });
    read.go();
    const names = (await world.heard(channel, guest)).map(([name]) => name);
    const expected = ["chat.event", "chat.event.reaction"];
    t.same(
      names.filter((name) => expected.includes(name)),
      expected,
    );
  });

  await t.test("a subscription that fails", async (t) => {
    const { channel, write, guest } = await begun();
    const subscribe = channels.subscribe.bind(channels);
    for (const isSubscribed of [false, true]) {
      if (isSubscribed) await guest.do("chat.subscribe", { channel });
      let fail = () => {};
      const asked = new Promise<void>((resolve) => {
        const read = chat.channel.bind(chat);
        channels.subscribe = (...args) => {
          channels.subscribe = subscribe;
          chat.channel = () =>
            new Promise((_, reject) => {
              chat.channel = read;
              fail = () => reject(new StoreError("busy", "Busy."));
              resolve();
            });
          return subscribe(...args);
        };
      });
      guest.sendFrame("chat.subscribe", "late", { channel });
      await soon(asked);
      const meanwhile = await write("meanwhile");
      fail();
      t.match(await guest.answered("late"), ["error", "late"]);
      const later = await write("later");
      const expected = isSubscribed ? [meanwhile, later] : [];
      t.same(idsOf(await eventsOf(channel, guest)), expected, "an old one goes on without a gap");
    }
  });

  await t.test("after an event that does not exist yet", async (t) => {
    const { channel, write, guest } = await begun();
    for (const after of [1e6, "9223372036854775807"]) {
      const { events } = await guest.do("chat.subscribe", { channel, after });
      t.same(events, []);
      const id = await write("still pushed");
      t.same(idsOf(await eventsOf(channel, guest)), [id]);
    }
  });
});
