import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { chromium } from "playwright-core";
import { Foyer, Live } from "../../../client/index.js";
import { until } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";

// `npm run test:clients [tool…]`: tests a running server with the client that each tool generates
// from its OpenAPI document, and with the recipes for bots and pages. Landings run two of the
// tools, and nightly runs all of them. With CLIENTS=required, a tool that cannot be installed is an
// error.

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><circle r="40"/></svg>\n';
const TIMEOUT_MS = 1_800_000;

/** The inputs that a tool needs to use the server. Each is also an environment variable of its commands. */
interface Access {
  BASE_URL: string;
  /** The token of an administrator of the world `sample`. */
  TOKEN: string;
  /** The token of a user who may upload. */
  UPLOADER: string;
  /** The path of a file to upload: `dot.svg`. */
  FILE: string;
  /** The token of the server's administrator. */
  ADMIN_TOKEN: string;
}

interface Tool {
  /** Shell commands that install the tool in the current folder. */
  install: string;
  /** Files of this folder that the tool needs, by the names they are copied to. */
  files?: Record<string, string>;
  /**
   * Shell commands that generate a client from `openapi.json`, and run a program with it. The
   * program lists rooms, creates `By <tool>`, uploads FILE, and prints the results as JSON.
   */
  use: string;
  /** Checks the output of {@link use}; {@link verify} by default. */
  check?: (printed: string, access: Access, place: string) => Promise<void>;
}

const npm = (packages: string) =>
  `npm init -y && npm install --no-audit --no-fund --ignore-scripts --save-exact ${packages}`;
const pip = (name: string) => `python3 -m venv venv && venv/bin/pip install --quiet ${name}`;

const tools: Record<string, Tool> = {
  "openapi-fetch": {
    install: npm(
      "openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 esbuild@0.28.2 @types/node@20.19.43",
    ),
    files: { "program.ts": "openapi-fetch.ts.txt" },
    use: `npx openapi-typescript openapi.json --output foyer.ts
      npx tsc --noEmit --strict --skipLibCheck --target es2023 --lib es2023,dom,dom.iterable \\
        --types node --module esnext --moduleResolution bundler program.ts
      npx esbuild program.ts --bundle --platform=node --format=esm --outfile=program.mjs
      node program.mjs`,
  },
  "openapi-python-client": {
    install: pip("openapi-python-client==0.29.1"),
    files: { "program.py": "python.py" },
    use: `PATH=$PWD/venv/bin:$PATH openapi-python-client generate --path openapi.json \\
        --meta none --output-path foyer
      venv/bin/python program.py`,
  },
  "openapi-generator": {
    install: `mvn -q -B dependency:copy -DoutputDirectory=$PWD \\
      -Dartifact=org.openapitools:openapi-generator-cli:7.14.0`,
    files: { "Main.java": "Main.java" },
    use: `java -jar openapi-generator-cli-7.14.0.jar generate -i openapi.json -g java \\
        --library okhttp-gson -o foyer
      mv Main.java foyer/src/main/java && cd foyer
      mvn -q -B dependency:build-classpath -Dmdep.outputFile=path
      mvn -q -B compile
      java -cp "target/classes:$(cat path)" Main`,
  },
  // The package foyer-client, in a page from another origin.
  esbuild: {
    install: `${npm("esbuild@0.28.2")} && cp -r ${root}packages/client node_modules/foyer-client`,
    files: { "program.mjs": "browser.mjs.txt" },
    use: "npx esbuild program.mjs --bundle --minify --platform=browser --outfile=bundle.js",
    check: async (_printed, access, place) =>
      verify("esbuild", await runInBrowser(join(place, "bundle.js"), access), access),
  },
  // The Python bot from docs/bots.md.
  bot: {
    install: pip("websockets==17.4"),
    use: "true",
    check: (_printed, access, place) => askBot(place, access),
  },
  // All operations, first with a world's token, then with ADMIN_TOKEN.
  schemathesis: {
    install: pip("schemathesis==4.32.5"),
    files: { "foyer_hooks.py": "schemathesis.py" },
    use: `PYTHONPATH=$PWD SCHEMATHESIS_HOOKS=foyer_hooks venv/bin/python -c "
import foyer_hooks; foyer_hooks.write_configuration()"
      failed=0
      for token in "$TOKEN" "$ADMIN_TOKEN"; do
        # known_refusals of schemathesis.py replaces the excluded check.
        PYTHONPATH=$PWD SCHEMATHESIS_HOOKS=foyer_hooks venv/bin/schemathesis \\
          --config-file schemathesis.toml run openapi.json \\
          --header "Authorization: Bearer $token" --no-color --continue-on-failure \\
          --checks all --exclude-checks positive_data_acceptance || failed=1
      done
      exit $failed`,
    check: async () => {},
  },
};

/** Runs shell commands, and stops at the first that fails. @returns their output. */
const shell = (cwd: string, commands: string, variables: Partial<Access> = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = {
      cwd,
      env: { ...process.env, ...variables },
      timeout: TIMEOUT_MS,
      maxBuffer: 2 ** 28,
    };
    execFile("bash", ["-euo", "pipefail", "-c", commands], options, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new Error(`${commands}: ${error.code}\n${(stdout + stderr).slice(-4000)}`));
    });
  });

/** Checks that everything a client reported also exists on the server. */
async function verify(name: string, printed: string, { BASE_URL, TOKEN }: Access): Promise<void> {
  const { rooms, created, url } = JSON.parse(printed.trim().split("\n").at(-1)!) as {
    rooms: string[];
    created: string;
    url: string;
  };
  const missing = ["Main stage", "Hallway", "Backstage"].filter((room) => !rooms.includes(room));
  if (missing.length > 0) throw new Error(`It does not list ${missing.join()}.`);
  const foyer = new Foyer({ baseUrl: BASE_URL, world: "sample", token: TOKEN });
  const room = await foyer.getRoom(created);
  // Some clients sort the keys of objects.
  const modules = [{ type: "chat.native", config: { volatile: true } }];
  if (room.name !== `By ${name}` || !isDeepStrictEqual(room.module_config, modules)) {
    throw new Error(`It created ${JSON.stringify(room)}.`);
  }
  await foyer.deleteRoom(room.id);
  const file = await (await fetch(url)).text();
  if (file !== SVG) throw new Error(`It uploaded ${file}`);
}

/** Calls `run` of a bundle in a page from another origin. @returns its result as JSON. */
async function runInBrowser(path: string, access: Access): Promise<string> {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) throw new Error(`no browser at ${executablePath}: set CHROMIUM`);
  const bundle = await readFile(path, "utf8");
  const pages = createServer(({ url }, response) => {
    const isScript = url === "/bundle.js";
    response.setHeader("content-type", isScript ? "text/javascript; charset=utf-8" : "text/html");
    response.end(isScript ? bundle : "<!doctype html><script src=bundle.js></script>");
  });
  await new Promise<void>((done) => pages.listen(0, "127.0.0.1", done));
  const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const browser = await chromium.launch({ executablePath, args });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(pages.address() as AddressInfo).port}/`);
    const got = await page.evaluate(
      (options) =>
        (globalThis as unknown as { run(options: object): Promise<object> }).run(options),
      {
        baseUrl: access.BASE_URL,
        token: access.TOKEN,
        uploader: access.UPLOADER,
        name: "By esbuild",
        file: SVG,
      },
    );
    return JSON.stringify(got);
  } finally {
    await browser.close();
    pages.close();
  }
}

/** Starts the Python bot from docs/bots.md, and asks it for the time. */
async function askBot(place: string, { BASE_URL, TOKEN, UPLOADER }: Access): Promise<void> {
  const text = await readFile(join(root, "docs/bots.md"), "utf8");
  await writeFile(join(place, "bot.py"), /^```python\n(.*?)^```$/ms.exec(text)![1]!);
  const foyer = new Foyer({ baseUrl: BASE_URL, world: "sample", token: TOKEN });
  const module_config = [{ type: "chat.native" }];
  const room = await foyer.createRoom({ name: "Of bots", module_config });
  const address = `${BASE_URL.replace("http", "ws")}/ws/world/sample/`;
  const bot = spawn("venv/bin/python", ["bot.py", address, UPLOADER, room.name], { cwd: place });
  let printed = "";
  for (const stream of [bot.stdout, bot.stderr]) {
    stream.on("data", (text: Buffer) => (printed += text.toString()));
  }
  const live = new Live({ baseUrl: BASE_URL, world: "sample", clientId: "curious" });
  try {
    await until(() => printed !== "");
    if (!printed.startsWith("In Of bots")) throw new Error(printed);
    await live.connected();
    await live.call("user.update", { profile: { display_name: "Ada" } });
    const chat = live.channel(room.id);
    await chat.join();
    const events = chat[Symbol.asyncIterator]();
    await chat.send("!time");
    for (let isTime = false; !isTime;) {
      const { value, done } = await events.next();
      if (done) throw new Error("The chat ended.");
      isTime = /^\d{4}-\d\d-\d\dT/.test(String(value.content.body));
    }
  } finally {
    live.close();
    bot.kill("SIGKILL");
  }
}

const folder = await mkdtemp(join(tmpdir(), "foyer-clients-"));
const command = join(root, "dist/bundle/foyer.js");
const ADMIN_TOKEN = "administrator-of-the-whole-server-0001";
const env = {
  ...process.env,
  DATA_DIR: join(folder, "data"),
  PORT: "0",
  CORS_ORIGIN: "*",
  LOG_LEVEL: "silent",
  ADMIN_TOKEN,
};
const server = spawn(process.execPath, [command, "serve", "--demo", "--json"], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});

/** Waits until the server is ready. @returns the inputs for the tools. */
async function accessOf(): Promise<Access> {
  for await (const line of createInterface(server.stdout)) {
    const { address } = JSON.parse(line) as { address: string };
    const tokenOf = async (person: string) => {
      const token = `${process.execPath} ${command} token sample ${person}`;
      return (await shell(root, `DATA_DIR=${env.DATA_DIR} ${token}`)).trim();
    };
    const FILE = join(folder, "dot.svg");
    await writeFile(FILE, SVG);
    return {
      BASE_URL: address,
      TOKEN: await tokenOf("--uid tester --trait admin --trait api"),
      UPLOADER: await tokenOf("--uid ada --trait attendee"),
      FILE,
      ADMIN_TOKEN,
    };
  }
  throw new Error("The server did not start.");
}

/** Installs and uses a tool in a separate folder. */
async function attempt(
  name: string,
  tool: Tool,
  access: Access,
): Promise<"ok" | "failed" | "not here"> {
  const place = join(folder, name);
  await mkdir(place);
  let result: "failed" | "not here" = "not here";
  const since = Date.now();
  try {
    await shell(place, tool.install);
    result = "failed";
    const document = await fetch(`${access.BASE_URL}/api/v1/openapi.json`);
    await writeFile(join(place, "openapi.json"), await document.text());
    for (const [to, from] of Object.entries(tool.files ?? {})) {
      await cp(join(root, "test/system/clients", from), join(place, to));
    }
    const printed = await shell(place, tool.use, access);
    await (tool.check?.(printed, access, place) ?? verify(name, printed, access));
    console.log(`ok: ${name} (${Math.round((Date.now() - since) / 1000)} s)`);
    return "ok";
  } catch (error) {
    console.log(`${result.toUpperCase()}: ${name}: ${(error as Error).message}`);
    return process.env.CLIENTS === "required" ? "failed" : result;
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

const named = process.argv.slice(2);
const wanted = named.length > 0 ? named : NIGHT ? Object.keys(tools) : ["openapi-fetch", "esbuild"];
const results: string[] = [];
try {
  const access = await accessOf();
  for (const name of wanted) results.push(await attempt(name, tools[name]!, access));
} finally {
  server.kill();
  await rm(folder, { recursive: true, force: true, maxRetries: 20 });
}
process.exitCode = results.includes("failed") || !results.includes("ok") ? 1 : 0;
