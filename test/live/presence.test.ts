import t from "tap";
import { type CrowdListener, Presence } from "../../live/people/presence.js";
import type { Step } from "../../live/people/stays.js";
import { Wire } from "./wire.js";

const world = "demo";
const room = "room";
const channel = "room";

/** A process, and what its presence says to those who watch. */
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
    names: () => presence.usersIn(world, room).sort().join(" "),
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

void t.test("a user who enters elsewhere stays in a room", async (t) => {
  const { wire, one, two } = await startWatching();
  one.open("a", "ada");
  one.open("b", "bob");
  await wire.wait(50);
  t.strictSame([one.names(), two.names()], ["ada bob", "ada bob"]);
  for (const { said } of [one, two]) said.length = 0;
  // The other process has yet to tell of it.
  two.open("c", "ada");
  one.note({ do: "close", connection: "a" });
  one.note({ do: "close", connection: "b" });
  await wire.wait(500);
  for (const { said } of [one, two]) {
    t.strictSame(
      said.filter((what) => what.startsWith("left")),
      ["left bob"],
    );
  }
  two.note({ do: "close", connection: "c" });
  await wire.wait(500);
  t.ok(one.said.includes("left ada"));
  t.ok(two.said.includes("left ada"));
});

void t.test("who is where, in all processes of a world", async (t) => {
  const { wire, one, two } = await startWatching();
  one.open("a", "ada");
  one.note({ do: "enter", connection: "a", room: "attic" });
  two.open("b", "ada");
  await wire.wait(50);
  for (const { presence } of [one, two]) {
    t.match(presence.in(world), { connections: 2, users: 1 });
    t.strictSame(presence.usersIn(world, "attic"), ["ada"]);
    t.strictSame(
      presence.connectionsOf(world, "ada").map(({ process }) => process),
      ["two", "one"],
    );
  }
  one.note({ do: "enter", connection: "a", room });
  await wire.wait(50);
  t.equal(two.said.at(-1), "entered ada again");
  one.note({ do: "leave", connection: "a", room: "attic" });
  one.note({ do: "close", connection: "a" });
  await wire.wait(50);
  t.strictSame(two.presence.usersIn(world, "attic"), []);
  t.match(two.presence.in(world), { connections: 1, users: 1 });
  const third = start(wire, "third");
  await wire.wait(50);
  t.notOk(
    third.presence.isOnline(world, "ada"),
    "it does not follow the world",
  );
  await Promise.all([third.presence.visit(world), wire.wait(300)]);
  t.ok(third.presence.isOnline(world, "ada"), "unless it has to know");
  await wire.wait(15_000);
  t.notOk(third.presence.isOnline(world, "ada"), "for a while");
  two.process.kill(true);
  await wire.wait(5_000);
  t.notOk(one.presence.isOnline(world, "ada"), "what a process had is gone");
});

void t.test("a process alone waits for no other", async (t) => {
  const wire = new Wire();
  const one = start(wire, "one");
  await one.presence.visit(world);
  one.follow();
  one.open("a", "ada");
  one.note({ do: "close", connection: "a" });
  t.strictSame(one.said.at(-1), "left ada");
});

void t.test("memberships for as long as a user listens", async (t) => {
  const { wire, one, two } = await startTwo();
  const member = () =>
    [one, two].map(({ presence }) => presence.attends(world, channel, "ada"));
  const listen = (process: typeof one, connection: string) => {
    process.open(connection, "ada");
    process.note({ do: "subscribe", connection, channel });
  };
  listen(one, "a");
  listen(two, "b");
  await wire.wait(50);
  t.strictSame(member(), [false, false]);
  one.note({ do: "attend", connection: "a", channel });
  await wire.wait(50);
  t.strictSame(member(), [true, true]);
  one.note({ do: "unsubscribe", connection: "a", channel });
  await wire.wait(50);
  t.strictSame(member(), [true, true], "each connection that listens");
  one.note({ do: "subscribe", connection: "a", channel });
  one.note({ do: "absent", connection: "a", channel, silent: false });
  t.strictSame(member(), [false, true], "at once where the user leaves");
  one.note({ do: "close", connection: "a" });
  await wire.wait(50);
  t.strictSame(member(), [false, false], "and then everywhere");
  two.note({ do: "attend", connection: "b", channel });
  await wire.wait(50);
  t.strictSame(
    member(),
    [false, true],
    "it may begin again, which concerns only the processes where the user is",
  );
  one.open("d", "ada");
  await wire.wait(20_000);
  t.strictSame(member(), [true, true]);
  two.note({ do: "close", connection: "b" });
  await wire.wait(50);
  t.strictSame(member(), [false, false], "it ends with the last connection");
});

void t.test("an absence that was lost", async (t) => {
  const { wire, one, two } = await startTwo();
  for (const [process, connection] of [
    [one, "a"],
    [two, "b"],
  ] as const) {
    process.open(connection, "ada");
    process.note({ do: "subscribe", connection, channel });
  }
  one.note({ do: "attend", connection: "a", channel });
  await wire.wait(50);
  wire.link = () => [];
  one.note({ do: "absent", connection: "a", channel, silent: false });
  await wire.wait(100);
  t.ok(two.presence.attends(world, channel, "ada"));
  wire.link = (message) => [message];
  await wire.wait(1_500);
  t.notOk(two.presence.attends(world, channel, "ada"));
});

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
    t.match(presence.ownerOf("a"), { user: "ada", process: "one" });
    t.match(presence.ownerOf("c"), { user: "eve", process: "bad" });
    t.match(presence.in(world), { connections: 3, users: 2 });
  }
});

void t.test("a process knows names only for its own people", async (t) => {
  const { wire, one, two } = await startTwo();
  /** The connections and the users that a process knows. */
  const known = ({ presence }: typeof one) => [
    ...["a", "b", "c"].filter((id) => presence.ownerOf(id)),
    ...new Set([room, "attic"].flatMap((id) => presence.usersIn(world, id))),
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
  t.strictSame(one.presence.usersIn(world, "attic"), ["bob"]);
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
    one.presence.connectionsOf(world, "ada").map(({ process }) => process),
    ["one", "two"],
  );
  one.note({ do: "close", connection: "c" });
  await wire.wait(50);
  t.strictSame(known(one), []);
  t.strictSame(known(two), ["a", "b", "ada", "bob"]);
  t.match(one.presence.in(world), { connections: 2, users: 2 });
});

void t.test("who is in a room when one may see it first", async (t) => {
  const { wire, one, two } = await startTwo();
  for (let i = 0; i < 1200; i++) two.open(`c${i}`, `u${i}`);
  await wire.wait(100);
  one.open("m", "mia");
  one.said.length = 0;
  let names: string[] = [];
  const watching = one
    .watch()
    .then(() => (names = one.presence.usersIn(world, room)));
  await wire.wait(30);
  t.equal(names.length, 1201, "the list is complete at once");
  const isNew = (what: string) => what.startsWith("entered");
  t.strictSame(one.said.filter(isNew), [], "so none of them counts as new");
  await watching;
  two.process.clock.pause(5_000);
  const late = one.watch("attic");
  await Promise.all([late, wire.wait(260)]);
  t.strictSame(one.presence.usersIn(world, "attic"), [], "it waits not long");
});

void t.test("who enters again is told of once", async (t) => {
  const { wire, one, two } = await startWatching();
  two.open("a", "ada");
  for (let i = 0; i < 3; i++) {
    two.note({ do: "enter", connection: "a", room });
  }
  await wire.wait(50);
  const third = start(wire, "third");
  third.follow();
  await wire.wait(100);
  await Promise.all([third.watch(), wire.wait(100)]);
  third.said.length = one.said.length = 0;
  for (let i = 0; i < 2; i++) {
    two.note({ do: "enter", connection: "a", room: "attic" });
    two.note({ do: "leave", connection: "a", room: "attic" });
    await wire.wait(50);
  }
  t.strictSame(third.said, []);
  two.note({ do: "enter", connection: "a", room });
  await wire.wait(50);
  t.strictSame(third.said, ["entered ada again"]);
});
