import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

// `npm run fuzz`: the property tests for longer. SEED and RUNS say how.

const { status } = spawnSync(
  process.execPath,
  [fileURLToPath(new URL("properties.test.js", import.meta.url))],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      RUNS: process.env.RUNS ?? "1000",
      TAP_TIMEOUT: "3600",
    },
  },
);
process.exitCode = status ?? 1;
