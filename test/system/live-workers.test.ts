import { readdirSync } from "node:fs";
import { join } from "node:path";
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
