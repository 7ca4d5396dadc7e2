import { resolve } from "node:path";
import { type EngineChoice, refuseMissingPackages } from "./db/choice.js";
import { Failure } from "./schemas/plain/failure.js";
import { fileTypes } from "./schemas/plain/file-types.js";
import { checkNames } from "./schemas/plain/config/variable-names.js";
import {
  BadValue,
  addressOf,
  bearerToken,
  exactOrigins,
  hostsAndRanges,
  httpFolder,
  httpOrigin,
  extensions,
  onOff,
  origins,
  proxies,
  publicAddress,
  type Sender,
  type VariableReader,
  secretText,
  sender,
  socketOrigin,
  someText,
  whole,
  wordOf,
} from "./schemas/plain/config/variables.js";

/** A configuration variable, which is set in the environment. */
export interface Variable<T = unknown> {
  /** The default, as written in the environment; empty if there is no default. */
  fallback: string;
  /** A description in Markdown, shown in docs/configure.md and by `foyer help serve`. */
  means: string;
  read: VariableReader<T>;
}

const variable = <T>(fallback: string, means: string, read: VariableReader<T>): Variable<T> => ({
  fallback,
  means,
  read,
});

/** A variable without a default: unless it is set, its feature is off. */
const optional = <T>(means: string, read: VariableReader<T>) =>
  variable<T | undefined>("", means, read);

const count = whole(1);

/**
 * All configuration variables with their defaults. A new variable must be added here, to `Config` and `loadConfig` below, and to the
 * table in docs/configure.md. A test compares these lists.
 */
export const variables = {
  HOST: variable("127.0.0.1", "the address to listen on", someText),
  PORT: variable("8375", "the port to listen on; `0` picks a free one", whole(0, 65535)),
  DATA_DIR: variable(
    "./data",
    "the folder for the database and the files, created if missing",
    someText,
  ),
  DATABASE_URL: optional(
    "a PostgreSQL database that several nodes share, instead of SQLite in `DATA_DIR`: `postgres://user:password@host/name`",
    addressOf("postgres:", "postgresql:"),
  ),
  DATABASE_POOL: variable(
    "10",
    "the maximum number of PostgreSQL connections per process, plus one that listens",
    whole(1, 1000),
  ),
  VALKEY_URL: optional(
    "the Valkey or Redis server over which nodes notify each other of events: `redis://host:6379`; needs `DATABASE_URL`",
    addressOf("redis:", "rediss:", "valkey:", "valkeys:"),
  ),
  S3_BUCKET: optional(
    "the bucket for uploaded files, instead of a folder in `DATA_DIR`; its credentials come from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or from another source that the AWS tools support",
    someText,
  ),
  S3_ENDPOINT: optional(
    "the URL of an S3-compatible server, if it is not AWS",
    addressOf("http:", "https:"),
  ),
  S3_REGION: variable("us-east-1", "the region of the bucket", someText),
  S3_FORCE_PATH_STYLE: variable(
    "off",
    "names the bucket in the path instead of the host: `on` or `off`",
    onOff,
  ),
  S3_REDIRECT: variable(
    "off",
    "redirects downloads to the bucket, with a URL that is signed for an hour, instead of passing them through: `on` or `off`",
    onOff,
  ),
  PUBLIC_URL: optional(
    "the public URL, for links, if the server is behind a proxy: `https://rooms.example.org`",
    publicAddress,
  ),
  TRUST_PROXY: variable(
    "off",
    "the proxies whose `X-Forwarded-*` headers are trusted: addresses, ranges like `10.0.0.0/8`, `loopback`, `linklocal`, `uniquelocal`, comma-separated",
    proxies,
  ),
  WORKERS: variable(
    "1",
    "the number of processes that share the port; about one per core",
    whole(1, 256),
  ),
  LOG_LEVEL: variable(
    "info",
    "`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`; `debug` adds a line per request",
    wordOf("fatal", "error", "warn", "info", "debug", "trace", "silent"),
  ),
  LOG_DAYS: variable("30", "the retention of a world's log, which nodes follow, in days", count),
  AUDIT_DAYS: variable(
    "365",
    "the retention of the audit, in days; `0` turns it off",
    whole(0, 100_000),
  ),
  ATTENDANCE_DAYS: variable(
    "365",
    "the retention of the number of people in rooms, and of who they were where a world records that, in days",
    count,
  ),
  UPLOAD_MAX_BYTES: variable("10485760", "the largest upload, in bytes", count),
  UPLOAD_TYPES: variable(
    Object.keys(fileTypes).join(","),
    "the file extensions to accept, comma-separated",
    extensions,
  ),
  UPLOADS_PER_MINUTE: variable(
    "600",
    "the maximum number of uploads per caller and minute, per process; more are a 429",
    count,
  ),
  GUESTS_PER_MINUTE: variable(
    "1200",
    "the maximum number of new guests per address and minute, per process; more are refused. `TRUST_PROXY` determines the address; for IPv6, its first 64 bits count. This machine and people with tokens are exempt",
    count,
  ),
  UPLOAD_WORLD_MAX_BYTES: variable(
    "10737418240",
    "the maximum total size of a world's files, in bytes",
    count,
  ),
  API_RATE_PER_MINUTE: optional(
    "the maximum number of calls under `/api/v1/` per token and minute, per process; more are a 429",
    count,
  ),
  MAX_REQUESTS: variable(
    "1000",
    "the maximum number of concurrent writes under `/api/v1/` per process, and of reads if the database is a server; more are a 503. `0` means no limit",
    whole(0),
  ),
  MAX_UPLOADS: variable(
    "100",
    "the maximum number of concurrent uploads and imports per process; more are a 503. `0` means no limit",
    whole(0),
  ),
  MAX_EVENT_LOOP_DELAY: variable(
    "5000",
    "the event loop delay, in milliseconds and averaged over twice that time, above which requests are a 503. `0` means no limit",
    whole(0),
  ),
  REQUEST_TIMEOUT: variable(
    "300",
    "the timeout for receiving a request with its body, in seconds; its headers must arrive within 20 in any case",
    whole(1, 86400),
  ),
  LIVE_MAX_CONNECTIONS: variable(
    "20000",
    "the maximum number of websockets per process; more are a 503. A tenth of them (at least 100) from one address may be waiting for a login; more are a 429",
    count,
  ),
  LIVE_AUTH_TIMEOUT: variable(
    "10",
    "the timeout for logging in on a websocket, in seconds",
    whole(1, 3600),
  ),
  LIVE_MAX_FRAME: variable(
    "65536",
    "the largest message that a client may send over a websocket, in bytes; users who may update rooms or the world may send 1 MiB",
    whole(1024, 1024 * 1024),
  ),
  LIVE_MAX_TEXT: variable(
    "10000",
    "the longest text that people may send over a websocket, in characters",
    count,
  ),
  LIVE_COMMANDS_PER_SECOND: variable(
    "50",
    "the maximum number of commands per second on a websocket, with bursts of six times as many; the same for a user's logins",
    count,
  ),
  LIVE_MESSAGES_PER_SECOND: variable(
    "5",
    "the maximum number of messages and questions per user and second, with bursts of four times as many; the same for reactions and votes",
    count,
  ),
  LIVE_GUEST_BYTES_PER_MINUTE: variable(
    "1048576",
    "the maximum size of messages and profiles that the guests of one address, or IPv6 network, may send over websockets per minute, in bytes per process. This machine and people with tokens are exempt",
    count,
  ),
  CHAT_WORLD_MAX_BYTES_PER_DAY: variable(
    "268435456",
    "the maximum size of messages in a world's chats per day, in bytes per process; the allowance refills steadily",
    count,
  ),
  LIVE_MAX_UNSENT: variable(
    "1048576",
    "the maximum data buffered for a websocket that does not read, in bytes; beyond it, the websocket is dropped",
    count,
  ),
  LIVE_MAX_UNSENT_TOTAL: variable(
    "268435456",
    "the maximum data buffered for all websockets of a process, in bytes; beyond it, those with the most are dropped",
    count,
  ),
  LIVE_PING_INTERVAL: variable(
    "25",
    "the interval between pings of a websocket, in seconds; it is closed after 2.4 times as long without data",
    whole(1, 3600),
  ),
  WEB: variable("on", "serves the pages for attendees and hosts: `on` or `off`", onOff),
  EMBED_ORIGINS: optional(
    "the origins whose pages may embed a room in a frame, comma-separated",
    exactOrigins,
  ),
  CORS_ORIGIN: optional(
    "the origins whose pages may call the API from a browser, comma-separated, or `*`",
    origins,
  ),
  WEBHOOK_ALLOW: optional(
    "the hosts and address ranges that webhooks and calls to identity providers may target in addition to public addresses, also without TLS, comma-separated: `127.0.0.1,10.0.0.0/8`",
    hostsAndRanges,
  ),
  LIVEKIT_URL: optional(
    "where browsers connect to LiveKit, the server for calls: `wss://calls.example.org`; needs `LIVEKIT_API_KEY` and `LIVEKIT_API_SECRET`",
    socketOrigin,
  ),
  LIVEKIT_API_URL: optional(
    "where Foyer reaches LiveKit, if not at `LIVEKIT_URL`: `http://127.0.0.1:7880`",
    httpOrigin,
  ),
  LIVEKIT_API_KEY: optional("the name of the key that Foyer shares with LiveKit", someText),
  LIVEKIT_API_SECRET: optional("the secret of this key, of at least 32 characters", secretText(32)),
  BBB_URL: optional(
    "the BigBlueButton server for calls, as `bbb-conf --secret` prints it: `https://bbb.example.org/bigbluebutton/`; needs `BBB_SECRET`",
    httpFolder,
  ),
  BBB_SECRET: optional("the shared secret of BigBlueButton", secretText(1)),
  JITSI_URL: optional(
    "the Jitsi Meet server for calls: `https://meet.example.org/`; needs `JITSI_APP_ID` and `JITSI_APP_SECRET`",
    httpFolder,
  ),
  JITSI_APP_ID: optional("the `app_id` of Jitsi's token authentication", someText),
  JITSI_APP_SECRET: optional("the `app_secret` of Jitsi's token authentication", secretText(1)),
  SMTP_URL: optional(
    "the mail server for invitations, reminders and links by e-mail: `smtps://user:password@mail.example.org`, or `smtp://`, which uses STARTTLS if the server offers it; needs `MAIL_FROM` and `PUBLIC_URL`",
    addressOf("smtp:", "smtps:"),
  ),
  MAIL_FROM: optional(
    "the sender of mails: `events@example.org`, or `Example Events <events@example.org>`",
    sender,
  ),
  MAIL_PER_MINUTE: variable(
    "60",
    "the maximum number of mails per minute, over all processes",
    whole(1, 60_000),
  ),
  METRICS_PORT: optional(
    "serves `/metrics` on a separate port; `0` picks a free one",
    whole(0, 65535),
  ),
  METRICS_HOST: variable("127.0.0.1", "the address for `METRICS_PORT` to listen on", someText),
  METRICS_TOKEN: optional(
    "requires `Authorization: Bearer <this>` for `/metrics`, which without `METRICS_PORT` is served on `PORT`; 16 to 500 characters",
    bearerToken(16),
  ),
  ADMIN_TOKEN: optional(
    "lets programs create, list and delete worlds under `/api/v1/worlds/` with `Authorization: Bearer <this>`; 32 to 500 characters",
    bearerToken(32),
  ),
};

/** A server's configuration. `variables` documents each setting. */
export interface Config {
  host: string;
  port: number;
  /** An absolute path, so that errors that name the folder are unambiguous. */
  dataDir: string;
  /** The engines that replace the embedded engines. */
  engines: EngineChoice;
  publicUrl: string | undefined;
  trustProxy: string[] | false;
  workers: number;
  /** Maximum number of new guests per minute from one address. */
  guestsPerMinute: number;
  /** Retention of a world's log, in days. */
  logDays: number;
  /** Retention of a world's audit, in days. */
  auditDays: number;
  /** Retention of a world's attendance, in days. */
  attendanceDays: number;
  logLevel: string;
  /** In milliseconds. */
  requestTimeout: number;
  corsOrigins: string[] | "*" | undefined;
  web: WebConfig;
  /** The hosts and ranges that the server's own requests may target in addition to public addresses. */
  webhookAllow: readonly string[];
  /** The media servers for calls. */
  calls: CallSettings;
  /** The mail server; undefined if the server sends no mails. */
  mail: MailSettings | undefined;
  load: LoadLimits;
  live: LiveLimits;
  drainTimeoutsMs: DrainTimeouts;
  /** The token for the server's own API. The API is off if the token is undefined. */
  adminToken: string | undefined;
  metrics: {
    host: string;
    port: number | undefined;
    token: string | undefined;
  };
  uploads: {
    /** Maximum size of an upload, in bytes. */
    maxBytes: number;
    /** The accepted file extensions. */
    types: string[];
    /** Maximum number of uploads per minute and caller. */
    perMinute: number;
    /** Maximum total size of one world's files, in bytes. */
    worldMaxBytes: number;
  };
}

/** Settings for the web pages. */
export interface WebConfig {
  /** Whether the pages are served. */
  on: boolean;
  /** The origins whose pages may embed a room in a frame. */
  embedOrigins: readonly string[];
}

/** The media servers that the operator runs. Each property is undefined if there is no such server. */
export interface CallSettings {
  livekit?: {
    /** The origin for browsers, with `wss:` or `ws:`. */
    url: string;
    /** The origin for the server's own requests. */
    apiUrl: string;
    key: string;
    secret: string;
  };
  /** `url` ends with a slash. */
  bigbluebutton?: { url: string; secret: string };
  /** `url` ends with a slash. */
  jitsi?: { url: string; appId: string; secret: string };
}

/** How the server sends mails. */
export interface MailSettings {
  /** The mail server, with credentials. */
  url: string;
  from: Sender;
  /** Maximum number of mails per minute, over all processes. */
  perMinute: number;
  /** Timeout for the whole dialog about a mail, in milliseconds. No environment variable sets it. */
  timeout: number;
  /**
   * Time after which other processes give up a mail that a process has claimed, in milliseconds.
   * No environment variable sets it.
   */
  lostAfter: number;
}

/** Timeouts for draining requests in flight, in milliseconds. No environment variable sets these timeouts. */
export interface DrainTimeouts {
  /** When a server receives a stop signal. */
  stop: number;
  /** When an application is closed without a preceding stop. */
  close: number;
}

/** Limits for websockets. Times are in milliseconds, sizes in bytes. */
export interface LiveLimits {
  /** Maximum number of connections per process. */
  maxConnections: number;
  /** Timeout for logging in. */
  authTimeout: number;
  /** Maximum size of a message from a client without the right to send larger messages. */
  maxFrame: number;
  /** Maximum length of text that people send, in characters. */
  maxText: number;
  commandsPerSecond: number;
  messagesPerSecond: number;
  /** Maximum total size of messages and profiles per minute from all guests on one network. */
  guestBytesPerMinute: number;
  /** Maximum total size of messages per day in one world's chats. */
  chatBytesPerDay: number;
  /** Maximum size of the data buffered for a client that does not read. */
  maxUnsent: number;
  /** Maximum size of the data buffered for all clients of a process. */
  maxUnsentTotal: number;
  pingInterval: number;
}

/** Limits beyond which requests are refused; 0 means no limit. */
export interface LoadLimits {
  /** Concurrent writes under `/api/v1/`. */
  requests: number;
  /** Concurrent uploads. */
  uploads: number;
  /** In milliseconds. */
  eventLoopDelay: number;
  /** API requests per minute and token; undefined for no limit. */
  perMinute: number | undefined;
}

/** Thrown if a variable has an invalid value. The message is a single line that names the variable. */
export class ConfigError extends Failure {}

type Values = {
  [Name in keyof typeof variables]: ReturnType<(typeof variables)[Name]["read"]>;
};

/**
 * Reads the configuration.
 * @param env the environment; an empty variable counts as unset.
 * @param warn receives a line for each variable that is set but has no effect.
 * @throws {ConfigError} on the first invalid value, or on a name that looks like a typo.
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
    calls: callSettings(values),
    mail: mailSettings(values),
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
 * @throws {ConfigError} if a variable requires another variable that is not set.
 * @throws {StoreError} if a variable requires a package that is not installed.
 */
function engineChoice(values: Values): EngineChoice {
  const { DATABASE_URL, VALKEY_URL, S3_BUCKET, S3_ENDPOINT } = values;
  if (VALKEY_URL !== undefined && DATABASE_URL === undefined) {
    throw new ConfigError(
      "VALKEY_URL: Requires DATABASE_URL, because SQLite serves only one machine.",
    );
  }
  if (S3_ENDPOINT !== undefined && S3_BUCKET === undefined) {
    throw new ConfigError("S3_ENDPOINT: Requires S3_BUCKET.");
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

/** @throws {ConfigError} if some, but not all, of an engine's required variables are set. */
function callSettings(values: Values): CallSettings {
  const livekit = together(values, "LIVEKIT_URL", "LIVEKIT_API_KEY", "LIVEKIT_API_SECRET");
  const bigbluebutton = together(values, "BBB_URL", "BBB_SECRET");
  const jitsi = together(values, "JITSI_URL", "JITSI_APP_ID", "JITSI_APP_SECRET");
  return {
    ...(livekit && {
      livekit: {
        url: livekit.LIVEKIT_URL,
        // ws and wss become http and https.
        apiUrl: values.LIVEKIT_API_URL ?? livekit.LIVEKIT_URL.replace(/^ws/, "http"),
        key: livekit.LIVEKIT_API_KEY,
        secret: livekit.LIVEKIT_API_SECRET,
      },
    }),
    ...(bigbluebutton && {
      bigbluebutton: { url: bigbluebutton.BBB_URL, secret: bigbluebutton.BBB_SECRET },
    }),
    ...(jitsi && {
      jitsi: { url: jitsi.JITSI_URL, appId: jitsi.JITSI_APP_ID, secret: jitsi.JITSI_APP_SECRET },
    }),
  };
}

/** @throws {ConfigError} if there is a mail server, but no sender or no address for links. */
function mailSettings(values: Values): MailSettings | undefined {
  if (values.SMTP_URL === undefined) return undefined;
  // Anyone may ask for a link by e-mail, so its address must never come from a request.
  const { SMTP_URL, MAIL_FROM } = together(values, "SMTP_URL", "MAIL_FROM", "PUBLIC_URL")!;
  return {
    url: SMTP_URL,
    from: MAIL_FROM,
    perMinute: values.MAIL_PER_MINUTE,
    timeout: 60_000,
    lostAfter: 90_000,
  };
}

/**
 * Returns variables that must be set together, or undefined if none of these variables is set.
 * @throws {ConfigError} if only some of the variables are set.
 */
function together<Name extends keyof Values>(
  values: Values,
  ...names: Name[]
): { [N in Name]: NonNullable<Values[N]> } | undefined {
  const missing = names.filter((name) => values[name] === undefined);
  if (missing.length === names.length) return undefined;
  const there = names.find((name) => values[name] !== undefined);
  if (missing.length > 0) throw new ConfigError(`${there}: Needs ${missing.join(" and ")}.`);
  return values as { [N in Name]: NonNullable<Values[N]> };
}

/** Variables that have no effect unless another variable is set. */
const NEEDS: Partial<Record<keyof Values, keyof Values>> = {
  DATABASE_POOL: "DATABASE_URL",
  S3_REGION: "S3_BUCKET",
  S3_FORCE_PATH_STYLE: "S3_BUCKET",
  S3_REDIRECT: "S3_BUCKET",
  METRICS_HOST: "METRICS_PORT",
  EMBED_ORIGINS: "WEB",
  LIVEKIT_API_URL: "LIVEKIT_URL",
  MAIL_FROM: "SMTP_URL",
  MAIL_PER_MINUTE: "SMTP_URL",
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
