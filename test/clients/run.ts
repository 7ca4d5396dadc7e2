import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { Foyer } from "../../client/index.js";
import { SHORT } from "../suites.js";
import { tryBot } from "./bot.js";
import { run, Unavailable } from "./shell.js";
import { root, tools } from "./tools.js";
import type { Access } from "./access.js";

// `npm run test:clients [tool…]`: generates a client with each tool from the
// document of a server that runs, and uses it there; `bot` is the one in Python of
// docs/bots.md. A tool that cannot be
// installed is reported, and is an error with CLIENTS=required.

const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="40"/></svg>\n';
const ROOMS = ["Main stage", "Hallway", "Backstage"];

const folder = await mkdtemp(join(tmpdir(), "foyer-clients-"));
const main = join(root, "dist/bundle/foyer.js");
const env = {
  ...process.env,
  DATA_DIR: join(folder, "data"),
  PORT: "0",
  CORS_ORIGIN: "*",
  LOG_LEVEL: "silent",
};
const server = spawn(process.execPath, [main, "serve", "--demo", "--json"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});

/** Reads what the server says once it serves, and gets ready to use it. */
async function access(): Promise<Access> {
  for await (const line of createInterface(server.stdout)) {
    const { address, token } = JSON.parse(line) as Record<string, string>;
    const uploader = await run(
      root,
      process.execPath,
      [main, "token", "sample", "--uid", "ada", "--trait", "attendee"],
      { DATA_DIR: env.DATA_DIR },
    );
    const file = join(folder, "dot.svg");
    await writeFile(file, SVG);
    return {
      baseUrl: address!,
      token: token!,
      uploader: uploader.trim(),
      file,
    };
  }
  throw new Error("The server did not start.");
}

/** Whether the server has what a client says that it did there. */
async function verify(name: string, said: string, { baseUrl, token }: Access) {
  const got = JSON.parse(said.trim().split("\n").at(-1)!) as {
    rooms: string[];
    created: string;
    url: string;
  };
  const missing = ROOMS.filter((room) => !got.rooms.includes(room));
  if (missing.length > 0)
    throw new Error(`It does not list ${missing.join()}.`);
  const foyer = new Foyer({ baseUrl, world: "sample", token });
  const room = await foyer.getRoom(got.created);
  // Some clients sort the names in an object.
  const modules = [{ type: "chat.native", config: { volatile: true } }];
  if (
    room.name !== `By ${name}` ||
    !isDeepStrictEqual(room.module_config, modules)
  ) {
    const got = JSON.stringify(room.module_config);
    throw new Error(`It created ${room.name} with ${got}.`);
  }
  await foyer.deleteRoom(room.id);
  const file = await (await fetch(got.url)).text();
  if (file !== SVG) throw new Error(`It uploaded ${file}`);
}

const count = { passed: 0, failed: 0, skipped: 0 };

/** Uses a client in a folder of its own. */
async function attempt(name: string, use: (place: string) => Promise<void>) {
  const place = join(folder, name.replace(/\W/g, "-"));
  await mkdir(place);
  await writeFile(join(place, "openapi.json"), document);
  const since = Date.now();
  try {
    await use(place);
    count.passed++;
    console.log(
      `ok       ${name} (${Math.round((Date.now() - since) / 1000)} s)`,
    );
  } catch (error) {
    const unavailable = error instanceof Unavailable;
    const isFailure = !unavailable || process.env.CLIENTS === "required";
    count[isFailure ? "failed" : "skipped"]++;
    const { message } = error as Error;
    console.log(`${unavailable ? "NOT HERE" : "FAILED  "} ${name}: ${message}`);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** What a landing tries; the night tries every tool. */
const FEW = ["openapi-fetch", "esbuild"];

const named = process.argv.slice(2);
const wanted =
  named.length > 0 ? named : SHORT ? FEW : [...Object.keys(tools), "bot"];
let document = "";
try {
  const ready = await access();
  const answer = await fetch(`${ready.baseUrl}/api/v1/openapi.json`);
  document = await answer.text();
  for (const [name, tool] of Object.entries(tools)) {
    if (!wanted.includes(name)) continue;
    await attempt(name, async (place) =>
      verify(name, await tool(place, ready), ready),
    );
  }
  if (wanted.includes("bot")) {
    await attempt("bot", (place) => tryBot(place, ready));
  }
} finally {
  server.kill();
  await rm(folder, { recursive: true, force: true });
}
console.log(
  `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`,
);
process.exitCode = count.failed > 0 || count.passed === 0 ? 1 : 0;
