import { CALL_SOURCES, type CallSource } from "../../schemas/plain/calls.js";
import type {
  DeviceAccess,
  CallDevice,
  EndedCall,
  EngineDevice,
  PastCall,
  RunningCall,
} from "../contract/call-store.js";
import { StoreError } from "../contract/store.js";

/** A row in `calls`, without its world and channel. */
export interface CallRow {
  id: string;
  started: number;
  people: number;
  most_people: number;
  person_ms: number;
  counted: number;
  caller: string | null;
  event: number | null;
}

export const CALL_COLUMNS = "id, started, people, most_people, person_ms, counted, caller, event";

/** A row in `call_people`, without its world and channel. */
export interface DeviceRow extends Record<CallSource, number> {
  identity: string;
  user_id: string;
  hidden: number;
  /** The {@link DeviceAccess} as JSON. */
  access: string;
  issued: number;
  ends: number;
  session: string | null;
  joined: number | null;
  /** The engine's ids for the device's ended visits, as JSON. */
  past: string;
  changed: number;
}

export const DEVICE_COLUMNS =
  "identity, user_id, hidden, access, issued, ends, session, joined, past, changed, microphone, camera, screen";

/** The columns of a {@link DeviceRow} that events change. */
export type DeviceState = Pick<
  DeviceRow,
  "session" | "joined" | "past" | "changed" | "microphone" | "camera" | "screen"
>;

export const toCall = (row: CallRow): RunningCall => ({
  id: row.id,
  started: row.started,
  people: row.people,
  mostPeople: row.most_people,
  caller: row.caller,
  event: row.event,
});

export const toEnded = (row: CallRow, channel: string, now: number): EndedCall => ({
  id: row.id,
  channel,
  started: row.started,
  ended: Math.max(now, row.started),
  mostPeople: row.most_people,
  personMs: row.person_ms,
  caller: row.caller,
  event: row.event,
});

/** Minimum number of people in an answered direct call. A call with fewer people counts as missed. */
export const ANSWERED = 2;

/** Returns the duration of a direct call that has ended, in seconds, or undefined if it was missed. */
export const secondsOf = ({
  mostPeople,
  started,
  ended,
}: Pick<EndedCall, "mostPeople" | "started" | "ended">): number | undefined =>
  mostPeople < ANSWERED ? undefined : Math.round((ended - started) / 1000);

export interface PastCallRow {
  number: number;
  id: string;
  started: number;
  ended: number;
  most_people: number;
  person_ms: number;
}

export const toPastCall = (row: PastCallRow): PastCall => ({
  number: row.number,
  id: row.id,
  started: row.started,
  ended: row.ended,
  mostPeople: row.most_people,
  personMs: row.person_ms,
});

export const toDevice = (row: DeviceRow): CallDevice => ({
  identity: row.identity,
  user: row.user_id,
  hidden: row.hidden === 1,
  access: JSON.parse(row.access) as DeviceAccess,
  issued: row.issued,
  ends: row.ends,
  joined: row.session === null ? null : row.joined,
  microphone: row.microphone > 0,
  camera: row.camera > 0,
  screen: row.screen > 0,
});

/** Maximum number of ended visits to remember per device. The engine repeats only recent events. */
const MAX_PAST = 20;

const pastOf = ({ past }: Pick<DeviceRow, "past">): string[] => JSON.parse(past) as string[];

/** Whether a device's visit has ended. */
const isPast = (row: DeviceRow, session: string): boolean => pastOf(row).includes(session);

/** Returns a device's ended visits as JSON, including the given visit, if any. */
const withPast = (row: DeviceRow, session: string | null): string =>
  session === null || isPast(row, session)
    ? row.past
    : JSON.stringify([...pastOf(row), session].slice(-MAX_PAST));

const SILENT = { microphone: 0, camera: 0, screen: 0 };

/**
 * Returns a device's state after a visit has begun. A device has one visit at a time, so any other
 * visit has ended.
 * @returns undefined if nothing changes, because the visit is already known or has ended.
 */
export function begun(
  row: DeviceRow,
  { session, at, now }: { session: string; at: number; now: number },
): DeviceState | undefined {
  if (row.session === session || isPast(row, session)) return undefined;
  if (row.session !== null && at < row.joined!) {
    // The event is late: the device has begun another visit in the meantime.
    return { ...stateOf(row), past: withPast(row, session), changed: now };
  }
  return { ...SILENT, session, joined: at, past: withPast(row, row.session), changed: now };
}

/**
 * Returns a device's state after a visit has ended, or undefined if nothing changes. The event that
 * reports the visit's start may not have arrived yet.
 */
export function ended(row: DeviceRow, session: string, now: number): DeviceState | undefined {
  if (row.session !== session && isPast(row, session)) return undefined;
  const past = withPast(row, session);
  return row.session === session
    ? { ...SILENT, session: null, joined: null, past, changed: now }
    : { ...stateOf(row), past, changed: now };
}

const stateOf = (row: DeviceRow): DeviceState => ({
  session: row.session,
  joined: row.joined,
  past: row.past,
  changed: row.changed,
  microphone: row.microphone,
  camera: row.camera,
  screen: row.screen,
});

/**
 * Returns a device's state after a source was switched on or off, or undefined if a later event has
 * already switched the source.
 */
export function switched(
  row: DeviceRow,
  { source, on, at }: { source: CallSource; on: boolean; at: number },
): DeviceState | undefined {
  const value = on ? at : -at;
  if (Math.abs(row[source]) > at || row[source] === value) return undefined;
  return { ...stateOf(row), [source]: value };
}

/** Maximum assumed difference between the clocks of two processes, in milliseconds. */
const CLOCK_SKEW_MS = 5000;

/** Whether a device may have changed after the engine was asked for its list. */
export const isNewer = ({ changed }: DeviceRow, asked: number): boolean =>
  changed > asked - CLOCK_SKEW_MS;

/** Returns a device's state according to the engine's list, or undefined if nothing changes. */
export function listed(
  row: DeviceRow,
  device: EngineDevice,
  { asked, now }: { asked: number; now: number },
): DeviceState | undefined {
  const isKnown = row.session === device.session;
  const state = isKnown
    ? stateOf(row)
    : {
        ...SILENT,
        session: device.session,
        joined: device.joined,
        past: JSON.stringify(pastOf(row).filter((session) => session !== device.session)),
        changed: now,
      };
  // The engine may not have known about later events when it was asked for its list.
  const sure = asked - CLOCK_SKEW_MS;
  for (const source of CALL_SOURCES) {
    const on = device.sources.includes(source);
    if (on === state[source] > 0 || Math.abs(state[source]) > sure) continue;
    state[source] = on ? sure : -sure;
  }
  const isSame = isKnown && CALL_SOURCES.every((source) => state[source] === row[source]);
  return isSame ? undefined : state;
}

/**
 * Time for which a device is remembered after it has left, in milliseconds. LiveKit renews the
 * tokens of connected devices for ten minutes, and a forgotten device is removed when it returns.
 */
const MEMORY_MS = 11 * 60_000;

export const isForgotten = ({ session, ends, changed }: DeviceRow, now: number): boolean =>
  session === null && Math.max(ends, changed) < now - MEMORY_MS;

/** Time without news about a call after which it is uncertain who was in the call, in milliseconds. */
const SURE_MS = 2 * 60_000;

/** Maximum time between two counts, in milliseconds. Limits the error in the results if a clock jumps. */
const MAX_GAP_MS = 24 * 3_600_000;

/**
 * Returns a call with a new number of people, counted at a later time. If there has been no news
 * about the call for a long time, for example because no server was running, people who are no
 * longer in the call count only for a short time.
 */
export function recounted(call: CallRow, people: number, now: number): CallRow {
  const gap = Math.min(Math.max(0, now - call.counted), MAX_GAP_MS);
  const stayed = Math.min(call.people, people);
  const left = call.people - stayed;
  return {
    ...call,
    people,
    most_people: Math.max(call.most_people, people),
    person_ms: call.person_ms + stayed * gap + left * Math.min(gap, SURE_MS),
    counted: Math.max(call.counted, now),
  };
}

/** Maximum numbers of invitations to a room's stage, and of raised hands in a room. */
export const MAX_STAGE = 1000;
export const MAX_HANDS = 1000;

export const tooManyPeople = () =>
  new StoreError("quota", "The call has as many people as it may have.", "people");

export const tooManyOnStage = () =>
  new StoreError("quota", `At most ${MAX_STAGE} people may be on the stage.`, "stage");

export const tooManyHands = () =>
  new StoreError("quota", `At most ${MAX_HANDS} hands may be raised.`, "hands");
