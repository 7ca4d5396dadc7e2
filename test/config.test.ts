import { readFileSync } from "node:fs";
import t from "tap";
import { ConfigError, loadConfig, variables } from "../config.js";
import { foyer } from "./helper.js";
import { testdir } from "./testdir.js";

// Tests run from dist/test.
const document = readFileSync(
  new URL("../../docs/configure.md", import.meta.url),
  "utf8",
);

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

void t.test("values that are taken", async (t) => {
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
    [{ TRUST_PROXY: "::1, 10.0.0.0/8" }, { trustProxy: ["::1", "10.0.0.0/8"] }],
    [{ CORS_ORIGIN: "*" }, { corsOrigins: "*" }],
    [
      { CORS_ORIGIN: "https://a.org, http://localhost:3000" },
      { corsOrigins: ["https://a.org", "http://localhost:3000"] },
    ],
    [{}, { web: { on: true, embedOrigins: [] } }],
    [{ WEB: "off" }, { web: { on: false } }],
    [
      { EMBED_ORIGINS: "https://a.org, http://[::1]:3000" },
      { web: { embedOrigins: ["https://a.org", "http://[::1]:3000"] } },
    ],
    [{}, { engines: {} }],
    [
      { DATABASE_URL: "postgres://a:b@c/d", VALKEY_URL: "valkey://e:1" },
      {
        engines: {
          database: { url: "postgres://a:b@c/d", pool: 10 },
          valkeyUrl: "valkey://e:1",
        },
      },
    ],
    [
      { DATABASE_URL: "postgresql://c/d", DATABASE_POOL: "3" },
      { engines: { database: { pool: 3 } } },
    ],
    [
      { S3_BUCKET: "b" },
      {
        engines: {
          bucket: {
            bucket: "b",
            region: "us-east-1",
            forcePathStyle: false,
            redirect: false,
          },
        },
      },
    ],
    [
      {
        S3_BUCKET: "b",
        S3_ENDPOINT: "http://s3:7070",
        S3_REGION: "x",
        S3_FORCE_PATH_STYLE: "on",
        S3_REDIRECT: "on",
      },
      {
        engines: {
          bucket: {
            endpoint: "http://s3:7070",
            region: "x",
            forcePathStyle: true,
            redirect: true,
          },
        },
      },
    ],
    [{ UPLOAD_TYPES: "png,pdf" }, { uploads: { types: ["png", "pdf"] } }],
  ];
  for (const [env, config] of cases) {
    t.match(loadConfig(env), config, JSON.stringify(env));
  }
});

/** What is said of an environment that is refused. */
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
    // Alone, it has nothing that several nodes could share.
    VALKEY_URL: ["localhost:6379", "http://a", "redis://a"],
    S3_ENDPOINT: ["s3:7070", "ftp://a", "http://a"],
    S3_FORCE_PATH_STYLE: ["yes"],
    S3_REDIRECT: ["1"],
    PUBLIC_URL: ["rooms.example.org", "ftp://a.org", "https://a.org/?x"],
    TRUST_PROXY: ["yes", "10.0.0.0/33", "10.0.0.0/8/8", "loopback,x"],
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
    LIVE_MAX_UNSENT: ["0", "1M"],
    LIVE_PING_INTERVAL: ["0", "3601"],
    CORS_ORIGIN: ["https://a.org/", "a.org", "*,https://a.org", "null"],
    METRICS_PORT: ["65536"],
    METRICS_TOKEN: ["short", "with a space in it", "ünicode-is-no-header"],
  };
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      t.match(faultOf({ [name]: value }), new RegExp(`^${name}: .+$`), value);
    }
  }
  // Any text is good for these; what is wrong with it shows when it is used.
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

void t.test("how long a server waits for what is in flight", async (t) => {
  // docs/install.md and docs/embed.md promise it.
  t.strictSame(loadConfig({}).patience, { stop: 10_000, close: 2000 });
});
