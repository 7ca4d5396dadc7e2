import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import t from "tap";
import { extract } from "tar";
import ts from "typescript";
import { build, type Rolldown } from "vite";

// Tests the package foyer-client as users install it: in an otherwise empty folder, without `ws` or
// the Node.js types.

const folder = mkdtempSync(join(tmpdir(), "foyer-client-"));
t.teardown(() => rmSync(folder, { recursive: true }));
const home = join(folder, "node_modules/foyer-client");
await mkdir(home, { recursive: true });
// Started through env, because tap adds a loader to the environment of every child process.
const { PATH = "", HOME = "" } = process.env;
const pack = ["npm", "pack", "-w", "foyer-client", "--ignore-scripts"];
execFileSync("env", ["-i", `PATH=${PATH}`, `HOME=${HOME}`, ...pack, "--pack-destination", folder], {
  stdio: "ignore",
});
const files: string[] = [];
await extract({
  file: join(folder, "foyer-client-0.1.0.tgz"),
  cwd: home,
  strip: 1,
  onReadEntry: ({ path }) => files.push(path.replace("package/", "")),
});

void t.test("the files of the package", async (t) => {
  const others = files.filter((path) => !path.endsWith(".d.ts")).sort();
  t.strictSame(others, ["LICENSE", "README.md", "dist/index.js", "dist/no-ws.js", "package.json"]);
  const code = readFileSync(join(home, "dist/index.js"));
  t.ok(gzipSync(code).length < 14.5 * 1024, `${gzipSync(code).length} bytes`);
  const types = files.filter((path) => path.endsWith(".d.ts"));
  t.ok(types.length > 10);
  for (const path of types) {
    const text = readFileSync(join(home, path), "utf8");
    t.notMatch(text, /(from|import\() ?"[^.:]/, `${path} needs no package`);
  }
});

const program = `
import { Foyer, Live, type ListedPoll, type SentRoom } from "foyer-client";
const access = { baseUrl: "http://127.0.0.1:1", world: "sample" };
const live = new Live(access);
export const foyer: Foyer = new Foyer(access);
export const rooms: readonly SentRoom[] | undefined = live.state?.rooms;
export const polls: readonly ListedPoll[] | undefined = live.polls("a").current;
export const room: Promise<string> = live
  .call("room.create", { name: "Hall", description: null })
  .then((result) => result.room);
live.on("room.create", ({ name }) => name.length);
// @ts-expect-error A payload has a type.
void live.call("user.list.search", { search_term: 1, page: 1 });
// @ts-expect-error So has a push.
live.on("room.delete", ({ name }) => name);
`;

// .ci/run also compiles a program for bundlers.
void t.test("its types", async (t) => {
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "program.ts"), program);
  const faults = ts.getPreEmitDiagnostics(
    ts.createProgram([join(folder, "program.ts")], {
      module: ts.ModuleKind.NodeNext,
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types: [],
      target: ts.ScriptTarget.ES2023,
      exactOptionalPropertyTypes: true,
    }),
  );
  t.strictSame(
    faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n")),
    [],
  );
});

void t.test("a bundle for browsers", async (t) => {
  writeFileSync(
    join(folder, "page.js"),
    'import { Live } from "foyer-client"; globalThis.Live = Live;',
  );
  const warnings: unknown[] = [];
  const made = (await build({
    configFile: false,
    root: folder,
    logLevel: "silent",
    build: {
      write: false,
      rolldownOptions: {
        input: join(folder, "page.js"),
        onwarn: (warning) => warnings.push(warning),
      },
    },
  })) as Rolldown.RolldownOutput;
  t.strictSame(warnings, []);
  const code = made.output.map((part) => ("code" in part ? part.code : ""));
  t.ok(code.some((text) => text.includes("/ws/world/")));
  // Every remaining import refers to another chunk of the bundle.
  for (const text of code) t.notMatch(text, /import\([`'"](?!\.\/)/);
});
