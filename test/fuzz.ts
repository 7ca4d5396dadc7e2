import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// `npm run fuzz`: the property tests for longer, and then whatever may come over
// a socket or a websocket. SEED and RUNS say how.

for (const [test, runs] of [
  ["properties.test.js", "1000"],
  ["system/hostile.test.js", "20000"],
  ["live/properties.test.js", "5000"],
] as const) {
  const { status } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL(test, import.meta.url))],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        RUNS: process.env.RUNS ?? runs,
        TAP_TIMEOUT: "7200",
      },
    },
  );
  process.exitCode ||= status ?? 1;
}
