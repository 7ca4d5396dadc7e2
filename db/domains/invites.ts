import { randomBytes } from "node:crypto";
import { CODE_CHARACTERS, CODE_LENGTH } from "../../schemas/plain/links.js";
import type { CodedInvite, Invite } from "../contract/invite-store.js";
import { inviteEnded, inviteMade, noted } from "../rules/acts.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const COLUMNS = "token, room_id AS room, ends, code";
const BY_CODE = `SELECT world_id AS world, ${COLUMNS} FROM room_invites WHERE code = $1`;
const FIND = `SELECT ${COLUMNS} FROM room_invites WHERE world_id = $1 AND token = $2`;
const OF_ROOM = `SELECT ${COLUMNS} FROM room_invites WHERE world_id = $1 AND room_id = $2`;
const HAS_ROOM = "SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2";
const STORE = `INSERT INTO room_invites (world_id, room_id, token, ends, code)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (world_id, room_id) DO UPDATE SET token = excluded.token, ends = excluded.ends,
    code = excluded.code`;
const DELETE = "DELETE FROM room_invites WHERE world_id = $1 AND room_id = $2";

const reads = (sql: Reading) => ({
  /** Returns the invite with a token, even if it has expired. */
  find: (world: string, token: string): Promise<Invite | undefined> =>
    sql.one<Invite>(FIND, [world, token]),
  /** Returns a room's invite, even if it has expired. */
  of: (world: string, room: string): Promise<Invite | undefined> =>
    sql.one<Invite>(OF_ROOM, [world, room]),
  /** Returns the invite with a code, of any world, even if it has expired. */
  byCode: (code: string): Promise<CodedInvite | undefined> => sql.one<CodedInvite>(BY_CODE, [code]),
});

/** Generates a random code. The number of characters is a power of two, so all are equally likely. */
const newCode = (): string =>
  [...randomBytes(CODE_LENGTH)]
    .map((byte) => CODE_CHARACTERS[byte % CODE_CHARACTERS.length])
    .join("");

const writes = (sql: Sql, log: DomainLog) => {
  async function expectRoom(world: string, room: string): Promise<void> {
    if (!(await sql.one(HAS_ROOM, [world, room]))) throw absent("room");
  }
  return {
    /**
     * Returns a room's invite. Creates a new invite if the room has no invite or the invite has
     * expired, and extends an invite that expires soon.
     * @param times the current time, the time before which an expiry counts as soon, and the expiry
     * of a new invite, all in milliseconds since 1970.
     * @throws {StoreError} `absent` when the room does not exist.
     */
    async link(
      world: string,
      room: string,
      times: { now: number; soon: number; ends: number },
    ): Promise<Invite> {
      const { now, soon, ends } = times;
      await expectRoom(world, room);
      const present = await sql.one<Invite>(OF_ROOM, [world, room]);
      if (present && present.ends >= soon) return present;
      const isOver = !present || present.ends <= now;
      const token = isOver ? randomBytes(18).toString("base64url") : present.token;
      let code = isOver ? newCode() : present.code;
      while (isOver && (await sql.one(BY_CODE, [code]))) code = newCode();
      await sql.run(STORE, [world, room, token, ends, code]);
      log.append(world, noted(inviteMade(room)));
      return { token, room, ends, code };
    },

    /**
     * Ends a room's invite, if the room has an invite.
     * @throws {StoreError} `absent` when the room does not exist.
     */
    async end(world: string, room: string): Promise<void> {
      await expectRoom(world, room);
      if ((await sql.run(DELETE, [world, room])) === 0) return;
      log.append(world, noted(inviteEnded(room)));
    },
  };
};

export const invites = domain({ reads, writes, parameters: { link: 3, end: 2 } });
