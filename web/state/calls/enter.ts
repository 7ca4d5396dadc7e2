import type { Session } from "../session.js";
import { Call } from "./call.js";
import { callsOf } from "./calls.js";
import type { DeviceChoice } from "./devices.js";
import type { CallPlace } from "./place.js";

/** Enters a call, and leaves the current one. */
export function enterCall(
  session: Pick<Session, "live">,
  place: CallPlace,
  choice: DeviceChoice,
): Call {
  const call = new Call({ live: session.live, place, choice });
  callsOf(session).hold(call);
  void call.join();
  return call;
}
