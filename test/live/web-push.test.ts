import {
  createDecipheriv,
  createECDH,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { startTestServer } from "../../testing.js";
import { testdir } from "../testdir.js";
import { until } from "../helper.js";
import { demo, type Json, makeRoom, serveLive } from "./client.js";

/** A browser's part of web push (RFC 8291). */
function browser() {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  const auth = randomBytes(16);
  const own = curve.getPublicKey();
  return {
    keys: {
      p256dh: own.toString("base64url"),
      auth: auth.toString("base64url"),
    },
    read(message: Buffer): Json {
      const salt = message.subarray(0, 16);
      const size = message[20]!;
      const sender = message.subarray(21, 21 + size);
      const derive = (
        secret: Buffer,
        from: Buffer,
        info: Buffer,
        length: number,
      ) => Buffer.from(hkdfSync("sha256", secret, from, info, length));
      const info = Buffer.concat([Buffer.from("WebPush: info\0"), own, sender]);
      const secret = derive(curve.computeSecret(sender), auth, info, 32);
      const use = (name: string, length: number) =>
        derive(
          secret,
          salt,
          Buffer.from(`Content-Encoding: ${name}\0`),
          length,
        );
      const body = message.subarray(21 + size);
      const cipher = createDecipheriv(
        "aes-128-gcm",
        use("aes128gcm", 16),
        use("nonce", 12),
      );
      cipher.setAuthTag(body.subarray(-16));
      const text = Buffer.concat([
        cipher.update(body.subarray(0, -16)),
        cipher.final(),
      ]);
      return JSON.parse(text.subarray(0, text.lastIndexOf(2)).toString());
    },
  };
}

/** A push service that keeps what it gets. */
async function pushService(t: Test) {
  const got: { path: string; authorization: string; body: Buffer }[] = [];
  const statuses = new Map<string, number>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { url: path = "", headers } = request;
      const { authorization = "" } = headers;
      got.push({ path, authorization, body: Buffer.concat(chunks) });
      response.writeHead(statuses.get(path) ?? 201).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { got, statuses, base: `http://127.0.0.1:${port}` };
}

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
    browser(),
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
  const { push } = live.app.store;
  for (let i = 0; i < 22; i++) {
    t.equal(await subscribe(`${service.base}/${i}`), "ok");
  }
  t.equal((await push.of("demo", ada.id)).length, 20, "at most 20, the newest");
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
  t.match(first!.authorization, new RegExp(`^vapid t=[^,]+, k=${key}$`));
  t.notOk(first!.body.includes("Hello"), "it is encrypted");
  t.match(phone.read(first!.body), {
    ...{ title: "Eve", body: "Hello", url: `/w/demo/#/messages/${channel}` },
  });
  await until(async () => (await push.of("demo", ada.id)).length === 18);

  service.got.length = 0;
  const room = await makeRoom(live, {
    module_config: [{ type: "chat.native" }],
  });
  for (const client of [ada, eve])
    await client.do("chat.join", { channel: room });
  await say(room, "To nobody");
  await say(room, `Hi @${ada.id}`);
  await until(() => service.got.length === 18);
  for (const { body } of service.got) {
    t.match(phone.read(body), {
      body: "Hi @Ada",
      url: `/w/demo/#/rooms/${room}`,
    });
  }

  // A favorite that begins soon is due for those who may see it.
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

  t.ok(await push.claim("demo", "x", Date.now()), "one process sends");
  t.notOk(await push.claim("demo", "x", Date.now()), "and no other one");
  await live.rest("POST", "demo/delete_user", { user_id: ada.id });
  t.same(await push.of("demo", ada.id), [], "they are erased with the user");
});
