import { setTimeout } from "node:timers/promises";
import { Audience, LISTENERS, Way } from "../crowd/losses.js";
import { newVenue, UNLIMITED } from "../crowd/halls.js";
import { note } from "../crowd/notes.js";
import { type Running, startFoyer } from "../servers.js";
import type { SharedEngines } from "./engines.js";

/** How long each node runs before the next one is replaced, in milliseconds. */
const BETWEEN = 3000;

export const name = `rolling restart of two nodes, ${LISTENERS} people`;

/** Replaces two nodes one after the other while people listen and one of them speaks. */
export async function rollingRestart(engines: SharedEngines): Promise<void> {
  const url = await engines.newDatabase();
  const { dataDir, rooms } = await newVenue(1, { database: { url, pool: 10 } });
  const env = { ...UNLIMITED, ...engines.variables(url) };
  const start = () => startFoyer(dataDir, env);
  // The speaker's node stays.
  const nodes: Running[] = [await start(), await start(), await start()];
  const [spoken, ...others] = nodes as [Running, ...Running[]];
  let taking = others.map(({ port }) => port);
  const way = new Way(() => taking);
  const audience = new Audience(await way.listen(), spoken.port, rooms[0]!);
  try {
    await audience.open();
    await audience.during(async () => {
      for (const at of [1, 2]) {
        const old = nodes[at]!;
        taking = taking.filter((port) => port !== old.port);
        await old.stop();
        note(`${name}: all are back`, await audience.back(), "ms");
        nodes[at] = await start();
        taking = [...taking, nodes[at].port];
        await setTimeout(BETWEEN);
      }
    });
    await audience.report(name);
  } finally {
    audience.leave();
    way.close();
    for (const node of nodes) await node.stop();
  }
}
