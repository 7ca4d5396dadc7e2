import t from "tap";
import { type CrowdListener, Presence } from "../../live/people/presence.js";
import type { Step } from "../../live/people/stays.js";
import { Wire } from "./wire.js";

const world = "demo";
const room = "room";

/** A process, and what its presence pushes to watchers. */
function start(wire: Wire, name: string) {
  const process = wire.start(name);
  const said: string[] = [];
  /** The rooms of which its people may see who is there. */
  const watched = new Set<string>();
  const listener: CrowdListener = {
    counted: () => {},
    isWatched: (_world, room) => watched.has(room),
    opened: (_world, user) => said.push(`opened ${user}`),
    entered: (_world, _room, user, _by, again) =>
      said.push(`entered ${user}${again ? " again" : ""}`),
    left: (_world, _room, user) => said.push(`left ${user}`),
    attended: (_world, user) => said.push(`attended ${user}`),
  };
  const { clock, replica } = process;
  const presence = new Presence(clock, replica, listener);
  const follow = () => void replica.follow(world);
  return {
    process,
    presence,
    said,
    follow,
    /** Its people may see who is in a room, until the room is no longer in `watched`. */
    watch: (place = room) => {
      watched.add(place);
      return presence.watch(world, place);
    },
    watched,
    note: (step: Step) => presence.note(world, step),
    open: (connection: string, user: string) => {
      presence.note(world, { do: "open", connection, user, at: 1 });
      presence.note(world, { do: "enter", connection, room });
    },
    names: () => presence.people.usersIn(world, room).sort().join(" "),
  };
}

/** Two processes with people in the world. */
async function startTwo() {
  const wire = new Wire();
  const [one, two] = [start(wire, "one"), start(wire, "two")] as const;
  for (const process of [one, two]) process.follow();
  await wire.wait(100);
  return { wire, one, two };
}

/** Two processes in which people may see who is in the rooms. */
async function startWatching() {
  const started = await startTwo();
  const { wire, one, two } = started;
  for (const process of [one, two]) {
    for (const place of [room, "attic"]) void process.watch(place);
  }
  await wire.wait(100);
  return started;
}

void t.test("a process has no say about connections of others", async (t) => {
  const { wire, one, two } = await startWatching();
  one.open("a", "ada");
  two.open("d", "ada");
  await wire.wait(50);
  const stay = { user: "eve", at: 1, rooms: ["attic"], attending: [] };
  const data = {
    process: "bad",
    ...{ kind: "changes", since: 0, version: 5 },
    put: [
      ["stay a demo", 1, stay],
      ["stay b demo", 2, { ...stay, attending: 1 }],
      ["stay c demo", 3, stay],
      ["seen x", 3, [1, room]],
      ["seen y", 3, [0]],
      ["seen z", 3, [1, 2]],
      ["absent", 4, stay],
      ["unknown x", 5, stay],
    ],
    gone: [],
  };
  for (const { process } of [one, two]) {
    process.hear({ type: "live", topic: "replica", world, data });
  }
  const last = {
    ...data,
    since: 5,
    version: 9,
    put: [],
    gone: ["stay a demo"],
  };
  for (const { process } of [one, two]) {
    process.hear({ type: "live", topic: "replica", world, data: last });
  }
  for (const { presence, names } of [one, two]) {
    t.equal(names(), "ada");
    t.match(presence.people.ownerOf("a"), { user: "ada", process: "one" });
    t.match(presence.people.ownerOf("c"), { user: "eve", process: "bad" });
    t.match(presence.in(world), { connections: 3, users: 2 });
  }
});

void t.test("a process knows names only for its own people", async (t) => {
  const { wire, one, two } = await startTwo();
  /** The connections and the users that a process knows. */
  const known = ({ presence }: typeof one) => [
    ...["a", "b", "c"].filter((id) => presence.people.ownerOf(id)),
    ...new Set(
      [room, "attic"].flatMap((id) => presence.people.usersIn(world, id)),
    ),
  ];
  two.open("a", "ada");
  two.open("b", "bob");
  two.note({ do: "enter", connection: "b", room: "attic" });
  await wire.wait(50);
  t.strictSame(known(one), []);
  t.match(one.presence.in(world), {
    ...{ connections: 2, users: 2 },
    rooms: [
      { id: room, viewers: 2 },
      { id: "attic", viewers: 1 },
    ],
  });
  t.ok(one.presence.isOnline(world, "ada"), "numbers say who is online");
  t.strictSame(one.said, [], "and nothing says who came");

  await Promise.all([one.watch("attic"), wire.wait(20)]);
  t.strictSame(known(one), ["bob"], "only those in the room");
  t.strictSame(one.presence.people.usersIn(world, "attic"), ["bob"]);
  t.strictSame(one.names(), "", "not where else they are");
  two.note({ do: "enter", connection: "a", room: "attic" });
  await wire.wait(50);
  t.equal(one.said.at(-1), "entered ada", "who comes later is named, too");
  two.note({ do: "leave", connection: "a", room: "attic" });
  await wire.wait(300);
  t.equal(one.said.at(-1), "left ada");
  t.strictSame(known(one), ["bob"]);
  one.watched.clear();
  await wire.wait(11_000);
  t.strictSame(known(one), [], "when none of its people may see who is there");

  one.open("c", "ada");
  await wire.wait(50);
  t.strictSame(known(one), ["a", "c", "ada"], "one user in both processes");
  t.strictSame(known(two), ["a", "b", "c", "ada", "bob"]);
  t.match(one.presence.in(world), { connections: 3, users: 2 });
  t.strictSame(
    one.presence.people
      .connectionsOf(world, "ada")
      .map(({ process }) => process),
    ["one", "two"],
  );
  one.note({ do: "close", connection: "c" });
  await wire.wait(50);
  t.strictSame(known(one), []);
  t.strictSame(known(two), ["a", "b", "ada", "bob"]);
  t.match(one.presence.in(world), { connections: 2, users: 2 });
});

void t.test("who moves to another process has not left", async (t) => {
  const { wire, one, two } = await startWatching();
  two.open("a", "ada");
  await wire.wait(500);
  two.note({ do: "close", connection: "a" });
  await wire.wait(5);
  one.open("c", "ada");
  await wire.wait(1_000);
  for (const { said, names } of [one, two]) {
    t.equal(names(), "ada");
    t.notOk(said.includes("left ada"), "no watcher sees her go");
  }
  one.note({ do: "close", connection: "c" });
  await wire.wait(1_000);
  for (const { said } of [one, two]) t.equal(said.at(-1), "left ada");
});
