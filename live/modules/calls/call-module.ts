import type { FastifyBaseLogger } from "fastify";
import type { Events } from "../../../db/contract/events.js";
import type { PushStore } from "../../../db/contract/push-store.js";
import { bind, type BoundCommands, type EngineEvent, type LiveModule } from "../../module.js";
import { type CallPorts, calls } from "./call-commands.js";
import { type CallPushPorts, callPushes } from "./call-pushes.js";
import { type DirectCallPorts, DirectCalls } from "./direct-calls.js";
import { CallKeeper } from "./keeper.js";
import { meetings, type MeetingPorts } from "./meetings.js";

/** The ports of calls to the other layers. */
type CallModulePorts = Omit<CallPorts, "keeper" | "direct"> &
  CallPushPorts &
  Omit<DirectCallPorts, "keeper"> &
  MeetingPorts & {
    readonly log: FastifyBaseLogger;
    readonly events: Events;
    readonly store: { readonly push: PushStore };
  };

/** Calls in rooms and in direct channels. */
export interface CallModule extends LiveModule {
  readonly bound: BoundCommands;
  readonly direct: DirectCalls;
  /** Starts enforcing the rights of people in calls, including people without a connection to this process. */
  readonly start: () => void;
  /** Handles an event from the engine. */
  readonly heard: (event: EngineEvent) => Promise<void>;
}

/** Creates the call module of one process. */
export function callModule(ports: CallModulePorts): CallModule {
  const { livekit: engine } = ports.callEngines;
  const direct: DirectCalls = new DirectCalls({ ...ports, keeper: () => keeper });
  const onEnded = direct.ended.bind(direct);
  const keeper = engine && new CallKeeper({ ...ports, engine, onEnded });
  return {
    direct,
    bound: bind({ ...calls, ...meetings }, { ...ports, keeper, direct }),
    onEntry: callPushes(ports),
    start: () => keeper?.start(),
    heard: async (event) => keeper?.heard(event),
    stop: () => keeper?.stop(),
  };
}
