import t from "tap";
import type { RoomValue, Versioned } from "../../db/contract/store.js";
import { WorldState } from "../../live/rules/world-state.js";
import { textFrame } from "../../live/socket/frame.js";
import { House } from "../simulation/live/house.js";

// What waits to be sent is as old as the loss of a right, and not only as its making: what is
// made in between shows as much as what was made before. The connection is a real one, and its
// time is simulated.

/** A house with one client that is logged in. */
async function furnished() {
  const got: string[] = [];
  const people = { seed: 1, nodes: 1, clients: 1, hasProgram: false };
  const house = new House(people, (line) => got.push(line));
  const { timeline, world } = house;
  await timeline.runUntil(3_000);
  const { live } = house.nodes[0]!;
  const [connection] = live.hub.in(world);
  const begin = timeline.now;
  /** Waits until so many milliseconds later. */
  const at = (delay: number) => timeline.runUntil(begin + delay);
  return { house, live, connection: connection!, begin, at, got, world };
}

/** The room after all users have lost the right to see it. */
const closed = (room: Versioned<RoomValue>): Versioned<RoomValue> => ({
  ...{ version: "later", json: room.json },
  value: Object.create(room.value, {
    permission_config: { value: { "room.view": ["nobody"] } },
  }) as RoomValue,
});

type Row = [name: string, since: number, doubt: number | undefined, is: string];

void t.test("what waits for an answer when a right is lost", async (t) => {
  const rows: Row[] = [
    ["the state knows when", 0, undefined, "dropped"],
    ["only the doubt does", Infinity, 0, "dropped"],
    ["the doubt is older", 400, 0, "dropped"],
    ["it was a moment ago", 400, undefined, "sent"],
    ["it is not known", Infinity, undefined, "sent"],
  ];
  for (const [name, since, doubt, is] of rows) {
    const { live, connection, begin, at, got, world } = await furnished();
    const state = live.states.present(world)!;
    connection.outgoing.beginAnswer();
    let know = () => {};
    const known = new Promise<void>((resolve) => (know = resolve));
    if (doubt !== undefined) connection.holdUntil(begin + doubt, known);
    await at(900);
    connection.push(textFrame('["made"]'));
    await at(950);
    const rooms = state.rooms.map(closed);
    const parts = [state.world, rooms, state.stages, state.order + 1] as const;
    connection.viewOf(new WorldState(...parts, undefined, null, begin + since));
    know();
    await at(1_150);
    connection.outgoing.endAnswer();
    await at(1_200);
    const isSent = got.some((line) => line.includes('["made"]'));
    t.equal(isSent ? "sent" : "dropped", is, name);
    t.equal(connection.ended, !isSent, name);
    live.stop();
  }
});

void t.test("a state knows when its first change came", async (t) => {
  const { live, begin, at, world } = await furnished();
  const { states } = live;
  const read = async (delay: number) => {
    const reading = states.get(world);
    await at(delay);
    return (await reading)!.since - begin;
  };
  states.forget(world);
  await at(100);
  states.forget(world);
  t.equal(await read(300), 0, "the first one");
  await at(400);
  states.forget(world);
  t.equal(await read(600), 400, "and not one that was read");
  live.stop();
});
