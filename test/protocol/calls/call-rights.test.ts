import t from "tap";
import type { Client } from "../../../conformance/client.js";
import { signInvitation } from "../../../db/world-management.js";
import { SOON, until } from "../../support/helper.js";
import { openWorld, type OpenWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";
import { sendEvent, TestEngine } from "../../support/test-engine.js";

const engine = new TestEngine();
const server = await startServer(t, { callEngines: { livekit: engine } });

const stage = { module_config: [{ type: "call.native", config: { mode: "stage" } }] };
const free = { module_config: [{ type: "call.native", config: {} }] };

async function enter(client: Client, room: string) {
  const { identity } = await client.do("call.join", { room });
  const device = engine.enter(identity);
  await sendEvent(server, engine.event("joined", device));
  return device;
}

/** A person's situation in a call, without a websocket. */
interface Scene {
  readonly world: OpenWorld;
  readonly room: string;
  /** The id of the person. */
  readonly ann: string;
}

interface Change {
  /** The person's invitation. By default, the person has a token without an invitation. */
  readonly invited?: string;
  /** The room. By default, a room in which everybody may speak. */
  readonly room?: Record<string, unknown>;
  readonly before?: (scene: Scene) => Promise<unknown>;
  readonly write: (scene: Scene & { readonly invitation: string }) => Promise<unknown>;
  /** The sources that the person may publish afterward; undefined if the person may not stay. */
  readonly leaves?: readonly string[];
}

const rules = { "world.view": [] };

const ban = ({ world, ann }: Scene, state: "banned" | "silenced" | "" = "banned") =>
  world.store.users.moderate(world.id, ann, state);

const all = ["microphone", "camera", "screen"];

const changes: Record<string, Change> = {
  "a ban": { write: (scene) => ban(scene) },
  "an erasure": {
    write: ({ world, ann }) => world.store.users.erase(world.id, { user_id: ann }),
  },
  "a silence": { write: (scene) => ban(scene, "silenced"), leaves: [] },
  "an end of a silence": {
    before: (scene) => ban(scene, "silenced"),
    write: (scene) => ban(scene, ""),
    leaves: all,
  },
  "a hidden room": {
    write: ({ world, room }) => world.alter(room, { permission_config: { "room.view": ["vip"] } }),
  },
  "a deleted room": { write: ({ world, room }) => world.store.rooms.delete(world.id, room) },
  "a deleted world": { write: ({ world }) => world.store.worlds.delete(world.id) },
  "no call any more": { write: ({ world, room }) => world.alter(room, { module_config: [] }) },
  "a world that is closed": {
    write: ({ world }) => world.configure({ permission_config: { "world.view": ["vip"] } }),
  },
  "no right to join": {
    write: ({ world }) =>
      world.configure({ permission_config: { ...rules, "call.join": ["vip"] } }),
  },
  "no right to speak": {
    write: ({ world }) =>
      world.configure({ permission_config: { ...rules, "call.speak": ["vip"] } }),
    leaves: [],
  },
  "a right to speak": {
    before: ({ world }) =>
      world.configure({ permission_config: { ...rules, "call.speak": ["vip"] } }),
    write: ({ world }) => world.configure({ permission_config: rules }),
    leaves: all,
  },
  "no cameras": {
    write: ({ world, room }) =>
      world.alter(room, { module_config: [{ type: "call.native", config: { video: false } }] }),
    leaves: ["microphone", "screen"],
  },
  "a stage instead of a call": {
    write: ({ world, room }) => world.alter(room, stage),
    leaves: [],
  },
  "a removed key": {
    write: async ({ world }) => {
      const found = await world.store.worlds.get(world.id);
      const { config } = found!.value;
      const [key] = config.JWT_secrets;
      const { issuer, audience } = key!;
      const JWT_secrets = [{ issuer, audience, secret: "another".repeat(10) }];
      await world.store.worlds.update(world.id, {
        config: Object.assign({}, config, { JWT_secrets }),
      });
    },
  },
  "a revoked invitation": {
    invited: "speaker",
    write: ({ world, invitation }) =>
      world.store.invitations.update(world.id, invitation, { revoked: true }),
  },
  "a deleted invitation": {
    invited: "speaker",
    write: ({ world, invitation }) => world.store.invitations.remove(world.id, invitation),
  },
  "a new link": {
    invited: "speaker",
    write: ({ world, invitation }) => world.store.invitations.renew(world.id, invitation, "link"),
  },
  "another role": {
    invited: "speaker",
    before: ({ world }) =>
      world.configure({ permission_config: { ...rules, "call.speak": ["speaker"] } }),
    write: ({ world, invitation }) =>
      world.store.invitations.update(world.id, invitation, { role: "attendee" }),
    leaves: [],
  },
  "a role that speaks": {
    invited: "attendee",
    before: ({ world }) =>
      world.configure({ permission_config: { ...rules, "call.speak": ["speaker"] } }),
    write: ({ world, invitation }) =>
      world.store.invitations.update(world.id, invitation, { role: "speaker" }),
    leaves: all,
  },
  "an invitation": {
    room: stage,
    write: ({ world, room, ann }) => world.store.calls.stage(world.id, room, ann, true, Date.now()),
    leaves: all,
  },
  "the way back to the audience": {
    room: stage,
    before: ({ world, room, ann }) =>
      world.store.calls.stage(world.id, room, ann, true, Date.now()),
    write: ({ world, room, ann }) =>
      world.store.calls.stage(world.id, room, ann, false, Date.now()),
    leaves: [],
  },
};

for (const [name, change] of Object.entries(changes)) {
  void t.test(name, async (t) => {
    const { room: draft = free, invited, before, write, leaves } = change;
    const world = await openWorld(server, { permission_config: rules });
    const room = await world.room(draft);
    let invitation = "";
    let person = () => world.person("ann");
    if (invited !== undefined) {
      const { invitations, worlds } = world.store;
      const [made] = await invitations.create(world.id, [{ name: "ann", role: invited }]);
      const found = (await worlds.get(world.id))!.value;
      const token = await signInvitation(found, made!, "link");
      invitation = made!.id;
      person = async () => {
        const client = await world.connect();
        await client.login({ token });
        return client;
      };
    }
    const first = await person();
    const scene = { world, room, ann: first.id };
    first.close();
    await before?.(scene);
    const client = await person();
    const devices = [await enter(client, room), await enter(client, room)];
    client.close();
    await until(() => world.live.hub.in(world.id).size === 0);
    await write({ ...scene, invitation });
    const isDone = () =>
      devices.every(({ identity }) => {
        const present = engine.calls.get(`${world.id}/${room}`)?.get(identity);
        if (!leaves) return present === undefined;
        return (
          present !== undefined && [...present.sources].sort().join() === [...leaves].sort().join()
        );
      });
    const checks = await until(isDone);
    t.ok(checks < SOON, `${checks} checks`);
  });
}

void t.test("an expired login", async (t) => {
  const world = await openWorld(server);
  const room = await world.room(free);
  const before = Date.now();
  const ann = await world.person({ uid: "ann", seconds: 2, profile: { display_name: "Ann" } });
  const after = Date.now();
  const device = await enter(ann, room);
  ann.close();
  // A token expires at a whole second, two seconds after it was signed.
  await until(() => !engine.device(device.identity) || Date.now() >= after + 3000);
  const checks = await until(() => !engine.device(device.identity));
  t.ok(checks < SOON, `${checks} checks after its end`);
  const passed = Date.now() - before;
  t.ok(passed >= 1000, `${passed} ms after its request`);
});

void t.test("an old ticket of a banned person lasts a moment", async (t) => {
  const world = await openWorld(server);
  const room = await world.room(free);
  const ann = await world.person("ann");
  const device = await enter(ann, room);
  const { identity } = await ann.do("call.join", { room });
  await ban({ world, room, ann: ann.id });
  await until(() => !engine.device(device.identity));
  for (const name of [device.identity, identity]) {
    await sendEvent(server, engine.event("joined", engine.enter(name)));
    await until(() => !engine.device(name));
  }
  await until(async () => (await world.store.calls.get(world.id, room)).call === undefined);
  t.notOk(engine.device(identity));
});

void t.test("an old ticket of a silenced person lasts a moment, too", async (t) => {
  const world = await openWorld(server);
  const room = await world.room(free);
  const ann = await world.person("ann");
  const device = await enter(ann, room);
  const joined = engine.event("joined", device);
  await ban({ world, room, ann: ann.id }, "silenced");
  await until(() => engine.device(device.identity)!.sources.length === 0);
  const again = engine.enter(device.identity);
  t.same(again.sources, all, "the engine goes by the ticket");
  await sendEvent(server, engine.event("joined", again));
  await until(() => engine.device(device.identity)!.sources.length === 0);
  await sendEvent(server, joined);
  await ban({ world, room, ann: ann.id }, "");
  await until(() => engine.device(device.identity)!.sources.length === 3);
});

void t.test("what fails is repeated until the engine confirms", async (t) => {
  const world = await openWorld(server);
  const room = await world.room(free);
  const ann = await world.person("ann");
  const device = await enter(ann, room);
  engine.isSilent = true;
  await ban({ world, room, ann: ann.id });
  await new Promise((resolve) => setTimeout(resolve, 1000));
  t.ok(engine.device(device.identity));
  engine.isSilent = false;
  await until(() => !engine.device(device.identity));
});
