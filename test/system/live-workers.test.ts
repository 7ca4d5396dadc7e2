import { readdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { foyer, keyOf, timed, until } from "../helper.js";
import { connectTo, startPair } from "./pair.js";
import { listed, type Person, signer } from "./person.js";

/** How soon a change reaches open connections if the machine has time, in milliseconds. */
const SOON = 1000;

/** After how many it is late, whatever else the machine does. */
const LATE = 20_000;

/** The first room of the demo. */
async function firstRoom(person: Person): Promise<string> {
  const config = (await person.pushed("authenticated"))["world.config"];
  return (config as { rooms: { id: string }[] }).rooms[0]!.id;
}

const idsOf = (viewers: unknown) =>
  (viewers as { id: string }[]).map(({ id }) => id).sort();

void t.test("what ends connections reaches every process", async (t) => {
  const pair = await startPair(t);
  const [here, there] = pair.workers();
  const ann = await connectTo(t, pair, here!);
  await ann.logIn(pair.sign("ann", "admin", "api"));
  const guest = async (client_id: string) =>
    (await connectTo(t, pair, there!)).logIn({ client_id });

  const banned = await guest("banned");
  const takes: number[] = [];
  const note = (what: string, took: number) => {
    takes.push(took);
    t.ok(took < LATE, `${what}: ${took} ms`);
  };
  let took = await timed(async () => {
    await ann.call("user.ban", { id: banned.user });
    await banned.pushed("connection.reload");
  });
  note("a ban", took);
  t.equal(await banned.ended(), 1000);

  const erased = await guest("erased");
  took = await timed(async () => {
    await pair.api("POST", "delete_user", { user_id: erased.user });
    await erased.pushed("connection.reload");
  });
  note("an erasure", took);

  const doomed = await guest("doomed");
  await foyer(pair.dataDir, ["user", "delete", "sample", doomed.user]);
  took = await timed(async () => {
    await doomed.pushed("connection.reload");
  });
  note("an erasure by command", took);

  const visitor = await guest("visitor");
  const rotations: [name: string, rotate: () => Promise<unknown>][] = [
    [
      "by REST",
      () => {
        const key = { ...keyOf("sample"), secret: "another-".repeat(5) };
        return pair.api("PATCH", "", { config: { JWT_secrets: [key] } });
      },
    ],
    [
      "by a command",
      () => foyer(pair.dataDir, ["world", "update", "sample", "--new-key"]),
    ],
  ];
  for (const [name, rotate] of rotations) {
    const sign = await signer(pair.dataDir);
    const people: Person[] = [];
    for (const pid of [here!, there!]) {
      const person = await connectTo(t, pair, pid);
      people.push(await person.logIn(sign("bob")));
    }
    await rotate();
    took = await timed(async () => {
      for (const person of people) {
        await person.pushed("error");
        t.match(person.all("error"), [{ code: "auth.invalid_token" }], name);
        t.equal(await person.ended(), 1008);
      }
    });
    note(`a new key ${name}`, took);
  }
  t.equal(visitor.closed, undefined, "a guest has no key");

  const remove = ["world", "delete", "sample", "--yes"];
  t.match(await foyer(pair.dataDir, remove), { code: 0 });
  took = await timed(async () => {
    await visitor.pushed("error", ({ code }) => code === "world.unknown_world");
    await visitor.ended();
  });
  note("the end of the world", took);
  t.ok(Math.min(...takes) < SOON, `at best ${Math.min(...takes)} ms`);
});

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
