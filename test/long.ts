import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Tests that a number makes longer. `npm run fuzz`: the property tests, and then whatever may
// come over a socket or a websocket; SEED and RUNS say how. `npm run test:crash`: the crash
// tests, a hundred rounds of each; ROUNDS and SEED say how.

const CRASH = "system/crash/";

const suites: Record<string, [test: string, variables: object][]> = {
  fuzz: [
    ["system/properties.test.js", { RUNS: "1000" }],
    ["system/hostile.test.js", { RUNS: "20000" }],
    ["live/properties.test.js", { RUNS: "5000" }],
  ],
  crash: readdirSync(new URL(CRASH, import.meta.url))
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => [CRASH + name, { ROUNDS: "100" }]),
};

for (const [test, variables] of suites[process.argv[2] ?? ""] ?? []) {
  const path = fileURLToPath(new URL(test, import.meta.url));
  const env = { TAP_TIMEOUT: "7200", ...variables, ...process.env };
  const { status } = spawnSync(process.execPath, [path], {
    ...{ stdio: "inherit", env },
  });
  process.exitCode ||= status ?? 1;
}
