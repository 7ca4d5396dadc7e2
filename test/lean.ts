import { spawn } from "node:child_process";
import hooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

// tap loads this before each file of tests, as package.json says. It takes from the process what
// tests pay for and do not use:
// - tap notes each file that a process or a thread loads, by way of another thread, for coverage.
// - Node reads the source map of each file, of which a process of tests loads a thousand.
//   With SOURCE_MAPS=1, stacks name lines of the sources.
// - tap follows each promise, to know the test of an error that nothing catches. Without that,
//   the error fails the whole file. `watchdog.ts` names the tests that ran.

/** The arguments of a process that notes what it loads, and reads source maps. */
const LEFT_OUT = process.env.SOURCE_MAPS
  ? /^--import=.*processinfo/
  : /^--import=.*processinfo|^--enable-source-maps$/;

if (process.execArgv.some((argument) => LEFT_OUT.test(argument))) {
  // The program has not begun yet. It runs in another process, and here never.
  process.exit(await runLean());
}

hooks.createHook = () => {
  const none = { enable: () => none, disable: () => none };
  return none;
};
syncBuiltinESMExports();

/** Runs the program of this process in a process without these arguments. @returns its exit code. */
async function runLean(): Promise<number> {
  const kept = process.execArgv
    .filter((argument) => !LEFT_OUT.test(argument))
    // Processes that a test forks elsewhere get it, too.
    .map((argument) =>
      argument.replace("./dist/test/lean.js", import.meta.url),
    );
  // By way of env, as tap adds its arguments to the environment of every child.
  const child = spawn(
    "env",
    ["-u", "NODE_OPTIONS", process.execPath, ...kept, ...process.argv.slice(1)],
    { stdio: ["inherit", "inherit", "inherit", "ipc"] },
  );
  // A timeout of tap comes as a message: the child names the test that hangs.
  process.on("message", (message: object) => child.send(message));
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  // tap sends it after that message. A child that could not read it must not survive.
  process.on("SIGALRM", () => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
}
