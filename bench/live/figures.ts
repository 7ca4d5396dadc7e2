import { setTimeout } from "node:timers/promises";
import { callersOf } from "../event.js";
import { type Figure, residentOf } from "../figures.js";
import { load } from "../load.js";
import { PEOPLE, type Stage } from "./stage.js";
import type { Hall } from "./hall.js";
import { percentile } from "./works.js";

/** How long the crowd stays idle before memory is read, in milliseconds. */
const IDLE = 10_000;

/** How many changes are made at once in a second, by how many callers. */
const WRITERS = 32;

/** Frames of a burst have arrived after this time, in milliseconds. */
const AFTERWARDS = 5000;

/** The measurements without a reference, or taken only once. */
export async function figures(stage: Stage): Promise<Figure[]> {
  const { foyer, bare, empty } = stage;
  await setTimeout(IDLE);
  const [resident, alone, reference] = [foyer.server, empty, bare.server].map(
    ({ pid }) => residentOf(pid),
  ) as [number, number, number];
  const join = (hall: Hall, part: number) =>
    percentile(
      hall.joined.times.toSorted((a, b) => a - b),
      part,
    );
  return [
    {
      name: `memory with ${PEOPLE.toLocaleString("en")} idle people in a room`,
      value: resident,
      unit: "MiB",
      goal: "< 300",
    },
    {
      name: "the same, beyond a server without people, for each",
      value: ((resident - alone) * 1024) / PEOPLE,
      unit: "KiB",
      goal: "≤ 10",
    },
    {
      name: "memory of bare ws with as many",
      value: reference,
      unit: "MiB",
      goal: "stated",
    },
    {
      name: "join: socket, login, room.enter; p95",
      value: join(foyer, 0.95),
      unit: "ms",
      goal: "< 1000",
    },
    {
      name: "the same, compared with bare ws",
      value: join(foyer, 0.95) / join(bare, 0.95),
      unit: "",
      goal: "stated",
    },
    {
      name: "processor time of a join, to that in bare ws",
      value: foyer.cost / bare.cost,
      unit: "",
      goal: "≤ 2",
    },
    {
      name: "processor time of a join",
      value: (foyer.cost / PEOPLE) * 1e6,
      unit: "µs",
      goal: "stated",
    },
    ...(await storm(stage)),
  ];
}

/** How many pushes clients get when a room changes as often as it can. */
async function storm({
  foyer: { server, crowd },
  rooms,
}: Stage): Promise<Figure[]> {
  const staff = callersOf("bench", { count: WRITERS });
  const requests = Array.from({ length: 50 }, (_, priority) =>
    staff.map((authorization, n) => ({
      method: "PATCH",
      path: rooms.foyer[n % rooms.foyer.length]!,
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ sorting_priority: 1000 + priority }),
    })),
  ).flat();
  await crowd.expect("world.updated");
  const asked = { requests, connections: WRITERS, seconds: 1 };
  const { rate } = await load(server.port, asked);
  const { most } = await crowd.arrivals(Infinity, AFTERWARDS);
  return [
    {
      name: "changes of rooms in a second",
      value: rate,
      unit: "",
      goal: "stated",
    },
    {
      name: "world.updated that they cost each person, at most",
      value: most,
      unit: "",
      goal: "≤ 4",
    },
  ];
}
