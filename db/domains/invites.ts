import { randomBytes } from "node:crypto";
import type { Invite } from "../contract/invite-store.js";
import { inviteEnded, inviteMade, noted } from "../rules/acts.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const COLUMNS = "token, room_id AS room, ends";
const FIND = `SELECT ${COLUMNS} FROM room_invites WHERE world_id = $1 AND token = $2`;
const OF_ROOM = `SELECT ${COLUMNS} FROM room_invites WHERE world_id = $1 AND room_id = $2`;
const HAS_ROOM = "SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2";
const STORE = `INSERT INTO room_invites (world_id, room_id, token, ends)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, room_id) DO UPDATE SET token = excluded.token, ends = excluded.ends`;
const DELETE = "DELETE FROM room_invites WHERE world_id = $1 AND room_id = $2";

const reads = (sql: Reading) => ({
  find: (world: string, token: string): Promise<Invite | undefined> =>
    sql.one<Invite>(FIND, [world, token]),
  of: (world: string, room: string): Promise<Invite | undefined> =>
    sql.one<Invite>(OF_ROOM, [world, room]),
});

const writes = (sql: Sql, log: DomainLog) => {
  async function expectRoom(world: string, room: string): Promise<void> {
    if (!(await sql.one(HAS_ROOM, [world, room]))) throw absent("room");
  }
  return {
    async link(
      world: string,
      room: string,
      { now, soon, ends }: { now: number; soon: number; ends: number },
    ): Promise<Invite> {
      await expectRoom(world, room);
      const present = await sql.one<Invite>(OF_ROOM, [world, room]);
      if (present && present.ends >= soon) return present;
      const isOver = !present || present.ends <= now;
      const token = isOver ? randomBytes(18).toString("base64url") : present.token;
      await sql.run(STORE, [world, room, token, ends]);
      log.append(world, noted(inviteMade(room)));
      return { token, room, ends };
    },

    async end(world: string, room: string): Promise<void> {
      await expectRoom(world, room);
      if ((await sql.run(DELETE, [world, room])) === 0) return;
      log.append(world, noted(inviteEnded(room)));
    },
  };
};

export const invites = domain({ reads, writes, parameters: { link: 3, end: 2 } });
