import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { timed, until } from "../helper.js";
import { connectTo, startPair } from "./pair.js";
import { listed, type Person } from "./person.js";

/** After how many milliseconds a change is late, whatever else the machine does. */
const LATE = 20_000;

/** The first room of the demo. */
async function firstRoom(person: Person): Promise<string> {
  const config = (await person.pushed("authenticated"))["world.config"];
  return (config as { rooms: { id: string }[] }).rooms[0]!.id;
}

const idsOf = (viewers: unknown) =>
  (viewers as { id: string }[]).map(({ id }) => id).sort();

void t.test("a process that is killed takes its people with it", async (t) => {
  const pair = await startPair(t);
  const [here, there] = pair.workers();
  const ann = await connectTo(t, pair, here!);
  await ann.logIn(pair.sign("ann", "admin"));
  const room = await firstRoom(ann);
  await ann.call("room.enter", { room });
  const lost: Person[] = [];
  for (const client_id of ["one", "two"]) {
    const person = await connectTo(t, pair, there!);
    lost.push(await person.logIn({ client_id }));
    await person.call("room.enter", { room });
  }
  const other = (
    (await ann.pushed("authenticated"))["world.config"] as {
      rooms: { id: string }[];
    }
  ).rooms[1]!.id;
  await lost[0]!.call("room.enter", { room: other });
  await ann.pushed("room.viewer.added", ({ user }) => {
    return (user as { id: string }).id === lost[1]!.user;
  });
  await ann.pushed(
    "world.user_count_change",
    (data) => data.room === other && data.users === "few",
  );

  const took = await timed(async () => {
    process.kill(there!, "SIGKILL");
    for (const { user } of lost) {
      await ann.pushed("room.viewer.removed", (data) => data.user_id === user);
    }
    await ann.pushed(
      "world.user_count_change",
      (data) => data.room === other && data.users === "none",
    );
  });
  t.ok(took < LATE, `${took} ms`);
  const again = await ann.call("room.enter", { room });
  t.same(idsOf(again.viewers), [ann.user]);
  const ids = lost.map(({ user }) => user);
  t.same(await ann.call("user.online_status", { ids }), {
    [ids[0]!]: false,
    [ids[1]!]: false,
  });

  await until(() => pair.workers().length === 3);
  // The one that replaces it also removes its socket.
  const served = () =>
    readdirSync(join(pair.dataDir, "control"))
      .filter((name) => name.endsWith(".sock"))
      .map((name) => Number.parseInt(name, 10));
  await until(() => served().includes(pair.workers()[2]!));
  t.notOk(served().includes(there!));
  const next = pair.workers()[2]!;
  const bob = await connectTo(t, pair, next);
  await bob.logIn(pair.sign("bob", "admin"));
  const own = (await listed(pair.dataDir)).find(
    ({ user }) => user === bob.user,
  );
  t.equal(own?.pid, next);
  t.same(
    await bob.call("user.online_status", { ids: [ann.user, ...ids] }),
    { [ann.user]: true, [ids[0]!]: false, [ids[1]!]: false },
    "the one that replaces it knows who is online",
  );
  const entered = await bob.call("room.enter", { room });
  t.same(idsOf(entered.viewers), [ann.user, bob.user].sort());
});

void t.test("who comes back before a first list stays in it", async (t) => {
  const pair = await startPair(t);
  const [busy, own] = pair.workers();
  const seat = async (pid: number, credentials: Record<string, unknown>) =>
    (await connectTo(t, pair, pid)).logIn(credentials);
  const far = await seat(busy!, { client_id: "far" });
  const near = await seat(own!, { client_id: "near" });
  const next = await seat(own!, { client_id: "next" });
  const ann = await seat(own!, pair.sign("ann", "admin"));
  const room = await firstRoom(ann);
  await far.call("room.enter", { room });
  await near.call("room.enter", { room });

  // The list waits a quarter of a second for the busy process. The push about the user who left
  // waits a fifth of a second, so it is due before the list.
  process.kill(busy!, "SIGSTOP");
  await near.call("room.leave", { room });
  await delay(100);
  const asked = ann.call("room.enter", { room });
  await delay(150);
  await near.call("room.enter", { room });
  const { viewers } = await asked;
  process.kill(busy!, "SIGCONT");

  // Pushes come in order, so this is after all that could remove anybody.
  await next.call("room.enter", { room });
  const isOf = (person: Person) => (data: Record<string, unknown>) =>
    (data.user as { id: string }).id === person.user;
  await ann.pushed("room.viewer.added", isOf(next));
  await ann.pushed("room.viewer.added", isOf(far));
  const known = new Set(idsOf(viewers));
  for (const [name, data] of ann.pushes) {
    if (name === "room.viewer.added")
      known.add((data.user as { id: string }).id);
    if (name === "room.viewer.removed") known.delete(data.user_id as string);
  }
  const all = [far, near, next, ann].map(({ user }) => user);
  t.same([...known].sort(), all.sort());
});
