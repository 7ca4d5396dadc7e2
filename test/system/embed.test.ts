import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import Fastify from "fastify";
import t from "tap";
import { fastifyOptions } from "../../app.js";
import { testdir } from "../testdir.js";

// Runs the examples of docs/embed.md as they stand there.

const run = promisify(execFile);
const text = await readFile("docs/embed.md", "utf8");
const parts = text.split(/^## /m).slice(1);
const examples = parts.flatMap((part) =>
  [...part.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program = ""], i) => ({
    name: `${part.split("\n", 1)[0]} ${i + 1}`,
    program,
  })),
);

void t.test("examples for programs", async (t) => {
  t.ok(examples.length >= 5, `${examples.length} examples`);
  // Inside of the package, its name resolves to itself.
  const folder = testdir(t);
  await Promise.all(
    examples.map(async ({ name, program }, i) => {
      const path = join(folder, `${i}.mjs`);
      await writeFile(path, program);
      // By way of env, as tap puts a loader into the environment of every child.
      const end = await run("env", ["-i", process.execPath, path]).then(
        () => "ok",
        ({ stderr }: { stderr: string }) => stderr,
      );
      t.equal(end, "ok", name);
    }),
  );
});

void t.test("a start takes as long as it has to", async (t) => {
  // By default, Fastify gives up a plugin after ten seconds; an upgrade takes minutes.
  const { pluginTimeout } = Fastify(fastifyOptions()).initialConfig;
  t.equal(pluginTimeout, 0);
});
