import hooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

// `run-file.ts` loads this before each file of tests. tap follows each promise of a process, to
// know the test of an error that nothing catches, and that takes up to a tenth of the time.
// Without that, the error fails the whole file, and `watchdog.ts` names the tests that ran.

hooks.createHook = () => {
  const none = { enable: () => none, disable: () => none };
  return none;
};
syncBuiltinESMExports();
