import { resolve } from "node:path";
import { type EngineChoice, refuseMissingPackages } from "./db/choice.js";
import { Failure } from "./schemas/plain/failure.js";
import { fileTypes } from "./schemas/plain/file-types.js";
import { checkNames } from "./schemas/plain/variable-names.js";
import {
  BadValue,
  addressOf,
  bearerToken,
  exactOrigins,
  hostsAndRanges,
  extensions,
  onOff,
  origins,
  proxies,
  publicAddress,
  type Reader,
  someText,
  whole,
  wordOf,
} from "./schemas/plain/variables.js";

/** One variable of the environment. */
export interface Variable<T = unknown> {
  /** What holds when it is not set, as it would be written; empty for nothing. */
  fallback: string;
  /** For people, in Markdown: docs/configure.md and `foyer help serve` have it too. */
  means: string;
  read: Reader<T>;
}

const variable = <T>(fallback: string, means: string, read: Reader<T>): Variable<T> => ({
  fallback,
  means,
  read,
});

/** A variable that is off, or says nothing, unless it is set. */
const optional = <T>(means: string, read: Reader<T>) => variable<T | undefined>("", means, read);

const count = whole(1);

/**
 * Every variable that there is. To add one, add it here, to `Config` and
 * `loadConfig` below, and to the table in docs/configure.md; a test compares them.
 */
export const variables = {
  HOST: variable("127.0.0.1", "the address it listens at", someText),
  PORT: variable("8375", "the port it listens at; `0` takes a free one", whole(0, 65535)),
  DATA_DIR: variable(
    "./data",
    "the folder of the database and the files, made if missing",
    someText,
  ),
  DATABASE_URL: optional(
    "a PostgreSQL database that several nodes share, instead of SQLite in `DATA_DIR`: `postgres://user:password@host/name`",
    addressOf("postgres:", "postgresql:"),
  ),
  DATABASE_POOL: variable(
    "10",
    "how many connections each process has to PostgreSQL at most, and one more that listens",
    whole(1, 1000),
  ),
  VALKEY_URL: optional(
    "the Valkey or Redis over which nodes tell each other of events: `redis://host:6379`; needs `DATABASE_URL`",
    addressOf("redis:", "rediss:", "valkey:", "valkeys:"),
  ),
  S3_BUCKET: optional(
    "the bucket for the bytes of files, instead of a folder in `DATA_DIR`; its credentials come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or from another source that the AWS tools know",
    someText,
  ),
  S3_ENDPOINT: optional(
    "the address of a server that is compatible with S3, if it is not AWS",
    addressOf("http:", "https:"),
  ),
  S3_REGION: variable("us-east-1", "the region of the bucket", someText),
  S3_FORCE_PATH_STYLE: variable(
    "off",
    "names the bucket in the path and not in the host: `on` or `off`",
    onOff,
  ),
  S3_REDIRECT: variable(
    "off",
    "redirects downloads of files to the bucket, by an address that is signed for an hour, instead of reading it for the client: `on` or `off`",
    onOff,
  ),
  PUBLIC_URL: optional(
    "the address that clients use, for links, where a proxy hides it: `https://rooms.example.org`",
    publicAddress,
  ),
  TRUST_PROXY: variable(
    "off",
    "the proxies whose `X-Forwarded-*` headers count: addresses, ranges like `10.0.0.0/8`, `loopback`, `linklocal`, `uniquelocal`, with commas",
    proxies,
  ),
  WORKERS: variable(
    "1",
    "how many processes serve, on one port; about one for each core",
    whole(1, 256),
  ),
  LOG_LEVEL: variable(
    "info",
    "`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`; `debug` adds a line for each request",
    wordOf("fatal", "error", "warn", "info", "debug", "trace", "silent"),
  ),
  LOG_DAYS: variable(
    "30",
    "how many days the server keeps what happened in a world: the log that nodes follow",
    count,
  ),
  AUDIT_DAYS: variable(
    "365",
    "how many days the server keeps what people with rights did; `0` keeps and shows nothing",
    whole(0, 100_000),
  ),
  ATTENDANCE_DAYS: variable(
    "365",
    "how many days the server keeps how many people were in rooms, and who, where a world keeps that",
    count,
  ),
  UPLOAD_MAX_BYTES: variable("10485760", "the largest upload", count),
  UPLOAD_TYPES: variable(
    Object.keys(fileTypes).join(","),
    "the extensions that are taken, with commas",
    extensions,
  ),
  UPLOADS_PER_MINUTE: variable(
    "600",
    "how many uploads one caller may send in a minute, to each process; more are a 429",
    count,
  ),
  GUESTS_PER_MINUTE: variable(
    "1200",
    "how many new guests may come from one address in a minute, to each process; more are refused. `TRUST_PROXY` tells whose address it is; of IPv6, the first 64 bits count. This machine and people with tokens are not counted",
    count,
  ),
  UPLOAD_WORLD_MAX_BYTES: variable(
    "10737418240",
    "how much the files of one world may take together",
    count,
  ),
  API_RATE_PER_MINUTE: optional(
    "how many calls under `/api/v1/` one token may make in a minute, to each process; more are a 429",
    count,
  ),
  MAX_REQUESTS: variable(
    "1000",
    "how many writes under `/api/v1/` each process works on at a time, and how many reads if the database is a server; more are a 503. `0` sets no bound",
    whole(0),
  ),
  MAX_UPLOADS: variable(
    "100",
    "how many uploads and imports each process takes at a time; more are a 503. `0` sets no bound",
    whole(0),
  ),
  MAX_EVENT_LOOP_DELAY: variable(
    "5000",
    "how many milliseconds the event loop may be late, on average over twice that time, before requests are a 503. `0` sets no bound",
    whole(0),
  ),
  REQUEST_TIMEOUT: variable(
    "300",
    "how many seconds a client may take to send a request with its body; its headers have to come within 20 in any case",
    whole(1, 86400),
  ),
  LIVE_MAX_CONNECTIONS: variable(
    "20000",
    "how many websockets each process takes; more are a 503. From one address, a tenth of them (at least 100) may wait for a login; more are a 429",
    count,
  ),
  LIVE_AUTH_TIMEOUT: variable("10", "how many seconds a websocket has to log in", whole(1, 3600)),
  LIVE_MAX_FRAME: variable(
    "65536",
    "the largest message that a websocket may send, in bytes; who may update rooms or the world may send 1 MiB",
    whole(1024, 1024 * 1024),
  ),
  LIVE_MAX_TEXT: variable(
    "10000",
    "the longest text that people may send over a websocket, in characters",
    count,
  ),
  LIVE_COMMANDS_PER_SECOND: variable(
    "50",
    "how many commands a websocket may send in a second, and six times as many at once; a user may log in as often",
    count,
  ),
  LIVE_MESSAGES_PER_SECOND: variable(
    "5",
    "how many messages and questions a user may send in a second, and four times as many at once; as many reactions and votes",
    count,
  ),
  LIVE_GUEST_BYTES_PER_MINUTE: variable(
    "1048576",
    "how many bytes of messages and profiles the guests of one address, or network of IPv6, may send over websockets to each process in a minute. This machine and people with tokens are not counted",
    count,
  ),
  CHAT_WORLD_MAX_BYTES_PER_DAY: variable(
    "268435456",
    "how many bytes of messages may be sent in the chats of one world in a day, to each process; they come back steadily over the day",
    count,
  ),
  LIVE_MAX_UNSENT: variable(
    "1048576",
    "how many bytes may wait for a websocket that does not read before it is dropped",
    count,
  ),
  LIVE_MAX_UNSENT_TOTAL: variable(
    "268435456",
    "how many bytes of answers may wait for all websockets of a process together; beyond it, those for which most waits are dropped",
    count,
  ),
  LIVE_PING_INTERVAL: variable(
    "25",
    "after how many seconds a websocket is pinged; it is closed when nothing came for 2.4 times as long",
    whole(1, 3600),
  ),
  WEB: variable("on", "serves the pages for attendees and hosts: `on` or `off`", onOff),
  EMBED_ORIGINS: optional(
    "the origins whose pages may show a room in a frame, with commas",
    exactOrigins,
  ),
  CORS_ORIGIN: optional(
    "the origins whose pages may call from a browser, with commas, or `*`",
    origins,
  ),
  WEBHOOK_ALLOW: optional(
    "the hosts and ranges of addresses to which webhooks and calls to identity providers may go beside public addresses, also without TLS, with commas: `127.0.0.1,10.0.0.0/8`",
    hostsAndRanges,
  ),
  METRICS_PORT: optional(
    "serves `/metrics` on a port of its own; `0` takes a free one",
    whole(0, 65535),
  ),
  METRICS_HOST: variable("127.0.0.1", "the address that `METRICS_PORT` is opened at", someText),
  METRICS_TOKEN: optional(
    "asks for `Authorization: Bearer <this>` at `/metrics`, which without `METRICS_PORT` is at `PORT`; 16 to 500 characters",
    bearerToken(16),
  ),
  ADMIN_TOKEN: optional(
    "lets programs create, list and delete worlds under `/api/v1/worlds/` with `Authorization: Bearer <this>`; 32 to 500 characters",
    bearerToken(32),
  ),
};

/** The configuration of a server. `variables` explains each part. */
export interface Config {
  host: string;
  port: number;
  /** Absolute, so that an error which names it is clear wherever it is read. */
  dataDir: string;
  /** The engines other than the embedded ones. */
  engines: EngineChoice;
  publicUrl: string | undefined;
  trustProxy: string[] | false;
  workers: number;
  /** How many new guests may come from one address. */
  guestsPerMinute: number;
  /** How many days the log of a world is kept. */
  logDays: number;
  /** How many days the audit of a world is kept. */
  auditDays: number;
  /** How many days the attendance of a world is kept. */
  attendanceDays: number;
  logLevel: string;
  /** In milliseconds. */
  requestTimeout: number;
  corsOrigins: string[] | "*" | undefined;
  web: WebConfig;
  /** The hosts and ranges to which requests may go beside public addresses. */
  webhookAllow: readonly string[];
  load: LoadLimits;
  live: LiveLimits;
  drainTimeoutsMs: DrainTimeouts;
  /** The token of the server's own API; undefined for none. */
  adminToken: string | undefined;
  metrics: {
    host: string;
    port: number | undefined;
    token: string | undefined;
  };
  uploads: {
    /** The largest file, in bytes. */
    maxBytes: number;
    /** Extensions that are taken. */
    types: string[];
    /** How many one caller may send in a minute. */
    perMinute: number;
    /** How much the files of one world may take, in bytes. */
    worldMaxBytes: number;
  };
}

/** The pages for people. */
export interface WebConfig {
  /** Whether they are served. */
  on: boolean;
  /** The origins whose pages may show a room in a frame. */
  embedOrigins: readonly string[];
}

/** How long the requests in flight are waited for, in milliseconds. No variable sets it. */
export interface DrainTimeouts {
  /** When a server gets a signal to stop. */
  stop: number;
  /** When an application closes that was not told to stop before. */
  close: number;
}

/** Bounds of websockets. Times are in milliseconds, sizes in bytes. */
export interface LiveLimits {
  /** How many a process takes. */
  maxConnections: number;
  /** How long one has to log in. */
  authTimeout: number;
  /** The largest message, without rights for more. */
  maxFrame: number;
  /** The longest text, in characters. */
  maxText: number;
  commandsPerSecond: number;
  messagesPerSecond: number;
  /** How much the guests of one network may send in messages and profiles in a minute. */
  guestBytesPerMinute: number;
  /** How much may be sent in the chats of one world in a day. */
  chatBytesPerDay: number;
  /** How much may wait for a client that does not read. */
  maxUnsent: number;
  /** How much may wait for all clients of a process. */
  maxUnsentTotal: number;
  pingInterval: number;
}

/** Bounds beyond which requests are refused; 0 means no bound. */
export interface LoadLimits {
  /** Writes under `/api/v1/` at a time. */
  requests: number;
  /** Uploads at a time. */
  uploads: number;
  /** In milliseconds. */
  eventLoopDelay: number;
  /** API requests of one token in a minute. */
  perMinute: number | undefined;
}

/** A variable with a bad value; the message is one line that names it. */
export class ConfigError extends Failure {}

type Values = {
  [Name in keyof typeof variables]: ReturnType<(typeof variables)[Name]["read"]>;
};

/**
 * Reads the configuration.
 * @param env the environment; a variable that is empty counts as not set.
 * @param warn gets a line for each variable that is set and has no effect.
 * @throws {ConfigError} on the first bad value, or a name that looks like a mistake.
 */
export function loadConfig(
  env: NodeJS.ProcessEnv,
  warn: (line: string) => void = () => {},
): Config {
  const fault = checkNames(env, Object.keys(variables), warn);
  if (fault) throw new ConfigError(fault);
  const values = Object.fromEntries(
    Object.entries<Variable>(variables).map(([name, { fallback, read }]) => {
      const text = env[name] || fallback;
      return [name, text === "" ? undefined : named(name, () => read(text))];
    }),
  ) as Values;
  warnOfIdle(env, values, warn);
  return {
    host: values.HOST,
    port: values.PORT,
    dataDir: resolve(values.DATA_DIR),
    engines: engineChoice(values),
    publicUrl: values.PUBLIC_URL,
    trustProxy: values.TRUST_PROXY,
    workers: values.WORKERS,
    guestsPerMinute: values.GUESTS_PER_MINUTE,
    logDays: values.LOG_DAYS,
    auditDays: values.AUDIT_DAYS,
    attendanceDays: values.ATTENDANCE_DAYS,
    logLevel: values.LOG_LEVEL,
    requestTimeout: values.REQUEST_TIMEOUT * 1000,
    corsOrigins: values.CORS_ORIGIN,
    web: { on: values.WEB, embedOrigins: values.EMBED_ORIGINS ?? [] },
    webhookAllow: values.WEBHOOK_ALLOW ?? [],
    load: {
      requests: values.MAX_REQUESTS,
      uploads: values.MAX_UPLOADS,
      eventLoopDelay: values.MAX_EVENT_LOOP_DELAY,
      perMinute: values.API_RATE_PER_MINUTE,
    },
    live: {
      maxConnections: values.LIVE_MAX_CONNECTIONS,
      authTimeout: values.LIVE_AUTH_TIMEOUT * 1000,
      maxFrame: values.LIVE_MAX_FRAME,
      maxText: values.LIVE_MAX_TEXT,
      commandsPerSecond: values.LIVE_COMMANDS_PER_SECOND,
      messagesPerSecond: values.LIVE_MESSAGES_PER_SECOND,
      guestBytesPerMinute: values.LIVE_GUEST_BYTES_PER_MINUTE,
      chatBytesPerDay: values.CHAT_WORLD_MAX_BYTES_PER_DAY,
      maxUnsent: values.LIVE_MAX_UNSENT,
      maxUnsentTotal: values.LIVE_MAX_UNSENT_TOTAL,
      pingInterval: values.LIVE_PING_INTERVAL * 1000,
    },
    drainTimeoutsMs: { stop: 10_000, close: 2000 },
    adminToken: values.ADMIN_TOKEN,
    metrics: { host: values.METRICS_HOST, port: values.METRICS_PORT, token: values.METRICS_TOKEN },
    uploads: {
      maxBytes: values.UPLOAD_MAX_BYTES,
      types: values.UPLOAD_TYPES,
      perMinute: values.UPLOADS_PER_MINUTE,
      worldMaxBytes: values.UPLOAD_WORLD_MAX_BYTES,
    },
  };
}

/**
 * @throws {ConfigError} if one variable needs another that is not set.
 * @throws {StoreError} if one needs a package that is not installed.
 */
function engineChoice(values: Values): EngineChoice {
  const { DATABASE_URL, VALKEY_URL, S3_BUCKET, S3_ENDPOINT } = values;
  if (VALKEY_URL !== undefined && DATABASE_URL === undefined) {
    throw new ConfigError("VALKEY_URL: Needs DATABASE_URL, as SQLite serves one machine only.");
  }
  if (S3_ENDPOINT !== undefined && S3_BUCKET === undefined) {
    throw new ConfigError("S3_ENDPOINT: Needs S3_BUCKET.");
  }
  const choice: EngineChoice = {
    ...(DATABASE_URL !== undefined && {
      database: { url: DATABASE_URL, pool: values.DATABASE_POOL },
    }),
    ...(VALKEY_URL !== undefined && { valkeyUrl: VALKEY_URL }),
    ...(S3_BUCKET !== undefined && {
      bucket: {
        bucket: S3_BUCKET,
        ...(S3_ENDPOINT !== undefined && { endpoint: S3_ENDPOINT }),
        region: values.S3_REGION,
        forcePathStyle: values.S3_FORCE_PATH_STYLE,
        redirect: values.S3_REDIRECT,
      },
    }),
  };
  refuseMissingPackages(choice);
  return choice;
}

/** Variables that have no effect without another one. */
const NEEDS: Partial<Record<keyof Values, keyof Values>> = {
  DATABASE_POOL: "DATABASE_URL",
  S3_REGION: "S3_BUCKET",
  S3_FORCE_PATH_STYLE: "S3_BUCKET",
  S3_REDIRECT: "S3_BUCKET",
  METRICS_HOST: "METRICS_PORT",
  EMBED_ORIGINS: "WEB",
};

function warnOfIdle(env: NodeJS.ProcessEnv, values: Values, warn: (line: string) => void): void {
  for (const [name, needed] of Object.entries(NEEDS)) {
    const isThere = values[needed] !== undefined && values[needed] !== false;
    if (!env[name] || isThere) continue;
    const why = needed === "WEB" ? "while WEB is off" : `without ${needed}`;
    warn(`${name} has no effect ${why}.`);
  }
}

function named<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    throw new ConfigError(`${name}: ${error.message}`);
  }
}
