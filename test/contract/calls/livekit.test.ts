import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT } from "jose";
import t from "tap";
import { WebSocket } from "ws";
import {
  type CallGrant,
  type EngineEvent,
  EngineUnavailable,
  ForgedEvent,
} from "../../../plugins/calls/engine.js";
import { LiveKit } from "../../../plugins/calls/livekit.js";
import { CallPage, noChromium, openCallBrowser } from "../../support/call-page.js";
import { SOON, until } from "../../support/helper.js";
import { noLiveKit, startLiveKit } from "../../support/servers/livekit.js";

// Calls on a real LiveKit, with browsers that run LiveKit's own client.

const skip = noLiveKit || noChromium;

/** Collects what the engine reports. */
async function listener(t: { teardown(work: () => unknown): void }) {
  const got: { body: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      got.push({ body, authorization: request.headers.authorization });
      response.end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { got, url: `http://127.0.0.1:${port}/` };
}

async function start(t: { teardown(work: () => unknown): void }) {
  const hooks = await listener(t);
  const server = await startLiveKit(t, { webhook: hooks.url });
  const engine = new LiveKit(server.settings);
  t.teardown(() => engine.close());
  const events = async () => {
    const heard: EngineEvent[] = [];
    for (const { body, authorization } of hooks.got) {
      const event = await engine.hear(body, authorization);
      if (event) heard.push(event);
    }
    return heard;
  };
  return { server, engine, hooks, events };
}

const grantOf = (identity: string, more: Partial<CallGrant> = {}): CallGrant => ({
  room: "fair/hall",
  identity,
  name: identity,
  metadata: "{}",
  sources: ["camera", "microphone", "screen"],
  hidden: false,
  expires: Infinity,
  ...more,
});

const isGone = async (page: CallPage) =>
  (await page.happened()).some((what) => what.startsWith("disconnected"));

void t.test("a call over LiveKit", { skip }, async (t) => {
  const { engine, events, hooks } = await start(t);
  const browser = await openCallBrowser(t);
  const enter = async (grant: CallGrant) => {
    const page = await CallPage.open(t, browser);
    await page.enter(await engine.join(grant));
    return page;
  };
  const room = "fair/hall";
  const name = `Ann <img src=x onerror="alert(1)"> & "Bob"`;
  const metadata = JSON.stringify({ id: "ann", profile: { display_name: name } });
  const ann = await enter(grantOf("ann:1", { name, metadata }));
  const bob = await enter(grantOf("bob:1"));

  await t.test("two people see and hear each other", async (t) => {
    await Promise.all([ann, bob].map((page) => page.publish("camera", "microphone")));
    for (const page of [ann, bob]) {
      let before = { frames: 0, packets: 0 };
      for (let growth = 0; growth < 2; growth++) {
        await until(async () => {
          const { frames, packets } = await page.received();
          return frames > before.frames && packets > before.packets;
        });
        before = await page.received();
      }
    }
    t.strictSame(await bob.others(), ["ann:1"]);
    const shown = await bob.page.evaluate(() => {
      const { room } = window as unknown as {
        room: { remoteParticipants: Map<string, { name: string; metadata: string }> };
      };
      const { name, metadata } = room.remoteParticipants.get("ann:1")!;
      return { name, metadata };
    });
    t.strictSame(shown, { name, metadata }, "markup arrives as text");
  });

  await t.test("the engine tells who is there", async (t) => {
    await until(async () =>
      (await engine.participants(room)).every((it) => it.tracks.length === 2),
    );
    const people = await engine.participants(room);
    t.match(
      people.sort((a, b) => (a.identity < b.identity ? -1 : 1)),
      [
        { identity: "ann:1", hidden: false, sources: ["microphone", "camera", "screen"] },
        { identity: "bob:1", session: /^PA_\w+$/ },
      ],
    );
    t.same(people[0]!.tracks.map(({ source }) => source).sort(), ["camera", "microphone"]);
    t.ok(Math.abs(people[0]!.joined - Date.now()) < 120_000, "times are in milliseconds");
    t.strictSame(await engine.rooms(), [room]);
    t.strictSame(await engine.participants("fair/none"), []);
  });

  await t.test("webhooks report the same, once verified", async (t) => {
    await until(
      async () => (await events()).filter(({ type }) => type === "published").length >= 4,
    );
    const heard = await events();
    t.match(
      heard.find(({ type }) => type === "roomStarted"),
      { room, id: /^EV_\w+$/ },
    );
    const { session } = (await engine.participants(room)).find((it) => it.identity === "ann:1")!;
    t.match(
      heard.find((event) => event.type === "joined" && event.identity === "ann:1"),
      { room, session, hidden: false, sources: ["microphone", "camera", "screen"] },
    );
    t.equal(new Set(heard.map(({ id }) => id)).size, heard.length, "each has an id of its own");
    t.ok(heard.every(({ at }) => Math.abs(at - Date.now()) < 120_000));

    const [{ body, authorization } = { body: "", authorization: "" }] = hooks.got;
    const [, second] = hooks.got;
    const forged: [what: string, body: string, authorization: string | undefined][] = [
      ["no signature", body, undefined],
      ["an empty one", body, ""],
      ["another body", body.replace("fair/hall", "fair/gala"), authorization],
      ["the signature of another webhook", body, second!.authorization],
      ["a ticket of a person", body, (await engine.join(grantOf("eve:1"))).token],
      ["no key at all", body, `${authorization!.split(".").slice(0, 2).join(".")}.`],
      [
        "no algorithm",
        body,
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${authorization!.split(".")[1]}.`,
      ],
      ["no JSON", "{", authorization],
    ];
    for (const [what, body, authorization] of forged) {
      const fault = await engine.hear(body, authorization).catch((error: unknown) => error);
      t.ok(fault instanceof ForgedEvent, what);
    }
    const others = new LiveKit({ ...(await start(t)).server.settings, key: "foyer" });
    t.teardown(() => others.close());
    await t.rejects(others.hear(body, authorization), /not from LiveKit/, "of another server");
  });

  await t.test("a listener cannot publish or send, even with a client of their own", async (t) => {
    const eve = await enter(grantOf("eve:2", { sources: [] }));
    await t.rejects(eve.publish("microphone"));
    await t.rejects(eve.publishAs("camera"));
    await t.rejects(eve.publishAs("unknown"));
    await eve.send("hello").catch(() => {});
    await t.rejects(
      eve.page.evaluate(() =>
        (
          window as unknown as {
            room: { localParticipant: { setName(name: string): Promise<void> } };
          }
        ).room.localParticipant.setName("Ann"),
      ),
    );
    const found = (await engine.participants(room)).find((it) => it.identity === "eve:2");
    t.match(found, { sources: [], tracks: [] });
    await until(async () => (await eve.received()).frames > 0);
    t.ok(true, "and still sees others");
    await eve.leave();
  });

  await t.test("sources are allowed one by one", async (t) => {
    const kim = await enter(grantOf("kim:1", { sources: ["microphone"] }));
    await kim.publish("microphone");
    await t.rejects(kim.publishAs("screen_share"));
    await t.rejects(kim.publishAs("unknown"));
    await engine.update(room, "kim:1", { sources: ["microphone", "screen"], hidden: false });
    await until(async () => (await kim.publishAs("screen_share").catch(() => false)) !== false);
    const tracksOf = async () =>
      (await engine.participants(room))
        .find((it) => it.identity === "kim:1")!
        .tracks.map(({ source }) => source)
        .sort();
    await until(async () => (await tracksOf()).length === 2);
    t.strictSame(await tracksOf(), ["microphone", "screen"]);

    await engine.update(room, "kim:1", { sources: [], hidden: false });
    const checks = await until(async () => (await tracksOf()).length === 0);
    t.ok(checks < SOON, "what is published ends with the right");
    // Until then, the device would only unmute the track that it believes to be published.
    await until(async () => (await kim.own()).length === 0);
    await t.rejects(kim.publish("microphone"));
    t.strictSame(await tracksOf(), []);
    await kim.leave();
  });

  await t.test("mute", async (t) => {
    const microphone = async () =>
      (await engine.participants(room))
        .find((it) => it.identity === "ann:1")!
        .tracks.find(({ source }) => source === "microphone")!;
    t.match(await microphone(), { muted: false });
    await engine.update(room, "ann:1", { mute: "microphone" });
    t.match(await microphone(), { muted: true });
    await until(async () => (await bob.happened()).includes("muted: microphone of ann:1"));
    await engine.update(room, "ann:1", { mute: "microphone" });
    await engine.update(room, "ann:1", { mute: "screen" });
    t.match(await microphone(), { muted: true });
  });

  await t.test("a hidden device sees, and is not seen", async (t) => {
    const hall = await enter(grantOf("screen:1", { sources: [], hidden: true }));
    await until(async () => (await hall.received()).frames > 0);
    t.notOk((await bob.others()).includes("screen:1"));
    const found = (await engine.participants(room)).find((it) => it.identity === "screen:1");
    t.match(found, { hidden: true, sources: [] });
    await until(async () =>
      (await events()).some(
        (it) => it.type === "joined" && it.identity === "screen:1" && it.hidden,
      ),
    );
    await engine.update(room, "screen:1", { sources: [], hidden: true });
    t.notOk((await bob.others()).includes("screen:1"), "a change keeps it hidden");
    await engine.remove(room, "screen:1");
    await until(() => isGone(hall));
  });

  await t.test("a ticket opens one room, for its time", async (t) => {
    const ticket = await engine.join(grantOf("late:1", { expires: Date.now() / 1000 - 3600 }));
    // The engine tolerates a difference of a minute.
    const [, claims] = ticket.token.split(".");
    const { exp, video } = JSON.parse(Buffer.from(claims!, "base64url").toString()) as {
      exp: number;
      video: { room: string };
    };
    t.ok(exp <= Date.now() / 1000 + 1, "an expired login signs nothing that lasts");
    t.equal(video.room, room);
    const { expires } = await engine.join(grantOf("late:2"));
    const seconds = expires - Date.now() / 1000;
    t.ok(seconds > 590 && seconds <= 600, "never longer than ten minutes");
    const page = await CallPage.open(t, browser);
    const { url, token } = await engine.join(grantOf("late:3"));
    const changed = token.replace(/\.(.*)\./, (_, claims: string) => {
      const text = Buffer.from(claims, "base64url").toString().replace("fair/hall", "gala/hall");
      return `.${Buffer.from(text).toString("base64url")}.`;
    });
    await t.rejects(page.enter({ url, token: changed }));
  });

  await t.test("the engine holds the limit of a room, too", async (t) => {
    const enterBy = async (identity: string) => {
      const grant = grantOf(identity, { room: "fair/small", limit: 2, sources: [] });
      const { url, token } = await engine.join(grant);
      const socket = new WebSocket(`${url}/rtc?access_token=${token}&protocol=9`);
      t.teardown(() => socket.terminate());
      return new Promise<boolean>((done) => {
        socket.once("message", () => done(true));
        socket.once("error", () => done(false));
      });
    };
    t.ok(await enterBy("a:1"));
    t.ok(await enterBy("b:1"));
    t.notOk(await enterBy("c:1"));
  });

  await t.test("remove, and end", async (t) => {
    await engine.remove(room, "bob:1");
    t.ok((await until(() => isGone(bob))) < SOON, "within a second");
    t.strictSame((await bob.happened()).at(-1), "disconnected: PARTICIPANT_REMOVED");
    await until(async () =>
      (await events()).some((event) => event.type === "left" && event.identity === "bob:1"),
    );
    await engine.end(room);
    await until(() => isGone(ann));
    t.strictSame((await ann.happened()).at(-1), "disconnected: ROOM_DELETED");
    await until(async () =>
      (await events()).some((event) => event.type === "roomFinished" && event.room === room),
    );
    t.strictSame(await engine.participants(room), []);
  });

  await t.test("what is not there needs no change", async () => {
    for (const at of [room, "fair/none"]) {
      await engine.remove(at, "nobody:1");
      await engine.update(at, "nobody:1", { sources: [], hidden: false });
      await engine.update(at, "nobody:1", { mute: "microphone" });
      await engine.end(at);
    }
  });

  await t.test("a device that comes back has a new session", async (t) => {
    const page = await enter(grantOf("dan:1"));
    const sessionOf = async () =>
      (await engine.participants(room)).find((it) => it.identity === "dan:1")?.session;
    const first = await sessionOf();
    const again = await enter(grantOf("dan:1"));
    await until(() => isGone(page));
    const second = await sessionOf();
    t.not(second, first);
    await until(async () =>
      (await events()).some((event) => event.type === "left" && event.session === first),
    );
    t.notOk(
      (await events()).some((event) => event.type === "left" && event.session === second),
      "and only the old one has left",
    );
    await again.leave();
  });
});

void t.test("webhooks by clocks that differ", async (t) => {
  const secret = "x".repeat(40);
  const engine = new LiveKit({ url: "ws://a", apiUrl: "http://127.0.0.1:1", key: "foyer", secret });
  t.teardown(() => engine.close());
  const body = JSON.stringify({
    event: "participant_left",
    id: "EV_1",
    createdAt: "1700000000",
    room: { name: "fair/hall" },
    participant: { identity: "ann:1", sid: "PA_1", unknown: true },
  });
  const sha256 = createHash("sha256").update(body).digest("base64");
  const sign = (shift: number, issuer = "foyer", key = secret) => {
    const now = Math.floor(Date.now() / 1000) + shift;
    return new SignJWT({ sha256 })
      .setProtectedHeader({ alg: "HS256" })
      .setIssuer(issuer)
      .setNotBefore(now)
      .setExpirationTime(now + 300)
      .sign(new TextEncoder().encode(key));
  };
  for (const shift of [0, 50, -350]) {
    t.match(await engine.hear(body, await sign(shift)), {
      type: "left",
      id: "EV_1",
      room: "fair/hall",
      identity: "ann:1",
      session: "PA_1",
      at: 1_700_000_000_000,
    });
  }
  for (const authorization of [
    await sign(120),
    await sign(-420),
    await sign(0, "other"),
    await sign(0, "foyer", "y".repeat(40)),
  ]) {
    await t.rejects(engine.hear(body, authorization), /not from LiveKit/);
  }
});

void t.test("LiveKit is down, silent, or not itself", { skip: noLiveKit }, async (t) => {
  const { server, engine } = await start(t);
  t.equal(await engine.check(), undefined);
  const wrong = new LiveKit({ ...server.settings, secret: "x".repeat(40) });
  const unknown = new LiveKit({ ...server.settings, key: "other" });
  for (const other of [wrong, unknown]) {
    t.teardown(() => other.close());
    t.match(await other.check(), /^refuses LIVEKIT_API_KEY or LIVEKIT_API_SECRET \(http:/);
  }
  const calls = (it: LiveKit): Promise<unknown>[] => [
    it.update("a/b", "c:1", { sources: [], hidden: false }),
    it.update("a/b", "c:1", { mute: "camera" }),
    it.remove("a/b", "c:1"),
    it.end("a/b"),
    it.participants("a/b"),
    it.rooms(),
  ];
  const allFail = async (it: LiveKit, message: RegExp) => {
    const ended = await Promise.allSettled(calls(it));
    for (const result of ended) {
      t.match(result, { status: "rejected", reason: { message } });
      t.ok(result.status === "rejected" && result.reason instanceof EngineUnavailable);
    }
  };
  await allFail(wrong, /^LiveKit refuses LIVEKIT_API_KEY/);

  server.pause();
  await allFail(engine, /^LiveKit does not answer within 3 seconds\.$/);
  t.match(await engine.join(grantOf("ann:1")), { url: server.url }, "signing asks nobody");
  server.resume();
  await until(async () => (await engine.check()) === undefined);

  await server.stop();
  await allFail(engine, /^LiveKit does not listen at its address\.$/);
  await server.restart();
  t.equal(await engine.check(), undefined, "it is asked anew");

  const answers: [answer: Parameters<typeof strange>[1], message: RegExp][] = [
    [{ status: 500 }, /answers with the status 500/],
    [{ status: 307, headers: { location: server.apiUrl } }, /answers with the status 307/],
    [{ status: 404, body: "not here" }, /answers with the status 404/],
    [{ body: "<html>" }, /cannot be read/],
    [{ body: '{"participants":7,"rooms":{},"tracks":3}' }, /cannot be read/],
    [
      { status: 401, headers: { date: new Date(Date.now() + 600_000).toUTCString() } },
      /has a clock that is \d+ seconds ahead of this machine's/,
    ],
    [{ size: 40 * 1024 * 1024 }, /too large/],
    [{ drips: true }, /does not answer within 3 seconds/],
  ];
  for (const [answer, message] of answers) {
    const url = await strange(t, answer);
    const it = new LiveKit({ ...server.settings, apiUrl: url });
    t.teardown(() => it.close());
    await t.rejects(it.participants("a/b"), { message }, String(message));
  }
});

/** A server that responds, but not like LiveKit. */
async function strange(
  t: { teardown(work: () => unknown): void },
  answer: {
    status?: number;
    body?: string;
    headers?: Record<string, string>;
    size?: number;
    drips?: boolean;
  },
): Promise<string> {
  const { status = 200, body = "{}", headers = {}, size, drips } = answer;
  const server = createServer((_request, response) => {
    response.writeHead(status, headers);
    if (drips) {
      const timer = setInterval(() => response.write(" "), 50);
      response.on("close", () => clearInterval(timer));
    } else response.end(size === undefined ? body : Buffer.alloc(size, " "));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
