import { newSession } from "../../../db/rules/program-rows.js";
import type { Random } from "../random.js";
import { dropSession, putSession } from "../store/program.js";
import type { House } from "./house.js";

/** Changes the program, as a command beside the servers does. */
export function changeProgram(house: House, random: Random): void {
  const { database, world } = house;
  const by = { kind: "command" } as const;
  database.write((tx) => {
    const sessions =
      tx.tables.programs.get(world)?.program.sessions.map((it) => it.value) ??
      [];
    const old = random.chance(0.6) ? pick(random, sessions) : undefined;
    if (old && random.chance(0.2)) return dropSession(tx, world, old.id, by);
    const start = tx.now + random.between(-3_000, 4_000);
    const end = start + random.between(300, 5_000);
    const times = {
      starts_at: new Date(start).toISOString(),
      ends_at: new Date(end).toISOString(),
    };
    const room = pick(random, [...tx.tables.rooms.keys()]) ?? null;
    const session = {
      ...(old ?? newSession({ id: tx.uuid(), title: "Talk" })),
      ...((!old || random.chance(0.5)) && times),
      ...((!old || random.chance(0.5)) && { room_id: room }),
      state: random.pick(["public", "public", "public", "draft"] as const),
    };
    putSession(tx, world, session, by);
  });
}

const pick = <T>(random: Random, list: readonly T[]): T | undefined =>
  list.length > 0 ? random.pick(list) : undefined;
