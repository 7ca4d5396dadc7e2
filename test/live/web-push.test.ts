import t, { type Test } from "tap";
import { favoritesSoon } from "../../plugins/push/notices.js";
import { freshKey } from "../../plugins/push/keys.js";
import { PushSender, type SenderParts } from "../../plugins/push/sender.js";
import { startTestServer } from "../../testing.js";
import { browserKeys, pushService } from "../push-service.js";
import { testdir } from "../testdir.js";
import { until } from "../helper.js";
import { demo, makeRoom, serveLive } from "./client.js";

async function start(t: Test) {
  const live = await serveLive(t, testdir(t), {}, (options) =>
    startTestServer({
      ...options,
      config: { ...options?.config, webhookAllow: ["127.0.0.1"] },
    }),
  );
  await live.createWorld(demo());
  return live;
}

void t.test("a message reaches a browser whose page is closed", async (t) => {
  const [live, service, phone] = [
    await start(t),
    await pushService(t),
    browserKeys(),
  ];
  const person = (uid: string, display_name: string) =>
    live.person({ uid, profile: { display_name } });
  const [ada, eve] = [await person("ada", "Ada"), await person("eve", "Eve")];
  const key: string = ada.hello["world.config"].world.vapid_public_key;
  t.equal(Buffer.from(key, "base64url").length, 65);
  const subscribe = (endpoint: string, keys: object = phone.keys) =>
    ada.code("user.web_push.subscribe", {
      subscription: { endpoint, expirationTime: null, keys },
    });
  for (const wrong of [
    "http://example.org/x",
    "https://10.0.0.1/",
    "https://169.254.169.254/",
    "x",
    "file:///etc/passwd",
  ]) {
    t.equal(await subscribe(wrong), "protocol.invalid_payload", wrong);
  }
  t.equal(
    await subscribe(`${service.base}/a`, { p256dh: "x", auth: "y" }),
    "protocol.invalid_payload",
  );
  const noPoint = Buffer.alloc(65, 4).toString("base64url");
  t.equal(
    await subscribe(`${service.base}/a`, { ...phone.keys, p256dh: noPoint }),
    "protocol.invalid_payload",
    "no point of the curve",
  );
  const { push } = live.app.store;
  for (let i = 0; i < 22; i++) {
    t.equal(await subscribe(`${service.base}/${i}`), "ok");
  }
  t.equal(
    (await push.of("demo", [ada.id])).length,
    20,
    "at most 20, the newest",
  );
  service.statuses.set("/21", 410).set("/20", 404);

  const { id: channel } = await eve.do("chat.direct.create", {
    users: [ada.id],
  });
  const say = (where: string, body: string) =>
    eve.do("chat.send", {
      ...{ channel: where, event_type: "channel.message" },
      content: { type: "text", body },
    });
  await say(channel, "Hello");
  await until(() => service.got.length === 20);
  const [first] = service.got;
  const signatures = new Set(service.got.map((one) => one.authorization));
  t.equal(signatures.size, 1, "signed once for a push service");
  t.match(first!.authorization, new RegExp(`^vapid t=[^,]+, k=${key}$`));
  t.notOk(first!.body.includes("Hello"), "it is encrypted");
  t.match(phone.read(first!.body), {
    ...{ title: "Eve", body: "Hello", url: `/w/demo/#/messages/${channel}` },
  });
  await until(async () => (await push.of("demo", [ada.id])).length === 18);

  service.got.length = 0;
  const room = await makeRoom(live, {
    module_config: [{ type: "chat.native" }],
  });
  for (const client of [ada, eve])
    await client.do("chat.join", { channel: room });
  await say(room, "To no subscriber");
  await say(room, `Hi @${ada.id}`);
  await until(() => service.got.length === 18);
  for (const { body } of service.got) {
    t.match(phone.read(body), {
      body: "Hi @Ada",
      url: `/w/demo/#/rooms/${room}`,
    });
  }

  // A message that is deleted while it waits for its push service is not sent.
  service.got.length = 0;
  service.hold(true);
  const { event } = await say(channel, "Regretted");
  await until(() => service.got.length > 0);
  await eve.do("chat.send", {
    ...{ channel, event_type: "channel.message", replaces: event.event_id },
    content: { type: "deleted" },
  });
  service.hold(false);
  await say(channel, "Kept");
  const texts = () => service.got.map(({ body }) => phone.read(body).body);
  await until(() => texts().filter((text) => text === "Kept").length === 18);
  t.ok(texts().length < 2 * 18, `${texts().length} messages`);

  // A person whom the reader blocks does not get onto the screen of the reader's phone.
  service.got.length = 0;
  const bob = await person("bob", "Bob");
  await bob.do("chat.join", { channel: room });
  await ada.do("user.block", { id: eve.id });
  await say(room, `Look @${ada.id}`);
  await bob.do("chat.send", {
    ...{ channel: room, event_type: "channel.message" },
    content: { type: "text", body: `Hi @${ada.id}` },
  });
  await until(() => service.got.length === 18);
  for (const { body } of service.got) {
    t.match(phone.read(body), { title: "Bob" });
  }

  // Nor does a person who was banned while the message waited for its push service.
  service.got.length = 0;
  service.hold(true);
  const carl = await person("carl", "Carl");
  await carl.do("chat.join", { channel: room });
  await bob.do("chat.send", {
    ...{ channel: room, event_type: "channel.message" },
    content: { type: "text", body: `Before the ban @${ada.id}` },
  });
  await until(() => service.got.length > 0);
  const admin = await live.person({ uid: "admin", traits: ["admin"] });
  await admin.do("user.ban", { id: bob.id });
  service.hold(false);
  await carl.do("chat.send", {
    ...{ channel: room, event_type: "channel.message" },
    content: { type: "text", body: `After it @${ada.id}` },
  });
  const titles = () => service.got.map(({ body }) => phone.read(body).title);
  await until(() => titles().filter((name) => name === "Carl").length === 18);
  t.ok(titles().length < 2 * 18, `${titles().length} messages`);

  // A favorite that begins soon is due for each user who may see it.
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const times = { starts_at: at(60_000), ends_at: at(3_600_000) };
  const made = await live.app.store.program.createSession("demo", {
    ...{ title: "Maps", state: "public", ...times },
  });
  if ("faults" in made) throw new Error("The session was refused.");
  const session = made.session.value.id;
  await ada.do("program.favorite", { session, on: true });
  const due = await push.due(Date.now(), Date.now() + 300_000);
  t.match(due, [{ session, title: "Maps", user: ada.id, room: null }]);
  t.same(await push.due(Date.now(), Date.now() + 30_000), []);
  const { store } = live.app;
  const unread = { value: () => Promise.reject(new Error("A read failed.")) };
  const users = { value: Object.create(store.users, { getMany: unread }) };
  const failing = Object.create(store, { users }) as typeof store;
  await t.rejects(favoritesSoon(failing, Date.now()).next());
  const soon = await favoritesSoon(store, Date.now()).next();
  t.match(
    soon,
    { done: false, value: [{ user: ada.id, place: "program" }] },
    "what could not be read is sent by a later look",
  );
  t.match(await soon.value![0]!.read(), { title: "Maps" });
  await admin.do("user.ban", { id: ada.id });
  t.equal(await soon.value![0]!.read(), undefined, "a banned user gets none");
  t.match(await favoritesSoon(store, Date.now()).next(), { done: true });
  t.same(await push.due(Date.now(), Date.now() + 300_000), [], "and only once");

  t.ok(await push.claim("demo", "x", Date.now()), "one process sends");
  t.notOk(await push.claim("demo", "x", Date.now()), "and no other one");
  await live.rest("POST", "demo/delete_user", { user_id: ada.id });
  t.same(await push.of("demo", [ada.id]), [], "they are erased with the user");

  // Each subscription looks up a name and may erase another one.
  const codes = new Set<string>();
  for (let i = 0; i < 40; i++) {
    codes.add(
      await carl.code("user.web_push.subscribe", {
        subscription: {
          ...{ endpoint: `${service.base}/${i}`, expirationTime: null },
          keys: phone.keys,
        },
      }),
    );
  }
  t.ok(codes.has("protocol.rate_limited"), "not as often as a user likes");
});

/** A sender to a push service that answers as the test says, and notices for many people. */
function crowd(t: Test, answer: () => Promise<unknown>) {
  const { keys } = browserKeys();
  const endpoint = (user: string) => `https://push.example.org/${user}`;
  const reached = new Set<string>();
  const warnings: unknown[] = [];
  const of = async (_world: string, [user]: string[]) => [
    { user, endpoint: endpoint(user!), ...keys },
  ];
  const send = async ({ url }: { url: string }) => {
    await answer();
    reached.add(url);
    return { status: 201 };
  };
  const log = { warn: (entry: unknown) => warnings.push(entry) };
  const parts = { store: { push: { of } }, outbound: { send }, log };
  const sender = new PushSender({
    ...(parts as unknown as SenderParts),
    key: freshKey(),
    publicUrl: undefined,
  });
  // Its waits do not keep a process running.
  const running = setInterval(() => {}, 1000);
  t.teardown(() => {
    clearInterval(running);
    return sender.close();
  });
  const notices = (count: number, name: string) =>
    Array.from({ length: count }, (_, i) => `${name}${i}`).map((user) => ({
      ...{ world: demo() as never, user, endpoints: [endpoint(user)] },
      ...{ name: "session", place: "program" },
      read: async () => ({ title: "Maps", body: "Event" }),
    }));
  return { sender, notices, reached, warnings };
}

void t.test("a favorite of many people reaches all of them", async (t) => {
  const { sender, notices, reached, warnings } = crowd(t, async () => {});
  await sender.sendToMany(notices(1500, "u"));
  await until(() => reached.size >= 1500);
  t.equal(reached.size, 1500);
  await sender.close();
  t.same(warnings, []);
});

void t.test("a crowd leaves room, and what finds none is logged", async (t) => {
  const { sender, notices, warnings } = crowd(t, async () => {});
  void sender.sendToMany(notices(1500, "crowd"));
  // Of the places for one service, the crowd takes half.
  sender.send(notices(1000, "message"));
  await sender.close();
  t.same(warnings, [{ dropped: 500 }]);
});
