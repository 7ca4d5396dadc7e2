import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { testdir } from "../testdir.js";

// What .oxlintrc.jsonc refuses of this project's own accord, and what it lets pass.

const root = fileURLToPath(new URL("../../..", import.meta.url));
const oxlint = join(root, "node_modules/oxlint/bin/oxlint");

/** What the files below use. */
const NAMES = `
import type { FastifyReply } from "fastify";
declare global {
  const f: () => void;
  const text: string;
  const slow: () => Promise<void>;
  // oxlint-disable-next-line typescript/no-explicit-any
  const anything: any;
  const tester: { testdir(): void };
  const reply: FastifyReply;
}`;

/** Files by their paths, with the rule that refuses each, if one does. */
const rows: [path: string, code: string, rule?: string][] = [
  ["live/a.ts", "new Date();", "foyer(clock)"],
  ["live/b/c.ts", "Date();", "foyer(clock)"],
  ["live/d.ts", "new Date(0);"],
  ["live/control.ts", "new Date();"],
  ["db/a.ts", "new Date();"],
  ["live/e.ts", "Date.now();", "eslint(no-restricted-properties)"],
  ["live/f.ts", "Math.random();", "eslint(no-restricted-properties)"],
  ["live/g.ts", "process.hrtime();", "eslint(no-restricted-properties)"],
  ["live/h.ts", "process.nextTick(f);", "eslint(no-restricted-properties)"],
  ["live/i.ts", "AbortSignal.timeout(1);", "eslint(no-restricted-properties)"],
  ["live/j.ts", "setTimeout(f, 1);", "eslint(no-restricted-globals)"],
  ["live/k.ts", "setInterval(f, 1);", "eslint(no-restricted-globals)"],
  ["live/l.ts", "setImmediate(f);", "eslint(no-restricted-globals)"],
  ["live/m.ts", "performance.now();", "eslint(no-restricted-globals)"],
  ["live/n.ts", "crypto.randomUUID();", "eslint(no-restricted-globals)"],
  ["live/o.ts", "queueMicrotask(f);", "eslint(no-restricted-globals)"],
  ...[
    ...["timers", "node:timers", "timers/promises", "node:timers/promises"],
    ...["perf_hooks", "node:perf_hooks", "crypto"],
  ].map((name, i): [string, string, string] => [
    `live/import-${i}.ts`,
    `import "${name}";`,
    "eslint(no-restricted-imports)",
  ]),
  [
    "live/p.ts",
    'import { randomInt } from "node:crypto"; randomInt(9);',
    "eslint(no-restricted-imports)",
  ],
  ["live/q.ts", 'import { hash } from "node:crypto"; hash("sha1", "");'],
  [
    "live/r/s.ts",
    'import { processClock } from "../../db/log/clock.js"; processClock.now();',
    "eslint(no-restricted-imports)",
  ],
  [
    "live/t.ts",
    'import type { Clock } from "../db/log/clock.js"; export type A = Clock;',
  ],
  [
    "live/index.ts",
    'import { processClock } from "../db/log/clock.js"; processClock.now();',
  ],
  ["test/a.ts", "tester.testdir();", "eslint(no-restricted-properties)"],
  ["db/b.ts", "slow();", "typescript(no-floating-promises)"],
  ["db/c.ts", "void slow();", "typescript(no-floating-promises)"],
  ["db/d.ts", "await slow();"],
  ["db/e.ts", 'reply.send("");'],
  ["test/b.ts", "slow();", "typescript(no-floating-promises)"],
  ...["web", "client", "test", "bench"].map((folder): [string, string] => [
    `${folder}/void.ts`,
    "void slow();",
  ]),
  ["test/c.ts", 'reply.send("");'],
  [
    "db/f.ts",
    "export const a: string = anything;",
    "typescript(no-unsafe-assignment)",
  ],
  [
    "test/web/a.ts",
    "if (anything.b) f();",
    "typescript(no-unsafe-member-access)",
  ],
  ["test/live/a.ts", "export const a: string = anything.b(anything);"],
  ["conformance/a.ts", "export const a: string = anything.b(anything);"],
  ["db/g.ts", "const a = 1;", "eslint(no-unused-vars)"],
  ["db/h.ts", "const _a = 1; export const f = (_b: number) => {};"],
  ["db/i.ts", "/^(a+)+$/.test(text);", "foyer(linear)"],
  ["db/j.ts", "/^a*b?a*$/.test(text);", "foyer(linear)"],
  ["db/k.ts", "/a+b/.test(text);", "foyer(linear)"],
  ["db/l.ts", 'new RegExp("^(a+)+$").test(text);', "foyer(linear)"],
  ["db/m.ts", "export const spaces = /\\s+/;", "foyer(linear)"],
  ["db/n.ts", 'text.replace(/\\s+/g, "");'],
  ["db/o.ts", 'const spaces = /\\s+/g; text.replace(spaces, "");'],
  ...[
    "#a() { return { Aa: 1 }; }",
    "#a = () => ({ Aa: 1 });",
    "get #a() { return { Aa() {} }; }",
  ].map((member, i): [string, string, string] => [
    `db/class-${i}.ts`,
    `export class Aa { ${member} b = () => typeof this.#a; }`,
    "foyer(class-key)",
  ]),
  ["db/q.ts", "export class Aa { a() { return { Aa: 1 }; } }"],
  [
    "db/r.ts",
    "export class Aa { #a() { return { Bb: 1 }; } b() { this.#a(); } }",
  ],
  ["test/d.ts", "/^(a+)+$/.test(text);"],
  ["scripts/a.js", "unknown();", "eslint(no-undef)"],
  [
    "db/p.ts",
    "// oxlint-disable-next-line no-empty\nexport const a = 1;",
    "unused directive",
  ],
  [
    "web/a.svelte",
    "<script>if (Number(1) === NaN) alert(1);</script>",
    "eslint(use-isnan)",
  ],
];

void t.test("what the linter refuses", (t) => {
  const folder = testdir(t);
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const path of [".oxlintrc.jsonc", "scripts/lint-rules.js"]) {
    cpSync(join(root, path), join(folder, path));
  }
  const { compilerOptions } = JSON.parse(
    readFileSync(join(root, "tsconfig.json"), "utf8"),
  ) as { compilerOptions: object };
  const options = { ...compilerOptions, moduleDetection: "force" };
  write("tsconfig.json", JSON.stringify({ compilerOptions: options }));
  // Otherwise the folder is part of one that Git ignores.
  mkdirSync(join(folder, ".git"));
  write("package.json", '{"type":"module"}');
  write("names.d.ts", NAMES);
  write(
    "db/log/clock.ts",
    "export interface Clock { now(): number } export declare const processClock: Clock;",
  );
  for (const [path, code] of rows) write(path, code);
  // By way of env, as tap puts a loader into the environment of every child.
  const { stdout, stderr } = spawnSync(
    "env",
    [
      "-i",
      `PATH=${process.env.PATH}`,
      process.execPath,
      oxlint,
      "--format=json",
    ],
    { cwd: folder, encoding: "utf8" },
  );
  t.equal(stderr, "");
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { filename: string; code?: string }[];
  };
  for (const [path, code, rule] of rows) {
    const found = diagnostics
      .filter(({ filename }) => filename === path)
      .map((it) => it.code ?? "unused directive");
    t.same(found, rule ? [rule] : [], `${path}: ${code}`);
  }
  t.end();
});
