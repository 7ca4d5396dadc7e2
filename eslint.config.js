import js from "@eslint/js";
import regexp from "eslint-plugin-regexp";
import svelte from "eslint-plugin-svelte";
import tseslint from "typescript-eslint";

/** Fastify's replies are thenables that need no `await`. */
const allowForKnownSafePromises = [
  { from: "package", package: "fastify", name: "FastifyReply" },
];

export default tseslint.config(
  { ignores: ["dist", "packages/*/dist", ".tap"] },
  js.configs.recommended,
  {
    ignores: ["test/**"],
    plugins: { regexp },
    rules: {
      // What clients send is held against them: none may take longer than linearly.
      "regexp/no-super-linear-backtracking": ["error", { report: "potential" }],
      "regexp/no-super-linear-move": ["error", { report: "potential" }],
    },
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json" } },
    rules: {
      // A Fastify plugin and a Store method are asynchronous by contract, whether or not they wait.
      "@typescript-eslint/require-await": "off",
      // A leading underscore says that a value is there to be left out.
      "@typescript-eslint/no-unused-vars": [
        "error",
        { varsIgnorePattern: "^_", argsIgnorePattern: "^_" },
      ],
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafePromises },
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "CallExpression[callee.property.name='testdir']",
          message: "Use test/testdir.ts, which keeps it until the teardown.",
        },
      ],
    },
  },
  {
    // A promise that rejects without a handler ends the process, and everybody's connections.
    files: ["**/*.ts"],
    ignores: ["web/**", "client/**", "test/**", "bench/**"],
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafePromises, ignoreVoid: false },
      ],
    },
  },
  {
    // The live layer is simulated: time and chance come from outside, as Clock and Random.
    files: ["live/**/*.ts"],
    // The plugin passes the clock and the randomness of the process. Operators have a socket of their own.
    ignores: ["live/index.ts", "live/control.ts"],
    rules: {
      "no-restricted-globals": [
        "error",
        ...["setTimeout", "setInterval", "setImmediate"],
        ...["performance", "crypto", "queueMicrotask"],
      ],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now" },
        { object: "Math", property: "random" },
        { object: "process", property: "nextTick" },
        { object: "process", property: "hrtime" },
        { object: "AbortSignal", property: "timeout" },
      ],
      "no-restricted-imports": [
        "error",
        ...["timers", "timers/promises", "perf_hooks"].flatMap((name) => [
          name,
          `node:${name}`,
        ]),
        "crypto",
        // A hash is no chance.
        { name: "node:crypto", allowImportNames: ["createHash", "hash"] },
        ...["..", "../..", "../../..", "../../../.."].map((path) => ({
          name: `${path}/db/log/clock.js`,
          importNames: ["processClock"],
          message: "Only the plugin passes the time of the process.",
        })),
      ],
      "no-restricted-syntax": [
        "error",
        {
          selector: "NewExpression[callee.name='Date'][arguments.length=0]",
          message: "Use the clock of the live layer.",
        },
      ],
    },
  },
  svelte.configs.recommended,
  {
    files: ["web/**/*.svelte"],
    languageOptions: { parserOptions: { parser: tseslint.parser } },
    rules: {
      // The compiler of TypeScript finds them.
      "no-undef": "off",
      "no-unused-vars": "off",
      // All links stay within the page, or lead to another site.
      "svelte/no-navigation-without-resolve": "off",
      // Nothing that people write becomes HTML; see web/lib/markdown.ts.
      "svelte/no-at-html-tags": "error",
    },
  },
  {
    // The rest of web/ has a project of its own.
    files: ["web/**/*.ts"],
    languageOptions: {
      parserOptions: { project: "./web/tsconfig.json" },
    },
  },
  {
    // These look into JSON that was held against the documents of the API.
    files: [
      "test/{live,chat,votes,engines,harness,feed,integrate,program}/**",
      "conformance/**",
    ],
    rules: Object.fromEntries(
      ["argument", "assignment", "call", "member-access", "return"].map(
        (name) => [`@typescript-eslint/no-unsafe-${name}`, "off"],
      ),
    ),
  },
);
