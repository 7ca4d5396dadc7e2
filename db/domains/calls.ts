import { randomUUID } from "node:crypto";
import type {
  CallOutcome,
  CallState,
  EndedCall,
  EngineDevice,
  EngineVisit,
  EventTimes,
  IssuedDevice,
  PastCall,
  RunningCall,
} from "../contract/call-store.js";
import { isKeptOut } from "../contract/store.js";
import {
  begun,
  CALL_COLUMNS,
  type CallRow,
  DEVICE_COLUMNS,
  type DeviceRow,
  type DeviceState,
  ended,
  isForgotten,
  isNewer,
  listed,
  MAX_HANDS,
  MAX_STAGE,
  type PastCallRow,
  recounted,
  secondsOf,
  switched,
  toCall,
  toDevice,
  toEnded,
  tooManyHands,
  tooManyOnStage,
  tooManyPeople,
  toPastCall,
} from "../rules/call-rows.js";
import {
  absent,
  denied,
  expectRoom,
  expectUser,
  FIND_PLACE,
  type RoomAndUser,
} from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";
import type { CallSource } from "../../schemas/plain/calls.js";

const CALL = `SELECT ${CALL_COLUMNS} FROM calls WHERE world_id = $1 AND channel = $2`;

const DEVICES = `SELECT ${DEVICE_COLUMNS} FROM call_people
  WHERE world_id = $1 AND channel = $2 ORDER BY issued, identity`;

const STAGE = `SELECT user_id FROM call_stage
  WHERE world_id = $1 AND room_id = $2 ORDER BY invited, user_id`;

const HANDS = `SELECT user_id AS "user", raised FROM call_hands
  WHERE world_id = $1 AND room_id = $2 ORDER BY raised, user_id`;

const STANDING = `SELECT
  (SELECT count(*) FROM calls WHERE world_id = $1 AND channel = $2) AS held,
  (SELECT count(*) FROM call_stage
    WHERE world_id = $1 AND room_id = $2 AND user_id = $3) AS staged`;

/** Also selects rooms that have only hands or invitations, because these last for some time after the call ends. */
const OPEN = `SELECT open.world_id AS world, open.channel FROM (
    SELECT world_id, channel FROM calls
    UNION SELECT world_id, channel FROM call_people
    UNION SELECT world_id, room_id FROM call_stage
    UNION SELECT world_id, room_id FROM call_hands) AS open
  JOIN worlds ON worlds.id = open.world_id ORDER BY world, channel`;

const HISTORY = `SELECT number, id, started, ended, most_people, person_ms FROM call_history
  WHERE world_id = $1 AND room_id = $2 AND number > CAST($3 AS BIGINT)
  ORDER BY number LIMIT CAST($4 AS BIGINT)`;

const reads = (sql: Reading) => ({
  get: (world: string, channel: string): Promise<CallState> =>
    sql.snapshot(async (sql) => {
      const place = [world, channel];
      const call = await sql.one<CallRow>(CALL, place);
      const devices = await sql.all<DeviceRow>(DEVICES, place);
      return {
        call: call && toCall(call),
        devices: devices
          .filter(({ session, past }) => session !== null || past === "[]")
          .map(toDevice),
        stage: await sql.column<string>(STAGE, place),
        hands: await sql.all<{ user: string; raised: number }>(HANDS, place),
      };
    }),

  async standing(
    world: string,
    channel: string,
    user: string,
  ): Promise<{ isHeld: boolean; isOnStage: boolean }> {
    const row = await sql.one<{ held: number; staged: number }>(STANDING, [world, channel, user]);
    return { isHeld: Number(row!.held) > 0, isOnStage: Number(row!.staged) > 0 };
  },

  open: () => sql.all<{ world: string; channel: string }>(OPEN),

  async history(
    world: string,
    room: string,
    { after = 0, limit }: { after?: number | undefined; limit: number },
  ): Promise<PastCall[]> {
    const rows = await sql.all<PastCallRow>(HISTORY, [world, room, after, limit]);
    return rows.map(toPastCall);
  },
});

const HAS_ROOM = "SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2";

const HAS_DIRECT =
  "SELECT 1 FROM chat_channels WHERE world_id = $1 AND id = $2 AND direct IS NOT NULL";

const DEVICE = `SELECT ${DEVICE_COLUMNS} FROM call_people
  WHERE world_id = $1 AND channel = $2 AND identity = $3`;

/** Counts the people other than a given user who are in a call or are about to join. */
const OTHERS = `SELECT count(DISTINCT user_id) FROM call_people
  WHERE world_id = $1 AND channel = $2 AND user_id <> $3 AND hidden = 0
    AND (session IS NOT NULL OR (issued > CAST($4 AS BIGINT) AND past = '[]'))`;

const PEOPLE = `SELECT count(DISTINCT user_id) FROM call_people
  WHERE world_id = $1 AND channel = $2 AND hidden = 0 AND session IS NOT NULL`;

const HAS_OTHER_DEVICE = `SELECT 1 FROM call_people
  WHERE world_id = $1 AND channel = $2 AND user_id = $3 AND identity <> $4 AND hidden = 0
    AND session IS NOT NULL LIMIT 1`;

/** Maximum number of unused tokens per user and channel. Beyond this number, the oldest tokens become invalid. */
const MAX_UNUSED = 20;

const DROP_UNUSED = `DELETE FROM call_people WHERE world_id = $1 AND channel = $2 AND identity IN (
  SELECT identity FROM call_people
  WHERE world_id = $1 AND channel = $2 AND user_id = $3 AND session IS NULL
  ORDER BY issued DESC, identity LIMIT 1000 OFFSET ${MAX_UNUSED - 1})`;

const SET_STATE = `UPDATE call_people SET session = $4, joined = $5, past = $6, changed = $7,
    microphone = $8, camera = $9, screen = $10
  WHERE world_id = $1 AND channel = $2 AND identity = $3`;

const DROP = "DELETE FROM call_people WHERE world_id = $1 AND channel = $2 AND identity = $3";

const DROP_ALL = "DELETE FROM call_people WHERE world_id = $1 AND channel = $2";

const COUNT = `UPDATE calls SET people = $3, most_people = $4, person_ms = $5, counted = $6
  WHERE world_id = $1 AND channel = $2`;

const DROP_CALL = "DELETE FROM calls WHERE world_id = $1 AND channel = $2";

const LAST_END =
  "SELECT max(ended) FROM call_history WHERE world_id = $1 AND room_id = $2 AND ended <= CAST($3 AS BIGINT)";

const EMPTY_STAGE = `DELETE FROM call_stage
  WHERE world_id = $1 AND room_id = $2 AND invited <= CAST($3 AS BIGINT) RETURNING user_id`;

const EMPTY_HANDS = `DELETE FROM call_hands
  WHERE world_id = $1 AND room_id = $2 AND raised <= CAST($3 AS BIGINT) RETURNING user_id`;

const OTHERS_ON_STAGE =
  "SELECT count(*) FROM call_stage WHERE world_id = $1 AND room_id = $2 AND user_id <> $3";

const OTHER_HANDS =
  "SELECT count(*) FROM call_hands WHERE world_id = $1 AND room_id = $2 AND user_id <> $3";

const INVITE = `INSERT INTO call_stage (world_id, room_id, user_id, invited)
  VALUES ($1, $2, $3, $4) ON CONFLICT (world_id, room_id, user_id) DO NOTHING`;

const DISINVITE = "DELETE FROM call_stage WHERE world_id = $1 AND room_id = $2 AND user_id = $3";

const RAISE = `INSERT INTO call_hands (world_id, room_id, user_id, raised)
  VALUES ($1, $2, $3, $4) ON CONFLICT (world_id, room_id, user_id) DO NOTHING`;

const LOWER = "DELETE FROM call_hands WHERE world_id = $1 AND room_id = $2 AND user_id = $3";

const PRUNE = `DELETE FROM call_history WHERE world_id = $1 AND number IN (
  SELECT number FROM call_history WHERE world_id = $1 AND ended < CAST($2 AS BIGINT) LIMIT 1000)`;

/** Time for which a token counts against a call's limit before the device joins, in milliseconds. */
const RESERVED_MS = 60_000;

/**
 * Time for which hands and invitations remain after the last person has left a call, in
 * milliseconds. People return after an outage of the engine.
 */
const AFTERMATH_MS = 10 * 60_000;

/** Removes the running call in a deleted room, along with the call's devices. */
export async function removeCallOfRoom(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  room: string,
): Promise<void> {
  await sql.run(DROP_CALL, [world, room]);
  if ((await sql.run(DROP_ALL, [world, room])) > 0) log.erased("call_people");
}

const writes = (sql: Sql, log: DomainLog) => {
  const setState = (
    world: string,
    channel: string,
    identity: string,
    { session, joined, past, changed, microphone, camera, screen }: DeviceState,
  ) => {
    const values = [session, joined, past, changed, microphone, camera, screen];
    return sql.run(SET_STATE, [world, channel, identity, ...values]);
  };

  const findPlace = async (world: string, room: string, user: string): Promise<RoomAndUser> =>
    (await sql.one<RoomAndUser>(FIND_PLACE, [world, room, user]))!;

  /** Checks that a user exists and is not banned. */
  function expectPresent(place: RoomAndUser): void {
    expectUser(place);
    if (isKeptOut(place.userState ?? "")) throw denied("The user is banned.");
  }

  const isPlace = async (world: string, channel: string): Promise<boolean> =>
    (await sql.one(CALL, [world, channel])) !== undefined ||
    (await sql.one(HAS_ROOM, [world, channel])) !== undefined;

  async function start(
    world: string,
    channel: string,
    { people, now, caller = null, event = null }: StartedCall,
  ): Promise<CallRow> {
    const call: CallRow = {
      id: randomUUID(),
      started: now,
      people,
      most_people: people,
      person_ms: 0,
      counted: now,
      caller,
      event,
    };
    await sql.insert("calls", [{ world_id: world, channel, ...call }]);
    log.append(world, {
      type: "call.started",
      channel,
      call: call.id,
      isDirect: caller !== null,
    });
    return call;
  }

  /** Ends a call whose counts are up to date. */
  async function finish(
    world: string,
    channel: string,
    call: CallRow,
    now: number,
    users?: readonly string[],
  ): Promise<EndedCall> {
    const over = toEnded(call, channel, now);
    await sql.run(DROP_CALL, [world, channel]);
    if (call.caller === null) {
      const { id, started, most_people, person_ms } = call;
      const record = { id, room_id: channel, started, ended: over.ended, most_people, person_ms };
      await sql.insert("call_history", [{ world_id: world, ...record }]);
    }
    const isDirect = call.caller !== null;
    const seconds = isDirect ? secondsOf(over) : undefined;
    log.append(world, {
      type: "call.ended",
      channel,
      call: call.id,
      isDirect,
      ...(seconds !== undefined && { seconds }),
      ...(users && users.length > 0 && { users }),
    });
    return over;
  }

  /**
   * Counts the people in a call, and starts or ends the call if necessary.
   * @param changes appends the entries for the people who joined and left.
   */
  async function count(
    world: string,
    channel: string,
    now: number,
    changes: () => void,
  ): Promise<EndedCall | undefined> {
    const people = Number(await sql.value<number>(PEOPLE, [world, channel]));
    const before = await sql.one<CallRow>(CALL, [world, channel]);
    if (!before) {
      if (people > 0) await start(world, channel, { people, now });
      changes();
      return undefined;
    }
    changes();
    const call = recounted(before, people, now);
    // A call in a direct channel rings before anyone has joined.
    if (people === 0 && before.people > 0) return finish(world, channel, call, now);
    const { most_people, person_ms, counted } = call;
    await sql.run(COUNT, [world, channel, people, most_people, person_ms, counted]);
    return undefined;
  }

  /** Applies an event from the engine to a device. */
  async function apply(
    world: string,
    channel: string,
    identity: string,
    now: number,
    next: (row: DeviceRow) => DeviceState | undefined,
  ): Promise<CallOutcome> {
    const row = await sql.one<DeviceRow>(DEVICE, [world, channel, identity]);
    if (!row || !(await isPlace(world, channel))) return { isKnown: false };
    const state = next(row);
    if (!state) return { isKnown: true };
    await setState(world, channel, identity, state);
    const [was, is] = [row.session !== null, state.session !== null];
    if (row.hidden === 1) return { isKnown: true };
    const user = row.user_id;
    const hasOther = async () =>
      (await sql.one(HAS_OTHER_DEVICE, [world, channel, user, identity])) !== undefined;
    if (was === is || (await hasOther())) {
      if (publishes(row) !== publishes(state)) {
        log.append(world, { type: "call.published", channel, user });
      }
      return { isKnown: true };
    }
    const type = is ? "call.joined" : "call.left";
    const isDirect = !(await sql.one(HAS_ROOM, [world, channel]));
    const over = await count(world, channel, now, () => {
      log.append(world, { type, channel, user, isDirect });
      if (publishes(state) !== "") log.append(world, { type: "call.published", channel, user });
    });
    return over ? { isKnown: true, ended: over } : { isKnown: true };
  }

  async function emptyStage(world: string, room: string, until: number): Promise<void> {
    const params = [world, room, until];
    for (const user of (await sql.column<string>(EMPTY_STAGE, params)).sort()) {
      log.append(world, { type: "call.staged", room, user, on: false });
    }
    for (const user of (await sql.column<string>(EMPTY_HANDS, params)).sort()) {
      log.append(world, { type: "hand.lowered", room, user });
    }
  }

  async function lower(world: string, room: string, user: string): Promise<boolean> {
    if ((await sql.run(LOWER, [world, room, user])) === 0) return false;
    log.append(world, { type: "hand.lowered", room, user });
    return true;
  }

  return {
    async issued(
      world: string,
      channel: string,
      device: IssuedDevice,
      { now, limit }: { now: number; limit?: number | undefined },
    ): Promise<void> {
      const { identity, user, hidden, access, ends } = device;
      const place = await findPlace(world, channel, user);
      if (!place.hasRoom && !(await sql.one(CALL, [world, channel]))) throw absent("room");
      expectPresent(place);
      if (limit !== undefined && !hidden) {
        const others = await sql.value(OTHERS, [world, channel, user, now - RESERVED_MS]);
        if (Number(others) >= limit) throw tooManyPeople();
      }
      if ((await sql.run(DROP_UNUSED, [world, channel, user])) > 0) log.erased("call_people");
      const row = {
        identity,
        user_id: user,
        hidden: Number(hidden),
        access: JSON.stringify(access),
        issued: now,
        ends,
        session: null,
        joined: null,
        past: "[]",
        changed: now,
        microphone: 0,
        camera: 0,
        screen: 0,
      } satisfies DeviceRow;
      await sql.insert("call_people", [{ world_id: world, channel, ...row }]);
    },

    joined: (
      world: string,
      channel: string,
      { identity, session }: EngineVisit,
      { at, now }: EventTimes,
    ): Promise<CallOutcome> =>
      apply(world, channel, identity, now, (row) => begun(row, { session, at, now })),

    left: (
      world: string,
      channel: string,
      { identity, session }: EngineVisit,
      { now }: EventTimes,
    ): Promise<CallOutcome> =>
      apply(world, channel, identity, now, (row) => ended(row, session, now)),

    published: (
      world: string,
      channel: string,
      { identity, session }: EngineVisit,
      { source, on, at, now }: EventTimes & { source: CallSource; on: boolean },
    ): Promise<CallOutcome> =>
      apply(world, channel, identity, now, (row) => {
        const there = begun(row, { session, at, now });
        const state = there ? { ...row, ...there } : row;
        if (state.session !== session) return there;
        return switched(state, { source, on, at }) ?? there;
      }),

    async reconciled(
      world: string,
      channel: string,
      devices: readonly EngineDevice[],
      times: { asked: number; now: number },
    ): Promise<{ unknown: readonly string[]; ended?: EndedCall | undefined }> {
      const { asked, now } = times;
      if (!(await isPlace(world, channel))) {
        if ((await sql.run(DROP_ALL, [world, channel])) > 0) log.erased("call_people");
        return { unknown: devices.map(({ identity }) => identity) };
      }
      const rows = await sql.all<DeviceRow>(DEVICES, [world, channel]);
      const found = new Map(devices.map((device) => [device.identity, device]));
      const [before, after] = [new Set<string>(), new Set<string>()];
      const changed = new Set<string>();
      let isErased = false;
      for (const row of rows) {
        const device = found.get(row.identity);
        found.delete(row.identity);
        const state = isNewer(row, asked)
          ? undefined
          : device
            ? listed(row, device, times)
            : row.session !== null
              ? ended(row, row.session, now)
              : undefined;
        if (state) await setState(world, channel, row.identity, state);
        else if (!device && isForgotten(row, now)) {
          await sql.run(DROP, [world, channel, row.identity]);
          isErased = true;
        }
        if (row.hidden === 1) continue;
        if (row.session !== null) before.add(row.user_id);
        if ((state ?? row).session !== null) after.add(row.user_id);
        if (state && publishes(state) !== publishes(row)) changed.add(row.user_id);
      }
      if (isErased) log.erased("call_people");
      const isDirect = !(await sql.one(HAS_ROOM, [world, channel]));
      const over = await count(world, channel, now, () => {
        for (const user of before) {
          if (!after.has(user)) log.append(world, { type: "call.left", channel, user, isDirect });
        }
        for (const user of after) {
          if (!before.has(user))
            log.append(world, { type: "call.joined", channel, user, isDirect });
        }
        for (const user of changed) {
          if (after.has(user)) log.append(world, { type: "call.published", channel, user });
        }
      });
      if (!isDirect && after.size === 0) {
        const last = await sql.value<number>(LAST_END, [world, channel, now - AFTERMATH_MS]);
        const isRecent = last != null && (await endedSince(sql, world, channel, now));
        if (last != null && !isRecent) await emptyStage(world, channel, Number(last));
      }
      return { unknown: [...found.keys()], ...(over && { ended: over }) };
    },

    async ring(
      world: string,
      channel: string,
      { caller, event, now }: { caller: string; event: number; now: number },
    ): Promise<{ call: RunningCall; isNew: boolean }> {
      if (!(await sql.one(HAS_DIRECT, [world, channel]))) throw absent("room");
      expectPresent(await findPlace(world, channel, caller));
      const running = await sql.one<CallRow>(CALL, [world, channel]);
      if (running) return { call: toCall(running), isNew: false };
      const call = await start(world, channel, { people: 0, now, caller, event });
      return { call: toCall(call), isNew: true };
    },

    async end(
      world: string,
      channel: string,
      { now, id }: { now: number; id?: string | undefined },
    ): Promise<EndedCall | undefined> {
      const call = await sql.one<CallRow>(CALL, [world, channel]);
      if (id !== undefined && call?.id !== id) return undefined;
      const users = new Set<string>();
      for (const row of await sql.all<DeviceRow>(DEVICES, [world, channel])) {
        if (row.session === null) continue;
        if (row.hidden === 0) users.add(row.user_id);
        await setState(world, channel, row.identity, ended(row, row.session, now)!);
      }
      await emptyStage(world, channel, Number.MAX_SAFE_INTEGER);
      return call && finish(world, channel, recounted(call, 0, now), now, [...users]);
    },

    async decline(world: string, channel: string, id: string, user: string): Promise<boolean> {
      const call = await sql.one<CallRow>(CALL, [world, channel]);
      if (call?.id !== id || call.caller === null) return false;
      log.append(world, { type: "call.declined", channel, call: id, user });
      return true;
    },

    async stage(
      world: string,
      room: string,
      user: string,
      on: boolean,
      now: number,
    ): Promise<boolean> {
      const place = await findPlace(world, room, user);
      expectRoom(place);
      expectUser(place);
      if (on) {
        if (isKeptOut(place.userState ?? "")) throw denied("The user is banned.");
        const others = Number(await sql.value(OTHERS_ON_STAGE, [world, room, user]));
        if (others >= MAX_STAGE) throw tooManyOnStage();
        await lower(world, room, user);
        if ((await sql.run(INVITE, [world, room, user, now])) === 0) return false;
      } else if ((await sql.run(DISINVITE, [world, room, user])) === 0) return false;
      log.append(world, {
        type: "call.staged",
        room,
        user,
        on,
        changes: [{ field: "on_stage", before: !on, after: on }],
      });
      return true;
    },

    async raise(world: string, room: string, user: string, now: number): Promise<boolean> {
      const place = await findPlace(world, room, user);
      expectRoom(place);
      expectPresent(place);
      const others = Number(await sql.value(OTHER_HANDS, [world, room, user]));
      if (others >= MAX_HANDS) throw tooManyHands();
      if ((await sql.run(RAISE, [world, room, user, now])) === 0) return false;
      log.append(world, { type: "hand.raised", room, user });
      return true;
    },

    lower,

    prune: async (world: string, before: number): Promise<boolean> =>
      (await sql.run(PRUNE, [world, before])) > 0,
  };
};

interface StartedCall {
  readonly people: number;
  readonly now: number;
  readonly caller?: string | null;
  readonly event?: number | null;
}

/** Returns the sources that a device publishes, as a string. */
const publishes = ({ microphone, camera, screen }: Record<CallSource, number>): string =>
  [microphone > 0 && "m", camera > 0 && "c", screen > 0 && "s"].filter(Boolean).join("");

const ENDED_SINCE = `SELECT 1 FROM call_history
  WHERE world_id = $1 AND room_id = $2 AND ended > CAST($3 AS BIGINT) LIMIT 1`;

const endedSince = async (sql: Sql, world: string, room: string, now: number): Promise<boolean> =>
  (await sql.one(ENDED_SINCE, [world, room, now - AFTERMATH_MS])) !== undefined;

export const calls = domain({
  reads,
  writes,
  parameters: {
    issued: 4,
    joined: 4,
    left: 4,
    published: 4,
    reconciled: 4,
    ring: 3,
    end: 3,
    decline: 4,
    stage: 5,
    raise: 4,
    lower: 3,
    prune: 2,
  },
});
