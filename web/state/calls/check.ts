import type * as Kit from "livekit-client";
import type { CheckInfo, ConnectionCheck } from "livekit-client";

export type CheckName =
  "websocket" | "udp" | "turn" | "reconnect" | "publishAudio" | "publishVideo";

/** A step of the test of a setup. */
export interface CheckStep {
  readonly name: CheckName;
  readonly is: "waiting" | "running" | "good" | "bad" | "skipped";
}

const runs: Record<CheckName, (check: ConnectionCheck) => Promise<CheckInfo>> = {
  websocket: (check) => check.checkWebsocket(),
  udp: (check) => check.checkWebRTC(),
  turn: (check) => check.checkTURN(),
  reconnect: (check) => check.checkReconnect(),
  publishAudio: (check) => check.checkPublishAudio(),
  publishVideo: (check) => check.checkPublishVideo(),
};

/** Returns the steps of a test: listeners publish nothing. */
export const stepsFor = ({
  speaks,
  hasCamera,
}: {
  speaks: boolean;
  hasCamera: boolean;
}): CheckName[] => [
  "websocket",
  "udp",
  "turn",
  "reconnect",
  ...(speaks ? (["publishAudio"] as const) : []),
  ...(speaks && hasCamera ? (["publishVideo"] as const) : []),
];

/**
 * Tests a setup with the engine's own steps.
 * @yields the state of all steps after each change.
 */
export async function* checkSetup(
  { url, token }: { url: string; token: string },
  names: readonly CheckName[],
  load: () => Promise<typeof Kit> = () => import("livekit-client"),
): AsyncGenerator<readonly CheckStep[]> {
  const { CheckStatus, ConnectionCheck } = await load();
  const check = new ConnectionCheck(url, token);
  let steps: readonly CheckStep[] = names.map((name) => ({ name, is: "waiting" }));
  const set = (name: CheckName, is: CheckStep["is"]) =>
    (steps = steps.map((step) => (step.name === name ? { name, is } : step)));
  for (const name of names) {
    yield set(name, "running");
    const { status } = await runs[name](check).catch(() => ({ status: CheckStatus.FAILED }));
    if (status === CheckStatus.SKIPPED) yield set(name, "skipped");
    else yield set(name, status === CheckStatus.SUCCESS ? "good" : "bad");
  }
}
