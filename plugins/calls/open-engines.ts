import type { CallSettings } from "../../config.js";
import type { ObserveRequest } from "./engine-http.js";
import { type CallEngines, ENGINE_NAMES, ENGINE_TITLES } from "./engine.js";

/** The engines that this process has opened. */
export interface OpenedEngines extends CallEngines {
  /** Aborts all requests. */
  close(): Promise<void>;
}

/**
 * Opens the configured engines without sending requests to them. Loads no code for engines that are
 * not configured.
 */
export async function openCallEngines(
  { livekit, bigbluebutton, jitsi }: CallSettings,
  observe?: ObserveRequest,
): Promise<OpenedEngines> {
  const [ofLiveKit, ofBigBlueButton, ofJitsi] = await Promise.all([
    livekit && import("./livekit.js").then(({ LiveKit }) => new LiveKit(livekit, observe)),
    bigbluebutton &&
      import("./bigbluebutton.js").then(
        ({ BigBlueButtonServer }) => new BigBlueButtonServer(bigbluebutton, observe),
      ),
    jitsi && import("./jitsi.js").then(({ JitsiServer }) => new JitsiServer(jitsi, observe)),
  ]);
  return {
    ...(ofLiveKit && { livekit: ofLiveKit }),
    ...(ofBigBlueButton && { bigbluebutton: ofBigBlueButton }),
    ...(ofJitsi && { jitsi: ofJitsi }),
    async close() {
      await Promise.all([ofLiveKit?.close(), ofBigBlueButton?.close(), ofJitsi?.close()]);
    },
  };
}

/** Checks each configured engine. Returns the problems found, with the titles of the engines. */
export async function checkCallEngines(
  settings: CallSettings,
): Promise<{ subject: string; problem: string }[]> {
  const engines = await openCallEngines(settings);
  try {
    const found = await Promise.all(
      ENGINE_NAMES.map(async (name) => {
        const problem = await engines[name]?.check();
        return problem === undefined ? [] : [{ subject: ENGINE_TITLES[name], problem }];
      }),
    );
    return found.flat();
  } finally {
    await engines.close();
  }
}
