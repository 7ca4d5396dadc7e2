import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { until } from "../helper.js";
import { freePort } from "../servers/port.js";

// The proxies that docs/proxy.md describes, with the settings that it shows.

const page = readFileSync(
  new URL("../../../docs/proxy.md", import.meta.url),
  "utf8",
);

/** The first program of a section of the page in a language. */
export const programOf = (section: string, language: string): string =>
  new RegExp(
    `^## ${section}\\n(?:(?!^## ).)*?^\`\`\`${language}\\n(.*?)^\`\`\``,
    "ms",
  ).exec(page)![1]!;

/** Replaces text that must be there. */
const put = (text: string, from: string | RegExp, to: string): string => {
  const replaced = text.replace(from, to);
  if (replaced === text) throw new Error(`docs/proxy.md has no ${from}`);
  return replaced;
};

export interface Proxy {
  /** Where it listens. */
  port: number;
  /** Makes it read its settings again, and waits until it uses them. */
  reload(): Promise<void>;
}

export interface ProxyProgram {
  /** Whether it is installed. */
  isHere: boolean;
  /**
   * Starts it with the settings of docs/proxy.md, without TLS.
   * @param upstream the port of Foyer.
   * @param more settings of the server, such as a shorter timeout.
   */
  start(t: Test, upstream: number, more?: string): Promise<Proxy>;
}

const pathTo = (name: string): string | undefined =>
  ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

/** A folder for one program. The path of a socket in it may be 107 bytes long. */
function homeOf(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Starts a program that ends with the test, and waits until its port is open. */
async function run(
  t: Test,
  port: number,
  [path, ...args]: [string, ...string[]],
  home: string,
): Promise<number> {
  // By way of env, as tap puts a loader into the environment of every child.
  const words = ["-i", `HOME=${home}`, path, ...args];
  const child = spawn("env", words, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const closed = new Promise((done) => child.once("close", done));
  t.teardown(async () => {
    child.kill("SIGTERM");
    await closed;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${path} ended: ${said}`);
    return fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
  return child.pid!;
}

const nginx: ProxyProgram = {
  isHere: pathTo("nginx") !== undefined,
  async start(t, upstream, more = "") {
    const port = await freePort();
    const home = homeOf(t);
    let server = put(programOf("nginx", "nginx"), "8375", String(upstream));
    server = put(
      server,
      "listen 443 ssl;",
      `listen 127.0.0.1:${port}; ${more}`,
    );
    server = put(server, /^ *ssl_.*\n/gm, "");
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${home}/${name};`)
      .join("\n");
    const file = join(home, "nginx.conf");
    writeFileSync(
      file,
      `${process.getuid?.() === 0 ? "user root;" : ""}
      daemon off; pid ${home}/pid; error_log stderr warn; events {}
      http { access_log off; ${temporary}\n${server} }`,
    );
    const path = pathTo("nginx")!;
    const pid = await run(t, port, [path, "-e", "stderr", "-c", file], home);
    const workers = () =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
    return {
      port,
      async reload() {
        const before = workers();
        process.kill(pid, "SIGHUP");
        await until(() => workers().some((worker) => !before.includes(worker)));
      },
    };
  },
};

const caddy: ProxyProgram = {
  isHere: pathTo("caddy") !== undefined,
  start(t, upstream, more = "") {
    let site = put(programOf("Caddy", "text"), "8375", String(upstream));
    site = put(site, "rooms.example.org {", `{$DOMAIN} { ${more}`);
    return startCaddy(t, site);
  },
};

/** Starts Caddy with a Caddyfile of deploy, with other upstreams. */
export const startDeployed = (
  t: Test,
  path: string,
  upstreams: readonly number[],
): Promise<Proxy> => {
  const site = readFileSync(
    new URL(`../../../deploy/${path}`, import.meta.url),
    "utf8",
  );
  const addresses = upstreams.map((port) => `127.0.0.1:${port}`).join(" ");
  const to = `reverse_proxy ${addresses} {`;
  return startCaddy(t, put(site, /reverse_proxy .+ \{/, to));
};

/** @param site a Caddyfile for `{$DOMAIN}`. */
async function startCaddy(t: Test, site: string): Promise<Proxy> {
  const port = await freePort();
  const home = homeOf(t);
  const admin = `unix//${home}/admin`;
  site = put(site, "{$DOMAIN}", `http://127.0.0.1:${port}`);
  const file = join(home, "Caddyfile");
  writeFileSync(file, `{\nadmin ${admin}\nauto_https off\n}\n${site}`);
  const path = pathTo("caddy")!;
  const config = ["--config", file, "--adapter", "caddyfile"];
  await run(t, port, [path, "run", ...config], home);
  return {
    port,
    async reload() {
      execFileSync(
        "env",
        ["-i", `HOME=${home}`, path, "reload", ...config].concat(
          "--address",
          admin,
          "--force",
        ),
        { stdio: "ignore" },
      );
    },
  };
}

export const proxies: Readonly<Record<string, ProxyProgram>> = { nginx, caddy };
