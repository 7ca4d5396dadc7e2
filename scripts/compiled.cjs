const Module = process.getBuiltinModule("node:module");
const path = process.getBuiltinModule("node:path");

// tap loads this before its own modules and each file of tests.

// No option of tap turns off what its plugins do whenever a module is loaded: they compile
// TypeScript, mock modules, and note what was loaded. Nothing here needs that, and each module
// passes through a thread for it: two seconds of processor time for a file that starts the server.
Module.register = () => {};
Module.registerHooks = () => {};
Module.syncBuiltinESMExports();

// The coverage of the build, which tap runs first, is of no interest either.
process.env._TAPJS_PROCESSINFO_COVERAGE_ ??= "0";

// A file of tests has the name of its source, and runs as `npm run build` has compiled it:
// test/unit/config.test.ts is dist/test/unit/config.test.js.
const { runMain } = Module;
Module.runMain = (main) => {
  const root = path.dirname(__dirname);
  process.argv[1] = main.endsWith(".test.ts")
    ? path.join(root, "dist", path.relative(root, main)).replace(/\.ts$/, ".js")
    : main;
  runMain(process.argv[1]);
};
