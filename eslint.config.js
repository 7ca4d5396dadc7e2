import js from "@eslint/js";
import regexp from "eslint-plugin-regexp";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["dist", ".tap"] },
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
      // tap's assertions and Fastify's replies are thenables nobody has to wait for.
      "@typescript-eslint/no-floating-promises": [
        "error",
        {
          allowForKnownSafePromises: [
            { from: "package", package: "fastify", name: "FastifyReply" },
          ],
        },
      ],
    },
  },
  {
    // These tests look into JSON that was held against the AsyncAPI document.
    files: ["test/{live,chat,votes}/**"],
    rules: Object.fromEntries(
      ["argument", "assignment", "call", "member-access", "return"].map(
        (name) => [`@typescript-eslint/no-unsafe-${name}`, "off"],
      ),
    ),
  },
);
