import { randomUUID } from "node:crypto";
import t from "tap";
import type { Client } from "../../../conformance/client.js";
import { processClock } from "../../../db/runtime.js";
import { CallKeeper } from "../../../live/modules/calls/keeper.js";
import { until } from "../../support/helper.js";
import { openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";

const engine = new TestEngine();
const server = await startServer(t, { callEngines: { livekit: engine } });
const free = { module_config: [{ type: "call.native", config: {} }] };

async function scene() {
  const world = await openWorld(server);
  const room = await world.room(free);
  const ann = await world.person("ann");
  const peopleOf = async () => (await world.store.calls.get(world.id, room)).call?.people ?? 0;
  const join = async (client: Client) =>
    engine.enter((await client.do("call.join", { room })).identity);
  return { world, room, ann, join, peopleOf };
}

void t.test("forged events are refused", async (t) => {
  const { ann, join, peopleOf } = await scene();
  const event = engine.event("joined", await join(ann));
  t.equal(await sendEvent(server, event, "forged"), 401);
  t.equal(await sendEvent(server, event, ""), 401);
  t.equal(await peopleOf(), 0);
  const none = await startServer(t);
  t.equal(await sendEvent(none, event), 401, "nor without an engine");
});

void t.test("events count once, in any order", async (t) => {
  const { ann, join, peopleOf } = await scene();
  const device = await join(ann);
  const [joined, left] = [engine.event("joined", device), engine.event("left", device)];
  t.equal(await sendEvent(server, joined), 204);
  t.equal(await sendEvent(server, joined), 204);
  t.equal(await peopleOf(), 1);
  await sendEvent(server, left);
  await sendEvent(server, joined);
  t.equal(await peopleOf(), 0, "a visit that is over does not begin again");
  await sendEvent(server, left);
  const second = engine.enter(device.identity, "PA_later");
  await sendEvent(server, engine.event("joined", second));
  t.equal(await peopleOf(), 1, "the same device comes back");
  await sendEvent(server, left);
  t.equal(await peopleOf(), 1, "a late end of the visit before");
});

void t.test("rooms of others, and of what is gone", async (t) => {
  const { world, room, ann, join } = await scene();
  const device = await join(ann);
  const event = engine.event("joined", device);
  for (const name of ["demo", "a/b/c", `${world.id}/lobby`, `/${room}`]) {
    engine.requests.length = 0;
    t.equal(await sendEvent(server, { ...event, room: name }), 204, name);
    t.same(engine.requests, [], name);
  }
  for (const name of [`${world.id}/${randomUUID()}`, `gone/${room}`]) {
    t.equal(await sendEvent(server, { ...event, room: name }), 204, name);
    await until(() => engine.requests.includes(`end ${name}`));
  }
});

void t.test("recorders of the operator stay, and devices that nobody let in leave", async (t) => {
  const { world, room, ann, join } = await scene();
  const device = await join(ann);
  const stranger = `${ann.id}:${"x".repeat(16)}`;
  const name = `${world.id}/${room}`;
  engine.grants.set("EG_1", { ...engine.grants.get(device.identity)!, identity: "EG_1" });
  engine.grants.set(stranger, { ...engine.grants.get(device.identity)!, identity: stranger });
  await sendEvent(server, engine.event("joined", engine.enter("EG_1")));
  await sendEvent(server, engine.event("joined", engine.enter(stranger)));
  await until(() => !engine.device(stranger));
  t.ok(engine.calls.get(name)!.has("EG_1"));
  t.equal((await world.store.calls.get(world.id, room)).call, undefined);
});

void t.test("a ticket of one call admits to no other", async (t) => {
  const { world, room, ann, join } = await scene();
  const device = await join(ann);
  const other = await world.room(free);
  engine.calls.get(`${world.id}/${room}`)!.delete(device.identity);
  engine.grants.set(device.identity, {
    ...engine.grants.get(device.identity)!,
    room: `${world.id}/${other}`,
  });
  await sendEvent(server, engine.event("joined", engine.enter(device.identity)));
  await until(() => !engine.device(device.identity));
  t.equal((await world.store.calls.get(world.id, other)).call, undefined);
});

void t.test("lost events are found by a comparison", async (t) => {
  const { world, room, ann, join, peopleOf } = await scene();
  const bob = await world.person("bob");
  const device = await join(ann);
  const gone = await join(bob);
  await sendEvent(server, engine.event("joined", gone));
  engine.calls.get(engine.grants.get(gone.identity)!.room)!.delete(gone.identity);
  t.equal(await peopleOf(), 1);
  // Another process that starts compares the store with the engine at once.
  const keeper = new CallKeeper({
    clock: processClock,
    log: world.app.log,
    events: world.app.events,
    engine,
    store: world.store,
    onEnded: async () => {},
  });
  t.teardown(() => keeper.stop());
  keeper.start();
  await until(async () => {
    const { devices } = await world.store.calls.get(world.id, room);
    return devices.some(({ identity, joined }) => identity === device.identity && joined !== null);
  });
  t.equal(await peopleOf(), 1);
});
