import t from "tap";
import { Presence } from "../../live/people/presence.js";
import type { Step } from "../../live/people/stays.js";
import type { PresenceListener } from "../../live/people/whereabouts.js";
import { Wire } from "./wire.js";

const world = "demo";
const room = "room";
const channel = "room";

/** A process, and what its presence says to those who watch. */
function start(wire: Wire, name: string) {
  const process = wire.start(name);
  const said: string[] = [];
  const listener: PresenceListener = {
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

void t.test("a user who enters elsewhere stays in a room", async (t) => {
  const { wire, one, two } = await startTwo();
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
  const { wire, one, two } = await startTwo();
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
  t.strictSame(member(), [true, true], "it may begin again");
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
  const { wire, one, two } = await startTwo();
  one.open("a", "ada");
  await wire.wait(50);
  const stay = { user: "eve", at: 1, rooms: ["attic"], attending: [] };
  const data = {
    process: "bad",
    ...{ kind: "changes", since: 0, version: 5 },
    put: [
      ["presence a", 1, stay],
      ["presence b", 2, { ...stay, rooms: 1 }],
      ["presence c", 3, stay],
      ["absent", 4, stay],
      ["unknown x", 5, stay],
    ],
    gone: [],
  };
  for (const { process } of [one, two]) {
    process.hear({ type: "live", topic: "replica", world, data });
  }
  const last = { ...data, since: 5, version: 9, put: [], gone: ["presence a"] };
  for (const { process } of [one, two]) {
    process.hear({ type: "live", topic: "replica", world, data: last });
  }
  for (const { presence, names } of [one, two]) {
    t.equal(names(), "ada");
    t.strictSame(presence.usersIn(world, "attic"), ["eve"], "only its own");
    t.match(presence.in(world), { connections: 2 });
  }
});
