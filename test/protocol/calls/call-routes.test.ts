import t from "tap";
import { startServer } from "../../support/server.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";

const engine = new TestEngine();
const server = await startServer(t, { callEngines: { livekit: engine } });
const { store, rest, call, tokenOf } = server;

const roomWith = async (...modules: object[]) =>
  (await store.rooms.create("demo", { name: "Call", module_config: modules as never[] })).value.id;

const bearer = (claims: Parameters<typeof tokenOf>[0]) =>
  `Bearer ${tokenOf({ traits: ["admin", "api"], ...claims })}`;

const join = (room: string, as: string) =>
  call({ method: "POST", url: `/api/v1/worlds/demo/rooms/${room}/call/join/`, as, body: {} });

const ada = { uid: "ada", profile: { display_name: "Ada" } };

void t.test("joining", async (t) => {
  const room = await roomWith({ type: "call.native", config: { limit: 2 } });
  const { status, body } = await join(room, bearer(ada));
  t.equal(status, 200);
  t.match(body, { engine: "livekit", mode: "call", speak: true, moderate: true });
  const user = await store.users.find("demo", { tokenId: "ada" });
  t.match(user, { profile: { display_name: "Ada" } }, "the user is made");
  const refusals: [name: string, status: number, code: string, room: string, as: string][] = [
    ["without a uid", 400, "call.missing_uid", room, bearer({})],
    ["without a name", 400, "call.missing_profile", room, bearer({ uid: "nameless" })],
    ["without the module", 404, "call.unknown", await roomWith(), bearer(ada)],
  ];
  for (const [name, status, code, room, as] of refusals) {
    const answer = await join(room, as);
    t.match(answer, { status, body: { code } }, name);
  }
  for (const uid of ["bob", "eve"]) {
    const answer = await join(room, bearer({ uid, profile: { display_name: uid } }));
    if (uid === "bob") t.equal(answer.status, 200);
    else t.match(answer, { status: 409, body: { code: "call.full" } });
  }
  const none = await startServer(t);
  const made = await none.store.rooms.create("demo", {
    name: "Call",
    module_config: [{ type: "call.native", config: {} }],
  });
  const answer = await none.call({
    method: "POST",
    url: `/api/v1/worlds/demo/rooms/${made.value.id}/call/join/`,
    as: bearer(ada),
    body: {},
  });
  t.match(answer, { status: 503, body: { code: "call.unavailable" } });
});

void t.test("who is there, and the end", async (t) => {
  const room = await roomWith({ type: "call.native", config: { mode: "stage" } });
  const path = `demo/rooms/${room}/call/`;
  t.same((await rest("GET", path)).body, {
    mode: "stage",
    people: 0,
    started: null,
    participants: [],
    hands: [],
  });
  const devices = [];
  for (let i = 0; i < 2; i++) {
    const { body } = await join(room, bearer(ada));
    const device = engine.enter((body as { identity: string }).identity);
    devices.push(device);
    await sendEvent(server, engine.event("joined", device));
  }
  await sendEvent(server, engine.event("published", devices[1]!, "camera"));
  const user = (await store.users.find("demo", { tokenId: "ada" }))!.id;
  const bob = await server.person("bob");
  await bob.do("hand.raise", { room });
  await store.calls.stage("demo", room, user, true, Date.now());
  const { body } = await rest("GET", path);
  t.match(body, {
    people: 1,
    participants: [
      {
        user_id: user,
        name: "Ada",
        speaks: true,
        on_stage: true,
        microphone: false,
        camera: true,
        screen: false,
      },
    ],
    hands: [{ user: bob.id }],
  });
  t.equal(body.participants.length, 1, "a person with two devices is there once");
  engine.isSilent = true;
  t.match(await rest("DELETE", path), { status: 503, body: { code: "call.unavailable" } });
  engine.isSilent = false;
  t.equal((await rest("DELETE", path)).status, 204);
  t.match((await rest("GET", path)).body, { people: 0, hands: [] });
  t.notOk(engine.device(devices[0]!.identity));
  for (const method of ["GET", "DELETE"]) {
    const answer = await rest(method, `demo/rooms/${await roomWith()}/call/`);
    t.match(answer, { status: 404, body: { code: "call.unknown" } });
  }
});

void t.test("engines", async (t) => {
  t.same((await rest("GET", "demo/call-engines/")).body, { results: ["livekit"] });
  const admin = await server.admin();
  t.same((await admin.do("world.config.get", null)).call_engines, ["livekit"]);
  const { call_engines } = await admin.do("world.config.patch", {
    title: "Calls",
    call_engines: [],
    expected: { call_engines: ["livekit"] },
  });
  t.same(call_engines, ["livekit"], "no setting");
});
