import type { RoomScreen } from "../../schemas/plain/stage/screens.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const GET = "SELECT show, item FROM room_screens WHERE world_id = $1 AND room_id = $2";
const HAS_ROOM = "SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2";
const STORE = `INSERT INTO room_screens (world_id, room_id, show, item) VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, room_id) DO UPDATE SET show = excluded.show, item = excluded.item`;

interface Row {
  readonly show: RoomScreen["show"];
  readonly item: string | null;
}

const screenOf = (row: Row | undefined): RoomScreen => {
  const { show = "welcome", item = null } = row ?? {};
  return { show, ...(item !== null && { id: item }) };
};

const reads = (sql: Reading) => ({
  /**
   * Returns what a room's screen shows. Defaults to the welcome page until a host chooses something
   * else.
   */
  get: async (world: string, room: string): Promise<RoomScreen> =>
    screenOf(await sql.one<Row>(GET, [world, room])),
});

const writes = (sql: Sql, log: DomainLog) => ({
  /**
   * Sets what a room's screen shows.
   * @throws {StoreError} `absent` when the room does not exist.
   */
  async show(world: string, room: string, { show, id = null }: ScreenInput): Promise<void> {
    if (!(await sql.one(HAS_ROOM, [world, room]))) throw absent("room");
    const before = screenOf(await sql.one<Row>(GET, [world, room]));
    if (before.show === show && (before.id ?? null) === id) return;
    await sql.run(STORE, [world, room, show, id]);
    log.append(world, { type: "screen.shown", room });
  },
});

type ScreenInput = { readonly show: RoomScreen["show"]; readonly id?: string | null };

/** Creates the domain of the host-controlled screens, one per room. */
export const screens = domain({ reads, writes, parameters: { show: 3 } });
