import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

// `npm run test:crash`: the crash tests, a hundred rounds of each. ROUNDS and
// SEED say how.

const folder = new URL("system/crash/", import.meta.url);
for (const name of readdirSync(folder)) {
  if (!name.endsWith(".test.js")) continue;
  const { status } = spawnSync(
    process.execPath,
    [fileURLToPath(new URL(name, folder))],
    {
      stdio: "inherit",
      env: {
        ...process.env,
        ROUNDS: process.env.ROUNDS ?? "100",
        TAP_TIMEOUT: "3600",
      },
    },
  );
  if (status !== 0) process.exitCode = 1;
}
