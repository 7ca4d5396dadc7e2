import { CALLERS, callersOf } from "./event.js";
import { load, type Sent } from "./load.js";
import { rooms, type Scene } from "./scene.js";
import type { Work as WorkOn } from "./rounds.js";

/** A measurement of HTTP. */
export type Work = WorkOn<Scene>;

const callers = callersOf("bench");

/** The same request from many callers, to Foyer and to bare Fastify. */
const reads = (
  name: string,
  goal: Work["goal"],
  pathIn: (scene: Scene) => string,
): Work => ({
  name,
  of: "requests a second, compared with bare Fastify",
  goal,
  /** Measures both one after the other; `turned` begins with the second. */
  async measure(scene, seconds, turned) {
    const path = pathIn(scene);
    const requests = callers.map((authorization): Sent => ({
      path,
      headers: { authorization },
    }));
    const asked = { requests, connections: CALLERS, seconds };
    const sides = [scene.foyer, scene.bare];
    const rates: number[] = [];
    for (const at of turned ? [1, 0] : [0, 1]) {
      rates[at] = (await load(sides[at]!.port, asked)).rate;
    }
    return rates[0]! / rates[1]!;
  },
});

/** All measurements, in the order of the table. */
export const works: Work[] = [
  reads("GET room", { atLeast: 0.9 }, ({ room }) => `${rooms}${room.id}/`),
  reads("GET world", { atLeast: 0.95 }, () => "/api/v1/worlds/bench/"),
];
