import t from "tap";
import type { Client } from "../../conformance/client.js";
import { LiveKit } from "../../plugins/calls/livekit.js";
import { CallPage, noChromium, openCallBrowser } from "../support/call-page.js";
import { SOON, until } from "../support/helper.js";
import { type Server, startServer } from "../support/server.js";
import { noLiveKit, startLiveKit } from "../support/servers/livekit.js";
import { freePort } from "../support/servers/port.js";

// Two processes of Foyer, the real media server, and real browsers.

const EVENTS = "/api/v1/calls/livekit/";

async function openCalls(t: Parameters<typeof startServer>[0]) {
  const port = await freePort();
  const engine = await startLiveKit(t, { webhook: `http://127.0.0.1:${port}${EVENTS}` });
  const server = await startServer(t, {
    processes: 2,
    env: { ...engine.variables, PORT: `${port}` },
  });
  const livekit = new LiveKit(engine.settings);
  t.teardown(() => livekit.close());
  const browser = await openCallBrowser(t);
  const room = async (config: object = {}) => {
    const draft = { name: "Call", module_config: [{ type: "call.native", config }] };
    return (await server.rest("POST", "demo/rooms/", draft)).body.id as string;
  };
  const page = () => CallPage.open(t, browser);
  const there = async (room: string) =>
    (await livekit.participants(`demo/${room}`)).map(({ identity }) => identity);
  return { engine, server, livekit, room, page, there };
}

/** Makes a write, and counts the checks until a condition holds. */
async function checksUntil(write: () => Promise<unknown>, condition: () => Promise<boolean>) {
  await write();
  return until(condition);
}

const decide = (server: Server, client: Client, moderation_state: string) =>
  server.rest("PATCH", `demo/users/${client.id}/`, { moderation_state });

const options = { skip: noLiveKit || noChromium, timeout: 300_000 };

void t.test("people see and hear each other until they lose the right", options, async (t) => {
  const { server, room: make, page, there } = await openCalls(t);
  const room = await make();
  const [ann, bob, eve] = [
    await server.person("ann"),
    await server.person("bob"),
    await server.person("eve"),
  ];
  const [first, second] = [await page(), await page()];
  const tickets = [await ann.do("call.join", { room }), await bob.do("call.join", { room })];
  await first.enter(tickets[0]);
  await second.enter(tickets[1]);
  await first.publish("camera", "microphone");
  await second.publish("camera", "microphone");
  for (const device of [first, second]) {
    await until(async () => {
      const { frames, packets } = await device.received();
      return frames > 10 && packets > 10;
    });
  }
  await until(async () => (await eve.do("call.state", { room })).speakers.length === 2);
  t.match(await eve.do("call.state", { room }), { people: 2 });

  await t.test("a moderator mutes, and removes", async (t) => {
    const admin = await server.admin();
    await admin.do("call.mute", { room, user: bob.id, source: "microphone" });
    await until(async () =>
      (await first.happened()).includes(`muted: microphone of ${tickets[1].identity}`),
    );
    const third = await page();
    const ticket = await eve.do("call.join", { room });
    await third.enter(ticket);
    await admin.do("call.remove", { room, user: eve.id });
    await until(async () => (await third.happened()).includes("disconnected: PARTICIPANT_REMOVED"));
    t.notOk((await there(room)).includes(ticket.identity));
  });

  await t.test("a silence takes what is published, also without a websocket", async (t) => {
    ann.close();
    await ann.closed;
    const checks = await checksUntil(
      () => decide(server, ann, "silenced"),
      async () => (await first.own()).length === 0,
    );
    t.ok(checks < SOON, `${checks} checks`);
    await t.rejects(first.publishAs("camera"), "nor may a client of one's own");
    t.ok((await there(room)).includes(tickets[0].identity), "they still listen");
  });

  await t.test("a ban removes, and an old ticket lasts a moment", async (t) => {
    bob.close();
    await bob.closed;
    const isGone = async () => !(await there(room)).includes(tickets[1].identity);
    const checks = await checksUntil(() => decide(server, bob, "banned"), isGone);
    t.ok(checks < SOON, `${checks} checks`);
    await until(async () =>
      (await second.happened()).includes("disconnected: PARTICIPANT_REMOVED"),
    );
    const again = await page();
    await again.enter(tickets[1]).catch(() => {});
    await until(async () => {
      const happened = (await again.happened()) ?? [];
      return happened.some((it) => it.startsWith("disconnected"));
    });
    t.ok(await isGone());
  });

  await t.test("a hidden room is empty", async (t) => {
    const checks = await checksUntil(
      () =>
        server.rest("PATCH", `demo/rooms/${room}/`, {
          permission_config: { "room.view": ["nobody"] },
        }),
      async () => (await there(room)).length === 0,
    );
    t.ok(checks < SOON, `${checks} checks`);
  });
});

void t.test("a stage", options, async (t) => {
  const { server, room: make, page } = await openCalls(t);
  const room = await make({ mode: "stage" });
  const host = await server.admin();
  const ann = await server.person("ann");
  const [audience, speaker] = [await page(), await page()];
  await speaker.enter(await ann.do("call.join", { room }));
  await audience.enter(await (await server.person("bob")).do("call.join", { room }));
  await t.rejects(speaker.publish("microphone"), "the audience only listens");
  await ann.do("hand.raise", { room });
  await host.do("call.stage", { room, user: ann.id, on: true });
  await until(async () => {
    await speaker.publish("camera", "microphone").catch(() => {});
    return (await speaker.own()).length === 2;
  });
  await until(async () => (await audience.received()).frames > 5);
  const checks = await checksUntil(
    () => host.do("call.stage", { room, user: ann.id, on: false }),
    async () => (await speaker.own()).length === 0,
  );
  t.ok(checks < SOON, `${checks} checks`);
});

void t.test("Foyer and the engine are killed under a call", options, async (t) => {
  const { server, engine, room: make, page, there } = await openCalls(t);
  const room = await make();
  const ann = await server.person("ann");
  const { identity, ...ticket } = await ann.do("call.join", { room });
  const device = await page();
  await device.enter(ticket);
  await until(async () => (await ann.do("call.state", { room })).people === 1);

  await server.restart("SIGKILL");
  t.same(await there(room), [identity], "the call goes on");
  const bob = await server.person("bob");
  t.match(await bob.do("call.state", { room }), { people: 1 }, "and is known");

  await engine.restart();
  await until(async () => (await there(room)).includes(identity));
  await until(async () => (await bob.do("call.state", { room })).people === 1);
  const checks = await checksUntil(
    () => decide(server, ann, "banned"),
    async () => (await there(room)).length === 0,
  );
  t.ok(checks < SOON, `${checks} checks`);
});
