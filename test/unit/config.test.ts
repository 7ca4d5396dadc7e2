import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ConfigError, loadConfig, variables } from "../../config.js";
import { startLine } from "../../plugins/start-line.js";
import { version } from "../../schemas/plain/version.js";
import { foyer, startFoyer } from "../support/helper.js";
import { testdir } from "../support/testdir.js";

// Three levels up, because tests run from dist/test.
const document = readFileSync(new URL("../../../docs/configure.md", import.meta.url), "utf8");

void t.test("the table of variables is the truth", async (t) => {
  const rows = document
    .split("\n")
    .filter((line) => /^\| `[A-Z0-9_]+`/.test(line))
    .map((line) => line.split("|").slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
  t.strictSame(
    rows,
    Object.entries(variables).map(([name, { fallback, means }]) => [
      `\`${name}\``,
      fallback === "" ? "none" : `\`${fallback}\``,
      means,
    ]),
  );
});

const smtp = {
  SMTP_URL: "smtps://me:pass%40word@mail.example.org",
  MAIL_FROM: "me@example.org",
  PUBLIC_URL: "https://rooms.example.org",
};

const livekitKey = { LIVEKIT_API_KEY: "foyer", LIVEKIT_API_SECRET: "0123456789".repeat(4) };

void t.test("values that are accepted", async (t) => {
  const url = "postgres://a:b@c/d";
  const s3 = {
    S3_BUCKET: "b",
    S3_ENDPOINT: "http://s3:7070",
    S3_REGION: "x",
    S3_FORCE_PATH_STYLE: "true",
    S3_REDIRECT: "on",
  };
  const bucket = { endpoint: "http://s3:7070", region: "x", forcePathStyle: true, redirect: true };
  const cases: [env: Record<string, string>, config: object][] = [
    [{}, { host: "127.0.0.1", port: 8375, workers: 1, corsOrigins: undefined }],
    [
      { PORT: "", HOST: "" },
      { host: "127.0.0.1", port: 8375 },
    ],
    [{}, { metrics: { host: "127.0.0.1", port: undefined, token: undefined } }],
    [{ METRICS_PORT: "0" }, { metrics: { port: 0 } }],
    [{}, { load: { requests: 1000, uploads: 100, perMinute: undefined } }],
    [{ MAX_REQUESTS: "0" }, { load: { requests: 0 } }],
    [{ REQUEST_TIMEOUT: "2" }, { requestTimeout: 2000 }],
    [{ PUBLIC_URL: "https://a.org/x/" }, { publicUrl: "https://a.org/x" }],
    [{ TRUST_PROXY: "off" }, { trustProxy: false }],
    [{ TRUST_PROXY: "false" }, { trustProxy: false }],
    [{ TRUST_PROXY: "::1, 10.0.0.0/8" }, { trustProxy: ["::1", "10.0.0.0/8"] }],
    [{ CORS_ORIGIN: "*" }, { corsOrigins: "*" }],
    [
      { CORS_ORIGIN: "https://a.org, http://b:3000" },
      { corsOrigins: ["https://a.org", "http://b:3000"] },
    ],
    [{}, { web: { on: true, embedOrigins: [] } }],
    [{ WEB: "off" }, { web: { on: false } }],
    [{ WEB: "false" }, { web: { on: false } }],
    [{ WEB: "true" }, { web: { on: true } }],
    [
      { EMBED_ORIGINS: "https://a.org, http://[::1]:3000" },
      { web: { embedOrigins: ["https://a.org", "http://[::1]:3000"] } },
    ],
    [{}, { webhookAllow: [] }],
    [
      { WEBHOOK_ALLOW: "localhost, 10.0.0.0/8,::1" },
      { webhookAllow: ["localhost", "10.0.0.0/8", "::1"] },
    ],
    [{}, { calls: {} }],
    [
      { LIVEKIT_URL: "wss://calls.example.org/", ...livekitKey },
      {
        calls: {
          livekit: {
            url: "wss://calls.example.org",
            apiUrl: "https://calls.example.org",
            key: "foyer",
            secret: livekitKey.LIVEKIT_API_SECRET,
          },
        },
      },
    ],
    [
      { LIVEKIT_URL: "ws://127.0.0.1:7880", LIVEKIT_API_URL: "http://livekit:7880", ...livekitKey },
      { calls: { livekit: { url: "ws://127.0.0.1:7880", apiUrl: "http://livekit:7880" } } },
    ],
    [
      { BBB_URL: "https://bbb.example.org/bigbluebutton", BBB_SECRET: "s" },
      { calls: { bigbluebutton: { url: "https://bbb.example.org/bigbluebutton/", secret: "s" } } },
    ],
    [
      { JITSI_URL: "https://meet.example.org", JITSI_APP_ID: "foyer", JITSI_APP_SECRET: "s" },
      { calls: { jitsi: { url: "https://meet.example.org/", appId: "foyer", secret: "s" } } },
    ],
    [{}, { engines: {}, mail: undefined }],
    [
      smtp,
      {
        mail: { url: smtp.SMTP_URL, from: { name: "", address: "me@example.org" }, perMinute: 60 },
      },
    ],
    [
      { ...smtp, MAIL_FROM: '"Events, Inc" <me@example.org>', MAIL_PER_MINUTE: "600" },
      { mail: { from: { name: "Events, Inc", address: "me@example.org" }, perMinute: 600 } },
    ],
    [
      { DATABASE_URL: url, VALKEY_URL: "valkey://e:1" },
      { engines: { database: { url, pool: 10 }, valkeyUrl: "valkey://e:1" } },
    ],
    [
      { DATABASE_URL: "postgresql://c/d", DATABASE_POOL: "3" },
      { engines: { database: { pool: 3 } } },
    ],
    [
      { S3_BUCKET: "b" },
      {
        engines: {
          bucket: { bucket: "b", region: "us-east-1", forcePathStyle: false, redirect: false },
        },
      },
    ],
    [s3, { engines: { bucket } }],
    [{ UPLOAD_TYPES: "png,pdf" }, { uploads: { types: ["png", "pdf"] } }],
  ];
  for (const [env, config] of cases) {
    t.match(loadConfig(env), config, JSON.stringify(env));
  }
});

function faultOf(env: Record<string, string>): string | undefined {
  try {
    loadConfig(env);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

void t.test("values that stop the start", async (t) => {
  const bad: Record<string, string[]> = {
    PORT: ["x", "-1", "65536", "80.5", " "],
    DATABASE_URL: ["localhost", "mysql://a/b", "postgres:///b"],
    DATABASE_POOL: ["0", "1001", "ten"],
    // Valkey connects several nodes, so it is invalid without the engines they share.
    VALKEY_URL: ["localhost:6379", "http://a", "redis://a"],
    S3_ENDPOINT: ["s3:7070", "ftp://a", "http://a"],
    S3_FORCE_PATH_STYLE: ["yes"],
    S3_REDIRECT: ["1"],
    PUBLIC_URL: ["rooms.example.org", "ftp://a.org", "https://a.org/?x"],
    TRUST_PROXY: ["yes", "true", "10.0.0.0/33", "10.0.0.0/8/8", "loopback,x"],
    WORKERS: ["0", "257", "auto"],
    LOG_LEVEL: ["loud", "INFO"],
    WEB: ["yes", "ON"],
    EMBED_ORIGINS: [
      "*",
      "null",
      "a.org",
      "https://a.org/",
      "https://a.org;script-src *",
      "https://a;b",
      "https://*.a.org",
      "https://a.org https://b.org",
      "data:",
    ],
    UPLOAD_MAX_BYTES: ["0", "10MB"],
    UPLOAD_TYPES: ["exe", "png,,pdf"],
    UPLOADS_PER_MINUTE: ["0"],
    UPLOAD_WORLD_MAX_BYTES: ["1e9"],
    API_RATE_PER_MINUTE: ["0", "many"],
    MAX_REQUESTS: ["-1"],
    MAX_UPLOADS: ["-1"],
    MAX_EVENT_LOOP_DELAY: ["1s"],
    REQUEST_TIMEOUT: ["0", "86401"],
    LIVE_MAX_CONNECTIONS: ["0"],
    LIVE_AUTH_TIMEOUT: ["0", "3601"],
    LIVE_MAX_FRAME: ["1023", "1048577"],
    LIVE_MAX_TEXT: ["0"],
    LIVE_COMMANDS_PER_SECOND: ["0", "1.5"],
    LIVE_MESSAGES_PER_SECOND: ["0"],
    LIVE_GUEST_BYTES_PER_MINUTE: ["0", "1M"],
    CHAT_WORLD_MAX_BYTES_PER_DAY: ["0", "1G"],
    GUESTS_PER_MINUTE: ["0", "many"],
    LOG_DAYS: ["0", "month"],
    AUDIT_DAYS: ["-1", "year"],
    ATTENDANCE_DAYS: ["0", "year"],
    LIVE_MAX_UNSENT: ["0", "1M"],
    LIVE_MAX_UNSENT_TOTAL: ["0", "1G"],
    LIVE_PING_INTERVAL: ["0", "3601"],
    CORS_ORIGIN: ["https://a.org/", "a.org", "*,https://a.org", "null"],
    WEBHOOK_ALLOW: [
      "10.0.0.0/33",
      "::1/129",
      "127.1",
      "0x7f000001",
      "https://a.org",
      "a.org:80",
      "A.org",
      "*",
      "a.org,,b.org",
    ],
    // Each of these variables requires other variables of the same engine.
    LIVEKIT_URL: [
      "calls.example.org",
      "https://a.org",
      "ws://a.org",
      "wss://a.org/path",
      "wss://user@a.org",
      "wss://a.org?x",
      "wss://a.org",
    ],
    LIVEKIT_API_URL: ["a.org", "wss://a.org", "https://a.org/path", "https://u:p@a.org"],
    LIVEKIT_API_KEY: ["foyer"],
    LIVEKIT_API_SECRET: ["x".repeat(31), "x".repeat(32)],
    BBB_URL: ["bbb.org", "http://bbb.org/", "https://u@bbb.org/", "https://bbb.org/"],
    BBB_SECRET: ["secret"],
    JITSI_URL: ["meet.org", "http://meet.org/", "https://meet.org/#room", "https://meet.org/"],
    JITSI_APP_ID: ["foyer"],
    JITSI_APP_SECRET: ["secret"],
    // Alone, it lacks the sender and the address for links.
    SMTP_URL: ["mail.example.org", "http://a.org", "smtp://", "smtp://a.org"],
    MAIL_FROM: ["events", "Events <events>", "a@b, c@d", "a@b\r\nBcc: c@d", "E\r\nX: <a@b>", "<>"],
    MAIL_PER_MINUTE: ["0", "60001", "1/s"],
    METRICS_PORT: ["65536"],
    ADMIN_TOKEN: ["x".repeat(31), `${"x".repeat(32)} y`],
    METRICS_TOKEN: ["short", "with a space in it", "ünicode-is-no-header"],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      t.match(faultOf({ [name]: value }), new RegExp(`^${name}: .+$`), value);
    }
  }
  // Any text is valid for these variables; problems show only when they are used.
  const free = ["HOST", "DATA_DIR", "METRICS_HOST", "S3_BUCKET", "S3_REGION"];
  t.strictSame(
    new Set([...Object.keys(bad), ...free]),
    new Set(Object.keys(variables)),
    "no variable is without a case",
  );
});

void t.test("the start says in one line what is wrong", async (t) => {
  const env = { METRICS_TOKEN: "a secret" };
  const got = await foyer(testdir(t), ["serve"], env);
  t.equal(got.code, 1);
  t.match(got.stderr, /^foyer: METRICS_TOKEN: Must be .*\n$/);
  t.notMatch(got.stderr, "a secret");
  t.equal(got.stdout, "");
});

void t.test("a mail server names what is missing, and not its password", async (t) => {
  const { MAIL_FROM, PUBLIC_URL, ...url } = smtp;
  t.equal(faultOf(url), "SMTP_URL: Needs MAIL_FROM and PUBLIC_URL.");
  t.equal(faultOf({ ...url, MAIL_FROM }), "SMTP_URL: Needs PUBLIC_URL.");
  t.equal(faultOf({ ...url, PUBLIC_URL }), "SMTP_URL: Needs MAIL_FROM.");
  t.strictSame(warningsOf({ MAIL_FROM, PUBLIC_URL }), [
    "MAIL_FROM has no effect without SMTP_URL.",
  ]);
});

void t.test("an engine of calls names what is missing, and no secret", async (t) => {
  const secret = "not-to-be-shown-".repeat(3);
  const cases: [env: Record<string, string>, fault: string][] = [
    [{ LIVEKIT_URL: "wss://a.org" }, "LIVEKIT_URL: Needs LIVEKIT_API_KEY and LIVEKIT_API_SECRET."],
    [
      { LIVEKIT_URL: "wss://a.org", LIVEKIT_API_SECRET: secret },
      "LIVEKIT_URL: Needs LIVEKIT_API_KEY.",
    ],
    [{ LIVEKIT_API_SECRET: secret }, "LIVEKIT_API_SECRET: Needs LIVEKIT_URL and LIVEKIT_API_KEY."],
    [{ BBB_SECRET: secret }, "BBB_SECRET: Needs BBB_URL."],
    [{ JITSI_APP_SECRET: secret, JITSI_APP_ID: "a" }, "JITSI_APP_ID: Needs JITSI_URL."],
    [
      { ...livekitKey, LIVEKIT_URL: "wss://a.org", LIVEKIT_API_SECRET: "too-short" },
      "LIVEKIT_API_SECRET: Must have at least 32 characters.",
    ],
  ];
  for (const [env, fault] of cases) t.equal(faultOf(env), fault);
});

function warningsOf(env: Record<string, string>): string[] {
  const lines: string[] = [];
  loadConfig(env, (line) => lines.push(line));
  return lines;
}

void t.test("names that stop the start", async (t) => {
  const meant: Record<string, string> = {
    DATABSE_URL: "DATABASE_URL",
    DATABASEURL: "DATABASE_URL",
    DATADIR: "DATA_DIR",
    data_dir: "DATA_DIR",
    LOGLEVEL: "LOG_LEVEL",
    LIVE_MAX_TXT: "LIVE_MAX_TEXT",
    PROT: "PORT",
    HOSTS: "HOST",
    WORKER: "WORKERS",
    CORS_ORIGINS: "CORS_ORIGIN",
    PUBLIC_ULR: "PUBLIC_URL",
    S3_BUKCET: "S3_BUCKET",
  };
  for (const [name, variable] of Object.entries(meant)) {
    t.equal(faultOf({ [name]: "x" }), `${name}: Unknown variable; did you mean ${variable}?`);
    t.equal(faultOf({ [name]: "" }), undefined, "empty is not set");
  }
  for (const prefix of ["LIVE", "S3", "UPLOAD", "METRICS", "DATABASE"]) {
    t.match(
      faultOf({ [`${prefix}_SOMETHING`]: "x" }),
      new RegExp(
        `^${prefix}_SOMETHING: Unknown variable; those that begin with ${prefix}_ are ${prefix}_`,
      ),
    );
  }
});

void t.test("names that are not ours", async (t) => {
  const others = {
    PATH: "/bin",
    HOME: "/root",
    HOSTNAME: "x",
    HOSTTYPE: "x",
    PWD: "/",
    NODE_ENV: "production",
    NODE_OPTIONS: "",
    LANG: "C",
    LOGNAME: "x",
    TERM: "x",
    SHELL: "x",
    USER: "x",
    TMPDIR: "/tmp",
    AWS_REGION: "x",
    PGHOST: "x",
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    // Kubernetes sets these for Services with these names.
    METRICS_SERVICE_HOST: "10.0.0.2",
    S3_PORT: "tcp://10.0.0.3:7070",
    DATABASE_PORT_5432_TCP_ADDR: "10.0.0.4",
  };
  t.strictSame(warningsOf(others), []);
  t.match(faultOf({ METRICS_SERVICE_HOST: "10.0.0.2" }), /Unknown variable/);
  t.match(faultOf({ KUBERNETES_SERVICE_HOST: "x", DATABASE_PORT: "5432" }), /Unknown variable/);
});

void t.test("variables without effect cause a warning", async (t) => {
  const cases: [env: Record<string, string>, warnings: string[]][] = [
    [
      { FOYER_PORT: "1", FOYER_SERVICE_HOST: "x", FOYER_DATABSE_URL: "x" },
      [
        "No variable begins with FOYER_, so these are ignored: FOYER_PORT (PORT?), FOYER_SERVICE_HOST, FOYER_DATABSE_URL (DATABASE_URL?).",
      ],
    ],
    [{ DATABASE_POOL: "2" }, ["DATABASE_POOL has no effect without DATABASE_URL."]],
    [
      { S3_REGION: "x", S3_REDIRECT: "on", S3_FORCE_PATH_STYLE: "on" },
      ["S3_REGION", "S3_FORCE_PATH_STYLE", "S3_REDIRECT"].map(
        (name) => `${name} has no effect without S3_BUCKET.`,
      ),
    ],
    [{ S3_REGION: "x", S3_BUCKET: "b" }, []],
    [
      { LIVEKIT_API_URL: "http://127.0.0.1:7880" },
      ["LIVEKIT_API_URL has no effect without LIVEKIT_URL."],
    ],
    [{ METRICS_HOST: "::1" }, ["METRICS_HOST has no effect without METRICS_PORT."]],
    [{ METRICS_HOST: "::1", METRICS_PORT: "0" }, []],
    [
      { EMBED_ORIGINS: "https://a.org", WEB: "off" },
      ["EMBED_ORIGINS has no effect while WEB is off."],
    ],
    [{ EMBED_ORIGINS: "https://a.org" }, []],
  ];
  for (const [env, warnings] of cases) {
    t.strictSame(warningsOf(env), warnings, JSON.stringify(env));
  }
});

void t.test("commands look at the names, too", async (t) => {
  const dataDir = testdir(t);
  const commands = "serve;world list;token x --link;backup x.tar;upgrade;connections list";
  const env = { DATABSE_URL: "postgres://db/foyer" };
  const fault = "foyer: DATABSE_URL: Unknown variable; did you mean DATABASE_URL?\n";
  for (const line of commands.split(";")) {
    const finished = await foyer(dataDir, line.split(" "), env);
    t.strictSame(finished, { code: 1, stdout: "", stderr: fault }, line);
  }
  t.same(readdirSync(dataDir), [], "and no database is made");
  const { stderr } = await foyer(dataDir, ["world", "list"], { FOYER_X: "1" });
  t.match(stderr, /^foyer: warning: No variable begins with FOYER_, .*FOYER_X\.$/m);
});

void t.test("a setting is named, too, when its server refuses", async (t) => {
  // No server listens on this port.
  const host = "127.0.0.1:9";
  const bucket = { S3_BUCKET: "b", S3_ENDPOINT: `http://${host}` };
  const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
  const before = { ...process.env };
  Object.assign(process.env, keys);
  t.teardown(() => {
    for (const name of Object.keys(keys)) delete process.env[name];
    Object.assign(process.env, before);
  });
  const database = { DATABASE_URL: `postgres://a:secret@${host}/foyer` };
  const dataDir = testdir(t);
  const archive = join(testdir(t), "a.tar");
  const refused = (text: string) => ({ code: 1, stdout: "", stderr: `foyer: ${text}\n` });
  const down = `at ${host}: connect ECONNREFUSED ${host}`;
  const cannot = refused(`DATABASE_URL: cannot use the database foyer ${down}`);
  const env = { ...database, LOG_LEVEL: "silent" };
  for (const line of ["serve", "world list", "check", "upgrade", "backup A", "restore A"]) {
    const args = line.replace("A", archive).split(" ");
    t.strictSame(await foyer(dataDir, args, env), cannot, line);
  }
  for (const line of ["world create a --title A --domain a.org", "restore"]) {
    const args = [...line.split(" "), ...(line === "restore" ? [archive] : [])];
    const got = await foyer(join(dataDir, "new"), args, bucket);
    t.strictSame(got, refused(`S3_BUCKET: cannot use the bucket b ${down}; see S3_ENDPOINT`), line);
  }
  const file = join(testdir(t, { file: "" }), "file");
  for (const folder of [file, join(file, "below")]) {
    const got = await foyer(folder, ["world", "list"]);
    t.strictSame(got, refused(`DATA_DIR: ${folder} is not a folder`));
  }
});

void t.test("the log describes the server and its oddities", async (t) => {
  const dataDir = testdir(t);
  for (const mode of [0o755, 0o700]) {
    chmodSync(dataDir, mode);
    const server = await startFoyer(t, dataDir, [], { LOG_LEVEL: "info", METRICS_HOST: "::1" });
    server.signal("SIGTERM");
    const { stdout } = await server.finished;
    const said = stdout
      .split("\n")
      .filter((line) => line.startsWith('{"level"'))
      .map((line) => JSON.parse(line) as { level: number; msg: string });
    const warnings = said.filter(({ level }) => level === 40);
    const [idle, open] = warnings.map(({ msg }) => msg);
    t.equal(idle, "METRICS_HOST has no effect without METRICS_PORT.");
    const isOpen = /^DATA_DIR: .* has mode 0755, /.test(open ?? "");
    t.equal(isOpen, mode === 0o755, open ?? "");
    t.match(
      said.find(({ level }) => level === 30),
      {
        version,
        engine: "sqlite",
        folder: dataDir,
        worlds: 0,
        workers: 1,
        msg: `Foyer ${version}: 0 worlds (create one with foyer world create) in SQLite; files in a folder; DATA_DIR ${dataDir}; 1 worker`,
      },
    );
  }
});

void t.test("the start line names servers without their passwords", async (t) => {
  const config = loadConfig({
    DATABASE_URL: "postgres://a:secret@db:5433/foyer?password=secret",
    VALKEY_URL: "rediss://b:secret@valkey:6379",
    S3_BUCKET: "files",
    S3_ENDPOINT: "https://c:secret@s3.example.org",
    DATA_DIR: "/data",
    WORKERS: "2",
  });
  const [fields, line] = startLine(config, 1);
  t.equal(
    line,
    `Foyer ${version}: 1 world in PostgreSQL, the database foyer at db:5433; Valkey at valkey:6379; files in the bucket files at s3.example.org; DATA_DIR /data; 2 workers`,
  );
  t.strictSame(fields, {
    version,
    engine: "postgresql",
    database: "the database foyer at db:5433",
    valkey: "valkey:6379",
    bucket: "files",
    folder: "/data",
    worlds: 1,
    workers: 2,
  });
});

void t.test("the start line names the servers for calls", async (t) => {
  const config = loadConfig({
    DATA_DIR: "/data",
    LIVEKIT_URL: "wss://calls.example.org",
    LIVEKIT_API_URL: "http://127.0.0.1:7880",
    ...livekitKey,
    BBB_URL: "https://bbb.example.org/bigbluebutton/",
    BBB_SECRET: "bbb-secret",
    JITSI_URL: "https://meet.example.org:8443",
    JITSI_APP_ID: "foyer",
    JITSI_APP_SECRET: "jitsi-secret",
  });
  const [fields, line] = startLine(config, 2);
  t.equal(
    line,
    `Foyer ${version}: 2 worlds in SQLite; files in a folder; calls over LiveKit at calls.example.org; calls over BigBlueButton at bbb.example.org; calls over Jitsi at meet.example.org:8443; DATA_DIR /data; 1 worker`,
  );
  t.match(fields, { livekit: "calls.example.org", jitsi: "meet.example.org:8443" });
  t.notMatch(JSON.stringify([fields, line]), /secret|0123456789/);
});

void t.test("how long a server waits for what is in flight", async (t) => {
  // As docs/install.md and docs/embed.md promise.
  t.strictSame(loadConfig({}).drainTimeoutsMs, { stop: 10_000, close: 2000 });
});
